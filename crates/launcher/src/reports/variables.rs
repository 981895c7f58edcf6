//! How a program declares what is at an address, from its debug information.
//!
//! Says only what is certain, and so nothing of calls in optimised code: there the place of a variable may belong to another one
//! while it is not used, and a pointer of another type through which the program reaches the object leaves no trace. Of pointers,
//! parameters are certain: others may not have been set yet, and hold by chance what was in their place before. If anything
//! in the frame holds the buffer's address and is no variable with a contradictory type, nothing is said: it may be what the
//! program passed.

use addr2line::gimli::{self, AttributeValue, Dwarf, EndianSlice, Operation, RunTimeEndian, UnitOffset};
use object::{Object, ObjectSection};
use std::collections::HashMap;
use weft_base::job::Claim;
use weft_base::site::Place;

type Slice<'d> = EndianSlice<'d, RunTimeEndian>;
type Unit<'d> = gimli::Unit<Slice<'d>>;
type Entry<'a, 'd> = gimli::DebuggingInformationEntry<'a, 'a, Slice<'d>>;

/// The longest chain of types that is followed.
const CHAIN: usize = 32;

/// Files with debug information that have been read.
#[derive(Default)]
pub struct Variables {
    files: HashMap<String, Option<Vec<u8>>>,
    /// What was said of claims: all ranks make the same.
    known: HashMap<(Place, Claim), Option<String>>,
}

/// What is in a variable.
#[derive(Clone, Debug, PartialEq)]
struct Type {
    /// As a program writes it: `double`.
    name: String,
    bytes: u64,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// Numbers: whether floating, and the size of each or of its parts.
    Numbers(bool, u64),
    Pointer(Box<Type>),
    /// Anything else, of which nothing is said.
    Other,
}

impl Type {
    fn other() -> Self {
        Self { name: String::new(), bytes: 0, what: What::Other }
    }

    fn contradicts(&self, claim: &Claim) -> bool {
        matches!(self.what, What::Numbers(floating, size) if (floating, size) != (claim.is_floating, claim.size))
    }
}

/// Where a variable is, if that is so as long as it lives.
enum Location {
    Address(u64),
    Frame(i64),
}

/// What was found of a buffer.
#[derive(Default)]
struct Found {
    objects: Vec<(String, Type)>,
    parameters: Vec<(String, Type)>,
    /// Words of the frame that are pointers with a contradictory type.
    explained: Vec<i64>,
}

fn sections(bytes: &[u8]) -> Option<Dwarf<Slice<'_>>> {
    let file = object::File::parse(bytes).ok()?;
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let section = |id: gimli::SectionId| -> Result<Slice<'_>, gimli::Error> {
        let data =
            file.section_by_name(id.name()).and_then(|section| section.data().ok()).unwrap_or_default();
        Ok(Slice::new(data, endian))
    };
    Dwarf::load(section).ok()
}

impl Variables {
    /// Says how the program declares the buffer of a call, if that is certain and not what the call says.
    pub fn contradiction(&mut self, place: &Place, claim: &Claim) -> Option<String> {
        if place.offset == 0 {
            return None;
        }
        let key = (place.clone(), claim.clone());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let said = self.look_up(place, claim);
        self.known.insert(key, said.clone());
        said
    }

    fn look_up(&mut self, place: &Place, claim: &Claim) -> Option<String> {
        let bytes = self.files.entry(place.file.clone()).or_insert_with(|| std::fs::read(&place.file).ok());
        let dwarf = sections(bytes.as_deref()?)?;
        let found = find(&dwarf, place, claim).ok()?;
        if !claim.words.iter().all(|word| found.explained.contains(word)) {
            return None;
        }
        let (name, declared) = match (found.objects.as_slice(), found.parameters.as_slice()) {
            ([only], _) => only,
            ([], [first, ..]) => first,
            _ => return None,
        };
        declared
            .contradicts(claim)
            .then(|| format!("`{name}` is declared with elements of type {}", declared.name))
    }
}

