//! The memory that the node processes of a host share, and the device over it: not there yet, and refused.
#![allow(missing_docs, unsafe_code)] // The interface of a device.
use std::os::fd::OwnedFd;
use std::time::Duration;
use weft_transport::*;
pub struct SegmentDevice;
pub fn create(_nodes: u32) -> std::io::Result<OwnedFd> {
    Err(std::io::Error::other("not possible in this version"))
}
impl SegmentDevice {
    pub fn attach(_fd: OwnedFd, _node: u32) -> Result<Self, String> {
        Err("not possible in this version".into())
    }
}
impl Device for SegmentDevice {
    fn name(&self) -> &'static str {
        ""
    }
    fn node(&self) -> Node {
        0
    }
    fn nodes(&self) -> u32 {
        0
    }
    fn capabilities(&self, _: Node) -> Capabilities {
        Capabilities { eager: 0, remote_read: false }
    }
    fn send(&self, _: Node, _: Channel, _: &[u8], _: &[u8]) -> Result<(), Refusal> {
        Ok(())
    }
    unsafe fn start(
        &self,
        _: Node,
        _: Channel,
        _: &[u8],
        _: *const u8,
        _: u64,
        _: u64,
    ) -> Result<(), Refusal> {
        Ok(())
    }
    unsafe fn read(&self, _: Node, _: u64, _: *mut u8, _: u64) -> Result<(), Refusal> {
        Ok(())
    }
    fn poll(&self, _: &dyn Handler) -> bool {
        false
    }
    fn sleep(&self, _: Duration, _: &dyn Fn() -> bool) {}
    fn wake(&self) {}
}
