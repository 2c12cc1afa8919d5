//! The properties of section 8: what must hold in every state, at every step, and where nothing moves any more.
//!
//! S3 and S4 need no ghost: a commit that could be delivered now would wrongly be accepted, or refused.

use fencepost_fixtures::variants::{ClientRule, Release};

use super::Fencing;
use super::actors::commit_request;
use super::commit::CommitRequest;
use super::consumer::{Consumer, Life};
use super::coordinator::{AWAY, Coordinator, Member, Phase};
use super::fail_over::{MISSING, rules_of};
use super::labels::Trail;
use super::message::{Commit, Msg, Timer};
use super::partitions::Partitions;
use crate::protocol::{Claim, Protocol};
use crate::world::{World, WorldState};

mod steps;

pub use steps::step_violations;

type State = WorldState<Fencing>;

/// The properties about steps, by their place in [`CLAIMS`].
pub mod bit {
    /// S2.
    pub const S2: u32 = 1 << 1;
    /// S6.
    pub const S6: u32 = 1 << 7;
    /// S8.
    pub const S8: u32 = 1 << 9;
    /// S9.
    pub const S9: u32 = 1 << 10;
    /// S10.
    pub const S10: u32 = 1 << 11;
    /// S12.
    pub const S12: u32 = 1 << 13;
    /// S13.
    pub const S13: u32 = 1 << 14;
    /// L6.
    pub const L6: u32 = 1 << 20;
}

const QUIET: &str =
    "nothing is in flight, no fault or target is left, and every heartbeat leads back to the same state";

