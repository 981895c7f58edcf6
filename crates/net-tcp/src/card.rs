//! What node processes tell each other before they connect, as words that launchers pass on.

use std::fmt::{self, Display};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;

/// How the word that is no address begins.
const MACHINE: &str = "machine=";

/// Where a node process can be reached, and where it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Card {
    /// Where it listens.
    pub addresses: Vec<SocketAddr>,
    /// Where it runs, if it has said so.
    pub machine: Option<Machine>,
}

/// The cores that a node process runs on. Hosts that are containers may share them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// The same for those who run on the same cores of the same machine.
    pub id: u64,
    /// How many threads of the process look for messages there when they have nothing else to do.
    pub workers: u32,
}

impl Machine {
    /// Describes this process, of which so many threads look for messages.
    pub fn here(workers: u32) -> Self {
        // One kernel has one, in all its containers.
        let kernel = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        (kernel, weft_machine::allowed_cores()).hash(&mut hasher);
        Self { id: hasher.finish(), workers }
    }
}

impl Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MACHINE}{:x}/{}", self.id, self.workers)
    }
}

impl Card {
    /// Writes it, in words without blanks and commas. The first ones matter most.
    pub fn words(&self) -> Vec<String> {
        let machine = self.machine.iter().map(ToString::to_string);
        machine.chain(self.addresses.iter().map(ToString::to_string)).collect()
    }

    /// Reads it.
    ///
    /// # Errors
    /// Says which word is none.
    pub fn read<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut card = Self::default();
        for word in words {
            let wrong = || format!("{word:?} is neither an address with a port nor a machine");
            match word.strip_prefix(MACHINE) {
                None => card.addresses.push(word.parse().map_err(|_| wrong())?),
                Some(machine) => {
                    let (id, workers) = machine.split_once('/').ok_or_else(wrong)?;
                    let id = u64::from_str_radix(id, 16).map_err(|_| wrong())?;
                    let workers = workers.parse().map_err(|_| wrong())?;
                    card.machine = Some(Machine { id, workers });
                }
            }
        }
        Ok(card)
    }
}

/// Tells whether those who look for messages on this machine are more than its cores. Who has no card is on this host.
pub fn is_crowded(workers: u32, book: &[Card]) -> bool {
    let here = Machine::here(workers);
    let of = |card: &Card| match card.machine {
        Some(machine) if machine.id == here.id => machine.workers,
        None if card.addresses.is_empty() => workers,
        _ => 0,
    };
    let all: u64 = book.iter().map(|card| u64::from(of(card))).sum();
    all > weft_machine::usable_cores() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_as_it_was_written() {
        for machine in [None, Some(Machine { id: u64::MAX, workers: 12 })] {
            let addresses = ["10.1.2.3:7", "[fd00::3]:65535"].map(|word| word.parse().unwrap()).into();
            let card = Card { addresses, machine };
            let words = card.words();
            assert_eq!(Card::read(words.iter().map(String::as_str)), Ok(card.clone()));
            assert!(words.iter().all(|word| !word.contains([' ', ','])), "{words:?}");
        }
    }

    #[test]
    fn what_is_no_card_is_refused() {
        for word in
            ["10.1.2.3", "host:7", "machine=", "machine=x/1", "machine=1", "machine=1/-1", "machine=1/2/3"]
        {
            let error = Card::read(["10.1.2.3:7", word]).unwrap_err();
            assert!(error.contains(&format!("{word:?}")), "{error}");
        }
    }

    #[test]
    fn those_on_the_same_cores_are_counted() {
        let cores = weft_machine::usable_cores() as u32;
        let card = |machine| Card { addresses: vec!["10.1.2.3:7".parse().unwrap()], machine: Some(machine) };
        let here = Machine::here(cores);
        let elsewhere = Machine { id: !here.id, workers: 1000 };
        assert!(!is_crowded(cores, &[card(here), card(elsewhere)]));
        assert!(is_crowded(cores, &[card(here), card(elsewhere), card(Machine { workers: 1, ..here })]));
        assert!(!is_crowded(cores, &[Card::default(), card(elsewhere)]), "the own card may be missing");
        assert!(is_crowded(cores, &[card(here), Card::default()]), "who is reached another way is here");
    }
}
