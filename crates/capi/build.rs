//! Names the library and refuses to link it with symbols that nothing defines.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for argument in [
        "-Wl,-soname,libmpi_abi.so.1",
        "-Wl,-z,defs",
        // MPI_X jumps to our own PMPI_X without a detour through the procedure linkage table.
        "-Wl,-Bsymbolic-functions",
    ] {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}
