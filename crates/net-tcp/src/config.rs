//! What the device is told: on which interfaces it listens, and how patient it is.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;
use weft_base::settings;
use weft_machine::interfaces::{Interfaces, Network, common_prefix};

/// How the device is set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetConfig {
    /// The interfaces to listen on.
    pub interfaces: Interfaces,
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

impl NetConfig {
    /// Reads the settings, for a process with one thread that looks for messages.
    pub fn from_settings() -> Self {
        Self {
            interfaces: Interfaces::from_settings(),
            keep_alive: Duration::from_secs(settings::NET_TIMEOUT.get()),
            eager: settings::NET_EAGER.get() as usize,
            congestion: settings::NET_CONGESTION.text().map(|text| text.trim().to_owned()),
            workers: 1,
            stripes: settings::NET_STRIPES.get() as u32,
        }
    }

    /// Describes a device on the loopback interface, for tests and jobs of one host.
    pub fn loopback() -> Self {
        Self { interfaces: Interfaces::named(&["127.0.0.1"]), ..Self::from_settings() }
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
