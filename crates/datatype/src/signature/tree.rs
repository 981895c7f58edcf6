//! The elements of a signature as a tree of repetitions, which does not need the datatype: a process writes it for another.
//!
//! A node is a basic type, a sequence of earlier nodes each so many times, or the *rest* of which nothing is known but its
//! length and its hash. The last node is the whole. So a signature of any length is a few bytes where its type is simple; one
//! that would take more than [`MOST`] bytes is written as its first runs and the rest.
//!
//! What is read may be anything: nodes name earlier ones only, so nothing goes around in circles, and lengths saturate.

use super::hash::{Hash, MODULUS};
use crate::basic::Basic;
use crate::datatype::Datatype;
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::HashMap;

/// The most bytes a written tree takes.
pub(super) const MOST: usize = 512;

/// How many runs are written of a signature that is too long, and how many nodes are looked at to find them.
const RUNS: usize = 32;
const STEPS: usize = 4096;

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Kind {
    Basic(Basic),
    /// Nodes, and how often each.
    Parts(Box<[(u32, u64)]>),
    Rest {
        elements: u64,
        hash: u64,
    },
}

#[derive(Clone, Debug)]
struct Node {
    kind: Kind,
    elements: u64,
    whole: Hash,
    /// The number of the first elements that are known.
    known: u64,
}

/// A sequence of elements.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "Vec<Kind>")]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// Describes `count` instances of a type.
    pub fn of(datatype: &Datatype, count: u64) -> Self {
        let mut tree = Self::default();
        let mut places = HashMap::new();
        let node = tree.add_type(datatype, &mut places);
        tree.add_parts([(node, count)].into());
        tree
    }

    fn add(&mut self, kind: Kind, elements: u64, whole: Hash, known: u64) -> u32 {
        self.nodes.push(Node { kind, elements, whole, known });
        self.nodes.len() as u32 - 1
    }

    fn add_basic(&mut self, basic: Basic) -> u32 {
        self.add(Kind::Basic(basic), 1, Hash::of(basic), 1)
    }

    fn add_rest(&mut self, elements: u64, hash: u64) -> u32 {
        let whole = Hash::with_length(hash, elements);
        self.add(Kind::Rest { elements, hash }, elements, whole, 0)
    }

    /// Adds a sequence of nodes that are there.
    fn add_parts(&mut self, parts: Box<[(u32, u64)]>) -> u32 {
        let (mut elements, mut known, mut whole) = (0u64, 0u64, Hash::EMPTY);
        for &(part, copies) in &*parts {
            let part = &self.nodes[part as usize];
            if copies == 0 || part.elements == 0 {
                continue;
            }
            let all = part.elements.saturating_mul(copies);
            if known == elements {
                let sure = if part.known == part.elements { all } else { part.known };
                known = known.saturating_add(sure);
            }
            elements = elements.saturating_add(all);
            whole = whole.then(part.whole.times(copies));
        }
        self.add(Kind::Parts(parts), elements, whole, known)
    }

    /// Adds a type; `places` are those that are there already, by address: a type may be part of another in many places.
    fn add_type(&mut self, datatype: &Datatype, places: &mut HashMap<usize, u32>) -> u32 {
        let address = core::ptr::from_ref(&*datatype.0) as usize;
        if let Some(&known) = places.get(&address) {
            return known;
        }
        let parts = &datatype.0.parts;
        let node = match datatype.basic().filter(|_| parts.is_empty() && datatype.size() > 0) {
            Some(basic) => self.add_basic(basic),
            None => {
                let parts =
                    parts.iter().map(|(part, copies)| (self.add_type(part, places), *copies)).collect();
                self.add_parts(parts)
            }
        };
        places.insert(address, node);
        node
    }

    fn root(&self) -> u32 {
        self.nodes.len() as u32 - 1
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> u64 {
        self.nodes.last().map_or(0, |root| root.elements)
    }

    /// Returns how many of the first elements are known.
    pub fn known(&self) -> u64 {
        self.nodes.last().map_or(0, |root| root.known)
    }

    /// Returns the basic type that all of it is, if it was made of one.
    pub fn only(&self) -> Option<Basic> {
        let [Node { kind: Kind::Basic(basic), .. }, _] = self.nodes[..] else { return None };
        Some(basic)
    }

    /// Returns the hash of the first `length` elements, unless the rest begins among them.
    pub fn prefix(&self, length: u64) -> Option<u64> {
        if length == self.elements() {
            return self.nodes.last().map(|root| root.whole.value());
        }
        self.prefix_of(self.root(), length).map(Hash::value)
    }

    fn prefix_of(&self, node: u32, length: u64) -> Option<Hash> {
        let Node { kind, elements, whole, .. } = &self.nodes[node as usize];
        if length == 0 || *elements == 0 {
            return Some(Hash::EMPTY);
        }
        let mut hash = whole.times(length / elements);
        let mut rest = length % elements;
        if rest == 0 {
            return Some(hash);
        }
        let Kind::Parts(parts) = kind else { return None };
        for &(part, copies) in parts {
            let held = self.nodes[part as usize].elements.saturating_mul(copies);
            if rest < held {
                return Some(hash.then(self.prefix_of(part, rest)?));
            }
            hash = hash.then(self.nodes[part as usize].whole.times(copies));
            rest -= held;
        }
        Some(hash)
    }

    /// Returns the element at a place, if it is known.
    pub fn element(&self, index: u64) -> Option<Basic> {
        if index < self.elements() { self.element_of(self.root(), index) } else { None }
    }

    fn element_of(&self, node: u32, index: u64) -> Option<Basic> {
        let Node { kind, elements, .. } = &self.nodes[node as usize];
        let mut rest = index.checked_rem(*elements)?;
        let parts = match kind {
            Kind::Basic(basic) => return Some(*basic),
            Kind::Rest { .. } => return None,
            Kind::Parts(parts) => parts,
        };
        for &(part, copies) in parts {
            let held = self.nodes[part as usize].elements.saturating_mul(copies);
            if rest < held {
                return self.element_of(part, rest);
            }
            rest -= held;
        }
        None
    }

    /// Returns what is written of it.
    fn shortened(&self) -> Cow<'_, Self> {
        match postcard::to_slice(&Nodes(self), &mut [0; MOST]) {
            Ok(_) => Cow::Borrowed(self),
            Err(_) => Cow::Owned(self.beginning()),
        }
    }

    /// Returns the same sequence as its first runs of equal elements, and the rest.
    fn beginning(&self) -> Self {
        let mut runs: Vec<(Basic, u64)> = Vec::new();
        let mut steps = STEPS;
        self.walk(self.root(), &mut steps, &mut |basic| {
            if runs.last().is_none_or(|run| run.0 != basic) {
                if runs.len() == RUNS {
                    return false;
                }
                runs.push((basic, 0));
            }
            runs.last_mut().expect("there is one").1 += 1;
            true
        });
        let mut tree = Self::default();
        let mut parts: Vec<(u32, u64)> =
            runs.iter().map(|&(basic, copies)| (tree.add_basic(basic), copies)).collect();
        let known: u64 = runs.iter().map(|run| run.1).sum();
        let (elements, whole) = (self.elements(), self.nodes.last().map_or(Hash::EMPTY, |root| root.whole));
        let before = self.prefix(known).unwrap_or(0);
        let rest = tree.add_rest(elements - known, whole.without(before, elements - known));
        parts.push((rest, 1));
        tree.add_parts(parts.into());
        tree
    }

    /// Shows the first elements of a node to `show` until that returns false. Returns whether all were shown.
    fn walk(&self, node: u32, steps: &mut usize, show: &mut impl FnMut(Basic) -> bool) -> bool {
        match &self.nodes[node as usize].kind {
            Kind::Basic(basic) => show(*basic),
            Kind::Rest { .. } => false,
            Kind::Parts(parts) => parts.iter().all(|&(part, copies)| {
                (0..copies).all(|_| {
                    *steps = steps.saturating_sub(1);
                    *steps > 0 && self.walk(part, steps, show)
                })
            }),
        }
    }
}

