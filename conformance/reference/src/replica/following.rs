//! What a follower asks, and does with the replies (docs/replication.md 2.5 to 2.8, 3.6; Kafka's `AbstractFetcherThread`,
//! `ReplicaFetcherThread`).
//!
//! The next request goes out in the step that makes the fetcher ready: the partition was added, or a reply handled. It
//! waits while a request to the same leader is outstanding, and after an error until the fetcher is polled.

use super::error::ErrorCode;
use super::fetcher::{Asked, FetchEntry, FetchState, Outstanding};
use super::message::{
    Content, EpochRequest, EpochRequestVersion, FetchReply, FetchRequest, Fetched, ListOffsetsRequest, ListedOffset,
    Message, OffsetSpec,
};
use super::names::{BrokerId, Correlation, LeaderEpoch, Node, Offset};
use super::out_of_range::{AfterLatest, after_earliest, after_latest};
use super::process::Process;
use super::records::epoch_of;
use super::rules::{Appended, BatchCut, Fencing, ReplyMatch, Truncation};
use super::slip::Slip;
use super::truncation::{OwnLog, truncation_target};
use crate::storage::batch_reader::{BatchReader, LogBatch};
use crate::storage::epoch_cache::EpochEnd;
use crate::storage::log_error::{AppendError, LogError};

impl Process {
    /// The fetcher goes on after an error.
    pub(super) fn poll(&mut self) {
        if let Some(entry) = &mut self.entry {
            entry.backing_off = false;
        }
    }

    /// Sends what is next, if the fetcher is ready.
    pub(super) fn run_fetcher(&mut self) -> Result<(), LogError> {
        let Some(entry) = self.entry else { return Ok(()) };
        if entry.backing_off || self.outstanding.contains_key(&entry.leader) {
            return Ok(());
        }
        let latest = self.log.epochs().latest();
        match (entry.state, latest) {
            (FetchState::Truncating, Some(epoch)) if self.setup.rules.truncation != Truncation::OnFetch => {
                self.ask_epoch_end(entry, epoch);
            }
            (FetchState::Truncating, _) => {
                // Nothing to ask about: what is above the high watermark may be of another leader.
                let offset = self.truncate(entry.offset)?;
                self.future.on_truncated(offset);
                let entry = FetchEntry { offset, state: FetchState::Fetching, last_fetched_epoch: None, ..entry };
                self.entry = Some(entry);
                self.ask_records(entry);
            }
            (FetchState::Fetching, _) => self.ask_records(entry),
        }
        Ok(())
    }

    fn ask(&mut self, entry: FetchEntry, asked: Asked, content: Content) {
        let correlation = self.send(Node::Broker(entry.leader), content);
        let leader_epoch = entry.leader_epoch;
        self.outstanding.insert(entry.leader, Outstanding { correlation, leader_epoch, asked });
    }

    fn ask_epoch_end(&mut self, entry: FetchEntry, epoch: LeaderEpoch) {
        let rules = self.setup.rules;
        let version = if self.slips(Slip::AlwaysAsksInNewVersion) { rules.understands } else { rules.sends };
        let fenced = version >= EpochRequestVersion::V2 && rules.fencing == Fencing::CurrentEpoch;
        let current_leader_epoch = fenced.then_some(entry.leader_epoch);
        let request = EpochRequest { epoch, current_leader_epoch, version };
        self.ask(entry, Asked::EpochEnd, Content::OffsetForLeaderEpoch(request));
    }

    fn ask_records(&mut self, entry: FetchEntry) {
        let rules = self.setup.rules;
        let current_leader_epoch = (rules.fencing == Fencing::CurrentEpoch).then_some(entry.leader_epoch);
        let tells_last_epoch = rules.truncation == Truncation::OnFetch || rules.fencing == Fencing::ExpectedEpoch;
        let request = FetchRequest {
            offset: entry.offset,
            last_fetched_epoch: entry.last_fetched_epoch.filter(|_| tells_last_epoch),
            current_leader_epoch,
            broker_epoch: self.broker_epoch,
            log_start: self.log.log_start(),
        };
        self.ask(entry, Asked::Records(entry.offset), Content::Fetch(request));
    }

    fn ask_offset(&mut self, entry: FetchEntry, asked: Asked, spec: OffsetSpec) {
        let fenced = self.setup.rules.fencing == Fencing::CurrentEpoch;
        let current_leader_epoch = fenced.then_some(entry.leader_epoch);
        self.ask(entry, asked, Content::ListOffsets(ListOffsetsRequest { spec, current_leader_epoch }));
    }

    /// The connection is lost, or the request has taken too long.
    pub(super) fn give_up(&mut self, correlation: Correlation) {
        let given_up = |(_, outstanding): &(&BrokerId, &Outstanding)| outstanding.correlation == correlation;
        let leader = self.outstanding.iter().find(given_up).map(|(leader, _)| *leader);
        if let Some(leader) = leader {
            self.outstanding.remove(&leader);
            // Whatever is in that fetcher now waits.
            if let Some(entry) = self.entry.as_mut().filter(|entry| entry.leader == leader) {
                entry.backing_off = true;
            }
        }
        if let Some(sent) = self.proposal.take_if(|sent| sent.correlation == correlation) {
            self.send_again(sent);
        }
    }

