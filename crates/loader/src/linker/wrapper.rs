//! Makes the small object by which a plugin is opened: it only needs others, in the order in which symbols are searched.
//!
//! A plugin finds symbols first in the program, then in what was opened with `RTLD_GLOBAL`, then in itself and what it
//! needs. For the dynamic linker a copy of the program is no program, so the plugin would not find it. An object that
//! needs all of these in this order, and is what `dlopen` is asked for, makes the linker search in this order.

use object::elf;
use std::ffi::CStr;

const HEADER: usize = 64;
const SEGMENTS: usize = 3;
const TABLE: usize = HEADER + 56 * SEGMENTS;

/// Writes an object for this machine that needs the objects with these names.
pub(crate) fn build(needed: &[&CStr]) -> Vec<u8> {
    let mut strings = vec![0];
    let mut entries: Vec<(u32, u64)> = Vec::new();
    for name in needed {
        entries.push((elf::DT_NEEDED, strings.len() as u64));
        strings.extend(name.to_bytes_with_nul());
    }
    // Behind the dynamic section comes a symbol table with its empty first symbol, then the strings.
    let symbols = TABLE + 16 * (entries.len() + 6);
    let text = symbols + 24;
    let length = text + strings.len();
    entries.extend([
        (elf::DT_STRTAB, text as u64),
        (elf::DT_SYMTAB, symbols as u64),
        (elf::DT_STRSZ, strings.len() as u64),
        (elf::DT_SYMENT, 24),
        (elf::DT_NULL, 0),
        (elf::DT_NULL, 0),
    ]);
    let mut bytes = Vec::with_capacity(length);
    bytes.extend(elf::ELFMAG);
    bytes.extend([elf::ELFCLASS64, elf::ELFDATA2LSB, elf::EV_CURRENT, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(elf::ET_DYN.to_le_bytes());
    bytes.extend(crate::image::HOST_MACHINE.to_le_bytes());
    bytes.extend(u32::from(elf::EV_CURRENT).to_le_bytes());
    for word in [0, HEADER as u64, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend([0; 4]);
    for half in [HEADER as u16, 56, SEGMENTS as u16, 64, 0, 0] {
        bytes.extend(half.to_le_bytes());
    }
    let dynamic = (symbols - TABLE) as u64;
    let mut segment = |kind: u32, at: u64, size: u64, align: u64| {
        bytes.extend(kind.to_le_bytes());
        bytes.extend((elf::PF_R | elf::PF_W).to_le_bytes());
        for word in [at, at, at, size, size, align] {
            bytes.extend(word.to_le_bytes());
        }
    };
    segment(elf::PT_LOAD, 0, length as u64, 0x10000);
    segment(elf::PT_DYNAMIC, TABLE as u64, dynamic, 8);
    // Without it the system's default holds, which may be an executable stack.
    segment(elf::PT_GNU_STACK, 0, 0, 16);
    for (tag, value) in entries {
        bytes.extend(u64::from(tag).to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 24]);
    bytes.extend(strings);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Image;

    #[test]
    fn the_object_names_what_it_needs_in_order() {
        let bytes = build(&[c"/a/b", c"libm.so.6"]);
        let image = Image::parse(&bytes).expect("an ELF object");
        let names: Vec<&str> = image.needed().expect("names").iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["/a/b", "libm.so.6"]);
        assert_eq!(image.kind, elf::ET_DYN);
    }
}