/// S1 to S13 and L1 to L6.
pub static CLAIMS: &[Claim<Fencing>] = &[
    Claim {
        id: "S1",
        statement: "a partition is owned by one member at most",
        assumption: "",
        holds: |_, state| exclusive(now(state)),
        applies: |_, state| now(state).slots().any(|slot| !now(state).member(slot).pending.is_empty()),
    },
    Claim {
        id: "S2",
        statement: "a partition changes hands only after its owner reported a set without it, left or was removed",
        assumption: "but for a fail-over, which goes back to the high watermark",
        holds: |_, state| state.violated & bit::S2 == 0,
        applies: |_, state| now(state).slots().any(|slot| !now(state).member(slot).pending.is_empty()),
    },
    Claim {
        id: "S3",
        statement: "an accepted commit's partition has no other owner",
        assumption: "the client owned the partition when it first sent the commit",
        holds: |world, state| {
            !commits(state).any(|commit| zombie(now(state), &commit.0) && accepted(world, state, commit))
        },
        applies: |_, state| commits(state).any(|(commit, _)| zombie(now(state), &commit)),
    },
    Claim {
        id: "S3'",
        statement: "a commit that is accepted with an older epoch has no other owner",
        assumption: "the client owned the partition when it first sent the commit",
        holds: |world, state| {
            !commits(state).any(|commit| {
                zombie(now(state), &commit.0)
                    && commit.0.epoch < now(state).member(commit.0.slot).epoch
                    && accepted(world, state, commit)
            })
        },
        applies: |_, state| {
            commits(state)
                .any(|(commit, _)| zombie(now(state), &commit) && commit.epoch < now(state).member(commit.slot).epoch)
        },
    },
    Claim {
        id: "S4",
        statement: "a commit of the owner from between assignment epoch and member epoch is not refused",
        assumption: "with the listener: a commit that is accepted is for partitions that the member still owns",
        holds: |world, state| {
            if world.protocol.setting.rules.client == ClientRule::Listener {
                return !commits(state).any(|commit| {
                    !commit.0.partitions.within(member_of(state, commit.0.slot).owned())
                        && accepted(world, state, commit)
                });
            }
            !commits(state).any(|commit| legal(now(state), &commit.0) && !accepted(world, state, commit))
        },
        applies: |_, state| {
            commits(state)
                .any(|(commit, _)| legal(now(state), &commit) && commit.epoch < now(state).member(commit.slot).epoch)
        },
    },
    Claim {
        id: "S4'",
        statement: "a commit for a partition that the client has held since it was stamped is accepted",
        assumption: "the member is in the group; only where the client's hold is followed",
        holds: |world, state| {
            !commits(state).any(|commit| held_throughout(world, state, &commit.0) && !accepted(world, state, commit))
        },
        applies: |world, state| {
            commits(state).any(|(commit, _)| {
                held_throughout(world, state, &commit) && commit.epoch < now(state).member(commit.slot).epoch
            })
        },
    },
    Claim {
        id: "S5",
        statement: "assignment epoch of a partition <= member epoch <= target epoch <= group epoch",
        assumption: "the member's epoch is positive",
        holds: |_, state| epochs_ordered(now(state)),
        applies: |_, state| now(state).assignment_epoch < now(state).group_epoch,
    },
    Claim {
        id: "S6",
        statement: "epochs never fall; an assignment epoch changes only when the partition is granted anew, and rises",
        assumption: "but for a fail-over, a static member's leave, and a broker that writes no assignment epochs",
        holds: |_, state| state.violated & bit::S6 == 0,
        applies: |_, state| now(state).slots().any(|slot| !now(state).member(slot).pending.is_empty()),
    },
    Claim {
        id: "S7",
        statement: "a commit from before a partition was granted anew is not accepted with an older epoch",
        assumption: "",
        holds: |world, state| {
            !commits(state).any(|commit| before_grant(now(state), &commit.0) && accepted(world, state, commit))
        },
        applies: |_, state| commits(state).any(|(commit, _)| before_grant(now(state), &commit)),
    },
    Claim {
        id: "S8",
        statement: "a request that is refused changes nothing",
        assumption: "",
        holds: |_, state| state.violated & bit::S8 == 0,
        applies: |world, state| commits(state).any(|commit| !accepted(world, state, commit)),
    },
    Claim {
        id: "S9",
        statement: "a new owner's offset fetch reflects every commit of earlier owners",
        assumption: "the fetch asks for stable offsets",
        holds: |world, state| state.violated & bit::S9 == 0 && !fetched_too_early(world, state),
        applies: |_, state| !now(state).fetched.is_empty(),
    },
    Claim {
        id: "S10",
        statement: "what was acknowledged survives a fail-over, after which no more is accepted than before",
        assumption: "",
        holds: |_, state| state.violated & bit::S10 == 0,
        applies: |_, state| now(state).fail_overs > 0,
    },
    Claim {
        id: "S11",
        statement: "no commit of a member that is gone is accepted",
        assumption: "it names a member and an epoch",
        holds: |world, state| {
            !commits(state).any(|commit| gone(now(state), &commit.0) && accepted(world, state, commit))
        },
        applies: |_, state| commits(state).any(|(commit, _)| gone(now(state), &commit)),
    },
    Claim {
        id: "S12",
        statement: "a transaction's offset never replaces a plain commit with a later log position",
        assumption: "",
        holds: |_, state| state.violated & bit::S12 == 0,
        applies: |_, state| !now(state).newer.is_empty(),
    },
    Claim {
        id: "S13",
        statement: "an absent owned set never releases a partition",
        assumption: "",
        holds: |_, state| state.violated & bit::S13 == 0,
        applies: |_, state| now(state).slots().any(|slot| !now(state).member(slot).pending.is_empty()),
    },
    Claim {
        id: "L1",
        statement: "the target is the group's, and every member is STABLE at it with what it gives",
        assumption: QUIET,
        holds: |world, state| !Fencing::is_quiescent(world, state) || hopeless(world, state) || converged(world, state),
        applies: |world, state| Fencing::is_quiescent(world, state) && !hopeless(world, state),
    },
    Claim {
        id: "L2",
        statement: "no member stays UNREVOKED: it gives up what was asked back, or its timer removes it",
        assumption: QUIET,
        holds: |world, state| {
            !Fencing::is_quiescent(world, state)
                || now(state)
                    .slots()
                    .all(|slot| now(state).member(slot).phase != Phase::Unrevoked || given_up(world, state, slot))
        },
        applies: Fencing::is_quiescent,
    },
    Claim {
        id: "L3",
        statement: "no member stays UNRELEASED",
        assumption: QUIET,
        holds: |world, state| {
            !Fencing::is_quiescent(world, state)
                || hopeless(world, state)
                || now(state).slots().all(|slot| now(state).member(slot).phase != Phase::Unreleased)
        },
        applies: Fencing::is_quiescent,
    },
    Claim {
        id: "L4",
        statement: "a live owner's next commit is accepted",
        assumption: QUIET,
        holds: |world, state| !Fencing::is_quiescent(world, state) || owners_get_through(world, state),
        applies: Fencing::is_quiescent,
    },
    Claim {
        id: "L5",
        statement: "a client that was fenced or removed is a member again",
        assumption: QUIET,
        holds: |world, state| {
            !Fencing::is_quiescent(world, state)
                || clients(state).all(|(_, client)| {
                    client.life != Life::Failed
                        && (client.life != Life::Active
                            || (client.epoch > 0 && member_of(state, client.slot).epoch == client.epoch))
                })
        },
        applies: Fencing::is_quiescent,
    },
    Claim {
        id: "L6",
        statement: "a client that crashed is no member any more, and a removal has the target computed anew",
        assumption: QUIET,
        holds: |world, state| {
            let left = now(state).sessions < world.protocol.setting.bounds.sessions;
            state.violated & bit::L6 == 0
                && (!Fencing::is_quiescent(world, state)
                    || clients(state).all(|(_, client)| {
                        client.life != Life::Crashed || !left || !now(state).member(client.slot).exists()
                    }))
        },
        applies: |world, state| {
            Fencing::is_quiescent(world, state) && clients(state).any(|(_, client)| client.life == Life::Crashed)
        },
    },
];

