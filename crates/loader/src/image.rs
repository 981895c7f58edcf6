//! Reads the parts of an ELF file that the dynamic linker would read, without trusting any of it.
//!
//! Everything here is a function of the bytes: no table is believed to lie inside the file, end, or be aligned
//! before that was checked, so any byte sequence gives an [`Image`] or a [`Fault`], never a panic.

use crate::error::ErrorKind;
use object::elf;
use object::endian::LittleEndian as LE;
use object::pod::{from_bytes, slice_from_bytes};

/// What is wrong with the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Classifies the problem.
    pub kind: ErrorKind,
    /// Says what is wrong, with the offending value.
    pub message: String,
}

fn fault<T>(kind: ErrorKind, message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { kind, message: message.into() })
}

/// Names the ELF machine number of the processor this code runs on.
pub const HOST_MACHINE: u16 = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };

/// Bounds the address range one object may occupy, so that sums of addresses stay far from overflow.
const LARGEST_SPAN: u64 = 1 << 46;

/// Describes one program header.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// Holds the `PT_` type.
    pub kind: u32,
    /// Holds the `PF_` flags.
    pub flags: u32,
    /// Tells where the segment starts in the file.
    pub offset: u64,
    /// Tells where the segment starts in memory, relative to the load address.
    pub address: u64,
    /// Counts the bytes that come from the file.
    pub file_size: u64,
    /// Counts the bytes in memory; what exceeds `file_size` is zero.
    pub memory_size: u64,
    /// Holds the alignment the segment asks for.
    pub align: u64,
}

impl Segment {
    /// Tells whether the segment may be written to.
    pub fn is_writable(&self) -> bool {
        self.flags & elf::PF_W != 0
    }
    /// Tells whether the segment may be executed.
    pub fn is_executable(&self) -> bool {
        self.flags & elf::PF_X != 0
    }
    /// Tells whether `address` lies in the part that comes from the file.
    pub fn holds(&self, address: u64) -> bool {
        address >= self.address && address - self.address < self.file_size
    }
}

/// Describes one entry of the dynamic section.
#[derive(Debug, Clone, Copy)]
pub struct Dynamic {
    /// Holds the `DT_` tag.
    pub tag: u64,
    /// Holds the value or address.
    pub value: u64,
    /// Tells where the entry stands in the file.
    pub offset: u64,
}

/// Describes one dynamic symbol.
#[derive(Debug, Clone, Copy)]
pub struct Symbol<'a> {
    /// Names the symbol.
    pub name: &'a str,
    /// Holds its value.
    pub value: u64,
    /// Holds its size in bytes.
    pub size: u64,
    /// Holds the `STB_` binding.
    pub bind: u8,
    /// Holds the `STT_` type.
    pub kind: u8,
    /// Tells whether this object defines it.
    pub defined: bool,
    /// Tells where the entry stands in the file.
    pub offset: u64,
}

/// Describes one relocation with an explicit addend.
#[derive(Debug, Clone, Copy)]
pub struct Relocation {
    /// Tells which address is patched.
    pub address: u64,
    /// Holds the machine's relocation type.
    pub kind: u32,
    /// Holds the symbol's index, 0 for none.
    pub symbol: usize,
    /// Holds the addend.
    pub addend: i64,
}

/// An ELF file whose tables were found to lie inside it.
#[derive(Debug)]
pub struct Image<'a> {
    bytes: &'a [u8],
    /// Holds the `ET_` type.
    pub kind: u16,
    /// Holds the entry point's address relative to the load address.
    pub entry: u64,
    /// Tells where the program headers stand in the file.
    pub headers_offset: u64,
    /// Holds all program headers in file order.
    pub segments: Vec<Segment>,
    /// Holds the dynamic section up to its end mark; empty for a static program.
    pub dynamic: Vec<Dynamic>,
    /// Counts the entries of the dynamic symbol table.
    pub symbol_count: usize,
}

