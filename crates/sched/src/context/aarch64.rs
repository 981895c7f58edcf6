//! aarch64: the thread pointer is `tpidr_el0`.

core::arch::global_asm!(include_str!("aarch64.s"));

/// Reads the current-thread pointer of this thread of control: one initial-exec thread-local load.
#[inline(always)]
pub(super) fn current() -> *const () {
    let value: *const ();
    // SAFETY: reads the thread-local word defined in the assembly file. `readonly`, not `nomem`: `set_current` writes it.
    unsafe {
        core::arch::asm!(
            "adrp {0}, :gottprel:weft_current",
            "ldr {0}, [{0}, :gottprel_lo12:weft_current]",
            "mrs {1}, tpidr_el0",
            "ldr {0}, [{1}, {0}]",
            out(reg) value, out(reg) _, options(pure, readonly, nostack, preserves_flags));
    }
    value
}

/// Writes it.
#[inline]
pub(super) fn set_current(value: *const ()) {
    // SAFETY: writes the thread-local word defined in the assembly file.
    unsafe {
        core::arch::asm!(
            "adrp {1}, :gottprel:weft_current",
            "ldr {1}, [{1}, :gottprel_lo12:weft_current]",
            "mrs {2}, tpidr_el0",
            "str {0}, [{2}, {1}]",
            in(reg) value, out(reg) _, out(reg) _, options(nostack, preserves_flags));
    }
}

/// Returns the calling kernel thread's thread pointer.
pub(super) fn thread_pointer() -> usize {
    let value;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mrs {}, tpidr_el0", out(reg) value, options(nomem, nostack)) };
    value
}
