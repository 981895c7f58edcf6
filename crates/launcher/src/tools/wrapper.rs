//! `mpicc`, `mpicxx`, `mpifort`: the compiler with what an MPI program needs to be compiled, linked, and loadable.
//!
//! What makes a program loadable is the loader's knowledge ([`weft_loader::link`]). A program is linked as usual; only
//! if the result turns out to have thread-local data is it linked again as an executable shared object.

use crate::tools::install::Installation;
use crate::tools::modules::{self, Sizes};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use weft_base::say;
use weft_loader::link;

/// A language and its compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `mpicc`
    C,
    /// `mpicxx`
    Cxx,
    /// `mpifort`
    Fortran,
}

impl Language {
    /// Tells the language from the name under which the wrapper was called.
    pub fn of(name: &str) -> Self {
        match name {
            "mpicxx" | "mpic++" | "mpiCC" => Self::Cxx,
            "mpifort" | "mpif77" | "mpif90" | "mpif08" => Self::Fortran,
            _ => Self::C,
        }
    }

    /// Returns the default compiler, the end of environment variables that name another (`WEFT_CC`), and the options
    /// that do.
    pub fn names(self) -> (&'static str, &'static [&'static str], &'static [&'static str]) {
        match self {
            Self::C => ("cc", &["CC"], &["-cc="]),
            Self::Cxx => ("c++", &["CXX"], &["-cxx=", "-CC="]),
            Self::Fortran => ("gfortran", &["FC", "F90", "F77"], &["-fc=", "-f90=", "-f77="]),
        }
    }

    fn default_compiler(self) -> OsString {
        let (default, variables, _) = self.names();
        let prefixes = ["WEFT_", "MPICH_", "OMPI_"];
        let mut candidates =
            prefixes.iter().flat_map(|prefix| variables.iter().map(move |name| format!("{prefix}{name}")));
        candidates
            .find_map(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
            .unwrap_or(default.into())
    }
}

/// What a call is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Nothing is compiled: `--version`, no arguments.
    Ask,
    /// Up to an object file.
    Compile,
    /// An executable.
    Link,
    /// A shared library, a relocatable object, or a static executable: linked as the user says.
    LinkOther,
}

/// Options that end before linking.
const COMPILE_ONLY: &[&str] = &["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"];
/// Options of linking that say what comes out.
const OTHER_OUTPUT: &[&str] =
    &["-shared", "-r", "-static", "-static-pie", "-dynamiclib", "--shared", "--static"];
/// Options followed by a word that is no input file.
const WITH_VALUE: &[&str] = &[
    "-o", "-I", "-L", "-D", "-U", "-x", "-include", "-isystem", "-MF", "-MT", "-MQ", "-Xlinker", "-T", "-u",
    "-l",
];

/// What `-showme:` may ask for, and what is printed then.
pub const SHOWN: &[(&str, &str)] = &[
    ("compile", "the options for compiling"),
    ("link", "the options for linking"),
    ("incdirs", "the directories of mpi.h and of Fortran's modules"),
    ("libdirs", "the directories of the libraries"),
    ("libs", "the names of the libraries"),
    ("command", "the compiler"),
    ("version", "the version"),
];

/// Reads response files, for a look at what they contain.
fn expanded(arguments: &[OsString]) -> Vec<String> {
    let mut words = Vec::new();
    for argument in arguments {
        let text = argument.to_string_lossy();
        match text.strip_prefix('@').and_then(|file| std::fs::read_to_string(file).ok()) {
            Some(content) => words.extend(content.split_whitespace().map(str::to_owned)),
            None => words.push(text.into_owned()),
        }
    }
    words
}

fn step(words: &[String]) -> Step {
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.as_str()));
    let mut inputs = 0;
    let mut after_option = false;
    for word in words {
        let is_value = std::mem::replace(&mut after_option, WITH_VALUE.contains(&word.as_str()));
        if !is_value && (!word.starts_with('-') || word == "-" || word.starts_with("-l")) {
            inputs += 1;
        }
    }
    if has(COMPILE_ONLY) {
        Step::Compile
    } else if inputs == 0 {
        Step::Ask
    } else if has(OTHER_OUTPUT) {
        Step::LinkOther
    } else {
        Step::Link
    }
}

fn output(words: &[String]) -> PathBuf {
    let mut name = "a.out".to_owned();
    for (at, word) in words.iter().enumerate() {
        if word == "-o" {
            name = words.get(at + 1).cloned().unwrap_or(name);
        } else if let Some(attached) =
            word.strip_prefix("-o").filter(|rest| !rest.is_empty() && !word.starts_with("-openmp"))
        {
            name = attached.to_owned();
        }
    }
    name.into()
}

