//! Which rank runs on which host.
//!
//! Hosts are filled in passes. In one pass each host takes as many ranks as it has slots; ranks left over begin another pass,
//! because ranks that are threads may well outnumber processors. `max_slots` holds over all passes. Where nobody has
//! said how many slots a host has, ranks are spread evenly. Ranks that another job has there take slots of the first passes.

use super::Host;

/// How ranks are dealt to hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// One rank for each host in turn, instead of neighbouring ranks on a host.
    pub round_robin: bool,
    /// So many ranks on each host in a pass, whatever its slots.
    pub per_host: Option<u32>,
    /// Refuses more ranks than slots.
    pub strict: bool,
}

/// Deals ranks to hosts; remembers how full they are, for the ranks of the next program.
#[derive(Debug, Clone)]
pub struct Dealer<'a> {
    hosts: &'a [Host],
    policy: Policy,
    /// Ranks on each host, of this pass and in all.
    pass: Vec<u32>,
    held: Vec<u32>,
    /// How many were there already.
    taken: u32,
    /// Where the next rank goes if there is room.
    next: usize,
}

impl<'a> Dealer<'a> {
    /// Begins with hosts that are empty but for so many ranks on those named here.
    pub fn new(hosts: &'a [Host], policy: Policy, taken: &[(String, u32)]) -> Self {
        let there = |host: &Host| taken.iter().filter(|(name, _)| *name == host.name).map(|(_, n)| *n).sum();
        let held: Vec<u32> = hosts.iter().map(there).collect();
        let is_counted = policy.per_host.is_some() || hosts.iter().any(|host| host.slots.is_some());
        let begun = |(host, &held): (&Host, &u32)| match policy.per_host.or(host.slots).unwrap_or(1) {
            share if is_counted && held > 0 => (held - 1) % share + 1,
            _ => 0,
        };
        let pass = hosts.iter().zip(&held).map(begun).collect();
        let taken = held.iter().sum();
        Self { hosts, policy, pass, held, taken, next: 0 }
    }

    /// Returns the host of each of the next `ranks` ranks.
    ///
    /// # Errors
    /// Says which limit does not permit them.
    pub fn deal(&mut self, ranks: u32) -> Result<Vec<u32>, String> {
        let is_counted = self.policy.per_host.is_some() || self.hosts.iter().any(|host| host.slots.is_some());
        // What a host takes in a pass.
        let shares: Vec<u32> = (0..self.hosts.len())
            .map(|index| match (self.policy.per_host, is_counted) {
                (Some(number), _) => number,
                (None, true) => self.hosts[index].slots.unwrap_or(1),
                (None, false) => even(ranks, self.hosts.len(), index).max(1),
            })
            .collect();
        let mut found = Vec::with_capacity(ranks as usize);
        while found.len() < ranks as usize {
            let Some(host) = self.seek(&shares) else {
                let is_full = (0..self.hosts.len()).all(|index| !self.may_take(index));
                if is_full || self.policy.strict && is_counted {
                    return Err(self.explain(ranks, found.len() as u32, &shares));
                }
                self.pass.fill(0);
                if !self.policy.round_robin {
                    self.next = 0;
                }
                continue;
            };
            self.pass[host] += 1;
            self.held[host] += 1;
            found.push(host as u32);
            self.next = if self.policy.round_robin { (host + 1) % self.hosts.len() } else { host };
        }
        if !is_counted {
            // The next program is spread evenly for itself.
            self.pass.fill(0);
            self.next = 0;
        }
        Ok(found)
    }

    fn may_take(&self, host: usize) -> bool {
        self.hosts[host].max_slots.is_none_or(|most| self.held[host] < most)
    }

    /// Finds the first host from `next` on with room in this pass.
    fn seek(&self, shares: &[u32]) -> Option<usize> {
        let count = self.hosts.len();
        let has_room = |&host: &usize| self.pass[host] < shares[host] && self.may_take(host);
        (0..count).map(|step| (self.next + step) % count).find(has_room)
    }

    fn explain(&self, ranks: u32, placed: u32, shares: &[u32]) -> String {
        let slots: u64 = shares.iter().map(|&share| u64::from(share)).sum();
        let full = self.hosts.iter().enumerate().find(|(index, _)| !self.may_take(*index));
        match full {
            Some((index, host))
                if !self.policy.strict || (0..shares.len()).all(|index| !self.may_take(index)) =>
            {
                format!(
                    "{ranks} ranks: only {placed} fit under max_slots ({} has {}); allow more or name more hosts",
                    host.name,
                    self.hosts[index].max_slots.unwrap_or(0)
                )
            }
            _ => format!(
                "{ranks} ranks for {slots} slots on {} hosts{}; leave --nooversubscribe out or name more hosts",
                self.hosts.len(),
                if self.taken > 0 { format!(", of which {} are taken", self.taken) } else { String::new() }
            ),
        }
    }
}

/// Returns the share of one host if `ranks` are spread evenly, the first ones taking what is left over.
fn even(ranks: u32, hosts: usize, index: usize) -> u32 {
    let hosts = hosts.max(1) as u32;
    ranks / hosts + u32::from((index as u32) < ranks % hosts)
}

