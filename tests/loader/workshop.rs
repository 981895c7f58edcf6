//! Compiles small programs for the loader's tests and runs copies of them in the test host.

// Each file of tests uses a part of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use weft_loader::link;

/// Names our library as programs need it.
pub const OURS: &[&str] = &["libmpi_abi.so.1"];

/// Declares what test programs may call.
const PRELUDE: &str = "int weft_rank(void); int weft_size(void);\n";

/// Stands in for our library: asks the host which copy is calling.
const STUB: &str = "
    int host_rank(void) __attribute__((weak));
    int host_size(void) __attribute__((weak));
    int weft_rank(void) { return host_rank ? host_rank() : 0; }
    int weft_size(void) { return host_size ? host_size() : 1; }
";

/// A folder of one test in which programs are built.
pub struct Workshop {
    pub folder: PathBuf,
}

impl Workshop {
    /// Creates an empty folder with the stub library in it.
    pub fn new(test: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("loader {test}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let shop = Workshop { folder };
        shop.library("libmpi_abi.so.1", STUB, &[]);
        shop
    }

    /// Returns a path inside the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("a written file");
        path
    }

    /// Runs a compiler in the folder.
    pub fn compile(&self, compiler: &str, arguments: &[&str]) {
        let output = Command::new(compiler)
            .current_dir(&self.folder)
            .args(arguments)
            .output()
            .unwrap_or_else(|e| panic!("{compiler}: {e}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{compiler} {arguments:?}\n{errors}");
    }

    /// Builds a shared library whose SONAME is its file name.
    pub fn library(&self, name: &str, source: &str, flags: &[&str]) {
        let file = format!("{name}.c");
        self.write(&file, format!("{PRELUDE}{source}"));
        let soname = format!("-Wl,-soname,{name}");
        let mut all = vec!["-O1", "-shared", "-fPIC", "-o", name, &file, &soname];
        all.extend(flags);
        all.push("-Wl,-rpath,$ORIGIN");
        self.compile("gcc", &all);
    }

    /// Builds a C program with the flags the compiler wrappers use for programs without thread-local data.
    pub fn program(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let mut all = [link::COMPILE, link::LINK].concat();
        all.extend(flags);
        self.build("gcc", "c", name, &format!("{PRELUDE}{source}"), &all)
    }

    /// Builds a C++ program with the wrappers' flags.
    pub fn program_cxx(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let mut all = [link::COMPILE, link::LINK].concat();
        all.extend(flags);
        self.build("g++", "cc", name, &format!("extern \"C\" {{ {PRELUDE} }}\n{source}"), &all)
    }

    /// Builds an executable shared object, as the wrappers do for programs with thread-local data.
    pub fn program_shared(&self, compiler: &str, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        self.write("interpreter.s", link::INTERPRETER_SOURCE);
        self.compile("gcc", &["-c", "interpreter.s", "-o", "interpreter.o"]);
        let start = Command::new("gcc")
            .arg(format!("-print-file-name={}", link::START_OBJECT))
            .output()
            .expect("the place of the start-up object");
        let start = String::from_utf8(start.stdout).expect("a path");
        let mut all = [link::COMPILE, link::SHARED_LINK].concat();
        all.extend([start.trim(), "interpreter.o"]);
        all.extend(flags);
        let source = format!("#ifdef __cplusplus\nextern \"C\"\n#endif\n{{{PRELUDE}}}\n{source}");
        let source =
            if compiler == "gcc" { source.replacen(&format!("{{{PRELUDE}}}"), PRELUDE, 1) } else { source };
        self.build(compiler, if compiler == "gcc" { "c" } else { "cc" }, name, &source, &all)
    }

    /// Compiles one source file and links it with the stub library.
    pub fn build(&self, compiler: &str, suffix: &str, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let file = format!("{name}.{suffix}");
        self.write(&file, source);
        let mut all = vec!["-O1", "-g", "-o", name, &file];
        all.extend(flags);
        all.extend(["-L.", "-l:libmpi_abi.so.1", "-Wl,-rpath,$ORIGIN", "-Wl,-rpath-link,."]);
        self.compile(compiler, &all);
        self.path(name)
    }

    /// Prepares the command that runs copies of a program.
    pub fn host(&self, options: &[&str], count: usize, program: &Path) -> Command {
        // Tests lie in `deps`, examples beside it.
        let mut host = std::env::current_exe().expect("the test's path");
        host.pop();
        host.pop();
        host.push("examples/loader_host");
        let mut command = Command::new(host);
        command.args(options).arg(count.to_string()).arg(program);
        // The real host has our library loaded before any copy asks for it.
        command.env("LD_LIBRARY_PATH", &self.folder);
        command
    }

    /// Runs copies of a program and returns the lines they print, sorted; they must all end well.
    pub fn run(&self, count: usize, program: &Path) -> Vec<String> {
        let output = self.host(&[], count, program).output().expect("a run of the test host");
        lines_of(&output)
    }
}

/// Returns sorted lines of a run that ended well.
pub fn lines_of(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}\n{text}\n{errors}", output.status);
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    lines.sort();
    lines
}

/// Makes the lines that `count` copies print when each prints one that starts with its rank.
pub fn each(count: usize, line: impl Fn(usize) -> String) -> Vec<String> {
    let mut lines: Vec<String> = (0..count).map(line).collect();
    lines.sort();
    lines
}
