//! Where the values of settings come from, and what is wrong with them.

use super::{Setting, TABLE, find};
use crate::tools::watch;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where files are looked for, for help texts.
pub const FILES_HELP: &str =
    "PREFIX/etc/weft.conf, then ~/.config/weft/weft.conf: lines `name = value`, # for comments";

/// Where a value was found. Later ones win.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The table.
    Default,
    /// A line of a file.
    File(PathBuf, usize),
    /// `WEFT_…`
    Environment,
    /// An option of `mpirun`, as it is written there.
    Option(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Environment => f.write_str("environment"),
            Self::Option(option) => f.write_str(option),
        }
    }
}

/// A setting with the value that holds, and where that is from.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The setting.
    pub setting: &'static Setting,
    /// The value.
    pub value: u64,
    /// The value as it is shown.
    pub text: String,
    /// Where it was found.
    pub source: Source,
}

/// A name or value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong, where, and what to do.
    pub message: String,
    /// Whether it is only a variable of the environment that looks like a setting of ours.
    pub is_harmless: bool,
}

/// Names and values as they were written.
pub struct Origin<'a> {
    /// `--set name=value` and other options of `mpirun`: name, value, option.
    pub options: Vec<(String, String, String)>,
    /// The environment.
    pub environment: Vec<(String, String)>,
    /// Files that are read if they exist, the more important later.
    pub files: &'a [PathBuf],
}

/// Settles the value of every setting; also returns what could not be used.
pub fn gather(origin: &Origin<'_>) -> (Vec<Resolved>, Vec<Refused>) {
    let mut all: Vec<Resolved> = TABLE
        .iter()
        .map(|setting| Resolved {
            setting,
            value: setting.default,
            text: setting.show(setting.default),
            source: Source::Default,
        })
        .collect();
    let mut refused = Vec::new();
    let mut put = |name: &str, value: &str, source: Source| match find(name) {
        Some(setting) => match setting.parse(value) {
            Ok(number) => {
                let place = all.iter_mut().find(|r| core::ptr::eq(r.setting, setting)).expect("in the table");
                let text = if setting.is_text() { value.to_owned() } else { setting.show(number) };
                *place = Resolved { setting, value: number, text, source };
            }
            Err(why) => refused
                .push(Refused { message: format!("{}: {why}", place(&source, name)), is_harmless: false }),
        },
        None => {
            let is_harmless = source == Source::Environment;
            let message = format!("{}: no such setting{}", place(&source, name), suggestion(name));
            refused.push(Refused { message, is_harmless });
        }
    };
    for path in origin.files {
        for (line, name, value) in read(path) {
            put(&name, &value, Source::File(path.clone(), line));
        }
    }
    for (variable, value) in &origin.environment {
        // Compilers of another language, and the test suite's own.
        let known = ["WEFT_F90", "WEFT_F77", "WEFT_BUILD", "WEFT_TEST_SEED"].contains(&variable.as_str());
        if let Some(name) = variable.strip_prefix("WEFT_").filter(|name| !name.is_empty() && !known) {
            put(&name.to_lowercase().replace('_', "-"), value, Source::Environment);
        }
    }
    for (name, value, option) in &origin.options {
        put(name, value, Source::Option(option.clone()));
    }
    (all, refused)
}

fn place(source: &Source, name: &str) -> String {
    match source {
        Source::Environment => format!("WEFT_{}", name.to_uppercase().replace('-', "_")),
        Source::File(..) => format!("{source}: {name}"),
        Source::Option(option) if option == "--set" => format!("--set {name}"),
        source => source.to_string(),
    }
}

/// Names the setting that is spelled most like `name`.
fn suggestion(name: &str) -> String {
    let nearest = TABLE
        .iter()
        .map(|setting| (strsim::damerau_levenshtein(name, setting.name), setting.name))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.len().max(name.len()) / 3);
    match nearest {
        Some((_, known)) => format!("; did you mean {known}?"),
        None => "; weft info --settings lists all".into(),
    }
}

/// Reads the lines of a file; a file that is not there has none.
fn read(path: &Path) -> Vec<(usize, String, String)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().enumerate().filter_map(|(index, line)| {
        let line = line.split('#').next().unwrap_or_default().trim();
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        (!line.is_empty()).then(|| (index + 1, name.trim().to_owned(), value.trim().to_owned()))
    });
    lines.collect()
}

/// Sets everything for a program that was started without `mpirun`: from the environment only, and what is wrong with it
/// is returned.
pub fn gather_alone() -> Vec<Refused> {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let (all, refused) = gather(&Origin { options: Vec::new(), environment, files: &[] });
    for resolved in all {
        resolved.setting.set(resolved.value);
        if resolved.setting.is_text() && resolved.source != Source::Default {
            resolved.setting.set_text(&resolved.text);
        }
    }
    watch::set_checking(super::is_checking());
    refused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(environment: &[(&str, &str)], options: &[(&str, &str)]) -> Origin<'static> {
        let owned = |text: &&str| (*text).to_owned();
        Origin {
            options: options.iter().map(|(n, v)| (owned(n), owned(v), "--set".into())).collect(),
            environment: environment.iter().map(|(n, v)| (owned(n), owned(v))).collect(),
            files: &[],
        }
    }

    #[test]
    fn the_command_line_wins_over_the_environment() {
        let (all, refused) =
            gather(&origin(&[("WEFT_EAGER", "1K"), ("WEFT_SHARE_FROM", "64K")], &[("eager", "2K")]));
        assert_eq!(refused, []);
        let of = |name: &str| all.iter().find(|r| r.setting.name == name).unwrap().clone();
        assert_eq!((of("eager").value, of("eager").source), (2048, Source::Option("--set".into())));
        assert_eq!((of("share-from").value, of("share-from").source), (65536, Source::Environment));
        assert_eq!((of("spins").value, of("spins").source), (4000, Source::Default));
    }

    #[test]
    fn mistakes_name_the_place_and_the_nearest_name() {
        let (_, refused) = gather(&origin(
            &[
                ("WEFT_EGAER", "1K"),
                ("WEFT_RINGS", "99"),
                ("WEFT_CC", "clang"),
                ("WEFT_F90", "x"),
                ("HOME", "x"),
            ],
            &[("spinz", "1"), ("nonsense-entirely", "1"), ("eager", "huge")],
        ));
        let messages: Vec<_> = refused.iter().map(|r| (r.message.as_str(), r.is_harmless)).collect();
        assert_eq!(
            messages,
            [
                ("WEFT_EGAER: no such setting; did you mean eager?", true),
                ("WEFT_RINGS: \"99\" is no value for rings; possible is a number from 0 to 16", false),
                ("--set spinz: no such setting; did you mean spins?", false),
                ("--set nonsense-entirely: no such setting; weft info --settings lists all", false),
                ("--set eager: \"huge\" is no value for eager; possible is bytes from 0 to 1M", false),
            ]
        );
    }
}
