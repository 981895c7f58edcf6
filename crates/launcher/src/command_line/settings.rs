//! The settings of a job: gathered from the command line, the environment and the files, checked, and shown.

use crate::command_line::stop::Stop;
use crate::tools::install::Installation;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use weft_base::collectives::{Entry, Table};
use weft_base::say;
use weft_base::settings::{COLLECTIVE_TABLE, COLLECTIVES, Kind, Origin, Resolved, Setting, Source, gather};

/// The value of every setting.
#[derive(Debug)]
pub struct Settings(Vec<Resolved>);

/// Lists the files that are looked for, the more important later.
fn files(installation: &Installation) -> Vec<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = given("XDG_CONFIG_HOME").or_else(|| given("HOME").map(|home| home.join(".config")));
    [installation.prefix.join("etc/weft.conf")]
        .into_iter()
        .chain(own.map(|own| own.join("weft/weft.conf")))
        .collect()
}

/// Settles all settings; `options` are changes by the command line: name, value, option.
///
/// A variable of the environment that looks like a setting and is none is only warned of: it may be meant for another
/// version.
///
/// # Errors
/// Every other name that does not exist and every value that is not possible, each with its place.
pub fn settle(installation: &Installation, options: Vec<(String, String, String)>) -> Result<Settings, Stop> {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let (all, refused) = gather(&Origin { options, environment, files: &files(installation) });
    let (warnings, errors): (Vec<_>, Vec<_>) = refused.into_iter().partition(|refused| refused.is_harmless);
    for warning in warnings {
        say!("mpirun: {}; it is ignored", warning.message);
    }
    if errors.is_empty() {
        return Ok(Settings(all));
    }
    let messages: Vec<_> = errors.into_iter().map(|refused| refused.message).collect();
    Err(Stop::new(crate::USAGE, messages.join("\nmpirun: ")))
}

impl Settings {
    /// Returns the value of a setting.
    pub fn number(&self, setting: &'static Setting) -> u64 {
        let found = self.0.iter().find(|resolved| core::ptr::eq(resolved.setting, setting));
        found.map_or(setting.default, |resolved| resolved.value)
    }

    /// Lists what a node process must be told. The table of collectives comes as rows, wherever they are from: a node
    /// process reads no file.
    ///
    /// # Errors
    /// As [`Settings::collectives`].
    pub fn changed(&self) -> Result<Vec<(String, String)>, Stop> {
        let is_table = |setting: &Setting| matches!(setting.kind, Kind::Rows | Kind::RowsFile);
        let told = self.0.iter().filter(|r| r.source != Source::Default && !is_table(r.setting));
        let mut told: Vec<_> =
            told.map(|resolved| (resolved.setting.name.to_owned(), resolved.text.clone())).collect();
        let rows = self.collectives()?.changes();
        if !rows.is_empty() {
            told.push((COLLECTIVES.name.into(), rows));
        }
        Ok(told)
    }

    fn text(&self, setting: &'static Setting) -> Option<(&str, Source)> {
        let found = self.0.iter().find(|resolved| core::ptr::eq(resolved.setting, setting))?;
        (found.source != Source::Default && !found.text.is_empty())
            .then(|| (found.text.as_str(), found.source.clone()))
    }

    /// Returns the table of collectives.
    ///
    /// # Errors
    /// What is wrong with the file, if it has changed since the settings were settled.
    pub fn collectives(&self) -> Result<Table, Stop> {
        let file = self.text(&COLLECTIVE_TABLE).map(|(path, _)| Path::new(path));
        Table::new(file, self.text(&COLLECTIVES)).map_err(|why| Stop::new(crate::USAGE, why))
    }

    /// Prints what is not the default.
    pub fn show_changed(&self) {
        for Resolved { setting, text, source, .. } in self.0.iter().filter(|r| r.source != Source::Default) {
            say!("mpirun: setting {} = {text} ({source})", setting.name);
        }
    }
}

/// Describes every setting: value, source, possible values, meaning.
///
/// # Errors
/// As [`settle`].
pub fn describe(installation: &Installation) -> Result<String, Stop> {
    let settings = settle(installation, Vec::new())?;
    let mut text = String::new();
    for Resolved { setting, text: value, source, .. } in &settings.0 {
        let _ = writeln!(
            text,
            "{} = {value} ({source})\n    {}\n    {}; {}",
            setting.name,
            setting.help,
            setting.range(),
            setting.variable()
        );
    }
    Ok(text)
}

/// Describes the table of collectives: each row, and where it is from.
///
/// # Errors
/// As [`settle`].
pub fn describe_collectives(installation: &Installation) -> Result<String, Stop> {
    let table = settle(installation, Vec::new())?.collectives()?;
    let mut text = String::from(
        "# COLLECTIVE[/LEVEL]: ALGORITHM [@BYTES] [MEMBERS]; of the rows that match a call the last one holds.\n",
    );
    for Entry { row, source } in table.entries() {
        let source = if *source == Source::Default { "built in".into() } else { source.to_string() };
        let _ = writeln!(text, "{:<56}# {source}", row.to_string());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers, texts and rows: whatever is given reaches the node processes, and a table by its rows.
    #[test]
    fn what_is_given_is_told() {
        let nowhere = || PathBuf::from("/nonexistent");
        let [prefix, bin, lib, include, node] = core::array::from_fn(|_| nowhere());
        let installation = Installation { prefix, bin, lib, include, node, foreign: "abi".into() };
        let given = [("net-include", "10.0.0.0/8"), ("spins", "7"), ("collectives", "bcast: in-place @1K-")];
        let given = given.map(|(name, value)| (name.into(), value.into(), "--set".into()));
        let told = settle(&installation, given.into()).unwrap().changed().unwrap();
        let value = |name: &str| told.iter().find(|(known, _)| known == name).map(|(_, value)| &**value);
        assert_eq!((value("net-include"), value("spins")), (Some("10.0.0.0/8"), Some("7")));
        assert!(value("collectives").is_some_and(|rows| rows.contains("in-place")), "{told:?}");
        assert_eq!(value("net-exclude"), None);
    }
}
