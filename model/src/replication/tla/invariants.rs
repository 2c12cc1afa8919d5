//! The invariants of `KafkaReplication`, and repaired forms of those that can't hold as they are written.
//!
//! | id | where from |
//! |---|---|
//! | `TypeOk` | the module's, without its comparison of a record with the integer for none, which TLC can't evaluate |
//! | `WeakIsr`, `StrongIsr` | the module's |
//! | `LeaderInIsr` | the module's; false in the initial state, which has no leader |
//! | `LeaderInIsrOrNone` | the same where there is a leader |
//! | `IsrNonEmpty` | what the comment of `ControllerShrinkIsr` says; false, as its last branch takes the last member too |

use super::base::presumes_leadership;
use super::module::Tla;
use super::state::{Id, Ids, State};
use super::variants::Replication;
use crate::protocol::Claim;
use crate::world::{World, WorldState};

type At<'a> = (&'a World<Tla<Replication>>, &'a WorldState<Tla<Replication>>);

pub(super) const CLAIMS: &[Claim<Tla<Replication>>] = &[
    Claim {
        id: "TypeOk",
        statement: "every variable has a value of its type",
        assumption: "none is no record, where the module compares it with one",
        holds: |world, state| type_ok((world, state)),
        applies: |_, _| true,
    },
    Claim {
        id: "WeakIsr",
        statement: "below the high watermark of a presumed leader, each member of the ISR that it knows has its records",
        assumption: "",
        holds: |world, state| exposed_is_on((world, state), |state, leader| state.replica(leader).isr()),
        applies: |world, state| some_exposes((world, state)),
    },
    Claim {
        id: "StrongIsr",
        statement: "below the high watermark of a presumed leader, each member of the quorum's ISR has its records",
        assumption: "",
        holds: |world, state| exposed_is_on((world, state), |state, _| state.quorum_isr()),
        applies: |world, state| some_exposes((world, state)) && state.actors.quorum_isr() != Ids::EMPTY,
    },
    Claim {
        id: "LeaderInIsr",
        statement: "the quorum's leader is in the quorum's ISR",
        assumption: "",
        holds: |_, state| leads_in_isr(&state.actors).unwrap_or(false),
        applies: |_, _| true,
    },
    Claim {
        id: "LeaderInIsrOrNone",
        statement: "the quorum's leader, if there is one, is in the quorum's ISR",
        assumption: "",
        holds: |_, state| leads_in_isr(&state.actors).unwrap_or(true),
        applies: |_, state| leads_in_isr(&state.actors).is_some(),
    },
    Claim {
        id: "IsrNonEmpty",
        statement: "the quorum's ISR keeps its last member",
        assumption: "",
        holds: |_, state| state.actors.quorum_isr() != Ids::EMPTY,
        applies: |_, _| true,
    },
];

fn leads_in_isr(state: &State) -> Option<bool> {
    state.quorum_leader().map(|leader| state.quorum_isr().contains(leader))
}

/// The replicas that presume to lead.
fn leaders((world, state): At<'_>) -> impl Iterator<Item = Id> + '_ {
    let replicas = world.protocol.module().constants.all();
    replicas.iter().filter(|id| presumes_leadership(&state.actors, *id))
}

fn some_exposes(at: At<'_>) -> bool {
    leaders(at).any(|leader| at.1.actors.replica(leader).high_watermark() > 0)
}

/// Whether all that a presumed leader shows to consumers is on every replica that `isr` names.
fn exposed_is_on(at: At<'_>, isr: impl Fn(&State, Id) -> Ids) -> bool {
    let state = &at.1.actors;
    leaders(at).all(|leader| {
        let log = state.replica(leader);
        isr(state, leader).iter().all(|member| {
            let other = state.replica(member);
            (0..log.high_watermark()).all(|offset| {
                let record = log.record(offset);
                record.is_some() && record == other.record(offset)
            })
        })
    })
}

fn type_ok((world, state): At<'_>) -> bool {
    let constants = world.protocol.module().constants;
    let state = &state.actors;
    let known = |ids: Ids| ids.union(constants.all()) == constants.all();
    let replica_ok = |id: Id| {
        let replica = state.replica(id);
        let record_ok = |offset| {
            replica
                .record(offset)
                .is_some_and(|record| record.id < constants.max_records && record.epoch <= constants.max_leader_epoch)
        };
        replica.is_clean()
            && replica.end() <= constants.log_size
            && (0..replica.end()).all(record_ok)
            && replica.high_watermark() <= constants.log_size
            && replica.epoch().is_none_or(|epoch| epoch <= constants.max_leader_epoch)
            && replica.leader().is_none_or(|leader| constants.all().contains(leader))
            && known(replica.isr())
    };
    state.next_epoch <= constants.max_leader_epoch + 1
        && state.next_record <= constants.max_records
        && constants.all().iter().all(replica_ok)
        && state.quorum_epoch().is_none_or(|epoch| epoch <= constants.max_leader_epoch)
        && state.quorum_leader().is_none_or(|leader| constants.all().contains(leader))
        && known(state.quorum_isr())
        && state
            .requests()
            .all(|request| known(request.isr) && request.leader.is_none_or(|leader| constants.all().contains(leader)))
}
