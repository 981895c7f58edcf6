//! What an installation says of itself to other programs: manual pages, completions for shells, the files for pkg-config.
//!
//! All follow from the command lines and from what the wrappers add, so they cannot say anything else than those do.

use super::modules;
use super::wrapper::{Language, SHOWN, Wrapper};
use crate::command_line::flags;
use crate::tools::install::Installation;
use clap::Command;
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};
use std::fs;
use std::path::{Path, PathBuf};
use weft_loader::link;

/// The wrappers by the languages they are for, each with further names.
const WRAPPERS: &[(&str, &[&str], &str)] =
    &[("mpicc", &[], "C"), ("mpicxx", &["mpic++"], "C++"), ("mpifort", &["mpif90", "mpif77"], "Fortran")];

/// Where each shell looks for completions, below `share`, and how it names the file.
const SHELLS: &[(Shell, &str, &str, &str)] = &[
    (Shell::Bash, "bash-completion/completions", "", ""),
    (Shell::Zsh, "zsh/site-functions", "_", ""),
    (Shell::Fish, "fish/vendor_completions.d", "", ".fish"),
];

/// Writes everything below `prefix`; `weft` is the command line of `weft`.
///
/// # Errors
/// Says which file could not be written.
pub fn write(prefix: &Path, weft: Command) -> Result<(), String> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut page = |name: &str, text: Vec<u8>| files.push((format!("share/man/man1/{name}.1"), text));
    page("mpirun", manual(built(flags::described()), "mpirun", &["mpicc", "weft"], Some(spellings())));
    let weft = built(weft);
    page("weft", manual(weft.clone(), "weft", &["mpirun", "weft-check", "weft-info", "weft-tune"], None));
    for command in weft.get_subcommands() {
        let name = format!("weft-{}", command.get_name());
        page(&name, manual(command.clone(), &name, &["weft", "mpirun"], None));
    }
    for (name, _, language) in WRAPPERS {
        page(name, wrapper(name, language));
    }
    for (shell, directory, before, after) in SHELLS {
        for (name, command) in
            [("mpirun", flags::described()), ("mpiexec", flags::described()), ("weft", weft.clone())]
        {
            let mut text = Vec::new();
            // A name of its own, or the functions of two commands would be one.
            generate(*shell, &mut command.no_binary_name(false).name(name), name, &mut text);
            files.push((format!("share/{directory}/{before}{name}{after}"), text));
        }
    }
    files.push(("lib/pkgconfig/weft.pc".into(), package().into()));
    let modules = Installation::find().ok().and_then(|installation| modules_of(prefix, installation));
    files.extend(modules.map(|path| ("lib/pkgconfig/weft-fortran.pc".into(), fortran_package(&path).into())));
    for (name, text) in files {
        put(&prefix.join(name), &text)?;
    }
    let others =
        WRAPPERS.iter().flat_map(|(name, others, _)| others.iter().map(move |other| (*name, *other)));
    for (name, other) in others.chain([("mpirun", "mpiexec")]) {
        link_page(&prefix.join("share/man/man1"), name, other)?;
    }
    Ok(())
}

/// Gives a manual page a second name.
fn link_page(directory: &Path, name: &str, other: &str) -> Result<(), String> {
    let (target, link) = (format!("{name}.1"), directory.join(format!("{other}.1")));
    if fs::read_link(&link).is_ok_and(|old| old == Path::new(&target)) {
        return Ok(());
    }
    // Whatever is there is of another build.
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(target, &link).map_err(|error| format!("{}: {error}", link.display()))
}

/// Writes a file unless it is there already with the same text.
fn put(path: &Path, text: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn built(command: Command) -> Command {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    command
}

/// Renders a manual page; `more` comes after the options.
fn manual(command: Command, name: &str, see: &[&str], more: Option<Roff>) -> Vec<u8> {
    let notes = command.get_after_help().map(ToString::to_string);
    let has_commands = command.has_subcommands();
    let page = Man::new(command);
    let mut end = Roff::new();
    if let Some(notes) = notes {
        end.control("SH", ["NOTES"]);
        for (index, paragraph) in paragraphs(&notes).iter().enumerate() {
            if index > 0 {
                end.control("PP", []);
            }
            end.text([roman(paragraph)]);
        }
    }
    end.control("SH", ["SEE ALSO"]);
    let names: Vec<_> = see
        .iter()
        .enumerate()
        .flat_map(|(index, other)| [roman(if index > 0 { ", " } else { "" }), bold(*other), roman("(1)")])
        .collect();
    end.text(names);
    let mut text = title(name).into_bytes();
    let written = page.render_name_section(&mut text).and_then(|()| {
        page.render_synopsis_section(&mut text)?;
        page.render_description_section(&mut text)?;
        page.render_options_section(&mut text)?;
        if has_commands {
            page.render_subcommands_section(&mut text)?;
        }
        more.map_or(Ok(()), |more| more.to_writer(&mut text))?;
        end.to_writer(&mut text)
    });
    written.expect("memory takes what is written to it");
    text
}

/// Returns a page's first line. There is no date in it, so that each build makes the same page.
fn title(name: &str) -> String {
    format!(".TH \"{}\" \"1\" \"\" \"Weft {}\" \"Weft\"\n", name.to_uppercase(), env!("CARGO_PKG_VERSION"))
}

/// Joins the lines of a text up to those that end a sentence.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        match paragraphs.last_mut().filter(|_| is_open) {
            Some(paragraph) => *paragraph += &format!(" {line}"),
            None => paragraphs.push(line.to_owned()),
        }
        is_open = !line.ends_with('.');
    }
    paragraphs
}