impl<'a> Image<'a> {
    /// Reads headers and the dynamic section.
    ///
    /// # Errors
    /// Says why the bytes are not an ELF program or library for this machine.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Fault> {
        if bytes.starts_with(b"#!") {
            return fault(ErrorKind::Script, "is a script, not a program");
        }
        if !bytes.starts_with(&elf::ELFMAG) {
            let start = &bytes[..bytes.len().min(256)];
            let is_text = !start.is_empty() && start.iter().all(|b| matches!(b, 9..=13 | 32..=126 | 128..));
            return fault(
                ErrorKind::NotElf,
                if is_text {
                    "is text, but its first line does not name an interpreter; if it is a script, begin it with #!/bin/sh or \
                     the like"
                } else {
                    "is not an ELF program"
                },
            );
        }
        match bytes.get(4) {
            Some(&elf::ELFCLASS64) => {}
            Some(&elf::ELFCLASS32) => {
                return fault(ErrorKind::Not64Bit, "is a 32-bit program; build it for 64 bits");
            }
            Some(class) => return fault(ErrorKind::Malformed, format!("has an unknown ELF class {class}")),
            None => return fault(ErrorKind::Truncated, "ends inside its ELF header"),
        }
        if bytes.get(5) == Some(&elf::ELFDATA2MSB) {
            return fault(ErrorKind::OtherMachine, "is a big-endian program; build it for this machine");
        }
        let Ok((header, _)) = from_bytes::<elf::FileHeader64<LE>>(bytes) else {
            return fault(ErrorKind::Truncated, "ends inside its ELF header");
        };
        let machine = header.e_machine.get(LE);
        if machine != HOST_MACHINE {
            return fault(
                ErrorKind::OtherMachine,
                format!(
                    "is built for another machine ({}), this one is {}",
                    machine_name(machine),
                    machine_name(HOST_MACHINE)
                ),
            );
        }
        let headers_offset = header.e_phoff.get(LE);
        let count = usize::from(header.e_phnum.get(LE));
        let kind = header.e_type.get(LE);
        if count != 0 && usize::from(header.e_phentsize.get(LE)) != size_of::<elf::ProgramHeader64<LE>>() {
            return fault(ErrorKind::Malformed, "has program headers of an unknown size");
        }
        let Some(Ok((raw, _))) = usize::try_from(headers_offset)
            .ok()
            .and_then(|at| bytes.get(at..))
            .map(|rest| slice_from_bytes::<elf::ProgramHeader64<LE>>(rest, count))
        else {
            return fault(ErrorKind::Truncated, "ends before its program headers");
        };
        let segments: Vec<Segment> = raw
            .iter()
            .map(|p| Segment {
                kind: p.p_type.get(LE),
                flags: p.p_flags.get(LE),
                offset: p.p_offset.get(LE),
                address: p.p_vaddr.get(LE),
                file_size: p.p_filesz.get(LE),
                memory_size: p.p_memsz.get(LE),
                align: p.p_align.get(LE),
            })
            .collect();
        let mut image = Image {
            bytes,
            kind,
            entry: header.e_entry.get(LE),
            headers_offset,
            segments,
            dynamic: Vec::new(),
            symbol_count: 0,
        };
        image.check_segments()?;
        image.dynamic = image.read_dynamic()?;
        image.symbol_count = image.count_symbols()?;
        Ok(image)
    }

    /// Returns the whole file.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Iterates over the segments that are mapped, in ascending order of address.
    pub fn loads(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|s| s.kind == elf::PT_LOAD)
    }

    /// Finds the first segment of a type.
    pub fn segment(&self, kind: u32) -> Option<&Segment> {
        self.segments.iter().find(|s| s.kind == kind)
    }

    /// Finds the value of a dynamic tag.
    pub fn tag(&self, tag: u32) -> Option<u64> {
        self.dynamic.iter().find(|d| d.tag == u64::from(tag)).map(|d| d.value)
    }

    /// Translates an address range into bytes of the file.
    pub fn at(&self, address: u64, length: u64) -> Option<&'a [u8]> {
        let offset = self.offset_of(address, length)?;
        self.bytes.get(usize::try_from(offset).ok()?..usize::try_from(offset + length).ok()?)
    }

    /// Translates an address into an offset in the file if `length` bytes from there come from the file.
    pub fn offset_of(&self, address: u64, length: u64) -> Option<u64> {
        let segment = self.loads().find(|s| s.holds(address))?;
        let inside = address - segment.address;
        (length <= segment.file_size - inside).then_some(segment.offset + inside)
    }

    /// Reads the path of the program interpreter.
    pub fn interpreter(&self) -> Option<&'a str> {
        let segment = self.segment(elf::PT_INTERP)?;
        let from = usize::try_from(segment.offset).ok()?;
        let to = usize::try_from(segment.offset.checked_add(segment.file_size)?).ok()?;
        text(self.bytes.get(from..to)?)
    }

    /// Reads a string of the dynamic string table.
    pub fn string(&self, offset: u64) -> Option<&'a str> {
        let table = self.tag(elf::DT_STRTAB)?;
        let size = self.tag(elf::DT_STRSZ)?;
        if offset >= size {
            return None;
        }
        text(self.at(table.checked_add(offset)?, size - offset)?)
    }

    /// Lists the names of the libraries this object needs, in order, each with its dynamic entry.
    ///
    /// # Errors
    /// A name that is not in the string table is a fault.
    pub fn needed(&self) -> Result<Vec<(&'a str, Dynamic)>, Fault> {
        let entries = self.dynamic.iter().filter(|d| d.tag == u64::from(elf::DT_NEEDED));
        entries
            .map(|d| match self.string(d.value) {
                Some(name) if !name.is_empty() => Ok((name, *d)),
                _ => fault(ErrorKind::Malformed, "names a needed library outside its string table"),
            })
            .collect()
    }

    /// Reads the string that a dynamic tag refers to.
    pub fn tagged_string(&self, tag: u32) -> Option<&'a str> {
        self.string(self.tag(tag)?)
    }

    /// Reads the name under which others need this library.
    pub fn soname(&self) -> Option<&'a str> {
        self.tagged_string(elf::DT_SONAME)
    }

    /// Reads one dynamic symbol; a name outside the string table reads as empty.
    pub fn symbol(&self, index: usize) -> Option<Symbol<'a>> {
        if index >= self.symbol_count {
            return None;
        }
        let size = size_of::<elf::Sym64<LE>>() as u64;
        let address = self.tag(elf::DT_SYMTAB)?.checked_add(size.checked_mul(index as u64)?)?;
        let offset = self.offset_of(address, size)?;
        let (raw, _) = from_bytes::<elf::Sym64<LE>>(self.at(address, size)?).ok()?;
        Some(Symbol {
            name: self.string(u64::from(raw.st_name.get(LE))).unwrap_or(""),
            value: raw.st_value.get(LE),
            size: raw.st_size.get(LE),
            bind: raw.st_info >> 4,
            kind: raw.st_info & 15,
            defined: raw.st_shndx.get(LE) != elf::SHN_UNDEF,
            offset,
        })
    }

    /// Iterates over all dynamic symbols but the empty first one.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'a>> + '_ {
        (1..self.symbol_count).map_while(|index| self.symbol(index))
    }

    /// Reads all relocations with addends, data first, then the procedure linkage table's.
    ///
    /// # Errors
    /// A table outside the file is a fault.
    pub fn relocations(&self) -> Result<Vec<Relocation>, Fault> {
        let mut all = Vec::new();
        for (table, size) in [(elf::DT_RELA, elf::DT_RELASZ), (elf::DT_JMPREL, elf::DT_PLTRELSZ)] {
            let (Some(address), Some(length)) = (self.tag(table), self.tag(size)) else { continue };
            let Some(bytes) = self.at(address, length).or(if length == 0 { Some(&[]) } else { None }) else {
                return fault(ErrorKind::Malformed, "has a relocation table outside the file");
            };
            let count = bytes.len() / size_of::<elf::Rela64<LE>>();
            let Ok((raw, _)) = slice_from_bytes::<elf::Rela64<LE>>(bytes, count) else { continue };
            all.extend(raw.iter().map(|r| {
                let info = r.r_info.get(LE);
                Relocation {
                    address: r.r_offset.get(LE),
                    kind: info as u32,
                    symbol: (info >> 32) as usize,
                    addend: r.r_addend.get(LE),
                }
            }));
        }
        Ok(all)
    }

    fn check_segments(&self) -> Result<(), Fault> {
        let length = self.bytes.len() as u64;
        let mut end = 0;
        for (index, s) in self.segments.iter().enumerate() {
            let what = |problem: &str| format!("has a bad program header {index}: {problem}");
            let Some(file_end) = s.offset.checked_add(s.file_size) else {
                return fault(ErrorKind::Malformed, what("its end in the file overflows"));
            };
            if matches!(s.kind, elf::PT_LOAD | elf::PT_DYNAMIC | elf::PT_INTERP | elf::PT_TLS)
                && file_end > length
            {
                return fault(
                    ErrorKind::Truncated,
                    format!(
                        "is truncated: {length} bytes, but its headers announce {file_end}; build it again"
                    ),
                );
            }
            if s.kind != elf::PT_LOAD {
                continue;
            }
            if s.memory_size < s.file_size {
                return fault(ErrorKind::Malformed, what("it is smaller in memory than in the file"));
            }
            let Some(memory_end) = s.address.checked_add(s.memory_size).filter(|e| *e < LARGEST_SPAN) else {
                return fault(ErrorKind::Malformed, what("its addresses are too large"));
            };
            if s.address < end {
                return fault(ErrorKind::Malformed, what("it overlaps the segment before"));
            }
            end = memory_end;
            if s.address % 4096 != s.offset % 4096 {
                return fault(ErrorKind::Malformed, what("its offset does not match its address"));
            }
        }
        if self.loads().next().is_none() && matches!(self.kind, elf::ET_EXEC | elf::ET_DYN) {
            return fault(ErrorKind::Malformed, "has nothing to load");
        }
        Ok(())
    }

    fn read_dynamic(&self) -> Result<Vec<Dynamic>, Fault> {
        let Some(segment) = self.segment(elf::PT_DYNAMIC) else { return Ok(Vec::new()) };
        let size = size_of::<elf::Dyn64<LE>>() as u64;
        // The linker reads it through its address; the file offset in the header is not what counts.
        let Some(bytes) = self.at(segment.address, segment.file_size) else {
            return fault(ErrorKind::Malformed, "has its dynamic section outside the loaded segments");
        };
        let Some(offset) = self.offset_of(segment.address, segment.file_size) else {
            return fault(ErrorKind::Malformed, "has its dynamic section outside the loaded segments");
        };
        let count = bytes.len() / size as usize;
        let Ok((raw, _)) = slice_from_bytes::<elf::Dyn64<LE>>(bytes, count) else {
            return fault(ErrorKind::Malformed, "has an unreadable dynamic section");
        };
        let entries = raw.iter().enumerate().map(|(index, d)| Dynamic {
            tag: d.d_tag.get(LE),
            value: d.d_val.get(LE),
            offset: offset + size * index as u64,
        });
        let all: Vec<_> = entries.take_while(|d| d.tag != u64::from(elf::DT_NULL)).collect();
        if all.len() == count {
            return fault(ErrorKind::Malformed, "has a dynamic section without an end");
        }
        Ok(all)
    }

    /// Counts dynamic symbols: no field says how many there are, so ask both hash tables and the relocations.
    fn count_symbols(&self) -> Result<usize, Fault> {
        let Some(table) = self.tag(elf::DT_SYMTAB) else { return Ok(0) };
        let mut count = 1;
        if let Some(header) = self.tag(elf::DT_HASH).and_then(|hash| self.at(hash, 8)) {
            count = count.max(u64::from(word(header, 1)));
        }
        if let Some(hash) = self.tag(elf::DT_GNU_HASH) {
            count = count.max(self.count_gnu_hash(hash).unwrap_or(0));
        }
        for relocation in self.relocations()? {
            count = count.max(relocation.symbol as u64 + 1);
        }
        let size = size_of::<elf::Sym64<LE>>() as u64;
        match count.checked_mul(size).and_then(|length| self.at(table, length)) {
            Some(_) => Ok(count as usize),
            None => {
                fault(ErrorKind::Malformed, format!("has a symbol table of {count} entries outside the file"))
            }
        }
    }

    fn count_gnu_hash(&self, hash: u64) -> Option<u64> {
        let header = self.at(hash, 16)?;
        let (buckets, first, bloom) = (word(header, 0), word(header, 1), word(header, 2));
        let table = hash + 16 + 8 * u64::from(bloom);
        let heads = self.at(table, 4 * u64::from(buckets))?;
        let last = (0..buckets as usize).map(|i| word(heads, i)).max()?;
        if last < first {
            return Some(u64::from(first));
        }
        let chains = table + 4 * u64::from(buckets);
        let mut index = u64::from(last);
        while word(self.at(chains + 4 * (index - u64::from(first)), 4)?, 0) & 1 == 0 {
            index += 1;
        }
        Some(index + 1)
    }
}

/// Reads the `index`-th 32-bit word; the caller has checked the length.
fn word(bytes: &[u8], index: usize) -> u32 {
    bytes.get(4 * index..4 * index + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// Reads a string that must end inside `bytes`.
fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|b| *b == 0)?;
    std::str::from_utf8(&bytes[..end]).ok()
}

/// Names a machine for messages.
fn machine_name(machine: u16) -> String {
    match machine {
        elf::EM_X86_64 => "x86-64".into(),
        elf::EM_AARCH64 => "aarch64".into(),
        elf::EM_386 => "32-bit x86".into(),
        elf::EM_PPC64 => "ppc64".into(),
        elf::EM_RISCV => "riscv".into(),
        elf::EM_S390 => "s390".into(),
        other => format!("machine number {other}"),
    }
}
