//! Loads copies of a prepared program into this process and runs what they bring.
//!
//! This module changes the process's memory map and calls into the dynamic linker and into the program, which is
//! why it needs unsafe code. A copy is loaded in these steps:
//!
//! 1. A memory file per object gets the template's pieces; the rest of it stays a hole.
//! 2. `dlopen` maps and relocates them. The path it is given leads to the memory file and never repeats: the linker
//!    takes a name it has seen for the object it has loaded under it, even if another file is there now.
//! 3. Code and read-only data are mapped from the original file over the copy's pages, so that all copies share
//!    them; writable data becomes anonymous memory. Nothing refers to the memory file any more and it vanishes.
//! 4. The linker's list of objects gets the original path, which debuggers, profilers and backtraces look at.
//!
//! Copies are never unloaded: their threads, handlers and stdio buffers may be referred to until the process ends.
#![allow(unsafe_code)]

use crate::edit::{Hooks, NAME_SLOT, Slot};
use crate::enter;
use crate::error::{Error, ErrorKind, Result};
use crate::linker::order::{open, open_wrapper, show_debugger};
use crate::linker::{LOADING, LinkMap, explain, memory_file, unique_path};
use crate::program::{Object, Program};
use object::elf;
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::PoisonError;

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char);

/// One rank's private copy of a program and its private libraries.
#[derive(Debug)]
pub struct Copy {
    program: Program,
    /// Holds the load address of each of the program's objects.
    bases: Box<[usize]>,
    /// Holds the address of the copy's ELF entry point.
    pub entry: usize,
    /// Tells which copy this is, as given to [`Program::load_copy`].
    pub index: usize,
    /// Holds the names under which the linker knows the objects, and the handle by which their symbols are found in the order
    /// of search, for programs that ask it.
    pub(crate) linked: Option<(Vec<CString>, usize)>,
    /// Keeps the initial stack frame's argument vectors alive; filled once by `enter`.
    frame: InitialStack,
}

#[derive(Debug, Default)]
struct InitialStack(UnsafeCell<Vec<usize>>);

// SAFETY: only `Copy::enter` touches the cell, and its contract allows one call per copy.
unsafe impl Sync for InitialStack {}

/// Fills a copy's file: the template's pieces and the paths of its private libraries.
pub(crate) fn fill_copy(object: &Object, file: &File, libraries: &[CString]) -> Result<()> {
    let template = &object.template;
    let failed = |e: io::Error| Error::system(&object.path, "no memory for its copy", &e);
    for piece in &template.pieces {
        file.write_all_at(&piece.bytes, piece.offset).map_err(failed)?;
    }
    if !template.libraries.is_empty() {
        let mut names = vec![0; NAME_SLOT as usize * template.libraries.len()];
        for (slot, library) in names.chunks_mut(NAME_SLOT as usize).zip(&template.libraries) {
            let name = libraries[*library].as_bytes();
            slot[..name.len()].copy_from_slice(name);
        }
        file.write_all_at(&names, template.names_offset).map_err(failed)?;
    }
    Ok(())
}

impl Program {
    /// Loads one more copy; `index` is only remembered.
    ///
    /// No code of the program runs, except resolvers of indirect functions. Others that load anything wait meanwhile.
    ///
    /// # Errors
    /// Says which limit of the system or which symbol stands in the way.
    pub fn load_copy(&self, index: usize) -> Result<Copy> {
        let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
        let objects = &self.inner.objects;
        let mut files: Vec<File> = Vec::with_capacity(objects.len());
        let mut names: Vec<CString> = Vec::with_capacity(objects.len());
        // The paths of all files must be known before any of them is complete.
        for object in objects {
            let file = memory_file(&object.path, object.template.length)?;
            names.push(unique_path(&file));
            files.push(file);
        }
        for (object, file) in objects.iter().zip(&files) {
            fill_copy(object, file, &names)?;
        }
        let (handle, scope) = self.open_first(&names).map_err(|mut message| {
            for (object, name) in objects.iter().zip(&names) {
                message = message.replace(&*name.to_string_lossy(), &object.path.to_string_lossy());
            }
            Error::new(self.path(), ErrorKind::Refused, explain(message))
        })?;
        let maps = find_maps(handle as *mut LinkMap, &names);
        let mut bases = vec![0; objects.len()].into_boxed_slice();
        for (position, map) in maps.iter().enumerate() {
            let object = &objects[position];
            let Some(map) = map else {
                return Err(Error::new(&object.path, ErrorKind::Refused, "was not loaded with the program"));
            };
            // SAFETY: the linker's record of an object we loaded just now and nobody uses yet. The name lives for
            // ever; the old one belongs to the linker, which would free it only on unloading.
            unsafe {
                bases[position] = (**map).base;
                (**map).name = object.link_name.as_ptr();
            }
            settle(object, bases[position])?;
        }
        for copied in &self.inner.copied {
            let from = (bases[copied.owner] + copied.from as usize) as *const u8;
            let to = (bases[0] + copied.to as usize) as *mut u8;
            // SAFETY: a variable of a library and room for it in the program's data, as the template's maker checked. They
            // are of different objects, and nothing of the copy runs yet.
            unsafe { std::ptr::copy_nonoverlapping(from, to, copied.length as usize) };
        }
        for (object, slot, owner, value) in &self.inner.corrections {
            let target = (bases[*owner] + *value as usize).wrapping_add(slot.addend as usize);
            // SAFETY: the slot lies in the object's writable data, as the template's maker checked, and nothing of
            // the copy runs yet.
            unsafe { ((bases[*object] + slot.address as usize) as *mut usize).write_unaligned(target) };
        }
        show_debugger();
        let entry = bases[0] + objects[0].template.entry as usize;
        let linked = self.inner.asks_linker.then_some((names, scope));
        Ok(Copy { program: self.clone(), bases, entry, index, linked, frame: InitialStack::default() })
    }
}

