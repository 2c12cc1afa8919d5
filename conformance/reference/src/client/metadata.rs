//! What a client knows of the leader (docs/consumers.md 2, 8; Kafka's `Metadata#updateLatestMetadata`,
//! `#updateLastSeenEpochIfNewer`, `#currentLeader`; KIP-232, KIP-516).

use super::names::{BrokerId, LeaderEpoch, TopicId};
use super::rules::{Confirmation, Detection, Rules, TopicIdentity};
use super::slip::Slip;
use super::state::LeaderAndEpoch;

/// What an answer of metadata says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// The leader, if there is one.
    pub leader: Option<BrokerId>,
    /// Its epoch, if that is told and can be relied on.
    pub epoch: Option<LeaderEpoch>,
    /// The topic.
    pub topic: TopicId,
}

/// What a client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metadata {
    heard: Option<Heard>,
    last_seen: Option<LeaderEpoch>,
}

/// Whether an answer is taken, by the last epoch and the topic that the client has seen.
#[must_use]
pub fn accept_metadata(rules: Rules, last_seen: Option<LeaderEpoch>, known: Option<TopicId>, heard: Heard) -> bool {
    let not_older = match (heard.epoch, last_seen) {
        (Some(epoch), Some(last_seen)) => epoch >= last_seen || rules.slips(Slip::OlderMetadataTaken),
        // It says nothing that could be compared.
        _ => true,
    };
    match (rules.detection, rules.topic, known) {
        (Detection::None, ..) => true,
        (_, TopicIdentity::PartitionEpoch, Some(known)) if heard.topic != known => heard.topic > known,
        (_, TopicIdentity::LeaderEpoch | TopicIdentity::PartitionEpoch, _) | (_, _, None) => not_older,
        (_, TopicIdentity::IdOfMetadata | TopicIdentity::Id, Some(known)) => heard.topic != known || not_older,
    }
}

impl Metadata {
    /// Takes an answer over, or not.
    pub(super) fn hear(&mut self, rules: Rules, heard: Heard) {
        let known = self.heard.map(|heard| heard.topic);
        if accept_metadata(rules, self.last_seen, known, heard) {
            self.heard = Some(heard);
            self.last_seen = heard.epoch;
        }
    }

    /// An epoch was seen elsewhere: with a committed offset, a seek, or an answer. As Kafka has it, an epoch that is seen
    /// before any of metadata is none that metadata could be older than.
    pub(super) fn raise_last_seen(&mut self, rules: Rules, epoch: Option<LeaderEpoch>) {
        let newer = match (epoch, self.last_seen) {
            (Some(epoch), Some(last_seen)) => epoch > last_seen,
            (Some(_), None) => self.heard.is_none() && rules.confirmation == Confirmation::EndOffsetAndEpoch,
            (None, _) => false,
        };
        if newer && !rules.slips(Slip::SeenEpochNotRaised) {
            self.last_seen = epoch;
        }
    }

    /// The leader; none while a newer epoch was seen than the one that it led in when the client heard of it.
    pub(super) fn current_leader(&self) -> LeaderAndEpoch {
        match (self.heard, self.last_seen) {
            (Some(heard), last_seen) if last_seen.is_none() || heard.epoch == last_seen => {
                LeaderAndEpoch { leader: heard.leader, epoch: heard.epoch }
            }
            (_, last_seen) => LeaderAndEpoch { leader: None, epoch: last_seen },
        }
    }

    /// The topic, as far as it is known.
    pub(super) fn topic(&self) -> Option<TopicId> {
        self.heard.map(|heard| heard.topic)
    }
}
