//! The predefined datatypes of the ABI: their handles, names, C (or gfortran) sizes, alignments and classes.
//!
//! Predefined handles lie in `0x200..0x300`, so the low byte of a handle is its index in a table.

use weft_base::abi;
use weft_base::constants as c;

/// The machine representation of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Repr {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    /// IEEE binary16.
    F16,
    F32,
    F64,
    /// C `long double`: x87 extended on x86-64 (16 bytes, 10 used), IEEE binary128 on aarch64.
    LongDouble,
    /// IEEE binary128.
    F128,
    /// Uninterpreted bytes.
    Opaque,
}

/// The groups of the standard's table of predefined reduction operations, and the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Class {
    CInteger,
    FortranInteger,
    Floating,
    Logical,
    Complex,
    Byte,
    MultiLanguage,
    /// A value followed by an index: the operand of `MPI_MINLOC` and `MPI_MAXLOC`.
    Pair,
    /// A character, or `MPI_PACKED`: no operation is defined on it.
    None,
}

/// What is known of a predefined datatype.
#[derive(Debug)]
pub struct Description {
    /// The name of the standard, `MPI_INT`.
    pub name: &'static str,
    /// Its handle.
    pub handle: abi::Datatype,
    /// Bytes of data.
    pub size: u8,
    /// Required alignment.
    pub align: u8,
    /// Group for reductions.
    pub class: Class,
    /// Representation (of one part for complex types, of the value for pairs).
    pub repr: Repr,
}

/// A predefined datatype as a small number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "u8")]
pub struct Basic(u8);

impl TryFrom<u8> for Basic {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        TABLE[usize::from(number)].as_ref().map(|_| Self(number)).ok_or("no predefined datatype")
    }
}

impl Basic {
    /// Returns the basic type of a predefined handle.
    #[inline]
    pub fn from_handle(handle: abi::Datatype) -> Option<Self> {
        if handle.0 & !0xff == 0x200 && TABLE[handle.0 & 0xff].is_some() {
            Some(Self(handle.0 as u8))
        } else {
            None
        }
    }

    /// Returns the index of the type in tables of 256 entries (the low byte of its handle).
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Returns the description.
    pub fn description(self) -> &'static Description {
        TABLE[self.index()].as_ref().expect("a Basic always names a table entry")
    }

    /// Returns the name of the standard.
    pub fn name(self) -> &'static str {
        self.description().name
    }

    /// Returns the handle.
    pub fn handle(self) -> abi::Datatype {
        self.description().handle
    }

    /// Returns the number of data bytes.
    pub fn size(self) -> u64 {
        u64::from(self.description().size)
    }

    /// Returns the value and index parts of a pair type with the displacement of the index.
    pub fn pair(self) -> Option<(Basic, Basic, i64)> {
        let (value, index, displacement) = match self.handle() {
            c::MPI_FLOAT_INT => (c::MPI_FLOAT, c::MPI_INT, 4),
            c::MPI_DOUBLE_INT => (c::MPI_DOUBLE, c::MPI_INT, 8),
            c::MPI_LONG_INT => (c::MPI_LONG, c::MPI_INT, 8),
            c::MPI_2INT => (c::MPI_INT, c::MPI_INT, 4),
            c::MPI_SHORT_INT => (c::MPI_SHORT, c::MPI_INT, 4),
            c::MPI_LONG_DOUBLE_INT => (c::MPI_LONG_DOUBLE, c::MPI_INT, 16),
            c::MPI_2REAL => (c::MPI_REAL, c::MPI_REAL, 4),
            c::MPI_2DOUBLE_PRECISION => (c::MPI_DOUBLE_PRECISION, c::MPI_DOUBLE_PRECISION, 8),
            c::MPI_2INTEGER => (c::MPI_INTEGER, c::MPI_INTEGER, 4),
            _ => return None,
        };
        Some((Self::from_handle(value)?, Self::from_handle(index)?, displacement))
    }

    /// Lists every predefined datatype.
    pub fn all() -> impl Iterator<Item = Basic> {
        (0..=255u8).filter(|&i| TABLE[usize::from(i)].is_some()).map(Basic)
    }
}

impl std::fmt::Debug for Basic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! table {
    ($($name:ident $size:literal $align:literal $class:ident $repr:ident;)*) => {{
        let mut table = [const { None }; 256];
        $(table[c::$name.0 & 0xff] = Some(Description {
            name: stringify!($name),
            handle: c::$name,
            size: $size,
            align: $align,
            class: Class::$class,
            repr: Repr::$repr,
        });)*
        table
    }};
}

