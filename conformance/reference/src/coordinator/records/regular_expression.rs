//! A regular expression that members subscribe to, and the topics it stands for: kind 16 of `__consumer_offsets`
//! (docs/fencing.md 4.1).

use super::wire::{Reader, Writer};
use super::{Result, Value};

/// The key of a resolved regular expression: group id, the expression as the member sent it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegularExpressionKey {
    /// The group id.
    pub group_id: String,
    /// The expression, RE2 syntax.
    pub regular_expression: String,
}

/// What a regular expression was resolved to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupRegularExpressionValue {
    /// The names of the topics that match.
    pub topics: Vec<String>,
    /// The version of the cluster's metadata that it was resolved against.
    pub version: i64,
    /// When it was resolved, in milliseconds since 1970.
    pub timestamp_ms: i64,
}

impl RegularExpressionKey {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { group_id: reader.string("GroupId")?, regular_expression: reader.string("RegularExpression")? })
    }

    pub(super) fn write(&self, writer: &mut Writer) -> Result<()> {
        writer.string("GroupId", &self.group_id)?;
        writer.string("RegularExpression", &self.regular_expression)
    }
}

impl Value for ConsumerGroupRegularExpressionValue {
    fn read(reader: &mut Reader<'_>, _version: i16) -> Result<Self> {
        let value = Self {
            topics: reader.compact_array("Topics", |reader| reader.compact_string("Topics"))?,
            version: reader.int64("Version")?,
            timestamp_ms: reader.int64("Timestamp")?,
        };
        reader.skip_tagged_fields()?;
        Ok(value)
    }

    fn write(&self, writer: &mut Writer, _version: i16) -> Result<()> {
        writer.compact_array("Topics", &self.topics, |writer, topic| writer.compact_string("Topics", topic))?;
        writer.int64(self.version);
        writer.int64(self.timestamp_ms);
        writer.no_tagged_fields();
        Ok(())
    }
}
