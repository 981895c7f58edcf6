//! The datatype itself: bounds, layout and the recorded constructor call.

use crate::basic::Basic;
use crate::layout::{Kind, MAX_DEPTH, Placed};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use weft_base::abi;
use weft_base::constants as c;
use weft_base::{Error, Result};

/// An MPI datatype. Cloning is cheap and yields the same object.
#[derive(Clone)]
pub struct Datatype(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) size: u64,
    pub(crate) lb: i64,
    pub(crate) extent: i64,
    pub(crate) true_lb: i64,
    pub(crate) true_extent: i64,
    pub(crate) dense: bool,
    pub(crate) handle: Option<Basic>,
    pub(crate) basic: Option<Basic>,
    pub(crate) layout: Placed,
    pub(crate) elements: u64,
    external_size: u64,
    span: Span,
    /// Types whose data follow each other, with how many of each: the signature.
    pub(crate) parts: Vec<(Datatype, u64)>,
    contents: Contents,
    nesting: u32,
    committed: AtomicBool,
}

/// The constructor call that made a type, as `MPI_Type_get_contents` returns it.
#[derive(Clone, Default)]
pub struct Contents {
    /// `MPI_COMBINER_…`
    pub combiner: i32,
    /// `array_of_integers`
    pub integers: Vec<i32>,
    /// `array_of_addresses`
    pub addresses: Vec<i64>,
    /// `array_of_large_counts`; empty for a call of the form without large counts.
    pub large_counts: Vec<i64>,
    /// `array_of_datatypes`
    pub datatypes: Vec<Datatype>,
}

/// Number of values in each array of [`Contents`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Length of `array_of_integers`.
    pub integers: usize,
    /// Length of `array_of_addresses`.
    pub addresses: usize,
    /// Length of `array_of_large_counts`.
    pub large_counts: usize,
    /// Length of `array_of_datatypes`.
    pub datatypes: usize,
    /// `MPI_COMBINER_…`
    pub combiner: i32,
}

/// One argument of a constructor on its way into [`Contents`].
#[derive(Clone, Copy)]
pub(crate) enum Argument {
    /// An `int` in both forms of the constructor.
    Int(i32),
    /// An `int`, or an `MPI_Count` in the large form.
    Count(i64),
    /// An `MPI_Aint`, or an `MPI_Count` in the large form.
    Address(i64),
}

impl Contents {
    /// Records a call as one of the form without large counts if its counts fit an `int`.
    pub(crate) fn record(
        combiner: i32,
        arguments: impl Iterator<Item = Argument> + Clone,
        datatypes: Vec<Datatype>,
    ) -> Self {
        let mut contents = Self { combiner, datatypes, ..Self::default() };
        let large = arguments.clone().any(|a| matches!(a, Argument::Count(v) if i32::try_from(v).is_err()));
        for argument in arguments {
            match argument {
                Argument::Int(v) => contents.integers.push(v),
                Argument::Count(v) | Argument::Address(v) if large => contents.large_counts.push(v),
                Argument::Count(v) => contents.integers.push(v as i32),
                Argument::Address(v) => contents.addresses.push(v),
            }
        }
        contents
    }

    /// Turns a recorded call into one of the large form, whose counts and displacements are all `MPI_Count`.
    fn enlarge(&mut self) {
        let length = self.integers.len();
        // Which of the integers are counts; the others are `int` in both forms.
        let counts = match self.combiner {
            _ if !self.large_counts.is_empty() => return,
            c::MPI_COMBINER_SUBARRAY => 1..length - 1,
            c::MPI_COMBINER_DARRAY => 3..3 + (length - 4) / 4,
            c::MPI_COMBINER_DUP | c::MPI_COMBINER_VALUE_INDEX => return,
            _ => 0..length,
        };
        self.large_counts =
            self.integers.drain(counts).map(i64::from).chain(self.addresses.drain(..)).collect();
    }
}

