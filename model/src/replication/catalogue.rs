//! The configurations.

use super::Replication;
use super::bounds::{Bounds, Setting};
use super::log::MAX_BROKERS;
use super::mutant::Mutant;
use super::rules::rules;
use crate::protocol::{Catalogue, Configuration, Goal, Tier};
use crate::walks::Walks;

pub use super::rules::ORACLE;

/// The configurations in the making.
pub(super) struct List(Vec<Configuration<Replication>>);

impl List {
    pub(super) fn add(
        &mut self,
        tier: Tier,
        variant: &str,
        mutant: Mutant,
        name: &str,
        reason: &'static str,
        bounds: Bounds,
    ) {
        let Some(rules) = rules(variant) else { return };
        let plus = if mutant == Mutant::None { String::new() } else { format!("+{mutant}") };
        self.0.push(Configuration {
            name: format!("replication/{variant}{plus}/{name}"),
            tier,
            reason,
            walks: None,
            protocol: Replication::new(Setting {
                rules: [rules; MAX_BROKERS],
                others: [None; MAX_BROKERS],
                mutant,
                bounds,
            }),
        });
    }

    /// A configuration of mixed versions: `other` runs other rules than the configuration's.
    pub(super) fn mixed(
        &mut self,
        tier: Tier,
        (variant, mutant): (&str, Mutant),
        (broker, other): (u8, &'static str),
        name: &str,
        reason: &'static str,
        bounds: Bounds,
    ) {
        self.add(tier, variant, mutant, name, reason, bounds);
        let (Some(rules), Some(last)) = (rules(other), self.0.last_mut()) else { return };
        let mut setting = last.protocol.setting;
        setting.rules[usize::from(broker) % MAX_BROKERS] = rules;
        setting.others[usize::from(broker) % MAX_BROKERS] = Some(other);
        last.protocol = Replication::new(setting);
    }
}

impl List {
    /// A configuration that is not exhausted: its walks say what they met.
    pub(super) fn simulated(&mut self, variant: &str, walks: Walks, name: &str, reason: &'static str, bounds: Bounds) {
        self.add(Tier::Full, variant, Mutant::None, name, reason, bounds);
        if let Some(last) = self.0.last_mut() {
            last.walks = Some(walks);
        }
    }
}

impl Catalogue for Replication {
    fn configurations() -> Vec<Configuration<Self>> {
        let mut list = List(Vec::new());
        super::rows::truncation(&mut list);
        super::rows::fencing(&mut list);
        super::rows::in_sync_set(&mut list);
        super::rows::moves::moves(&mut list);
        super::rows::formats::formats(&mut list);
        super::larger::larger(&mut list);
        super::larger::mixed(&mut list);
        super::rows::simulated::simulated(&mut list);
        list.0
    }

    fn goals() -> Vec<Goal> {
        super::goals::goals()
    }
}