    /// A reply arrives. One that is not awaited any more is dropped.
    pub(super) fn on_reply(&mut self, message: Message) -> Result<(), LogError> {
        let Node::Broker(leader) = message.from else { return Ok(()) };
        let awaited = self.outstanding.get(&leader).copied();
        let Some(outstanding) = awaited.filter(|outstanding| outstanding.correlation == message.correlation) else {
            return Ok(());
        };
        self.outstanding.remove(&leader);
        let Some(entry) = self.entry.filter(|entry| entry.leader == leader && self.belongs(entry, outstanding)) else {
            return Ok(());
        };
        let same_epoch = entry.leader_epoch == outstanding.leader_epoch;
        match (outstanding.asked, message.content) {
            (Asked::Records(_), Content::FetchReply(reply)) => match reply {
                Ok(reply) => self.on_fetched(entry, reply),
                Err(ErrorCode::OffsetOutOfRange) => {
                    self.ask_offset(entry, Asked::Latest, OffsetSpec::Latest);
                    Ok(())
                }
                Err(error) => self.on_error(error, same_epoch),
            },
            (Asked::EpochEnd, Content::OffsetForLeaderEpochReply(reply)) => match reply {
                Ok(end) => self.on_epoch_end(entry, end),
                Err(error) => self.on_error(error, same_epoch),
            },
            (Asked::Latest | Asked::Earliest, Content::ListOffsetsReply(reply)) => match reply {
                Ok(listed) => self.on_listed(entry, outstanding.asked, listed),
                Err(error) => self.on_error(error, same_epoch),
            },
            // No answer to what was asked.
            _ => self.on_error(ErrorCode::UnknownServerError, same_epoch),
        }
    }

    /// Whether the entry is still the one that asked.
    fn belongs(&self, entry: &FetchEntry, outstanding: Outstanding) -> bool {
        let same_epoch = entry.leader_epoch == outstanding.leader_epoch;
        match outstanding.asked {
            Asked::Records(offset) => {
                let offset_alone =
                    self.setup.rules.reply_match == ReplyMatch::Offset || self.slips(Slip::LateFetchReplyUsed);
                let ready = entry.state == FetchState::Fetching && !entry.backing_off;
                ready && entry.offset == offset && (same_epoch || offset_alone)
            }
            Asked::EpochEnd => {
                entry.state == FetchState::Truncating && (same_epoch || self.slips(Slip::LateEpochAnswerUsed))
            }
            Asked::Latest | Asked::Earliest => same_epoch,
        }
    }

