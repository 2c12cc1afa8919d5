//! The file operations that the log is made of, behind a trait, so that a test can stop at each one of them.
//!
//! What the log may rely on is what a file system promises, and no more: bytes are on the disk after [`FileSystem::sync`]
//! of their file, and a name (created, renamed or removed) is after [`FileSystem::sync_dir`] of its directory. Whatever
//! was not synced may be there or not after a power cut, each piece for itself.
//!
//! Times are the caller's: a file's modification time is set by whoever writes it ([`FileSystem::set_modified`]).
//! Before KIP-534 the cleaner decided by it, so it belongs to the behaviour.

use std::fmt;
use std::fs::{File, FileTimes, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::names::Millis;

/// The file operations of a log. Methods take `&self`: a log, its cleaner and a reader share one.
pub trait FileSystem: fmt::Debug + Send + Sync {
    /// Creates a directory and its parents; it may exist.
    fn create_dir(&self, path: &Path) -> Result<(), FsError>;
    /// Creates an empty file, or empties one.
    fn create(&self, path: &Path) -> Result<(), FsError>;
    /// Writes at the end of a file that exists.
    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), FsError>;
    /// Reads from a position; fewer bytes than asked for at the end of the file.
    fn read_at(&self, path: &Path, position: u64, length: usize) -> Result<Vec<u8>, FsError>;
    /// The length of a file.
    fn len(&self, path: &Path) -> Result<u64, FsError>;
    /// Cuts a file to a length that it has.
    fn truncate(&self, path: &Path, length: u64) -> Result<(), FsError>;
    /// Gives a file another name, in place of what had that name.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), FsError>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> Result<(), FsError>;
    /// Makes the bytes of a file durable.
    fn sync(&self, path: &Path) -> Result<(), FsError>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> Result<(), FsError>;
    /// The names of the files in a directory (not of its directories), sorted.
    fn list(&self, path: &Path) -> Result<Vec<String>, FsError>;
    /// Whether there is a file of that name.
    fn exists(&self, path: &Path) -> Result<bool, FsError>;
    /// A file's modification time.
    fn modified(&self, path: &Path) -> Result<Millis, FsError>;
    /// Sets a file's modification time.
    fn set_modified(&self, path: &Path, at: Millis) -> Result<(), FsError>;
}

/// A file system that several parts of a log share.
pub type SharedFs = Arc<dyn FileSystem>;

/// An operation that failed, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation} {}: {cause}", path.display())]
pub struct FsError {
    /// What was done, as the trait's method is called.
    pub operation: &'static str,
    /// The file or the directory.
    pub path: PathBuf,
    /// Why it failed.
    pub cause: FsCause,
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FsCause {
    /// There is no such file.
    #[error("no such file")]
    NotFound,
    /// The test's power is off: this operation and all later ones fail, until the files are opened again.
    #[error("the power is off")]
    PowerCut,
    /// What the operating system says.
    #[error("{0}")]
    Io(String),
}

impl FsError {
    /// Whether the file was missing.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.cause == FsCause::NotFound
    }

    pub(super) fn new(operation: &'static str, path: &Path, cause: FsCause) -> Self {
        Self { operation, path: path.to_owned(), cause }
    }
}

/// Reads a whole file.
pub fn read_all(fs: &dyn FileSystem, path: &Path) -> Result<Vec<u8>, FsError> {
    let length = fs.len(path)?;
    let length = usize::try_from(length).map_err(|e| FsError::new("read_all", path, FsCause::Io(e.to_string())))?;
    fs.read_at(path, 0, length)
}

/// Puts a whole file in place of an older one, so that after a crash there is the one or the other: written under
/// another name, synced, renamed, and the rename synced (Kafka's `CheckpointFile#write`).
pub fn replace(fs: &dyn FileSystem, path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = PathBuf::from(temporary);
    fs.create(&temporary)?;
    fs.append(&temporary, bytes)?;
    fs.sync(&temporary)?;
    fs.rename(&temporary, path)?;
    match path.parent() {
        Some(directory) => fs.sync_dir(directory),
        None => Ok(()),
    }
}

/// Removes a file that may be gone already.
pub fn remove_if_exists(fs: &dyn FileSystem, path: &Path) -> Result<(), FsError> {
    match fs.remove(path) {
        Err(e) if e.is_not_found() => Ok(()),
        other => other,
    }
}

/// The files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealFs;