/// Finds the variables at a buffer.
fn find<'d>(dwarf: &Dwarf<Slice<'d>>, place: &Place, claim: &Claim) -> gimli::Result<Found> {
    let mut found = Found::default();
    // A call returns to where the next line, or even function, may begin.
    let address = place.offset - 1;
    let is_same_file = claim.file == place.file;
    if !is_caller_plain(dwarf, address)? {
        return Ok(found);
    }
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        // Whether the code of each open entry has the call in it, and whether its frame begins at the canonical frame address.
        let mut scopes: Vec<(isize, bool, bool)> = Vec::new();
        let mut depth = 0;
        let mut entries = unit.entries();
        while let Some((step, entry)) = entries.next_dfs()? {
            depth += step;
            scopes.retain(|(at, ..)| *at < depth);
            let (is_active, has_frame) =
                scopes.last().map_or((true, false), |(_, active, frame)| (*active, *frame));
            match entry.tag() {
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine | gimli::DW_TAG_lexical_block => {
                    let is_function = entry.tag() == gimli::DW_TAG_subprogram;
                    let has_frame =
                        if is_function { begins_at_frame_address(&unit, entry)? } else { has_frame };
                    scopes.push((depth, is_active && covers(dwarf, &unit, entry, address)?, has_frame));
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    match location(dwarf, &unit, entry)? {
                        Some(Location::Address(start)) if is_same_file => {
                            object(dwarf, &unit, entry, claim.offset.checked_sub(start), &mut found)?;
                        }
                        Some(Location::Frame(start)) if is_active && has_frame => {
                            let into =
                                claim.frame.and_then(|frame| u64::try_from(frame.checked_sub(start)?).ok());
                            object(dwarf, &unit, entry, into, &mut found)?;
                            if claim.words.contains(&start) {
                                pointer(dwarf, &unit, entry, start, claim, &mut found)?;
                            }
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// Tells whether the code at an address is of a unit that is not optimised.
fn is_caller_plain(dwarf: &Dwarf<Slice<'_>>, address: u64) -> gimli::Result<bool> {
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let mut ranges = dwarf.unit_ranges(&unit)?;
        while let Some(range) = ranges.next()? {
            if (range.begin..range.end).contains(&address) {
                return is_not_optimised(dwarf, &unit);
            }
        }
    }
    Ok(false)
}

/// Tells whether a compiler says that it has not optimised a unit. GCC lists its options.
fn is_not_optimised<'d>(dwarf: &Dwarf<Slice<'d>>, unit: &Unit<'d>) -> gimli::Result<bool> {
    let mut entries = unit.entries();
    let Some((_, root)) = entries.next_dfs()? else { return Ok(false) };
    let Some(producer) = root.attr_value(gimli::DW_AT_producer)? else { return Ok(false) };
    let producer = dwarf.attr_string(unit, producer)?;
    let producer = String::from_utf8_lossy(producer.slice()).into_owned();
    let mut levels = producer.split_whitespace().filter(|word| word.starts_with("-O"));
    Ok(producer.starts_with("GNU ") && levels.next_back().is_none_or(|level| level == "-O0"))
}

/// Notes an object that has the buffer in it, so many bytes behind its start.
fn object<'d>(
    dwarf: &Dwarf<Slice<'d>>,
    unit: &Unit<'d>,
    entry: &Entry<'_, 'd>,
    into: Option<u64>,
    found: &mut Found,
) -> gimli::Result<()> {
    let Some(into) = into else { return Ok(()) };
    let declared = type_of(dwarf, unit, entry)?;
    if into < declared.bytes {
        found.objects.push((name_of(dwarf, unit, entry)?, declared));
    }
    Ok(())
}

/// Notes a variable that holds the buffer's address.
fn pointer<'d>(
    dwarf: &Dwarf<Slice<'d>>,
    unit: &Unit<'d>,
    entry: &Entry<'_, 'd>,
    place: i64,
    claim: &Claim,
    found: &mut Found,
) -> gimli::Result<()> {
    if let What::Pointer(target) = type_of(dwarf, unit, entry)?.what
        && target.contradicts(claim)
    {
        found.explained.push(place);
        if entry.tag() == gimli::DW_TAG_formal_parameter {
            found.parameters.push((name_of(dwarf, unit, entry)?, *target));
        }
    }
    Ok(())
}

fn covers<'d>(
    dwarf: &Dwarf<Slice<'d>>,
    unit: &Unit<'d>,
    entry: &Entry<'_, 'd>,
    address: u64,
) -> gimli::Result<bool> {
    let mut ranges = dwarf.die_ranges(unit, entry)?;
    while let Some(range) = ranges.next()? {
        if (range.begin..range.end).contains(&address) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn operation<'d>(
    unit: &Unit<'d>,
    value: Option<AttributeValue<Slice<'d>>>,
) -> gimli::Result<Option<Operation<Slice<'d>>>> {
    let Some(AttributeValue::Exprloc(expression)) = value else { return Ok(None) };
    let mut operations = expression.operations(unit.encoding());
    let first = operations.next()?;
    Ok(if operations.next()?.is_none() { first } else { None })
}

fn begins_at_frame_address<'d>(unit: &Unit<'d>, entry: &Entry<'_, 'd>) -> gimli::Result<bool> {
    let base = operation(unit, entry.attr_value(gimli::DW_AT_frame_base)?)?;
    Ok(matches!(base, Some(Operation::CallFrameCFA)))
}

