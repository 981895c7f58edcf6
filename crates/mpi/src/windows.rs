//! Windows (chapter 13): their creation, hints and shared memory. No data moves through them yet.

use crate::arguments::check;
use crate::attributes::values::Attributes;
use crate::communicators::communicator::{Communicator, agree_on_context};
use crate::communicators::contexts::Held;
use crate::communicators::groups;
use crate::environment::info::{self, Info};
use crate::environment::memory::{self, Block};
use crate::environment::memory_kinds;
use crate::errors::handling::ErrorHandler;
use crate::process::Process;
use core::ffi::{c_int, c_void};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use weft_base::abi::{self, Aint, Count};
use weft_base::arguments::CountOut;
use weft_base::constants::*;
use weft_base::{Error, Out, Result};
use weft_coll::Team;
use weft_comm::Group;
use weft_sync::Lock;

/// The memory one rank has in a window.
#[derive(Clone, Copy)]
struct Segment {
    /// Its address; for shared windows 0 until the block is there.
    base: usize,
    size: usize,
    unit: Count,
    /// What the rank wants its shared memory aligned to.
    alignment: usize,
    /// Whether the rank allows gaps between the shared memory of ranks.
    gaps: bool,
    /// Whether the rank promised not to lock.
    no_locks: bool,
}

/// What the ranks of a window share: the segments of all, by rank.
struct Segments {
    entries: Box<[OnceLock<Segment>]>,
    /// The memory of a shared window; the first rank that needs it allocates it.
    block: OnceLock<Result<Block>>,
}

impl Segments {
    /// Finds what the ranks of the window with a context number share, or creates it.
    fn join(context: u32, ranks: u32) -> Arc<Self> {
        static LIVE: Lock<Option<HashMap<u32, Weak<Segments>>>> = Lock::new(None);
        let mut live = LIVE.lock();
        let live = live.get_or_insert_default();
        if let Some(found) = live.get(&context).and_then(Weak::upgrade) {
            return found;
        }
        live.retain(|_, segments| segments.strong_count() > 0);
        let entries = (0..ranks).map(|_| OnceLock::new()).collect();
        let created = Arc::new(Self { entries, block: OnceLock::new() });
        live.insert(context, Arc::downgrade(&created));
        created
    }

    /// Tells the other ranks, wherever they are, of the calling rank's segment, and notes theirs.
    fn tell(&self, parent: &Communicator, mine: Segment) -> Result {
        let Segment { base, size, unit, alignment, gaps, no_locks } = mine;
        let flags = usize::from(gaps) | usize::from(no_locks) << 1;
        let words = [base, size, unit as usize, alignment, flags].map(usize::to_ne_bytes);
        let mut all = vec![0; size_of_val(&words) * self.entries.len()];
        parent.team.allgather_bytes(words.as_flattened(), &mut all)?;
        for (entry, told) in self.entries.iter().zip(all.chunks_exact(size_of_val(&words))) {
            let word = |at: usize| usize::from_ne_bytes(told[8 * at..][..8].try_into().expect("eight bytes"));
            let (gaps, no_locks) = (word(4) & 1 != 0, word(4) & 2 != 0);
            let (base, size, unit, alignment) = (word(0), word(1), word(2) as Count, word(3));
            let _ = entry.set(Segment { base, size, unit, alignment, gaps, no_locks });
        }
        Ok(())
    }

    /// Returns the segment of a rank.
    fn of(&self, rank: usize) -> Segment {
        *self.entries[rank].get().expect("told when the window was created")
    }

    /// Returns where a rank's part of the shared block begins, and the size of the whole.
    fn layout(&self, rank: usize) -> (usize, usize, usize) {
        let alignment = (0..self.entries.len()).map(|r| self.of(r).alignment).max().unwrap_or(1);
        let gaps = self.of(0).gaps;
        let (mut offset, mut total) = (0, 0usize);
        for r in 0..self.entries.len() {
            if r == rank {
                offset = total;
            }
            let size = self.of(r).size;
            total = total.saturating_add(if gaps { size.next_multiple_of(alignment) } else { size });
        }
        (offset, total, alignment)
    }

