//! A program made ready for loading: its parts, their templates and the order of their constructors.

use crate::edit::{Slot, Template};
use crate::error::{Error, ErrorKind, Result};
use crate::examine;
use crate::libraries::{Search, System};
use crate::linker::memory_file;
use crate::parts::{self, Need, Part};
use crate::variables::{self, Copied, is_plain_definition};
use crate::versions;
use object::elf;
use std::collections::{BTreeSet, HashMap};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A program whose files were read and edited once, ready to be loaded any number of times.
#[derive(Debug, Clone)]
pub struct Program {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    /// Holds the program first, then its private libraries.
    pub objects: Vec<Object>,
    /// Lists the objects so that each comes after those it needs.
    pub order: Vec<usize>,
    /// Tells for each name that the program or a private library defines who does first, and where: references
    /// to them are not libc's.
    pub own_names: HashMap<Box<str>, (usize, u64)>,
    /// Lists places that the linker fills with a symbol of the host or of libc although the program or a private
    /// library defines one of that name. In a process of its own the program comes before libc in the order of
    /// search; here the host and its libraries come first. Each is an object, a place in it, and what belongs
    /// there: an object and an address in it.
    pub corrections: Vec<(usize, Slot, usize, u64)>,
    /// Lists the variables of private libraries that the program has in its own memory. For the linker a copy is no program:
    /// it finds the program's own variable, which is empty, when it looks for what to copy.
    pub copied: Vec<Copied>,
    /// Lists the tools that come between the program and MPI: no object says that it needs them.
    pub tools: Vec<usize>,
    /// Lists for each object the private libraries it needs, as indices among the objects.
    pub needs: Vec<Vec<usize>>,
    /// Lists all objects of the program in the order in which symbols are searched.
    pub list: Vec<Listed>,
    /// Lists the names under which programs need our library.
    pub ours: Vec<String>,
    /// Tells whether an object of the program opens plugins or asks the dynamic linker anything.
    pub asks_linker: bool,
}

/// An object of a program in the order of search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listed {
    /// The program or a private library.
    Own(usize),
    /// What all ranks share, by the name it is needed under.
    Shared(CString),
}

#[derive(Debug)]
pub(crate) struct Object {
    pub path: PathBuf,
    /// Holds the name the object gives itself.
    pub soname: Option<String>,
    /// Holds the path as the dynamic linker's list of objects shows it; lives as long as the process.
    pub link_name: &'static CString,
    pub file: crate::map::MappedFile,
    pub template: Template,
    /// Holds the edited tables if they must stay visible after loading.
    pub edited: Option<File>,
}

impl Program {
    /// Reads and edits a program and its private libraries, and loads the shared ones.
    ///
    /// `ours` lists the names under which programs need our library. Risks that [`crate::examine`] reports do not
    /// matter here, only what makes loading impossible.
    ///
    /// # Errors
    /// Says why the program cannot be loaded as copies.
    pub fn prepare(path: &Path, ours: &[&str]) -> Result<Program> {
        Self::prepare_with(path, &[], ours, &System::new())
    }

    /// Does what [`Program::prepare`] does, with tools that come between the program and MPI, finding libraries by `search`.
    ///
    /// # Errors
    /// Says why the program cannot be loaded as copies.
    pub fn prepare_with(
        path: &Path,
        tools: &[PathBuf],
        ours: &[&str],
        search: &dyn Search,
    ) -> Result<Program> {
        examine::check_program(path)?;
        let parts = parts::collect(path, tools, ours, search)?;
        let (reasons, _) = examine::judge(&parts)?;
        let blocking: Vec<_> = reasons.iter().filter(|r| r.kind.is_impossible()).collect();
        if let Some(first) = blocking.first() {
            return Err(Error::new(
                &first.object,
                ErrorKind::NeedsProcesses,
                format!("{}; {}, or run its ranks as processes", first.what, first.remedy),
            ));
        }
        crate::linker::load_shared(&shared(&parts))?;
        Self::from_parts(parts, tools.len(), ours)
    }

