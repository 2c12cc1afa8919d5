//! Kafka's primitive types on the wire: how the fields of a record become bytes and back.
//!
//! Numbers are big-endian. What differs is how lengths are written, and a schema is one or the other as a whole:
//!
//! ```text
//!                     keys, OffsetCommit before v4      all other values ("flexible")
//! string              length i16, -1 is null            length + 1 as unsigned varint, 0 is null
//! array, bytes        not used here                     length + 1 as unsigned varint, 0 is null
//! end of a structure  nothing                           tagged fields: how many, then tag, size, bytes of each
//! ```
//!
//! [`read`] trusts no length; [`write`] writes no default of a tagged field, which is what Kafka does.
//! Source: KIP-482, and Kafka's `ByteBufferAccessor` and `ByteUtils#readUnsignedVarint`.

mod read;
mod write;

pub(super) use read::Reader;
pub(super) use write::Writer;

/// The longest string that Kafka writes or reads, in bytes, with either kind of length.
const LONGEST_STRING: usize = 0x7fff;
