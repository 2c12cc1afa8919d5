//! What a leader answers followers and clients (docs/replication.md 3.1 to 3.5, 4.6; Kafka's `Partition#fetchRecords`,
//! `ReplicaManager#fetchMessages`, `#appendRecords`, `DelayedFetch`).

use super::divergence::{FetchPosition, check_divergence};
use super::effects::Answer;
use super::epoch_check::{LocalReplica, check_leader_epoch};
use super::error::ErrorCode;
use super::list_offsets::{OffsetQuestion, list_offset};
use super::message::{
    Content, EpochRequest, EpochRequestVersion, FetchReply, FetchRequest, Fetched, ListOffsetsRequest, ListedOffset,
    Message, OffsetSpec,
};
use super::names::{Correlation, LeaderEpoch, Node, Offset, ProduceId};
use super::observe::read_to;
use super::process::{PendingProduce, Process, Role};
use super::produce::{Acks, check_produce};
use super::records;
use super::rules::{Fencing, Truncation};
use super::slip::Slip;
use crate::storage::batch_builder::{BatchBuilder, BatchHeader};
use crate::storage::epoch_cache::EpochEnd;
use crate::storage::log_append::Appended;
use crate::storage::log_error::{AppendError, LogError};
use crate::storage::log_read::Isolation;
use crate::storage::producer_append::AppendOrigin;
use crate::storage::record::Record;

impl Process {
    /// The checks that come before every answer.
    fn check_request(&self, requested: Option<LeaderEpoch>, leader_required: bool) -> Result<(), ErrorCode> {
        if self.role == Role::None {
            return Err(ErrorCode::UnknownTopicOrPartition);
        }
        let compares = self.setup.rules.fencing == Fencing::CurrentEpoch && !self.slips(Slip::RequestsNotFenced);
        let is_later = requested.is_some_and(|requested| requested > self.leader_epoch);
        let requested = requested.filter(|_| compares && !(is_later && self.slips(Slip::ZombieLeaderServes)));
        let local =
            LocalReplica { leader_epoch: self.leader_epoch, is_leader: self.leading().is_some(), has_log: true };
        check_leader_epoch(local, requested, leader_required)
    }

    /// A follower's fetch is answered, counted, and kept if there is nothing to answer.
    pub(super) fn serve_fetch(&mut self, message: Message) -> Result<(), LogError> {
        let Content::Fetch(request) = message.content else { return Ok(()) };
        let leader_end = self.log.end_offset();
        let mut answer = self.read_for(message.from, &request)?;
        let counted = match &answer {
            Ok(FetchReply { found: Fetched::Records(_), .. }) => true,
            Ok(_) => self.slips(Slip::DivergingFetchCounted),
            Err(_) => self.slips(Slip::FailedFetchCounted),
        };
        if let (true, Node::Broker(follower)) = (counted, message.from)
            && let Err(error) = self.count_fetch(follower, &request, leader_end)
        {
            answer = Err(error);
        }
        if let (Ok(reply), true) = (&mut answer, self.slips(Slip::ReplyHasRaisedHighWatermark)) {
            reply.high_watermark = self.log.high_watermark();
        }
        match &answer {
            Ok(FetchReply { found: Fetched::Records(records), .. }) if records.is_empty() => self.parked.push(message),
            _ => self.effects.sends.push(message.reply(Content::FetchReply(answer))),
        }
        Ok(())
    }

    /// What there is for a fetch, without counting it: all checks, every time.
    fn read_for(&self, from: Node, request: &FetchRequest) -> Result<Result<FetchReply, ErrorCode>, LogError> {
        if let Err(error) = self.check_request(request.current_leader_epoch, true) {
            return Ok(Err(error));
        }
        let is_replica = matches!(from, Node::Broker(broker) if self.setup.replicas.contains(&broker));
        if !is_replica {
            // The follower may know of a reassignment before its leader does (KAFKA-13837, KAFKA-14078).
            let with_epoch = request.current_leader_epoch.is_some();
            let error = if with_epoch { ErrorCode::UnknownLeaderEpoch } else { ErrorCode::NotLeaderOrFollower };
            return Ok(Err(error));
        }
        let (high_watermark, log_start, log_end) =
            (self.log.high_watermark(), self.log.log_start(), self.log.end_offset());
        let reply = |found| Ok(Ok(FetchReply { found, high_watermark, log_start }));
        if let Some(last_fetched_epoch) = request.last_fetched_epoch {
            let end = self.end_of_epoch(last_fetched_epoch);
            let position = FetchPosition { offset: request.offset, last_fetched_epoch };
            match check_divergence(end, log_start, position, self.setup.rules.slip) {
                Err(error) => return Ok(Err(error)),
                Ok(Some(end)) => return reply(Fetched::Diverging(end)),
                Ok(None) => {}
            }
        }
        if request.offset < log_start || request.offset > log_end {
            return Ok(Err(ErrorCode::OffsetOutOfRange));
        }
        reply(Fetched::Records(read_to(&self.log, request.offset, Isolation::LogEnd)?))
    }

