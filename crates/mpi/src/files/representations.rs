//! Representations of data that the program defines.
#![allow(unsafe_code)] // Calls the program's functions.

use crate::arguments::strings;
use crate::datatypes::decoding::handle_of;
use crate::process::Process;
use core::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use weft_base::abi::{Aint, Callback, Count, Offset};
use weft_base::constants::*;
use weft_base::{Error, In, Result};
use weft_datatype::{Basic, pack, unpack};
use weft_io::{Conversion, Memory, Representation};

/// `MPI_Datarep_conversion_function`
type Convert = unsafe extern "C" fn(*mut c_void, usize, c_int, *mut c_void, Offset, *mut c_void) -> c_int;
/// `MPI_Datarep_conversion_function_c`
type ConvertLarge =
    unsafe extern "C" fn(*mut c_void, usize, Count, *mut c_void, Offset, *mut c_void) -> c_int;
/// `MPI_Datarep_extent_function`
type Extent = unsafe extern "C" fn(usize, *mut Aint, *mut c_void) -> c_int;

/// A representation that the program has defined.
struct Registered {
    name: String,
    read: usize,
    write: usize,
    extent: usize,
    extra_state: usize,
    /// Whether the functions that convert take large counts.
    is_large: bool,
}

/// Returns a representation by its name.
///
/// # Errors
/// `MPI_ERR_UNSUPPORTED_DATAREP`
pub(super) fn find(process: &Process, name: &str) -> Result<Representation> {
    match name {
        "native" => return Ok(Representation::Native),
        "internal" => return Ok(Representation::Internal),
        "external32" => return Ok(Representation::External32),
        _ => {}
    }
    let found = process.representations.lock().iter().find(|known| known.name() == name).cloned();
    found.map(Representation::User).ok_or_else(|| {
        let text = format!(
            "datarep is \"{name}\"; there are \"native\", \"internal\", \"external32\", and what MPI_Register_datarep defines"
        );
        Error::new(MPI_ERR_UNSUPPORTED_DATAREP, text)
    })
}

/// Makes the error of what one of the functions has returned.
fn check_code(code: c_int, name: &str, what: &str) -> Result {
    if code == MPI_SUCCESS {
        return Ok(());
    }
    let text = format!("the {what} function of data representation \"{name}\" returned error code {code}");
    Err(Error::new(MPI_ERR_CONVERSION, text))
}

impl Registered {
    /// Converts instances by one of the program's functions.
    fn convert(&self, function: usize, memory: &Memory, count: u64, file: &mut [u8], what: &str) -> Result {
        let process = Process::current()?;
        let datatype = handle_of(process, memory.datatype());
        let (user, file) = (memory.address().cast::<c_void>(), file.as_mut_ptr().cast::<c_void>());
        let extra_state = self.extra_state as *mut c_void;
        let code = match (self.is_large, c_int::try_from(count)) {
            // SAFETY: the user registered this address as a function of this type.
            (true, _) => unsafe {
                let function = core::mem::transmute::<usize, ConvertLarge>(function);
                function(user, datatype.0, count as Count, file, 0, extra_state)
            },
            // SAFETY: as it was registered by the plain form, the address is that of a function of this type.
            (false, Ok(count)) => unsafe {
                let function = core::mem::transmute::<usize, Convert>(function);
                function(user, datatype.0, count, file, 0, extra_state)
            },
            (false, Err(_)) => {
                let text =
                    format!("count is {count}; register the data representation by MPI_Register_datarep_c");
                return Err(Error::new(MPI_ERR_COUNT, text));
            }
        };
        if memory.datatype().named_handle().is_none() {
            // A handle of an unnamed predefined datatype stays.
            let _ = process.datatypes.remove(datatype.0);
        }
        check_code(code, &self.name, what)
    }

    /// Refuses data whose elements have other sizes in the file, where no function converts it.
    fn is_plain(&self, memory: &Memory, count: u64, file: &[u8]) -> Result {
        if memory.datatype().size() * count == file.len() as u64 {
            return Ok(());
        }
        let text = format!(
            "data representation \"{}\" has no function that converts, but other sizes in the file than in memory",
            self.name
        );
        Err(Error::new(MPI_ERR_CONVERSION, text))
    }
}

