//! Views: which data of a file a rank sees.

use crate::arguments::{check, strings};
use crate::datatypes::datatype::committed;
use crate::datatypes::decoding::handle_of;
use crate::environment::info;
use crate::files::call::{Call, not_negative};
use crate::files::file::agree;
use crate::files::representations::find;
use core::ffi::c_char;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use weft_base::abi::{self, Count, Offset};
use weft_base::arguments::CountOut;
use weft_base::constants::*;
use weft_base::{Error, In, Named, Out, Result};
use weft_io::View;

/// Makes the view that a call wants.
fn make(
    call: &Call,
    disp: Offset,
    etype: abi::Datatype,
    filetype: abi::Datatype,
    datarep: In<c_char>,
) -> Result<View> {
    let etype = committed(call.process, etype).named("etype")?;
    let filetype = committed(call.process, filetype).named("filetype")?;
    let is_sequential = call.file.has(MPI_MODE_SEQUENTIAL);
    let displacement = match u64::try_from(disp) {
        Ok(displacement) if !is_sequential => displacement,
        _ if is_sequential && disp == MPI_DISPLACEMENT_CURRENT => {
            let (view, etypes) = (call.file.view(), call.file.pointer.get()?);
            view.offset(etypes * view.unit()).unwrap_or(view.displacement())
        }
        _ if is_sequential => {
            let text = format!(
                "disp is {disp}; a file opened with MPI_MODE_SEQUENTIAL takes MPI_DISPLACEMENT_CURRENT"
            );
            return Err(Error::new(MPI_ERR_ARG, text));
        }
        _ => return Err(Error::new(MPI_ERR_ARG, format!("disp is {disp}; it must not be negative"))),
    };
    let representation = find(call.process, &strings::read(datarep, "datarep")?)?;
    let is_writable = !call.file.has(MPI_MODE_RDONLY);
    View::new(displacement, (*etype).clone(), (*filetype).clone(), representation, is_writable)
}

/// `MPI_File_set_view`: the individual and the shared file pointer are at the view's begin then.
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_TYPE`, `MPI_ERR_INFO`, `MPI_ERR_UNSUPPORTED_DATAREP`, at all ranks; `MPI_ERR_NOT_SAME`
/// if ranks differ in the size of the etype or in the representation.
pub fn file_set_view(
    fh: abi::File,
    disp: Offset,
    etype: abi::Datatype,
    filetype: abi::Datatype,
    datarep: In<c_char>,
    info: abi::Info,
) -> Result {
    let call = Call::new(fh)?;
    call.no_split()?;
    let pairs = info::optional(info)?;
    let file = &call.file;
    let made = make(&call, disp, etype, filetype, datarep);
    agree(&file.team, made.as_ref().map(drop).map_err(Clone::clone))?;
    let view = made?;
    let mut mine = [0; 8 + MPI_MAX_DATAREP_STRING as usize];
    let (unit, name) = (view.unit(), view.representation().name().as_bytes());
    mine[..8].copy_from_slice(&unit.to_ne_bytes());
    mine[8..8 + name.len()].copy_from_slice(name);
    let mut all = vec![0; mine.len() * file.team.size() as usize];
    file.team.allgather_bytes(&mine, &mut all)?;
    if all.chunks_exact(mine.len()).any(|other| other != mine) {
        let text = format!(
            "etype has {unit} bytes in the file, and datarep is \"{}\"; other ranks pass others",
            view.representation().name()
        );
        return Err(Error::new(MPI_ERR_NOT_SAME, text));
    }
    *file.view.lock() = Arc::new(view);
    file.position.store(0, Ordering::Release);
    file.update_hints(pairs)?;
    if file.team.rank() == 0 {
        file.pointer.set(0)?;
    }
    // Nobody uses the shared file pointer before it is where the new view begins.
    file.team.barrier()
}

/// `MPI_File_get_view`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`
pub fn file_get_view(
    fh: abi::File,
    disp: Out<Offset>,
    etype: Out<abi::Datatype>,
    filetype: Out<abi::Datatype>,
    datarep: Out<c_char>,
) -> Result {
    check::output(disp, "disp")?;
    check::output(etype, "etype")?;
    check::output(filetype, "filetype")?;
    check::output(datarep, "datarep")?;
    let call = Call::new(fh)?;
    let view = call.file.view();
    disp.set(view.displacement() as Offset);
    etype.set(handle_of(call.process, view.etype()));
    filetype.set(handle_of(call.process, view.filetype()));
    strings::write(view.representation().name(), datarep, MPI_MAX_DATAREP_STRING as usize, Out::null());
    Ok(())
}

/// `MPI_File_get_byte_offset`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_UNSUPPORTED_OPERATION`
pub fn file_get_byte_offset(fh: abi::File, offset: Offset, disp: Out<Offset>) -> Result {
    check::output(disp, "disp")?;
    let call = Call::new(fh)?;
    call.any_order()?;
    let etypes = not_negative(offset)?;
    let view = call.file.view();
    let found = etypes.checked_mul(view.unit()).and_then(|position| view.offset(position));
    let Some(found) = found else {
        let text = format!("offset is {offset}; the view has no data there");
        return Err(Error::new(MPI_ERR_ARG, text));
    };
    disp.set(found as Offset);
    Ok(())
}

/// `MPI_File_get_type_extent`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_TYPE`, `MPI_ERR_ARG`
pub fn file_get_type_extent(fh: abi::File, datatype: abi::Datatype, extent: CountOut) -> Result {
    check::count_output(extent, "extent")?;
    let call = Call::new(fh)?;
    let datatype = call.process.datatype(datatype)?;
    extent.set(call.file.view().representation().in_file(&datatype)?.extent() as Count);
    Ok(())
}