    /// Looks again at the fetches that wait, and answers those for which there is something to say.
    pub(super) fn complete_parked(&mut self) -> Result<(), LogError> {
        for message in std::mem::take(&mut self.parked) {
            let Content::Fetch(request) = message.content else { continue };
            let answer = self.read_for(message.from, &request)?;
            match &answer {
                Ok(FetchReply { found: Fetched::Records(records), .. }) if records.is_empty() => {
                    self.parked.push(message);
                }
                _ => self.effects.completed_fetches.push(message.reply(Content::FetchReply(answer))),
            }
        }
        Ok(())
    }

    pub(super) fn expire_fetch(&mut self, from: Node, correlation: Correlation) -> Result<(), LogError> {
        let waited = |message: &Message| message.from == from && message.correlation == correlation;
        let (expired, parked): (Vec<_>, Vec<_>) = std::mem::take(&mut self.parked).into_iter().partition(waited);
        self.parked = parked;
        for message in expired {
            let Content::Fetch(request) = message.content else { continue };
            let answer = self.read_for(message.from, &request)?;
            self.effects.completed_fetches.push(message.reply(Content::FetchReply(answer)));
        }
        Ok(())
    }

    /// Where an epoch ends in this log.
    pub(super) fn end_of_epoch(&self, epoch: LeaderEpoch) -> EpochEnd {
        let cache = self.log.epochs().cache();
        let log_end = self.log.end_offset();
        let is_future = cache.latest().is_some_and(|latest| epoch > latest);
        let end = match self.setup.rules.truncation {
            _ if is_future && self.slips(Slip::FutureEpochEndsAtLogEnd) => EpochEnd { epoch, end_offset: log_end },
            Truncation::HighWatermark | Truncation::LeaderOffset => cache.end_offset_before_7415(epoch, log_end),
            Truncation::EpochExchange | Truncation::OnFetch => cache.end_offset_for(epoch, log_end),
        };
        if self.slips(Slip::AnswerHasCurrentEpoch) && end.is_defined() {
            return EpochEnd { epoch: self.leader_epoch, ..end };
        }
        end
    }

    pub(super) fn epoch_end_for(&self, request: EpochRequest) -> Result<EpochEnd, ErrorCode> {
        let rules = self.setup.rules;
        if request.version > rules.understands {
            return Err(ErrorCode::UnsupportedVersion);
        }
        match self.check_request(request.current_leader_epoch, true) {
            Err(ErrorCode::NotLeaderOrFollower) if self.slips(Slip::NonLeaderAnswersEpochEnd) => {}
            checked => checked?,
        }
        let end = self.end_of_epoch(request.epoch);
        let without_epoch = request.version == EpochRequestVersion::V0;
        Ok(if without_epoch { EpochEnd { epoch: LeaderEpoch::NONE, ..end } } else { end })
    }

    pub(super) fn answer_epoch_end(&mut self, epoch: LeaderEpoch, current_leader_epoch: Option<LeaderEpoch>) {
        let version = self.setup.rules.understands;
        let answer = self.epoch_end_for(EpochRequest { epoch, current_leader_epoch, version });
        self.effects.answer = Some(answer.map_or_else(Answer::Refused, Answer::EpochEnd));
    }

    pub(super) fn list_offset_for(
        &self,
        request: ListOffsetsRequest,
    ) -> Result<Result<ListedOffset, ErrorCode>, LogError> {
        self.listed(request.spec, request.current_leader_epoch, Isolation::LogEnd)
    }

    pub(super) fn answer_list_offsets(
        &mut self,
        spec: OffsetSpec,
        current_leader_epoch: Option<LeaderEpoch>,
        isolation: Isolation,
    ) -> Result<(), LogError> {
        let answer = self.listed(spec, current_leader_epoch, isolation)?;
        self.effects.answer = Some(answer.map_or_else(Answer::Refused, Answer::Offset));
        Ok(())
    }

