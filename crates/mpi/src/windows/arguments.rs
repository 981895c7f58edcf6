//! What the one-sided operations have in common: the call's window and target, buffers, and checks that both sides fit.

use crate::arguments::check;
use crate::point_to_point::messages::{Data, not_committed};
use crate::process::{Process, Ref};
use crate::reports::told;
use crate::windows::window::Window;
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Aint, Count};
use weft_base::constants::*;
use weft_base::{Error, Named, Result};
use weft_datatype::Datatype;
use weft_rma::{Place, SHORT};

/// Who calls, and the window.
pub(super) struct Call {
    pub process: &'static Process,
    pub window: Ref<'static, Window>,
}

impl Call {
    #[inline]
    pub fn new(win: abi::Win) -> Result<Self> {
        let process = Process::current()?;
        Ok(Self { process, window: process.window(win)? })
    }

    /// Counts an operation that has begun, and the bytes of its data at the origin.
    #[inline(always)]
    pub fn count(&self, bytes: u64) {
        told::access(self.process.world_rank, told::number_of(&*self.window), bytes);
    }

    /// Checks a target; there is none with `MPI_PROC_NULL`.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`
    #[inline]
    pub fn rank(&self, rank: c_int, name: &str) -> Result<Option<u32>> {
        match u32::try_from(rank) {
            Ok(index) if index < self.window.group.size() => Ok(Some(index)),
            _ if rank == MPI_PROC_NULL => Ok(None),
            _ => Err(bad_rank(name, rank, self.window.group.size())),
        }
    }

    /// Returns the rank and the bytes of a short operation whose sides are so many elements of one predefined datatype without
    /// gaps: then nothing has to be looked at but where the bytes lie.
    #[inline(always)]
    pub fn plain(
        &self,
        address: *const c_void,
        (count, target_count): (Count, Count),
        (datatype, target_datatype): (abi::Datatype, abi::Datatype),
        rank: c_int,
    ) -> Option<(u32, u64)> {
        let is_same = count == target_count && datatype.0 == target_datatype.0 && !address.is_null();
        let rank = u32::try_from(rank).ok().filter(|&rank| is_same && rank < self.window.group.size())?;
        let datatype = Datatype::predefined(datatype).filter(|datatype| datatype.is_dense())?;
        let count = u64::try_from(count).ok().filter(|count| (1..=SHORT).contains(count))?;
        let bytes = count * datatype.size();
        (bytes <= SHORT).then_some((rank, bytes))
    }

    /// Checks a buffer of the origin.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`
    #[inline]
    pub fn buffer(
        &self,
        address: *const c_void,
        count: Count,
        datatype: abi::Datatype,
        names: &Names,
    ) -> Result<Data<'static>> {
        Data::new(self.process, address, count, datatype, [names.address, names.count]).named(names.datatype)
    }

    /// Checks what an operation is directed at.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT`, `MPI_ERR_TYPE`
    #[inline]
    pub fn remote(&self, disp: Aint, count: Count, datatype: abi::Datatype) -> Result<Remote<'static>> {
        let handle = datatype;
        let count = check::count(count, "target_count").named("target_count")?;
        let datatype = self.process.datatype(handle).named("target_datatype")?;
        if !matches!(datatype, Ref::Borrowed(_)) && !datatype.is_committed() {
            return Err(not_committed(handle).named("target_datatype"));
        }
        if datatype.size().checked_mul(count).is_none_or(|bytes| bytes > i64::MAX as u64) {
            let text = format!("target_count is {count}; so many elements have more than 2^63 bytes");
            return Err(Error::new(MPI_ERR_COUNT, text));
        }
        Ok(Remote { disp, count, datatype })
    }
}

#[cold]
fn bad_rank(name: &str, rank: c_int, size: u32) -> Error {
    let text = format!(
        "{name} is {}; use a rank from 0 to {} of the window, or MPI_PROC_NULL",
        check::special(rank, false),
        i64::from(size) - 1
    );
    Error::new(MPI_ERR_RANK, text)
}

/// What a procedure calls the arguments of a buffer.
pub(super) struct Names {
    pub address: &'static str,
    pub count: &'static str,
    pub datatype: &'static str,
}

pub(super) const ORIGIN: Names =
    Names { address: "origin_addr", count: "origin_count", datatype: "origin_datatype" };
pub(super) const RESULT: Names =
    Names { address: "result_addr", count: "result_count", datatype: "result_datatype" };

/// Where the data lies at the target, whichever rank that is.
pub(super) struct Remote<'a> {
    disp: Aint,
    count: u64,
    pub datatype: Ref<'a, Datatype>,
}

impl Remote<'_> {
    #[inline]
    pub fn at(&self, rank: u32) -> Place<'_> {
        Place { rank, displacement: self.disp as i64, count: self.count, datatype: &self.datatype }
    }

    /// Tells whether there is no data.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0 || self.datatype.size() == 0
    }

    /// Checks that a buffer of the origin has as much data.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE`
    #[inline]
    pub fn check_same(&self, data: &weft_rma::Data<'_>, names: &Names) -> Result {
        let bytes = self.count * self.datatype.size();
        if data.bytes() == bytes { Ok(()) } else { Err(differ(names, data.bytes(), bytes)) }
    }

    /// Checks that a buffer of the origin has the same elements, as an accumulate function combines them.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE`
    #[inline]
    pub fn check_elements(&self, data: &weft_rma::Data<'_>, names: &Names) -> Result {
        self.check_same(data, names)?;
        if self.is_empty() {
            return Ok(());
        }
        let (mine, theirs) = (data.datatype, &*self.datatype);
        match (mine.basic(), theirs.basic()) {
            (Some(one), Some(other)) if one == other => Ok(()),
            (Some(one), Some(other)) => {
                let (mine, theirs) = (one.description(), other.description());
                let are_alike =
                    (mine.repr, mine.size, mine.class) == (theirs.repr, theirs.size, theirs.class);
                if are_alike { Ok(()) } else { Err(mixed(names, one.name(), other.name())) }
            }
            (None, None) => Ok(()),
            (Some(one), None) => Err(mixed(names, one.name(), "elements of several types")),
            (None, Some(other)) => Err(mixed(names, "elements of several types", other.name())),
        }
    }
}

#[cold]
fn differ(names: &Names, mine: u64, theirs: u64) -> Error {
    let text = format!(
        "{} and {} make {mine} bytes, but target_count and target_datatype {theirs}; both must describe the same data",
        names.count, names.datatype
    );
    Error::new(MPI_ERR_TYPE, text)
}

#[cold]
fn mixed(names: &Names, mine: &str, theirs: &str) -> Error {
    let text = format!(
        "{} is made of {mine}, but target_datatype of {theirs}; both must be made of the same predefined datatype",
        names.datatype
    );
    Error::new(MPI_ERR_TYPE, text)
}
