//! Which ranks can never go on: pure.
//!
//! A thread that waits needs others to act: any of some ranks, or all of some. A rank may act if one of its threads may go on. So
//! the ranks that may act are the least set that holds all with a thread that needs nobody and, with it, all with a thread whose
//! needs are in the set; the others wait for each other, or for ranks that have ended, for ever. (It is how Petri nets are
//! searched for what can never fire; D. B. Johnson called the waits AND and OR.)
//!
//! What a thread says of its wait, before it sleeps, fits into a word ([`Wait`]).

/// What a thread needs in order to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// Nothing, as far as is known.
    Nothing,
    /// This rank, by its index.
    One(u32),
    /// Any rank of a set, by the set's index.
    Any(u32),
    /// All ranks of a set.
    All(u32),
}

/// Who waits for whom.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Graph {
    /// Of each rank, what its threads need; a rank without threads has ended.
    pub ranks: Vec<Vec<Needs>>,
    /// Sets of ranks. An index that no rank has stands for somebody who may always act.
    pub sets: Vec<Vec<u32>>,
}

impl Graph {
    /// Tells of each rank whether it can never act.
    pub fn stuck(&self) -> Vec<bool> {
        let mut search = Search::new(self);
        for (rank, threads) in self.ranks.iter().enumerate() {
            if threads.iter().any(|needs| search.is_met(needs)) {
                search.acts(rank as u32);
            }
        }
        while let Some(rank) = search.fresh.pop() {
            search.spread(rank);
        }
        search.may_act.iter().map(|may| !may).collect()
    }
}

struct Search<'a> {
    graph: &'a Graph,
    may_act: Vec<bool>,
    /// Ranks that were found to act and have not been told to others.
    fresh: Vec<u32>,
    /// How many ranks of each set are not known to act.
    open: Vec<usize>,
    /// Who waits for a rank, the sets a rank is in, and who waits for a set.
    waits_for: Vec<Vec<u32>>,
    sets_of: Vec<Vec<u32>>,
    waits_for_set: Vec<Vec<u32>>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph) -> Self {
        let (ranks, sets) = (graph.ranks.len(), graph.sets.len());
        let mut search = Self {
            graph,
            may_act: vec![false; ranks],
            fresh: Vec::new(),
            open: vec![0; sets],
            waits_for: vec![Vec::new(); ranks],
            sets_of: vec![Vec::new(); ranks],
            waits_for_set: vec![Vec::new(); sets],
        };
        for (set, members) in graph.sets.iter().enumerate() {
            for &member in members.iter().filter(|&&member| (member as usize) < ranks) {
                search.open[set] += 1;
                search.sets_of[member as usize].push(set as u32);
            }
        }
        for (rank, threads) in graph.ranks.iter().enumerate() {
            for needs in threads {
                match *needs {
                    Needs::One(other) if (other as usize) < ranks => {
                        search.waits_for[other as usize].push(rank as u32);
                    }
                    Needs::Any(set) | Needs::All(set) => search.waits_for_set[set as usize].push(rank as u32),
                    Needs::Nothing | Needs::One(_) => {}
                }
            }
        }
        search
    }

    fn is_met(&self, needs: &Needs) -> bool {
        let acts = |rank: u32| self.may_act.get(rank as usize).copied().unwrap_or(true);
        match *needs {
            Needs::Nothing => true,
            Needs::One(rank) => acts(rank),
            // Only those who are not known to act are counted as open.
            Needs::Any(set) => self.open[set as usize] < self.graph.sets[set as usize].len(),
            Needs::All(set) => self.open[set as usize] == 0,
        }
    }

    fn acts(&mut self, rank: u32) {
        if !core::mem::replace(&mut self.may_act[rank as usize], true) {
            self.fresh.push(rank);
        }
    }

    /// Tells others that a rank may act.
    fn spread(&mut self, rank: u32) {
        let mut told = core::mem::take(&mut self.waits_for[rank as usize]);
        for set in core::mem::take(&mut self.sets_of[rank as usize]) {
            let open = &mut self.open[set as usize];
            *open -= 1;
            // The first one is news to who needs any, the last one to who needs all.
            if *open == 0 || *open + 1 == self.graph.sets[set as usize].len() {
                told.extend_from_slice(&self.waits_for_set[set as usize]);
            }
        }
        for other in told {
            let is_met = |needs: &Needs| self.is_met(needs);
            if !self.may_act[other as usize] && self.graph.ranks[other as usize].iter().any(is_met) {
                self.acts(other);
            }
        }
    }
}

/// What a thread says of its wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Nothing: it does not wait, or for what its operation says.
    Unsaid,
    /// For something that nobody else understands.
    Opaque,
    /// For any of so many operations, or for all of them.
    Operations(u32),
    /// For a message that it probes for.
    Probe,
    /// For all ranks of a communicator to come to the round of its collective operations that its own rank has entered.
    All(u32),
    /// For the same, as one that may not be so far ahead of others.
    Entry(u32),
    /// For one rank, the root, to come to that round: the communicator's number, and the rank.
    Root(u32, u32),
}

const SHIFT: u32 = 56;
const PLACES: u64 = (1 << 24) - 1;

impl Wait {
    /// Packs it into a word; 0 is [`Wait::Unsaid`].
    #[inline]
    pub const fn word(self) -> u64 {
        match self {
            Self::Unsaid => 0,
            Self::Opaque => 1 << SHIFT,
            Self::Operations(count) => 2 << SHIFT | count as u64,
            Self::Probe => 3 << SHIFT,
            Self::All(context) => 4 << SHIFT | context as u64,
            Self::Entry(context) => 5 << SHIFT | context as u64,
            Self::Root(context, root) => 6 << SHIFT | (root as u64 & PLACES) << 32 | context as u64,
        }
    }