    fn listed(
        &self,
        spec: OffsetSpec,
        current_leader_epoch: Option<LeaderEpoch>,
        isolation: Isolation,
    ) -> Result<Result<ListedOffset, ErrorCode>, LogError> {
        if let Err(error) = self.check_request(current_leader_epoch, true) {
            return Ok(Err(error));
        }
        let Some(leading) = self.leading() else { return Ok(Err(ErrorCode::NotLeaderOrFollower)) };
        let (leader_epoch, epoch_start) = (self.leader_epoch, leading.epoch_start);
        let question = OffsetQuestion { isolation, leader_epoch, epoch_start };
        list_offset(&self.log, spec, question, self.setup.rules.slip)
    }

    pub(super) fn consume(
        &mut self,
        offset: Offset,
        current_leader_epoch: Option<LeaderEpoch>,
        isolation: Isolation,
        from_follower: bool,
    ) -> Result<(), LogError> {
        let answer = match self.check_request(current_leader_epoch, !from_follower) {
            Err(error) => Answer::Refused(error),
            Ok(()) if offset < self.log.log_start() || offset > self.log.end_offset() => {
                Answer::Refused(ErrorCode::OffsetOutOfRange)
            }
            Ok(()) => {
                let bound = self.log.upper_bound(isolation);
                let batches = if offset < bound { read_to(&self.log, offset, isolation)? } else { Vec::new() };
                let records = records::decode(&batches).map_err(AppendError::from)?;
                let wanted = records.into_iter().filter(|record| record.offset >= offset && record.offset < bound);
                Answer::Consumed { records: wanted.collect(), high_watermark: self.log.high_watermark() }
            }
        };
        self.effects.answer = Some(answer);
        Ok(())
    }

    pub(super) fn produce(&mut self, id: ProduceId, values: &[Vec<u8>], acks: Acks) -> Result<(), LogError> {
        let committed = self.leading().map(|leading| leading.isr.committed().len());
        let min_isr = if self.slips(Slip::MinIsrNotChecked) { 0 } else { self.min_isr() };
        if let Err(error) = check_produce(committed.is_some(), acks, committed.unwrap_or(0), min_isr) {
            self.effects.answer = Some(Answer::Refused(error)).filter(|_| acks != Acks::None);
            return Ok(());
        }
        let appended = self.append_as_leader(values)?;
        let base = appended.first_offset;
        match acks {
            // Nothing is ever said.
            Acks::None => {}
            Acks::Leader => self.effects.answer = Some(Answer::Produced(base)),
            Acks::All => self.produces.push(PendingProduce { id, base, required: appended.last_offset.next() }),
        }
        self.raise_high_watermark();
        // One that need not wait is answered like any request.
        let own = |completed: &(ProduceId, Result<Offset, ErrorCode>)| completed.0 == id;
        if let Some(at) = self.effects.completed_produces.iter().position(own) {
            let (_, answer) = self.effects.completed_produces.remove(at);
            self.effects.answer = Some(answer.map_or_else(Answer::Refused, Answer::Produced));
        }
        self.complete_parked()
    }

    fn append_as_leader(&mut self, values: &[Vec<u8>]) -> Result<Appended, LogError> {
        let end = self.log.end_offset().0;
        let of = |(nth, value): (i64, &Vec<u8>)| records::timed(Offset(end.saturating_add(nth)), value);
        let records = (0..).zip(values).map(of);
        if self.setup.old_message_format {
            let records: Vec<Record> = records.collect();
            return self.log.append_legacy_as_leader(&records, Self::clock());
        }
        let header = BatchHeader::plain(Offset(end));
        let batch = BatchBuilder::new(header).records(records).build().map_err(AppendError::from)?;
        self.log.append_as_leader(&batch, AppendOrigin::Client, self.leader_epoch, Self::clock())
    }

    pub(super) fn expire_produce(&mut self, id: ProduceId) {
        let before = self.produces.len();
        self.produces.retain(|pending| pending.id != id);
        if self.produces.len() < before {
            self.effects.completed_produces.push((id, Err(ErrorCode::RequestTimedOut)));
        }
    }

    pub(super) fn delete_records(&mut self, before: Offset) -> Result<(), LogError> {
        let refused = match () {
            () if self.leading().is_none() => Some(ErrorCode::NotLeaderOrFollower),
            () if before > self.log.high_watermark() => Some(ErrorCode::OffsetOutOfRange),
            () => None,
        };
        match refused {
            Some(error) => self.effects.answer = Some(Answer::Refused(error)),
            None => self.log.delete_records(before)?,
        }
        Ok(())
    }
}
