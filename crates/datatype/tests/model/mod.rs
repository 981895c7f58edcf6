//! A byte-by-byte model of datatypes: a type is the list of its basic elements in packing order, with its bounds
//! computed straight from the standard's definitions. Slow and plain on purpose.

pub mod rebuild;

use weft_base::constants as c;
use weft_datatype::{Basic, Datatype};

/// A type map.
#[derive(Clone, Debug)]
pub struct Model {
    /// Displacement and size of each basic element.
    pub entries: Vec<(i64, u64)>,
    /// The kind of each.
    pub kinds: Vec<Basic>,
    /// Lower and upper bound markers.
    pub markers: Option<(i64, i64)>,
    /// How far the padding at the ends of the parts goes.
    pub padded: Option<i64>,
    pub align: i64,
}

impl Model {
    pub fn size(&self) -> u64 {
        self.entries.iter().map(|e| e.1).sum()
    }

    pub fn true_bounds(&self) -> (i64, i64) {
        let lb = self.entries.iter().map(|e| e.0).min().unwrap_or(0);
        let ub = self.entries.iter().map(|e| e.0 + e.1 as i64).max().unwrap_or(0);
        (lb, ub)
    }

    pub fn bounds(&self) -> (i64, i64) {
        self.markers.unwrap_or_else(|| self.bounds_of_data())
    }

    /// Returns the bounds without markers, padding included.
    fn bounds_of_data(&self) -> (i64, i64) {
        let (lb, end) = self.true_bounds();
        let mut ub = self.padded.map_or(end, |padded| padded.max(end));
        while (ub - lb) % self.align != 0 {
            ub += 1;
        }
        (lb, ub)
    }

    pub fn extent(&self) -> i64 {
        self.bounds().1 - self.bounds().0
    }

    /// Returns the displacement of every data byte of `count` instances, in packing order.
    pub fn bytes(&self, count: u64) -> Vec<i64> {
        let mut bytes = Vec::new();
        for i in 0..count as i64 {
            for (at, size) in &self.entries {
                bytes.extend((0..*size as i64).map(|b| at + i * self.extent() + b));
            }
        }
        bytes
    }

    /// Unites instances of types at displacements.
    fn unite<'a>(parts: impl IntoIterator<Item = (i64, &'a Model)>) -> Model {
        let mut all = Model { entries: Vec::new(), kinds: Vec::new(), markers: None, padded: None, align: 1 };
        for (at, part) in parts {
            all.entries.extend(part.entries.iter().map(|(d, s)| (d + at, *s)));
            all.kinds.extend(&part.kinds);
            all.align = all.align.max(part.align);
            if !part.entries.is_empty() {
                all.padded = all.padded.max(Some(at + part.bounds_of_data().1));
            }
            if let Some((l, u)) = part.markers {
                let (low, high) = all.markers.unwrap_or((i64::MAX, i64::MIN));
                all.markers = Some((low.min(l + at), high.max(u + at)));
            }
        }
        all
    }
}

/// A recipe of constructor calls.
#[derive(Clone, Debug)]
pub enum Recipe {
    Basic(usize),
    Dup(Box<Recipe>),
    Contiguous(i64, Box<Recipe>),
    Vector(i64, i64, i64, Box<Recipe>),
    Hvector(i64, i64, i64, Box<Recipe>),
    Indexed(Vec<(i64, i64)>, Box<Recipe>),
    Hindexed(Vec<(i64, i64)>, Box<Recipe>),
    IndexedBlock(i64, Vec<i64>, Box<Recipe>),
    HindexedBlock(i64, Vec<i64>, Box<Recipe>),
    Struct(Vec<(i64, i64, Recipe)>),
    Resized(i64, i64, Box<Recipe>),
    /// Size, subsize and start of each dimension, then C order or not.
    Subarray(Vec<(i64, i64, i64)>, bool, Box<Recipe>),
    /// Size, processes, this process, and block length (0 for a block distribution) of each dimension, then order.
    Darray(Vec<(i64, i32, i32, i32)>, bool, Box<Recipe>),
}

