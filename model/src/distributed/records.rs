//! States on their way to their owners: a container of bytes, in which records stand one behind the other.
//!
//! A record is the fingerprint of a state, that of its parent, the length of the encoded state, and the encoded state.
//! Nothing is allocated for a record, and nothing is converted on the way into a socket: a `Vec` of records, which is
//! what the dataflow would use by itself, allocates for each of them, and encodes them a second time.

use std::marker::PhantomData;

use timely::Accountable;
use timely::bytes::arc::Bytes;
use timely::container::{DrainContainer, PushInto, SizableContainer};
use timely::dataflow::channels::ContainerBytes;

use super::fingerprint::Fingerprint;

/// At how many bytes a container is sent.
const FULL: usize = 1 << 15;

/// A state on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a, F> {
    /// The state's fingerprint, which names its owner.
    pub fingerprint: F,
    /// The fingerprint of the state that it was made from.
    pub parent: F,
    /// The state.
    pub encoded: &'a [u8],
}

/// Records, one behind the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Records<F> {
    bytes: Vec<u8>,
    count: i64,
    width: PhantomData<F>,
}

impl<F: Fingerprint> Accountable for Records<F> {
    fn record_count(&self) -> i64 {
        self.count
    }
}

impl<F: Fingerprint> SizableContainer for Records<F> {
    fn at_capacity(&self) -> bool {
        self.bytes.len() >= FULL
    }

    fn ensure_capacity(&mut self, stash: &mut Option<Self>) {
        if self.bytes.capacity() == 0 {
            if let Some(stashed) = stash.take() {
                self.bytes = stashed.bytes;
                self.bytes.clear();
                self.count = 0;
            }
            self.bytes.reserve(FULL + FULL / 16);
        }
    }
}

impl<F: Fingerprint> PushInto<Record<'_, F>> for Records<F> {
    fn push_into(&mut self, record: Record<'_, F>) {
        self.bytes.extend_from_slice(record.fingerprint.to_bytes().as_ref());
        self.bytes.extend_from_slice(record.parent.to_bytes().as_ref());
        // A state of four gigabytes would not have been made.
        let length = u32::try_from(record.encoded.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(record.encoded);
        self.count += 1;
    }
}

/// Goes through the records of a container.
pub(super) struct Iter<'a, F> {
    left: &'a [u8],
    width: PhantomData<F>,
}

impl<'a, F: Fingerprint> Iterator for Iter<'a, F> {
    type Item = Record<'a, F>;

    fn next(&mut self) -> Option<Self::Item> {
        let (fingerprint, left) = self.left.split_at_checked(F::WIDTH)?;
        let (parent, left) = left.split_at_checked(F::WIDTH)?;
        let (length, left) = left.split_first_chunk::<4>()?;
        let (encoded, left) = left.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.left = left;
        let read = |bytes| F::Bytes::try_from(bytes).ok().map(F::from_bytes);
        Some(Record { fingerprint: read(fingerprint)?, parent: read(parent)?, encoded })
    }
}

impl<F: Fingerprint> DrainContainer for Records<F> {
    type Item<'a> = Record<'a, F>;
    type DrainIter<'a> = Iter<'a, F>;

    fn drain(&mut self) -> Iter<'_, F> {
        Iter { left: &self.bytes, width: PhantomData }
    }
}

impl<F: Fingerprint> ContainerBytes for Records<F> {
    fn from_bytes(bytes: Bytes) -> Self {
        let (count, left) =
            bytes.split_first_chunk::<8>().map_or((0, &[][..]), |(count, left)| (i64::from_le_bytes(*count), left));
        // The connection fills up to whole words; the last eight bytes say how many there are in earnest.
        let length = left.split_first_chunk::<8>().map_or(0, |(length, _)| u64::from_le_bytes(*length));
        let length = usize::try_from(length).unwrap_or(0);
        let bytes = left.get(8..8 + length).unwrap_or_default().to_vec();
        Self { bytes, count, width: PhantomData }
    }

    fn length_in_bytes(&self) -> usize {
        16 + self.bytes.len().next_multiple_of(8)
    }

    fn into_bytes<W: std::io::Write>(&self, writer: &mut W) {
        const ZEROS: [u8; 8] = [0; 8];
        let length = self.bytes.len();
        let filling = length.next_multiple_of(8) - length;
        let written = writer
            .write_all(&self.count.to_le_bytes())
            .and_then(|()| writer.write_all(&(length as u64).to_le_bytes()))
            .and_then(|()| writer.write_all(&self.bytes))
            .and_then(|()| writer.write_all(&ZEROS[..filling]));
        // The writer is a piece of memory of the length that was asked for. Were it too short, what is missing would
        // show at the other side, which counts.
        debug_assert!(written.is_ok(), "a container has the length that it says");
    }
}

#[cfg(test)]
mod tests {
    use timely::bytes::arc::BytesMut;

    use super::*;

    fn three() -> Records<u64> {
        let mut records = Records::default();
        for (fingerprint, encoded) in [(1_u64, &b"one"[..]), (2, b""), (3, b"three and some")] {
            records.push_into(Record { fingerprint, parent: 9, encoded });
        }
        records
    }

    fn seen(records: &mut Records<u64>) -> Vec<(u64, u64, Vec<u8>)> {
        records.drain().map(|record| (record.fingerprint, record.parent, record.encoded.to_vec())).collect()
    }

    #[test]
    fn what_goes_in_comes_out_in_order() {
        let expected = vec![(1, 9, b"one".to_vec()), (2, 9, Vec::new()), (3, 9, b"three and some".to_vec())];
        assert_eq!(three().record_count(), 3);
        assert_eq!(seen(&mut three()), expected);
    }

    #[test]
    fn a_container_is_the_same_behind_a_connection() {
        let mut written = Vec::new();
        three().into_bytes(&mut written);
        assert_eq!(written.len(), three().length_in_bytes());
        assert_eq!(written.len() % 8, 0);
        let mut read = Records::<u64>::from_bytes(BytesMut::from(written).freeze());
        assert_eq!(read.record_count(), 3);
        assert_eq!(seen(&mut read), seen(&mut three()));
    }

    #[test]
    fn a_container_that_is_cut_off_gives_what_is_whole() {
        let mut records = three();
        records.bytes.truncate(records.bytes.len() - 1);
        assert_eq!(seen(&mut records).len(), 2);
        assert_eq!(Records::<u64>::from_bytes(BytesMut::from(vec![1, 2, 3]).freeze()).record_count(), 0);
    }
}
