//! Creation of windows, and their end (chapter 12).

use crate::arguments::check;
use crate::attributes::values::Attributes;
use crate::communicators::communicator::{Communicator, agree_on_context};
use crate::communicators::contexts::Held;
use crate::communicators::groups;
use crate::environment::info;
use crate::environment::memory::{Block, wanted_alignment};
use crate::errors::handling::ErrorHandler;
use crate::jobs::{host_memory, nodes};
use crate::process::{Process, Ref};
use crate::windows::common::{Brought, Common};
use crate::windows::hints::{HINTS, is_true, update_hints};
use crate::windows::memory::{self, Arrangement};
use crate::windows::window::{Predefined, Window};
use core::ffi::{c_int, c_void};
use std::sync::Arc;
use weft_base::abi::{self, Aint, Count};
use weft_base::constants::*;
use weft_base::{Error, Out, Result};
use weft_sync::Lock;

fn intracommunicator(process: &'static Process, comm: abi::Comm) -> Result<Ref<'static, Communicator>> {
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
    brought: Brought,
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
        let alignment = wanted_alignment(&pairs)?;
        let mut hints = HINTS.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        update_hints(&mut hints, pairs, true);
        let gaps = is_true(&hints, "alloc_shared_noncontig");
        if flavor != MPI_WIN_FLAVOR_SHARED {
            hints.retain(|(key, _)| key != "alloc_shared_noncontig");
        }
        let no_locks = is_true(&hints, "no_locks");
        let brought = Brought { base: 0, size, unit, alignment, gaps, no_locks, place: host_memory::place() };
        Ok(Self { flavor, brought, block: None, hints })
    }

    /// Creates the window together with the other ranks.
    fn create(self, process: &'static Process, parent: &Communicator, win: Out<abi::Win>) -> Result<usize> {
        // Peers may ask for something as soon as all have agreed.
        nodes::serve_active(crate::active::SERVICES);
        nodes::active().into_iter().for_each(weft_rma::use_active);
        let context = agree_on_context(parent)?;
        let held = Held::new(context, process.world_rank);
        let values = &parent.values;
        let (rank, is_shared) = (values.rank, self.flavor == MPI_WIN_FLAVOR_SHARED);
        let are_apart = nodes::are_apart(&values.group);
        let common = Common::join(context, &values.group, self.flavor == MPI_WIN_FLAVOR_DYNAMIC);
        if are_apart {
            common.tell(parent, self.brought)?;
        } else {
            common.note(rank, self.brought);
        }
        let team = nodes::join(context, values.size(), rank, |rank| values.group.world_rank(rank));
        let Brought { mut base, size, unit, .. } = self.brought;
        let mut block = self.block;
        // Where ranks of other processes have their memory.
        let mut bases = None;
        if are_apart && (is_shared || self.flavor == MPI_WIN_FLAVOR_ALLOCATE) {
            let arranged = Arrangement::new(parent, &common, is_shared).finish()?;
            (base, block) = (arranged.bases[rank as usize], arranged.block);
            bases = Some(arranged.bases);
        } else if is_shared {
            // Where a rank's part lies depends on what all bring.
            team.barrier()?;
            base = memory::here(&common, values.size(), rank)?;
        }
        common.rma.expose(rank, base, size, unit);
        for other in (0..values.size()).filter(|_| are_apart) {
            let world_rank = values.group.world_rank(other);
            if !nodes::is_here(world_rank) {
                let Brought { mut base, size, unit, .. } = common.of(other);
                if let Some(bases) = &bases {
                    base = bases[other as usize];
                }
                common.rma.expose_elsewhere(other, nodes::node_of(world_rank), base, size, unit);
            }
        }
        team.barrier()?;
        let window = Window {
            rma: weft_rma::Window::new(common.rma.clone(), rank, self.flavor == MPI_WIN_FLAVOR_DYNAMIC),
            group: values.group.clone(),
            team,
            may_lock: common.may_lock(),
            _common: common,
            _block: block,
            error_handler: Lock::new(ErrorHandler::FATAL),
            attributes: Attributes::default(),
            name: Lock::default(),
            hints: Lock::new(self.hints),
            predefined: Predefined {
                base,
                size: size as Aint,
                unit: c_int::try_from(unit).unwrap_or(c_int::MAX),
                flavor: self.flavor,
                model: MPI_WIN_UNIFIED,
            },
            _context: held,
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
    mine.brought.base = base as usize;
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
    if !nodes::are_apart(&parent.values.group) {
        let block = Block::new(mine.brought.size, mine.brought.alignment)?;
        mine.brought.base = block.address() as usize;
        mine.block = Some(block);
    }
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

/// `MPI_Win_free`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_ARG`; `MPI_ERR_RMA_SYNC` in an epoch, and the code of an attribute's delete function, and then the
/// window stays.
pub fn win_free(win: Out<abi::Win>) -> Result {
    check::output(win, "win")?;
    let process = Process::current()?;
    let handle = win.get_at(0);
    let window = process.window(handle)?;
    window.rma.free()?;
    window.attributes.delete_all(handle.0)?;
    // Who is in another process hears only after its last call that everything is complete there.
    if window.may_lock || window.rma.shared().has_far() {
        window.team.barrier()?;
    }
    drop(window);
    process.remove_window(handle)?;
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
