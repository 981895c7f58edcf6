//! Sources of events. All have the clock that `MPI_Wtime` reads, in nanoseconds.

use crate::tools::events::no_hints;
use crate::tools::state::{index, initialized};
use crate::tools::strings;
use core::ffi::{c_char, c_int};
use weft_base::constants::MPI_T_SOURCE_ORDERED;
use weft_base::tools::events::Source;
use weft_base::{Out, Result, abi};

const TICKS_PER_SECOND: abi::Count = 1_000_000_000;

fn find(source_index: c_int) -> Result<Source> {
    Ok(Source::ALL[index(source_index, Source::ALL.len(), "source_index")?])
}

/// `MPI_T_source_get_num`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID`
pub fn t_source_get_num(num_sources: Out<c_int>) -> Result {
    initialized()?;
    strings::output(num_sources, "num_sources")?;
    num_sources.set(Source::ALL.len() as c_int);
    Ok(())
}

/// `MPI_T_source_get_info`: what a source has to tell a rank is told in the order of time.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID`
#[allow(clippy::too_many_arguments)]
pub fn t_source_get_info(
    source_index: c_int,
    name: Out<c_char>,
    name_len: Out<c_int>,
    desc: Out<c_char>,
    desc_len: Out<c_int>,
    ordering: Out<c_int>,
    ticks_per_second: Out<abi::Count>,
    max_ticks: Out<abi::Count>,
    info: Out<abi::Info>,
) -> Result {
    initialized()?;
    let source = find(source_index)?;
    strings::give(source.name(), name, name_len, "name")?;
    strings::give(source.help(), desc, desc_len, "desc")?;
    ordering.set(MPI_T_SOURCE_ORDERED);
    ticks_per_second.set(TICKS_PER_SECOND);
    max_ticks.set(abi::Count::MAX);
    if !info.is_null() {
        no_hints(info, "info")?;
    }
    Ok(())
}

/// `MPI_T_source_get_timestamp`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID`
pub fn t_source_get_timestamp(source_index: c_int, timestamp: Out<abi::Count>) -> Result {
    initialized()?;
    find(source_index)?;
    strings::output(timestamp, "timestamp")?;
    timestamp.set(weft_sys::clock::now_ns() as abi::Count);
    Ok(())
}
