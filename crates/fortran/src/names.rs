//! Further names of entries: `mpi_send_` beside `pmpi_send_`.
//!
//! Unsafe because the names are exported.
#![allow(unsafe_code)]

/// Defines exported names that jump to entries: a jump, so that a tool which replaces `mpi_send_` still finds `pmpi_send_`.
macro_rules! names {
    ($($name:ident => $entry:ident),* $(,)?) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("jmp {}", sym $entry);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("b {}", sym $entry);
        }
    )*};
}
pub(crate) use names;
