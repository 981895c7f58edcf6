//! The segment as this process has mapped it: places become references.
#![allow(unsafe_code)] // Makes references into shared memory.

use weft_sys::shared::Mapping;
use weft_transport::{Commons, Node};

use super::layout::Shape;
use super::shared::{Area, BlockHead, Header, Pair};
use super::shuttles::Shuttles;

/// The mapping, with what is needed to find things in it.
pub(crate) struct Map {
    memory: Mapping,
    pub shape: Shape,
    /// This process.
    pub node: Node,
    pub shuttles: Shuttles,
}

impl Map {
    /// Wraps a mapping that is as large as the shape says.
    ///
    /// # Panics
    /// If it is not.
    pub fn new(memory: Mapping, shape: Shape, node: Node) -> Self {
        assert!(memory.size() as u64 >= shape.size() && node < shape.nodes);
        Self { memory, shape, node, shuttles: Shuttles::new(node, shape.nodes) }
    }

    fn at<T>(&self, offset: u64) -> &'static T {
        assert!(offset + size_of::<T>() as u64 <= self.memory.size() as u64);
        // SAFETY: within the mapping and aligned, as the layout's test shows; all parts of the types are atomics or cells
        // for which every content is valid. The device keeps the mapping as long as it keeps what it finds here.
        unsafe { &*self.memory.address().add(offset as usize).cast::<T>() }
    }

    fn bytes_at(&self, offset: u64) -> *mut u8 {
        // SAFETY: the layout's places are within the mapping.
        unsafe { self.memory.address().add(offset as usize) }
    }

    pub fn header(&self) -> &'static Header {
        self.at(0)
    }

    #[inline]
    pub fn area(&self, node: Node) -> &'static Area {
        debug_assert!(node < self.shape.nodes);
        self.at(self.shape.area(node))
    }

    pub fn pair(&self, to: Node, index: u32) -> &'static Pair {
        debug_assert!(to < self.shape.nodes && index < self.shape.pairs);
        self.at(self.shape.pair(to, index))
    }

    pub fn pair_bytes(&self, to: Node, index: u32) -> *mut u8 {
        self.bytes_at(self.shape.pair(to, index) + size_of::<Pair>() as u64)
    }

    pub fn block(&self, node: Node, index: u32) -> &'static BlockHead {
        debug_assert!(node < self.shape.nodes && index < self.shape.blocks);
        self.at(self.shape.block(node, index))
    }

    pub fn block_bytes(&self, node: Node, index: u32) -> *mut u8 {
        self.bytes_at(self.shape.block(node, index) + size_of::<BlockHead>() as u64)
    }

    /// Returns the bytes of the shuttle to a peer.
    pub fn shuttle(&self, peer: Node) -> *mut u8 {
        debug_assert!(peer < self.shape.nodes && peer != self.node);
        self.bytes_at(self.shape.shuttle(self.node, peer))
    }

    pub fn commons(&self, node: Node) -> Commons {
        debug_assert!(node < self.shape.nodes);
        Commons { address: self.bytes_at(self.shape.commons(node)), bytes: self.shape.commons as usize }
    }
}
