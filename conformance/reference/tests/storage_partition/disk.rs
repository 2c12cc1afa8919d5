//! The same on the files of this machine.

use std::path::Path;
use std::sync::Arc;

use fencepost_reference::storage::batch_builder::BatchHeader;
use fencepost_reference::storage::fs::RealFs;
use fencepost_reference::storage::log_read::Isolation;
use fencepost_reference::storage::log_rules::LogRules;
use fencepost_reference::storage::names::{Millis, Offset};
use fencepost_reference::storage::partition::Partition;

use crate::support::{NOW, record, setup, text};

fn open(directory: &Path, now: Millis) -> Partition {
    Partition::open(Arc::new(RealFs), directory, setup(LogRules::kafka_4_4(), 100), now).expect("opens")
}

fn put(partition: &mut Partition, key: &str, value: Option<&str>) {
    let record = record(key, value, partition.now());
    partition.append(BatchHeader::plain(Offset(0)), vec![record]).expect("appended");
}

fn lines(partition: &Partition) -> Vec<String> {
    let handed = partition.read_all(Offset(0), Isolation::Committed).expect("it reads");
    handed.records.iter().map(text).collect()
}

#[test]
fn a_partition_on_disk_is_cleaned_closed_and_opened_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut partition = open(directory.path(), NOW);
    put(&mut partition, "k", Some("v"));
    put(&mut partition, "k", None);
    put(&mut partition, "y", Some("1"));
    partition.roll().expect("rolled");
    partition.set_high_watermark(Offset(3));
    let round = partition.clean().expect("no file failed").expect("chosen");
    assert_eq!(round.outcome.expect("a whole round").cleaned_to, Offset(3));
    assert_eq!(lines(&partition), ["1:k=null", "2:y=1"]);
    partition.close().expect("closed");

    let log_dir = directory.path();
    assert_eq!(std::fs::read_to_string(log_dir.join("cleaner-offset-checkpoint")).expect("read"), "0\n1\nt 0 3\n");
    assert!(log_dir.join(".kafka_cleanshutdown").exists());
    let mut partition = open(log_dir, Millis(5100));
    assert!(!log_dir.join(".kafka_cleanshutdown").exists(), "from now on a stop is an unclean one");
    assert!(!log_dir.join("t-0/00000000000000000000.log.deleted").exists(), "what waited for its removal is gone");
    partition.set_high_watermark(Offset(3));
    put(&mut partition, "z", Some("1"));
    partition.roll().expect("rolled");
    partition.set_high_watermark(Offset(4));
    partition.clean().expect("no file failed").expect("chosen").outcome.expect("a whole round");
    assert_eq!(lines(&partition), ["2:y=1", "3:z=1"]);
    drop(partition);

    let mut partition = open(log_dir, Millis(5200));
    partition.set_high_watermark(Offset(4));
    assert_eq!(lines(&partition), ["2:y=1", "3:z=1"], "after an unclean stop too");
}
