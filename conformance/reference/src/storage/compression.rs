//! The codecs of a batch's records (docs/compaction.md 1.2; Kafka's `CompressionType` and what its streams write).
//!
//! Each is read as a stream into at most as many bytes as the caller allows, so that a few bytes cannot claim the
//! machine's memory. What is written is read by Kafka; that it is byte for byte what Kafka's codec would write is
//! promised by nobody, Kafka included.

use std::io::{self, Read, Write};

use flate2::GzBuilder;
use flate2::read::MultiGzDecoder;
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use super::error::{BatchError, Fault};
use super::varint::Cursor;

/// The most bytes that records are decompressed into where the caller does not say: 128 MiB. Kafka's own limit
/// (`max.decompressed.message.bytes`) is 2^31-9 by default, which is more than a test machine has.
pub const DEFAULT_LIMIT: usize = 128 * 1024 * 1024;

/// How records are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// RFC 1952.
    Gzip,
    /// Snappy in the framing of Java's `SnappyOutputStream`.
    Snappy,
    /// The LZ4 frame format, with independent blocks of 64 KiB and no checksum of the content.
    Lz4,
    /// RFC 8878.
    Zstd,
}

impl Compression {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The number in the attributes.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// The codec of this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.number() == number)
    }

    /// Kafka's name, as `compression.type` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    fn error(self, error: impl std::fmt::Display) -> BatchError {
        BatchError::new(0, Fault::Compressed { codec: self.name(), message: error.to_string() })
    }
}

/// `packed`, decompressed, if that has at most `limit` bytes.
pub fn decompress(codec: Compression, packed: &[u8], limit: usize) -> Result<Vec<u8>, BatchError> {
    match codec {
        Compression::None if packed.len() > limit => Err(BatchError::new(0, Fault::DecompressedTooLarge(limit))),
        Compression::None => Ok(packed.to_vec()),
        Compression::Gzip => read_all(codec, MultiGzDecoder::new(packed), limit),
        Compression::Snappy => snappy_decompress(packed, limit),
        // The library reads older frames too, which Kafka refuses.
        Compression::Lz4 if !packed.starts_with(&LZ4_MAGIC) => Err(codec.error("not a frame of LZ4")),
        Compression::Lz4 => read_all(codec, FrameDecoder::new(packed), limit),
        Compression::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(|error| codec.error(error))?;
            read_all(codec, decoder, limit)
        }
    }
}

fn read_all(codec: Compression, stream: impl Read, limit: usize) -> Result<Vec<u8>, BatchError> {
    let mut plain = Vec::new();
    // One byte more than is allowed tells that there is more.
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    stream.take(most).read_to_end(&mut plain).map_err(|error| codec.error(error))?;
    if plain.len() > limit { Err(BatchError::new(0, Fault::DecompressedTooLarge(limit))) } else { Ok(plain) }
}

/// `plain`, compressed at the codec's default level.
pub fn compress(codec: Compression, plain: Vec<u8>) -> Result<Vec<u8>, BatchError> {
    match codec {
        Compression::None => Ok(plain),
        Compression::Gzip => gzip_compress(&plain),
        Compression::Snappy => return snappy_compress(&plain),
        Compression::Lz4 => lz4_compress(&plain),
        Compression::Zstd => zstd::stream::encode_all(plain.as_slice(), zstd::DEFAULT_COMPRESSION_LEVEL),
    }
    .map_err(|error| codec.error(error))
}

fn gzip_compress(plain: &[u8]) -> io::Result<Vec<u8>> {
    // 255 is "unknown system", which Java 16 and later write.
    let mut encoder = GzBuilder::new().operating_system(255).write(Vec::new(), flate2::Compression::default());
    encoder.write_all(plain)?;
    encoder.finish()
}

fn lz4_compress(plain: &[u8]) -> io::Result<Vec<u8>> {
    let frame = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
    let mut encoder = FrameEncoder::with_frame_info(frame, Vec::new());
    encoder.write_all(plain)?;
    encoder.finish().map_err(io::Error::other)
}

