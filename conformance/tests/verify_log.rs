//! `verify-log` on directories in Kafka's format: a log that is in order, and the same with one fault planted.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use fencepost_conformance::verify_log::{Directory, Report, Rule, pass};
use fencepost_reference::storage::batch::{BatchBuilder, BatchHeader};
use fencepost_reference::storage::control::Marker;
use fencepost_reference::storage::names::{LeaderEpoch, Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use fencepost_reference::storage::record::Record;
use fencepost_reference::storage::transaction_tracker::AbortedTxn;
use proptest::prelude::*;

const PRODUCER: i64 = 7;

/// A batch of one record.
fn plain(offset: i64, key: &str) -> Vec<u8> {
    BatchBuilder::new(BatchHeader::plain(Offset(offset))).record(record(offset, key)).build().expect("a batch")
}

fn record(offset: i64, key: &str) -> Record {
    Record::new(Offset(offset), Millis(5000), Some(key.as_bytes()), Some(b"v"))
}

fn header(offset: i64, epoch: i16) -> BatchHeader {
    BatchHeader {
        transactional: true,
        producer_id: ProducerId(PRODUCER),
        producer_epoch: ProducerEpoch(epoch),
        base_sequence: Sequence(0),
        ..BatchHeader::plain(Offset(offset))
    }
}

fn transactional(offset: i64, epoch: i16, key: &str) -> Vec<u8> {
    BatchBuilder::new(header(offset, epoch)).record(record(offset, key)).build().expect("a batch")
}

fn marker(offset: i64, epoch: i16, commit: bool) -> Vec<u8> {
    Marker { commit, coordinator_epoch: 0 }
        .batch(Offset(offset), Millis(5000), LeaderEpoch(0), ProducerId(PRODUCER), ProducerEpoch(epoch))
        .expect("a marker")
}

fn emptied_marker(offset: i64, epoch: i16) -> Vec<u8> {
    let header = BatchHeader { control: true, base_sequence: Sequence::NONE, ..header(offset, epoch) };
    BatchBuilder::new(header).last_offset(Offset(offset)).max_timestamp(Millis(5000)).build().expect("a batch")
}

fn entry(first: i64, last: i64) -> Vec<u8> {
    AbortedTxn {
        producer_id: ProducerId(PRODUCER),
        first_offset: Offset(first),
        last_offset: Offset(last),
        last_stable_offset: Offset(last + 1),
    }
    .to_bytes()
    .to_vec()
}

/// A partition's directory in a temporary one.
struct Log {
    root: tempfile::TempDir,
}

impl Log {
    fn new(segments: &[(i64, &[Vec<u8>])], index: &[(i64, &[Vec<u8>])], checkpoint: Option<i64>) -> Self {
        let log = Self { root: tempfile::tempdir().expect("a directory") };
        std::fs::create_dir(log.partition()).expect("a directory");
        for (files, extension) in [(segments, "log"), (index, "txnindex")] {
            for (base, parts) in files {
                std::fs::write(log.file(*base, extension), parts.concat()).expect("a file");
            }
        }
        if let Some(offset) = checkpoint {
            let text = format!("0\n2\nother 3 9\na-b 0 {offset}\n");
            std::fs::write(log.root.path().join("cleaner-offset-checkpoint"), text).expect("a file");
        }
        log
    }

    fn partition(&self) -> PathBuf {
        self.root.path().join("a-b-0")
    }

    fn file(&self, base: i64, extension: &str) -> PathBuf {
        self.partition().join(format!("{base:020}.{extension}"))
    }

    fn damage(path: &Path, at: usize, byte: u8) {
        let mut bytes = std::fs::read(path).expect("the file");
        bytes[at] = byte;
        std::fs::write(path, bytes).expect("the file");
    }

    fn verify(&self) -> Report {
        let directory = Directory::open(&self.partition()).expect("a directory with segments");
        pass::verify(&directory, &AtomicBool::new(false), &mut |_| {}).expect("files that can be read")
    }

    fn broken(&self) -> Vec<(Rule, Option<i64>)> {
        self.verify().findings.into_iter().map(|finding| (finding.rule, finding.offset)).collect()
    }
}

/// Two segments, an aborted transaction and a committed one, cleaned up to 5.
fn sound() -> Log {
    Log::new(
        &[
            (0, &[plain(0, "k"), transactional(1, 0, "x"), marker(2, 1, false), plain(3, "l")]),
            (4, &[transactional(4, 1, "m"), marker(5, 2, true), plain(6, "k")]),
        ],
        &[(0, &[entry(1, 2)])],
        Some(5),
    )
}

#[test]
fn a_log_that_is_in_order_has_no_findings() {
    let report = sound().verify();
    assert_eq!(report.findings, []);
    assert_eq!((report.counts.segments, report.counts.batches, report.counts.records), (2, 7, 7));
    assert_eq!(report.counts.keys, 3, "k, l and m are below the checkpoint and committed; x is not");
    assert_eq!((report.log_end, report.first_dirty, report.first_open), (7, Some(5), None));
}

#[test]
fn a_bit_that_was_flipped_in_a_record_is_a_wrong_checksum() {
    let log = sound();
    Log::damage(&log.file(4, "log"), 65, 0xff);
    assert!(log.broken().contains(&(Rule::Checksum, Some(4))));
}

#[test]
fn a_length_that_is_not_one_ends_the_look_at_its_segment() {
    for (at, byte) in [(8, 0x7f), (8, 0xff), (16, 9)] {
        let log = sound();
        Log::damage(&log.file(0, "log"), at, byte);
        let report = log.verify();
        assert_eq!(report.findings.first().map(|finding| finding.rule), Some(Rule::Batch), "{at}: {report:?}");
    }
}

#[test]
fn a_torn_tail_is_told() {
    let log = sound();
    let path = log.file(4, "log");
    let bytes = std::fs::read(&path).expect("the file");
    std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("the file");
    assert_eq!(log.broken(), [(Rule::Batch, None)]);
}

#[test]
fn offsets_that_go_back_or_leave_their_segment_are_told() {
    let back = Log::new(&[(0, &[plain(1, "a"), plain(1, "b")])], &[], None);
    assert_eq!(back.broken(), [(Rule::Offsets, Some(1))]);
    let beyond = Log::new(&[(0, &[plain(0, "a"), plain(5, "b")]), (4, &[plain(6, "c")])], &[], None);
    assert_eq!(beyond.broken(), [(Rule::Offsets, Some(5))]);
    let below = Log::new(&[(3, &[plain(2, "a")])], &[], None);
    assert_eq!(below.broken(), [(Rule::Offsets, Some(2))]);
}

#[test]
fn a_gap_between_batches_is_no_fault() {
    assert_eq!(Log::new(&[(0, &[plain(0, "a"), plain(5, "b")])], &[], Some(6)).broken(), []);
}

#[test]
fn a_marker_that_went_before_its_data_breaks_s8() {
    let emptied = Log::new(&[(0, &[transactional(0, 0, "x"), emptied_marker(1, 1)])], &[], Some(2));
    assert_eq!(emptied.broken(), [(Rule::S8, Some(1))]);
    let gone = Log::new(&[(0, &[transactional(0, 0, "x"), plain(2, "k")])], &[], Some(3));
    assert_eq!(gone.broken(), [(Rule::S8, Some(0))]);
    let overtaken =
        Log::new(&[(0, &[transactional(0, 0, "x"), transactional(2, 1, "y"), marker(3, 2, true)])], &[], None);
    assert_eq!(overtaken.broken(), [(Rule::S8, Some(0))]);
    let open = Log::new(&[(0, &[plain(0, "k"), transactional(1, 0, "x")])], &[], Some(1));
    assert_eq!(open.broken(), [], "an open transaction above the checkpoint is only open");
}

#[test]
fn an_aborted_transaction_and_its_entry_belong_together() {
    let unlisted = Log::new(&[(0, &[transactional(0, 0, "x"), marker(1, 1, false)])], &[], None);
    assert_eq!(unlisted.broken(), [(Rule::S9, Some(1))]);
    let listed = |entry: Vec<u8>, batches: &[Vec<u8>]| Log::new(&[(0, batches)], &[(0, &[entry])], None).broken();
    assert_eq!(listed(entry(0, 1), &[plain(0, "k"), emptied_marker(1, 1)]), [(Rule::S11, Some(1))]);
    assert_eq!(listed(entry(0, 1), &[transactional(0, 0, "x"), marker(1, 1, true)]), [(Rule::S11, Some(1))]);
    assert_eq!(listed(entry(0, 1), &[marker(1, 1, false)]), [], "the data may have gone before the entry");
}

#[test]
fn a_key_that_is_twice_below_the_checkpoint_breaks_s13() {
    let batches = [plain(0, "k"), plain(1, "l"), plain(2, "k")];
    assert_eq!(Log::new(&[(0, &batches)], &[], Some(3)).broken(), [(Rule::S13, Some(2))]);
    assert_eq!(Log::new(&[(0, &batches)], &[], Some(2)).broken(), []);
    assert_eq!(Log::new(&[(0, &batches)], &[], None).broken(), []);
    let aborted = [plain(0, "k"), transactional(1, 0, "k"), marker(2, 1, false)];
    assert_eq!(Log::new(&[(0, &aborted)], &[(0, &[entry(1, 2)])], Some(3)).broken(), []);
    let committed = [plain(0, "k"), transactional(1, 0, "k"), marker(2, 1, true)];
    assert_eq!(Log::new(&[(0, &committed)], &[], Some(3)).broken(), [(Rule::S13, Some(1))]);
}

#[test]
fn an_entry_that_the_next_round_may_take_for_a_later_transaction_is_a_warning() {
    let batches =
        [plain(0, "k"), transactional(1, 0, "x"), marker(2, 1, false), transactional(3, 1, "k"), marker(4, 2, true)];
    let report = Log::new(&[(0, &batches)], &[(0, &[entry(1, 2)])], Some(3)).verify();
    assert_eq!(report.findings.iter().map(|finding| finding.rule).collect::<Vec<_>>(), [Rule::N2]);
    assert!(!report.has_faults());
    assert_eq!(Log::new(&[(0, &batches)], &[(0, &[entry(1, 2)])], Some(5)).broken(), [(Rule::S13, Some(3))]);
}

#[test]
fn what_cannot_be_looked_at_is_an_error() {
    let empty = tempfile::tempdir().expect("a directory");
    let error = Directory::open(empty.path()).expect_err("no segment").to_string();
    assert!(error.contains("has no segment"), "{error}");
    assert!(Directory::open(&empty.path().join("absent")).is_err());
    let log = sound();
    std::fs::write(log.file(0, "txnindex"), [0; 35]).expect("a file");
    assert!(Directory::open(&log.partition()).is_err());
    let log = sound();
    std::fs::write(log.root.path().join("cleaner-offset-checkpoint"), "0\n1\na-b 0 x\n").expect("a file");
    assert!(Directory::open(&log.partition()).is_err());
}

#[test]
fn a_batch_that_is_larger_than_the_buffer_is_read() {
    let value = vec![b'v'; 5 * 1024 * 1024];
    let record = Record::new(Offset(0), Millis(5000), Some(b"k"), Some(&value));
    let large = BatchBuilder::new(BatchHeader::plain(Offset(0))).record(record).build().expect("a batch");
    let report = Log::new(&[(0, &[large, plain(1, "l")])], &[], Some(2)).verify();
    assert_eq!((report.findings.len(), report.counts.keys), (0, 2));
}

proptest! {
    #[test]
    fn whatever_byte_is_damaged_it_is_a_finding_or_changes_nothing_that_is_read(at in 0..480_usize, byte: u8) {
        let log = sound();
        let path = log.file(0, "log");
        let length = std::fs::read(&path).expect("the file").len();
        Log::damage(&path, at % length, byte);
        let _ = log.verify();
    }

    #[test]
    fn arbitrary_bytes_are_a_report(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let log = Log::new(&[(0, &[bytes])], &[], None);
        let _ = log.verify();
    }
}

/// A copy of the directory that Kafka 4.4.0 wrote (tests/data/kafka-4.4.0).
fn written_by_kafka() -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a directory");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kafka-4.4.0");
    std::fs::create_dir(copy.path().join("t-0")).expect("a directory");
    for directory in ["", "t-0"] {
        for entry in std::fs::read_dir(source.join(directory)).expect("the data") {
            let entry = entry.expect("a file");
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                let to = copy.path().join(directory).join(entry.file_name());
                std::fs::copy(entry.path(), to).expect("a copy");
            }
        }
    }
    copy
}