/// Lists the spellings of options that the options' own entries do not show.
fn spellings() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["OTHER SPELLINGS"]);
    roff.text([roman("Other launchers name some options differently; these names mean the same.")]);
    let command = flags::described();
    for arg in command.get_arguments() {
        let short = arg.get_visible_short_aliases().unwrap_or_default();
        let long = arg.get_visible_aliases().unwrap_or_default();
        let others: Vec<_> = short
            .iter()
            .map(|name| format!("-{name}"))
            .chain(long.iter().map(|name| format!("--{name}")))
            .collect();
        if let (Some(name), false) = (arg.get_long(), others.is_empty()) {
            roff.control("TP", []);
            roff.text([bold(format!("--{name}"))]);
            roff.text([roman(others.join(", "))]);
        }
    }
    roff
}

/// Renders the page of a compiler wrapper.
fn wrapper(name: &str, language: &str) -> Vec<u8> {
    let (compiler, variables, options) = Language::of(name).names();
    let mut roff = Roff::new();
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{name} - compiles and links MPI programs in {language}"))]);
    roff.control("SH", ["SYNOPSIS"]);
    roff.text([bold(name), roman(" [OPTION OF THE COMPILER]… FILE…")]);
    roff.control("SH", ["DESCRIPTION"]);
    roff.text([
        roman(format!("Runs the compiler, {compiler} where nothing else is said, with what an MPI program needs to be ")),
        roman("compiled, linked, and loaded once for each rank. The library is found relative to the wrapper itself. "),
        roman("All options of the compiler are passed on."),
    ]);
    roff.control("SH", ["OPTIONS"]);
    let mut option = |word: &str, value: &str, meaning: &str| {
        roff.control("TP", []);
        roff.text([bold(word), italic(value)]);
        roff.text([roman(meaning)]);
    };
    for word in options {
        option(word, "COMPILER", "Take this compiler");
    }
    option("-show", "", "Print the command that would be run, instead of running it; -showme says the same");
    for (word, printed) in SHOWN {
        option(&format!("-showme:{word}"), "", &format!("Print {printed}"));
    }
    option("-compile_info", "", "Print the compiler and the options for compiling");
    option("-link_info", "", "Print the compiler and the options for linking");
    roff.control("SH", ["ENVIRONMENT"]);
    let names: Vec<_> = ["WEFT_", "MPICH_", "OMPI_"]
        .iter()
        .flat_map(|prefix| variables.iter().map(move |variable| format!("{prefix}{variable}")))
        .collect();
    roff.text([roman(format!(
        "The compiler may be named in {}; the first one that is set holds.",
        names.join(", ")
    ))]);
    if language == "Fortran" {
        roff.control("SH", ["NOTES"]);
        roff.text([roman(
            "Modules belong to the compiler that wrote them. Those of another compiler are made when it is first called, in the installation or in the user's cache.",
        )]);
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text([bold("mpirun"), roman("(1), "), bold("weft-check"), roman("(1)")]);
    (title(name) + &roff.render()).into_bytes()
}

/// Returns a file for pkg-config that finds the installation wherever it has been moved to.
fn package() -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         libdir=${{prefix}}/lib\n\
         includedir=${{prefix}}/include\n\n\
         Name: weft\n\
         Description: MPI whose ranks are threads, or processes\n\
         Version: {}\n\
         Cflags: -I${{includedir}} {}\n\
         Libs: {} -L${{libdir}} -Wl,-rpath,${{libdir}} -lmpi_abi\n",
        env!("CARGO_PKG_VERSION"),
        link::COMPILE.join(" "),
        link::LINK.join(" "),
    )
}

/// Returns the folder with the modules of the usual Fortran compiler, as seen from the directory that everything is below.
fn modules_of(prefix: &Path, installation: Installation) -> Option<PathBuf> {
    let prefix = prefix.canonicalize().ok()?;
    let folder = Wrapper::new(Language::Fortran, Vec::new(), installation).modules().ok()?;
    folder.canonicalize().ok()?.strip_prefix(prefix).ok().map(Path::to_path_buf)
}

/// Returns a file for pkg-config with what Fortran programs need beside what C programs do; `modules` is relative.
fn fortran_package(modules: &Path) -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         moduledir=${{prefix}}/{}\n\n\
         Name: weft-fortran\n\
         Description: Modules and procedures of MPI for the Fortran compiler that the name of moduledir tells\n\
         Version: {}\n\
         Requires: weft\n\
         Cflags: -I${{moduledir}}\n\
         Libs: -L${{moduledir}} -l{} -lmpifort_abi\n",
        modules.display(),
        env!("CARGO_PKG_VERSION"),
        modules::LIBRARY,
    )
}
