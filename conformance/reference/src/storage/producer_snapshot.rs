//! The bytes of a producer snapshot (Kafka's `ProducerStateManager#writeSnapshot`, schema `ProducerSnapshot`): the
//! producers as they are before the offset in the file's name.
//!
//! version i16 = 1 | CRC-32C u32 of what follows | count i32 | for each producer, 46 bytes: id i64, epoch i16, last
//! sequence i32, last data offset i64 (-1 none), its batch's offset delta i32, last timestamp i64, coordinator epoch i32,
//! first offset of the open transaction i64 (-1 none). Of the last five batches only the last one is kept.
//!
//! A snapshot that does not read is removed, and the state is replayed from an older one.

use std::path::Path;

use super::fs::{self, FileSystem};
use super::log_error::LogError;
use super::names::{Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use super::producer_entry::{BatchMetadata, ProducerEntry};

const VERSION: i16 = 1;
const HEADER_BYTES: usize = 10;
/// Where the bytes begin that the CRC covers.
const CRC_COVERS_FROM: usize = 6;
const ENTRY_BYTES: usize = 46;

/// A snapshot in Kafka's bytes.
#[must_use]
pub fn encode<'a>(entries: impl ExactSizeIterator<Item = &'a ProducerEntry>) -> Vec<u8> {
    let mut body = i32::try_from(entries.len()).unwrap_or(i32::MAX).to_be_bytes().to_vec();
    for entry in entries {
        let last = entry.batches.back();
        body.extend_from_slice(&entry.producer.0.to_be_bytes());
        body.extend_from_slice(&entry.epoch.0.to_be_bytes());
        body.extend_from_slice(&entry.last_sequence().0.to_be_bytes());
        body.extend_from_slice(&last.map_or(-1, |batch| batch.last_offset.0).to_be_bytes());
        body.extend_from_slice(&last.map_or(0, |batch| batch.offset_delta).to_be_bytes());
        body.extend_from_slice(&entry.last_timestamp.0.to_be_bytes());
        body.extend_from_slice(&entry.coordinator_epoch.to_be_bytes());
        body.extend_from_slice(&entry.transaction_start.map_or(-1, |offset| offset.0).to_be_bytes());
    }
    let mut bytes = VERSION.to_be_bytes().to_vec();
    bytes.extend_from_slice(&crc32c::crc32c(&body).to_be_bytes());
    bytes.append(&mut body);
    bytes
}

/// Reads a snapshot; `path` is for the error.
pub fn decode(path: &Path, bytes: &[u8]) -> Result<Vec<ProducerEntry>, LogError> {
    let corrupt = |position: usize, fault: &str| LogError::corrupt(path, position as u64, fault);
    let Some((&[v0, v1, c0, c1, c2, c3, n0, n1, n2, n3], body)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Err(corrupt(bytes.len(), "a snapshot that is cut off"));
    };
    if i16::from_be_bytes([v0, v1]) != VERSION {
        return Err(corrupt(0, "a version other than 1"));
    }
    let stored = u32::from_be_bytes([c0, c1, c2, c3]);
    if stored != crc32c::crc32c(bytes.get(CRC_COVERS_FROM..).unwrap_or_default()) {
        return Err(corrupt(2, "a checksum that is not that of the entries"));
    }
    let count = usize::try_from(i32::from_be_bytes([n0, n1, n2, n3])).ok();
    let (entries, rest) = body.as_chunks::<ENTRY_BYTES>();
    if count != Some(entries.len()) || !rest.is_empty() {
        return Err(corrupt(CRC_COVERS_FROM, "a number of entries that is not that of the file"));
    }
    Ok(entries.iter().map(entry).collect())
}

fn entry(bytes: &[u8; ENTRY_BYTES]) -> ProducerEntry {
    let mut rest: &[u8] = bytes;
    let producer = ProducerId(i64::from_be_bytes(take(&mut rest)));
    let epoch = ProducerEpoch(i16::from_be_bytes(take(&mut rest)));
    let last_sequence = Sequence(i32::from_be_bytes(take(&mut rest)));
    let last_offset = Offset(i64::from_be_bytes(take(&mut rest)));
    let offset_delta = i32::from_be_bytes(take(&mut rest));
    let last_timestamp = Millis(i64::from_be_bytes(take(&mut rest)));
    let coordinator_epoch = i32::from_be_bytes(take(&mut rest));
    let transaction_start = Some(Offset(i64::from_be_bytes(take(&mut rest)))).filter(|offset| offset.0 >= 0);
    let batch = BatchMetadata { last_sequence, last_offset, offset_delta, timestamp: last_timestamp };
    ProducerEntry {
        batches: Some(batch).filter(|batch| batch.last_offset.0 >= 0).into_iter().collect(),
        coordinator_epoch,
        last_timestamp,
        transaction_start,
        epoch,
        ..ProducerEntry::empty(producer)
    }
}

/// The next bytes; zeros after the end, which the length of an entry rules out.
fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    bytes.split_first_chunk::<N>().map_or([0; N], |(field, rest)| {
        *bytes = rest;
        *field
    })
}

/// Writes a snapshot durably. One that is torn does not pass its checksum.
pub(super) fn write<'a>(
    fs: &dyn FileSystem,
    path: &Path,
    entries: impl ExactSizeIterator<Item = &'a ProducerEntry>,
) -> Result<(), LogError> {
    fs.create(path)?;
    fs.append(path, &encode(entries))?;
    Ok(fs.sync(path)?)
}

/// Reads a snapshot file.
pub(super) fn read(fs: &dyn FileSystem, path: &Path) -> Result<Vec<ProducerEntry>, LogError> {
    decode(path, &fs::read_all(fs, path)?)
}