    /// Reads a word.
    pub const fn read(word: u64) -> Self {
        let low = word as u32;
        match word >> SHIFT {
            0 => Self::Unsaid,
            2 => Self::Operations(low),
            3 => Self::Probe,
            4 => Self::All(low),
            5 => Self::Entry(low),
            6 => Self::Root(low, (word >> 32 & PLACES) as u32),
            _ => Self::Opaque,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decides as the page says, by trying until nothing changes.
    fn plainly(graph: &Graph) -> Vec<bool> {
        let mut may_act = vec![false; graph.ranks.len()];
        loop {
            let acts = |rank: &u32| may_act.get(*rank as usize).copied().unwrap_or(true);
            let is_met = |needs: &Needs| match needs {
                Needs::Nothing => true,
                Needs::One(rank) => acts(rank),
                Needs::Any(set) => graph.sets[*set as usize].iter().any(acts),
                Needs::All(set) => graph.sets[*set as usize].iter().all(acts),
            };
            let next: Vec<bool> = graph.ranks.iter().map(|threads| threads.iter().any(is_met)).collect();
            if next == may_act {
                return next.into_iter().map(|may| !may).collect();
            }
            may_act = next;
        }
    }

    /// Plays a job: whoever can acts, in any order, until nobody is left who could. Ranks that acted never do so in vain.
    fn played(graph: &Graph, order: &[usize]) -> Vec<bool> {
        let mut has_acted = vec![false; graph.ranks.len()];
        for _ in 0..=graph.ranks.len() {
            for &rank in order {
                let acted = |other: &u32| has_acted.get(*other as usize).copied().unwrap_or(true);
                let can = graph.ranks[rank].iter().any(|needs| match needs {
                    Needs::Nothing => true,
                    Needs::One(other) => acted(other),
                    Needs::Any(set) => graph.sets[*set as usize].iter().any(acted),
                    Needs::All(set) => graph.sets[*set as usize].iter().all(acted),
                });
                has_acted[rank] |= can;
            }
        }
        has_acted.into_iter().map(|acted| !acted).collect()
    }

    fn graphs() -> impl Strategy<Value = Graph> {
        (1u32..8).prop_flat_map(|ranks| {
            // One index more than there are ranks: somebody else.
            let set = proptest::collection::vec(0..=ranks, 0..5).prop_map(|mut set| {
                set.sort_unstable();
                set.dedup();
                set
            });
            let needs = prop_oneof![
                1 => Just(Needs::Nothing),
                6 => (0..=ranks).prop_map(Needs::One),
                3 => (0..4u32).prop_map(Needs::Any),
                3 => (0..4u32).prop_map(Needs::All),
            ];
            let threads = proptest::collection::vec(needs, 0..3);
            let ranks = proptest::collection::vec(threads, ranks as usize);
            (ranks, proptest::collection::vec(set, 4)).prop_map(|(ranks, sets)| Graph { ranks, sets })
        })
    }

    proptest! {
        #[test]
        fn the_search_finds_what_trying_finds(graph in graphs()) {
            prop_assert_eq!(graph.stuck(), plainly(&graph));
            let order: Vec<usize> = (0..graph.ranks.len()).rev().collect();
            prop_assert_eq!(graph.stuck(), played(&graph, &order));
        }

        #[test]
        fn more_who_may_act_never_make_others_stuck(graph in graphs(), freed in 0usize..8) {
            let mut freer = graph.clone();
            let place = freed % graph.ranks.len();
            freer.ranks[place].push(Needs::Nothing);
            let (before, after) = (graph.stuck(), freer.stuck());
            prop_assert!(before.iter().zip(&after).all(|(before, after)| *before || !after));
        }

        #[test]
        fn words_are_read_as_they_were_packed(context: u32, root in 0u32..1 << 24) {
            let waits = [
                Wait::Unsaid, Wait::Opaque, Wait::Operations(context), Wait::Probe, Wait::All(context),
                Wait::Entry(context), Wait::Root(context, root),
            ];
            for wait in waits {
                prop_assert_eq!(Wait::read(wait.word()), wait);
            }
        }
    }

    #[test]
    fn a_pair_that_waits_for_each_other_is_stuck_and_who_computes_is_not() {
        let graph = Graph {
            ranks: vec![vec![Needs::One(1)], vec![Needs::One(0)], vec![Needs::Nothing], vec![Needs::One(2)]],
            sets: Vec::new(),
        };
        assert_eq!(graph.stuck(), [true, true, false, false]);
    }

    #[test]
    fn who_needs_all_is_stuck_with_one_of_them_and_who_needs_any_is_not() {
        let sets = vec![vec![0, 1, 2]];
        let ranks = vec![vec![], vec![Needs::Nothing], vec![Needs::All(0)], vec![Needs::Any(0)]];
        assert_eq!(Graph { ranks, sets }.stuck(), [true, false, true, false]);
    }

    #[test]
    fn a_thread_that_may_go_on_is_enough() {
        let ranks = vec![vec![Needs::One(1), Needs::Nothing], vec![Needs::One(0)], vec![Needs::One(2)]];
        assert_eq!(Graph { ranks, sets: Vec::new() }.stuck(), [false, false, true]);
    }
}
