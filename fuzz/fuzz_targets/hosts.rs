//! Whatever files, variables and agents say: lists of hosts, rank files, allocations and frames are read or refused, and a host's
//! name that was read cannot be taken for an option.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_launcher::hosts::placement::{Dealer, Policy};
use weft_launcher::hosts::{Host, allocation, check_name, file, list, rank_file};
use weft_launcher::agents::wire::Frames;

fn check(hosts: &[Host]) {
    for host in hosts {
        assert_eq!(check_name(&host.name), Ok(()));
        assert!(!host.name.starts_with('-') && !host.short().starts_with('-'));
        assert!(host.slots != Some(0) && host.max_slots != Some(0));
    }
    for round_robin in [false, true] {
        let policy = Policy { round_robin, ..Policy::default() };
        if let (Ok(dealt), false) = (Dealer::new(hosts, policy).deal(7), hosts.is_empty()) {
            assert!(dealt.len() == 7 && dealt.iter().all(|&host| (host as usize) < hosts.len()));
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&what, data)) = data.split_first() else { return };
    if what % 8 == 7 {
        for mut frames in [Frames::of_agent(), Frames::of_starter()] {
            for piece in data.chunks(usize::from(what / 8) + 1) {
                frames.push(piece);
                while let Ok(Some(frame)) = frames.take() {
                    assert!(frame.payload.len() <= data.len());
                }
            }
        }
        return;
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let hosts = match what % 8 {
        0 => list::parse(text).ok(),
        1 => file::parse(text).ok(),
        2 => allocation::pairs(text).ok(),
        3 => allocation::names(text).ok(),
        4 => {
            let (nodes, tasks) = text.split_once(';').unwrap_or((text, "1"));
            allocation::slurm(nodes, Some(tasks)).ok()
        }
        _ => {
            let mut hosts = vec![Host::named("a")];
            let seats = rank_file::parse(text, &mut hosts).unwrap_or_default();
            assert!(seats.iter().all(|seat| (seat.host as usize) < hosts.len()));
            Some(hosts)
        }
    };
    check(&hosts.unwrap_or_default());
});