/// Bounds of a type map: of its data, and of its markers, which override them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Span {
    pub(crate) data: Option<(i64, i64)>,
    /// Where the data ends with its padding, had it no markers.
    pub(crate) padded: i64,
    pub(crate) markers: Option<(i64, i64)>,
    pub(crate) align: i64,
}

/// Collects the bounds, size and signature of a type under construction, in arithmetic that cannot overflow.
pub(crate) struct Builder {
    pub(crate) data: Option<(i128, i128)>,
    /// As far as the padding of the parts goes. Instances of a part lie an extent apart, so what follows a part's padding must
    /// not begin within it, at whatever displacements the instances are.
    padded: i128,
    pub(crate) markers: Option<(i128, i128)>,
    pub(crate) align: i64,
    size: i128,
    elements: i128,
    external_size: i128,
    basic: Mix,
    nesting: u32,
    pub(crate) parts: Vec<(Datatype, u64)>,
}

#[derive(Clone, Copy)]
enum Mix {
    Nothing,
    One(Basic),
    Several,
}

fn widen(bounds: &mut Option<(i128, i128)>, low: i128, high: i128) {
    *bounds = Some(bounds.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
}

pub(crate) fn too_large(what: &str) -> Error {
    Error::new(c::MPI_ERR_COUNT, format!("the new datatype's {what} does not fit 63 bits"))
}

fn fit(value: i128, what: &str) -> Result<i64> {
    i64::try_from(value).map_err(|_| too_large(what))
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            data: None,
            padded: i128::MIN,
            markers: None,
            align: 1,
            size: 0,
            elements: 0,
            external_size: 0,
            basic: Mix::Nothing,
            nesting: 0,
            parts: Vec::new(),
        }
    }

    /// Adds `copies` instances of `old` at displacements from `low` to `high`, both of which occur.
    pub(crate) fn add(&mut self, old: &Datatype, copies: i128, low: i128, high: i128) {
        if copies == 0 {
            return;
        }
        let (low, high) = (low.min(high), low.max(high));
        let span = &old.0.span;
        if let Some((first, last)) = span.data {
            widen(&mut self.data, low + i128::from(first), high + i128::from(last));
            self.padded = self.padded.max(high + i128::from(span.padded));
        }
        if let Some((first, last)) = span.markers {
            widen(&mut self.markers, low + i128::from(first), high + i128::from(last));
        }
        self.align = self.align.max(span.align);
        self.size = self.size.saturating_add(i128::from(old.0.size).saturating_mul(copies));
        self.elements = self.elements.saturating_add(i128::from(old.0.elements).saturating_mul(copies));
        // No element is larger outside than the largest inside, so this fits where the size does.
        self.external_size =
            self.external_size.saturating_add(i128::from(old.0.external_size).saturating_mul(copies));
        if old.0.size > 0 {
            self.basic = match (self.basic, old.0.basic) {
                (Mix::Nothing, Some(basic)) => Mix::One(basic),
                (Mix::One(one), Some(basic)) if one == basic => Mix::One(one),
                _ => Mix::Several,
            };
            // A part made of parts of one type only is as many of those, so that chains of such types stay flat.
            let (part, each) = match &old.0.parts[..] {
                [(part, each)] => (part, *each),
                _ => (old, 1),
            };
            let copies = u64::try_from(copies).unwrap_or(u64::MAX).saturating_mul(each);
            self.nesting = self.nesting.max(part.0.nesting + 1);
            match self.parts.last_mut() {
                Some((last, n)) if last.same(part) => *n = n.saturating_add(copies),
                _ => self.parts.push((part.clone(), copies)),
            }
        }
    }

    /// Checks what has been collected, then makes the datatype with the layout that `layout` returns.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` when size or bounds do not fit 63 bits, `MPI_ERR_TYPE` when types are nested too deeply.
    pub(crate) fn finish(self, contents: Contents, layout: impl FnOnce() -> Placed) -> Result<Datatype> {
        let size = fit(self.size, "size")? as u64;
        let elements = fit(self.elements, "number of elements")? as u64;
        let external_size = fit(self.external_size, "external size")? as u64;
        // Bounds are narrowed before they are subtracted from each other: two of 127 bits could overflow.
        let (true_lb, true_ub) = self.data.unwrap_or((0, 0));
        let (true_lb, true_ub) = (fit(true_lb, "true lower bound")?, fit(true_ub, "true upper bound")?);
        let true_extent = fit(i128::from(true_ub) - i128::from(true_lb), "true extent")?;
        let markers = match self.markers {
            Some((l, h)) => Some((fit(l, "lower bound")?, fit(h, "upper bound")?)),
            None => None,
        };
        let lb = markers.map_or(true_lb, |m| m.0);
        let reach = fit(self.padded.max(i128::from(true_ub)), "upper bound")?;
        let length = i128::from(reach) - i128::from(true_lb);
        let align = i128::from(self.align);
        let padded = i128::from(true_lb) + (length + align - 1) / align * align;
        let ub = markers.map_or(padded, |m| i128::from(m.1));
        fit(ub, "upper bound")?;
        let extent = fit(ub - i128::from(lb), "extent")?;
        if self.nesting > MAX_NESTING {
            return Err(too_deep());
        }
        let layout = layout();
        debug_assert_eq!(layout.size(), size);
        if layout.layout.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let dense = lb == 0
            && i64::try_from(size) == Ok(extent)
            && layout.as_run() == Some(size)
            && layout.offset == 0;
        Ok(Datatype(Arc::new(Inner {
            size,
            lb,
            extent,
            true_lb,
            true_extent,
            dense,
            handle: None,
            basic: match self.basic {
                Mix::One(basic) => Some(basic),
                _ => None,
            },
            layout,
            elements,
            external_size,
            span: Span {
                data: self.data.map(|_| (true_lb, true_ub)),
                // Of a type with markers it may not fit, and is as far as there can be anything.
                padded: i64::try_from(padded).unwrap_or(i64::MAX),
                markers,
                align: self.align,
            },
            parts: self.parts,
            contents,
            nesting: self.nesting,
            committed: AtomicBool::new(false),
        })))
    }
}

