//! Fortran's modules of a compiler: `mpi.mod`, `mpi_f08.mod`, and the library through which programs call the procedures of
//! `mpi_f08` that have buffers.
//!
//! That library is small pieces of which a program links those that it calls: each looks whether the program, or a tool that is
//! loaded with the program, has a procedure of the standard's name (`mpi_send_f08ts_`), and goes on to that procedure or to the
//! entry of `libmpifort_abi.so.1`. Entries take the standard's descriptors. A compiler may have other ones for a procedure in
//! Fortran, as gfortran; then Fortran, too, lies between.
//!
//! Files of modules belong to the compiler that wrote them. So each compiler has a folder, named after the compiler and the
//! sources, in the installation or, where that may not be written, in the user's cache. Who first needs a folder makes it.

use crate::tools::install::Installation;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The sources, in the order in which they need each other.
const SOURCES: [&str; 3] = ["common.F90", "mpi.F90", "mpi_f08.F90"];
/// What calls procedures that a program has replaced, in families.
const REPLACED: &str = "mpi_f08ts.F90";
/// What a line begins with that names a family.
const FAMILY: &str = "! family ";
/// What the names of the calls in it begin with.
const CALL: &str = "subroutine weft_replaced_";
/// The library of what is compiled.
pub const LIBRARY: &str = "mpi_f08ts";
/// What says that there are kinds of numbers of 16 bytes.
const WIDE: &str = "-DWEFT_WIDE";

/// Finds the folder with a compiler's modules, and makes it if there is none.
///
/// # Errors
/// Why there are no modules.
pub fn find(compiler: &[OsString], installation: &Installation) -> Result<PathBuf, String> {
    let sources = installation.prefix.join("share/weft/fortran");
    let name = folder(compiler, &sources)?;
    let places = places(installation);
    if let Some(found) = places.iter().map(|place| place.join(&name)).find(|path| is_whole(path)) {
        return Ok(found);
    }
    let mut refused = String::new();
    for place in &places {
        match Workshop::open(place) {
            Ok(workshop) => {
                build(compiler, &sources, &workshop.0)?;
                let target = place.join(&name);
                // If another one was faster, that one's is as good.
                if std::fs::rename(&workshop.0, &target).is_ok() || is_whole(&target) {
                    return Ok(target);
                }
                return Err(format!("{}: cannot be made", target.display()));
            }
            Err(error) => refused = error,
        }
    }
    Err(format!("the Fortran modules cannot be put anywhere: {refused}; set XDG_CACHE_HOME to a directory"))
}

/// Returns where modules may be: in the installation, in the user's cache.
fn places(installation: &Installation) -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    let mut places = vec![installation.lib.join("weft/fortran")];
    places.extend(cache.map(|cache| cache.join("weft/fortran")));
    places
}

/// Returns the folder's name for a compiler: what it says of itself, and which sources it compiles.
fn folder(compiler: &[OsString], sources: &Path) -> Result<String, String> {
    let output = Command::new(&compiler[0])
        .args(&compiler[1..])
        .arg("--version")
        .stderr(Stdio::null())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}; name the compiler in WEFT_FC", compiler[0].display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("unknown");
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    for name in SOURCES.iter().chain([&REPLACED]) {
        let path = sources.join(name);
        let source = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        source.hash(&mut hasher);
    }
    let plain: String =
        line.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let words: Vec<_> = plain.split('-').filter(|word| !word.is_empty()).collect();
    Ok(format!("{}-{:08x}", words.join("-").to_lowercase(), hasher.finish() as u32))
}

/// Tells whether a folder has everything; the library is made last.
fn is_whole(folder: &Path) -> bool {
    folder.join(format!("lib{LIBRARY}.a")).exists()
}

/// A folder in which modules are made; it disappears if they are not finished.
struct Workshop(PathBuf);