    fn from_parts(parts: Vec<Part>, tools: usize, ours: &[&str]) -> Result<Program> {
        let page = crate::linker::page_size();
        let order = order(&parts);
        let mut own_names = HashMap::new();
        let mut objects = Vec::new();
        for part in &parts {
            let image = part.image()?;
            let private: HashMap<&str, usize> = part
                .needs
                .iter()
                .filter_map(|(name, need)| match need {
                    Need::Private(index) => Some((name.as_str(), *index)),
                    _ => None,
                })
                .collect();
            let template =
                Template::new(&image, &private, page).map_err(|fault| parts::at(&part.path, fault))?;
            for symbol in image.symbols().filter(is_plain_definition) {
                own_names.entry(Box::from(symbol.name)).or_insert((objects.len(), symbol.value));
            }
            objects.push(template);
        }
        let copied = variables::copied(&parts, &mut objects)?;
        let corrections = corrections(&objects, &own_names);
        let tools = parts[0].private_needs().take(tools).collect();
        let needs = parts.iter().map(|part| part.private_needs().collect()).collect();
        let list = list(&parts);
        let asks_linker = objects
            .iter()
            .any(|template| crate::linker::REPLACED.iter().any(|name| template.slots.contains_key(*name)));
        let objects = parts.into_iter().zip(objects).map(|(part, template)| Object::new(part, template));
        Ok(Program {
            inner: Arc::new(Inner {
                objects: objects.collect::<Result<_>>()?,
                order,
                own_names,
                corrections,
                copied,
                tools,
                needs,
                list,
                ours: ours.iter().map(|name| (*name).to_string()).collect(),
                asks_linker,
            }),
        })
    }

    /// Returns the program's absolute path.
    pub fn path(&self) -> &Path {
        &self.inner.objects[0].path
    }

    /// Tells whether the program or a private library asks for stacks that may be executed, as nested functions of
    /// C and internal procedures of Fortran need. The linker takes care of stacks it knows when it loads the first
    /// copy; whoever maps stacks by itself must make them executable.
    pub fn needs_executable_stack(&self) -> bool {
        self.inner.objects.iter().any(|o| o.template.executable_stack)
    }

    /// Tells whether the program or a private library refers to a symbol of a shared library.
    pub fn refers_to(&self, symbol: &str) -> bool {
        let refers = |object: &Object| {
            let template = &object.template;
            template.slots.contains_key(symbol) || template.copied.contains_key(symbol)
        };
        self.inner.objects.iter().any(refers)
    }

    /// Lists the libraries of which each rank gets its own copy.
    pub fn private_libraries(&self) -> impl Iterator<Item = &Path> {
        self.inner.objects[1..].iter().map(|o| o.path.as_path())
    }
}

impl Object {
    /// Keeps what copies of an object are made from.
    pub(crate) fn new(part: Part, template: Template) -> Result<Object> {
        // The linker keeps the pointer for the life of the process, so the name is leaked: once per program.
        let name = CString::new(part.path.as_os_str().as_bytes())
            .map_err(|_| Error::new(&part.path, ErrorKind::Unreadable, "has a zero byte in its path"))?;
        let soname = part.image()?.tagged_string(elf::DT_SONAME).map(String::from);
        let edited = write_edited(&part.path, part.file.bytes(), &template)?;
        Ok(Object {
            path: part.path,
            soname,
            link_name: Box::leak(Box::new(name)),
            file: part.file,
            template,
            edited,
        })
    }
}

