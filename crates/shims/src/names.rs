//! Further names of functions, and functions that are refused.

/// Defines exported names that jump to functions: a jump, so that a tool which replaces `MPI_Send` still finds `PMPI_Send`.
#[macro_export]
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

/// Defines functions of the other MPI's own that say they are not supported. They look at no argument.
/// `$this` is the interface.
#[macro_export]
macro_rules! refused {
    ($this:ty; $($name:ident $profiled:ident),* $(,)?) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $profiled() -> core::ffi::c_int {
                $crate::special::unsupported::<$this>(concat!(stringify!($name), "\0"))
            }
        )*
        $crate::names! { $($name => $profiled),* }
    };
}