/// Quotes a word for the shell if it needs it.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=+,:@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn joined(words: &[OsString]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn path_option(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

/// A call of a wrapper.
pub struct Wrapper {
    language: Language,
    compiler: Vec<OsString>,
    installation: Installation,
    arguments: Vec<OsString>,
    show: Option<String>,
    /// Where Fortran's modules are.
    modules: Option<PathBuf>,
}

impl Wrapper {
    /// Reads the command line.
    pub fn new(language: Language, arguments: Vec<OsString>, installation: Installation) -> Self {
        let mut compiler = language.default_compiler();
        let mut show = None;
        let mut kept = Vec::new();
        for argument in arguments {
            let text = argument.to_string_lossy().into_owned();
            let chosen = language.names().2.iter().find_map(|option| text.strip_prefix(option));
            if let Some(chosen) = chosen {
                compiler = chosen.into();
            } else if text == "-show" || text.starts_with("-showme") || text.starts_with("--showme") {
                show = Some(text.trim_start_matches('-').to_owned());
            } else if ["-compile-info", "-compile_info", "-link-info", "-link_info"].contains(&text.as_str())
            {
                show = Some(text.trim_start_matches('-').replace('_', "-"));
            } else {
                kept.push(argument);
            }
        }
        // A compiler may be given with options: "ccache gcc".
        let compiler = compiler.to_string_lossy().split_whitespace().map(OsString::from).collect();
        Self { language, compiler, installation, arguments: kept, show, modules: None }
    }

    fn compile_flags(&self) -> Vec<OsString> {
        let folders = [Some(&self.installation.include), self.modules.as_ref()];
        let folders = folders.into_iter().flatten().map(|folder| path_option("-I", folder));
        folders.chain(link::COMPILE.iter().map(OsString::from)).collect()
    }

    /// Returns the folder with the modules for this compiler, which it makes if there is none.
    ///
    /// # Errors
    /// Why there are no modules.
    pub fn modules(&self) -> Result<PathBuf, String> {
        modules::find(&self.compiler, &self.installation)
    }

    /// Finds Fortran's modules for this compiler. A program can be compiled without them, so their lack is no error yet.
    fn find_modules(&mut self) {
        match self.modules() {
            Ok(folder) => self.modules = Some(folder),
            Err(error) => say!("{}: {error}", self.name()),
        }
    }

    /// Returns what finds the library, at link time and at run time.
    fn library_flags(&self) -> Vec<OsString> {
        let lib = &self.installation.lib;
        // Fortran's library is linked as usual: its units are per process, but the loader gives each rank a copy of it. The
        // static one has thread-local data that no shared object may contain.
        let mut flags = vec![path_option("-L", lib), path_option("-Wl,-rpath,", lib)];
        if let Some(folder) = &self.modules {
            flags.extend([path_option("-L", folder), format!("-l{}", modules::LIBRARY).into()]);
        }
        if self.language == Language::Fortran {
            flags.push("-lmpifort_abi".into());
        }
        flags.push("-lmpi_abi".into());
        flags
    }

