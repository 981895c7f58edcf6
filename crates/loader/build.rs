//! Lets the test host export its symbols to the copies it loads, as the real host does.

fn main() {
    println!("cargo:rustc-link-arg-examples=-rdynamic");
    println!("cargo:rerun-if-changed=build.rs");
}
