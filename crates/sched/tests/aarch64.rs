//! Runs the aarch64 switch, assembled by a cross compiler, under an emulator. Where either is missing the test says so
//! and passes: other processors need neither.

use std::path::Path;
use std::process::Command;

#[test]
fn the_aarch64_switch_keeps_a_threads_identity() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aarch64-switch");
    let compiler = "aarch64-linux-gnu-gcc";
    let compiled = Command::new(compiler)
        .args(["-O2", "-Wall", "-frounding-math", "-static", "-pthread", "-x", "c"])
        .arg(here.join("tests/aarch64/driver.c"))
        .args(["-x", "assembler"])
        .arg(here.join("src/context/aarch64.s"))
        .args(["-x", "none", "-o"])
        .arg(&program)
        .arg("-lm")
        .output();
    let Ok(compiled) = compiled else {
        println!("skipped: no {compiler} (Debian package gcc-aarch64-linux-gnu)");
        return;
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let emulator = "qemu-aarch64-static";
    let Ok(output) = Command::new("timeout").args(["-s", "KILL", "60", emulator]).arg(&program).output()
    else {
        println!("skipped: no timeout command");
        return;
    };
    if output.status.code() == Some(127) {
        println!("skipped: no {emulator} (Debian package qemu-user-static)");
        return;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("switched"),
        "{:?}: {text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}
