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

use crate::edit::{Hooks, NAME_SLOT, Slot, Template};
use crate::enter;
use crate::error::{Error, ErrorKind, Result};
use crate::program::{Object, Program};
use object::elf;
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Describes the public head of the linker's record of a loaded object (`<link.h>`).
#[repr(C)]
pub(crate) struct LinkMap {
    pub base: usize,
    pub name: *const c_char,
    dynamic: *mut c_void,
    next: *mut LinkMap,
    previous: *mut LinkMap,
}

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
    /// Holds the names under which the linker knows the objects, and its record of the program, for programs that ask it.
    pub(crate) linked: Option<(Vec<CString>, usize)>,
    /// Holds what the rank opens while it runs.
    pub(crate) space: OnceLock<&'static crate::plugins::Space>,
    /// Keeps the initial stack frame's argument vectors alive; filled once by `enter`.
    frame: Frame,
}

#[derive(Debug, Default)]
struct Frame(UnsafeCell<Vec<usize>>);

// SAFETY: only `Copy::enter` touches the cell, and its contract allows one call per copy.
unsafe impl Sync for Frame {}

/// Returns the size of a page of memory.
pub(crate) fn page_size() -> u64 {
    // SAFETY: asks for a constant of the system.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

/// Loads libraries that all copies share; copies then find them by name whatever their own search lists say.
pub(crate) fn load_shared(paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| Error::new(path, ErrorKind::Unreadable, "has a zero byte in its path"))?;
        // SAFETY: a valid path; the libraries on the shared list run no user code while they are loaded.
        if unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }.is_null() {
            return Err(Error::new(path, ErrorKind::Refused, linker_error()));
        }
    }
    Ok(())
}

/// Tells whether the host or a library it was linked with defines a symbol: the linker finds those first.
pub(crate) fn host_defines(symbol: &str) -> bool {
    let Ok(name) = CString::new(symbol) else { return false };
    // SAFETY: the handle of the host itself, which stays valid; looking up a name has no effect.
    unsafe { !libc::dlsym(libc::dlopen(std::ptr::null(), libc::RTLD_NOW), name.as_ptr()).is_null() }
}

/// Creates the file that edited tables are mapped from after loading, if edits must stay visible.
pub(crate) fn write_edited(path: &Path, original: &[u8], template: &Template) -> Result<Option<File>> {
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

pub(crate) fn memory_file(path: &Path, length: u64) -> Result<File> {
    // Newer kernels want to hear whether the file will be started as a program, which it will not; a system may
    // insist (vm.memfd_noexec=2). Older kernels do not know the flag.
    // SAFETY: a constant name; the result is checked.
    let create = |flags| unsafe { libc::memfd_create(c"program".as_ptr(), libc::MFD_CLOEXEC | flags) };
    let mut fd = create(libc::MFD_NOEXEC_SEAL);
    if fd < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
        fd = create(0);
    }
    if fd < 0 {
        let hint = "no memory file for its copy (each copy needs a few open files while it is loaded, see ulimit -n)";
        return Err(Error::system(path, hint, &io::Error::last_os_error()));
    }
    // SAFETY: a descriptor just created that nobody else owns.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(length).map_err(|e| Error::system(path, "no memory file for its copy", &e))?;
    Ok(file)
}

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

