//! Whether peers' memory is read directly: whether the kernel permits it, and whether it is cheaper than two copies.
#![allow(unsafe_code)] // Reads the memory of processes.

use super::shared::Area;
use std::sync::atomic::{AtomicU64, Ordering};
use weft_sys::clock;
use weft_sys::shared;

/// When peers' memory is read directly, where the kernel permits it at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CrossMemory {
    /// Never.
    Never,
    /// If that costs no more time of a processor than copying in and out of the segment, by a trial when attaching.
    #[default]
    IfCheaper,
    /// Always.
    Always,
}

/// What others read to find out whether they can.
pub(super) static PROBE: AtomicU64 = AtomicU64::new(0);

/// Reads the probe of a process, to find out whether its memory can be read.
pub(super) fn reads_probe(process: u32, area: &Area) -> bool {
    let mut value = 0u64;
    let address = area.probe.load(Ordering::Relaxed);
    // SAFETY: the target is a local of that size.
    let read = unsafe { shared::read_process(process, address, (&raw mut value).cast(), 8) };
    read.is_ok() && value == area.probe_value.load(Ordering::Relaxed)
}

/// Compares reading memory of a process with two copies, by this process's own.
///
/// Measured on a virtual machine: reading takes three to four times as long as both copies, each of which stays in a cache;
/// and two processes that wait for each other copy at the same time.
pub(super) fn is_reading_cheaper(own: u32) -> bool {
    const SIZE: usize = 64 << 10;
    let source = vec![1u8; SIZE];
    let mut target = vec![2u8; SIZE];
    let mut shortest = |copy: &dyn Fn(&mut [u8])| {
        let mut time = || {
            let begin = clock::ticks();
            copy(&mut target);
            clock::ticks() - begin
        };
        (0..4).map(|_| time()).min().unwrap_or(0)
    };
    let copying = shortest(&|target| weft_sys::copy::slice(&source, core::hint::black_box(target)));
    let reading = shortest(&|target| {
        // SAFETY: the target has room.
        _ = unsafe { shared::read_process(own, source.as_ptr() as u64, target.as_mut_ptr(), SIZE) };
    });
    reading <= 2 * copying
}
