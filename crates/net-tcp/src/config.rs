//! What the device is told: on which interfaces it listens, and how patient it is.

use if_addrs::IfAddr;
use std::collections::BTreeMap;
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
    /// Over how many connections a long message goes; 0: over one per interface that leads to the peer.
    pub stripes: u32,
}

/// The network that an interface is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Network {
    pub interface: String,
    pub address: IpAddr,
    /// How many bits all its addresses have in common.
    pub prefix: u32,
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
            stripes: settings::NET_STRIPES.get() as u32,
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

    /// Returns the networks of the interfaces that have these addresses.
    pub(crate) fn networks(own: &[IpAddr]) -> io::Result<Vec<Network>> {
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

/// Chooses the ways to a peer: of its addresses, given by what is nearest first, one in the network of each interface, by its
/// place; the first one where no network is in common. So parts of a message take different interfaces on both sides. An address
/// that this process has, too, as bridges on several hosts may, leads nowhere.
pub(crate) fn roads(own: &[Network], addresses: &[IpAddr]) -> Vec<usize> {
    let is_in = |address: IpAddr, network: &Network| {
        common_prefix(address, network.address).is_some_and(|common| common >= network.prefix)
            && own.iter().all(|other| other.address != address)
    };
    let mut nearest: BTreeMap<&str, usize> = BTreeMap::new();
    for network in own {
        if let Some(place) = addresses.iter().position(|&address| is_in(address, network)) {
            let place = nearest.get(&*network.interface).map_or(place, |&other| place.min(other));
            nearest.insert(&network.interface, place);
        }
    }
    let mut roads: Vec<usize> = nearest.into_values().collect();
    roads.sort_unstable();
    roads.dedup();
    if roads.is_empty() { vec![0] } else { roads }
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
    fn each_interface_in_a_common_network_is_a_road() {
        let own = [
            ("eth0", "10.1.2.3", 16),
            ("eth0", "fd00::3", 64),
            ("ib0", "192.168.7.3", 24),
            ("eth1", "10.9.0.3", 16),
        ]
        .map(|(interface, address, prefix)| Network {
            interface: interface.into(),
            address: address.parse().unwrap(),
            prefix,
        });
        let to = |addresses: &[&str]| {
            roads(&own, &addresses.iter().map(|address| address.parse().unwrap()).collect::<Vec<_>>())
        };
        assert_eq!(to(&["fd00::4", "192.168.7.4", "10.1.2.4"]), [0, 1]);
        assert_eq!(to(&["10.1.9.9", "10.1.9.10"]), [0], "two of the peer's by one interface");
        assert_eq!(to(&["192.168.8.4", "10.9.1.4"]), [1]);
        assert_eq!(to(&["172.16.0.1", "172.16.0.2"]), [0]);
        assert_eq!(to(&["10.1.2.4", "192.168.7.3"]), [0], "this process has that, too");
        assert_eq!(to(&[]), [0]);
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
