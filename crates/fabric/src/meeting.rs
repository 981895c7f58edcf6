//! Node processes that meet: what each offers, and which devices it opens.

use crate::card::Card;
use crate::greeting::greet;
use crate::table::DEVICES;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use weft_base::constants::MPI_ERR_INTERN;
use weft_base::{Error, Result};
use weft_transport::{Device, Member, NOBODY, Node, Opener, Party, Routes};

/// Node processes that need ways to each other, as one of them sees them.
#[derive(Clone)]
pub struct Meeting {
    /// In the order of preference.
    devices: &'static [&'static dyn Opener],
    own: Node,
    members: Vec<Member>,
    needs: Needs,
}

/// Who needs a way to whom.
#[derive(Clone, Debug)]
enum Needs {
    /// Each to all others. No member has another device yet.
    All,
    /// One side to the other. By member of the left side, which are the first ones, and of the right one.
    Sides(Vec<Vec<bool>>),
}

impl Meeting {
    /// The node processes of a job, of which this is number `own`, meet when they start: each needs a way to all others.
    ///
    /// # Panics
    /// If there is no number `own`.
    pub fn of_job(own: Node, members: Vec<Member>) -> Self {
        assert!((own as usize) < members.len(), "node process {own} of {}", members.len());
        Self { devices: &DEVICES, own, members, needs: Needs::All }
    }

    /// Node processes of two sides meet that may have devices already. This is number `own` of both sides, the left one
    /// first; `missing` tells which of the left side and which of the right side have no way to each other.
    ///
    /// # Panics
    /// If there is no number `own`, or `missing` is not about these sides.
    pub fn of_sides(own: Node, sides: [Vec<Member>; 2], missing: Vec<Vec<bool>>) -> Self {
        let [left, right] = &sides;
        assert!((own as usize) < left.len() + right.len(), "node process {own} of two sides");
        let fits = missing.len() == left.len() && missing.iter().all(|row| row.len() == right.len());
        assert!(fits, "who misses whom is not said of these sides");
        Self { devices: &DEVICES, own, members: sides.concat(), needs: Needs::Sides(missing) }
    }

    fn all(&self) -> impl Iterator<Item = Node> + use<> {
        0..self.members.len() as Node
    }

    /// Tells whether one needs a way to another.
    fn needs(&self, one: Node, other: Node) -> bool {
        match &self.needs {
            Needs::All => one != other,
            Needs::Sides(missing) => {
                let (low, high) = (one.min(other) as usize, one.max(other) as usize);
                low < missing.len() && high >= missing.len() && missing[low][high - missing.len()]
            }
        }
    }

    fn may_join(&self, opener: &dyn Opener, one: Node, other: Node) -> bool {
        opener.joins(&self.members[one as usize], &self.members[other as usize])
    }

    /// Returns those to which a member needs a way that a device can be.
    fn partners(&self, opener: &'static dyn Opener, of: Node) -> impl Iterator<Item = Node> + '_ {
        self.all().filter(move |&other| self.needs(of, other) && self.may_join(opener, of, other))
    }

    /// Returns who is in the circle of this one; see [`Party::circle`].
    fn circle(&self, opener: &'static dyn Opener) -> Vec<Node> {
        let is_near = |&other: &Node| other == self.own || self.may_join(opener, self.own, other);
        self.all().filter(is_near).filter(|&other| self.partners(opener, other).next().is_some()).collect()
    }

    /// Tells whether members need a secret that nobody else knows. All members find the same.
    pub fn needs_secret(&self) -> bool {
        let mut secret = self.devices.iter().filter(|opener| opener.needs_secret());
        secret.any(|opener| self.all().any(|node| self.partners(*opener, node).next().is_some()))
    }

    /// Makes what the others need of this node process. `inherited` is what a launcher has [prepared](crate::prepare).
    ///
    /// # Errors
    /// `MPI_ERR_INTERN` with what the system refuses.
    pub fn offer(self, mut inherited: Option<OwnedFd>) -> Result<Offer> {
        let mut parts = Vec::new();
        for &opener in self.devices {
            let partners: Vec<Node> = self.partners(opener, self.own).collect();
            if partners.is_empty() {
                continue;
            }
            let circle = self.circle(opener);
            if let Some(offer) = opener.offer(&self.party(&partners, &circle), &mut inherited)? {
                parts.push(Part { opener, partners, circle, offer });
            }
        }
        Ok(Offer { meeting: self, parts })
    }

    fn party<'a>(&'a self, partners: &'a [Node], circle: &'a [Node]) -> Party<'a> {
        let is_further = !matches!(self.needs, Needs::All);
        Party { members: &self.members, own: self.own, partners, circle, is_further }
    }
}

/// What a device has made for the others.
struct Part {
    opener: &'static dyn Opener,
    partners: Vec<Node>,
    circle: Vec<Node>,
    offer: Box<dyn weft_transport::Offer>,
}

/// What a node process has made for those that need a way to it. To be kept until all have joined.
pub struct Offer {
    meeting: Meeting,
    parts: Vec<Part>,
}

