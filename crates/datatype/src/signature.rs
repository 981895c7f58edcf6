//! Comparing type signatures: which basic elements follow each other, whatever lies between them in memory.
//!
//! A signature may have more elements than could ever be written down, so it is compared by a [hash](hash) of which that of
//! a repetition and that of a prefix can be computed; a power is computed by doubling. Two signatures whose hashes differ are
//! searched for the first difference by halving the prefix that is compared.
//!
//! One that another process has written is compared in the same way (`tree`): exactly, unless it was too long to be written.
//! Then its beginning is compared, and all of it if the other is not longer.

mod hash;
mod tree;

use crate::basic::Basic;
use crate::datatype::Datatype;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::sync::Arc;
use tree::Tree;
use weft_base::constants::MPI_PACKED;

/// The elements of a message or buffer.
#[derive(Clone, Debug)]
pub struct Signature(Form);

#[derive(Clone, Debug)]
enum Form {
    /// So many instances of a type.
    Here { datatype: Datatype, count: u64 },
    /// What another process has written.
    Read(Arc<Tree>),
}

/// Where two signatures differ first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The number of elements before it.
    pub at: u64,
    /// The element of the first signature; nothing where it has ended.
    pub first: Option<Basic>,
    /// That of the second.
    pub second: Option<Basic>,
    /// Whether it is there; else it is there or further on, and what the elements are is not known.
    pub is_exact: bool,
}

impl Difference {
    /// Says where it is, and what the elements are: by `first` and `second`, what each is (`as {} sent`).
    pub fn describe(&self, say: impl FnOnce(&str, &str) -> String) -> String {
        let name = |basic: Option<Basic>| basic.map_or("nothing", Basic::name);
        match self.is_exact {
            true => format!("element {} {}", self.at, say(name(self.first), name(self.second))),
            false => format!("an element after the first {} is of another type, or missing", self.at),
        }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe(|first, second| format!("is {first} here and {second} there")))
    }
}

impl Signature {
    /// The most bytes that it takes when it is written for another process, in the format of `postcard`.
    pub const MOST: usize = tree::MOST;

    /// Describes `count` instances of a type.
    pub fn new(datatype: &Datatype, count: u64) -> Self {
        Self(Form::Here { datatype: datatype.clone(), count })
    }

    fn tree(&self) -> Cow<'_, Tree> {
        match &self.0 {
            Form::Here { datatype, count } => Cow::Owned(Tree::of(datatype, *count)),
            Form::Read(tree) => Cow::Borrowed(tree),
        }
    }

    /// Tells whether it is packed data, which matches everything.
    fn is_packed(&self) -> bool {
        let basic = match &self.0 {
            Form::Here { datatype, .. } => datatype.basic(),
            Form::Read(tree) => tree.only(),
        };
        basic.is_some_and(|basic| basic.handle() == MPI_PACKED)
    }

    /// Tells whether it is of the same type for sure, without looking into it.
    fn is_plainly(&self, other: &Self) -> bool {
        let (Form::Here { datatype: mine, .. }, Form::Here { datatype: others, .. }) = (&self.0, &other.0)
        else {
            return false;
        };
        let basic = |datatype: &Datatype| datatype.basic().filter(|basic| basic.pair().is_none());
        mine.same(others) || (basic(mine).is_some() && basic(mine) == basic(others))
    }

    /// Finds where a message of this signature and a receive of `other` differ; the receive may have more elements.
    pub fn differs_in_message(&self, other: &Self) -> Option<Difference> {
        if self.is_plainly(other) || self.is_packed() || other.is_packed() {
            return None;
        }
        difference(&self.tree(), &other.tree())
    }

    /// Finds where two signatures that must be equal differ.
    pub fn differs(&self, other: &Self) -> Option<Difference> {
        if self.is_packed() || other.is_packed() {
            return None;
        }
        let (one, two) = (self.tree(), other.tree());
        let found = if self.is_plainly(other) { None } else { difference(&one, &two) };
        found.or_else(|| {
            let at = one.elements().min(two.elements());
            let (first, second) = (one.element(at), two.element(at));
            // Where the longer one goes on is not always known.
            let is_exact = first.is_some() != second.is_some();
            (one.elements() != two.elements()).then_some(Difference { at, first, second, is_exact })
        })
    }
}

impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.tree().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Form::Read(Arc::new(Tree::deserialize(deserializer)?))))
    }
}