impl Workshop {
    fn open(place: &Path) -> Result<Self, String> {
        let path = place.join(format!(".new-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", place.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // It is no longer there if it has become the folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn build(compiler: &[OsString], sources: &Path, folder: &Path) -> Result<(), String> {
    let run = |program: &OsStr, arguments: &[&OsStr]| -> Result<(), String> {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!(
            "{} {} failed while it made the Fortran modules: {}",
            program.display(),
            words.join(" "),
            said.trim()
        ))
    };
    let compile = |source: &OsStr, more: &[&str], object: &str| {
        let mut words: Vec<&OsStr> = compiler[1..].iter().map(OsString::as_os_str).collect();
        words.extend(["-O2", "-fPIC", "-c", "-o", object].map(OsStr::new));
        words.extend(more.iter().map(OsStr::new));
        words.push(source);
        run(&compiler[0], &words)
    };
    let first = sources.join(SOURCES[0]);
    let wide = if compile(first.as_os_str(), &[WIDE], "0.o").is_ok() { &[WIDE][..] } else { &[] };
    let mut objects = Vec::new();
    for (at, name) in SOURCES.iter().enumerate() {
        objects.push(format!("{at}.o"));
        compile(sources.join(name).as_os_str(), wide, &objects[at])?;
    }
    objects.extend(calls(compiler, &sources.join(REPLACED), folder, &run)?);
    let library = format!("lib{LIBRARY}.a");
    let mut words = vec!["rcs", &library];
    words.extend(objects.iter().map(String::as_str));
    run(OsStr::new("ar"), &words.iter().map(OsStr::new).collect::<Vec<_>>())?;
    for name in objects {
        let _ = std::fs::remove_file(folder.join(name));
    }
    Ok(())
}

/// Runs a program with arguments, in the folder.
type Run<'a> = &'a dyn Fn(&OsStr, &[&OsStr]) -> Result<(), String>;

/// Makes the objects with the calls of procedures that may be replaced, and returns their names.
fn calls(compiler: &[OsString], source: &Path, folder: &Path, run: Run) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(source).map_err(|error| format!("{}: {error}", source.display()))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    let families: Vec<_> = text.split(FAMILY).skip(1).filter_map(|family| family.split_once('\n')).collect();
    // Flang's descriptors are the standard's, and flang 19 does not compile procedures that get them without BIND(C).
    let is_bridged = !is_flang(compiler);
    if is_bridged {
        let mut words: Vec<OsString> = compiler[1..].to_vec();
        words.extend(["-O2", "-fPIC", "-S"].map(OsString::from));
        for (name, calls) in &families {
            write(&format!("{name}.F90"), calls)?;
            words.push(format!("{name}.F90").into());
        }
        run(&compiler[0], &words.iter().map(OsString::as_os_str).collect::<Vec<_>>())?;
    }
    let mut objects = Vec::new();
    let mut assemble = |name: &str, text: &str| {
        let (source, object) = (format!("{name}.s"), format!("{name}.o"));
        write(&source, text)?;
        run(OsStr::new("as"), &["-o", &object, &source].map(OsStr::new))?;
        let _ = std::fs::remove_file(folder.join(source));
        objects.push(object);
        Ok::<_, String>(())
    };
    for (family, calls) in families {
        let procedures = calls.split(CALL).skip(1).filter_map(|call| call.split('(').next());
        let mut weak = String::new();
        for procedure in procedures {
            // A program that links a family need not replace all of its procedures.
            weak += &format!("\t.weak {procedure}_\n");
            assemble(procedure, &call(procedure, is_bridged))?;
        }
        if is_bridged {
            let path = folder.join(format!("{family}.s"));
            let compiled =
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            assemble(family, &(compiled + &weak))?;
            let _ = std::fs::remove_file(folder.join(format!("{family}.F90")));
        }
    }
    Ok(objects)
}

/// Tells whether a compiler is flang.
fn is_flang(compiler: &[OsString]) -> bool {
    let output =
        Command::new(&compiler[0]).args(&compiler[1..]).arg("--version").stdin(Stdio::null()).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("flang"))
}

/// Returns, for the assembler, what calls a procedure: the library's entry, unless somebody else has one of the standard's name.
fn call(procedure: &str, is_bridged: bool) -> String {
    let name = format!("weft_call_{procedure}");
    let code = if cfg!(target_arch = "x86_64") {
        let other = if is_bridged { format!("weft_replaced_{procedure}") } else { format!("{procedure}_") };
        format!(
            "\tcmpq $0, {procedure}_@GOTPCREL(%rip)\n\tjne 1f\n\tjmp *weft_{procedure}@GOTPCREL(%rip)\n\
             1:\tjmp *{other}@GOTPCREL(%rip)\n"
        )
    } else {
        let other = if is_bridged { format!("b weft_replaced_{procedure}") } else { "br x16".to_owned() };
        format!(
            "\tadrp x16, :got:{procedure}_\n\tldr x16, [x16, :got_lo12:{procedure}_]\n\tcbnz x16, 1f\n\
             \tb weft_{procedure}\n1:\t{other}\n"
        )
    };
    format!(
        "\t.text\n\t.weak {procedure}_\n\t.globl {name}\n\t.type {name}, %function\n{name}:\n{code}\
         \t.size {name}, .-{name}\n\t.section .note.GNU-stack,\"\",%progbits\n"
    )
}

/// Finds a folder among the words of a command line in which a compiler would find modules of the same names before it comes to
/// `ours`: those of another compiler, or of another MPI.
pub fn others(words: &[String], ours: &Path) -> Option<PathBuf> {
    let named =
        words.windows(2).filter(|pair| ["-I", "-J"].contains(&pair[0].as_str())).map(|pair| pair[1].as_str());
    let attached =
        words.iter().filter_map(|word| word.strip_prefix("-I").or_else(|| word.strip_prefix("-J")));
    let is_other = |folder: &Path| {
        let has = ["mpi.mod", "mpi_f08.mod"].iter().any(|name| folder.join(name).exists());
        has && std::fs::canonicalize(folder).ok() != std::fs::canonicalize(ours).ok()
    };
    named
        .chain(attached)
        .chain(["."])
        .filter(|word| !word.is_empty())
        .map(PathBuf::from)
        .find(|folder| is_other(folder))
}

/// Options that make an `INTEGER` wider, and those that make a `REAL` wider.
const WIDE_INTEGERS: [&str; 4] = ["-fdefault-integer-8", "-i8", "-integer-size=64", "-qintsize=8"];
const WIDE_REALS: [&str; 4] = ["-fdefault-real-8", "-r8", "-fdefault-real-10", "-fdefault-real-16"];

/// What is to be said of options that change the size of Fortran's types: an error, or a warning.
pub enum Sizes {
    /// Nothing works.
    Wrong(String),
    /// What may be wrong.
    Doubtful(String),
    /// As MPI has them.
    Right,
}

/// Judges options that change the size of Fortran's types.
pub fn sizes(words: &[String]) -> Sizes {
    let given = |options: &[&str]| words.iter().find(|word| options.contains(&word.as_str()));
    if let Some(option) = given(&WIDE_INTEGERS) {
        return Sizes::Wrong(format!(
            "{option}: an INTEGER has 4 bytes in MPI's interfaces; leave the option out and declare wide integers by kind"
        ));
    }
    match given(&WIDE_REALS) {
        Some(option) => Sizes::Doubtful(format!(
            "{option}: MPI_REAL and MPI_COMPLEX stand for 4 and 8 bytes whatever the option says; name MPI_REAL8 and the like"
        )),
        None => Sizes::Right,
    }
}
