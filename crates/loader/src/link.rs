//! Says how a program must be compiled and linked so that it can be loaded as copies.
//!
//! A program without a TLS segment is linked as the ordinary position-independent executable: that is what every
//! build system tests for, `gdb` and `valgrind` know it, and nothing about it stands in the loader's way as long
//! as its code was compiled with [`COMPILE`].
//!
//! A program *with* one (`thread_local`, OpenMP `threadprivate`) cannot be such an executable. The linker rewrites
//! every access to thread-local data of an executable into a fixed distance from the thread pointer (local-exec),
//! a place that belongs to the process's first program. Linked as a shared object the accesses stay dynamic and
//! each copy gets its own block per thread; with an entry point, the start-up object and an interpreter name the
//! same file still runs directly. Why not always link like that: a shared object's functions and data can be
//! interposed, so calls go through the PLT unless `-Bsymbolic` is there, and copies of a shared object take more
//! relocations; debuggers and `file` call it a library.
//!
//! The wrappers therefore link once as usual, look whether the result has a `PT_TLS` segment
//! ([`needs_shared_link`]), and only then link again with [`SHARED_LINK`]. That also catches thread-local data
//! that comes in from static libraries, which no look at the command line would show.

use crate::image::Image;
use object::elf;

#[cfg(not(target_arch = "aarch64"))]
macro_rules! interpreter {
    () => {
        "/lib64/ld-linux-x86-64.so.2"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! interpreter {
    () => {
        "/lib/ld-linux-aarch64.so.1"
    };
}

/// Compiler flags for every translation unit.
///
/// `-fPIC` keeps references to library data (`stdout`, `optarg`, `std::cout`) in the global offset table. Without
/// it the compiler lets the linker move that data into the program by a COPY relocation.
pub const COMPILE: &[&str] = &["-fPIC"];

/// Linker flags for a program without thread-local data, put before the user's own.
///
/// `-pie` because some compilers are configured without it; `-z,now` would change nothing, copies are always
/// bound at once.
pub const LINK: &[&str] = &["-pie"];

/// Linker flags for a program with thread-local data, to replace [`LINK`].
///
/// - `-shared`: dynamic TLS. The compiler driver then takes `crtbeginS.o` and `crtendS.o`.
/// - `-e _start` with the start-up object ([`START_OBJECT`]) makes the shared object runnable.
/// - `-Bsymbolic` binds the program's own references inside the program as in an executable.
/// - `-z defs`: undefined symbols stay errors, as for an executable.
/// - `-u main`: takes `main` out of a static library, as for an executable.
pub const SHARED_LINK: &[&str] =
    &["-shared", "-Wl,-e,_start", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-Wl,-u,main"];

/// Names the start-up object that [`SHARED_LINK`] needs; `$CC -print-file-name=Scrt1.o` gives its path.
pub const START_OBJECT: &str = "Scrt1.o";

/// Assembly source of the `.interp` section that [`SHARED_LINK`] needs as one more object file
/// (`$CC -c -x assembler`).
///
/// The section is marked as retained (`R`) so that `--gc-sections` keeps it although nothing refers to it. The
/// note section says that the stack need not be executable.
pub const INTERPRETER_SOURCE: &str = concat!(
    ".section .interp,\"aR\",%progbits\n",
    ".asciz \"",
    interpreter!(),
    "\"\n",
    ".section .note.GNU-stack,\"\",%progbits\n"
);

/// Linker flags that C++ programs need besides, where the compiler has the static library: the state of `std::cout`
/// (its buffer, width and base) and the global locale are per process, so each copy must have its own. Its symbols
/// stay out of the program's dynamic symbol table, which otherwise each copy would carry. What nobody calls is left out
/// (`--gc-sections`), so that the program does not seem to call `setlocale` and `chdir`, which that library could. Not for
/// shared libraries: an exception should meet one C++ library on its way.
pub const CXX_LINK: &[&str] = &["-static-libstdc++", "-Wl,--exclude-libs,libstdc++.a", "-Wl,--gc-sections"];

/// Names the library that [`CXX_LINK`] needs; `$CXX -print-file-name=libstdc++.a` gives its path if there is one.
pub const CXX_STATIC_LIBRARY: &str = "libstdc++.a";

/// Tells from a linked program's bytes whether it has to be linked again with [`SHARED_LINK`].
pub fn needs_shared_link(bytes: &[u8]) -> bool {
    Image::parse(bytes).is_ok_and(|image| {
        image.segment(elf::PT_TLS).is_some() && (image.kind == elf::ET_EXEC || is_pie(&image))
    })
}

/// Tells whether the linker made this object as an executable.
pub(crate) fn is_pie(image: &Image<'_>) -> bool {
    image.tag(elf::DT_FLAGS_1).is_some_and(|flags| flags & u64::from(elf::DF_1_PIE) != 0)
}