    /// Returns what gives each copy of a program a language library of its own.
    fn language_flags(&self) -> Vec<OsString> {
        if self.language != Language::Cxx {
            return Vec::new();
        }
        // The compiler answers with the bare name when it has no such file.
        let question = OsString::from(format!("-print-file-name={}", link::CXX_STATIC_LIBRARY));
        match self.run_quietly(&[question]) {
            Ok(answer) if answer.contains('/') => {
                // Ours comes after the user's, so who does not want it must not get it.
                let refuses = self.arguments.iter().any(|word| word == "-Wl,--no-gc-sections");
                let flags = link::CXX_LINK.iter().filter(|flag| !refuses || **flag != "-Wl,--gc-sections");
                flags.map(OsString::from).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the compiler's command line.
    fn command(&self, step: Step) -> Vec<OsString> {
        let mut words = self.compiler.clone();
        match step {
            Step::Ask => words.extend(self.arguments.iter().cloned()),
            Step::Compile => {
                words.extend(self.arguments.iter().cloned());
                // After the user's, so that the last word about position-independent code is ours.
                words.extend(self.compile_flags());
            }
            Step::Link | Step::LinkOther => {
                if step == Step::Link
                    && !self.arguments.iter().any(|word| word == "-no-pie")
                    && self.takes_link_options()
                {
                    words.extend(link::LINK.iter().map(OsString::from));
                }
                words.extend(self.arguments.iter().cloned());
                words.extend(self.compile_flags());
                if step == Step::Link {
                    words.extend(self.language_flags());
                }
                words.extend(self.library_flags());
            }
        }
        words
    }

    /// Tells whether the compiler knows the options of linking that a C compiler knows: flang makes position-independent
    /// executables, and refuses the word.
    fn takes_link_options(&self) -> bool {
        if self.language != Language::Fortran || self.compiler[0] == "gfortran" {
            return true;
        }
        let mut question = self.tool(&self.compiler);
        question.args(link::LINK).arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        question.status().is_ok_and(|status| status.success())
    }

    /// Returns the command line that links again, as a shared object that can be executed.
    fn shared_command(&self, interpreter: &Path) -> Result<Vec<OsString>, String> {
        let mut words = self.compiler.clone();
        words.extend(link::SHARED_LINK.iter().map(OsString::from));
        let start =
            self.run_as_c_compiler(&[OsString::from(format!("-print-file-name={}", link::START_OBJECT))])?;
        // The user's files may follow `-x c`; objects must not be taken for sources.
        words.push(start.trim().into());
        words.push(interpreter.into());
        let executable_only = ["-pie", "-no-pie", "-Wl,-pie", "-rdynamic"];
        words.extend(
            self.arguments.iter().filter(|word| !executable_only.iter().any(|one| word == one)).cloned(),
        );
        words.extend(self.compile_flags());
        words.extend(self.language_flags());
        words.extend(self.library_flags());
        Ok(words)
    }

    /// Runs what any C compiler can do: with the program's compiler, or with the C compiler where that one cannot, as flang.
    fn run_as_c_compiler(&self, arguments: &[OsString]) -> Result<String, String> {
        if !self.takes_link_options() {
            let compiler = Wrapper::new(Language::C, Vec::new(), self.installation.clone());
            return compiler.run_quietly(arguments);
        }
        self.run_quietly(arguments)
    }

    fn run_quietly(&self, arguments: &[OsString]) -> Result<String, String> {
        let output = self.tool(&self.compiler).args(arguments).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| self.cannot_run(&error))?;
        if !output.status.success() {
            return Err(format!("{} {} failed", quoted(&self.compiler[0]), joined(arguments)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn tool(&self, words: &[OsString]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }

    fn cannot_run(&self, error: &std::io::Error) -> String {
        let variable = self.language.names().1[0];
        format!("{}: {error}; name the compiler in WEFT_{variable}", quoted(&self.compiler[0]))
    }

    fn shown(&self, what: &str, words: &[String]) -> Result<String, String> {
        let lib = &self.installation.lib;
        Ok(match what {
            "showme:compile" => joined(&self.compile_flags()),
            "showme:link" => joined(&self.library_flags()),
            "showme:incdirs" => {
                let folders = [Some(&self.installation.include), self.modules.as_ref()];
                joined(&folders.into_iter().flatten().map(|folder| folder.clone().into()).collect::<Vec<_>>())
            }
            "showme:libdirs" => {
                let folders = [Some(lib), self.modules.as_ref()];
                joined(&folders.into_iter().flatten().map(|folder| folder.clone().into()).collect::<Vec<_>>())
            }
            "showme:libs" => {
                let flags = self.library_flags();
                let names = flags.iter().filter_map(|flag| flag.to_str()?.strip_prefix("-l"));
                names.collect::<Vec<_>>().join(" ")
            }
            "showme:command" => joined(&self.compiler),
            "showme:version" => format!("Weft {}", env!("CARGO_PKG_VERSION")),
            "compile-info" => joined(&[self.compiler.clone(), self.compile_flags()].concat()),
            "link-info" => joined(&[self.compiler.clone(), self.library_flags()].concat()),
            "show" | "showme" => {
                let asked = step(words);
                // Without files the question is what would be added.
                joined(&self.command(if asked == Step::Ask { Step::LinkOther } else { asked }))
            }
            other => {
                let known: Vec<_> = SHOWN.iter().map(|(name, _)| *name).collect();
                return Err(format!("-{other}: not known; -showme: is followed by {}", known.join(", ")));
            }
        })
    }

    /// Runs the compiler; returns the exit code.
    ///
    /// # Errors
    /// What could not be run or shown.
    pub fn run(&mut self) -> Result<i32, String> {
        let words = expanded(&self.arguments);
        if self.language == Language::Fortran && (self.show.is_some() || step(&words) != Step::Ask) {
            match modules::sizes(&words) {
                Sizes::Wrong(error) => return Err(error),
                Sizes::Doubtful(warning) => say!("{}: {warning}", self.name()),
                Sizes::Right => {}
            }
            self.find_modules();
            if let Some(folder) = self.modules.as_ref().and_then(|ours| modules::others(&words, ours)) {
                let (name, folder) = (self.name(), folder.display());
                say!(
                    "{name}: {folder} has modules of another compiler or of another MPI, which the compiler reads first; leave that \
                     folder out: {name} names the right one"
                );
            }
        }
        if let Some(what) = &self.show {
            println!("{}", self.shown(what, &words)?);
            return Ok(0);
        }
        let step = step(&words);
        if words.iter().any(|word| word == "-static" || word == "-static-pie") && step == Step::LinkOther {
            say!("{}: -static: there is no static library of Weft; leave -static out", self.name());
        }
        let command = self.command(step);
        if step != Step::Link {
            return Err(self.cannot_run(&self.tool(&command).exec()));
        }
        let status = self.tool(&command).status().map_err(|error| self.cannot_run(&error))?;
        if !status.success() || step != Step::Link {
            return Ok(status.code().unwrap_or(1));
        }
        let program = output(&words);
        let bytes = std::fs::read(&program).unwrap_or_default();
        if link::needs_shared_link(&bytes) {
            self.link_again(&program, &bytes)?;
        }
        Ok(0)
    }

    fn name(&self) -> &'static str {
        match self.language {
            Language::C => "mpicc",
            Language::Cxx => "mpicxx",
            Language::Fortran => "mpifort",
        }
    }

    /// Links a program that has thread-local data again, so that its ranks can be threads. Where the linker cannot do that, because
    /// an object file was not compiled for it, the program stays as it is, and its ranks become processes.
    fn link_again(&self, program: &Path, first: &[u8]) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", program.display());
        let permissions = std::fs::metadata(program).map_err(failed)?.permissions();
        let directory = Temporary::create()?;
        let (source, object) = (directory.0.join("interp.s"), directory.0.join("interp.o"));
        std::fs::write(&source, link::INTERPRETER_SOURCE)
            .map_err(|error| format!("{}: {error}", source.display()))?;
        self.run_as_c_compiler(&["-c".into(), source.into(), "-o".into(), object.clone().into()])?;
        let command = self.shared_command(&object)?;
        let linked = self.tool(&command).output().map_err(|error| self.cannot_run(&error))?;
        if linked.status.success() {
            // If nobody reads it there is nobody to tell.
            let _ = std::io::stderr().write_all(&linked.stderr);
            return Ok(());
        }
        // The linker takes away what it could not complete.
        std::fs::write(program, first).map_err(failed)?;
        std::fs::set_permissions(program, permissions).map_err(failed)?;
        let said = String::from_utf8_lossy(&linked.stderr);
        let reason =
            said.lines().find(|line| line.contains("relocation")).or(said.lines().next()).unwrap_or("");
        let remedy = if self.language == Language::Fortran
            && self.arguments.iter().any(|word| word == "-static-libgfortran")
        {
            "leave -static-libgfortran out: each rank has its own copy of the shared library"
        } else {
            "compile that file with -fPIC"
        };
        say!(
            "{}: {}: thread-local data keeps its ranks from being threads; they will be processes. To have threads, {remedy}. \
             The linker said: {reason}",
            self.name(),
            program.display()
        );
        Ok(())
    }
}

/// A directory that is removed at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn create() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("weft-link-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_step_follows_from_the_options() {
        for (text, expected) in [
            ("-c a.c", Step::Compile),
            ("-E a.c -o b", Step::Compile),
            ("-MM a.c", Step::Compile),
            ("--version", Step::Ask),
            ("-v", Step::Ask),
            ("-I include -L lib", Step::Ask),
            ("a.o -lm", Step::Link),
            ("-O2 a.c -o a -MMD", Step::Link),
            ("-shared a.c", Step::LinkOther),
            ("-static a.c", Step::LinkOther),
        ] {
            assert_eq!(step(&words(text)), expected, "{text}");
        }
    }

    #[test]
    fn the_output_is_found() {
        assert_eq!(output(&words("a.c")), Path::new("a.out"));
        assert_eq!(output(&words("a.c -o b")), Path::new("b"));
        assert_eq!(output(&words("-ob a.c")), Path::new("b"));
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted(OsStr::new("a b'c")), "'a b'\\''c'");
        assert_eq!(quoted(OsStr::new("-I/x_y")), "-I/x_y");
    }
}
