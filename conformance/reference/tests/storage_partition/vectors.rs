//! Rounds over a log that was fed given bytes, against the bytes that Kafka 4.4.0's own classes wrote
//! (docs/compaction.md 1.9: time 5000, D 100, records at offsets 10 to 12, a marker at 23).

use fencepost_reference::storage::log_read::Isolation;
use fencepost_reference::storage::log_rules::LogRules;
use fencepost_reference::storage::names::Offset;

use crate::support::Driven;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Feeds the bytes, runs a round at 5000, and gives the first batch that is left.
fn after_a_round(input: &str) -> String {
    let mut driven = Driven::new(LogRules::kafka_4_4(), 100);
    driven.partition.append_as_follower(&bytes(input)).expect("appended");
    driven.partition.roll().expect("rolled");
    driven.put("later", Some("1"));
    driven.clean_all();
    hex(&driven.partition.dump().expect("it reads")[0].batches[0].bytes)
}

const A0: &str = "000000000000000a0000005000000007021eb7713600000000000200000000000003e800000000000003edffffffffffffffffffffffffffff0000000314000000046b310476310010000a02046b32010014000604046b3304763300";
const A1: &str = "000000000000000a000000530000000702f81a5cc800400000000200000000000013ec00000000000003edffffffffffffffffffffffffffff000000031600874000046b31047631001200fd3f02046b3201001600814004046b3304763300";
const B0: &str = "000000000000000a0000005000000007028f27082600080000000200000000000003e80000000000000fa0ffffffffffffffffffffffffffff0000000314000000046b310476310010000a02046b32010014000604046b3304763300";
const B1: &str = "000000000000000a000000530000000702d62b261200480000000200000000000013ec0000000000000fa0ffffffffffffffffffffffffffff000000031600971100046b31047631001200971102046b3201001600971104046b3304763300";
const D0: &str = "0000000000000017000000420000000702349350de00300000000000000000000003f200000000000003f2000000000000002a0003ffffffff000000012000000008000000010c00000000000900";
const D2: &str = "0000000000000017000000430000000702823bba7b00700000000000000000000013ec00000000000003f2000000000000002a0003ffffffff000000012200f33f0008000000010c00000000000900";
const MAGIC_1: &str = "000000000000000a00000018702c156c010000000000000003e8000000026b32ffffffff";
const MAGIC_1_CONVERTED: &str = "000000000000000a0000003bffffffff02d3f84b5200400000000000000000000013ec00000000000003e8ffffffffffffffffffffffffffff000000011200874000046b320100";

#[test]
fn a_round_on_disk_stamps_to_the_bytes_that_kafka_wrote() {
    assert_eq!(after_a_round(A0), A1);
    assert_eq!(after_a_round(A1), A1, "and copies what is stamped");
    assert_eq!(after_a_round(B0), B1);
    assert_eq!(after_a_round(D0), D2);
}

#[test]
fn a_tombstone_of_format_1_is_converted_and_stamped_in_the_same_pass() {
    assert_eq!(after_a_round(MAGIC_1), MAGIC_1_CONVERTED);
}

#[test]
fn a_log_of_format_1_reads_and_recovers() {
    let mut driven = Driven::new(LogRules::kafka_4_4(), 100);
    driven.partition.append_as_follower(&bytes(MAGIC_1)).expect("appended");
    driven.settle();
    let driven = driven.crash();
    assert_eq!(driven.partition.log().end_offset(), Offset(11));
    assert_eq!(driven.texts(0, Isolation::LogEnd), ["10:k2=null"]);
}