/// Creates the file that edited tables are mapped from after loading, if edits must stay visible.
fn write_edited(path: &Path, original: &[u8], template: &Template) -> Result<Option<File>> {
    if !template.maps.iter().any(|map| map.edited) {
        return Ok(None);
    }
    let file = memory_file(path, template.length)?;
    let failed = |e: io::Error| Error::system(path, "cannot write its edited tables", &e);
    for map in template.maps.iter().filter(|map| map.edited) {
        let (from, to) = (map.offset as usize, ((map.offset + map.length) as usize).min(original.len()));
        file.write_all_at(original.get(from..to).unwrap_or(&[]), map.offset).map_err(failed)?;
    }
    for piece in &template.pieces {
        let covered = template.maps.iter().any(|m| {
            m.edited
                && m.offset < piece.offset + piece.bytes.len() as u64
                && piece.offset < m.offset + m.length
        });
        if covered {
            file.write_all_at(&piece.bytes, piece.offset).map_err(failed)?;
        }
    }
    Ok(Some(file))
}

fn corrections(
    objects: &[Template],
    own_names: &HashMap<Box<str>, (usize, u64)>,
) -> Vec<(usize, Slot, usize, u64)> {
    let mut all = Vec::new();
    for (index, template) in objects.iter().enumerate() {
        for (name, slots) in &template.slots {
            let Some((owner, value)) = own_names.get(name).filter(|_| crate::linker::host_defines(name))
            else {
                continue;
            };
            all.extend(slots.iter().map(|slot| (index, *slot, *owner, *value)));
        }
    }
    all
}

/// Lists the shared libraries that have to be in the process before a copy is loaded.
fn shared(parts: &[Part]) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let needs = parts.iter().flat_map(|part| &part.needs);
    needs
        .filter_map(|(_, need)| match need {
            Need::Shared(Some(path)) if seen.insert(path.clone()) => Some(path.clone()),
            _ => None,
        })
        .collect()
}

/// Lists a program's objects in the order of search: breadth first, each once.
fn list(parts: &[Part]) -> Vec<Listed> {
    let mut list = vec![Listed::Own(0)];
    for (name, need) in parts.iter().flat_map(|part| &part.needs) {
        let next = match need {
            Need::Private(index) => Listed::Own(*index),
            Need::Ours | Need::Shared(_) => match CString::new(name.as_str()) {
                Ok(name) => Listed::Shared(name),
                Err(_) => continue,
            },
        };
        if !list.contains(&next) {
            list.push(next);
        }
    }
    list
}

/// Orders objects so that each comes after those it needs; in a circle the one met first comes last.
fn order(parts: &[Part]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; parts.len()];
    // A stack of its own instead of recursion: the depth is up to whoever made the files.
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((object, next)) = stack.pop() {
        let Some((_, need)) = parts[object].needs.get(next) else {
            order.push(object);
            continue;
        };
        stack.push((object, next + 1));
        if let Need::Private(index) = need
            && !seen[*index]
        {
            seen[*index] = true;
            stack.push((*index, 0));
        }
    }
    order
}

/// Parses and edits bytes as [`crate::examine`] and [`Program::prepare`] would, without files: for fuzzing.
///
/// # Errors
/// Says what is wrong with the bytes.
///
/// # Panics
/// If the template made from the bytes contradicts itself: that would be our fault, not the file's.
pub fn check_bytes(bytes: &[u8]) -> Result<(), String> {
    use crate::image::Image;
    let path = Path::new("bytes");
    let image = Image::parse(bytes).map_err(|fault| fault.message)?;
    examine::check_kind(&image, path).map_err(|error| error.message)?;
    let names: Vec<String> =
        image.needed().map_err(|fault| fault.message)?.iter().map(|(name, _)| (*name).to_string()).collect();
    examine::judge_image(path, &image).map_err(|error| error.message)?;
    versions::definitions(&image).map_err(|fault| fault.message)?;
    // Once with every library shared and once with every library private.
    Template::new(&image, &HashMap::new(), 4096).map_err(|fault| fault.message)?;
    let private = names.iter().enumerate().map(|(index, name)| (name.as_str(), index + 1)).collect();
    let template = Template::new(&image, &private, 4096).map_err(|fault| fault.message)?;
    if let Err(message) = template.check(bytes.len() as u64) {
        panic!("inconsistent template: {message}");
    }
    Ok(())
}
