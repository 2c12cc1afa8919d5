//! Whatever happens to a file: an error or a repair, never a panic, and no valid record before the damage is lost.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fencepost_reference::storage::fs::FileSystem;
use fencepost_reference::storage::log_read::Isolation;
use fencepost_reference::storage::log_rules::LogRules;
use fencepost_reference::storage::memory_fs::{Loss, MemoryFs};
use fencepost_reference::storage::names::Offset;
use fencepost_reference::storage::partition::Partition;
use fencepost_reference::storage::producer_append::TransactionProtocol::One;
use proptest::prelude::*;

use crate::support::{Driven, LOG_DIR, NOW, Producer, setup, text};

/// A partition with every sort of file, stopped in or out of order.
fn stopped(close: bool) -> Arc<MemoryFs> {
    let mut driven = Driven::new(LogRules::kafka_4_4(), 100);
    let mut p = Producer::new(7, One);
    driven.put("a", Some("1"));
    driven.put_as(&mut p, "b", Some("aborted")).expect("appended");
    driven.end(&mut p, false);
    driven.clean_all();
    driven.put_as(&mut p, "c", Some("1")).expect("appended");
    driven.end(&mut p, true);
    driven.put("d", None);
    driven.settle();
    driven.put("e", Some("1"));
    driven.partition.checkpoint().expect("written");
    let fs = driven.fs.clone();
    if close {
        driven.partition.close().expect("closed");
    }
    Arc::new(fs.after_power_cut(Loss::Nothing))
}

fn files(fs: &MemoryFs) -> Vec<PathBuf> {
    let directory = Path::new(LOG_DIR);
    [directory.to_owned(), directory.join("t-0")]
        .into_iter()
        .flat_map(|directory| fs.list(&directory).expect("listed").into_iter().map(move |name| directory.join(name)))
        .collect()
}

/// Opens, reads, appends, cleans, reads again. The records, if all went well.
fn use_it(fs: &Arc<MemoryFs>) -> Option<Vec<String>> {
    let mut partition = Partition::open(fs.clone(), Path::new(LOG_DIR), setup(LogRules::kafka_4_4(), 100), NOW).ok()?;
    let read = |partition: &Partition| {
        // From each offset, so that every index entry is used.
        let (start, end) = (partition.log().log_start().0, partition.log().end_offset().0);
        let mut lines = Vec::new();
        for from in start..end.min(start + 100) {
            let handed = partition.read(Offset(from), 1, Isolation::LogEnd).ok()?;
            lines.extend(handed.records.first().map(text));
        }
        lines.dedup();
        Some(lines)
    };
    let left = read(&partition);
    partition.roll().ok()?;
    let end = partition.log().end_offset();
    partition.set_high_watermark(end);
    partition.clean().ok()?;
    let _ = read(&partition);
    let _ = partition.read_all(partition.log().log_start(), Isolation::Committed);
    let _ = partition.dump();
    let _ = partition.truncate(Offset(3));
    partition.retain().ok()?;
    partition.close().ok()?;
    left
}

#[test]
fn any_file_may_be_missing_or_empty() {
    for close in [true, false] {
        let fs = stopped(close);
        let whole = use_it(&Arc::new(fs.after_power_cut(Loss::Nothing))).expect("whole");
        for path in files(&fs) {
            let emptied = Arc::new(fs.after_power_cut(Loss::Nothing));
            emptied.damage(&path, Vec::clear);
            use_it(&emptied);
            let missing = Arc::new(fs.after_power_cut(Loss::Nothing));
            missing.remove(&path).expect("removed");
            let left = use_it(&missing);
            if path.extension().is_none_or(|extension| extension != "log") {
                assert_eq!(left.as_ref(), Some(&whole), "{}: it can be made anew", path.display());
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bit_may_be_flipped_and_any_file_cut(
        close: bool,
        file in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        bit in 0_u8..8,
        cut: bool,
    ) {
        let fs = stopped(close);
        let whole = use_it(&Arc::new(fs.after_power_cut(Loss::Nothing))).expect("whole");
        let files = files(&fs);
        let path = &files[file.index(files.len())];
        fs.damage(path, |bytes| {
            if bytes.is_empty() {
                return;
            }
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
        });
        let left = use_it(&fs);
        let name = path.display().to_string();
        // The log file is what it is (its base offsets lie outside of the checksum), and the log's start is a number without
        // a checksum. Everything else can be made anew.
        let is_truth = name.contains("log-start") || path.extension().is_some_and(|extension| extension == "log");
        if let Some(left) = left && !is_truth {
            prop_assert_eq!(&left, &whole, "{}", name);
        }
    }

    #[test]
    fn any_bytes_may_be_in_any_file(
        file in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        close: bool,
    ) {
        let fs = stopped(close);
        let files = files(&fs);
        fs.damage(&files[file.index(files.len())], |old| *old = bytes);
        use_it(&fs);
    }
}