impl Conversion for Registered {
    fn name(&self) -> &str {
        &self.name
    }

    fn extent(&self, basic: Basic) -> Result<u64> {
        let mut extent: Aint = 0;
        // SAFETY: the user registered this address as a function of this type.
        let code = unsafe {
            let function = core::mem::transmute::<usize, Extent>(self.extent);
            function(basic.handle().0, &mut extent, self.extra_state as *mut c_void)
        };
        check_code(code, &self.name, "extent")?;
        u64::try_from(extent).map_err(|_| {
            let text = format!("data representation \"{}\" has an extent of {extent}", self.name);
            Error::new(MPI_ERR_CONVERSION, text)
        })
    }

    fn encode(&self, memory: &Memory, file: &mut [u8]) -> Result {
        if self.write != MPI_CONVERSION_FN_NULL {
            return self.convert(self.write, memory, memory.count(), file, "write conversion");
        }
        self.is_plain(memory, memory.count(), file)?;
        let (length, out) = (file.len() as u64, file.as_mut_ptr());
        // SAFETY: the program promises its data, and the file's bytes have as much room.
        unsafe { pack(memory.address(), memory.count(), memory.datatype(), 0, out, length) };
        Ok(())
    }

    fn decode(&self, memory: &Memory, count: u64, file: &mut [u8]) -> Result {
        if count == 0 {
            return Ok(());
        }
        if self.read != MPI_CONVERSION_FN_NULL {
            return self.convert(self.read, memory, count, file, "read conversion");
        }
        self.is_plain(memory, count, file)?;
        let (length, input) = (file.len() as u64, file.as_ptr());
        // SAFETY: the program promises its data for writes, and so much was read.
        unsafe { unpack(memory.address(), count, memory.datatype(), 0, input, length) };
        Ok(())
    }
}

fn register(
    datarep: In<c_char>,
    [read, write, extent]: [Callback; 3],
    extra_state: *mut c_void,
    is_large: bool,
) -> Result {
    let process = Process::current()?;
    let name = strings::read(datarep, "datarep")?;
    if strings::length(&name) >= MPI_MAX_DATAREP_STRING as usize {
        let text = format!("datarep has more than {} characters", MPI_MAX_DATAREP_STRING - 1);
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    if extent.is_null() {
        return Err(Error::new(MPI_ERR_ARG, "dtype_file_extent_fn is a null pointer; pass a function"));
    }
    if find(process, &name).is_ok() {
        let text = format!("datarep is \"{name}\", which is there already; choose another name");
        return Err(Error::new(MPI_ERR_DUP_DATAREP, text));
    }
    let (read, write, extent) = (read as usize, write as usize, extent as usize);
    let registered = Registered { name, read, write, extent, extra_state: extra_state as usize, is_large };
    process.representations.lock().push(Arc::new(registered));
    Ok(())
}

/// `MPI_Register_datarep`
///
/// # Errors
/// `MPI_ERR_ARG`, `MPI_ERR_DUP_DATAREP`
pub fn register_datarep(
    datarep: In<c_char>,
    read_conversion_fn: Callback,
    write_conversion_fn: Callback,
    dtype_file_extent_fn: Callback,
    extra_state: *mut c_void,
) -> Result {
    let functions = [read_conversion_fn, write_conversion_fn, dtype_file_extent_fn];
    register(datarep, functions, extra_state, false)
}

/// `MPI_Register_datarep_c`
///
/// # Errors
/// As [`register_datarep`].
pub fn register_datarep_c(
    datarep: In<c_char>,
    read_conversion_fn: Callback,
    write_conversion_fn: Callback,
    dtype_file_extent_fn: Callback,
    extra_state: *mut c_void,
) -> Result {
    let functions = [read_conversion_fn, write_conversion_fn, dtype_file_extent_fn];
    register(datarep, functions, extra_state, true)
}