    /// Returns where a rank's part of the shared block lies.
    fn shared_base(&self, rank: usize) -> Result<usize> {
        let (offset, total, alignment) = self.layout(rank);
        match self.block.get_or_init(|| Block::new(total, alignment)) {
            Ok(block) => Ok(block.address() as usize + offset),
            Err(error) => Err(error.clone()),
        }
    }
}

/// A window as the library keeps it for one rank.
pub struct Window {
    /// Its ranks.
    pub group: Group,
    team: Team,
    segments: Arc<Segments>,
    /// The memory of `MPI_Win_allocate`.
    _block: Option<Block>,
    pub(crate) error_handler: Lock<ErrorHandler>,
    /// What the user has cached on it.
    pub attributes: Attributes,
    pub(crate) name: Lock<String>,
    hints: Lock<Vec<(String, String)>>,
    attached: Lock<Vec<(usize, usize)>>,
    predefined: Predefined,
    /// Let go last: the number of the team's context.
    _context: Held,
}

/// The values of the predefined attributes; the program gets their addresses.
struct Predefined {
    base: usize,
    size: Aint,
    unit: c_int,
    flavor: c_int,
    model: c_int,
}

/// The hints that are reported, with their defaults.
const HINTS: [(&str, &str); 7] = [
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("mpi_accumulate_granularity", "0"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
    ("alloc_shared_noncontig", "false"),
];

/// Tells whether a hint has a value that means something.
fn is_recognised(key: &str, value: &str) -> bool {
    match key {
        "accumulate_ordering" => {
            value == "none" || value.split(',').all(|o| ["rar", "raw", "war", "waw"].contains(&o.trim()))
        }
        "accumulate_ops" => ["same_op", "same_op_no_op"].contains(&value),
        "mpi_accumulate_granularity" => value.trim_start_matches('+').parse::<u64>().is_ok(),
        memory_kinds::ASSERT_KEY => memory_kinds::is_recognised(value),
        _ => ["true", "false"].contains(&value) && HINTS.iter().any(|(known, _)| *known == key),
    }
}

fn update_hints(hints: &mut Vec<(String, String)>, pairs: Vec<(String, String)>, creation: bool) {
    const FIXED: [&str; 4] = ["no_locks", "same_size", "same_disp_unit", "alloc_shared_noncontig"];
    for (key, value) in pairs {
        if !is_recognised(&key, value.trim_matches(' ')) || !creation && FIXED.contains(&key.as_str()) {
            continue;
        }
        match hints.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => hints.push((key, value)),
        }
    }
}

fn is_true(hints: &[(String, String)], key: &str) -> bool {
    hints.iter().any(|(known, value)| known == key && value.trim_matches(' ') == "true")
}

impl Window {
    /// Returns the address of a predefined attribute's value; of the memory itself for the base.
    pub(crate) fn predefined_attribute(&self, keyval: c_int) -> Option<*mut c_void> {
        let values = &self.predefined;
        let address = match keyval {
            MPI_WIN_BASE => return Some(values.base as *mut c_void),
            MPI_WIN_SIZE => (&raw const values.size).cast::<c_void>(),
            MPI_WIN_DISP_UNIT => (&raw const values.unit).cast(),
            MPI_WIN_CREATE_FLAVOR => (&raw const values.flavor).cast(),
            MPI_WIN_MODEL => (&raw const values.model).cast(),
            _ => return None,
        };
        Some(address.cast_mut())
    }

    /// Returns what reports call it.
    pub(crate) fn title(&self) -> String {
        let name = self.name.lock().clone();
        if name.is_empty() { format!("a window of {} ranks", self.group.size()) } else { name }
    }
}

fn intracommunicator(
    process: &'static Process,
    comm: abi::Comm,
) -> Result<crate::process::Ref<'static, Communicator>> {
    let parent = process.communicator(comm)?;
    if parent.values.remote.is_some() {
        return Err(Error::new(
            MPI_ERR_COMM,
            "comm is an intercommunicator; windows need an intracommunicator",
        ));
    }
    Ok(parent)
}