fn location<'d>(
    dwarf: &Dwarf<Slice<'d>>,
    unit: &Unit<'d>,
    entry: &Entry<'_, 'd>,
) -> gimli::Result<Option<Location>> {
    Ok(match operation(unit, entry.attr_value(gimli::DW_AT_location)?)? {
        Some(Operation::Address { address }) => Some(Location::Address(address)),
        Some(Operation::AddressIndex { index }) => Some(Location::Address(dwarf.address(unit, index)?)),
        Some(Operation::FrameOffset { offset }) => Some(Location::Frame(offset)),
        _ => None,
    })
}

/// Returns an attribute of an entry, or of the one that it completes.
fn attribute<'d>(
    unit: &Unit<'d>,
    entry: &Entry<'_, 'd>,
    name: gimli::DwAt,
) -> gimli::Result<Option<AttributeValue<Slice<'d>>>> {
    if let Some(value) = entry.attr_value(name)? {
        return Ok(Some(value));
    }
    for link in [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification] {
        if let Some(AttributeValue::UnitRef(offset)) = entry.attr_value(link)? {
            return unit.entry(offset)?.attr_value(name);
        }
    }
    Ok(None)
}

fn name_of<'d>(dwarf: &Dwarf<Slice<'d>>, unit: &Unit<'d>, entry: &Entry<'_, 'd>) -> gimli::Result<String> {
    let Some(value) = attribute(unit, entry, gimli::DW_AT_name)? else { return Ok(String::new()) };
    let text = dwarf.attr_string(unit, value)?;
    Ok(String::from_utf8_lossy(text.slice()).into_owned())
}

fn type_of<'d>(dwarf: &Dwarf<Slice<'d>>, unit: &Unit<'d>, entry: &Entry<'_, 'd>) -> gimli::Result<Type> {
    match attribute(unit, entry, gimli::DW_AT_type)? {
        Some(AttributeValue::UnitRef(offset)) => resolve(dwarf, unit, offset, CHAIN),
        _ => Ok(Type::other()),
    }
}

/// Follows a type to what it is made of.
fn resolve<'d>(
    dwarf: &Dwarf<Slice<'d>>,
    unit: &Unit<'d>,
    offset: UnitOffset,
    left: usize,
) -> gimli::Result<Type> {
    let entry = unit.entry(offset)?;
    let size = entry.attr_value(gimli::DW_AT_byte_size)?.and_then(|size| size.udata_value()).unwrap_or(0);
    let target = match entry.attr_value(gimli::DW_AT_type)? {
        Some(AttributeValue::UnitRef(target)) if left > 0 => resolve(dwarf, unit, target, left - 1)?,
        _ => Type::other(),
    };
    Ok(match entry.tag() {
        gimli::DW_TAG_typedef
        | gimli::DW_TAG_const_type
        | gimli::DW_TAG_volatile_type
        | gimli::DW_TAG_restrict_type => target,
        gimli::DW_TAG_array_type => match length(unit, offset)? {
            Some(length) => Type { bytes: target.bytes.saturating_mul(length), ..target },
            None => Type::other(),
        },
        gimli::DW_TAG_pointer_type => {
            Type { name: String::new(), bytes: size, what: What::Pointer(Box::new(target)) }
        }
        gimli::DW_TAG_base_type => {
            let what = match entry.attr_value(gimli::DW_AT_encoding)? {
                Some(AttributeValue::Encoding(gimli::DW_ATE_signed | gimli::DW_ATE_unsigned)) if size > 1 => {
                    What::Numbers(false, size)
                }
                Some(AttributeValue::Encoding(gimli::DW_ATE_float)) => What::Numbers(true, size),
                Some(AttributeValue::Encoding(gimli::DW_ATE_complex_float)) => What::Numbers(true, size / 2),
                _ => What::Other,
            };
            Type { name: name_of(dwarf, unit, &entry)?, bytes: size, what }
        }
        // Structures, unions, and whatever else: how large they are, but not what is in them.
        _ => Type { bytes: size, ..Type::other() },
    })
}

/// Returns how many elements an array has, in all dimensions together.
fn length<'d>(unit: &Unit<'d>, offset: UnitOffset) -> gimli::Result<Option<u64>> {
    let mut tree = unit.entries_tree(Some(offset))?;
    let mut children = tree.root()?.children();
    let mut length: Option<u64> = None;
    while let Some(child) = children.next()? {
        let entry = child.entry();
        let value = |name| -> gimli::Result<Option<u64>> {
            Ok(entry.attr_value(name)?.and_then(|value| value.udata_value()))
        };
        let count = match (value(gimli::DW_AT_count)?, value(gimli::DW_AT_upper_bound)?) {
            (Some(count), _) => count,
            (None, Some(last)) => last.saturating_add(1),
            (None, None) => return Ok(None),
        };
        length = Some(length.unwrap_or(1).saturating_mul(count));
    }
    Ok(length)
}
