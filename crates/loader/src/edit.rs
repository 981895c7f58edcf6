//! Turns an object's file into the template that every copy of it is made from.
//!
//! A copy reaches the dynamic linker as a file of the same layout in which only what it reads is present: headers,
//! tables and writable data, with the edits below. Everything else is a hole and is mapped from the original file
//! afterwards. This module computes what to write and what to map where; it is a function of the bytes.
//!
//! | edit | because otherwise |
//! | --- | --- |
//! | clear `DF_1_PIE`, `DF_1_NOOPEN` | the linker refuses to load an executable |
//! | `STB_GNU_UNIQUE` → `STB_WEAK` | inline and template statics of C++ are one object for all copies |
//! | rename `DT_INIT`, `DT_FINI` and the arrays | constructors run while loading, on the wrong thread |
//! | rename `DT_SONAME` | the next request for that library's name finds this rank's copy |
//! | drop `PT_GNU_RELRO` | the linker protects pages that get replaced anyway: a system call and a mapping each |
//! | private libraries by path | the linker finds the copy of another rank, or the original |

use crate::error::ErrorKind;
use crate::image::{Fault, Image, Segment};
use crate::relocation;
use crate::versions;
use object::elf;
use std::collections::HashMap;

/// Counts the bytes kept for the path of one private library, with its final zero.
pub(crate) const NAME_SLOT: u64 = 96;

/// Renames a dynamic tag: the result lies in the range for operating systems, where the linker knows no such tag.
const RENAMED_TAG: u64 = 0x6057_0000;

/// Bytes to be written into a copy's file.
#[derive(Debug)]
pub(crate) struct Piece {
    pub offset: u64,
    pub bytes: Vec<u8>,
    /// Tells whether an edit must outlast loading although the memory is not writable.
    changed: bool,
    writable: bool,
}

impl Piece {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

/// A range that is mapped from a common file over a copy's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SharedMap {
    pub address: u64,
    pub length: u64,
    pub offset: u64,
    pub flags: u32,
    /// Tells whether it comes from the edited tables rather than from the original file.
    pub edited: bool,
}

/// Constructors and destructors of an object, as addresses relative to its load address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hooks {
    pub before: Option<(u64, u64)>,
    pub start: Option<u64>,
    pub start_array: Option<(u64, u64)>,
    pub end: Option<u64>,
    pub end_array: Option<(u64, u64)>,
}

/// A place that holds the address of something another object defines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub address: u64,
    pub addend: i64,
}

/// A range of an object's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub address: u64,
    pub length: u64,
}

/// Everything needed to make copies of one object.
#[derive(Debug)]
pub(crate) struct Template {
    /// Counts the bytes of a copy's file, holes included.
    pub length: u64,
    pub pieces: Vec<Piece>,
    pub maps: Vec<SharedMap>,
    /// Lists page ranges of writable data that come from the copy's file.
    pub private: Vec<(u64, u64)>,
    /// Tells where in a copy's file the paths of its private libraries go.
    pub names_offset: u64,
    /// Lists the needed private libraries, in slot order.
    pub libraries: Vec<usize>,
    /// Holds the lowest and the highest address.
    pub span: (u64, u64),
    pub entry: u64,
    pub executable_stack: bool,
    pub hooks: Hooks,
    /// Holds the slots for each symbol that this object looks up, its own ones included.
    pub slots: HashMap<Box<str>, Vec<Slot>>,
    /// Holds the places of library data that the linker copies into this object.
    pub copied: HashMap<Box<str>, Place>,
}

fn malformed(message: impl Into<String>) -> Fault {
    Fault { kind: ErrorKind::Malformed, message: message.into() }
}

fn down(value: u64, unit: u64) -> u64 {
    value / unit * unit
}

fn up(value: u64, unit: u64) -> u64 {
    value.div_ceil(unit) * unit
}

