//! Which hosts a job runs on, and which rank on which of them: everything that is read from the command line, files and the
//! variables of schedulers. Nothing here starts anything; a text that makes no sense is refused with its place.

pub mod allocation;
pub mod file;
pub mod list;
pub mod placement;
pub mod rank_file;

use std::collections::HashMap;

/// The longest name of a host, with its user: no system has longer ones.
pub const LONGEST_NAME: usize = 255;

/// A host and what may run there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The name under which the launcher command reaches it; may begin with `USER@`.
    pub name: String,
    /// How many ranks belong there; `None` if nobody has said.
    pub slots: Option<u32>,
    /// How many ranks may be there at most.
    pub max_slots: Option<u32>,
}

impl Host {
    /// Creates a host of which only the name is known.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), slots: None, max_slots: None }
    }

    /// Writes it as [`list::parse`] reads it; a limit of its own is left out.
    pub fn written(&self) -> String {
        match (self.slots, self.name.contains(':')) {
            (Some(slots), true) => format!("[{}]:{slots}", self.name),
            (Some(slots), false) => format!("{}:{slots}", self.name),
            (None, _) => self.name.clone(),
        }
    }

    /// Returns the name without user.
    pub fn short(&self) -> &str {
        self.name.rsplit('@').next().unwrap_or_default()
    }
}

/// A list of hosts that is being read: each is in it once, at the place where it was named first.
#[derive(Debug, Default)]
pub struct Hosts {
    list: Vec<Host>,
    places: HashMap<String, usize>,
}

impl Hosts {
    /// Adds a host. One that is there already gets the further slots: a name counts as one slot each time.
    pub fn add(&mut self, host: Host) {
        if let Some(&place) = self.places.get(&host.name) {
            let known = &mut self.list[place];
            known.slots = Some(known.slots.unwrap_or(1).saturating_add(host.slots.unwrap_or(1)));
            known.max_slots = known.max_slots.or(host.max_slots);
            return;
        }
        self.places.insert(host.name.clone(), self.list.len());
        self.list.push(host);
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns the list.
    pub fn into_list(self) -> Vec<Host> {
        self.list
    }
}

/// Checks a host's name. It becomes an argument of a command: it must not look like an option or hold anything a shell reads.
///
/// # Errors
/// Says which character is wrong.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.len() > LONGEST_NAME {
        let beginning: String = name.chars().take(20).collect();
        return Err(format!("{beginning:?}… is no host's name: it has more than {LONGEST_NAME} characters"));
    }
    if name.is_empty() || name.ends_with('@') || name.starts_with('@') {
        return Err(format!("{name:?} is no host's name"));
    }
    if name.rsplit('@').any(|part| part.starts_with('-')) {
        return Err(format!("{name:?} is no host's name: it begins like an option"));
    }
    let is_wrong = |c: &char| !(c.is_ascii_alphanumeric() || ".-_@:%".contains(*c));
    match name.chars().find(is_wrong) {
        Some(wrong) => Err(format!("{name:?} is no host's name: it has {wrong:?}")),
        None => Ok(()),
    }
}

/// Reads a number of slots.
pub(crate) fn slots(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(number @ 1..=1_000_000) => Ok(number),
        _ => Err(format!("{text:?} is no number of slots (1 to 1000000)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_options_or_commands_are_refused() {
        for name in ["a", "node-1.example.org", "me@node_1", "fe80::1%eth0", "10.0.0.1"] {
            assert_eq!(check_name(name), Ok(()));
        }
        for name in [
            "",
            "-oProxyCommand=x",
            "me@-x",
            "a b",
            "a;b",
            "$(x)",
            "a'b",
            "a\nb",
            "@",
            "@a",
            "a@",
            "ä",
            "a/b",
            &"a".repeat(LONGEST_NAME + 1),
        ] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn hosts_are_read_as_they_were_written() {
        for text in ["a", "me@b:3", "[fe80::1]:4", "fe80::1"] {
            assert_eq!(list::parse(text).unwrap()[0].written(), text);
        }
    }

    #[test]
    fn a_name_given_again_is_another_slot() {
        let mut hosts = Hosts::default();
        for (name, slots) in [("a", None), ("b", Some(3)), ("a", None), ("b", None), ("c", None)] {
            hosts.add(Host { slots, ..Host::named(name) });
        }
        let found: Vec<_> = hosts.list.iter().map(|host| (&*host.name, host.slots)).collect();
        assert_eq!(found, [("a", Some(2)), ("b", Some(4)), ("c", None)]);
    }
}
