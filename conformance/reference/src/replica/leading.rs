//! What a leader does with what it learns of the others: high watermark and ISR (docs/replication.md 4.3 to 4.6; Kafka's
//! `Partition#updateFollowerFetchState`, `#maybeExpandIsr`, `#maybeShrinkIsr`, `#submitAlterPartition`).

use std::collections::BTreeMap;

use super::error::ErrorCode;
use super::high_watermark::{Awaited, LeaderEnd, risen_high_watermark};
use super::isr::{
    AlterReaction, Candidate, IsrState, PendingIsr, SentProposal, is_eligible, may_expand, on_alter_partition_reply,
};
use super::message::{AlterPartitionRequest, Content, FetchRequest, Message};
use super::names::{BrokerEpoch, BrokerId, Node, Offset};
use super::process::{Leading, Process, Role};
use super::produce::check_replicated;
use super::remote_replica::CountedFetch;
use super::slip::Slip;

impl Process {
    /// Raises the high watermark as far as it may rise, and answers who waited for it.
    pub(super) fn raise_high_watermark(&mut self) {
        let Role::Leader(leading) = &self.role else { return };
        let slip = self.setup.rules.slip;
        let (now, log_end) = (self.now, self.log.end_offset());
        let maximal = leading.isr.awaited(slip);
        let awaited = leading.remotes.iter().map(|(broker, remote)| Awaited {
            end: remote.end,
            in_maximal_isr: maximal.contains(broker),
            about_to_join: slip != Some(Slip::CaughtUpNotAwaited)
                && remote.is_caught_up(log_end, now)
                && is_eligible(self.brokers.get(*broker), remote.broker_epoch, slip),
        });
        let leader = LeaderEnd {
            high_watermark: self.log.high_watermark(),
            log_end,
            committed_isr: leading.isr.committed().len(),
            min_isr: if slip == Some(Slip::RisesUnderMinIsr) { 0 } else { self.min_isr() },
        };
        let risen = risen_high_watermark(leader, awaited);
        if let Some(risen) = risen {
            self.log.set_high_watermark(risen);
            self.has_risen = true;
            self.complete_produces();
        }
    }

    /// Answers the produce requests that the high watermark has passed.
    fn complete_produces(&mut self) {
        let Role::Leader(leading) = &self.role else { return };
        let (maximal, min_isr) = (leading.isr.maximal().len(), self.min_isr());
        let high_watermark = self.log.high_watermark();
        let mut waiting = Vec::new();
        for pending in std::mem::take(&mut self.produces) {
            match check_replicated(pending.required, high_watermark, maximal, min_isr) {
                None => waiting.push(pending),
                Some(answer) => self.effects.completed_produces.push((pending.id, answer.map(|()| pending.base))),
            }
        }
        self.produces = waiting;
    }

