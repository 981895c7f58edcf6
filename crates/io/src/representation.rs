//! How data is represented in a file.
#![allow(unsafe_code)] // Converts the program's data in place.

use crate::in_file::in_file;
use crate::memory::Memory;
use std::borrow::Cow;
use std::sync::Arc;
use weft_base::Result;
use weft_datatype::{Basic, Datatype, pack, pack_external, unpack, unpack_external};

/// A representation of the program's own. Its functions are called by threads of the rank that has given them only.
pub trait Conversion: Send + Sync {
    /// Returns its name.
    fn name(&self) -> &str;
    /// Returns the bytes that an element takes in the file.
    ///
    /// # Errors
    /// What the program's function returns.
    fn extent(&self, basic: Basic) -> Result<u64>;
    /// Converts data to what the file has, one element behind the other.
    ///
    /// # Errors
    /// What the program's function returns.
    fn encode(&self, memory: &Memory, file: &mut [u8]) -> Result;
    /// Converts as many instances from what the file has.
    ///
    /// # Errors
    /// What the program's function returns.
    fn decode(&self, memory: &Memory, count: u64, file: &mut [u8]) -> Result;
}

/// How data is represented in a file.
#[derive(Clone)]
pub enum Representation {
    /// As in memory.
    Native,
    /// As any process of this library understands it: as in memory, too.
    Internal,
    /// The standard's own.
    External32,
    /// The program's.
    User(Arc<dyn Conversion>),
}

impl Representation {
    /// Returns its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Native => "native",
            Self::Internal => "internal",
            Self::External32 => "external32",
            Self::User(conversion) => conversion.name(),
        }
    }

    /// Tells whether data is in the file as in memory.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Native | Self::Internal)
    }

    /// Tells whether converting calls the program's functions.
    pub fn is_user(&self) -> bool {
        matches!(self, Self::User(_))
    }

    /// Returns the datatype of the same data in the file.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` if it gets too large; what the program's function returns.
    pub fn in_file<'a>(&self, datatype: &'a Datatype) -> Result<Cow<'a, Datatype>> {
        match self {
            Self::Native | Self::Internal => Ok(Cow::Borrowed(datatype)),
            Self::External32 => in_file(datatype, &mut |basic| Ok(basic.external_size())).map(Cow::Owned),
            Self::User(conversion) => {
                in_file(datatype, &mut |basic| conversion.extent(basic)).map(Cow::Owned)
            }
        }
    }

    /// Returns data as it is in the file, where that takes so many bytes.
    pub(crate) fn encode(&self, memory: &Memory, bytes: usize) -> Result<Vec<u8>> {
        let mut file = vec![0; bytes];
        match self {
            Self::User(conversion) => conversion.encode(memory, &mut file)?,
            _ => {
                assert_eq!(memory.datatype().external_size() * memory.count(), bytes as u64);
                // SAFETY: `Memory` was promised its data; there is room for its external form.
                unsafe {
                    pack_external(memory.address(), memory.count(), memory.datatype(), file.as_mut_ptr())
                };
            }
        }
        Ok(file)
    }

    /// Takes data as it is in the file, which has so many bytes an instance; of the last one perhaps not all. In "external32" its
    /// whole elements are taken; otherwise nothing of it. Returns how many bytes of the data were.
    pub(crate) fn decode(&self, memory: &Memory, file: &mut [u8], size: u64) -> Result<u64> {
        let count = (file.len() as u64).checked_div(size).unwrap_or(0);
        let taken = count * memory.datatype().size();
        match self {
            Self::User(conversion) => {
                conversion.decode(memory, count, file)?;
                Ok(taken)
            }
            _ => {
                // SAFETY: `Memory` was promised its data; the file's bytes are those of so many instances.
                unsafe { unpack_external(memory.address(), count, memory.datatype(), file.as_ptr()) };
                let rest = &file[(count * size) as usize..];
                Ok(taken + if rest.is_empty() { 0 } else { decode_part(memory, count, rest, size) })
            }
        }
    }
}

/// Takes the whole elements of a part of an instance in "external32".
fn decode_part(memory: &Memory, index: u64, part: &[u8], size: u64) -> u64 {
    let datatype = memory.datatype();
    let (mut left, mut native, mut is_over) = (part.len() as u64, 0, false);
    datatype.for_each_basic(1, &mut |basic, number| {
        let whole = if is_over { 0 } else { number.min(left / basic.external_size().max(1)) };
        left -= whole * basic.external_size();
        native += whole * basic.size();
        is_over |= whole < number;
    });
    let mut all = part.to_vec();
    all.resize(size as usize, 0);
    let address = memory.address().wrapping_offset((datatype.extent() * index as i64) as isize);
    let mut before = vec![0; datatype.size() as usize];
    let length = before.len() as u64;
    // SAFETY: `Memory` was promised the instance, and the buffers are as long as its forms. What the file does not have gets back
    // what was there.
    unsafe {
        pack(address, 1, datatype, 0, before.as_mut_ptr(), length);
        unpack_external(address, 1, datatype, all.as_ptr());
        unpack(address, 1, datatype, native, before[native as usize..].as_ptr(), length - native);
    }
    native
}
