//! What a refusal of the system means: the standard's class, and words with a remedy.

use std::io::{Error as Refusal, ErrorKind};
use weft_base::Error;
use weft_base::constants::*;

/// Returns the standard's class of a refusal, and what to do about it.
fn meaning(refusal: &Refusal) -> (i32, &'static str) {
    match refusal.kind() {
        ErrorKind::NotFound => {
            (MPI_ERR_NO_SUCH_FILE, "check the name, the folder it is in, and MPI_MODE_CREATE")
        }
        ErrorKind::AlreadyExists => {
            (MPI_ERR_FILE_EXISTS, "delete the file, choose another name, or leave out MPI_MODE_EXCL")
        }
        ErrorKind::PermissionDenied => {
            (MPI_ERR_ACCESS, "check the permissions of the file and of its folder")
        }
        ErrorKind::ReadOnlyFilesystem => (MPI_ERR_READ_ONLY, "choose a folder that can be written"),
        ErrorKind::StorageFull => (MPI_ERR_NO_SPACE, "make room there, or choose another folder"),
        ErrorKind::QuotaExceeded => (MPI_ERR_QUOTA, "make room within the quota, or choose another folder"),
        ErrorKind::FileTooLarge => (MPI_ERR_NO_SPACE, "see ulimit -f and what the file system allows"),
        ErrorKind::IsADirectory | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => {
            (MPI_ERR_BAD_FILE, "pass the name of a file")
        }
        ErrorKind::ExecutableFileBusy | ErrorKind::ResourceBusy => {
            (MPI_ERR_FILE_IN_USE, "wait until nobody uses the file")
        }
        ErrorKind::OutOfMemory => (MPI_ERR_NO_MEM, "use less memory"),
        ErrorKind::Unsupported => (MPI_ERR_UNSUPPORTED_OPERATION, "use another file system"),
        _ => (MPI_ERR_IO, "see the system's log"),
    }
}

/// Makes the error of something that the system has refused: `doing` is in the form `opening`.
#[cold]
pub fn failed(doing: &str, name: &str, at: Option<u64>, refusal: &Refusal) -> Error {
    let (class, remedy) = meaning(refusal);
    let place = at.map(|offset| format!(" at byte {offset}")).unwrap_or_default();
    Error::new(class, format!("{doing} \"{name}\"{place}: {refusal}; {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_the_standards_classes() {
        let class = |kind: ErrorKind| failed("writing", "x", Some(7), &kind.into()).class;
        assert_eq!(class(ErrorKind::NotFound), MPI_ERR_NO_SUCH_FILE);
        assert_eq!(class(ErrorKind::StorageFull), MPI_ERR_NO_SPACE);
        assert_eq!(class(ErrorKind::QuotaExceeded), MPI_ERR_QUOTA);
        assert_eq!(class(ErrorKind::IsADirectory), MPI_ERR_BAD_FILE);
        assert_eq!(class(ErrorKind::Other), MPI_ERR_IO);
        let full = failed("writing", "x", Some(7), &ErrorKind::StorageFull.into());
        assert!(full.message.starts_with("writing \"x\" at byte 7: "), "{full}");
    }
}
