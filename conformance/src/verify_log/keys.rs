//! Whether the clean part of a log has each key once (S13).

use std::collections::HashMap;

/// The keys of committed records below the first dirty offset.
#[derive(Debug, Default)]
pub struct Keys {
    newest: HashMap<Box<[u8]>, i64>,
}

impl Keys {
    /// Takes a committed record; the offset of another of its key, if there is one. Records come in any order: those of a
    /// transaction only when its marker is read.
    pub fn take(&mut self, key: &[u8], offset: i64) -> Option<i64> {
        match self.newest.get_mut(key) {
            None => {
                self.newest.insert(key.into(), offset);
                None
            }
            Some(newest) => Some(std::mem::replace(newest, offset.max(*newest))),
        }
    }

    /// How many keys there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.newest.len()
    }
}

/// A key as a report can show it.
#[must_use]
pub fn shown(key: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text: String = String::from_utf8_lossy(key).chars().take(SHOWN).flat_map(char::escape_default).collect();
    if key.len() > SHOWN { format!("`{text}...` ({} B)", key.len()) } else { format!("`{text}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_record_of_a_key_is_told_with_the_first() {
        let mut keys = Keys::default();
        assert_eq!(keys.take(b"k", 3), None);
        assert_eq!(keys.take(b"l", 1), None);
        assert_eq!(keys.take(b"k", 5), Some(3));
        assert_eq!(keys.take(b"k", 4), Some(5));
        assert_eq!(keys.count(), 2);
    }
}
