//! The table of devices.

use std::fmt::Write;
use std::os::fd::OwnedFd;
use weft_base::constants::MPI_ERR_INTERN;
use weft_base::{Error, Result};
use weft_local::SegmentOpener;
use weft_net_tcp::TcpOpener;
use weft_transport::{Device, Opener};

/// All devices. Two node processes use the first that can join them.
pub static DEVICES: [&dyn Opener; 2] = [&SegmentOpener, &TcpOpener];

/// Makes what the node processes of one host inherit from who starts them, so many of them.
///
/// # Errors
/// `MPI_ERR_INTERN` with what the system refuses.
pub fn prepare(processes: u32) -> Result<Option<OwnedFd>> {
    for opener in DEVICES {
        if let Some(prepared) = opener.prepare(processes)? {
            return Ok(Some(prepared));
        }
    }
    Ok(None)
}

/// Opens the device of a node process that has no others yet.
///
/// # Errors
/// `MPI_ERR_INTERN` with what the system refuses.
pub fn alone() -> Result<Box<dyn Device>> {
    for opener in DEVICES {
        if let Some(device) = opener.alone()? {
            return Ok(device);
        }
    }
    Err(Error::new(MPI_ERR_INTERN, "no device works without other node processes"))
}

/// What a device takes at once between two node processes.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Whether they are on one host.
    pub is_on_host: bool,
    /// How many node processes the host has, in words; empty for any number.
    pub nodes: String,
    /// The longest payload of [`Device::send`].
    pub eager: u64,
    /// Whether [`Tuning::answer`](weft_transport::Tuning::answer) takes any.
    pub answers: bool,
    /// When [`Device::read`] is used, in words; empty for never.
    pub reads: &'static str,
}

/// Lists what the devices take at once, where `net_eager` is what is wished for between hosts.
pub fn sizes(net_eager: u64) -> Vec<Sizes> {
    let on_host = weft_local::Sizes::all().into_iter().map(|sizes| Sizes {
        is_on_host: true,
        nodes: format!("{} to {}", sizes.nodes.start(), sizes.nodes.end()),
        eager: sizes.eager,
        answers: sizes.answers,
        reads: "where that is permitted and cheaper",
    });
    let between =
        Sizes { is_on_host: false, nodes: String::new(), eager: net_eager, answers: false, reads: "" };
    on_host.chain([between]).collect()
}

/// Writes the table, a line for each device.
pub fn describe() -> String {
    let mut text = String::new();
    for opener in DEVICES {
        let secret = if opener.needs_secret() { "; who joins must prove the job's secret" } else { "" };
        let _ = writeln!(text, "device {}: {}{secret}", opener.name(), opener.purpose());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use weft_transport::Member;

    #[test]
    fn every_two_node_processes_have_a_device() {
        let members = [Member { host: 1, ranks: 1 }, Member { host: 2, ranks: 3 }];
        for one in &members {
            for other in &members {
                assert!(DEVICES.iter().any(|opener| opener.joins(one, other)), "{one:?} {other:?}");
                for opener in DEVICES {
                    assert_eq!(opener.joins(one, other), opener.joins(other, one), "{}", opener.name());
                }
            }
        }
    }

    #[test]
    fn names_are_the_devices_own_and_fit_into_cards() {
        let names: HashSet<_> = DEVICES.iter().map(|opener| opener.name()).collect();
        assert_eq!(names.len(), DEVICES.len());
        assert!(names.iter().all(|name| crate::card::is_name(name)));
        let alone = alone().expect("a device");
        assert!(names.contains(alone.name()), "{}", alone.name());
        assert!(DEVICES.iter().all(|opener| describe().contains(opener.purpose())));
    }
}