static TABLE: [Option<Description>; 256] = table! {
    MPI_AINT 8 8 MultiLanguage I64;
    MPI_COUNT 8 8 MultiLanguage I64;
    MPI_OFFSET 8 8 MultiLanguage I64;
    MPI_PACKED 1 1 None Opaque;
    MPI_SHORT 2 2 CInteger I16;
    MPI_INT 4 4 CInteger I32;
    MPI_LONG 8 8 CInteger I64;
    MPI_LONG_LONG 8 8 CInteger I64;
    MPI_UNSIGNED_SHORT 2 2 CInteger U16;
    MPI_UNSIGNED 4 4 CInteger U32;
    MPI_UNSIGNED_LONG 8 8 CInteger U64;
    MPI_UNSIGNED_LONG_LONG 8 8 CInteger U64;
    MPI_FLOAT 4 4 Floating F32;
    MPI_DOUBLE 8 8 Floating F64;
    MPI_LONG_DOUBLE 16 16 Floating LongDouble;
    MPI_C_FLOAT_COMPLEX 8 4 Complex F32;
    MPI_C_DOUBLE_COMPLEX 16 8 Complex F64;
    MPI_C_LONG_DOUBLE_COMPLEX 32 16 Complex LongDouble;
    MPI_CXX_FLOAT_COMPLEX 8 4 Complex F32;
    MPI_CXX_DOUBLE_COMPLEX 16 8 Complex F64;
    MPI_CXX_LONG_DOUBLE_COMPLEX 32 16 Complex LongDouble;
    MPI_C_BOOL 1 1 Logical U8;
    MPI_CXX_BOOL 1 1 Logical U8;
    MPI_WCHAR 4 4 None I32;
    MPI_INT8_T 1 1 CInteger I8;
    MPI_UINT8_T 1 1 CInteger U8;
    MPI_CHAR 1 1 None I8;
    MPI_SIGNED_CHAR 1 1 CInteger I8;
    MPI_UNSIGNED_CHAR 1 1 CInteger U8;
    MPI_BYTE 1 1 Byte U8;
    MPI_INT16_T 2 2 CInteger I16;
    MPI_UINT16_T 2 2 CInteger U16;
    MPI_INT32_T 4 4 CInteger I32;
    MPI_UINT32_T 4 4 CInteger U32;
    MPI_INT64_T 8 8 CInteger I64;
    MPI_UINT64_T 8 8 CInteger U64;
    MPI_LOGICAL 4 4 Logical I32;
    MPI_INTEGER 4 4 FortranInteger I32;
    MPI_REAL 4 4 Floating F32;
    MPI_COMPLEX 8 4 Complex F32;
    MPI_DOUBLE_PRECISION 8 8 Floating F64;
    MPI_DOUBLE_COMPLEX 16 8 Complex F64;
    MPI_CHARACTER 1 1 None I8;
    MPI_LOGICAL1 1 1 Logical I8;
    MPI_LOGICAL2 2 2 Logical I16;
    MPI_LOGICAL4 4 4 Logical I32;
    MPI_LOGICAL8 8 8 Logical I64;
    MPI_LOGICAL16 16 16 Logical I128;
    MPI_INTEGER1 1 1 FortranInteger I8;
    MPI_INTEGER2 2 2 FortranInteger I16;
    MPI_INTEGER4 4 4 FortranInteger I32;
    MPI_INTEGER8 8 8 FortranInteger I64;
    MPI_INTEGER16 16 16 FortranInteger I128;
    MPI_REAL2 2 2 Floating F16;
    MPI_REAL4 4 4 Floating F32;
    MPI_REAL8 8 8 Floating F64;
    MPI_REAL16 16 16 Floating F128;
    MPI_COMPLEX4 4 2 Complex F16;
    MPI_COMPLEX8 8 4 Complex F32;
    MPI_COMPLEX16 16 8 Complex F64;
    MPI_COMPLEX32 32 16 Complex F128;
    MPI_FLOAT_INT 8 4 Pair F32;
    MPI_DOUBLE_INT 12 8 Pair F64;
    MPI_LONG_INT 12 8 Pair I64;
    MPI_2INT 8 4 Pair I32;
    MPI_SHORT_INT 6 4 Pair I16;
    MPI_LONG_DOUBLE_INT 20 16 Pair LongDouble;
    MPI_2REAL 8 4 Pair F32;
    MPI_2DOUBLE_PRECISION 16 8 Pair F64;
    MPI_2INTEGER 8 4 Pair I32;
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_and_table_agree() {
        assert_eq!(Basic::all().count(), 70);
        for basic in Basic::all() {
            assert_eq!(basic.handle().0 & 0xff, basic.index());
            assert_eq!(Basic::from_handle(basic.handle()), Some(basic));
        }
        assert_eq!(Basic::from_handle(c::MPI_DATATYPE_NULL), None);
        assert_eq!(Basic::from_handle(abi::Datatype(0x1209)), None);
        assert_eq!(Basic::from_handle(abi::Datatype(usize::MAX)), None);
    }

    #[test]
    fn fixed_size_handles_carry_their_size() {
        // The ABI puts log2 of the size into bits 3..6 of fixed-size handles: a check of our sizes.
        for basic in Basic::all().filter(|b| b.index() >= 0x40 && b.description().class != Class::Pair) {
            assert_eq!(basic.size(), 1 << (basic.index() >> 3 & 7), "{basic:?}");
        }
    }
}