/// Finds the first element in which two sequences differ, as far as both go.
fn difference(one: &Tree, other: &Tree) -> Option<Difference> {
    let common = one.elements().min(other.elements());
    let known = one.known().min(other.known());
    let differ = |length: u64| Some(one.prefix(length)? != other.prefix(length)?);
    let (mut same, mut different) = (0, common);
    match differ(common) {
        Some(false) => return None,
        Some(true) => {}
        // One of them goes on, and how is not known.
        None if differ(known) == Some(true) => different = known,
        None => return None,
    }
    while different - same > 1 {
        let middle = same + (different - same) / 2;
        let (middle, is_different) = match differ(middle) {
            Some(is_different) => (middle, is_different),
            None if same < known && known < different => (known, differ(known) == Some(true)),
            None => return Some(Difference { at: same, first: None, second: None, is_exact: false }),
        };
        if is_different {
            different = middle;
        } else {
            same = middle;
        }
    }
    let (first, second) = (one.element(same), other.element(same));
    Some(Difference { at: same, first, second, is_exact: first.is_some() && second.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use weft_base::constants::*;

    fn basic(pick: u8) -> Datatype {
        let handles = [MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_2INT, MPI_DOUBLE_INT];
        Datatype::predefined(handles[usize::from(pick) % handles.len()]).unwrap().clone()
    }

    /// Types of few elements, nested.
    fn types() -> impl Strategy<Value = Datatype> {
        any::<u8>().prop_map(basic).prop_recursive(4, 24, 3, |inner| {
            prop_oneof![
                (0..4i64, inner.clone()).prop_map(|(n, t)| Datatype::contiguous(n, &t).unwrap()),
                (0..3i64, 1..3i64, inner.clone())
                    .prop_map(|(n, b, t)| Datatype::vector(n, b, 5, &t).unwrap()),
                proptest::collection::vec((0..3i64, inner.clone()), 1..4).prop_map(|fields| {
                    let lengths: Vec<_> = fields.iter().map(|f| f.0).collect();
                    let places: Vec<_> = (0..fields.len() as i64).map(|i| i * 4096).collect();
                    let kinds: Vec<_> = fields.into_iter().map(|f| f.1).collect();
                    Datatype::structure(&lengths, &places, &kinds).unwrap()
                }),
                inner.prop_map(|t| t.dup().unwrap()),
            ]
        })
    }

    /// The rule itself: the elements one by one.
    fn list(signature: &Signature) -> Vec<Basic> {
        fn walk(datatype: &Datatype, out: &mut Vec<Basic>) {
            if datatype.0.parts.is_empty() {
                out.extend(datatype.basic().filter(|_| datatype.size() > 0));
            }
            for (part, copies) in &datatype.0.parts {
                (0..*copies).for_each(|_| walk(part, out));
            }
        }
        let mut out = Vec::new();
        let Form::Here { datatype, count } = &signature.0 else { unreachable!("written by another") };
        (0..*count).for_each(|_| walk(datatype, &mut out));
        out
    }

    proptest! {
        #[test]
        fn differences_are_where_lists_differ((a, b, n, m) in (types(), types(), 0..4u64, 0..4u64)) {
            let (first, second) = (Signature::new(&a, n), Signature::new(&b, m));
            let (x, y) = (list(&first), list(&second));
            prop_assert_eq!(first.tree().elements(), x.len() as u64);
            let common = x.len().min(y.len());
            let place = (0..common).find(|&i| x[i] != y[i]);
            prop_assert_eq!(first.differs_in_message(&second).map(|d| d.at as usize), place);
            let place = place.or((x.len() != y.len()).then_some(common));
            let found = first.differs(&second);
            prop_assert_eq!(found.map(|d| d.at as usize), place);
            if let Some(found) = found {
                prop_assert_eq!(found.first, x.get(found.at as usize).copied());
                prop_assert_eq!(found.second, y.get(found.at as usize).copied());
            }
        }

        #[test]
        fn what_is_written_differs_where_the_signature_does((a, b, n, m) in (types(), types(), 0..4u64, 0..4u64)) {
            let (first, second) = (Signature::new(&a, n), Signature::new(&b, m));
            let (read, all) = (read(&second), read(&first));
            prop_assert_eq!(first.differs(&read), first.differs(&second));
            prop_assert_eq!(read.differs(&first), second.differs(&first));
            prop_assert_eq!(all.differs_in_message(&read), first.differs_in_message(&second));
        }

        #[test]
        fn whatever_is_read_can_be_compared(
            nodes in proptest::collection::vec(
                prop_oneof![
                    any::<u8>().prop_map(|basic| vec![0, basic]),
                    proptest::collection::vec((0..8u8, any::<u8>()), 0..4).prop_map(|parts| {
                        let numbers = parts.iter().flat_map(|&(part, copies)| [part, copies | 0x80, 0xff, 0x7f]);
                        [1, parts.len() as u8].into_iter().chain(numbers).collect()
                    }),
                    any::<[u8; 4]>().prop_map(|bytes| [2].into_iter().chain(bytes).collect()),
                    any::<[u8; 6]>().prop_map(Vec::from),
                ],
                0..12,
            ),
            (other, count, cut) in (types(), 0..1000u64, any::<usize>()),
        ) {
            let mut bytes = vec![nodes.len() as u8];
            bytes.extend(nodes.concat());
            let bytes = &bytes[..bytes.len() - (cut % 4 == 0) as usize * (cut % bytes.len())];
            if let Ok((signature, _)) = postcard::take_from_bytes::<Signature>(bytes) {
                let other = Signature::new(&other, count);
                let _ = (signature.differs(&other), other.differs_in_message(&signature));
                prop_assert_eq!(signature.differs(&signature.clone()), None);
                let again = read(&signature);
                prop_assert_eq!(again.differs(&signature), None);
            }
        }
    }

    /// What another process makes of a signature.
    fn read(signature: &Signature) -> Signature {
        let bytes = postcard::to_allocvec(signature).expect("it can be written");
        assert!(bytes.len() <= Signature::MOST, "{} bytes", bytes.len());
        postcard::from_bytes(&bytes).expect("it was written")
    }

    #[test]
    fn one_too_long_to_be_written_is_compared_as_far_as_it_is_known() {
        // In each record another field comes twice.
        let record = |odd: usize| {
            let lengths: Vec<i64> = (0..400).map(|i| if i == odd { 2 } else { 1 }).collect();
            let places: Vec<i64> = (0..400).map(|i| 16 * i).collect();
            let kinds: Vec<_> = (0..400u16).map(|i| basic((i % 2) as u8)).collect();
            Datatype::structure(&lengths, &places, &kinds).unwrap()
        };
        let of = |odd, count| Signature::new(&record(odd), count);
        let (sent, early) = (read(&of(350, 10)), of(3, 10));
        assert_eq!(sent.differs(&of(350, 10)), None);
        assert_eq!(sent.differs_in_message(&of(350, 11)), None);
        assert_eq!(sent.differs_in_message(&of(350, 9)), None);
        let found = sent.differs_in_message(&early).expect("they differ");
        assert_eq!((found.at, found.is_exact), (4, true));
        let found = sent.differs_in_message(&of(200, 10)).expect("they differ");
        assert!(!found.is_exact && found.at >= 30 && found.at <= 201, "{found}");
        assert!(found.to_string().contains("is of another type, or missing"), "{found}");
        let longer = of(350, 11);
        let found = sent.differs(&longer).expect("one is longer");
        assert_eq!((found.at, found.is_exact), (4010, true));
        assert!(!read(&longer).differs(&of(350, 10)).expect("one is longer").is_exact);
        // A message that is longer than its receive, in what of it is known.
        assert!(sent.differs_in_message(&of(3, 9)).is_some());
    }

    #[test]
    fn billions_of_elements_are_compared_at_once() {
        let mixed = Datatype::structure(&[1, 1], &[0, 8], &[basic(0), basic(1)]).unwrap();
        let many = Datatype::contiguous(1 << 40, &mixed).unwrap();
        assert_eq!(Signature::new(&many, 3).differs(&Signature::new(&mixed, 3 << 40)), None);
        let found = Signature::new(&many, 3).differs(&Signature::new(&mixed, (3 << 40) + 1)).unwrap();
        assert_eq!((found.at, found.first), (6 << 40, None));
        let (long, short) = (Datatype::contiguous(1 << 40, &basic(0)).unwrap(), basic(1));
        let odd = Datatype::structure(&[1, 1], &[0, 1 << 50], &[long, short]).unwrap();
        let found = Signature::new(&odd, 1).differs(&Signature::new(&basic(0), (1 << 40) + 1)).unwrap();
        assert_eq!(
            (found.at, found.to_string()),
            (1 << 40, format!("element {} is MPI_DOUBLE here and MPI_INT there", 1u64 << 40))
        );
    }

    #[test]
    fn packed_data_matches_everything_and_bytes_only_bytes() {
        let of = |handle, count| Signature::new(Datatype::predefined(handle).unwrap(), count);
        assert_eq!(of(MPI_PACKED, 8).differs(&of(MPI_INT, 2)), None);
        assert_eq!(of(MPI_INT, 2).differs_in_message(&of(MPI_PACKED, 100)), None);
        assert!(of(MPI_BYTE, 8).differs_in_message(&of(MPI_INT, 2)).is_some());
        assert_eq!(of(MPI_INT, 0).differs_in_message(&of(MPI_DOUBLE, 2)), None);
    }
}