#[cold]
fn too_deep() -> Error {
    Error::new(
        c::MPI_ERR_TYPE,
        format!(
            "datatypes are nested more than {MAX_DEPTH} loops or {MAX_NESTING} structures deep; describe the layout \
             with fewer levels"
        ),
    )
}

/// Structures within structures: what counting elements will recurse through.
const MAX_NESTING: u32 = 2000;

static PREDEFINED: LazyLock<[Option<Datatype>; 256]> = LazyLock::new(|| {
    std::array::from_fn(|i| Basic::from_handle(abi::Datatype(0x200 + i)).map(make_predefined))
});

fn make_predefined(basic: Basic) -> Datatype {
    let align = i64::from(basic.description().align);
    let size = basic.size() as i64;
    let (layout, end, parts) = match basic.pair() {
        Some((value, index, at)) => {
            let runs = [Placed::run(0, value.size()), Placed::run(at, index.size())];
            // The table is being made, so the parts are objects of their own.
            let parts = vec![(make_predefined(value), 1), (make_predefined(index), 1)];
            (Placed::sequence(runs), at + index.size() as i64, parts)
        }
        None => (Placed::run(0, basic.size()), size, Vec::new()),
    };
    let extent = (end + align - 1) / align * align;
    Datatype(Arc::new(Inner {
        size: basic.size(),
        lb: 0,
        extent,
        true_lb: 0,
        true_extent: end,
        dense: end == size && extent == size,
        handle: Some(basic),
        basic: Some(basic),
        layout,
        elements: parts.len().max(1) as u64,
        external_size: basic.external_size(),
        span: Span { data: Some((0, end)), padded: extent, markers: None, align },
        parts,
        contents: Contents { combiner: c::MPI_COMBINER_NAMED, ..Contents::default() },
        nesting: 0,
        committed: AtomicBool::new(true),
    }))
}