impl Template {
    /// Edits an object; `private` gives the index of each needed library that is copied too.
    pub fn new(image: &Image<'_>, private: &HashMap<&str, usize>, page: u64) -> Result<Self, Fault> {
        let mut template = Template {
            length: image.bytes().len() as u64,
            pieces: Vec::new(),
            maps: Vec::new(),
            private: Vec::new(),
            names_offset: 0,
            libraries: Vec::new(),
            span: (0, 0),
            entry: image.entry,
            // Without the header the system's default holds, which is an executable one on x86-64 only.
            executable_stack: image
                .segment(elf::PT_GNU_STACK)
                .map_or(cfg!(target_arch = "x86_64"), Segment::is_executable),
            hooks: hooks(image)?,
            slots: slots(image)?,
            copied: copied(image)?,
        };
        let low = image.loads().next().map_or(0, |s| s.address);
        let high = image.loads().map(|s| s.address + s.memory_size).max().unwrap_or(0);
        template.span = (down(low, page), up(high, page));
        let mut end = 0;
        for s in image.loads() {
            if s.address < end {
                return Err(malformed("has segments that share a page of memory"));
            }
            end = up(s.address + s.memory_size, page);
        }
        template.take_pieces(image, page)?;
        template.edit_dynamic(image);
        template.edit_symbols(image);
        template.edit_headers(image, private, page)?;
        template.plan_maps(image, page);
        Ok(template)
    }

    /// Verifies that a template is consistent: nothing leaves the file, the address range or the pages.
    ///
    /// # Errors
    /// Says what is not.
    pub fn check(&self, file_length: u64) -> Result<(), String> {
        let inside = |a: u64, n: u64| a >= self.span.0 && a + n <= self.span.1;
        for piece in &self.pieces {
            if piece.end() > file_length {
                return Err(format!("a piece ends at {:#x}, past the file's end", piece.end()));
            }
        }
        for map in &self.maps {
            if !inside(map.address, map.length) || map.address % 4096 != 0 || map.offset % 4096 != 0 {
                return Err(format!("{map:x?} leaves {:x?}", self.span));
            }
            if map.flags & elf::PF_W != 0 {
                return Err(format!("{map:x?} is writable"));
            }
        }
        match self.private.iter().find(|(a, n)| !inside(*a, *n)) {
            Some(range) => Err(format!("{range:x?} leaves {:x?}", self.span)),
            None => Ok(()),
        }
    }

    /// Takes what the linker reads: all writable data, and of the rest as far as tables reach.
    fn take_pieces(&mut self, image: &Image<'_>, page: u64) -> Result<(), Fault> {
        let tables = tables(image)?;
        let resolvers = has_resolvers(image)?;
        let mut add = |offset: u64, length: u64, writable| {
            let from = usize::try_from(offset).ok();
            let to = offset.checked_add(length).and_then(|end| usize::try_from(end).ok());
            if let Some(bytes) = from.zip(to).and_then(|(from, to)| image.bytes().get(from..to)) {
                self.pieces.push(Piece { offset, bytes: bytes.to_vec(), changed: false, writable });
            }
        };
        // The linker reads the headers from the file, whether a segment holds them or not.
        let headers = (image.headers_offset, 56 * image.segments.len() as u64);
        add(0, 64, true);
        add(headers.0, headers.1, true);
        for s in image.loads() {
            if s.is_writable() {
                add(s.offset, s.file_size, true);
                continue;
            }
            // Resolvers of indirect functions run while loading, so their code must be there.
            let complete = resolvers || s.memory_size > s.file_size;
            let last =
                tables.iter().filter(|(a, _)| s.holds(*a)).map(|(a, n)| (a + n).min(s.address + s.file_size));
            let mut end = last.max().unwrap_or(s.address);
            if s.offset <= headers.0 && headers.0 - s.offset < s.file_size {
                end = end.max(s.address + (headers.0 - s.offset + headers.1).min(s.file_size));
            }
            if complete {
                end = s.address + s.file_size;
            }
            if end > s.address {
                add(s.offset, up(end, page).min(s.address + s.file_size) - s.address, false);
            }
        }
        Ok(())
    }

