//! A file system in memory that can be stopped at its n-th change, and then loses what was not synced.
//!
//! What a power cut may take is what a file system may lose:
//! - bytes appended since the last sync of their file: some of them, or their place is kept and reads as zeros;
//! - a truncation since the last sync of the file;
//! - each creation, rename and removal since the last sync of its directory, each for itself, in no order. That is
//!   weaker than a journal promises, so that nothing here depends on one.
//!
//! Which of it is lost is drawn from a seed, so that a failing case can be run again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::fs::{FileSystem, FsCause, FsError};
use super::names::Millis;

/// What of the unsynced is gone after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Nothing: the process died, the machine did not.
    Nothing,
    /// Everything that was not synced.
    Everything,
    /// Each piece or not, as the seed has it.
    Some {
        /// The seed.
        seed: u64,
    },
}

/// Files in memory. See the module.
#[derive(Debug, Default)]
pub struct MemoryFs {
    state: Mutex<State>,
}

#[derive(Debug, Clone, Default)]
struct State {
    files: BTreeMap<u64, Contents>,
    next_file: u64,
    /// The names as a running process sees them.
    names: BTreeMap<PathBuf, u64>,
    /// The names that a power cut cannot take.
    durable_names: BTreeMap<PathBuf, u64>,
    /// What was done to the names since: each entry is one operation, applied as a whole or lost as a whole.
    unsynced_names: Vec<NameChange>,
    directories: BTreeSet<PathBuf>,
    changes: u64,
    power_off_after: Option<u64>,
    log: Vec<String>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Create(PathBuf, u64),
    Rename(PathBuf, PathBuf, u64),
    Remove(PathBuf),
}

