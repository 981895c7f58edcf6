//! Categories: the subjects of variables and events. They are the same all the time, and none is in another.

use crate::tools::state::{index, initialized};
use crate::tools::{strings, variables};
use core::ffi::{c_char, c_int};
use weft_base::constants::MPI_T_ERR_INVALID;
use weft_base::settings::TABLE;
use weft_base::tools::Category;
use weft_base::tools::events::Event;
use weft_base::{Error, In, Out, Result};

fn find(cat_index: c_int) -> Result<Category> {
    initialized()?;
    Ok(Category::ALL[index(cat_index, Category::ALL.len(), "cat_index")?])
}

/// Lists the indices of what is in a category.
fn members(all: impl Iterator<Item = Category>, category: Category) -> Vec<c_int> {
    let numbered = all.enumerate().filter(|(_, other)| *other == category);
    numbered.map(|(number, _)| number as c_int).collect()
}

fn control_variables(category: Category) -> Vec<c_int> {
    members(TABLE.iter().map(|setting| setting.category), category)
}

fn performance_variables(category: Category) -> Vec<c_int> {
    members(variables::all().map(|variable| variable.category()), category)
}

fn events(category: Category) -> Vec<c_int> {
    members(Event::ALL.iter().map(|event| event.category()), category)
}

/// Stores as many indices as there is room for.
fn give(found: &[c_int], len: c_int, indices: Out<c_int>) -> Result {
    let Ok(room) = usize::try_from(len) else {
        return Err(Error::new(MPI_T_ERR_INVALID, format!("len is {len}; it must not be negative")));
    };
    if room > 0 && !found.is_empty() {
        strings::output(indices, "indices")?;
    }
    found.iter().take(room).enumerate().for_each(|(place, &number)| indices.set_at(place, number));
    Ok(())
}

/// `MPI_T_category_get_num`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID`
pub fn t_category_get_num(num_cat: Out<c_int>) -> Result {
    initialized()?;
    strings::output(num_cat, "num_cat")?;
    num_cat.set(Category::ALL.len() as c_int);
    Ok(())
}

/// `MPI_T_category_get_info`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID`
#[allow(clippy::too_many_arguments)]
pub fn t_category_get_info(
    cat_index: c_int,
    name: Out<c_char>,
    name_len: Out<c_int>,
    desc: Out<c_char>,
    desc_len: Out<c_int>,
    num_cvars: Out<c_int>,
    num_pvars: Out<c_int>,
    num_categories: Out<c_int>,
) -> Result {
    let category = find(cat_index)?;
    strings::give(category.name(), name, name_len, "name")?;
    strings::give(category.help(), desc, desc_len, "desc")?;
    num_cvars.set(control_variables(category).len() as c_int);
    num_pvars.set(performance_variables(category).len() as c_int);
    num_categories.set(0);
    Ok(())
}

/// `MPI_T_category_get_num_events`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID`
pub fn t_category_get_num_events(cat_index: c_int, num_events: Out<c_int>) -> Result {
    let category = find(cat_index)?;
    strings::output(num_events, "num_events")?;
    num_events.set(events(category).len() as c_int);
    Ok(())
}

/// `MPI_T_category_get_index`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_NAME`, `MPI_T_ERR_INVALID`
pub fn t_category_get_index(name: In<c_char>, cat_index: Out<c_int>) -> Result {
    initialized()?;
    let position = |name: &str| Category::ALL.iter().position(|category| category.name() == name);
    strings::find(name, cat_index, "cat_index", position)
}

/// `MPI_T_category_get_cvars`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID`
pub fn t_category_get_cvars(cat_index: c_int, len: c_int, indices: Out<c_int>) -> Result {
    give(&control_variables(find(cat_index)?), len, indices)
}

/// `MPI_T_category_get_pvars`
///
/// # Errors
/// As [`t_category_get_cvars`].
pub fn t_category_get_pvars(cat_index: c_int, len: c_int, indices: Out<c_int>) -> Result {
    give(&performance_variables(find(cat_index)?), len, indices)
}

/// `MPI_T_category_get_events`
///
/// # Errors
/// As [`t_category_get_cvars`].
pub fn t_category_get_events(cat_index: c_int, len: c_int, indices: Out<c_int>) -> Result {
    give(&events(find(cat_index)?), len, indices)
}

/// `MPI_T_category_get_categories`
///
/// # Errors
/// As [`t_category_get_cvars`].
pub fn t_category_get_categories(cat_index: c_int, len: c_int, indices: Out<c_int>) -> Result {
    find(cat_index)?;
    give(&[], len, indices)
}

/// `MPI_T_category_changed`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID`
pub fn t_category_changed(update_number: Out<c_int>) -> Result {
    initialized()?;
    strings::output(update_number, "update_number")?;
    update_number.set(0);
    Ok(())
}