    /// Counts a follower's fetch: its end, then the ISR, then the high watermark. A fetch of an earlier incarnation is
    /// refused while the later one is alive.
    pub(super) fn count_fetch(
        &mut self,
        follower: BrokerId,
        request: &FetchRequest,
        leader_end: Offset,
    ) -> Result<(), ErrorCode> {
        // Of a broker that is fenced the epoch is not asked (`MetadataCache#getAliveBrokerEpoch`); eligibility looks again.
        let stale = self.brokers.get(follower).is_some_and(|broker| {
            !broker.fenced && request.broker_epoch != BrokerEpoch::UNKNOWN && broker.broker_epoch > request.broker_epoch
        });
        if stale && !self.slips(Slip::BrokerEpochIgnored) {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        let now = self.now;
        let Role::Leader(leading) = &mut self.role else { return Ok(()) };
        let Some(remote) = leading.remotes.get_mut(&follower) else { return Ok(()) };
        let before = remote.end;
        *remote = remote.fetched(CountedFetch {
            offset: request.offset,
            log_start: request.log_start,
            leader_end,
            now,
            broker_epoch: request.broker_epoch,
        });
        let moved = remote.end != before;
        self.expand_isr(follower);
        if moved {
            self.raise_high_watermark();
        }
        Ok(())
    }

    fn expand_isr(&mut self, follower: BrokerId) {
        let slip = self.setup.rules.slip;
        let Role::Leader(leading) = &self.role else { return };
        let Some(remote) = leading.remotes.get(&follower) else { return };
        let epoch_start = if slip == Some(Slip::JoinsBelowEpochStart) { Offset(0) } else { leading.epoch_start };
        let joins = may_expand(Candidate {
            proposal_pending: leading.isr.pending().is_some(),
            in_isr: leading.isr.committed().contains(&follower),
            eligible: is_eligible(self.brokers.get(follower), remote.broker_epoch, slip),
            end: remote.end.unwrap_or(Offset(-1)),
            high_watermark: self.log.high_watermark(),
            epoch_start,
        });
        if joins {
            let mut isr = leading.isr.committed().to_vec();
            isr.push(follower);
            self.propose(&isr);
        }
    }

    /// `replica.lag.time.max.ms` pass; who has not caught up within them is to leave.
    pub(super) fn shrink_isr(&mut self) {
        self.now.0 = self.now.0.saturating_add(1);
        let Role::Leader(leading) = &self.role else { return };
        if leading.isr.pending().is_some() {
            return;
        }
        let log_end = self.log.end_offset();
        let caught_up = |member: &BrokerId| {
            let remote = leading.remotes.get(member);
            remote.is_some_and(|remote| {
                if self.slips(Slip::EqualEndLags) {
                    remote.last_caught_up == Some(self.now)
                } else {
                    remote.is_caught_up(log_end, self.now)
                }
            })
        };
        let own = self.setup.broker;
        let committed = leading.isr.committed();
        let isr: Vec<_> = committed.iter().copied().filter(|member| *member == own || caught_up(member)).collect();
        if isr.len() < committed.len() {
            self.propose(&isr);
        }
    }

    /// Proposes an ISR: it is pending before it is sent.
    fn propose(&mut self, isr: &[BrokerId]) {
        let Role::Leader(leading) = &self.role else { return };
        let epoch_of = |member: BrokerId| {
            if member == self.setup.broker {
                return self.broker_epoch;
            }
            let remote = leading.remotes.get(&member).and_then(|remote| remote.broker_epoch);
            remote.unwrap_or(BrokerEpoch::UNKNOWN)
        };
        let request = AlterPartitionRequest {
            leader_epoch: self.leader_epoch,
            partition_epoch: self.partition_epoch,
            isr: isr.iter().map(|member| (*member, epoch_of(*member))).collect::<BTreeMap<_, _>>(),
            broker_epoch: self.broker_epoch,
            recovered: true,
        };
        let committed = leading.isr.committed().to_vec();
        if self.proposal.is_some() && !self.slips(Slip::ProposalNotAwaited) {
            // Not attempted, and so surely not applied: the ISR is the committed one, as before.
            return;
        }
        let correlation = self.next_correlation;
        if let Role::Leader(leading) = &mut self.role {
            leading.isr = IsrState::Pending(PendingIsr { committed, request: request.clone(), correlation });
        }
        self.send_proposal(request);
    }

    fn send_proposal(&mut self, request: AlterPartitionRequest) {
        let correlation = self.send(Node::Controller, Content::AlterPartition(request.clone()));
        self.proposal = Some(SentProposal { request, correlation });
    }

    /// The answer to a proposal: it is on its way no longer, whatever the leader makes of the answer.
    pub(super) fn on_alter_partition_reply(&mut self, message: Message) {
        let Content::AlterPartitionReply(reply) = message.content else { return };
        let sent = self.proposal.take_if(|sent| sent.correlation == message.correlation);
        let pending = self.leading().and_then(|leading| leading.isr.pending());
        let pending = pending.filter(|pending| pending.correlation == message.correlation).cloned();
        let reaction = match &pending {
            // Of the whole request, and not of the partition: that is between the sender and the controller.
            _ if reply == Err(ErrorCode::StaleBrokerEpoch) => AlterReaction::SendAgain,
            Some(_) => on_alter_partition_reply(self.leader_epoch, self.partition_epoch, &reply),
            None if self.slips(Slip::LateIsrReplyUsed) && reply.is_ok() => AlterReaction::Commit,
            None => AlterReaction::Ignore,
        };
        match (reaction, reply, pending, sent) {
            (AlterReaction::Commit, Ok(altered), ..) => {
                self.partition_epoch = self.partition_epoch.max(altered.partition_epoch);
                self.set_committed(altered.isr);
                if !self.slips(Slip::IsrReplyRaisesNothing) {
                    self.raise_high_watermark();
                }
            }
            (AlterReaction::RollBack, _, Some(pending), _) => self.set_committed(pending.committed),
            (AlterReaction::SendAgain, _, _, Some(sent)) => self.send_again(sent),
            _ => {}
        }
    }

    /// Sends a proposal again, as it is.
    pub(super) fn send_again(&mut self, sent: SentProposal) {
        if self.slips(Slip::IsrChangeNotRetried) {
            self.proposal = Some(sent);
            return;
        }
        let correlation = self.next_correlation;
        if let Role::Leader(Leading { isr: IsrState::Pending(pending), .. }) = &mut self.role
            && pending.correlation == sent.correlation
        {
            pending.correlation = correlation;
        }
        self.send_proposal(sent.request);
    }

    fn set_committed(&mut self, isr: Vec<BrokerId>) {
        if let Role::Leader(leading) = &mut self.role {
            leading.isr = IsrState::Committed(isr);
        }
    }

    pub(super) fn leading(&self) -> Option<&Leading> {
        match &self.role {
            Role::Leader(leading) => Some(leading),
            Role::None | Role::Follower(_) => None,
        }
    }
}