    /// Overwrites bytes of the copy's file wherever they were taken.
    ///
    /// `lasting` edits must stay visible in read-only memory after loading; the others are only for the linker.
    fn patch(&mut self, offset: u64, bytes: &[u8], lasting: bool) {
        for piece in &mut self.pieces {
            if offset >= piece.offset && offset + bytes.len() as u64 <= piece.end() {
                let at = (offset - piece.offset) as usize;
                piece.bytes[at..at + bytes.len()].copy_from_slice(bytes);
                piece.changed |= lasting && !piece.writable;
            }
        }
    }

    fn edit_dynamic(&mut self, image: &Image<'_>) {
        for entry in &image.dynamic {
            // Any other tag is too large for the 32-bit constants, or none we know.
            let Ok(tag) = u32::try_from(entry.tag) else { continue };
            match tag {
                elf::DT_FLAGS_1 => {
                    let value = entry.value & !u64::from(elf::DF_1_PIE | elf::DF_1_NOOPEN);
                    if value != entry.value {
                        self.patch(entry.offset + 8, &value.to_le_bytes(), false);
                    }
                }
                elf::DT_INIT
                | elf::DT_FINI
                | elf::DT_INIT_ARRAY
                | elf::DT_INIT_ARRAYSZ
                | elf::DT_FINI_ARRAY
                | elf::DT_FINI_ARRAYSZ
                | elf::DT_PREINIT_ARRAY
                | elf::DT_PREINIT_ARRAYSZ
                | elf::DT_SONAME => self.patch(entry.offset, &(RENAMED_TAG + entry.tag).to_le_bytes(), false),
                _ => {}
            }
        }
    }

    fn edit_symbols(&mut self, image: &Image<'_>) {
        for symbol in image.symbols().filter(|s| s.bind == elf::STB_GNU_UNIQUE) {
            self.patch(symbol.offset + 4, &[elf::STB_WEAK << 4 | symbol.kind], true);
        }
    }

    /// Drops `PT_GNU_RELRO` and, if there are private libraries, adds a segment that holds their paths.
    fn edit_headers(
        &mut self,
        image: &Image<'_>,
        private: &HashMap<&str, usize>,
        page: u64,
    ) -> Result<(), Fault> {
        let mut table: Vec<Segment> =
            image.segments.iter().filter(|s| s.kind != elf::PT_GNU_RELRO).copied().collect();
        let needed = image.needed()?;
        for (name, _) in &needed {
            if let Some(library) = private.get(name)
                && !self.libraries.contains(library)
            {
                self.libraries.push(*library);
            }
        }
        if !self.libraries.is_empty() {
            if table.len() == image.segments.len() {
                let Some(spare) = table.iter().position(|s| s.kind == elf::PT_NOTE) else {
                    return Err(malformed("has no program header to spare for its libraries' names"));
                };
                table.remove(spare);
            }
            let align = image.loads().map(|s| s.align).filter(|a| a.is_power_of_two()).fold(page, u64::max);
            let align = align.min(1 << 30);
            let address = up(self.span.1, align);
            self.names_offset = up(self.length, align);
            let size = NAME_SLOT * self.libraries.len() as u64;
            self.length = self.names_offset + size;
            let names = Segment {
                kind: elf::PT_LOAD,
                flags: elf::PF_R,
                offset: self.names_offset,
                address,
                file_size: size,
                memory_size: size,
                align,
            };
            self.span.1 = up(address + size, page);
            let last = table.iter().rposition(|s| s.kind == elf::PT_LOAD).map_or(table.len(), |at| at + 1);
            table.insert(last, names);
            self.edit_names(image, private, address)?;
        }
        for (index, s) in table.iter().enumerate() {
            self.patch(image.headers_offset + 56 * index as u64, &encode(s), false);
        }
        for index in table.len()..image.segments.len() {
            self.patch(image.headers_offset + 56 * index as u64, &[0; 56], false);
        }
        Ok(())
    }

