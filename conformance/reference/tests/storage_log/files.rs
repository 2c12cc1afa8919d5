//! Each file format, by bytes written down from Kafka's definition of it.

use std::collections::BTreeMap;
use std::path::Path;

use fencepost_reference::storage::checkpoint::{CheckpointFile, CheckpointKind, TopicPartition};
use fencepost_reference::storage::fs::{FileSystem, RealFs, read_all};
use fencepost_reference::storage::leader_epoch_checkpoint::LeaderEpochs;
use fencepost_reference::storage::log_error::LogError;
use fencepost_reference::storage::memory_fs::MemoryFs;
use fencepost_reference::storage::names::{LeaderEpoch, Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use fencepost_reference::storage::offset_index::OffsetIndex;
use fencepost_reference::storage::producer_entry::{BatchMetadata, ProducerEntry};
use fencepost_reference::storage::producer_snapshot::{decode, encode};
use fencepost_reference::storage::segment_files::{FileKind, FileName, FileStage};
use fencepost_reference::storage::time_index::{TimeIndex, TimestampOffset};
use fencepost_reference::storage::transaction_index::TransactionIndex;
use fencepost_reference::storage::transaction_tracker::AbortedTxn;

fn fs_with(path: &Path, bytes: &[u8]) -> MemoryFs {
    let fs = MemoryFs::new();
    fs.create(path).expect("created");
    fs.append(path, bytes).expect("written");
    fs
}

#[test]
fn an_offset_index_entry_is_four_bytes_of_offset_from_the_base_and_four_of_position() {
    let (fs, path) = (MemoryFs::new(), Path::new("/i"));
    let mut index = OffsetIndex::create(&fs, path, Offset(100), 1024).expect("created");
    index.append(&fs, Offset(103), 78).expect("appended");
    index.append(&fs, Offset(110), 4096).expect("appended");
    let bytes = [0, 0, 0, 3, 0, 0, 0, 78, 0, 0, 0, 10, 0, 0, 0x10, 0];
    assert_eq!(read_all(&fs, path).expect("read"), bytes);
    let read = OffsetIndex::open(&fs, path, Offset(100), 1024).expect("opened");
    assert_eq!(read.entries(), index.entries());
    let positions = [100, 102, 103, 109, 110, 1000].map(|offset| read.lookup(Offset(offset)));
    assert_eq!(positions, [0, 0, 78, 78, 4096, 4096]);
}

#[test]
fn a_full_offset_index_takes_no_entry_and_is_no_error() {
    let (fs, path) = (MemoryFs::new(), Path::new("/i"));
    let mut index = OffsetIndex::create(&fs, path, Offset(0), 17).expect("created");
    for nth in 1..5 {
        index.append(&fs, Offset(nth), nth.unsigned_abs() * 10).expect("no error");
    }
    assert_eq!(index.entries().len(), 2);
}

#[test]
fn an_index_that_cannot_have_been_written_is_an_error_with_its_position() {
    let path = Path::new("/i");
    let cases: [(&[u8], u64); 4] = [
        (&[0, 0, 0, 3, 0, 0, 0], 0),
        (&[0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, 99], 8),
        (&[0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 9], 8),
        (&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], 0),
    ];
    for (bytes, at) in cases {
        let opened = OffsetIndex::open(&fs_with(path, bytes), path, Offset(0), 1024);
        assert!(matches!(opened, Err(LogError::Corrupt { position, .. }) if position == at), "{opened:?}");
    }
}

#[test]
fn a_time_index_entry_is_eight_bytes_of_time_and_four_of_offset_and_only_later_times_get_one() {
    let (fs, path) = (MemoryFs::new(), Path::new("/t"));
    let mut index = TimeIndex::create(&fs, path, Offset(100), 1024).expect("created");
    for (timestamp, offset) in [(1000, 101), (1000, 102), (999, 103), (1001, 104)] {
        let entry = TimestampOffset { timestamp: Millis(timestamp), offset: Offset(offset) };
        index.maybe_append(&fs, entry, false).expect("appended");
    }
    let bytes = [0, 0, 0, 0, 0, 0, 3, 0xe8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 0xe9, 0, 0, 0, 4];
    assert_eq!(read_all(&fs, path).expect("read"), bytes);
    assert_eq!(TimeIndex::open(&fs, path, Offset(100), 1024).expect("opened").entries(), index.entries());
}

