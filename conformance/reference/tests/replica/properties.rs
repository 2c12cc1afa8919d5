//! What must hold of a cluster after every step (docs/replication.md 9): P1, P2, P4 and P6. P3 is checked where a fetch is
//! answered, and P7 after the last fault.

use std::collections::BTreeMap;

use fencepost_reference::replica::names::BrokerId;
use fencepost_reference::replica::observe::{BrokerState, ReplicaRole};

use crate::world::{Assumption, Verdict, World};

impl World {
    pub(crate) fn check(&mut self) -> Verdict {
        let states: BTreeMap<BrokerId, BrokerState> =
            self.ids().into_iter().filter_map(|id| Some((id, self.state(id)?))).collect();
        for (id, state) in &states {
            self.check_broker(*id, state)?;
        }
        Self::check_matching(&states)?;
        if self.assumption == Assumption::Any {
            return Ok(());
        }
        self.check_committed(&states)?;
        self.check_in_sync(&states)
    }

    /// P4a, P6, and what this leader commits: P1a.
    fn check_broker(&mut self, id: BrokerId, state: &BrokerState) -> Verdict {
        let incarnation = self.hosts[&id].broker_epoch;
        let epochs = (state.leader_epoch.0, state.partition_epoch.0);
        let before = self.epochs.insert((id, incarnation), epochs).unwrap_or((-1, -1));
        if epochs.0 < before.0 || epochs.1 < before.1 || (epochs.0 > before.0 && epochs.1 <= before.1) {
            return Err(format!("P6c: {id} goes from {before:?} to {epochs:?}"));
        }
        let high_watermark = state.high_watermark.0;
        if high_watermark > state.log_end.0 || high_watermark < state.log_start.0 {
            return Err(format!("P4a: {id}: {high_watermark} is outside of the log"));
        }
        if state.role != ReplicaRole::Leader {
            return Ok(());
        }
        let epoch = state.leader_epoch.0;
        if *self.leaders.entry(epoch).or_insert(id) != id {
            return Err(format!("P6a: {id} leads in {epoch} too"));
        }
        let known = self.high_watermarks.insert((id, incarnation, epoch), high_watermark).unwrap_or(0);
        if high_watermark < known {
            return Err(format!("P4a: {id} falls from {known} to {high_watermark}"));
        }
        for record in state.log.iter().filter(|record| record.epoch.0 == epoch) {
            if *self.writers.entry(epoch).or_insert(id) != id {
                return Err(format!("P6b: {record:?} at {id}"));
            }
        }
        for record in state.log.iter().filter(|record| record.offset.0 < high_watermark) {
            let committed = self.committed.entry(record.offset.0).or_insert_with(|| record.clone());
            if committed != record && self.assumption == Assumption::Clean {
                return Err(format!("P1a: {id} commits {record:?} where {committed:?} was"));
            }
        }
        Ok(())
    }

    /// P1b and P1d.
    fn check_committed(&self, states: &BTreeMap<BrokerId, BrokerState>) -> Verdict {
        for (offset, value) in &self.acknowledged {
            if self.committed.get(offset).is_none_or(|record| record.value != *value) {
                return Err(format!("P1d: {offset} was acknowledged as {value:?}: {:?}", self.committed.get(offset)));
            }
        }
        let controller = self.controller.state();
        let leader = controller.leader.and_then(|id| Some((id, states.get(&id)?)));
        let Some((id, state)) = leader.filter(|(_, state)| state.leader_epoch == controller.leader_epoch) else {
            return Ok(());
        };
        self.has_committed(state).map_err(|e| format!("P1b: the leader {id}: {e}"))
    }

    fn has_committed(&self, state: &BrokerState) -> Verdict {
        for (offset, record) in &self.committed {
            let own = usize::try_from(*offset).ok().and_then(|at| state.log.get(at));
            if own != Some(record) {
                return Err(format!("{record:?} is committed, and here is {own:?}"));
            }
        }
        Ok(())
    }

    /// P2a.
    fn check_matching(states: &BTreeMap<BrokerId, BrokerState>) -> Verdict {
        for (a, of_a) in states {
            for (b, of_b) in states.range(..a) {
                let same = of_a.log.iter().zip(&of_b.log).rposition(|(x, y)| x.epoch == y.epoch);
                let Some(last) = same else { continue };
                if of_a.log[..=last] != of_b.log[..=last] {
                    return Err(format!("P2a: {a} and {b}: {:?} and {:?}", of_a.log, of_b.log));
                }
            }
        }
        Ok(())
    }

    /// P1c, P2b and P4b, for those that are up.
    fn check_in_sync(&self, states: &BTreeMap<BrokerId, BrokerState>) -> Verdict {
        let isr = &self.controller.state().isr;
        let in_sync: Vec<_> = states.iter().filter(|(id, _)| isr.contains(id)).collect();
        for (id, state) in &in_sync {
            self.has_committed(state).map_err(|e| format!("P1c: {id}, in sync: {e}"))?;
            for (other, of_other) in &in_sync {
                let to = usize::try_from(state.high_watermark.min(of_other.high_watermark).0).unwrap_or(0);
                if state.log.get(..to) != of_other.log.get(..to) {
                    return Err(format!("P2b: {id} and {other} below {to}"));
                }
            }
        }
        for (id, state) in states {
            let Some(leading) = &state.leading else { continue };
            // One that the controller has taken out may have lost its disk since.
            let maximal = leading.isr.iter().chain(leading.pending_isr.iter().flatten());
            let maximal = maximal.filter(|member| isr.contains(member));
            for member in maximal.filter_map(|member| Some((member, states.get(member)?))) {
                if member.1.log_end < state.high_watermark {
                    return Err(format!("P4b: {id} has {}, and {} ends before", state.high_watermark, member.0));
                }
            }
        }
        Ok(())
    }
}
