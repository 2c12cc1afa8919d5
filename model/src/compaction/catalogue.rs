//! The configurations.

use fencepost_fixtures::trace::Protocol as ProtocolName;
use fencepost_fixtures::variants::{CompactionRules, Rules, find};

use super::Compaction;
use super::bounds::{Bounds, Setting};
use super::mutant::Mutant;
use crate::protocol::{Catalogue, Configuration, Goal, Tier};

/// The name of the oracle: KIP-534 with every repair.
pub const ORACLE: &str = "delete-horizon-repaired";

/// The rules of a variant by name.
#[must_use]
pub fn rules(variant: &str) -> Option<CompactionRules> {
    match find(ProtocolName::Compaction, variant)?.rules {
        Rules::Compaction(rules) => Some(rules),
        Rules::Fencing(_) | Rules::Replication(_) | Rules::Consumer(_) => None,
    }
}

/// The configurations in the making.
pub(super) struct List(Vec<Configuration<Compaction>>);

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
            name: format!("compaction/{variant}{plus}/{name}"),
            tier,
            reason,
            walks: None,
            protocol: Compaction::new(Setting { rules, mutant, bounds }),
        });
    }
}

impl Catalogue for Compaction {
    fn configurations() -> Vec<Configuration<Self>> {
        let mut list = List(Vec::new());
        super::rows::findings(&mut list);
        super::rows::cuts(&mut list);
        super::rows::questions(&mut list);
        super::rows::behaviours(&mut list);
        super::rows::choices(&mut list);
        super::rows::designs(&mut list);
        super::rows::larger(&mut list);
        super::slips::slips(&mut list);
        list.0
    }

    fn goals() -> Vec<Goal> {
        super::goals::goals()
    }
}