impl Drop for Inner {
    /// Lets go of the types this one was made from, one after the other: a chain of them may be longer than a stack is
    /// deep.
    fn drop(&mut self) {
        let mut dying: Vec<Datatype> = Vec::new();
        let mut inner = self;
        let mut last;
        loop {
            dying.append(&mut inner.contents.datatypes);
            dying.extend(inner.parts.drain(..).map(|(part, _)| part));
            last = loop {
                let Some(next) = dying.pop() else { return };
                if let Some(last) = Arc::into_inner(next.0) {
                    break last;
                }
            };
            inner = &mut last;
        }
    }
}

impl Datatype {
    /// Returns the predefined datatype of a handle, or nothing when the handle is not a predefined one.
    #[inline]
    pub fn predefined(handle: abi::Datatype) -> Option<&'static Datatype> {
        if handle.0 & !0xff != 0x200 {
            return None;
        }
        PREDEFINED[handle.0 & 0xff].as_ref()
    }

    /// Returns the datatype of a predefined element kind.
    pub fn of(basic: Basic) -> &'static Datatype {
        Self::predefined(basic.handle()).expect("every Basic is in the table")
    }

    /// Makes the unnamed predefined type of an `MPI_Type_create_f90_…` call: the same data as `basic`, committed,
    /// with its own envelope.
    pub fn unnamed(basic: Basic, combiner: i32, integers: Vec<i32>) -> Datatype {
        let named = Self::of(basic);
        let contents = Contents { combiner, integers, ..Contents::default() };
        let mut inner = named.copy(contents);
        inner.handle = Some(basic);
        Datatype(Arc::new(inner))
    }

    /// Makes the unnamed predefined type of an `MPI_Type_get_value_index` call: a value followed by an index, as a C
    /// structure of both.
    ///
    /// # Panics
    /// If one of them is itself a pair.
    pub fn unnamed_pair(value: Basic, index: Basic) -> Datatype {
        assert!(value.pair().is_none() && index.pair().is_none(), "a pair of pairs");
        let datatypes = vec![Self::of(value).clone(), Self::of(index).clone()];
        let at = value.size().next_multiple_of(u64::from(index.description().align)) as i64;
        let mut pair = Self::structure(&[1, 1], &[0, at], &datatypes).expect("two small types");
        let inner = Arc::get_mut(&mut pair.0).expect("nobody else has it yet");
        inner.contents = Contents { combiner: c::MPI_COMBINER_VALUE_INDEX, datatypes, ..Contents::default() };
        pair.commit();
        pair
    }

    /// Returns value and index type of an unnamed predefined pair.
    pub fn as_unnamed_pair(&self) -> Option<(Basic, Basic)> {
        let contents = &self.0.contents;
        if contents.combiner != c::MPI_COMBINER_VALUE_INDEX {
            return None;
        }
        Some((contents.datatypes[0].0.handle?, contents.datatypes[1].0.handle?))
    }

    /// Notes that the type was made by a call of the form with large counts. For a type nobody else has yet.
    pub fn made_with_large_counts(mut self) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.contents.enlarge();
        }
        self
    }

    /// Copies everything but the constructor call.
    fn copy(&self, contents: Contents) -> Inner {
        let old = &*self.0;
        Inner {
            size: old.size,
            lb: old.lb,
            extent: old.extent,
            true_lb: old.true_lb,
            true_extent: old.true_extent,
            dense: old.dense,
            handle: None,
            basic: old.basic,
            layout: old.layout.clone(),
            elements: old.elements,
            external_size: old.external_size,
            span: old.span,
            parts: old.parts.clone(),
            contents,
            nesting: old.nesting,
            committed: AtomicBool::new(self.is_committed()),
        }
    }

    /// Creates an equal datatype in the same committed state.
    ///
    /// # Errors
    /// None.
    pub fn dup(&self) -> Result<Datatype> {
        let contents =
            Contents { combiner: c::MPI_COMBINER_DUP, datatypes: vec![self.clone()], ..Contents::default() };
        let mut inner = self.copy(contents);
        if inner.parts.is_empty() && inner.size > 0 {
            inner.parts.push((self.clone(), 1));
        }
        Ok(Datatype(Arc::new(inner)))
    }

    /// Tells whether two values are the same object.
    #[inline]
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the number of data bytes of one instance.
    #[inline]
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// Returns the lower bound.
    #[inline]
    pub fn lb(&self) -> i64 {
        self.0.lb
    }

    /// Returns the distance between consecutive instances.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.0.extent
    }

    /// Returns the lowest displacement of a data byte.
    #[inline]
    pub fn true_lb(&self) -> i64 {
        self.0.true_lb
    }

    /// Returns the distance from the first data byte to the end of the last.
    #[inline]
    pub fn true_extent(&self) -> i64 {
        self.0.true_extent
    }

    /// Tells whether `count` instances are `count * size` bytes from the buffer's address on, without holes.
    #[inline]
    pub fn is_dense(&self) -> bool {
        self.0.dense
    }

    /// Returns the displacement of the data bytes of `count` instances if they are one block without holes: a dense type,
    /// but also one instance of a type with bounds beside its data.
    #[inline(always)]
    pub fn one_block(&self, count: u64) -> Option<i64> {
        if self.is_dense() {
            return Some(0);
        }
        let layout = &self.0.layout;
        match layout.layout.kind {
            Kind::Run if count == 1 || u64::try_from(self.extent()) == Ok(self.size()) => Some(layout.offset),
            _ => None,
        }
    }

    /// Tells whether the type may be used in communication.
    #[inline]
    pub fn is_committed(&self) -> bool {
        self.0.committed.load(Ordering::Relaxed)
    }

    /// Allows the type in communication. The layout is in normal form since the type was made.
    pub fn commit(&self) {
        self.0.committed.store(true, Ordering::Relaxed);
    }

    /// Returns the predefined element kind of a type all of whose data are of one kind.
    #[inline]
    pub fn basic(&self) -> Option<Basic> {
        self.0.basic
    }

    /// Returns the element kind if this is a predefined type, named or not.
    #[inline]
    pub fn as_predefined(&self) -> Option<Basic> {
        self.0.handle
    }

    /// Tells whether this is a predefined type with a handle constant.
    pub fn is_named(&self) -> bool {
        self.0.contents.combiner == c::MPI_COMBINER_NAMED
    }

    /// Returns the handle constant of a named predefined type.
    pub fn named_handle(&self) -> Option<abi::Datatype> {
        if self.is_named() { self.0.handle.map(Basic::handle) } else { None }
    }

    /// Returns how many basic elements one instance holds.
    pub fn elements(&self) -> u64 {
        self.0.elements
    }

    /// Returns the number of bytes of one instance in the "external32" representation.
    pub fn external_size(&self) -> u64 {
        self.0.external_size
    }

    /// Returns the required alignment.
    pub fn alignment(&self) -> u64 {
        self.0.span.align as u64
    }

    /// Returns the constructor call that made the type.
    pub fn contents(&self) -> &Contents {
        &self.0.contents
    }

    /// Returns how many values the constructor call had of each sort.
    pub fn envelope(&self) -> Envelope {
        let contents = &self.0.contents;
        Envelope {
            integers: contents.integers.len(),
            addresses: contents.addresses.len(),
            large_counts: contents.large_counts.len(),
            datatypes: contents.datatypes.len(),
            combiner: contents.combiner,
        }
    }
}

impl std::fmt::Debug for Datatype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(handle) = self.named_handle().and_then(Basic::from_handle) {
            return f.write_str(handle.name());
        }
        f.debug_struct("Datatype")
            .field("combiner", &self.0.contents.combiner)
            .field("size", &self.0.size)
            .field("lb", &self.0.lb)
            .field("extent", &self.0.extent)
            .finish()
    }
}