impl NameChange {
    fn is_in(&self, directory: &Path) -> bool {
        let (Self::Create(path, _) | Self::Rename(path, _, _) | Self::Remove(path)) = self;
        path.parent() == Some(directory)
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, u64>) {
        match self {
            Self::Create(path, file) => {
                names.insert(path.clone(), *file);
            }
            // The two halves of a rename are one: the old name goes with the new one's coming.
            Self::Rename(from, to, file) => {
                if names.get(from) == Some(file) {
                    names.remove(from);
                }
                names.insert(to.clone(), *file);
            }
            Self::Remove(path) => {
                names.remove(path);
            }
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Contents {
    bytes: Vec<u8>,
    modified: Millis,
    durable: Vec<u8>,
    durable_modified: Millis,
}

impl MemoryFs {
    /// Empty.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many changes there have been; reads do not count.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    /// Lets `changes` more succeed; the one after them fails without effect, and so does everything after it.
    pub fn power_off_after(&self, changes: u64) {
        let mut state = self.state();
        state.power_off_after = Some(state.changes + changes);
    }

    /// Whether the power went off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        let state = self.state();
        state.power_off_after.is_some_and(|limit| state.changes >= limit)
    }

    /// What is on the disk when the power comes back: another file system, so that a handle to the old one is dead.
    #[must_use]
    pub fn after_power_cut(&self, loss: Loss) -> Self {
        let mut state = self.state().clone();
        let mut draw = Draw(match loss {
            Loss::Some { seed } => seed,
            Loss::Nothing | Loss::Everything => 0,
        });
        if loss != Loss::Nothing {
            let mut names = state.durable_names.clone();
            for change in &state.unsynced_names {
                if loss != Loss::Everything && draw.coin() {
                    change.apply(&mut names);
                }
            }
            state.names = names;
            for contents in state.files.values_mut() {
                contents.lose(loss, &mut draw);
            }
        }
        let named: BTreeSet<u64> = state.names.values().copied().collect();
        state.files.retain(|file, _| named.contains(file));
        for contents in state.files.values_mut() {
            contents.durable.clone_from(&contents.bytes);
            contents.durable_modified = contents.modified;
        }
        state.durable_names = state.names.clone();
        state.unsynced_names.clear();
        state.changes = 0;
        state.power_off_after = None;
        state.log.clear();
        Self { state: Mutex::new(state) }
    }

    /// The changes so far, a line each: what a failing case prints.
    #[must_use]
    pub fn history(&self) -> Vec<String> {
        self.state().log.clone()
    }

    /// Changes a file's bytes behind everybody's back, durably: what a bad disk does.
    pub fn damage(&self, path: &Path, damage: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state();
        if let Some(file) = state.names.get(path).copied() {
            let contents = state.files.entry(file).or_default();
            damage(&mut contents.bytes);
            contents.durable.clone_from(&contents.bytes);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, operation: &'static str, path: &Path) -> Result<MutexGuard<'_, State>, FsError> {
        let mut state = self.powered(operation, path)?;
        state.changes += 1;
        state.log.push(format!("{operation} {}", path.display()));
        Ok(state)
    }

    fn powered(&self, operation: &'static str, path: &Path) -> Result<MutexGuard<'_, State>, FsError> {
        let state = self.state();
        if state.power_off_after.is_some_and(|limit| state.changes >= limit) {
            return Err(FsError::new(operation, path, FsCause::PowerCut));
        }
        Ok(state)
    }
}

impl State {
    fn file(&self, operation: &'static str, path: &Path) -> Result<u64, FsError> {
        self.names.get(path).copied().ok_or_else(|| FsError::new(operation, path, FsCause::NotFound))
    }

    fn contents(&self, operation: &'static str, path: &Path) -> Result<&Contents, FsError> {
        let file = self.file(operation, path)?;
        self.files.get(&file).ok_or_else(|| FsError::new(operation, path, FsCause::NotFound))
    }

    fn contents_mut(&mut self, operation: &'static str, path: &Path) -> Result<&mut Contents, FsError> {
        let file = self.file(operation, path)?;
        Ok(self.files.entry(file).or_default())
    }
}

impl Contents {
    fn lose(&mut self, loss: Loss, draw: &mut Draw) {
        if loss == Loss::Everything {
            self.bytes.clone_from(&self.durable);
            self.modified = self.durable_modified;
        } else if self.bytes.starts_with(&self.durable) {
            let unsynced = self.bytes.len() - self.durable.len();
            let kept = self.durable.len() + draw.below(unsynced + 1);
            // A file system may record the new length before it writes the bytes.
            if draw.coin() {
                self.bytes.truncate(kept);
            } else if let Some(lost) = self.bytes.get_mut(kept..) {
                lost.fill(0);
            }
        } else if draw.coin() {
            self.bytes.clone_from(&self.durable);
        }
    }
}

/// A small generator of numbers (`SplitMix64`): the seed decides everything.
#[derive(Debug)]
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % (limit.max(1) as u64)).unwrap_or(0)
    }
}

impl FileSystem for MemoryFs {
    fn create_dir(&self, path: &Path) -> Result<(), FsError> {
        // Directories are durable at once: no log is about their loss.
        self.powered("create_dir", path)?.directories.insert(path.to_owned());
        Ok(())
    }

    fn create(&self, path: &Path) -> Result<(), FsError> {
        let mut state = self.change("create", path)?;
        if let Ok(contents) = state.contents_mut("create", path) {
            contents.bytes.clear();
            return Ok(());
        }
        let file = state.next_file;
        state.next_file += 1;
        state.files.insert(file, Contents::default());
        state.names.insert(path.to_owned(), file);
        state.unsynced_names.push(NameChange::Create(path.to_owned(), file));
        Ok(())
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), FsError> {
        self.change("append", path)?.contents_mut("append", path)?.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, path: &Path, position: u64, length: usize) -> Result<Vec<u8>, FsError> {
        let state = self.powered("read_at", path)?;
        let bytes = &state.contents("read_at", path)?.bytes;
        let start = usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(length).min(bytes.len());
        Ok(bytes.get(start..end).unwrap_or_default().to_vec())
    }

    fn len(&self, path: &Path) -> Result<u64, FsError> {
        Ok(self.powered("len", path)?.contents("len", path)?.bytes.len() as u64)
    }

    fn truncate(&self, path: &Path, length: u64) -> Result<(), FsError> {
        let mut state = self.change("truncate", path)?;
        let bytes = &mut state.contents_mut("truncate", path)?.bytes;
        let have = bytes.len();
        match usize::try_from(length) {
            Ok(length) if length <= have => {
                bytes.truncate(length);
                Ok(())
            }
            _ => {
                let cause = FsCause::Io(format!("the file has {have} bytes, fewer than {length}"));
                Err(FsError::new("truncate", path, cause))
            }
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), FsError> {
        let mut state = self.change("rename", from)?;
        let file = state.file("rename", from)?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), file);
        state.unsynced_names.push(NameChange::Rename(from.to_owned(), to.to_owned(), file));
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), FsError> {
        let mut state = self.change("remove", path)?;
        state.file("remove", path)?;
        state.names.remove(path);
        state.unsynced_names.push(NameChange::Remove(path.to_owned()));
        Ok(())
    }

    fn sync(&self, path: &Path) -> Result<(), FsError> {
        let mut state = self.change("sync", path)?;
        let contents = state.contents_mut("sync", path)?;
        contents.durable.clone_from(&contents.bytes);
        contents.durable_modified = contents.modified;
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> Result<(), FsError> {
        let mut state = self.change("sync_dir", path)?;
        let changes = std::mem::take(&mut state.unsynced_names);
        let (synced, unsynced): (Vec<_>, Vec<_>) = changes.into_iter().partition(|change| change.is_in(path));
        for change in &synced {
            change.apply(&mut state.durable_names);
        }
        state.unsynced_names = unsynced;
        Ok(())
    }

    fn list(&self, path: &Path) -> Result<Vec<String>, FsError> {
        let state = self.powered("list", path)?;
        if !state.directories.contains(path) {
            return Err(FsError::new("list", path, FsCause::NotFound));
        }
        let names = state.names.keys().filter(|name| name.parent() == Some(path));
        Ok(names.filter_map(|name| Some(name.file_name()?.to_str()?.to_owned())).collect())
    }

    fn exists(&self, path: &Path) -> Result<bool, FsError> {
        Ok(self.powered("exists", path)?.names.contains_key(path))
    }

    fn modified(&self, path: &Path) -> Result<Millis, FsError> {
        Ok(self.powered("modified", path)?.contents("modified", path)?.modified)
    }

    fn set_modified(&self, path: &Path, at: Millis) -> Result<(), FsError> {
        self.powered("set_modified", path)?.contents_mut("set_modified", path)?.modified = at;
        Ok(())
    }
}
