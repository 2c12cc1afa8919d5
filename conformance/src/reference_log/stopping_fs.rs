//! A file system that goes off at one step of a swap, so that a trace can say where the process dies.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use fencepost_fixtures::compaction::SwapStep;
use fencepost_reference::storage::fs::{FileSystem, FsError};
use fencepost_reference::storage::memory_fs::{Loss, MemoryFs};
use fencepost_reference::storage::names::Millis;

/// Files in memory, and where they go off.
pub(super) struct StoppingFs {
    files: MemoryFs,
    stop: Mutex<Option<Stop>>,
}

/// Where a swap stops.
#[derive(Clone, Debug)]
struct Stop {
    after: SwapStep,
    /// The name without its extension of the first file that was called `.deleted`.
    first_deleted: Option<String>,
}

impl StoppingFs {
    /// Without files.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { files: MemoryFs::new(), stop: Mutex::new(None) })
    }

    /// The files as a process finds them that comes back after the last one died: nothing that was written is lost.
    pub(super) fn reopened(&self) -> Arc<Self> {
        Arc::new(Self { files: self.files.after_power_cut(Loss::Nothing), stop: Mutex::new(None) })
    }

    /// The next swap stops when this step is done.
    pub(super) fn stop_after(&self, step: SwapStep) {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(Stop { after: step, first_deleted: None });
    }

    /// Whether the renaming is beyond the step after which the swap stops.
    fn is_beyond(&self, from: &Path, to: &Path) -> bool {
        let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(stop) = stop.as_mut() else { return false };
        let ends_with = |path: &Path, suffix: &str| path.to_string_lossy().ends_with(suffix);
        let base = |path: &Path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.split('.').next().unwrap_or_default().to_owned()
        };
        if ends_with(to, ".swap") {
            return stop.after == SwapStep::Cleaned;
        }
        if ends_with(to, ".deleted") {
            let is_first = *stop.first_deleted.get_or_insert_with(|| base(from)) == base(from);
            return match stop.after {
                SwapStep::Cleaned | SwapStep::SwapNamed => true,
                SwapStep::FirstDeleted => !is_first,
                SwapStep::AllDeleted | SwapStep::Renamed => false,
            };
        }
        // To the final name.
        ends_with(from, ".swap") && stop.after != SwapStep::Renamed
    }
}

impl fmt::Debug for StoppingFs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StoppingFs").field("stop", &self.stop).finish_non_exhaustive()
    }
}

impl FileSystem for StoppingFs {
    fn create_dir(&self, path: &Path) -> Result<(), FsError> {
        self.files.create_dir(path)
    }

    fn create(&self, path: &Path) -> Result<(), FsError> {
        self.files.create(path)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), FsError> {
        self.files.append(path, bytes)
    }

    fn read_at(&self, path: &Path, position: u64, length: usize) -> Result<Vec<u8>, FsError> {
        self.files.read_at(path, position, length)
    }

    fn len(&self, path: &Path) -> Result<u64, FsError> {
        self.files.len(path)
    }

    fn truncate(&self, path: &Path, length: u64) -> Result<(), FsError> {
        self.files.truncate(path, length)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), FsError> {
        if self.is_beyond(from, to) {
            self.files.power_off_after(0);
        }
        self.files.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<(), FsError> {
        self.files.remove(path)
    }

    fn sync(&self, path: &Path) -> Result<(), FsError> {
        self.files.sync(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<(), FsError> {
        self.files.sync_dir(path)
    }

    fn list(&self, path: &Path) -> Result<Vec<String>, FsError> {
        self.files.list(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, FsError> {
        self.files.exists(path)
    }

    fn modified(&self, path: &Path) -> Result<Millis, FsError> {
        self.files.modified(path)
    }

    fn set_modified(&self, path: &Path, at: Millis) -> Result<(), FsError> {
        self.files.set_modified(path, at)
    }
}