    /// Lets needed libraries and version requirements name the copies by path.
    fn edit_names(
        &mut self,
        image: &Image<'_>,
        private: &HashMap<&str, usize>,
        names: u64,
    ) -> Result<(), Fault> {
        let strings = image.tag(elf::DT_STRTAB).unwrap_or(0);
        let Some(base) = names.checked_sub(strings) else {
            return Err(malformed("has its string table past its segments"));
        };
        let offset_of = |this: &Self, name: &str| -> Option<u64> {
            let library = private.get(name)?;
            let slot = this.libraries.iter().position(|l| l == library)?;
            Some(base + NAME_SLOT * slot as u64)
        };
        for (name, entry) in image.needed()? {
            if let Some(offset) = offset_of(self, name) {
                self.patch(entry.offset + 8, &offset.to_le_bytes(), false);
            }
        }
        for version in versions::needs(image)? {
            if let Some(offset) = offset_of(self, version.library) {
                let Ok(offset) = u32::try_from(offset) else {
                    return Err(malformed("is too large to have private libraries"));
                };
                self.patch(version.name_field, &offset.to_le_bytes(), false);
            }
        }
        Ok(())
    }

    /// Plans which pages come from common files, and which must be the copy's own.
    fn plan_maps(&mut self, image: &Image<'_>, page: u64) {
        let mut maps: Vec<SharedMap> = Vec::new();
        for s in image.loads() {
            let (from, to) = (down(s.address, page), up(s.address + s.file_size, page));
            if s.file_size == 0 {
                continue;
            }
            if s.is_writable() {
                self.private.push((from, to - from));
                continue;
            }
            if s.memory_size > s.file_size {
                continue;
            }
            let start = down(s.offset, page);
            let changed =
                self.pieces.iter().filter(|p| p.changed && p.offset == s.offset).map(Piece::end).max();
            let split = changed.map_or(0, |end| up(end, page) - start).min(to - from);
            for (at, length, edited) in [(0, split, true), (split, to - from - split, false)] {
                let map =
                    SharedMap { address: from + at, length, offset: start + at, flags: s.flags, edited };
                match maps.last_mut() {
                    _ if length == 0 => {}
                    Some(last) if continues(last, &map) => {
                        last.length += map.length;
                        last.flags |= map.flags;
                    }
                    _ => maps.push(map),
                }
            }
        }
        self.maps = maps;
        if !self.libraries.is_empty() {
            // Anonymous like the data before it, so that both are one mapping.
            let size = NAME_SLOT * self.libraries.len() as u64;
            self.private.push((self.span.1 - up(size, page), up(size, page)));
        }
    }
}

/// Tells whether two ranges can be one mapping. Read-only data beside code becomes executable by that, as in every
/// program linked without separate code; a mapping less per copy is worth it when there are thousands.
fn continues(a: &SharedMap, b: &SharedMap) -> bool {
    a.edited == b.edited && a.address + a.length == b.address && a.offset + a.length == b.offset
}

