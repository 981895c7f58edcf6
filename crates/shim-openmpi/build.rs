//! Names the library, and has it loaded together with the library of the standard's functions that it calls.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let directory = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    // The real library may not be built yet: one without functions and of its name says all that the linker writes down.
    let stub = Path::new(&directory).join("libmpi_abi.so");
    let linker = std::env::var("RUSTC_LINKER").unwrap_or("cc".into());
    let status = Command::new(&linker)
        .args(["-shared", "-nostdlib", "-Wl,-soname,libmpi_abi.so.1", "-x", "c", "/dev/null", "-o"])
        .arg(&stub)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "{linker} cannot make {}", stub.display());
    for argument in [
        "-Wl,-soname,libmpi.so.40".to_owned(),
        // Installed in a folder of its own below that of the other library.
        "-Wl,-rpath,$ORIGIN/../..".to_owned(),
        format!("-L{directory}"),
        "-Wl,--push-state,--no-as-needed".to_owned(),
        "-lmpi_abi".to_owned(),
        "-Wl,--pop-state".to_owned(),
    ] {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}
