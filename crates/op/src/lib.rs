//! op
