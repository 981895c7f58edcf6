//! Operations that outlive their calls (nonblocking, persistent, and whatever has no faster blocking form).
//!
//! - `forms`: starting them whether all ranks are on one node process or not. `nonblocking`: starting those of one node process.
//! - `plan`: the schedule of an operation. `schedule`: steps and what they wait for, pure. `perform`: what the steps do.
//! - `meeting`: one execution, shared by all members; who does which step. `pending`: one rank's part in it.
//! - `light`: operations of little data, without schedule.

pub(crate) mod forms;
pub(crate) mod light;
pub(crate) mod meeting;
pub(crate) mod nonblocking;
pub(crate) mod pending;
pub(crate) mod perform;
pub(crate) mod plan;
pub(crate) mod schedule;