/// A kind used at the leaves: its handle, its elements as (displacement, size), its extent.
type Leaf = (weft_base::abi::Datatype, &'static [(i64, u64)], i64);

/// Kinds used at the leaves.
pub const BASICS: [Leaf; 10] = [
    (c::MPI_BYTE, &[(0, 1)], 1),
    (c::MPI_SHORT, &[(0, 2)], 2),
    (c::MPI_INT, &[(0, 4)], 4),
    (c::MPI_DOUBLE, &[(0, 8)], 8),
    (c::MPI_LONG_DOUBLE, &[(0, 16)], 16),
    (c::MPI_LONG, &[(0, 8)], 8),
    (c::MPI_C_DOUBLE_COMPLEX, &[(0, 16)], 8),
    (c::MPI_LOGICAL, &[(0, 4)], 4),
    (c::MPI_SHORT_INT, &[(0, 2), (4, 4)], 4),
    (c::MPI_DOUBLE_INT, &[(0, 8), (8, 4)], 8),
];

impl Recipe {
    /// Makes the type with the library and with the model.
    pub fn make(&self) -> (Datatype, Model) {
        match self {
            Recipe::Basic(i) => {
                let (handle, entries, align) = BASICS[*i];
                let basic = Basic::from_handle(handle).unwrap();
                let kinds = basic.pair().map_or(vec![basic], |(value, index, _)| vec![value, index]);
                let model = Model { entries: entries.to_vec(), kinds, markers: None, padded: None, align };
                (Datatype::predefined(handle).unwrap().clone(), model)
            }
            Recipe::Dup(old) => {
                let (old, model) = old.make();
                (old.dup().unwrap(), model)
            }
            Recipe::Contiguous(count, old) => {
                let (old, model) = old.make();
                let ex = model.extent();
                let new = Model::unite((0..*count).map(|i| (i * ex, &model)));
                (Datatype::contiguous(*count, &old).unwrap(), new)
            }
            Recipe::Vector(count, block, stride, old) => {
                let (old, model) = old.make();
                let ex = model.extent();
                let new = Model::unite(grid(*count, *block, stride * ex, ex).map(|d| (d, &model)));
                (Datatype::vector(*count, *block, *stride, &old).unwrap(), new)
            }
            Recipe::Hvector(count, block, stride, old) => {
                let (old, model) = old.make();
                let ex = model.extent();
                let new = Model::unite(grid(*count, *block, *stride, ex).map(|d| (d, &model)));
                (Datatype::hvector(*count, *block, *stride, &old).unwrap(), new)
            }
            Recipe::Indexed(blocks, old) => {
                let (old, model) = old.make();
                let (lengths, at): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                (Datatype::indexed(&lengths, &at, &old).unwrap(), listed(blocks, model.extent(), &model))
            }
            Recipe::Hindexed(blocks, old) => {
                let (old, model) = old.make();
                let (lengths, at): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                (Datatype::hindexed(&lengths, &at, &old).unwrap(), listed(blocks, 1, &model))
            }
            Recipe::IndexedBlock(length, at, old) => {
                let (old, model) = old.make();
                let blocks: Vec<_> = at.iter().map(|d| (*length, *d)).collect();
                (Datatype::indexed_block(*length, at, &old).unwrap(), listed(&blocks, model.extent(), &model))
            }
            Recipe::HindexedBlock(length, at, old) => {
                let (old, model) = old.make();
                let blocks: Vec<_> = at.iter().map(|d| (*length, *d)).collect();
                (Datatype::hindexed_block(*length, at, &old).unwrap(), listed(&blocks, 1, &model))
            }
            Recipe::Struct(members) => {
                let made: Vec<_> = members.iter().map(|m| m.2.make()).collect();
                let lengths: Vec<_> = members.iter().map(|m| m.0).collect();
                let at: Vec<_> = members.iter().map(|m| m.1).collect();
                let types: Vec<_> = made.iter().map(|m| m.0.clone()).collect();
                let parts = members.iter().zip(&made).flat_map(|((length, at, _), (_, model))| {
                    (0..*length).map(move |i| (at + i * model.extent(), model))
                });
                (Datatype::structure(&lengths, &at, &types).unwrap(), Model::unite(parts))
            }
            Recipe::Resized(lb, extent, old) => {
                let (old, mut model) = old.make();
                model.markers = Some((*lb, lb + extent));
                (Datatype::resized(*lb, *extent, &old).unwrap(), model)
            }
            Recipe::Subarray(dims, c_order, old) => {
                let (old, model) = old.make();
                let sizes: Vec<_> = dims.iter().map(|d| d.0).collect();
                let subsizes: Vec<_> = dims.iter().map(|d| d.1).collect();
                let starts: Vec<_> = dims.iter().map(|d| d.2).collect();
                let order = if *c_order { c::MPI_ORDER_C } else { c::MPI_ORDER_FORTRAN };
                let ty = Datatype::subarray(&sizes, &subsizes, &starts, order, &old).unwrap();
                // Every index of the sub-array, the fastest dimension innermost.
                let mut fastest_first = dims.clone();
                if *c_order {
                    fastest_first.reverse();
                }
                let mut places = vec![0];
                let mut step = model.extent();
                for (size, subsize, start) in fastest_first {
                    places = (start..start + subsize)
                        .flat_map(|i| places.iter().map(move |p| p + i * step))
                        .collect();
                    step *= size;
                }
                let mut new = Model::unite(places.iter().map(|d| (*d, &model)));
                new.markers = Some((0, step));
                (ty, new)
            }
            Recipe::Darray(dims, c_order, old) => {
                let (old, model) = old.make();
                let gsizes: Vec<_> = dims.iter().map(|d| d.0).collect();
                let grid: Vec<_> = dims.iter().map(|d| d.1).collect();
                let cyclic = |d: &(i64, i32, i32, i32)| d.3 > 0;
                let distributions: Vec<_> = dims
                    .iter()
                    .map(|d| if cyclic(d) { c::MPI_DISTRIBUTE_CYCLIC } else { c::MPI_DISTRIBUTE_BLOCK })
                    .collect();
                let default = c::MPI_DISTRIBUTE_DFLT_DARG;
                let arguments: Vec<_> = dims.iter().map(|d| if cyclic(d) { d.3 } else { default }).collect();
                // Processes are numbered in C order, whatever the order of the array.
                let rank = dims.iter().fold(0, |rank, d| rank * d.1 + d.2);
                let order = if *c_order { c::MPI_ORDER_C } else { c::MPI_ORDER_FORTRAN };
                let size = grid.iter().product();
                let ty =
                    Datatype::darray(size, rank, &gsizes, &distributions, &arguments, &grid, order, &old);
                let mut fastest_first = dims.clone();
                if *c_order {
                    fastest_first.reverse();
                }
                let mut places = vec![0];
                let mut step = model.extent();
                for (size, processes, mine, block) in fastest_first {
                    let processes = i64::from(processes);
                    let block = if block > 0 { i64::from(block) } else { (size + processes - 1) / processes };
                    let owned = (0..size).filter(|i| i / block % processes == i64::from(mine));
                    places = owned.flat_map(|i| places.iter().map(move |p| p + i * step)).collect();
                    step *= size;
                }
                let mut new = Model::unite(places.iter().map(|d| (*d, &model)));
                new.markers = Some((0, step));
                (ty.unwrap(), new)
            }
        }
    }
}

fn grid(count: i64, block: i64, stride: i64, extent: i64) -> impl Iterator<Item = i64> {
    (0..count).flat_map(move |i| (0..block).map(move |j| i * stride + j * extent))
}

fn listed(blocks: &[(i64, i64)], unit: i64, model: &Model) -> Model {
    let ex = model.extent();
    Model::unite(
        blocks
            .iter()
            .flat_map(|(length, at)| (0..*length).map(move |j| at * unit + j * ex))
            .map(|d| (d, model)),
    )
}

/// Returns the external32 form of an element, for the kinds of [`BASICS`].
pub fn external(kind: Basic, native: &[u8]) -> Vec<u8> {
    let reversed = |bytes: &[u8]| bytes.iter().rev().copied().collect::<Vec<u8>>();
    match kind.name() {
        "MPI_LONG" => reversed(&native[..4]),
        "MPI_LOGICAL" => vec![0, 0, 0, u8::from(native.iter().any(|b| *b != 0))],
        "MPI_C_DOUBLE_COMPLEX" => [reversed(&native[..8]), reversed(&native[8..])].concat(),
        // The numbers of the tests are normal, so sign and exponent stay and the fraction gets zeros behind it.
        "MPI_LONG_DOUBLE" if cfg!(target_arch = "x86_64") => {
            let bits = u128::from_le_bytes(native.try_into().unwrap());
            let fraction = bits & ((1 << 63) - 1);
            (bits >> 64 << 112 | fraction << 49).to_be_bytes().into()
        }
        _ => reversed(native),
    }
}