/// All nodes of a tree, as they are written.
struct Nodes<'a>(&'a Tree);

impl Serialize for Nodes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.nodes.iter().map(|node| &node.kind))
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Nodes(&self.shortened()).serialize(serializer)
    }
}

impl TryFrom<Vec<Kind>> for Tree {
    type Error = &'static str;

    fn try_from(nodes: Vec<Kind>) -> Result<Self, Self::Error> {
        if nodes.len() > MOST {
            return Err("too many nodes");
        }
        let mut tree = Self::default();
        for kind in nodes {
            let known = tree.nodes.len() as u64;
            match kind {
                Kind::Parts(parts) if parts.iter().any(|&(part, _)| u64::from(part) >= known) => {
                    return Err("a part that is not there");
                }
                Kind::Rest { hash, .. } if hash >= MODULUS => return Err("no hash"),
                Kind::Basic(basic) => tree.add_basic(basic),
                Kind::Parts(parts) => tree.add_parts(parts),
                Kind::Rest { elements, hash } => tree.add_rest(elements, hash),
            };
        }
        // The whole is always a sequence, so that `only` and `prefix` need not look further.
        match tree.nodes.last() {
            Some(Node { kind: Kind::Parts(_), .. }) => Ok(tree),
            _ => Err("no sequence"),
        }
    }
}