fn now(state: &State) -> &Coordinator {
    &state.actors.broker.now
}

fn member_of(state: &State, slot: u8) -> &Member {
    now(state).member(slot)
}

/// The commits in flight to the coordinator, each with whether it is transactional.
pub fn commits(state: &State) -> impl Iterator<Item = (Commit, bool)> + '_ {
    state.network.iter().filter_map(|envelope| match envelope.msg {
        Msg::Commit(commit) => Some((commit, false)),
        Msg::TxnCommit(commit) => Some((commit, true)),
        _ => None,
    })
}

/// The consumers of the configuration.
pub fn clients(state: &State) -> impl Iterator<Item = (u8, &Consumer)> + '_ {
    (0..).zip(&state.actors.consumers).filter(|(_, consumer)| consumer.life != Life::Unused)
}

/// The commit in flight whose delivery would violate a property about what could be delivered now.
#[must_use]
pub fn culprit(world: &World<Fencing>, state: &State, property: &str) -> Option<(Commit, bool)> {
    let listener = world.protocol.setting.rules.client == ClientRule::Listener;
    commits(state).find(|found| {
        let (commit, coordinator) = (&found.0, now(state));
        let accepted = accepted(world, state, *found);
        match property {
            "S3" => zombie(coordinator, commit) && accepted,
            "S3'" => zombie(coordinator, commit) && commit.epoch < coordinator.member(commit.slot).epoch && accepted,
            "S4" if listener => !commit.partitions.within(member_of(state, commit.slot).owned()) && accepted,
            "S4" => legal(coordinator, commit) && !accepted,
            "S4'" => held_throughout(world, state, commit) && !accepted,
            "S7" => before_grant(coordinator, commit) && accepted,
            "S9" => late(coordinator, commit) && accepted,
            "S11" => gone(coordinator, commit) && accepted,
            _ => false,
        }
    })
}

/// Whether a commit that is in flight would be accepted now.
fn accepted(world: &World<Fencing>, state: &State, (commit, transactional): (Commit, bool)) -> bool {
    accepts(world, now(state), &commit_request(&commit, transactional))
}

fn accepts(world: &World<Fencing>, coordinator: &Coordinator, request: &CommitRequest) -> bool {
    let setting = &world.protocol.setting;
    let rules = rules_of(setting, coordinator);
    coordinator.check_commit(setting, &rules, request, &mut Trail::default()).is_ok()
}

fn exclusive(coordinator: &Coordinator) -> bool {
    let mut seen = Partitions::NONE;
    for slot in coordinator.slots() {
        let member = coordinator.member(slot);
        if member.assigned.meets(member.pending) || member.owned().meets(seen) {
            return false;
        }
        seen = seen | member.owned();
    }
    true
}