    /// An error for the entry that asked: being fenced in its own epoch means that the broker is behind, and metadata will
    /// tell; all else passes.
    #[allow(clippy::unnecessary_wraps, reason = "an arm among others that can fail")]
    fn on_error(&mut self, error: ErrorCode, same_epoch: bool) -> Result<(), LogError> {
        match error {
            ErrorCode::FencedLeaderEpoch if same_epoch && !self.slips(Slip::FencedRetries) => self.fail(),
            _ => {
                if let Some(entry) = &mut self.entry {
                    entry.backing_off = true;
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self) {
        self.entry = None;
        self.failed = true;
    }

    fn on_fetched(&mut self, entry: FetchEntry, reply: FetchReply) -> Result<(), LogError> {
        match reply.found {
            Fetched::Diverging(end) => {
                if self.slips(Slip::DivergingHighWatermarkUsed) {
                    self.log.set_high_watermark(reply.high_watermark);
                }
                // Everything else that the reply says is of a log that is not this one (KAFKA-14704).
                let (offset, _) = self.truncate_by(entry, end)?;
                let last_fetched_epoch = self.log.epochs().latest();
                self.entry = Some(FetchEntry { offset, last_fetched_epoch, ..entry });
                Ok(())
            }
            Fetched::Records(batches) => self.on_records(entry, &batches, reply.high_watermark, reply.log_start),
        }
    }

    fn on_records(
        &mut self,
        entry: FetchEntry,
        batches: &[u8],
        high_watermark: Offset,
        log_start: Offset,
    ) -> Result<(), LogError> {
        if entry.offset != self.log.end_offset() {
            self.fail();
            return Ok(());
        }
        let wanted = self.within_own_epoch(batches);
        match self.append_as_follower(wanted) {
            Ok(()) => {}
            Err(LogError::Refused(AppendError::CorruptMessage { .. } | AppendError::InvalidRecord(_))) => {
                return self.on_error(ErrorCode::UnknownServerError, true);
            }
            Err(LogError::Refused(_)) => {
                self.fail();
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        self.log.set_high_watermark(high_watermark);
        if log_start > self.log.high_watermark() {
            self.fail();
            return Ok(());
        }
        self.log.advance_log_start(log_start)?;
        let last = BatchReader::new(wanted).filter_map(Result::ok).last();
        let last_fetched_epoch = match last {
            Some(batch) => Some(epoch_of(&batch)).filter(|epoch| *epoch != LeaderEpoch::NONE),
            None if self.slips(Slip::EmptyReplyForgetsEpoch) => None,
            None => entry.last_fetched_epoch,
        };
        self.entry = Some(FetchEntry { offset: self.log.end_offset(), last_fetched_epoch, ..entry });
        Ok(())
    }

    /// The batches up to the first of a later epoch than the follower's own, which may be of another leader's log
    /// (KAFKA-18723).
    fn within_own_epoch<'a>(&self, batches: &'a [u8]) -> &'a [u8] {
        if self.setup.rules.appended == Appended::All || self.slips(Slip::LaterEpochAppended) {
            return batches;
        }
        let mut reader = BatchReader::new(batches);
        let mut end = 0;
        while let Some(Ok(batch)) = reader.next() {
            if epoch_of(&batch) > self.leader_epoch {
                return batches.get(..end).unwrap_or_default();
            }
            end = reader.position();
        }
        // Bytes that are no batches are for the append to refuse.
        batches
    }

    fn append_as_follower(&mut self, batches: &[u8]) -> Result<(), LogError> {
        let end = self.log.end_offset();
        match self.log.append_as_follower(batches, Self::clock()) {
            Err(LogError::Refused(AppendError::OffsetsGoBack { .. })) if end == self.log.log_start() => {
                let first = BatchReader::new(batches).next().and_then(Result::ok);
                let covers = |batch: &LogBatch<'_>| batch.base_offset() < end && end <= batch.last_offset();
                let Some(first) = first.filter(covers).map(|batch| batch.base_offset()) else {
                    return Err(AppendError::OffsetsGoBack { offset: end, end }.into());
                };
                // The leader's log begins inside of this batch (KAFKA-6975).
                self.note_truncation(first);
                self.log.truncate_fully(first, Self::clock())?;
                self.log.append_as_follower(batches, Self::clock()).map(|_| ())
            }
            appended => appended.map(|_| ()),
        }
    }

    fn on_epoch_end(&mut self, entry: FetchEntry, end: EpochEnd) -> Result<(), LogError> {
        let (offset, finished) = self.truncate_by(entry, end)?;
        let state = if finished { FetchState::Fetching } else { FetchState::Truncating };
        let last_fetched_epoch = self.log.epochs().latest();
        self.entry = Some(FetchEntry { offset, last_fetched_epoch, state, ..entry });
        Ok(())
    }

    /// Cuts by the leader's answer. The log's end, and whether that was all.
    fn truncate_by(&mut self, entry: FetchEntry, end: EpochEnd) -> Result<(Offset, bool), LogError> {
        let rules = self.setup.rules;
        let own =
            OwnLog { epochs: self.log.epochs().cache(), log_end: self.log.end_offset(), entry_offset: entry.offset };
        let target = truncation_target(own, end, rules.truncation, rules.slip);
        let offset = self.truncate(target.offset)?;
        if target.finished {
            self.future.on_truncated(target.offset);
        }
        Ok((offset, target.finished))
    }

    /// Cuts the log at an offset; where it ends then, and fetching goes on.
    pub(super) fn truncate(&mut self, to: Offset) -> Result<Offset, LogError> {
        self.note_truncation(to);
        let to = match self.setup.rules.batch_cut {
            BatchCut::Target => to,
            BatchCut::ActualCut => self.log.batch_start_of(to)?.unwrap_or(to),
        };
        self.log.truncate_to(to, Self::clock())?;
        Ok(to)
    }

    fn on_listed(&mut self, entry: FetchEntry, asked: Asked, listed: ListedOffset) -> Result<(), LogError> {
        let own_end = self.log.end_offset();
        if asked == Asked::Latest {
            match after_latest(own_end, listed.offset) {
                AfterLatest::TruncateTo(end) if !self.slips(Slip::EndBeyondLeaderKept) => {
                    let offset = self.truncate(end)?;
                    self.future.on_truncated(end);
                    self.fetch_from(entry, offset);
                }
                _ => self.ask_offset(entry, Asked::Earliest, OffsetSpec::Earliest),
            }
            return Ok(());
        }
        let next = after_earliest(own_end, listed.offset);
        if let Some(start) = next.restart_at {
            let before = self.log.high_watermark();
            self.log.truncate_fully(start, Self::clock())?;
            if self.slips(Slip::FullTruncationKeepsHighWatermark) {
                self.log.force_high_watermark(before);
            }
            self.future.on_truncated(start);
        }
        self.fetch_from(entry, next.fetch_from);
        Ok(())
    }

    fn fetch_from(&mut self, entry: FetchEntry, offset: Offset) {
        let last_fetched_epoch = self.log.epochs().latest();
        self.entry = Some(FetchEntry { offset, last_fetched_epoch, state: FetchState::Fetching, ..entry });
    }
}