impl Offer {
    /// Returns what the others must know.
    pub fn card(&self) -> Card {
        Card::of(self.parts.iter().map(|part| (part.opener.name(), part.offer.words())).collect())
    }

    /// Tells whether [`Offer::join`] asks for others' cards.
    pub fn asks(&self) -> bool {
        self.parts.iter().any(|part| !part.offer.asks().is_empty())
    }

    /// Opens the devices. `card_of` returns the card of a member, and is asked once for each whose card is needed; `secret` is
    /// what all members know and nobody else.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN` with what the system refuses, what makes no sense, or who has no device in common with this one; what
    /// `card_of` says.
    pub fn join(
        &mut self,
        card_of: &mut dyn FnMut(Node) -> Result<Card>,
        secret: Option<&[u8; 32]>,
    ) -> Result<Joined> {
        let meeting = &self.meeting;
        let mut cards: BTreeMap<Node, Card> = BTreeMap::new();
        let mut left: Vec<Node> = meeting.all().filter(|&other| meeting.needs(meeting.own, other)).collect();
        let mut ways = Vec::new();
        for Part { opener, partners, circle, offer } in &mut self.parts {
            let mut reached: Vec<Node> =
                partners.iter().copied().filter(|node| left.binary_search(node).is_ok()).collect();
            let is_asked = |node: &Node| reached.contains(node) || !partners.contains(node);
            let asked: Vec<Node> = offer.asks().into_iter().filter(is_asked).collect();
            let mut words = Vec::new();
            for node in asked {
                let card = match cards.entry(node) {
                    std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                    std::collections::btree_map::Entry::Vacant(place) => place.insert(card_of(node)?),
                };
                match card.words(opener.name()) {
                    Some(own) => words.push((node, own.to_vec())),
                    None => reached.retain(|&other| other != node),
                }
            }
            if reached.is_empty() {
                continue;
            }
            let (device, mut members) = offer.open(&meeting.party(&reached, circle), &words, secret)?;
            let is_known = |node: &Node| *node == meeting.own || reached.binary_search(node).is_ok();
            members.iter_mut().filter(|node| !is_known(node)).for_each(|node| *node = NOBODY);
            left.retain(|node| reached.binary_search(node).is_err());
            ways.push(Way { device, members, connects_late: opener.connects_late() });
        }
        match left.first() {
            None => Ok(Joined { own: meeting.own, members: meeting.members.len(), ways }),
            Some(node) => {
                let names = |card: &Card| card.devices().collect::<Vec<_>>().join(", ");
                let (theirs, ours) = (cards.get(node).map(names).unwrap_or_default(), names(&self.card()));
                let text = format!(
                    "node process {node} has no device in common with this one: it offers {theirs:?}, this one {ours:?}"
                );
                Err(Error::new(MPI_ERR_INTERN, text))
            }
        }
    }
}

/// A device, and whom it reaches.
struct Way {
    device: Box<dyn Device>,
    /// By the device's numbers: the member; [`NOBODY`] if another device is the way to it, or none is needed.
    members: Vec<Node>,
    connects_late: bool,
}

/// The devices of a meeting, in the order of the table.
pub struct Joined {
    own: Node,
    members: usize,
    ways: Vec<Way>,
}

impl Joined {
    /// Joins the devices to one, which has the members' numbers; nothing if there are no others.
    pub fn into_routes(self) -> Option<Routes> {
        let numbers = 0..self.members as Node;
        let mut ways = self.ways;
        if ways.len() == 1 && ways[0].members.iter().copied().eq(numbers) {
            // The only device's numbers are the members'.
            return ways.pop().map(|way| Routes::from(way.device));
        }
        let devices: Vec<_> = ways.into_iter().map(|way| (way.device, way.members)).collect();
        (!devices.is_empty()).then(|| Routes::join(self.own, devices))
    }

    /// Waits until each other member has been heard of, where only that shows a peer's end. So who cannot be reached is an
    /// error now.
    ///
    /// # Errors
    /// `MPI_ERR_PORT` with why somebody cannot be reached.
    pub fn greet(&self) -> Result {
        let mut late = self.ways.iter().filter(|way| way.connects_late);
        late.try_for_each(|way| greet(&*way.device, way.others(self.own).map(|(number, _)| number).collect()))
    }

    /// Returns each device with those that it reaches: their numbers there, and which members they are.
    pub fn into_ways(self) -> impl Iterator<Item = (Box<dyn Device>, Vec<(Node, Node)>)> {
        let own = self.own;
        self.ways.into_iter().map(move |way| {
            let others = way.others(own).collect();
            (way.device, others)
        })
    }
}

impl Way {
    /// Returns the others that it reaches, each by its number in the device and by which member it is.
    fn others(&self, own: Node) -> impl Iterator<Item = (Node, Node)> + '_ {
        let numbered = (0..).zip(self.members.iter().copied());
        numbered.filter(move |&(_, member)| member != own && member != NOBODY)
    }
}

#[cfg(test)]
mod tests;