/// What a frame of LZ4 begins with.
const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// The same frame with the checksum of its header as it should be, if there is a whole header (Kafka's
/// `KafkaLZ4BlockInputStream` with a broken checksum).
pub(super) fn with_lz4_header_checksum(frame: &[u8]) -> Vec<u8> {
    const CONTENT_SIZE_BIT: u8 = 0x08;
    let mut frame = frame.to_vec();
    let has_size = frame.get(LZ4_MAGIC.len()).is_some_and(|flags| flags & CONTENT_SIZE_BIT != 0);
    let end = LZ4_MAGIC.len() + if has_size { 10 } else { 2 };
    let sum = frame.get(LZ4_MAGIC.len()..end).map(|header| twox_hash::XxHash32::oneshot(0, header));
    if let (Some(sum), Some(place)) = (sum, frame.get_mut(end)) {
        // The second byte from below is the checksum.
        let [.., second, _] = sum.to_be_bytes();
        *place = second;
    }
    frame
}

/// What a stream of Java's `SnappyOutputStream` begins with: magic, version 1, readable by version 1.
const SNAPPY_HEADER: [u8; 16] = *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";
/// How much `SnappyOutputStream` compresses at a time.
const SNAPPY_BLOCK_BYTES: usize = 32 * 1024;

fn snappy_compress(plain: &[u8]) -> Result<Vec<u8>, BatchError> {
    let mut packed = SNAPPY_HEADER.to_vec();
    let mut encoder = snap::raw::Encoder::new();
    for chunk in plain.chunks(SNAPPY_BLOCK_BYTES) {
        let block = encoder.compress_vec(chunk).map_err(|error| Compression::Snappy.error(error))?;
        // A block of 32 KiB grows by a sixth at most.
        let length = u32::try_from(block.len()).map_err(|error| Compression::Snappy.error(error))?;
        packed.extend_from_slice(&length.to_be_bytes());
        packed.extend_from_slice(&block);
    }
    Ok(packed)
}

/// Blocks after a header; without a header the whole is one block, as `SnappyInputStream` reads it.
fn snappy_decompress(packed: &[u8], limit: usize) -> Result<Vec<u8>, BatchError> {
    if packed.get(..8) != SNAPPY_HEADER.get(..8) {
        let mut plain = Vec::new();
        snappy_block(packed, limit, &mut plain)?;
        return Ok(plain);
    }
    let mut cursor = Cursor::new(packed);
    cursor.take(SNAPPY_HEADER.len())?;
    let mut plain = Vec::new();
    while cursor.left() > 0 {
        let at = cursor.position();
        let length = cursor.u32()?;
        // A length whose bytes begin a header is the header of a stream that was appended to this one.
        if length.to_be_bytes().as_slice() == SNAPPY_HEADER.get(..4).unwrap_or_default() {
            cursor.take(SNAPPY_HEADER.len() - 4)?;
            continue;
        }
        let block = cursor.take(usize::try_from(length).unwrap_or(usize::MAX))?;
        snappy_block(block, limit, &mut plain).map_err(|error| error.within(at))?;
    }
    Ok(plain)
}

fn snappy_block(block: &[u8], limit: usize, plain: &mut Vec<u8>) -> Result<(), BatchError> {
    let too_large = || BatchError::new(0, Fault::DecompressedTooLarge(limit));
    let claimed = snap::raw::decompress_len(block).map_err(|error| Compression::Snappy.error(error))?;
    // Three bytes of input make at most 64 of output, so what claims more is not worth the memory that it asks for.
    if claimed > limit.saturating_sub(plain.len()) {
        return Err(too_large());
    }
    if claimed / 64 > block.len() {
        return Err(Compression::Snappy.error("a block that claims more than its bytes can hold"));
    }
    let decompressed =
        snap::raw::Decoder::new().decompress_vec(block).map_err(|error| Compression::Snappy.error(error))?;
    plain.extend_from_slice(&decompressed);
    Ok(())
}
