//! The processes that a rank has started: `wait` must not find another rank's.

use std::ffi::{CStr, CString};

/// The children of one rank.
#[derive(Default)]
pub struct Children {
    /// Those that `wait` may find, oldest first.
    waitable: Vec<i32>,
    /// Streams of `popen`, by address, each with the process at the other end.
    streams: Vec<(usize, i32)>,
}

impl Children {
    /// Notes a child for which the program will wait.
    pub fn add(&mut self, process: i32) {
        self.waitable.push(process);
    }

    /// Forgets a child that has been waited for.
    pub fn remove(&mut self, process: i32) {
        self.waitable.retain(|child| *child != process);
    }

    /// Lists the children for which nobody has waited yet.
    pub fn list(&self) -> Vec<i32> {
        self.waitable.clone()
    }

    /// Notes the process at the other end of a stream.
    pub fn add_stream(&mut self, stream: usize, process: i32) {
        // `fclose` may have closed an earlier stream at this address.
        self.streams.retain(|(other, _)| *other != stream);
        self.streams.push((stream, process));
    }

    /// Forgets a stream of `popen`, and returns the process at its other end.
    pub fn remove_stream(&mut self, stream: usize) -> Option<i32> {
        let at = self.streams.iter().position(|(other, _)| *other == stream)?;
        Some(self.streams.swap_remove(at).1)
    }
}

/// What `popen`'s second argument says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode {
    /// The caller reads what the child writes.
    pub reads: bool,
}

impl Mode {
    /// Reads a mode: `r` or `w`, and perhaps `e`.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (mut reads, mut writes) = (false, false);
        for letter in text {
            match letter {
                b'r' => reads = true,
                b'w' => writes = true,
                b'e' => {}
                _ => return None,
            }
        }
        (reads != writes).then_some(Self { reads })
    }
}

/// Lists the files under which a program may be found in the folders of `path`.
pub fn candidates(program: &CStr, path: Option<&CStr>) -> Vec<CString> {
    let name = program.to_bytes();
    if name.is_empty() || name.contains(&b'/') {
        return vec![program.to_owned()];
    }
    let path = path.map_or(&b"/bin:/usr/bin"[..], CStr::to_bytes);
    let file = |folder: &[u8]| {
        // An empty folder is the working directory.
        let file = if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() };
        CString::new(file).expect("made of C strings")
    };
    path.split(|byte| *byte == b':').map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_searched_where_the_rank_says() {
        assert_eq!(candidates(c"ls", Some(c"/a::/b")), [c"/a/ls", c"ls", c"/b/ls"].map(CStr::to_owned));
        assert_eq!(candidates(c"ls", None)[0].as_c_str(), c"/bin/ls");
        assert_eq!(candidates(c"./ls", Some(c"/a")), [c"./ls".to_owned()]);
    }

    #[test]
    fn streams_and_children_are_told_apart() {
        let mut children = Children::default();
        children.add(3);
        children.add_stream(100, 4);
        children.add_stream(100, 5);
        assert_eq!(children.list(), [3]);
        assert_eq!(children.remove_stream(100), Some(5));
        assert_eq!(children.remove_stream(100), None);
        children.remove(3);
        assert!(children.list().is_empty());
    }

    #[test]
    fn modes() {
        assert_eq!(Mode::parse(b"re"), Some(Mode { reads: true }));
        assert_eq!(Mode::parse(b"w"), Some(Mode { reads: false }));
        assert_eq!((Mode::parse(b""), Mode::parse(b"rw"), Mode::parse(b"x")), (None, None, None));
    }
}
