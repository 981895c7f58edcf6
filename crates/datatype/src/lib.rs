//! datatype