/// Returns how many ranks a job has that was not told: the slots of its hosts, one where nobody has said.
pub fn all_slots(hosts: &[Host], policy: Policy) -> u32 {
    let count = |host: &Host| u64::from(policy.per_host.or(host.slots).unwrap_or(1));
    hosts.iter().map(count).sum::<u64>().min(i32::MAX as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hosts(text: &str) -> Vec<Host> {
        super::super::file::parse(&text.replace(',', "\n")).unwrap()
    }

    fn dealt(text: &str, policy: Policy, ranks: u32) -> String {
        match Dealer::new(&hosts(text), policy, &[]).deal(ranks) {
            Ok(found) => found.iter().map(u32::to_string).collect(),
            Err(why) => why,
        }
    }

    #[test]
    fn ranks_are_dealt_as_asked() {
        let block = Policy::default();
        let turns = Policy { round_robin: true, ..block };
        let pairs = Policy { per_host: Some(2), ..block };
        for (text, policy, ranks, expected) in [
            ("a,b", block, 4, "0011"),
            ("a,b", block, 5, "00011"),
            ("a,b,c", block, 2, "01"),
            ("a,b", turns, 5, "01010"),
            ("a:2,b:1", block, 3, "001"),
            ("a:2,b:1", block, 7, "0010010"),
            ("a:3,b:1,c", turns, 5, "01200"),
            ("a:3,b:1,c", turns, 6, "012001"),
            ("a,b", pairs, 6, "001100"),
            ("a:8,b:8", Policy { round_robin: true, ..pairs }, 5, "01010"),
            ("a slots=1 max_slots=2,b", block, 5, "01011"),
        ] {
            assert_eq!(dealt(text, policy, ranks), expected, "{text} {policy:?}");
        }
    }

    #[test]
    fn limits_are_explained() {
        let strict = Policy { strict: true, ..Policy::default() };
        assert!(dealt("a:2,b:2", strict, 5).contains("5 ranks for 4 slots on 2 hosts"));
        assert_eq!(dealt("a,b", strict, 4), "0011");
        let text = dealt("a slots=1 max_slots=2,b max_slots=1", Policy::default(), 9);
        assert!(text.contains("only 3 fit under max_slots (a has 2)"), "{text}");
    }

    #[test]
    fn slots_that_others_have_are_left_to_them() {
        let block = Policy::default();
        let strict = Policy { strict: true, ..block };
        for (text, policy, taken, ranks, expected) in [
            ("a:2,b:2", block, [("a", 2), ("b", 0)], 2, "11"),
            ("a:2,b:2", block, [("a", 1), ("b", 1)], 3, "010"),
            ("a:2,b:2", block, [("a", 2), ("b", 2)], 3, "001"),
            ("a:2,b:2", block, [("a", 3), ("b", 2)], 2, "00"),
            ("a,b", block, [("a", 2), ("b", 0)], 2, "01"),
            ("a slots=2 max_slots=2,b", block, [("a", 2), ("c", 5)], 3, "111"),
            ("a:2,b:2", strict, [("a", 2), ("b", 1)], 1, "1"),
            ("a:2,b:2", strict, [("a", 2), ("b", 1)], 2, "for 4 slots on 2 hosts, of which 3 are taken"),
        ] {
            let taken = taken.map(|(name, ranks)| (name.to_owned(), ranks));
            let found = match Dealer::new(&hosts(text), policy, &taken).deal(ranks) {
                Ok(found) => found.iter().map(u32::to_string).collect(),
                Err(why) => why,
            };
            assert!(found.contains(expected), "{text} {taken:?} {ranks}: {found}");
        }
    }

    #[test]
    fn the_next_program_goes_on_where_the_last_one_ended() {
        let hosts = hosts("a:2,b:2");
        let mut dealer = Dealer::new(&hosts, Policy::default(), &[]);
        assert_eq!(dealer.deal(1).unwrap(), [0]);
        assert_eq!(dealer.deal(2).unwrap(), [0, 1]);
        assert_eq!(all_slots(&hosts, Policy::default()), 4);
    }

    proptest! {
        #[test]
        fn no_host_has_more_than_its_passes_and_its_limit_allow(
            slots in prop::collection::vec((prop::option::of(1u32..5), prop::option::of(1u32..9)), 1..6),
            round_robin: bool, per_host in prop::option::of(1u32..4), ranks in 1u32..40,
        ) {
            let hosts: Vec<Host> = slots.iter().enumerate()
                .map(|(i, (slots, most))| Host { name: format!("h{i}"), slots: *slots, max_slots: *most }).collect();
            let policy = Policy { round_robin, per_host, strict: false };
            let room: u64 = hosts.iter().map(|host| host.max_slots.map_or(u64::MAX / 8, u64::from)).sum();
            let dealt = Dealer::new(&hosts, policy, &[]).deal(ranks);
            prop_assert_eq!(dealt.is_ok(), room >= u64::from(ranks));
            let Ok(dealt) = dealt else { return Ok(()) };
            prop_assert_eq!(dealt.len(), ranks as usize);
            let counted = per_host.is_some() || hosts.iter().any(|host| host.slots.is_some());
            let held = |i: usize| dealt.iter().filter(|&&host| host as usize == i).count() as u32;
            let share = |i: usize| per_host.unwrap_or(hosts[i].slots.unwrap_or(1));
            for (i, host) in hosts.iter().enumerate() {
                prop_assert!(host.max_slots.is_none_or(|most| held(i) <= most));
                for (j, other) in hosts.iter().enumerate() {
                    // Nobody is a whole pass ahead of one that could have taken more.
                    if counted && other.max_slots.is_none() {
                        prop_assert!(held(i).div_ceil(share(i)) <= held(j) / share(j) + 1, "{i} {j} {dealt:?}");
                    }
                }
            }
        }
    }
}