fn encode(s: &Segment) -> [u8; 56] {
    let mut bytes = [0; 56];
    bytes[0..4].copy_from_slice(&s.kind.to_le_bytes());
    bytes[4..8].copy_from_slice(&s.flags.to_le_bytes());
    for (index, value) in
        [s.offset, s.address, s.address, s.file_size, s.memory_size, s.align].into_iter().enumerate()
    {
        bytes[8 + 8 * index..16 + 8 * index].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// Lists address and length of the tables the linker reads.
fn tables(image: &Image<'_>) -> Result<Vec<(u64, u64)>, Fault> {
    let mut all = Vec::new();
    let mut add = |tag, length: u64| {
        if let Some(address) = image.tag(tag) {
            all.push((address, length.min(1 << 40)));
        }
    };
    let symbols = image.symbol_count as u64;
    add(elf::DT_STRTAB, image.tag(elf::DT_STRSZ).unwrap_or(0));
    add(elf::DT_SYMTAB, 24 * symbols);
    add(elf::DT_VERSYM, 2 * symbols);
    for (table, size) in
        [(elf::DT_RELA, elf::DT_RELASZ), (elf::DT_JMPREL, elf::DT_PLTRELSZ), (DT_RELR, DT_RELRSZ)]
    {
        add(table, image.tag(size).unwrap_or(0));
    }
    // These do not tell their size. Each entry of a version table and of a hash table belongs to a string or a
    // symbol, which bounds them well enough: a page too many is no harm.
    let strings = image.tag(elf::DT_STRSZ).unwrap_or(0).min(1 << 32);
    add(elf::DT_GNU_HASH, 64 + 32 * symbols);
    add(elf::DT_HASH, 8 + 16 * symbols);
    for table in [elf::DT_VERNEED, elf::DT_VERDEF] {
        let entries =
            image.tag(elf::DT_VERNEEDNUM).unwrap_or(0).max(image.tag(elf::DT_VERDEFNUM).unwrap_or(0));
        add(table, 64 * entries.min(1 << 16) + 16 * strings);
    }
    Ok(all)
}

/// Names the table of packed relative relocations (newer than the names in our ELF library).
const DT_RELR: u32 = 36;
/// Names the size of that table.
const DT_RELRSZ: u32 = 35;

/// Tells whether functions of the object run while it is loaded.
fn has_resolvers(image: &Image<'_>) -> Result<bool, Fault> {
    Ok(image.symbols().any(|s| s.defined && s.kind == elf::STT_GNU_IFUNC)
        || image.relocations()?.iter().any(|r| r.kind == relocation::INDIRECT))
}

fn hooks(image: &Image<'_>) -> Result<Hooks, Fault> {
    let array = |table, size| -> Result<Option<(u64, u64)>, Fault> {
        let (Some(address), Some(length)) = (image.tag(table), image.tag(size)) else { return Ok(None) };
        if length == 0 {
            return Ok(None);
        }
        if address % 8 != 0 || image.at(address, length).is_none() {
            return Err(malformed(format!("has a table of constructors at {address:#x}, outside its data")));
        }
        Ok(Some((address, length / 8)))
    };
    let function = |tag| -> Result<Option<u64>, Fault> {
        match image.tag(tag) {
            None | Some(0) => Ok(None),
            Some(address) if image.loads().any(|s| s.is_executable() && s.holds(address)) => {
                Ok(Some(address))
            }
            Some(address) => Err(malformed(format!("has a constructor at {address:#x}, outside its code"))),
        }
    };
    Ok(Hooks {
        before: array(elf::DT_PREINIT_ARRAY, elf::DT_PREINIT_ARRAYSZ)?,
        start: function(elf::DT_INIT)?,
        start_array: array(elf::DT_INIT_ARRAY, elf::DT_INIT_ARRAYSZ)?,
        end: function(elf::DT_FINI)?,
        end_array: array(elf::DT_FINI_ARRAY, elf::DT_FINI_ARRAYSZ)?,
    })
}

fn slots(image: &Image<'_>) -> Result<HashMap<Box<str>, Vec<Slot>>, Fault> {
    let mut all: HashMap<Box<str>, Vec<Slot>> = HashMap::new();
    for r in image.relocations()? {
        if !matches!(r.kind, relocation::GLOBAL_DATA | relocation::JUMP_SLOT | relocation::ABSOLUTE) {
            continue;
        }
        let writable = image.loads().any(|s| s.is_writable() && s.holds(r.address) && s.holds(r.address + 7));
        if let Some(symbol) = image.symbol(r.symbol).filter(|s| writable && !s.name.is_empty()) {
            // Slots of the offset table ignore the addend.
            let addend = if r.kind == relocation::ABSOLUTE { r.addend } else { 0 };
            all.entry(symbol.name.into()).or_default().push(Slot { address: r.address, addend });
        }
    }
    Ok(all)
}

fn copied(image: &Image<'_>) -> Result<HashMap<Box<str>, Place>, Fault> {
    let mut all = HashMap::new();
    for r in image.relocations()?.into_iter().filter(|r| r.kind == relocation::COPY) {
        let Some(symbol) = image.symbol(r.symbol) else { continue };
        let place = Place { address: r.address, length: symbol.size };
        let is_inside = |s: &Segment| {
            place
                .address
                .checked_sub(s.address)
                .is_some_and(|at| at.checked_add(place.length.max(8)).is_some_and(|end| end <= s.memory_size))
        };
        if !image.loads().any(|s| s.is_writable() && is_inside(s)) {
            return Err(malformed(format!("has its copy of {} outside its data", symbol.name)));
        }
        all.insert(symbol.name.into(), place);
    }
    Ok(all)
}
