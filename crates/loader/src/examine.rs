//! Decides from the files whether a program's ranks can be copies in one process, and says why if not.

use crate::error::{Error, ErrorKind, Result};
use crate::image::{Image, Symbol};
use crate::libraries::{Search, System, runtimes, supplied};
use crate::link::is_pie;
use crate::parts::{self, Need, Part};
use crate::relocation;
use crate::uses::{self, list};
use crate::variables::library_variables;
use crate::verdict::{Note, Reason, ReasonKind, Verdict};
use crate::versions;
use object::elf;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Lists the functions whose replacement makes a heap of its own.
const HEAP: &[&str] = &["malloc", "free", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc"];

/// Lists variables of the libraries that all ranks share whose copies in a program are harmless: the host knows that the rank's
/// is there.
const HARMLESS_COPIES: &[&str] = &[
    "stdin",
    "stdout",
    "stderr",
    "optarg",
    "optind",
    "opterr",
    "optopt",
    "environ",
    "__environ",
    "_environ",
    "program_invocation_name",
    "program_invocation_short_name",
    "__progname",
    "__progname_full",
    "tzname",
    "__tzname",
    "timezone",
    "__timezone",
    "daylight",
    "__daylight",
];

/// Lists how constants of C++ begin: tables of virtual functions, descriptions of types. A copy is as good as the library's.
const CONSTANTS: &[&str] = &["_ZTV", "_ZTI", "_ZTS", "_ZTT", "_ZSt7nothrow"];

fn is_harmless(name: &str) -> bool {
    HARMLESS_COPIES.contains(&name) || CONSTANTS.iter().any(|start| name.starts_with(start))
}

/// Judges a program; `ours` lists the names under which programs need our library.
pub fn examine(path: &Path, ours: &[&str]) -> Verdict {
    examine_with(path, &[], ours, &System::new())
}

/// Judges a program with tools that come between it and MPI, finding libraries by `search`.
pub fn examine_with(path: &Path, tools: &[PathBuf], ours: &[&str], search: &dyn Search) -> Verdict {
    let alone = examine_parts(path, &[], ours, search);
    // A tool makes no MPI program of another one.
    match alone {
        Verdict::Threads { .. } if !tools.is_empty() => examine_parts(path, tools, ours, search),
        _ => alone,
    }
}

fn examine_parts(path: &Path, tools: &[PathBuf], ours: &[&str], search: &dyn Search) -> Verdict {
    let collected = check_program(path).and_then(|()| parts::collect(path, tools, ours, search));
    match collected.and_then(|parts| versions::check(&parts).and_then(|()| judge(&parts))) {
        Err(error) if error.kind == ErrorKind::Script => {
            if let Some(fault) = missing_interpreter(&error.path) {
                return Verdict::NotLoadable(Error::new(&error.path, ErrorKind::NoInterpreter, fault));
            }
            let (what, remedy) = ("is a script".into(), "start the program it runs".into());
            let reason =
                Reason { kind: ReasonKind::Script, object: error.path, what, names: Vec::new(), remedy };
            Verdict::Processes { reasons: vec![reason], notes: Vec::new() }
        }
        Err(error) => Verdict::NotLoadable(error),
        Ok((reasons, notes)) if reasons.is_empty() => Verdict::Threads { notes },
        Ok((reasons, notes)) => Verdict::Processes { reasons, notes },
    }
}

/// Says what is wrong with the interpreter that a script's first line names, if anything is.
fn missing_interpreter(script: &Path) -> Option<String> {
    use std::io::Read;
    // The kernel reads no more than this.
    let mut start = Vec::new();
    std::fs::File::open(script).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let name = line.trim_matches([' ', '\t']).split([' ', '\t']).next().unwrap_or("");
    let said = format!("is a script whose first line names the interpreter {}", name.trim_end());
    match name {
        "" => Some(
            "is a script whose first line names no interpreter after #!; write #!/bin/sh, for example".into(),
        ),
        _ if name.ends_with('\r') => {
            Some(format!("{said} with a carriage return behind; save the script with Unix line ends"))
        }
        _ if !Path::new(name).exists() => {
            Some(format!("{said}, which does not exist; correct the line or install it"))
        }
        _ if std::fs::metadata(name).is_ok_and(|data| data.permissions().mode() & 0o111 == 0) => {
            Some(format!("{said}, which is not executable; correct the line"))
        }
        _ => None,
    }
}

/// Finds what the kernel would refuse.
pub(crate) fn check_program(path: &Path) -> Result<()> {
    let data = std::fs::metadata(path)
        .map_err(|e| Error::new(path, ErrorKind::Unreadable, format!("cannot be read: {e}")))?;
    if data.is_file() && data.permissions().mode() & 0o111 == 0 {
        return Err(Error::new(path, ErrorKind::NotExecutable, "is not executable; use chmod +x"));
    }
    let file = crate::map::MappedFile::open(path)?;
    let image = Image::parse(file.bytes()).map_err(|fault| parts::at(path, fault))?;
    check_kind(&image, path)
}

/// Finds files that are no programs.
pub(crate) fn check_kind(image: &Image<'_>, path: &Path) -> Result<()> {
    let not_a_program = |what: &str| Err(Error::new(path, ErrorKind::NotAProgram, what));
    match image.kind {
        elf::ET_REL => return not_a_program("is an object file; link it first"),
        elf::ET_CORE => return not_a_program("is a core dump"),
        elf::ET_EXEC | elf::ET_DYN => {}
        other => return not_a_program(&format!("has an unknown ELF type {other}")),
    }
    let entry_is_code = image.loads().any(|s| s.is_executable() && s.holds(image.entry));
    match image.interpreter() {
        None if image.segment(elf::PT_INTERP).is_some() => {
            Err(Error::new(path, ErrorKind::Malformed, "has an unreadable interpreter name"))
        }
        None if image.kind == elf::ET_DYN && !is_pie(image) => {
            not_a_program("is a shared library, not a program; link it with mpicc and without -shared")
        }
        Some(interpreter) if !Path::new(interpreter).exists() => Err(Error::new(
            path,
            ErrorKind::NoInterpreter,
            format!("asks for the interpreter {interpreter}, which does not exist; build it on this system"),
        )),
        _ if !entry_is_code => Err(Error::new(
            path,
            ErrorKind::Malformed,
            format!("has its entry point {:#x} outside its code", image.entry),
        )),
        _ => Ok(()),
    }
}

const RELINK: &str = "compile and link it with mpicc";

/// Collects reasons and notes over all parts of a program.
pub(crate) fn judge(parts: &[Part]) -> Result<(Vec<Reason>, Vec<Note>)> {
    let mut reasons = Vec::new();
    let mut notes = Vec::new();
    let mut ours = false;
    let variables = library_variables(parts)?;
    for (index, part) in parts.iter().enumerate() {
        let image = part.image()?;
        let mut add = |kind, what: String, remedy: &str| {
            reasons.push(Reason {
                kind,
                object: part.path.clone(),
                what,
                names: Vec::new(),
                remedy: remedy.into(),
            });
        };
        if index == 0 {
            judge_linking(&image, &mut add);
        }
        ours |= part.needs.iter().any(|(_, need)| *need == Need::Ours);
        for (name, need) in &part.needs {
            let base = name.rsplit('/').next().unwrap_or(name);
            let is_other = runtimes::is_of_other_mpi(base) || base.starts_with("libmpi_abi.so");
            if *need != Need::Ours && is_other && !is_supplied(parts, need) {
                add(ReasonKind::OtherLibrary, format!("uses another implementation's {name}"), RELINK);
            }
            if let Need::Private(library) = need {
                let path = parts[*library].path.clone();
                let what = format!("is loaded once per rank, needed by {}", part.path.display());
                if !is_of_system(&path)
                    && !supplied::is_supplied(&path)
                    && !notes.iter().any(|n: &Note| n.object == path)
                {
                    notes.push(Note { object: path, what });
                }
            }
        }
        judge_relocations(&part.path, &image, |name| variables.contains_key(name), &mut add)?;
        judge_symbols(&image, &mut add);
    }
    reasons.extend(mixture(parts));
    reasons.extend(uses::judge(parts)?);
    if !ours && !reasons.iter().any(|r| matches!(r.kind, ReasonKind::Static | ReasonKind::OtherLibrary)) {
        reasons.insert(
            0,
            Reason {
                kind: ReasonKind::NotOurProgram,
                object: parts[0].path.clone(),
                names: Vec::new(),
                what: "is not an MPI program: neither it nor its libraries need the MPI library".into(),
                remedy: "link it with mpicc if it calls MPI".into(),
            },
        );
    }
    Ok((reasons, notes))
}

/// Tells whether a needed library is one that the host supplies.
fn is_supplied(parts: &[Part], need: &Need) -> bool {
    matches!(need, Need::Private(index) if supplied::is_supplied(&parts[*index].path))
}

/// Lists the host's own library and those it supplies, by their names, with who needs them: the program, or its own libraries.
pub(crate) fn interfaces(parts: &[Part]) -> Vec<(&str, &Path)> {
    let own = parts.iter().filter(|part| !supplied::is_supplied(&part.path));
    own.flat_map(|part| part.needs.iter().map(move |need| (part, need)))
        .filter(|(_, (_, need))| *need == Need::Ours || is_supplied(parts, need))
        .map(|(part, (name, _))| (name.rsplit('/').next().unwrap_or(name), part.path.as_path()))
        .collect()
}

/// Finds libraries of different interfaces in one program: each function has one meaning in a process.
fn mixture(parts: &[Part]) -> Option<Reason> {
    // The number at the end of a name is that of an interface: libmpi.so.12 and libmpifort.so.12 are one.
    let number = |name: &str| name.rsplit_once(".so").map_or("", |(_, number)| number).to_owned();
    let all = interfaces(parts);
    let (first, who) = all.first()?;
    let (second, object) = all.iter().find(|(name, _)| number(name) != number(first))?;
    Some(Reason {
        kind: ReasonKind::Mixture,
        object: object.to_path_buf(),
        what: format!("needs {second}, but {} needs {first}: these are libraries of two MPIs", who.display()),
        names: Vec::new(),
        remedy: "build the program and all its libraries for one MPI".into(),
    })
}

/// Tells whether a library comes with the system: that it is loaded once per rank is nothing to know.
fn is_of_system(path: &Path) -> bool {
    ["/lib", "/usr/lib"].iter().any(|folder| path.starts_with(folder))
}

fn judge_linking(image: &Image<'_>, add: &mut impl FnMut(ReasonKind, String, &str)) {
    if image.segment(elf::PT_INTERP).is_none() {
        return add(
            ReasonKind::Static,
            "is linked statically".into(),
            "link it with mpicc and without -static",
        );
    }
    if image.kind == elf::ET_EXEC {
        add(
            ReasonKind::FixedAddress,
            "is linked for a fixed address".into(),
            "compile and link it with mpicc, without -no-pie",
        );
    }
    if image.segment(elf::PT_TLS).is_some() && (is_pie(image) || image.kind == elf::ET_EXEC) {
        add(
            ReasonKind::StaticThreadLocal,
            "has thread-local data (thread_local or threadprivate) that the linker bound to the process's first \
             program"
                .into(),
            "link it with mpicc, which makes such a program an executable shared object",
        );
    }
}

/// Judges one object alone.
pub(crate) fn judge_image(path: &Path, image: &Image<'_>) -> Result<Vec<Reason>> {
    let mut reasons = Vec::new();
    let mut add = |kind, what: String, remedy: &str| {
        reasons.push(Reason {
            kind,
            object: path.to_path_buf(),
            what,
            names: Vec::new(),
            remedy: remedy.into(),
        });
    };
    judge_linking(image, &mut add);
    judge_relocations(path, image, |_| false, &mut add)?;
    judge_symbols(image, &mut add);
    reasons.extend(uses::judge_image(path, image, None, &Default::default()));
    Ok(reasons)
}

/// Judges a library that a rank opens while it runs.
pub(crate) fn judge_library(path: &Path, image: &Image<'_>) -> Result<Vec<Reason>> {
    let mut reasons = Vec::new();
    let mut add = |kind, what: String, remedy: &str| {
        let (object, names) = (path.to_path_buf(), Vec::new());
        reasons.push(Reason { kind, object, what, names, remedy: remedy.into() });
    };
    judge_relocations(path, image, |_| false, &mut add)?;
    judge_symbols(image, &mut add);
    let file = path.file_name().and_then(|name| name.to_str());
    reasons.extend(uses::judge_image(path, image, image.soname().or(file), &Default::default()));
    Ok(reasons)
}

fn judge_relocations(
    path: &Path,
    image: &Image<'_>,
    is_brought: impl Fn(&str) -> bool,
    add: &mut impl FnMut(ReasonKind, String, &str),
) -> Result<()> {
    let flags = image.tag(elf::DT_FLAGS).unwrap_or(0);
    if image.tag(elf::DT_TEXTREL).is_some() || flags & u64::from(elf::DF_TEXTREL) != 0 {
        add(
            ReasonKind::TextRelocation,
            "has relocations in its code".into(),
            "compile all of it with -fPIC, as mpicc does",
        );
    }
    let mut copied = BTreeSet::new();
    let mut static_thread_local = false;
    for r in image.relocations().map_err(|fault| parts::at(path, fault))? {
        let symbol = image.symbol(r.symbol).filter(|_| r.symbol != 0);
        match r.kind {
            relocation::COPY => {
                let name = symbol.map_or("?", |s| s.name);
                if !is_harmless(name) && !is_brought(name) {
                    copied.insert(name);
                }
            }
            // The distance of our own data from the thread pointer is known only to what starts with the process.
            relocation::THREAD_OFFSET => static_thread_local |= symbol.is_none_or(|s| s.defined),
            _ => {}
        }
    }
    if !copied.is_empty() {
        add(
            ReasonKind::CopyRelocation,
            format!("keeps its own copy of library data ({})", list(copied.iter().copied())),
            "compile it with mpicc (-fPIC), all objects and static libraries",
        );
    }
    if static_thread_local && image.segment(elf::PT_TLS).is_some() {
        add(
            ReasonKind::StaticThreadLocal,
            "has thread-local data of the initial-exec model".into(),
            "compile it without -ftls-model=initial-exec",
        );
    }
    Ok(())
}

const CXX_LIBRARY: &str = "libstdc++.so.6";

fn judge_symbols(image: &Image<'_>, add: &mut impl FnMut(ReasonKind, String, &str)) {
    let symbols: Vec<Symbol<'_>> = image.symbols().collect();
    let own: BTreeSet<&str> =
        symbols.iter().filter(|s| s.defined && HEAP.contains(&s.name)).map(|s| s.name).collect();
    // Only its own program may replace them: a library that is loaded per rank has its own weak ones at most.
    let own_new =
        symbols.iter().find(|s| s.defined && s.bind == elf::STB_GLOBAL && s.name.starts_with("_Znw"));
    let shares_runtime =
        image.needed().is_ok_and(|needed| needed.iter().any(|(name, _)| *name == CXX_LIBRARY));
    if let Some(symbol) = own_new.filter(|_| shares_runtime) {
        add(
            ReasonKind::OwnAllocator,
            format!(
                "replaces operator new ({}); the C++ library, shared by all ranks, would not use it",
                symbol.name
            ),
            "if it ends in malloc and free, say --ranks-as threads",
        );
    }
    if own.contains("malloc") || own.contains("free") {
        add(
            ReasonKind::OwnAllocator,
            format!(
                "replaces {}; libc, shared by all ranks, would keep using its own",
                list(own.iter().copied())
            ),
            "link it without that allocator, or preload the allocator for the whole job",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_reasons_stop_loading_and_others_do_not() {
        assert!(ReasonKind::CopyRelocation.is_impossible());
        assert!(ReasonKind::StaticThreadLocal.is_impossible());
        assert!(!ReasonKind::ProcessCall.is_impossible());
        assert!(!ReasonKind::NotOurProgram.is_impossible());
    }
}