#[test]
fn an_aborted_transaction_takes_34_bytes() {
    let (fs, path) = (MemoryFs::new(), Path::new("/x"));
    let mut index = TransactionIndex::create(&fs, path).expect("created");
    assert!(!fs.exists(path).expect("asked"), "there is no file without an entry");
    let entry = AbortedTxn {
        producer_id: ProducerId(42),
        first_offset: Offset(20),
        last_offset: Offset(23),
        last_stable_offset: Offset(24),
    };
    index.append(&fs, entry).expect("appended");
    let hex = "0000000000000000002a000000000000001400000000000000170000000000000018";
    assert_eq!(hex_of(&read_all(&fs, path).expect("read")), hex);
    assert_eq!(TransactionIndex::open(&fs, path, Offset(0)).expect("opened").entries(), [entry]);
    assert!(index.append(&fs, entry).is_err(), "markers come one after the other");
}

#[test]
fn a_transaction_search_takes_what_overlaps_and_ends_where_nothing_can_follow() {
    let (fs, path) = (MemoryFs::new(), Path::new("/x"));
    let mut index = TransactionIndex::create(&fs, path).expect("created");
    for (producer, first, last, stable) in [(1, 0, 10, 2), (2, 2, 20, 21), (3, 30, 40, 41)] {
        let entry = AbortedTxn {
            producer_id: ProducerId(producer),
            first_offset: Offset(first),
            last_offset: Offset(last),
            last_stable_offset: Offset(stable),
        };
        index.append(&fs, entry).expect("appended");
    }
    let found = |from, to| {
        let search = index.collect(Offset(from), Offset(to));
        (search.transactions.iter().map(|found| found.producer_id.0).collect::<Vec<_>>(), search.is_complete)
    };
    assert_eq!(found(0, 5), (vec![1, 2], true));
    assert_eq!(found(11, 21), (vec![2], true));
    assert_eq!(found(11, 35), (vec![2, 3], true));
    assert_eq!(found(11, 100), (vec![2, 3], false));
    assert_eq!(found(0, 2), (vec![1], true));
}

/// Version 1, CRC-32C of the rest, one producer: `ProducerSnapshot.json`. The CRC was computed apart from the code.
#[test]
fn a_producer_snapshot_has_the_bytes_of_its_schema() {
    let entry = ProducerEntry {
        epoch: ProducerEpoch(3),
        batches: [BatchMetadata {
            last_sequence: Sequence(7),
            last_offset: Offset(22),
            offset_delta: 2,
            timestamp: Millis(1005),
        }]
        .into(),
        coordinator_epoch: 9,
        last_timestamp: Millis(1005),
        transaction_start: Some(Offset(20)),
        ..ProducerEntry::empty(ProducerId(42))
    };
    let bytes = encode([&entry].into_iter());
    let body = "00000001000000000000002a00030000000700000000000000160000000200000000000003ed000000090000000000000014";
    assert_eq!(hex_of(&bytes[6..]), body);
    assert_eq!(hex_of(&bytes[..2]), "0001");
    assert_eq!(u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]), castagnoli(&bytes[6..]));
    assert_eq!(decode(Path::new("/s"), &bytes).expect("decoded"), [entry]);
}

#[test]
fn any_flipped_bit_of_a_snapshot_is_an_error() {
    let bytes = encode([&ProducerEntry::empty(ProducerId(1))].into_iter());
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(Path::new("/s"), &flipped).is_err(), "bit {bit}");
    }
    for length in 0..bytes.len() {
        assert!(decode(Path::new("/s"), &bytes[..length]).is_err(), "length {length}");
    }
}

