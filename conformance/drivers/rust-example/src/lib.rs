//! A toy: the one decision of a group coordinator that KIP-1251 changed, as another project might have it.

use std::collections::BTreeMap;

/// What the coordinator knows of a member.
pub struct Member {
    /// Its epoch.
    pub epoch: i32,
    /// What it owns, given up or not, with the epoch at which each partition was assigned.
    pub owned: BTreeMap<String, i32>,
    /// Whether it speaks the classic protocol.
    pub classic: bool,
}

/// Whether a member may commit these partitions with this epoch.
pub fn may_commit(member: &Member, epoch: i32, partitions: &[String]) -> bool {
    epoch <= member.epoch
        && partitions.iter().all(|partition| member.owned.get(partition).is_some_and(|assigned| *assigned <= epoch))
}
