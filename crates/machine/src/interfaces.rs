//! Network interfaces: which of them settings choose, and the networks they are in.

use if_addrs::IfAddr;
use std::io;
use std::net::IpAddr;
use weft_base::settings;

/// Which interfaces to listen on. A word names some by name, address or network (`eth0`, `10.1.2.3`, `10.1.0.0/16`).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interfaces {
    /// Those to listen on; all but loopback if empty.
    pub include: Vec<String>,
    /// Those not to listen on.
    pub exclude: Vec<String>,
}

/// The network that an interface is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// The interface's name.
    pub interface: String,
    /// The interface's address there.
    pub address: IpAddr,
    /// How many bits all its addresses have in common.
    pub prefix: u32,
}

fn words(text: Option<&str>) -> Vec<String> {
    let text = text.unwrap_or_default();
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

impl Interfaces {
    /// Reads the settings.
    pub fn from_settings() -> Self {
        Self { include: words(settings::NET_INCLUDE.text()), exclude: words(settings::NET_EXCLUDE.text()) }
    }

    /// Chooses those that the words name.
    pub fn named(words: &[&str]) -> Self {
        Self { include: words.iter().map(|&word| word.to_owned()).collect(), exclude: Vec::new() }
    }

    /// Returns the addresses of the interfaces to listen on.
    ///
    /// # Errors
    /// Says which interfaces there are if none is chosen, or what the kernel says.
    pub fn addresses(&self) -> io::Result<Vec<IpAddr>> {
        let all = if_addrs::get_if_addrs()?;
        let all: Vec<_> = all.iter().map(|one| (one.name.clone(), one.ip())).collect();
        choose(self, &all).map_err(io::Error::other)
    }
}

/// Returns the networks of the interfaces that have these addresses.
///
/// # Errors
/// What the kernel says.
pub fn networks(own: &[IpAddr]) -> io::Result<Vec<Network>> {
    let all = if_addrs::get_if_addrs()?.into_iter().filter(|one| own.contains(&one.ip()));
    let network = |one: if_addrs::Interface| {
        let prefix = match &one.addr {
            IfAddr::V4(v4) => v4.prefixlen,
            IfAddr::V6(v6) => v6.prefixlen,
        };
        Network { address: one.ip(), prefix: prefix.into(), interface: one.name }
    };
    Ok(all.map(network).collect())
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
pub fn common_prefix(a: IpAddr, b: IpAddr) -> Option<u32> {
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
fn choose(config: &Interfaces, all: &[(String, IpAddr)]) -> Result<Vec<IpAddr>, String> {
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
        let config = Interfaces { include: own(include), exclude: own(exclude) };
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