impl Program {
    /// Opens a copy's files, which have these names. Returns the linker's record of the program, and the handle by which all
    /// symbols of the copy are found in the order of search.
    fn open_first(&self, names: &[CString]) -> std::result::Result<(usize, usize), String> {
        let flags = libc::RTLD_NOW | libc::RTLD_LOCAL;
        if self.inner.tools.is_empty() {
            let handle = open(&names[0], flags)?;
            return Ok((handle, handle));
        }
        // Tools come behind the program and before all that it needs.
        let order: Vec<&CStr> =
            std::iter::once(&0).chain(&self.inner.tools).map(|index| names[*index].as_c_str()).collect();
        let scope = open_wrapper(&order, flags)?;
        Ok((open(&names[0], flags | libc::RTLD_NOLOAD)?, scope))
    }
}

/// Finds the linker's records of a copy's objects by the names they were loaded under.
fn find_maps(program: *mut LinkMap, names: &[CString]) -> Vec<Option<*mut LinkMap>> {
    let mut found = vec![None; names.len()];
    found[0] = Some(program);
    if names.len() == 1 {
        return found;
    }
    // SAFETY: a handle is the record; records of the program's new libraries follow it in the list, and records are
    // only removed by unloading, which never happens to copies.
    unsafe {
        let mut map = (*program).next;
        while !map.is_null() {
            let name = CStr::from_ptr((*map).name);
            if let Some(at) = names.iter().position(|n| n.as_c_str() == name) {
                found[at] = Some(map);
            }
            map = (*map).next;
        }
    }
    found
}