/// Whether another member owns one of the commit's partitions.
fn zombie(coordinator: &Coordinator, commit: &Commit) -> bool {
    coordinator.slots().any(|slot| slot != commit.slot && coordinator.member(slot).owned().meets(commit.partitions))
}

/// Whether a commit lies between assignment epoch and member epoch for each of its partitions.
fn legal(coordinator: &Coordinator, commit: &Commit) -> bool {
    let member = coordinator.member(commit.slot);
    member.exists()
        && commit.epoch <= member.epoch
        && commit.partitions.within(member.owned())
        && commit.partitions.iter().all(|partition| member.since[usize::from(partition)] <= commit.epoch)
}

fn held_throughout(world: &World<Fencing>, state: &State, commit: &Commit) -> bool {
    let bounds = &world.protocol.setting.bounds;
    let client = &state.actors.consumers[usize::from(bounds.consumer(commit.slot))];
    bounds.grip
        && client.slot == commit.slot
        && client.life == Life::Active
        && member_of(state, commit.slot).exists()
        && commit.partitions.within(client.owned)
        && commit
            .partitions
            .iter()
            .all(|partition| client.grip >> (2 * partition) & 3 == commit.grip >> (2 * partition) & 3)
}

fn epochs_ordered(coordinator: &Coordinator) -> bool {
    coordinator.assignment_epoch <= coordinator.group_epoch
        && coordinator.slots().all(|slot| {
            let member = coordinator.member(slot);
            member.epoch <= coordinator.assignment_epoch
                && (member.epoch <= 0 || member.since.iter().all(|since| *since <= member.epoch || *since == MISSING))
        })
}

/// Whether one of the commit's partitions was granted to its member after it was stamped.
fn before_grant(coordinator: &Coordinator, commit: &Commit) -> bool {
    let member = coordinator.member(commit.slot);
    member.exists()
        && commit.epoch < member.epoch
        && (commit.partitions & member.owned()).iter().any(|partition| {
            commit.epoch < member.since[usize::from(partition)] && member.since[usize::from(partition)] != MISSING
        })
}

fn gone(coordinator: &Coordinator, commit: &Commit) -> bool {
    !coordinator.member(commit.slot).exists()
}

/// Whether a commit is for a partition whose owner, another member, has read already.
fn late(coordinator: &Coordinator, commit: &Commit) -> bool {
    (commit.partitions & coordinator.fetched)
        .iter()
        .any(|partition| coordinator.owner(partition).is_some_and(|owner| owner != commit.slot))
}

/// S9, but for the fetch itself: a commit of an earlier owner that could still come, after the owner has read.
fn fetched_too_early(world: &World<Fencing>, state: &State) -> bool {
    let coordinator = now(state);
    if coordinator.fetched.is_empty() {
        return false;
    }
    let late = commits(state).any(|commit| late(coordinator, &commit.0) && accepted(world, state, commit));
    let bounds = &world.protocol.setting.bounds;
    let each = bounds.commits + bounds.transactions;
    let staged = coordinator.fetched.minus(coordinator.newer).iter().any(|partition| {
        let id = coordinator.staged[usize::from(partition)];
        id != 0 && coordinator.owner(partition).is_some_and(|owner| bounds.consumer(owner) != (id - 1) / each.max(1))
    });
    late || staged
}

/// Whether a member's client will never do anything about it.
fn lost_cause(world: &World<Fencing>, state: &State, slot: u8) -> bool {
    let bounds = &world.protocol.setting.bounds;
    let consumer = bounds.consumer(slot);
    let client = &state.actors.consumers[usize::from(consumer)];
    let stuck = bounds.stuck && consumer == 0 && now(state).rebalances >= bounds.rebalances;
    client.slot != slot || client.life != Life::Active || stuck
}

/// Whether a member that is UNREVOKED holds nobody up: its client will never do anything about it, and a static member
/// that left for a while has nothing left to give up (2.6).
fn given_up(world: &World<Fencing>, state: &State, slot: u8) -> bool {
    let member = now(state).member(slot);
    lost_cause(world, state, slot) && (member.epoch != AWAY || member.pending.is_empty())
}

