//! Who shall have which partition (docs/fencing.md 2.10): a target that the caller scripts, or Kafka's `uniform` and
//! `range`, made deterministic.
//!
//! Kafka's own order of members in `uniform` is that of a hash map; here it is that of member ids. Nothing about the safety
//! of a group depends on it.

use std::collections::{BTreeMap, BTreeSet};

use crate::coordinator::names::{InstanceId, MemberId, TopicPartition};
use crate::coordinator::records::Uuid;

/// The target of each member.
pub type Assignment = BTreeMap<MemberId, BTreeSet<TopicPartition>>;

/// What an assignor knows of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscriber {
    /// Its instance id, by which `range` orders.
    pub instance_id: Option<InstanceId>,
    /// The topics that it subscribes to and that exist.
    pub topics: BTreeSet<Uuid>,
    /// Its target so far, on which `uniform` builds.
    pub previous: BTreeSet<TopicPartition>,
}

/// The assignors that a member may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Assignor {
    /// As even as can be, and sticky; the default.
    Uniform,
    /// Contiguous ranges of each topic.
    Range,
}

impl Assignor {
    /// The assignor of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "uniform" => Some(Self::Uniform),
            "range" => Some(Self::Range),
            _ => None,
        }
    }

    /// The assignor that most members name; of several the first in [`Assignor`]'s order, and `uniform` if none is named.
    #[must_use]
    pub fn preferred<'a>(named: impl Iterator<Item = &'a str>) -> Self {
        let (mut uniform, mut range) = (0, 0);
        for name in named {
            match Self::by_name(name) {
                Some(Self::Uniform) => uniform += 1,
                Some(Self::Range) => range += 1,
                None => {}
            }
        }
        if range > uniform { Self::Range } else { Self::Uniform }
    }

    /// The new target of every member.
    #[must_use]
    pub fn assign(
        self,
        members: &BTreeMap<MemberId, Subscriber>,
        partition_counts: &BTreeMap<Uuid, i32>,
    ) -> Assignment {
        match self {
            Self::Uniform => uniform(members, partition_counts),
            Self::Range => range(members, partition_counts),
        }
    }
}

/// `uniform`: members keep what they have up to their share, the rest goes to whoever has least, in order of partitions.
///
/// With equal subscriptions the numbers differ by one at most.
fn uniform(members: &BTreeMap<MemberId, Subscriber>, partition_counts: &BTreeMap<Uuid, i32>) -> Assignment {
    let mut assignment: Assignment = members.keys().map(|id| (id.clone(), BTreeSet::new())).collect();
    let subscribed: BTreeSet<Uuid> = members.values().flat_map(|m| m.topics.iter().copied()).collect();
    let mut pool: BTreeSet<TopicPartition> =
        subscribed.iter().flat_map(|&id| partitions_of(id, partition_counts)).collect();
    if members.is_empty() {
        return assignment;
    }

    let share = pool.len() / members.len();
    let mut extras = pool.len() % members.len();
    // A share is the same for all only where subscriptions are; where they are not, the rest below levels it out.
    for (id, member) in members {
        for &partition in &member.previous {
            let mine = assignment.entry(id.clone()).or_default();
            let room = mine.len() < share || (mine.len() == share && extras > 0);
            if room && member.topics.contains(&partition.topic_id) && pool.remove(&partition) {
                if mine.len() == share {
                    extras -= 1;
                }
                mine.insert(partition);
            }
        }
    }
    for partition in pool {
        let least = members
            .iter()
            .filter(|(_, member)| member.topics.contains(&partition.topic_id))
            .min_by_key(|(id, _)| (assignment.get(*id).map_or(0, BTreeSet::len), *id));
        if let Some((id, _)) = least {
            assignment.entry(id.clone()).or_default().insert(partition);
        }
    }
    assignment
}

/// `range`: static members first, by instance id, then dynamic ones by member id; a contiguous range of each topic for each,
/// the first ones one partition longer.
fn range(members: &BTreeMap<MemberId, Subscriber>, partition_counts: &BTreeMap<Uuid, i32>) -> Assignment {
    let mut assignment: Assignment = members.keys().map(|id| (id.clone(), BTreeSet::new())).collect();
    for &topic_id in partition_counts.keys() {
        let mut subscribers: Vec<(&MemberId, &Subscriber)> =
            members.iter().filter(|(_, member)| member.topics.contains(&topic_id)).collect();
        subscribers
            .sort_by_key(|(id, member)| (member.instance_id.is_none(), member.instance_id.clone(), (*id).clone()));
        let mut partitions = partitions_of(topic_id, partition_counts);
        let count = partitions.len();
        for (position, (id, _)) in subscribers.iter().enumerate() {
            let length = count / subscribers.len() + usize::from(position < count % subscribers.len());
            assignment.entry((*id).clone()).or_default().extend(partitions.by_ref().take(length));
        }
    }
    assignment
}

fn partitions_of(
    topic_id: Uuid,
    partition_counts: &BTreeMap<Uuid, i32>,
) -> impl ExactSizeIterator<Item = TopicPartition> {
    let count = partition_counts.get(&topic_id).copied().unwrap_or(0).max(0);
    (0..count).map(move |partition| TopicPartition { topic_id, partition })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPIC: Uuid = Uuid([1; 16]);

    fn p(partition: i32) -> TopicPartition {
        TopicPartition { topic_id: TOPIC, partition }
    }

    fn member(instance: Option<&str>, previous: &[i32]) -> Subscriber {
        Subscriber {
            instance_id: instance.map(InstanceId::from),
            topics: BTreeSet::from([TOPIC]),
            previous: previous.iter().map(|&partition| p(partition)).collect(),
        }
    }

    fn numbers(assignment: &Assignment, id: &str) -> Vec<i32> {
        assignment[id].iter().map(|p| p.partition).collect()
    }

    #[test]
    fn uniform_keeps_what_it_can_and_differs_by_one_at_most() {
        let members = BTreeMap::from([
            (MemberId::from("a"), member(None, &[0, 1, 2, 3, 4])),
            (MemberId::from("b"), member(None, &[])),
        ]);
        let assignment = Assignor::Uniform.assign(&members, &BTreeMap::from([(TOPIC, 5)]));
        assert_eq!(numbers(&assignment, "a"), [0, 1, 2]);
        assert_eq!(numbers(&assignment, "b"), [3, 4]);
    }

    #[test]
    fn range_puts_static_members_first_and_gives_the_first_ones_one_more() {
        let members = BTreeMap::from([
            (MemberId::from("a"), member(None, &[])),
            (MemberId::from("b"), member(Some("i2"), &[])),
            (MemberId::from("c"), member(Some("i1"), &[])),
        ]);
        let assignment = Assignor::Range.assign(&members, &BTreeMap::from([(TOPIC, 5)]));
        assert_eq!(numbers(&assignment, "c"), [0, 1]);
        assert_eq!(numbers(&assignment, "b"), [2, 3]);
        assert_eq!(numbers(&assignment, "a"), [4]);
    }

    #[test]
    fn the_preferred_assignor_is_the_one_named_most_often() {
        assert_eq!(Assignor::preferred(["range", "range", "uniform"].into_iter()), Assignor::Range);
        assert_eq!(Assignor::preferred(std::iter::empty()), Assignor::Uniform);
    }
}
