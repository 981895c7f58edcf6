//! What `/proc/self` says of the program: it must be of the rank's, not of the process that holds ranks.

/// A file of `/proc/self` that tells of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcFile {
    /// The program.
    Program,
    /// The arguments, each with a zero byte.
    CommandLine,
    /// The first letters of the program's name.
    Name,
}

/// How many letters of a program's name the kernel keeps.
const KEPT: usize = 15;

impl ProcFile {
    /// Tells which one a path names, for a rank with the process number `own`.
    pub fn named(path: &[u8], own: i32) -> Option<Self> {
        let rest = path.strip_prefix(b"/proc/")?;
        let slash = rest.iter().position(|byte| *byte == b'/')?;
        let whose = &rest[..slash];
        if whose != b"self" && whose != b"thread-self" && whose != own.to_string().as_bytes() {
            return None;
        }
        match &rest[slash + 1..] {
            b"exe" => Some(Self::Program),
            b"cmdline" => Some(Self::CommandLine),
            b"comm" => Some(Self::Name),
            _ => None,
        }
    }
}

/// Returns the last component of a path.
pub fn short_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Returns what `/proc/self/comm` says of a program.
pub fn kept_name(path: &[u8]) -> Vec<u8> {
    let name = short_name(path);
    [&name[..name.len().min(KEPT)], b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ranks_own_files_are_meant() {
        assert_eq!(ProcFile::named(b"/proc/self/exe", 7), Some(ProcFile::Program));
        assert_eq!(ProcFile::named(b"/proc/7/cmdline", 7), Some(ProcFile::CommandLine));
        assert_eq!(ProcFile::named(b"/proc/thread-self/comm", 7), Some(ProcFile::Name));
        for path in [&b"/proc/8/exe"[..], b"/proc/self/maps", b"/proc/self", b"/tmp/exe", b"/proc/self/exe/"]
        {
            assert_eq!(ProcFile::named(path, 7), None);
        }
        assert_eq!(kept_name(b"/a/a-long-name-of-a-program"), b"a-long-name-of-\n");
        assert_eq!((short_name(b"a"), short_name(b"/b/c")), (&b"a"[..], &b"c"[..]));
    }
}