/// What a rank brings to a new window.
struct Contribution {
    flavor: c_int,
    segment: Segment,
    block: Option<Block>,
    hints: Vec<(String, String)>,
}

impl Contribution {
    fn new(flavor: c_int, size: Aint, unit: Count, info: abi::Info) -> Result<Self> {
        let pairs = info::optional(info)?;
        let Ok(size) = usize::try_from(size) else {
            return Err(Error::new(MPI_ERR_SIZE, format!("size is {size}; it must not be negative")));
        };
        if unit <= 0 {
            return Err(Error::new(MPI_ERR_DISP, format!("disp_unit is {unit}; it must be positive")));
        }
        let alignment = memory::wanted_alignment(&pairs)?;
        let mut hints = HINTS.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        update_hints(&mut hints, pairs, true);
        let gaps = is_true(&hints, "alloc_shared_noncontig");
        if flavor != MPI_WIN_FLAVOR_SHARED {
            hints.retain(|(key, _)| key != "alloc_shared_noncontig");
        }
        let no_locks = is_true(&hints, "no_locks");
        let segment = Segment { base: 0, size, unit, alignment, gaps, no_locks };
        Ok(Self { flavor, segment, block: None, hints })
    }

    /// Creates the window together with the other ranks.
    fn create(self, process: &'static Process, parent: &Communicator, win: Out<abi::Win>) -> Result<usize> {
        let context = agree_on_context(parent)?;
        let values = &parent.values;
        let is_shared = self.flavor == MPI_WIN_FLAVOR_SHARED;
        let segments = Segments::join(context, values.size());
        segments.tell(parent, self.segment)?;
        if is_shared && crate::jobs::nodes::are_apart(&values.group) {
            let text = "comm has ranks in several processes, which share no windows in this version; split it with \
                        MPI_COMM_TYPE_SHARED, or run the ranks as threads";
            return Err(Error::new(MPI_ERR_RMA_SHARED, text));
        }
        let team = crate::jobs::nodes::join(context, values.size(), values.rank, |rank| {
            values.group.world_rank(rank)
        });
        team.barrier()?;
        let base = match self.flavor {
            MPI_WIN_FLAVOR_SHARED => segments.shared_base(values.rank as usize)?,
            _ => self.segment.base,
        };
        let window = Window {
            group: values.group.clone(),
            team,
            segments,
            _block: self.block,
            error_handler: Lock::new(ErrorHandler::FATAL),
            attributes: Attributes::default(),
            name: Lock::default(),
            hints: Lock::new(self.hints),
            attached: Lock::default(),
            predefined: Predefined {
                base,
                size: self.segment.size as Aint,
                unit: c_int::try_from(self.segment.unit).unwrap_or(c_int::MAX),
                flavor: self.flavor,
                model: MPI_WIN_UNIFIED,
            },
            _context: Held::new(context, process.world_rank),
        };
        win.set(abi::Win(process.windows.insert(Arc::new(window))));
        Ok(base)
    }
}

