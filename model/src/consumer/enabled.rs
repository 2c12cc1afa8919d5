//! What may happen at the consumer of its own accord, in the order of [`Timer`].

use super::bounds::Setting;
use super::client::{Client, State, Thrown};
use super::cluster::Cluster;
use super::log::UNDEFINED;
use super::message::{NOBODY, Target, Timer};

/// Calls `each` for everything that may happen at the consumer now. What it can hear is the cluster's; none where
/// metadata are messages.
pub fn at_consumer(setting: &Setting, client: &Client, cluster: Option<&Cluster>, each: &mut dyn FnMut(Timer)) {
    let bounds = &setting.bounds;
    let [metadata, stale, elapses, fails, seeks, commits, restarts] = client.spent;
    if let Some(cluster) = cluster
        && metadata < bounds.metadata
    {
        let newest = cluster.elected();
        for heard in cluster.answers() {
            let old = heard != newest
                && client.known.leader != NOBODY
                && (heard.topic, heard.epoch) < (client.known.topic, client.known.epoch);
            let behind = heard != newest && !old;
            if heard != client.known
                && (!old || stale < bounds.stale)
                && (!behind || stale < bounds.stale || metadata + 1 < bounds.metadata)
            {
                each(Timer::Metadata(heard));
            }
        }
    }
    if client.idle {
        each(Timer::Poll);
    }
    let awaits = matches!(client.state, State::AwaitReset | State::AwaitValidation);
    if awaits && client.waits && client.asking == NOBODY && elapses < bounds.elapses {
        each(Timer::Elapse);
    }
    if fails < bounds.fails {
        for broker in 0..bounds.brokers {
            let fetching = client.fetching >> broker & 1 == 1;
            if fetching != (client.asking == broker) {
                each(Timer::Fail(broker));
            }
        }
    }
    if seeks < bounds.seeks {
        for target in bounds.targets {
            // The seek to the nearest place is there only in the variant that has it, and then instead.
            let wanted = match target {
                Target::Nearest => setting.rules.seeks_nearest,
                Target::Stored => !setting.rules.seeks_nearest,
                _ => true,
            };
            if wanted && can_seek(client, *target) {
                each(Timer::Seek(*target));
            }
        }
    }
    let truncated = matches!(client.thrown, Some(Thrown::Truncation(..)));
    if setting.rules.finds_offsets {
        if truncated
            && client.asking == NOBODY
            && client.position.leader != NOBODY
            && client.position.epoch != UNDEFINED
        {
            each(Timer::Find);
        }
        if client.found != UNDEFINED {
            each(Timer::Seek(Target::Found));
        }
    }
    // What was read is committed, or stored; an offset that was never read from is not.
    if commits < bounds.commits
        && client.state == State::Fetching
        && client.position.offset > 0
        && client.committed.0 != client.position.offset
    {
        each(Timer::Commit);
    }
    if restarts < bounds.restarts {
        each(Timer::Restart);
    }
}

fn can_seek(client: &Client, target: Target) -> bool {
    let parts = match client.thrown {
        Some(Thrown::Truncation(_, _, parts)) => Some(parts),
        _ => None,
    };
    match target {
        Target::Divergence | Target::DivergenceOffset => parts.is_some_and(|parts| parts.end != UNDEFINED),
        // Where nothing is known the application begins anew.
        Target::Beginning => client.thrown.is_some() && parts.is_none_or(|parts| parts.end == UNDEFINED),
        Target::Stored | Target::StoredOffset | Target::Nearest => client.committed.0 != UNDEFINED,
        Target::Found => false,
        Target::Offset(_) | Target::Pair(..) | Target::End => true,
    }
}
