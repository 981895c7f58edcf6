//! mpirun
fn main() {}