impl RealFs {
    fn open(operation: &'static str, path: &Path, options: &OpenOptions) -> Result<File, FsError> {
        options.open(path).map_err(|e| io_error(operation, path, &e))
    }
}

fn io_error(operation: &'static str, path: &Path, error: &io::Error) -> FsError {
    let cause = match error.kind() {
        io::ErrorKind::NotFound => FsCause::NotFound,
        _ => FsCause::Io(error.to_string()),
    };
    FsError::new(operation, path, cause)
}

impl FileSystem for RealFs {
    fn create_dir(&self, path: &Path) -> Result<(), FsError> {
        std::fs::create_dir_all(path).map_err(|e| io_error("create_dir", path, &e))
    }

    fn create(&self, path: &Path) -> Result<(), FsError> {
        File::create(path).map(drop).map_err(|e| io_error("create", path, &e))
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), FsError> {
        let mut file = Self::open("append", path, OpenOptions::new().append(true))?;
        file.write_all(bytes).map_err(|e| io_error("append", path, &e))
    }

    fn read_at(&self, path: &Path, position: u64, length: usize) -> Result<Vec<u8>, FsError> {
        let mut file = Self::open("read_at", path, OpenOptions::new().read(true))?;
        // What is asked for may be more than there is, and what there is may grow meanwhile: neither decides alone.
        let there = file.metadata().map_err(|e| io_error("read_at", path, &e))?.len().saturating_sub(position);
        let mut bytes = Vec::with_capacity(usize::try_from(there).unwrap_or(usize::MAX).min(length));
        file.seek(SeekFrom::Start(position)).map_err(|e| io_error("read_at", path, &e))?;
        // `take` bounds the allocation by what is in the file, whatever was asked for.
        file.take(length as u64).read_to_end(&mut bytes).map_err(|e| io_error("read_at", path, &e))?;
        Ok(bytes)
    }

    fn len(&self, path: &Path) -> Result<u64, FsError> {
        Ok(std::fs::metadata(path).map_err(|e| io_error("len", path, &e))?.len())
    }

    fn truncate(&self, path: &Path, length: u64) -> Result<(), FsError> {
        let file = Self::open("truncate", path, OpenOptions::new().write(true))?;
        let have = file.metadata().map_err(|e| io_error("truncate", path, &e))?.len();
        if length > have {
            let cause = FsCause::Io(format!("the file has {have} bytes, fewer than {length}"));
            return Err(FsError::new("truncate", path, cause));
        }
        file.set_len(length).map_err(|e| io_error("truncate", path, &e))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), FsError> {
        std::fs::rename(from, to).map_err(|e| io_error("rename", from, &e))
    }

    fn remove(&self, path: &Path) -> Result<(), FsError> {
        std::fs::remove_file(path).map_err(|e| io_error("remove", path, &e))
    }

    fn sync(&self, path: &Path) -> Result<(), FsError> {
        let file = Self::open("sync", path, OpenOptions::new().read(true))?;
        file.sync_all().map_err(|e| io_error("sync", path, &e))
    }

    fn sync_dir(&self, path: &Path) -> Result<(), FsError> {
        self.sync(path)
    }

    fn list(&self, path: &Path) -> Result<Vec<String>, FsError> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path).map_err(|e| io_error("list", path, &e))? {
            let entry = entry.map_err(|e| io_error("list", path, &e))?;
            let is_file = entry.file_type().map_err(|e| io_error("list", path, &e))?.is_file();
            // A name that is not UTF-8 is none of ours.
            if let (true, Ok(name)) = (is_file, entry.file_name().into_string()) {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn exists(&self, path: &Path) -> Result<bool, FsError> {
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(metadata.is_file()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(io_error("exists", path, &e)),
        }
    }

    fn modified(&self, path: &Path) -> Result<Millis, FsError> {
        let metadata = std::fs::metadata(path).map_err(|e| io_error("modified", path, &e))?;
        let modified = metadata.modified().map_err(|e| io_error("modified", path, &e))?;
        let since = modified.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Ok(Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }

    fn set_modified(&self, path: &Path, at: Millis) -> Result<(), FsError> {
        let since = Duration::from_millis(u64::try_from(at.0).unwrap_or(0));
        // A time beyond what the system can express is left out: it can only come from a caller's test.
        let Some(time) = UNIX_EPOCH.checked_add(since) else { return Ok(()) };
        let file = Self::open("set_modified", path, OpenOptions::new().write(true))?;
        file.set_times(FileTimes::new().set_modified(time)).map_err(|e| io_error("set_modified", path, &e))
    }
}