/// Replaces the pages of a loaded object's memory file.
pub(crate) fn settle(object: &Object, base: usize) -> Result<()> {
    let failed = || {
        let error = io::Error::last_os_error();
        Error::new(&object.path, ErrorKind::System, explain(format!("its code cannot be mapped: {error}")))
    };
    let template = &object.template;
    for map in &template.maps {
        let file = if map.edited { object.edited.as_ref() } else { None }.unwrap_or(object.file.file());
        let mut protection = 0;
        for (flag, bit) in [(elf::PF_R, libc::PROT_READ), (elf::PF_X, libc::PROT_EXEC)] {
            protection |= if map.flags & flag != 0 { bit } else { 0 };
        }
        // SAFETY: the range lies inside the object's own read-only segments, whose content the file repeats.
        let result = unsafe {
            libc::mmap(
                (base + map.address as usize) as *mut c_void,
                map.length as usize,
                protection,
                libc::MAP_PRIVATE | libc::MAP_FIXED,
                file.as_raw_fd(),
                map.offset as libc::off_t,
            )
        };
        if result == libc::MAP_FAILED {
            return Err(failed());
        }
    }
    for (address, length) in &template.private {
        let (start, length) = ((base + *address as usize) as *mut u8, *length as usize);
        // SAFETY: the range is the object's writable data, which nobody uses yet; its content is put back.
        unsafe {
            let content = std::slice::from_raw_parts(start, length).to_vec();
            let result = libc::mmap(
                start.cast(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            );
            if result == libc::MAP_FAILED {
                return Err(failed());
            }
            std::ptr::copy_nonoverlapping(content.as_ptr(), start, length);
        }
    }
    Ok(())
}

impl Copy {
    /// Returns the program this is a copy of.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the address the program itself was loaded at.
    pub fn base(&self) -> usize {
        self.bases[0]
    }

    /// Returns the load address of each object.
    pub(crate) fn bases(&self) -> &[usize] {
        &self.bases
    }

    /// Finds the file an address of this copy belongs to, and the address inside that file as `addr2line` and
    /// symbol tables count it.
    pub fn locate(&self, address: usize) -> Option<(&Path, usize)> {
        let objects = self.program.inner.objects.iter().zip(&self.bases);
        for (object, base) in objects {
            let (low, high) = object.template.span;
            let inside = address.wrapping_sub(*base) as u64;
            if address >= *base && inside >= low && inside < high {
                return Some((&object.path, inside as usize));
            }
        }
        None
    }

    /// Lets the program's and its private libraries' references to a symbol of a shared library lead to `address`.
    ///
    /// Works for data (`optarg`) and functions. Returns the number of places changed; none if nobody refers to the
    /// symbol, or if the program defines it by itself.
    ///
    /// # Safety
    /// `address` must be good for all the program does with the symbol, for as long as the copy runs. The copy must
    /// not be running.
    pub unsafe fn redirect(&self, symbol: &str, address: usize) -> usize {
        let inner = &self.program.inner;
        if inner.own_names.contains_key(symbol) {
            return 0;
        }
        let mut changed = 0;
        for (object, base) in inner.objects.iter().zip(&self.bases) {
            for Slot { address: slot, addend } in object.template.slots.get(symbol).into_iter().flatten() {
                // SAFETY: the slot lies in the object's writable data, as the template's maker checked, and nothing
                // of the copy runs. It need not be aligned.
                unsafe {
                    let place = (base + *slot as usize) as *mut usize;
                    place.write_unaligned(address.wrapping_add(*addend as usize));
                }
                changed += 1;
            }
        }
        changed
    }

    /// Returns the address of a shared library's variable that the linker has copied into the program.
    pub fn copied_variable(&self, symbol: &str) -> Option<usize> {
        let place = self.program.inner.objects[0].template.copied.get(symbol)?;
        Some(self.bases[0] + place.address as usize)
    }

    /// Starts the copy at its entry point, on the calling thread's stack.
    ///
    /// The program's start code sets itself up and calls `__libc_start_main`, which the host must have defined; that
    /// function must not return.
    ///
    /// # Safety
    /// At most once per copy. `argv` and `envp` must end with null and stay valid while the rank runs.
    pub unsafe fn enter(&self, argv: *const *const c_char, envp: *const *const c_char) -> ! {
        // SAFETY: nobody else touches the cell, as this is called at most once; vectors end with null.
        unsafe {
            let frame = &mut *self.frame.0.get();
            *frame = enter::initial_frame(argv, envp, self.entry);
            enter::jump(frame, self.entry)
        }
    }

    /// Runs the constructors of one of the objects.
    ///
    /// # Safety
    /// Once, on the rank's own thread, with the vectors `main` will get.
    pub(crate) unsafe fn construct(
        &self,
        object: usize,
        argc: c_int,
        argv: *mut *mut c_char,
        envp: *mut *mut c_char,
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            construct(
                self.bases[object],
                &self.program.inner.objects[object].template.hooks,
                argc,
                argv,
                envp,
            )
        }
    }
}

/// Runs the constructors of an object.
///
/// # Safety
/// The object is loaded at `base` and these are its constructors.
pub(crate) unsafe fn construct(
    base: usize,
    hooks: &Hooks,
    argc: c_int,
    argv: *mut *mut c_char,
    envp: *mut *mut c_char,
) {
    // SAFETY: tables and functions were found inside the object; passed on to the caller.
    unsafe {
        if let Some(address) = hooks.start {
            call(base + address as usize, argc, argv, envp);
        }
        run_array(base, hooks.start_array, argc, argv, envp);
    }
}

/// Runs the destructors of an object.
///
/// # Safety
/// The object is loaded at `base` and these are its destructors.
pub(crate) unsafe fn destruct(base: usize, hooks: &Hooks) {
    let none = std::ptr::null_mut;
    // SAFETY: tables and functions were found inside the object; passed on to the caller.
    unsafe {
        if let Some((address, count)) = hooks.end_array {
            for at in (0..count as usize).rev() {
                call(*((base + address as usize) as *const usize).add(at), 0, none(), none());
            }
        }
        if let Some(address) = hooks.end {
            call(base + address as usize, 0, none(), none());
        }
    }
}

/// Calls the functions of a table.
///
/// # Safety
/// The table is one of an object that is loaded at `base`.
pub(crate) unsafe fn run_array(
    base: usize,
    array: Option<(u64, u64)>,
    argc: c_int,
    argv: *mut *mut c_char,
    envp: *mut *mut c_char,
) {
    let Some((address, count)) = array else { return };
    for at in 0..count as usize {
        // SAFETY: the table lies in the object's data, aligned, as the template's maker checked.
        unsafe { call(*((base + address as usize) as *const usize).add(at), argc, argv, envp) };
    }
}

/// Calls a constructor or destructor; the linker leaves out empty entries too.
unsafe fn call(function: usize, argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) {
    if function != 0 && function != usize::MAX {
        // SAFETY: the program's own table names it as a function of this kind.
        unsafe { std::mem::transmute::<usize, Main>(function)(argc, argv, envp) };
    }
}
