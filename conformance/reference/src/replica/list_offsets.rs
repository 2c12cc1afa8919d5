//! Where the log begins or ends, by who asks (docs/replication.md 3.5; Kafka's `Partition#fetchOffsetForTimestamp`,
//! KIP-207).

use super::error::ErrorCode;
use super::message::{ListedOffset, OffsetSpec};
use super::names::{LeaderEpoch, Offset};
use super::slip::Slip;
use crate::storage::log::Log;
use crate::storage::log_error::LogError;
use crate::storage::log_read::Isolation;

/// Who asks, and how the leader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetQuestion {
    /// How far the requester sees; a replica sees all.
    pub isolation: Isolation,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// Where it began.
    pub epoch_start: Offset,
}

/// Answers from the leader's log.
pub fn list_offset(
    log: &Log,
    spec: OffsetSpec,
    question: OffsetQuestion,
    slip: Option<Slip>,
) -> Result<Result<ListedOffset, ErrorCode>, LogError> {
    let OffsetQuestion { isolation, leader_epoch, epoch_start } = question;
    let epochs = log.epochs().cache();
    let last_fetchable = log.upper_bound(isolation);
    // Until then the end that the last leader told may have been larger.
    let may_go_back = isolation != Isolation::LogEnd
        && log.high_watermark() < epoch_start
        && slip != Some(Slip::LatestBeforeEpochStart);
    Ok(match spec {
        OffsetSpec::Earliest => {
            let offset = log.log_start();
            let epoch = match slip {
                Some(Slip::EarliestHasCurrentEpoch) => Some(leader_epoch),
                _ => epochs.epoch_for_offset(offset),
            };
            Ok(ListedOffset { offset, epoch })
        }
        OffsetSpec::Latest if may_go_back => Err(ErrorCode::OffsetNotAvailable),
        OffsetSpec::Latest => Ok(ListedOffset { offset: last_fetchable, epoch: Some(leader_epoch) }),
        OffsetSpec::Timestamp(timestamp) => match log.offset_for_timestamp(timestamp)? {
            Some(found) if found.offset < last_fetchable => {
                Ok(ListedOffset { offset: found.offset, epoch: epochs.epoch_for_offset(found.offset) })
            }
            _ if may_go_back => Err(ErrorCode::OffsetNotAvailable),
            _ => Ok(ListedOffset { offset: Offset(-1), epoch: None }),
        },
    })
}
