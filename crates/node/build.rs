//! Exports the replacements of libc functions from the executable: being first in the search order, they serve
//! everything loaded later. Compiles those that take any number of arguments, and writes the table of the functions that
//! only copies get.

use std::fmt::Write;
use std::path::Path;

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let here = Path::new(&here);
    let list = here.join("exports.list");
    println!("cargo:rerun-if-changed={}", list.display());
    println!("cargo:rustc-link-arg-bins=-Wl,--dynamic-list={}", list.display());
    redirects(&here.join("redirects.list"));
    let source = here.join("src/interpose/streams.c");
    println!("cargo:rerun-if-changed={}", source.display());
    // A call of `printf` in there must not become one of `puts`, nor of its checked form.
    let flags = ["-fno-builtin", "-U_FORTIFY_SOURCE", "-std=gnu11"];
    let mut build = cc::Build::new();
    flags.iter().for_each(|flag| _ = build.flag(flag));
    build.file(source).opt_level(2).extra_warnings(true).warnings(true).compile("weft_streams");
}

fn redirects(list: &Path) {
    println!("cargo:rerun-if-changed={}", list.display());
    let text = std::fs::read_to_string(list).expect("redirects.list");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let (mut declarations, mut entries) = (String::new(), String::new());
    for name in &names {
        let (name, function) = name.split_once('=').unwrap_or((name, name));
        if name == function {
            writeln!(declarations, "    fn rank_{name}();").expect("a string");
        }
        writeln!(
            entries,
            "    Function {{ name: c\"{name}\".as_ptr(), function: rank_{function} as *const c_void }},"
        )
        .expect("a string");
    }
    let table = format!(
        "unsafe extern \"C\" {{\n{declarations}}}\n\nstatic FUNCTIONS: [Function; {}] = [\n{entries}];\n",
        names.len()
    );
    let target = std::env::var("OUT_DIR").expect("set by cargo");
    std::fs::write(Path::new(&target).join("redirects.rs"), table).expect("OUT_DIR");
}
