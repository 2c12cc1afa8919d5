//! How a log is set up, and what of Kafka's behaviour can be chosen: the topic's configuration, and a switch for each
//! rule of the log (not of the cleaning itself) that a finding is about.

use super::batch::TimestampType;
use super::compression::Compression;
use super::names::Millis;
use super::rules::Rules;

/// The configuration of a topic, as far as its log knows it. The defaults are Kafka's (docs/compaction.md 8).
#[derive(Debug, Clone, PartialEq)]
pub struct LogConfig {
    /// `segment.bytes`.
    pub segment_bytes: u64,
    /// `segment.index.bytes`: how large each index may be.
    pub segment_index_bytes: usize,
    /// `index.interval.bytes`.
    pub index_interval_bytes: u64,
    /// `segment.ms`.
    pub segment_ms: Millis,
    /// `cleanup.policy` contains `compact`.
    pub compact: bool,
    /// `cleanup.policy` contains `delete`.
    pub delete: bool,
    /// `retention.bytes`, if there is a limit.
    pub retention_bytes: Option<u64>,
    /// `retention.ms`, if there is a limit.
    pub retention_ms: Option<Millis>,
    /// The topic's `delete.retention.ms`; without it the broker's holds.
    pub delete_retention_ms: Option<Millis>,
    /// The broker's `log.cleaner.delete.retention.ms`.
    pub broker_delete_retention_ms: Millis,
    /// `min.compaction.lag.ms`.
    pub min_compaction_lag_ms: Millis,
    /// `max.compaction.lag.ms`.
    pub max_compaction_lag_ms: Millis,
    /// `min.cleanable.dirty.ratio`.
    pub min_cleanable_dirty_ratio: f64,
    /// `max.message.bytes`.
    pub max_message_bytes: usize,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `compression.type`; `None` is `producer`: batches keep what they came with.
    pub compression: Option<Compression>,
    /// `file.delete.delay.ms`.
    pub file_delete_delay_ms: Millis,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: Millis,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            segment_bytes: 1 << 30,
            segment_index_bytes: 10 << 20,
            index_interval_bytes: 4096,
            segment_ms: Millis(604_800_000),
            compact: true,
            delete: false,
            retention_bytes: None,
            retention_ms: Some(Millis(604_800_000)),
            delete_retention_ms: None,
            broker_delete_retention_ms: Millis(86_400_000),
            min_compaction_lag_ms: Millis(0),
            max_compaction_lag_ms: Millis(i64::MAX),
            min_cleanable_dirty_ratio: 0.5,
            max_message_bytes: 1_048_588,
            timestamp_type: TimestampType::CreateTime,
            compression: None,
            file_delete_delay_ms: Millis(60_000),
            producer_id_expiration_ms: Millis(86_400_000),
        }
    }
}

impl LogConfig {
    /// D: the topic's value, else the broker's.
    #[must_use]
    pub fn delete_retention(&self) -> Millis {
        self.delete_retention_ms.unwrap_or(self.broker_delete_retention_ms)
    }

    /// After how long a segment is rolled: on a compacted topic no later than its records must be compacted (KIP-354).
    #[must_use]
    pub fn max_segment_ms(&self) -> Millis {
        if self.compact && self.max_compaction_lag_ms.0 > 0 {
            self.segment_ms.min(self.max_compaction_lag_ms)
        } else {
            self.segment_ms
        }
    }
}

/// What a replay does with a marker that was emptied (docs/compaction.md 5.3 N5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmptyMarker {
    /// Kafka: nothing but a nameless entry, so that the producer's epoch is lost.
    #[default]
    Ignored,
    /// The repair: the epoch that its header still has counts.
    RestoresEpoch,
}

/// The choices of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRules {
    /// Those of the cleaner, with N6 and N8.
    pub cleaner: Rules,
    /// N5.
    pub empty_marker: EmptyMarker,
}

impl LogRules {
    /// Kafka 4.4.0.
    #[must_use]
    pub const fn kafka_4_4() -> Self {
        Self { cleaner: Rules::kafka_4_4(), empty_marker: EmptyMarker::Ignored }
    }

    /// With every finding repaired.
    #[must_use]
    pub const fn repaired() -> Self {
        Self { cleaner: Rules::repaired(), empty_marker: EmptyMarker::RestoresEpoch }
    }
}