fn rules_broken(root: &tempfile::TempDir) -> Vec<Rule> {
    let directory = Directory::open(&root.path().join("t-0")).expect("a directory with segments");
    let report = pass::verify(&directory, &AtomicBool::new(false), &mut |_| {}).expect("files that can be read");
    report.findings.into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn a_directory_that_kafka_wrote_is_in_order_and_warns_of_the_entry_that_the_next_round_will_misread() {
    assert_eq!(rules_broken(&written_by_kafka()), [Rule::N2]);
}

#[test]
fn one_fault_in_a_directory_that_kafka_wrote_is_found() {
    let segment = "t-0/00000000000000000000.log";
    let plant = |file: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let root = written_by_kafka();
        let path = root.path().join(file);
        let mut bytes = std::fs::read(&path).expect("the file");
        change(&mut bytes);
        std::fs::write(&path, bytes).expect("the file");
        rules_broken(&root)
    };
    assert_eq!(plant(segment, &|bytes| bytes[64] ^= 1), [Rule::Checksum, Rule::N2]);
    assert_eq!(plant(segment, &|bytes| bytes.truncate(bytes.len() - 1)), [Rule::Batch, Rule::N2]);
    assert_eq!(plant(segment, &|bytes| bytes[7] = 9), [Rule::Offsets, Rule::Offsets, Rule::N2]);
    // The marker's offset in the entry: no ABORT is at 3.
    assert_eq!(plant("t-0/00000000000000000000.txnindex", &|bytes| bytes[25] = 3), [Rule::S11, Rule::N2]);
    // A checkpoint beyond what was mapped: `b` is at 4 and at 5, `a` at 3 and at 6. The segment that holds 8 has no entry.
    let beyond = plant("cleaner-offset-checkpoint", &|bytes| *bytes = b"0\n1\nt 0 8\n".to_vec());
    assert_eq!(beyond, [Rule::S13, Rule::S13]);
}
