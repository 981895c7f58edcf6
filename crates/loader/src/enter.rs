//! Starts a copy at its ELF entry point as the kernel would: with the initial stack frame below the stack pointer.
//!
//! ```text
//!   stack pointer → argc          16-byte aligned
//!                   argv[0] … argv[argc-1]
//!                   0
//!                   envp[0] …
//!                   0
//!                   auxiliary vector: pairs of type and value, ending with AT_NULL
//! ```
//!
//! Switching to a place on the stack that no compiler knows of takes assembly.
#![allow(unsafe_code)]

use std::ffi::c_char;

/// Lists the entries of the process's auxiliary vector that programs may look for on their stack.
const PASSED_ON: &[libc::c_ulong] = &[
    libc::AT_PAGESZ,
    libc::AT_HWCAP,
    libc::AT_HWCAP2,
    libc::AT_CLKTCK,
    libc::AT_SECURE,
    libc::AT_RANDOM,
    libc::AT_SYSINFO_EHDR,
    libc::AT_UID,
    libc::AT_EUID,
    libc::AT_GID,
    libc::AT_EGID,
];

/// Builds the words of the initial frame; their number is even so that both ends are aligned.
///
/// # Safety
/// Both vectors must end with null.
pub(crate) unsafe fn initial_frame(
    argv: *const *const c_char,
    envp: *const *const c_char,
    entry: usize,
) -> Vec<usize> {
    let mut words = vec![0];
    for (index, vector) in [argv, envp].into_iter().enumerate() {
        let mut at = 0;
        // SAFETY: reads up to the vector's end mark.
        while let Some(word) = unsafe { vector.add(at).as_ref() }.filter(|w| !w.is_null()) {
            words.push(*word as usize);
            at += 1;
        }
        words.push(0);
        if index == 0 {
            words[0] = at;
        }
    }
    for kind in PASSED_ON {
        // SAFETY: reads the process's auxiliary vector.
        words.extend([*kind as usize, unsafe { libc::getauxval(*kind) } as usize]);
    }
    words.extend([libc::AT_ENTRY as usize, entry, libc::AT_NULL as usize, 0]);
    if words.len() % 2 == 1 {
        words.push(0);
    }
    words
}

/// Copies the frame below the stack pointer and jumps.
///
/// # Safety
/// `entry` must be an ELF entry point and the stack have room for frame and program.
pub(crate) unsafe fn jump(frame: &[usize], entry: usize) -> ! {
    // SAFETY: the words are copied to below everything in use; the function does not come back, so the compiler's
    // view of the stack no longer matters. The register that holds the function to run at exit is zero: the host
    // runs those itself. The frame pointer is zero, which ends backtraces.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "and rsp, -16",
            "lea rdx, [rcx * 8]",
            "sub rsp, rdx",
            "mov rdi, rsp",
            "cld",
            "rep movsq",
            "xor edx, edx",
            "xor ebp, ebp",
            "jmp rax",
            in("rsi") frame.as_ptr(),
            in("rcx") frame.len(),
            in("rax") entry,
            options(noreturn)
        )
    }
    // SAFETY: the words are copied below everything in use, and the branch does not come back.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "mov x4, sp",
            "sub x4, x4, x2, lsl #3",
            "and x4, x4, #-16",
            "mov sp, x4",
            "2:",
            "cbz x2, 3f",
            "ldr x5, [x1], #8",
            "str x5, [x4], #8",
            "sub x2, x2, #1",
            "b 2b",
            "3:",
            "mov x0, xzr",
            "mov x29, xzr",
            "mov x30, xzr",
            "br x3",
            in("x1") frame.as_ptr(),
            in("x2") frame.len(),
            in("x3") entry,
            options(noreturn)
        )
    }
}