/// A client that is not in the group and asks to be, where its next heartbeat leads nowhere (L5).
#[must_use]
pub fn outsider(state: &State) -> Option<u8> {
    let outside = |client: &Consumer| {
        client.life == Life::Active && (client.epoch <= 0 || member_of(state, client.slot).epoch != client.epoch)
    };
    clients(state).find(|(_, client)| outside(client)).map(|(consumer, _)| consumer)
}

/// The member id of a client that crashed and is a member all the same (L6).
#[must_use]
pub fn departed(state: &State) -> Option<u8> {
    let crashed = |client: &Consumer| client.life == Life::Crashed && member_of(state, client.slot).exists();
    clients(state).find(|(_, client)| crashed(client)).map(|(_, client)| client.slot)
}

fn hopeless(world: &World<Fencing>, state: &State) -> bool {
    now(state).slots().any(|slot| lost_cause(world, state, slot))
}

fn converged(world: &World<Fencing>, state: &State) -> bool {
    let coordinator = now(state);
    let setting = &world.protocol.setting;
    let filters = rules_of(setting, coordinator).release >= Release::V4_2;
    coordinator.assignment_epoch == coordinator.group_epoch
        && coordinator.slots().all(|slot| {
            let member = coordinator.member(slot);
            let target = coordinator.target[usize::from(slot)];
            let target = if filters { target & setting.bounds.topics.of(member.topics) } else { target };
            member.phase == Phase::Stable && member.epoch == coordinator.assignment_epoch && member.assigned == target
        })
}

fn owners_get_through(world: &World<Fencing>, state: &State) -> bool {
    clients(state).all(|(_, client)| {
        client.life != Life::Active
            || client.epoch <= 0
            || client.owned.iter().all(|partition| {
                let request = CommitRequest {
                    slot: client.slot,
                    epoch: client.epoch,
                    partitions: Partitions::one(partition),
                    transactional: false,
                    version: None,
                    instance: false,
                };
                accepts(world, now(state), &request)
            })
    })
}

/// Whether nothing is left to happen but heartbeats that change nothing, commits and fetches.
#[must_use]
pub fn is_quiescent(world: &World<Fencing>, state: &State) -> bool {
    let setting = &world.protocol.setting;
    if !state.network.is_empty() || state.actors.assignor.moves < setting.bounds.targets {
        return false;
    }
    let mut busy = false;
    state.actors.broker.timers(setting, &mut |timer| {
        // The session timer of a member that heartbeats is a fault that need not happen; any other runs out some day.
        busy |= !matches!(timer, Timer::Session(slot) if heartbeats(world, state, slot));
    });
    state.actors.producer.timers(&mut |_| busy = true);
    for (index, client) in clients(state) {
        busy |= client.life == Life::Outside;
        client.timers(setting, index, &mut |timer| {
            busy |= !matches!(timer, Timer::Heartbeat | Timer::Commit(_) | Timer::Fetch(_) | Timer::Transaction(_));
        });
        busy |= client.waiting && client.life == Life::Active;
        busy |= client.open != 0 || client.transaction;
    }
    !busy && clients(state).all(|(index, client)| client.life != Life::Active || heartbeat_is_idle(world, state, index))
}

/// Whether a member's client is there to keep its session.
fn heartbeats(world: &World<Fencing>, state: &State, slot: u8) -> bool {
    let client = &state.actors.consumers[usize::from(world.protocol.setting.bounds.consumer(slot))];
    client.slot == slot && client.life == Life::Active
}

/// Whether a heartbeat of the consumer, handled and answered, leads back to the same state.
fn heartbeat_is_idle(world: &World<Fencing>, state: &State, consumer: u8) -> bool {
    let setting = &world.protocol.setting;
    let mut client = state.actors.consumers[usize::from(consumer)];
    let before = client;
    let Some(msg) = client.act(setting, consumer, Timer::Heartbeat) else { return true };
    let mut broker = state.actors.broker.clone();
    let effect = broker.receive(setting, consumer + 1, msg);
    if broker != state.actors.broker {
        return false;
    }
    for (_, answer) in effect.sends {
        client.receive(setting, answer);
    }
    client == before
}
