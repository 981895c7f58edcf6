//! loader
