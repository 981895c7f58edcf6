//! The executable that holds ranks.
fn main() {}
