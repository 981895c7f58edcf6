//! x86-64: the thread pointer is the fs base, written by `wrfsbase`.

core::arch::global_asm!(include_str!("x86_64.s"));

/// Reads the current-thread pointer of this thread of control: one initial-exec thread-local load.
#[inline(always)]
pub(super) fn current() -> *const () {
    let value: *const ();
    // SAFETY: reads the thread-local word defined in the assembly file. `readonly`, not `nomem`: `set_current` writes it.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + weft_current@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) value, options(pure, readonly, nostack, preserves_flags));
    }
    value
}

/// Writes it.
#[inline]
pub(super) fn set_current(value: *const ()) {
    // SAFETY: writes the thread-local word defined in the assembly file.
    unsafe {
        core::arch::asm!(
            "mov {1}, qword ptr [rip + weft_current@GOTTPOFF]",
            "mov qword ptr fs:[{1}], {0}",
            in(reg) value, out(reg) _, options(nostack, preserves_flags));
    }
}

/// Returns the calling kernel thread's thread pointer.
pub(super) fn thread_pointer() -> usize {
    let value;
    // SAFETY: the ABI keeps the thread pointer in the first word of the thread control block.
    unsafe { core::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) value, options(pure, readonly, nostack)) };
    value
}
