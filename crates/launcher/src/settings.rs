//! The settings of a job: gathered from the command line, the environment and the files, checked, and shown.

use crate::flags::Stop;
use crate::install::Installation;
use std::fmt::Write;
use std::path::PathBuf;
use weft_base::settings::{Kind, Origin, Resolved, Setting, Source, gather};

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
        eprintln!("mpirun: {}; it is ignored", warning.message);
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

    /// Lists what a node process must be told.
    pub fn changed(&self) -> Vec<(String, String)> {
        let told = self.0.iter().filter(|r| r.source != Source::Default && r.setting.kind != Kind::Text);
        told.map(|resolved| (resolved.setting.name.to_owned(), resolved.text.clone())).collect()
    }

    /// Prints what is not the default.
    pub fn show_changed(&self) {
        for Resolved { setting, text, source, .. } in self.0.iter().filter(|r| r.source != Source::Default) {
            eprintln!("mpirun: setting {} = {text} ({source})", setting.name);
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
