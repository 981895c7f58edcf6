//! Variables of a program's own libraries that the program has in its own memory (COPY relocations).

use crate::edit::{Place, Slot, Template};
use crate::error::{Error, ErrorKind, Result};
use crate::image::Symbol;
use crate::parts::Part;
use object::elf;
use std::collections::HashMap;

/// A variable of a private library that a program has in its own memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copied {
    /// The library's index among the objects, and the variable's address in it.
    pub owner: usize,
    pub from: u64,
    /// The address in the program.
    pub to: u64,
    pub length: u64,
}

/// Tells whether a symbol is data or a function that other objects may refer to.
pub(crate) fn is_plain_definition(symbol: &Symbol<'_>) -> bool {
    symbol.defined
        && matches!(symbol.bind, elf::STB_GLOBAL | elf::STB_WEAK | elf::STB_GNU_UNIQUE)
        && matches!(symbol.kind, elf::STT_NOTYPE | elf::STT_OBJECT | elf::STT_FUNC)
}

/// Tells whether a symbol is a variable that a program may have copied into itself.
fn is_variable(symbol: &Symbol<'_>) -> bool {
    is_plain_definition(symbol) && symbol.kind != elf::STT_FUNC
}

/// Lists the variables of private libraries by name, with the first object that defines each.
pub(crate) fn library_variables(parts: &[Part]) -> Result<HashMap<Box<str>, (usize, Place)>> {
    let mut all = HashMap::new();
    for (index, part) in parts.iter().enumerate().skip(1) {
        for symbol in part.image()?.symbols().filter(is_variable) {
            let place = Place { address: symbol.value, length: symbol.size };
            all.entry(symbol.name.into()).or_insert((index, place));
        }
    }
    Ok(all)
}

/// Finds what the program keeps of its private libraries. References in such a variable are the program's, too, from now on, so
/// that all that is done to references reaches both.
pub(crate) fn copied(parts: &[Part], templates: &mut [Template]) -> Result<Vec<Copied>> {
    if templates[0].copied.is_empty() {
        return Ok(Vec::new());
    }
    let variables = library_variables(parts)?;
    let (program, libraries) = templates.split_at_mut(1);
    let mut all = Vec::new();
    for (name, place) in &program[0].copied {
        let Some((owner, source)) = variables.get(name) else { continue };
        let length = place.length.min(source.length);
        let library = &libraries[owner - 1];
        let is_inside = source
            .address
            .checked_add(length)
            .is_some_and(|end| library.span.0 <= source.address && end <= library.span.1);
        if !is_inside {
            return Err(Error::new(
                &parts[*owner].path,
                ErrorKind::Malformed,
                format!("has {name} outside its memory"),
            ));
        }
        for (symbol, slots) in &library.slots {
            let inside = slots
                .iter()
                .filter(|slot| slot.address >= source.address && slot.address + 8 <= source.address + length);
            let moved: Vec<Slot> = inside
                .map(|slot| Slot {
                    address: slot.address - source.address + place.address,
                    addend: slot.addend,
                })
                .collect();
            if !moved.is_empty() {
                program[0].slots.entry(symbol.clone()).or_default().extend(moved);
            }
        }
        all.push(Copied { owner: *owner, from: source.address, to: place.address, length });
    }
    Ok(all)
}
