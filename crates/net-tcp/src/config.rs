//! What the device is told: on which interfaces it listens, and how patient it is.

use std::io;
use std::net::IpAddr;
use std::time::Duration;
use weft_base::settings;

/// How the device is set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetConfig {
    /// The interfaces to listen on, by name, address or network (`eth0`, `10.1.2.3`, `10.1.0.0/16`); all but loopback if empty.
    pub include: Vec<String>,
    /// Those not to listen on.
    pub exclude: Vec<String>,
    /// After how long without an answer a peer is lost.
    pub keep_alive: Duration,
    /// The longest payload that is copied when it is sent.
    pub eager: usize,
    /// How connections avoid congestion, by the kernel's name; if nobody has said, see `congestion`.
    pub congestion: Option<String>,
    /// How many threads of this process look for messages when they have nothing else to do.
    pub workers: u32,
}

fn words(text: Option<&str>) -> Vec<String> {
    let text = text.unwrap_or_default();
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

impl NetConfig {
    /// Reads the settings, for a process with one thread that looks for messages.
    pub fn from_settings() -> Self {
        Self {
            include: words(settings::NET_INCLUDE.text()),
            exclude: words(settings::NET_EXCLUDE.text()),
            keep_alive: Duration::from_secs(settings::NET_TIMEOUT.get()),
            eager: settings::NET_EAGER.get() as usize,
            congestion: settings::NET_CONGESTION.text().map(|text| text.trim().to_owned()),
            workers: 1,
        }
    }

    /// Returns the addresses of the interfaces to listen on.
    ///
    /// # Errors
    /// Says which interfaces there are if none is chosen, or what the kernel says.
    pub fn interfaces(&self) -> io::Result<Vec<IpAddr>> {
        let all = if_addrs::get_if_addrs()?;
        let all: Vec<_> = all.iter().map(|one| (one.name.clone(), one.ip())).collect();
        choose(self, &all).map_err(io::Error::other)
    }

    /// Describes a device on the loopback interface, for tests and jobs of one host.
    pub fn loopback() -> Self {
        Self { include: vec!["127.0.0.1".into()], ..Self::from_settings() }
    }
}

/// Tells whether a word names an interface: by its name, its address, or a network that holds its address.
fn names(word: &str, name: &str, address: IpAddr) -> bool {
    if word == name || word.parse() == Ok(address) {
        return true;
    }
    let Some((network, length)) = word.split_once('/') else { return false };
    let (Ok(network), Ok(length)) = (network.parse::<IpAddr>(), length.parse::<u32>()) else { return false };
    common_prefix(network, address).is_some_and(|common| common >= length)
}

/// Returns how many bits two addresses of a kind have in common.
pub(crate) fn common_prefix(a: IpAddr, b: IpAddr) -> Option<u32> {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => Some((a.to_bits() ^ b.to_bits()).leading_zeros()),
        (IpAddr::V6(a), IpAddr::V6(b)) => Some((a.to_bits() ^ b.to_bits()).leading_zeros()),
        _ => None,
    }
}

/// Bridges of containers and virtual machines have the same addresses on every host.
const BRIDGES: [&str; 4] = ["docker", "virbr", "lxcbr", "podman"];

/// Chooses among interfaces, given by name and address.
///
/// # Errors
/// Says which interfaces there are, if none is left.
pub(crate) fn choose(config: &NetConfig, all: &[(String, IpAddr)]) -> Result<Vec<IpAddr>, String> {
    let named = |words: &[String], (name, address): &(String, IpAddr)| {
        words.iter().any(|word| names(word, name, *address))
    };
    let is_local = |address: &IpAddr| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let mut left: Vec<_> = all
        .iter()
        .filter(|one| !is_local(&one.1) && !named(&config.exclude, one))
        .filter(|one| config.include.is_empty() || named(&config.include, one))
        .collect();
    if config.include.is_empty() {
        for unusual in [
            |(name, _): &(String, IpAddr)| BRIDGES.iter().any(|bridge| name.starts_with(bridge)),
            |(_, address): &(String, IpAddr)| address.is_loopback(),
        ] {
            if left.iter().any(|one| !unusual(one)) {
                left.retain(|one| !unusual(one));
            }
        }
    }
    if left.is_empty() {
        let all: Vec<_> = all.iter().map(|(name, address)| format!("{name} ({address})")).collect();
        return Err(format!(
            "no interface is left by net-include={} and net-exclude={}; there are {}",
            config.include.join(","),
            config.exclude.join(","),
            all.join(", ")
        ));
    }
    Ok(left.iter().map(|(_, address)| *address).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(include: &[&str], exclude: &[&str]) -> Result<Vec<String>, String> {
        let all = [
            ("lo", "127.0.0.1"),
            ("lo", "::1"),
            ("docker0", "172.17.0.1"),
            ("eth0", "10.1.2.3"),
            ("eth0", "fe80::1"),
            ("eth0", "fd00::3"),
            ("ib0", "192.168.7.3"),
        ]
        .map(|(name, address)| (name.to_owned(), address.parse().unwrap()));
        let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let config = NetConfig { include: own(include), exclude: own(exclude), ..NetConfig::loopback() };
        choose(&config, &all).map(|list| list.iter().map(IpAddr::to_string).collect())
    }

    #[test]
    fn interfaces_are_chosen_by_name_address_and_network() {
        assert_eq!(chosen(&[], &[]).unwrap(), ["10.1.2.3", "fd00::3", "192.168.7.3"]);
        assert_eq!(chosen(&["ib0"], &[]).unwrap(), ["192.168.7.3"]);
        assert_eq!(chosen(&[], &["ib0", "fd00::/8"]).unwrap(), ["10.1.2.3"]);
        assert_eq!(chosen(&["10.0.0.0/8", "127.0.0.1"], &[]).unwrap(), ["127.0.0.1", "10.1.2.3"]);
        assert_eq!(chosen(&[], &["eth0", "ib0", "docker0"]).unwrap(), ["127.0.0.1", "::1"]);
        let error = chosen(&["eth7"], &[]).unwrap_err();
        assert!(error.contains("eth7") && error.contains("ib0 (192.168.7.3)"), "{error}");
    }
}
