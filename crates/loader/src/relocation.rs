//! Names the relocation types of this machine by what they do.

#[cfg(not(target_arch = "aarch64"))]
mod machine {
    use object::elf;
    /// Stores the symbol's address in the global offset table.
    pub const GLOBAL_DATA: u32 = elf::R_X86_64_GLOB_DAT;
    /// Stores the symbol's address in the procedure linkage table's slot.
    pub const JUMP_SLOT: u32 = elf::R_X86_64_JUMP_SLOT;
    /// Stores the symbol's address plus the addend.
    pub const ABSOLUTE: u32 = elf::R_X86_64_64;
    /// Copies a library's data into the program.
    pub const COPY: u32 = elf::R_X86_64_COPY;
    /// Stores the result of a function of this object.
    pub const INDIRECT: u32 = elf::R_X86_64_IRELATIVE;
    /// Stores the distance of thread-local data from the thread pointer.
    pub const THREAD_OFFSET: u32 = elf::R_X86_64_TPOFF64;
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use object::elf;
    /// Stores the symbol's address in the global offset table.
    pub const GLOBAL_DATA: u32 = elf::R_AARCH64_GLOB_DAT;
    /// Stores the symbol's address in the procedure linkage table's slot.
    pub const JUMP_SLOT: u32 = elf::R_AARCH64_JUMP_SLOT;
    /// Stores the symbol's address plus the addend.
    pub const ABSOLUTE: u32 = elf::R_AARCH64_ABS64;
    /// Copies a library's data into the program.
    pub const COPY: u32 = elf::R_AARCH64_COPY;
    /// Stores the result of a function of this object.
    pub const INDIRECT: u32 = elf::R_AARCH64_IRELATIVE;
    /// Stores the distance of thread-local data from the thread pointer.
    pub const THREAD_OFFSET: u32 = elf::R_AARCH64_TLS_TPREL;
}

pub use machine::*;
