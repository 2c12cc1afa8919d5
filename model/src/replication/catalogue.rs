//! The configurations.

use super::Replication;
use super::bounds::{Bounds, Setting};
use super::log::MAX_BROKERS;
use super::mutant::Mutant;
use super::rules::rules;
use crate::protocol::{Catalogue, Configuration, Goal, Tier};

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
            protocol: Replication::new(Setting { rules: [rules; MAX_BROKERS], mutant, bounds }),
        });
    }
}

impl Catalogue for Replication {
    fn configurations() -> Vec<Configuration<Self>> {
        let mut list = List(Vec::new());
        super::rows::scenarios(&mut list);
        list.0
    }

    fn goals() -> Vec<Goal> {
        Vec::new()
    }
}
