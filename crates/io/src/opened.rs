//! A file as the ranks of a process share it: one open file, whoever of them uses it.

use crate::failure::failed;
use crate::ranges::Ranges;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use weft_base::Result;
use weft_sys::file;

/// How a file is opened.
#[derive(Clone, Copy, Debug)]
pub struct Modes {
    /// Whether it is read.
    pub reads: bool,
    /// Whether it is written.
    pub writes: bool,
    /// Whether it is made if it is not there.
    pub creates: bool,
    /// Whether it must not have been there.
    pub is_new: bool,
    /// Who may do what with it when it is made.
    pub permissions: u32,
}

/// An open file.
pub struct Opened {
    pub(crate) file: File,
    /// Its name, for errors.
    pub(crate) name: String,
    pub(crate) ranges: Ranges,
    /// Whether other processes have it open with this one.
    pub(crate) is_apart: bool,
    /// Whether something was written that no synchronisation has begun to bring to the device.
    pub(crate) is_dirty: AtomicBool,
}

impl Opened {
    /// Opens a file.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path, modes: Modes, is_apart: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(modes.reads).write(modes.writes).mode(modes.permissions);
        if modes.creates {
            options.create(!modes.is_new).create_new(modes.is_new);
        } else if modes.is_new && path.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = options.open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Self {
            file,
            name: path.display().to_string(),
            ranges: Ranges::default(),
            is_apart,
            is_dirty: AtomicBool::new(false),
        })
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its length.
    ///
    /// # Errors
    /// The class of what the system says.
    pub fn size(&self) -> Result<u64> {
        let found = self
            .file
            .metadata()
            .map_err(|refusal| failed("asking the size of", &self.name, None, &refusal))?;
        Ok(found.len())
    }

    /// Returns the bytes of a block of its file system, or of what that has as a stripe.
    ///
    /// # Errors
    /// As [`Opened::size`].
    pub fn block(&self) -> Result<u64> {
        let found = self.file.metadata();
        let found = found.map_err(|refusal| failed("asking the block of", &self.name, None, &refusal))?;
        Ok(found.blksize().max(1))
    }

    /// Changes its length.
    ///
    /// # Errors
    /// The class of what the system says.
    pub fn set_size(&self, size: u64) -> Result {
        self.is_dirty.store(true, Ordering::Release);
        self.file.set_len(size).map_err(|refusal| failed("resizing", &self.name, Some(size), &refusal))
    }

    /// Sees to it that there is room on the device for so many bytes.
    ///
    /// # Errors
    /// The class of what the system says.
    pub fn preallocate(&self, size: u64) -> Result {
        if size == 0 {
            return Ok(());
        }
        self.is_dirty.store(true, Ordering::Release);
        let done = file::allocate(self.file.as_fd(), size);
        done.map_err(|refusal| failed("allocating room for", &self.name, Some(size), &refusal))
    }

    /// Brings to the device what ranks of this process have written.
    ///
    /// # Errors
    /// The class of what the system says: then it is not known what has got there.
    pub fn sync(&self) -> Result {
        if !self.is_dirty.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        self.file.sync_data().map_err(|refusal| {
            self.is_dirty.store(true, Ordering::Release);
            failed("synchronising", &self.name, None, &refusal)
        })
    }
}