/// `MPI_Win_create`: `base` has `size` bytes and stays the program's.
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_INFO`, `MPI_ERR_SIZE`, `MPI_ERR_DISP`, `MPI_ERR_BUFFER`, `MPI_ERR_ARG`
pub fn win_create(
    base: *mut c_void,
    size: Aint,
    disp_unit: Count,
    info: abi::Info,
    comm: abi::Comm,
    win: Out<abi::Win>,
) -> Result {
    check::output(win, "win")?;
    let process = Process::current()?;
    let parent = intracommunicator(process, comm)?;
    let mut mine = Contribution::new(MPI_WIN_FLAVOR_CREATE, size, disp_unit, info)?;
    if base.is_null() && size > 0 {
        let text = format!("base is a null pointer but size is {size}");
        return Err(Error::new(MPI_ERR_BUFFER, text));
    }
    mine.segment.base = base as usize;
    mine.create(process, &parent, win)?;
    Ok(())
}

/// `MPI_Win_allocate`: `baseptr` is the address of a pointer variable. The memory lives as long as the window.
///
/// # Errors
/// As [`win_create`]; `MPI_ERR_INFO_VALUE`, `MPI_ERR_NO_MEM`
pub fn win_allocate(
    size: Aint,
    disp_unit: Count,
    info: abi::Info,
    comm: abi::Comm,
    baseptr: *mut c_void,
    win: Out<abi::Win>,
) -> Result {
    check::output(win, "win")?;
    let baseptr = check::pointer_output(baseptr, "baseptr")?;
    let process = Process::current()?;
    let parent = intracommunicator(process, comm)?;
    let mut mine = Contribution::new(MPI_WIN_FLAVOR_ALLOCATE, size, disp_unit, info)?;
    let block = Block::new(mine.segment.size, mine.segment.alignment)?;
    mine.segment.base = block.address() as usize;
    mine.block = Some(block);
    baseptr.set(mine.create(process, &parent, win)? as *mut c_void);
    Ok(())
}

/// `MPI_Win_allocate_shared`: the memory of all ranks follows each other in rank order, unless the info key
/// `alloc_shared_noncontig` permits gaps.
///
/// # Errors
/// As [`win_allocate`].
pub fn win_allocate_shared(
    size: Aint,
    disp_unit: Count,
    info: abi::Info,
    comm: abi::Comm,
    baseptr: *mut c_void,
    win: Out<abi::Win>,
) -> Result {
    check::output(win, "win")?;
    let baseptr = check::pointer_output(baseptr, "baseptr")?;
    let process = Process::current()?;
    let parent = intracommunicator(process, comm)?;
    let mine = Contribution::new(MPI_WIN_FLAVOR_SHARED, size, disp_unit, info)?;
    baseptr.set(mine.create(process, &parent, win)? as *mut c_void);
    Ok(())
}

/// `MPI_Win_create_dynamic`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_INFO`, `MPI_ERR_ARG`
pub fn win_create_dynamic(info: abi::Info, comm: abi::Comm, win: Out<abi::Win>) -> Result {
    check::output(win, "win")?;
    let process = Process::current()?;
    let parent = intracommunicator(process, comm)?;
    Contribution::new(MPI_WIN_FLAVOR_DYNAMIC, 0, 1, info)?.create(process, &parent, win)?;
    Ok(())
}

fn dynamic(win: abi::Win) -> Result<Arc<Window>> {
    let window = Process::current()?.window(win)?;
    if window.predefined.flavor == MPI_WIN_FLAVOR_DYNAMIC {
        return Ok(window);
    }
    Err(Error::new(MPI_ERR_RMA_FLAVOR, "win was not created by MPI_Win_create_dynamic"))
}

/// `MPI_Win_attach`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_SIZE`, `MPI_ERR_RMA_FLAVOR`; `MPI_ERR_RMA_ATTACH` for memory that is attached already.
pub fn win_attach(win: abi::Win, base: *mut c_void, size: Aint) -> Result {
    let window = dynamic(win)?;
    let Ok(size) = usize::try_from(size) else {
        return Err(Error::new(MPI_ERR_SIZE, format!("size is {size}; it must not be negative")));
    };
    let start = base as usize;
    let Some(end) = start.checked_add(size).filter(|_| start != 0 || size == 0) else {
        return Err(Error::new(MPI_ERR_BUFFER, format!("base is {base:?}; there are no {size} bytes")));
    };
    let mut attached = window.attached.lock();
    if let Some((old, length)) = attached.iter().find(|&&(old, length)| start < old + length && old < end) {
        let text = format!("{size} bytes at {base:?} overlap {length} bytes attached at {old:#x}");
        return Err(Error::new(MPI_ERR_RMA_ATTACH, text));
    }
    attached.push((start, size));
    Ok(())
}

