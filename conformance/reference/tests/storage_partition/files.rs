//! The files under a life: in memory, where a power cut loses what was not durable; or of this machine, where a process is
//! killed between two file operations and loses nothing that it has written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fencepost_reference::storage::fs::{FileSystem, FsCause, FsError, RealFs, SharedFs};
use fencepost_reference::storage::memory_fs::{Loss, MemoryFs};
use fencepost_reference::storage::names::Millis;
use tempfile::TempDir;

use crate::support::LOG_DIR;

/// Where a life keeps its log.
#[derive(Debug)]
pub(crate) enum Files {
    Memory(Arc<MemoryFs>),
    Machine(Arc<Killable>, TempDir),
}

impl Files {
    pub(crate) fn in_memory() -> Self {
        Self::Memory(Arc::new(MemoryFs::new()))
    }

    pub(crate) fn of_this_machine() -> Self {
        Self::Machine(Arc::default(), tempfile::tempdir().expect("a directory"))
    }

    /// Empty ones of the same kind.
    pub(crate) fn others(&self) -> Self {
        match self {
            Self::Memory(_) => Self::in_memory(),
            Self::Machine(..) => Self::of_this_machine(),
        }
    }

    pub(crate) fn shared(&self) -> SharedFs {
        match self {
            Self::Memory(fs) => fs.clone(),
            Self::Machine(fs, _) => fs.clone(),
        }
    }

    pub(crate) fn log_dir(&self) -> PathBuf {
        match self {
            Self::Memory(_) => PathBuf::from(LOG_DIR),
            Self::Machine(_, directory) => directory.path().to_owned(),
        }
    }

    /// Lets so many changes succeed, and nothing after them.
    pub(crate) fn stop_after(&self, changes: u64) {
        match self {
            Self::Memory(fs) => fs.power_off_after(changes),
            Self::Machine(fs, _) => fs.left.store(changes, Ordering::Relaxed),
        }
    }

    pub(crate) fn has_stopped(&self) -> bool {
        match self {
            Self::Memory(fs) => fs.is_off(),
            Self::Machine(fs, _) => fs.left.load(Ordering::Relaxed) == 0,
        }
    }

    /// What is there at the next start.
    pub(crate) fn start_again(&mut self, loss: Loss) {
        match self {
            Self::Memory(fs) => *fs = Arc::new(fs.after_power_cut(loss)),
            Self::Machine(fs, _) => *fs = Arc::default(),
        }
    }
}

/// The files of this machine, until the process is killed: every change after that fails without effect.
#[derive(Debug)]
pub(crate) struct Killable {
    /// How many changes still succeed.
    left: AtomicU64,
}

impl Default for Killable {
    fn default() -> Self {
        Self { left: AtomicU64::new(u64::MAX) }
    }
}

impl Killable {
    fn change(&self, operation: &'static str, path: &Path) -> Result<(), FsError> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(FsError { operation, path: path.to_owned(), cause: FsCause::PowerCut });
        }
        self.left.store(if left == u64::MAX { left } else { left - 1 }, Ordering::Relaxed);
        Ok(())
    }
}

impl FileSystem for Killable {
    fn create_dir(&self, path: &Path) -> Result<(), FsError> {
        RealFs.create_dir(path)
    }

    fn create(&self, path: &Path) -> Result<(), FsError> {
        self.change("create", path)?;
        RealFs.create(path)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), FsError> {
        self.change("append", path)?;
        RealFs.append(path, bytes)
    }

    fn read_at(&self, path: &Path, position: u64, length: usize) -> Result<Vec<u8>, FsError> {
        RealFs.read_at(path, position, length)
    }

    fn len(&self, path: &Path) -> Result<u64, FsError> {
        RealFs.len(path)
    }

    fn truncate(&self, path: &Path, length: u64) -> Result<(), FsError> {
        self.change("truncate", path)?;
        RealFs.truncate(path, length)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), FsError> {
        self.change("rename", from)?;
        RealFs.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<(), FsError> {
        self.change("remove", path)?;
        RealFs.remove(path)
    }

    // A killed process leaves the page cache behind: nothing has to reach the disk for a test, and thousands of lives are
    // slow enough without.
    fn sync(&self, path: &Path) -> Result<(), FsError> {
        self.change("sync", path)
    }

    fn sync_dir(&self, path: &Path) -> Result<(), FsError> {
        self.change("sync_dir", path)
    }

    fn list(&self, path: &Path) -> Result<Vec<String>, FsError> {
        RealFs.list(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, FsError> {
        RealFs.exists(path)
    }

    fn modified(&self, path: &Path) -> Result<Millis, FsError> {
        RealFs.modified(path)
    }

    fn set_modified(&self, path: &Path, at: Millis) -> Result<(), FsError> {
        RealFs.set_modified(path, at)
    }
}
