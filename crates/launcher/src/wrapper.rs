//! wrapper