/// `MPI_Win_detach`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_RMA_FLAVOR`; `MPI_ERR_BASE` for an address at which nothing is attached.
pub fn win_detach(win: abi::Win, base: *const c_void) -> Result {
    let window = dynamic(win)?;
    let mut attached = window.attached.lock();
    match attached.iter().position(|&(start, _)| start == base as usize) {
        Some(index) => {
            attached.swap_remove(index);
            Ok(())
        }
        None => Err(Error::new(MPI_ERR_BASE, format!("nothing is attached at {base:?}"))),
    }
}

/// `MPI_Win_free`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_ARG`; the code of an attribute's delete function, and then the window stays.
pub fn win_free(win: Out<abi::Win>) -> Result {
    check::output(win, "win")?;
    let process = Process::current()?;
    let handle = win.get_at(0);
    let window = process.window(handle)?;
    window.attributes.delete_all(handle.0)?;
    // Hints may differ between ranks, but all must agree whether to wait.
    let waits = (0..window.group.size()).any(|rank| !window.segments.of(rank as usize).no_locks);
    if waits {
        window.team.barrier()?;
    }
    process.windows.remove(handle.0)?;
    win.set(MPI_WIN_NULL);
    Ok(())
}

/// `MPI_Win_get_group`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_ARG`
pub fn win_get_group(win: abi::Win, group: Out<abi::Group>) -> Result {
    check::output(group, "group")?;
    let process = Process::current()?;
    groups::give(process, process.window(win)?.group.clone(), group);
    Ok(())
}

/// `MPI_Win_set_info`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_INFO`
pub fn win_set_info(win: abi::Win, info: abi::Info) -> Result {
    let window = Process::current()?.window(win)?;
    update_hints(&mut window.hints.lock(), info::optional(info)?, false);
    Ok(())
}

/// `MPI_Win_get_info`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_ARG`
pub fn win_get_info(win: abi::Win, info_used: Out<abi::Info>) -> Result {
    check::output(info_used, "info_used")?;
    let process = Process::current()?;
    let window = process.window(win)?;
    let mut pairs = window.hints.lock().clone();
    pairs.push((memory_kinds::KEY.into(), memory_kinds::of_origin(process, window.group.origin())));
    info_used.set(abi::Info(process.infos.insert(Arc::new(Info::new(pairs)))));
    Ok(())
}

/// `MPI_Win_shared_query`: `baseptr` is the address of a pointer variable. All windows but dynamic ones are shared.
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_RANK`, `MPI_ERR_ARG`; `MPI_ERR_RMA_FLAVOR` for a dynamic window.
pub fn win_shared_query(
    win: abi::Win,
    rank: c_int,
    size: Out<Aint>,
    disp_unit: CountOut,
    baseptr: *mut c_void,
) -> Result {
    check::output(size, "size")?;
    let baseptr = check::pointer_output(baseptr, "baseptr")?;
    if disp_unit.is_null() {
        return Err(Error::new(MPI_ERR_ARG, "disp_unit is a null pointer; pass the address of a variable"));
    }
    let window = Process::current()?.window(win)?;
    if window.predefined.flavor == MPI_WIN_FLAVOR_DYNAMIC {
        return Err(Error::new(MPI_ERR_RMA_FLAVOR, "win was created by MPI_Win_create_dynamic"));
    }
    let ranks = window.group.size() as usize;
    let rank = match usize::try_from(rank) {
        Ok(rank) if rank < ranks => rank,
        // The first rank with memory, if there is one.
        _ if rank == MPI_PROC_NULL => (0..ranks).find(|&r| window.segments.of(r).size > 0).unwrap_or(0),
        _ => {
            let text = format!("rank is {rank}; use a rank from 0 to {}, or MPI_PROC_NULL", ranks - 1);
            return Err(Error::new(MPI_ERR_RANK, text));
        }
    };
    let segment = window.segments.of(rank);
    let base = match window.predefined.flavor {
        MPI_WIN_FLAVOR_SHARED => window.segments.shared_base(rank)?,
        _ => segment.base,
    };
    size.set(segment.size as Aint);
    disp_unit.set(segment.unit);
    baseptr.set(base as *mut c_void);
    Ok(())
}