/// Spells the path of an open file so that no two calls give the same text.
///
/// The number is written in empty and `.` path components at the front, where a comparison of two names ends soon.
/// The process is named by its number because debuggers open the path too: `self` would be the debugger, which waits
/// for ever if its descriptor happens to be a terminal or a pipe.
pub(crate) fn unique_path(file: &File) -> CString {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut path = String::from("/");
    while number != 0 {
        path.push_str(if number & 1 == 1 { "./" } else { "/" });
        number >>= 1;
    }
    path.push_str(&format!("proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
    debug_assert!(path.len() < NAME_SLOT as usize);
    CString::new(path).unwrap_or_default()
}

pub(crate) fn linker_error() -> String {
    // SAFETY: reads the calling thread's message, which stays valid until its next call to the linker.
    unsafe {
        let message = libc::dlerror();
        if message.is_null() {
            return "was refused by the dynamic linker without a reason".into();
        }
        format!("was refused by the dynamic linker: {}", CStr::from_ptr(message).to_string_lossy())
    }
}

/// Adds the limit that is most likely behind a refusal.
pub(crate) fn explain(message: String) -> String {
    let number = |path| std::fs::read_to_string(path).ok().and_then(|s| s.trim().parse::<usize>().ok());
    let maps = std::fs::read("/proc/self/maps").map_or(0, |m| m.iter().filter(|b| **b == b'\n').count());
    match number("/proc/sys/vm/max_map_count") {
        Some(limit) if maps + 16 > limit => format!(
            "{message}; the process has {maps} memory mappings and the system allows {limit}: raise it with sysctl \
             vm.max_map_count={}",
            4 * limit
        ),
        _ => message,
    }
}

/// Taken by whoever loads: two threads doing it at the same time would read the linker's list while it grows.
pub(crate) static LOADING: Mutex<()> = Mutex::new(());

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
        // SAFETY: a valid path. The file is our edit of a program that was found fit for loading.
        let handle = unsafe { libc::dlopen(names[0].as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            let message =
                linker_error().replace(&*names[0].to_string_lossy(), &self.path().to_string_lossy());
            return Err(Error::new(self.path(), ErrorKind::Refused, explain(message)));
        }
        let maps = find_maps(handle.cast(), &names);
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
        crate::plugins::show_debugger();
        for (object, slot, owner, value) in &self.inner.corrections {
            let target = (bases[*owner] + *value as usize).wrapping_add(slot.addend as usize);
            // SAFETY: the slot lies in the object's writable data, as the template's maker checked, and nothing of
            // the copy runs yet.
            unsafe { ((bases[*object] + slot.address as usize) as *mut usize).write_unaligned(target) };
        }
        crate::debugger::notify();
        let entry = bases[0] + objects[0].template.entry as usize;
        let linked = self.inner.asks_linker.then_some((names, handle as usize));
        Ok(Copy {
            program: self.clone(),
            bases,
            entry,
            index,
            linked,
            space: OnceLock::new(),
            frame: Frame::default(),
        })
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

    /// Tells whether an address lies in the copy's code or data.
    pub fn owns(&self, address: usize) -> bool {
        self.locate(address).is_some() || self.space.get().is_some_and(|space| space.owns(address))
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

    /// Counts the memory mappings that the copy takes, as the system counts them now.
    ///
    /// # Errors
    /// What the system says when its list of mappings is read.
    pub fn mappings(&self) -> io::Result<u64> {
        let maps = std::fs::read_to_string("/proc/self/maps")?;
        let starts = |line: &str| usize::from_str_radix(line.split('-').next()?, 16).ok();
        Ok(maps.lines().filter_map(starts).filter(|start| self.owns(*start)).count() as u64)
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
        let address = self.program.inner.objects[0].template.copied.get(symbol)?;
        Some(self.bases[0] + *address as usize)
    }

    /// Runs the constructors of the private libraries, then the program's, each after those it needs.
    ///
    /// Programs built with a libc before 2.34 pass their own loop over their constructors as the fourth argument of
    /// `__libc_start_main`; the host must not call it, as this has run them all.
    ///
    /// # Safety
    /// Must be called once, on the rank's own thread, with the vectors `main` will get.
    pub unsafe fn run_constructors(&self, argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) {
        let (base, hooks) = (self.bases[0], &self.program.inner.objects[0].template.hooks);
        if let Some(space) = self.space.get() {
            space.set_arguments(argc, argv, envp);
        }
        // SAFETY: passed on to the caller; the program's table of early constructors comes before everything.
        unsafe {
            run_array(base, hooks.before, argc, argv, envp);
            for object in &self.program.inner.order {
                self.construct(*object, argc, argv, envp);
            }
        }
    }

    /// Runs destructors in the reverse order of constructors: the program's first.
    ///
    /// # Safety
    /// Must be called once, on the rank's own thread, after what the rank registered for its exit has run. Nothing
    /// of the copy may run afterwards.
    pub unsafe fn run_destructors(&self) {
        if let Some(space) = self.space.get() {
            // SAFETY: passed on to the caller.
            return unsafe { space.run_all_destructors() };
        }
        for object in self.program.inner.order.iter().rev() {
            // SAFETY: tables and functions were found inside the object; the caller keeps the order.
            unsafe { destruct(self.bases[*object], &self.program.inner.objects[*object].template.hooks) };
        }
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

    unsafe fn construct(&self, object: usize, argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) {
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

unsafe fn run_array(
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