#[test]
fn an_offset_checkpoint_is_text_with_a_version_a_count_and_a_line_for_each_partition() {
    let fs = MemoryFs::new();
    let checkpoint = CheckpointFile::new(Path::new("/logs"), CheckpointKind::Cleaner);
    assert_eq!(checkpoint.read(&fs).expect("read"), BTreeMap::new());
    let offsets = BTreeMap::from([(TopicPartition::new("a", 1), Offset(5)), (TopicPartition::new("b", 0), Offset(77))]);
    checkpoint.write(&fs, &offsets).expect("written");
    let path = Path::new("/logs/cleaner-offset-checkpoint");
    assert_eq!(read_all(&fs, path).expect("read"), b"0\n2\na 1 5\nb 0 77\n");
    assert_eq!(checkpoint.read(&fs).expect("read"), offsets);
    for damaged in ["1\n0\n", "0\n3\na 1 5\n", "0\n1\na x 5\n", "0\n1\na 1\n", "", "0\n", "\u{fffd}"] {
        fs.damage(path, |bytes| *bytes = damaged.as_bytes().to_vec());
        assert!(matches!(checkpoint.read(&fs), Err(LogError::Corrupt { .. })), "{damaged:?}");
    }
}

#[test]
fn a_leader_epoch_checkpoint_has_a_line_for_each_leader() {
    let fs = MemoryFs::new();
    let mut epochs = LeaderEpochs::open(&fs, Path::new("/logs/t-0")).expect("opened");
    for (epoch, offset) in [(0, 0), (0, 4), (3, 9), (2, 12), (5, 20)] {
        epochs.assign(&fs, LeaderEpoch(epoch), Offset(offset)).expect("assigned");
    }
    let path = Path::new("/logs/t-0/leader-epoch-checkpoint");
    assert_eq!(read_all(&fs, path).expect("read"), b"0\n3\n0 0\n2 12\n5 20\n");
    epochs.truncate_from_end(Offset(20));
    epochs.truncate_from_start(Offset(5));
    epochs.flush(&fs).expect("written");
    assert_eq!(read_all(&fs, path).expect("read"), b"0\n2\n0 5\n2 12\n");
    assert_eq!(LeaderEpochs::open(&fs, Path::new("/logs/t-0")).expect("opened"), epochs);
}

#[test]
fn a_file_name_has_twenty_digits_and_one_of_the_known_endings() {
    let name = FileName::new(Offset(42), FileKind::TransactionIndex).at(FileStage::Swap);
    assert_eq!(name.path(Path::new("/d")), Path::new("/d/00000000000000000042.txnindex.swap"));
    assert_eq!(FileName::parse("00000000000000000042.txnindex.swap"), Some(name));
    let strangers =
        ["42.log", "00000000000000000042.log.tmp", "partition.metadata", "99999999999999999999.log", "x.log"];
    for stranger in strangers {
        assert_eq!(FileName::parse(stranger), None, "{stranger}");
    }
}

#[test]
fn a_real_directory_does_what_the_one_in_memory_does() {
    let real_dir = tempfile::tempdir().expect("a directory");
    let memory = MemoryFs::new();
    let mut seen = Vec::new();
    for (fs, directory) in [(&RealFs as &dyn FileSystem, real_dir.path()), (&memory, Path::new("/d"))] {
        fs.create_dir(directory).expect("a directory");
        let (a, b) = (directory.join("a"), directory.join("b"));
        fs.create(&a).expect("created");
        fs.append(&a, b"hello world").expect("appended");
        fs.sync(&a).expect("synced");
        fs.truncate(&a, 5).expect("cut");
        fs.set_modified(&a, Millis(1234)).expect("set");
        fs.rename(&a, &b).expect("renamed");
        fs.sync_dir(directory).expect("synced");
        seen.push((
            fs.list(directory).expect("listed"),
            fs.read_at(&b, 1, 100).expect("read"),
            fs.read_at(&b, 100, 1).expect("read"),
            fs.modified(&b).expect("asked"),
            fs.exists(&a).expect("asked"),
            fs.truncate(&b, 6).is_err(),
            fs.append(&a, b"x").is_err_and(|e| e.is_not_found()),
            fs.remove(&b).and_then(|()| fs.list(directory)).expect("removed"),
        ));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1].1, b"ello");
}

fn hex_of(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// CRC-32C bit by bit, from its polynomial (reflected 0x82f63b78), so that it owes nothing to the crate in use.
fn castagnoli(bytes: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    !crc
}
