//! Decides whether the ranks of several node processes are in a deadlock.
//!
//! A node process says when it has come to rest: none of its ranks can go on before something comes from another process.
//! Once all have said so, all are asked, twice in a row. A process that gives the same answer in both rounds rested in
//! between, and the second round begins when the first is over; so if all do, there was a moment at which all rested. If
//! what they had sent had been received by then, nothing was on its way, and nothing can happen any more. (F. Mattern,
//! "Algorithms for distributed termination detection", Distributed Computing 2 (1987), the four-counter method.)

/// A node process that rests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rest {
    /// Another number after anything has happened there.
    pub mark: u64,
    /// What it has sent to other node processes.
    pub sent: u64,
    /// What it has received from them.
    pub received: u64,
}

/// What a node process has to do with the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Member {
    /// It may take part later.
    Absent,
    /// It takes part, and runs.
    Busy,
    /// It takes part, and said that it rests.
    Resting,
    /// It has ended.
    Gone,
}

/// What is to be done next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nothing.
    Wait,
    /// Ask all that take part whether they rest, in the name of this round.
    Ask(u32),
    /// Say that the ranks are in a deadlock.
    Deadlock,
}

/// See the module's page.
#[derive(Default)]
pub struct Census {
    members: Vec<Member>,
    /// The number of the round under way, or of the last one.
    round: u32,
    under_way: bool,
    /// Somebody has said that it rests while a round was under way.
    again: bool,
    answers: Vec<Option<Rest>>,
    /// The answers of the round before, if there was one.
    first: Option<Vec<Option<Rest>>>,
}

impl Census {
    /// Begins with these node processes.
    pub fn new(members: Vec<Member>) -> Self {
        Self { members, ..Self::default() }
    }

    /// Notes what a node process has become; a round under way is over by that.
    pub fn set(&mut self, node: usize, member: Member) -> Next {
        if self.members[node] == member && member != Member::Resting {
            return Next::Wait;
        }
        if self.members[node] == Member::Resting && member == Member::Resting && self.under_way {
            self.again = true;
            return Next::Wait;
        }
        self.members[node] = member;
        self.under_way = false;
        self.begin()
    }

    /// Begins the first round, if all rest.
    fn begin(&mut self) -> Next {
        let all_rest = self.members.iter().all(|member| matches!(member, Member::Resting | Member::Gone));
        if !all_rest || !self.members.contains(&Member::Resting) {
            return Next::Wait;
        }
        self.first = None;
        self.again = false;
        self.ask()
    }

    fn ask(&mut self) -> Next {
        self.round += 1;
        self.under_way = true;
        self.answers = vec![None; self.members.len()];
        Next::Ask(self.round)
    }

    /// Takes an answer.
    pub fn answer(&mut self, node: usize, round: u32, rest: Option<Rest>) -> Next {
        if !self.under_way || round != self.round || self.members[node] != Member::Resting {
            return Next::Wait;
        }
        let Some(rest) = rest else { return self.set(node, Member::Busy) };
        self.answers[node] = Some(rest);
        let missing =
            |(member, answer): (&Member, &Option<Rest>)| *member == Member::Resting && answer.is_none();
        if self.members.iter().zip(&self.answers).any(missing) {
            return Next::Wait;
        }
        self.under_way = false;
        let answers = std::mem::take(&mut self.answers);
        match self.first.take() {
            None => {
                self.first = Some(answers);
                self.ask()
            }
            Some(first) if first == answers => {
                let sum =
                    |what: fn(&Rest) -> u64| answers.iter().flatten().map(what).fold(0, u64::wrapping_add);
                if sum(|rest| rest.sent) == sum(|rest| rest.received) {
                    Next::Deadlock
                } else if self.again {
                    self.begin()
                } else {
                    // Who receives what is on its way says when it rests again.
                    Next::Wait
                }
            }
            Some(_) => {
                self.first = Some(answers);
                self.ask()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(mark: u64, sent: u64, received: u64) -> Option<Rest> {
        Some(Rest { mark, sent, received })
    }

    fn two_resting() -> (Census, u32) {
        let mut census = Census::new(vec![Member::Busy, Member::Busy, Member::Gone]);
        assert_eq!(census.set(0, Member::Resting), Next::Wait);
        let Next::Ask(round) = census.set(1, Member::Resting) else { panic!("all rest") };
        (census, round)
    }

    #[test]
    fn two_equal_rounds_with_nothing_on_its_way_are_a_deadlock() {
        let (mut census, round) = two_resting();
        assert_eq!(census.answer(0, round, rest(1, 5, 3)), Next::Wait);
        let Next::Ask(second) = census.answer(1, round, rest(2, 3, 5)) else { panic!("a second round") };
        assert_eq!(census.answer(1, second, rest(2, 3, 5)), Next::Wait);
        assert_eq!(census.answer(1, round, rest(2, 3, 5)), Next::Wait, "an answer of the first round");
        assert_eq!(census.answer(0, second, rest(1, 5, 3)), Next::Deadlock);
    }

    #[test]
    fn a_message_on_its_way_is_no_deadlock() {
        for says_so_early in [false, true] {
            let (mut census, round) = two_resting();
            census.answer(0, round, rest(1, 6, 3));
            let Next::Ask(second) = census.answer(1, round, rest(2, 3, 5)) else { panic!("a second round") };
            census.answer(1, second, rest(2, 3, 5));
            if says_so_early {
                assert_eq!(census.set(1, Member::Resting), Next::Wait);
            }
            let next = census.answer(0, second, rest(1, 6, 3));
            let next = if says_so_early { next } else { census.set(1, Member::Resting) };
            let Next::Ask(third) = next else { panic!("once more when it has been received") };
            census.answer(0, third, rest(1, 6, 3));
            let Next::Ask(last) = census.answer(1, third, rest(9, 3, 6)) else { panic!("and again") };
            census.answer(0, last, rest(1, 6, 3));
            assert_eq!(census.answer(1, last, rest(9, 3, 6)), Next::Deadlock);
        }
    }

    #[test]
    fn who_has_moved_between_the_rounds_is_asked_again() {
        let (mut census, round) = two_resting();
        census.answer(0, round, rest(1, 0, 0));
        let Next::Ask(second) = census.answer(1, round, rest(2, 0, 0)) else { panic!("a second round") };
        census.answer(0, second, rest(7, 0, 0));
        let Next::Ask(third) = census.answer(1, second, rest(2, 0, 0)) else { panic!("a third round") };
        census.answer(1, third, rest(2, 0, 0));
        assert_eq!(census.answer(0, third, None), Next::Wait);
        assert!(matches!(census.set(0, Member::Resting), Next::Ask(_)));
    }

    #[test]
    fn who_runs_or_has_not_come_yet_stops_the_rounds() {
        let (mut census, round) = two_resting();
        assert_eq!(census.answer(0, round, None), Next::Wait);
        assert_eq!(census.answer(1, round, rest(2, 0, 0)), Next::Wait);
        let mut census = Census::new(vec![Member::Absent, Member::Busy]);
        assert_eq!(census.set(1, Member::Resting), Next::Wait);
        assert!(matches!(census.set(0, Member::Gone), Next::Ask(_)));
        let mut census = Census::new(vec![Member::Busy]);
        assert_eq!(census.set(0, Member::Gone), Next::Wait);
    }
}
