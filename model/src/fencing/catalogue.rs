//! The configurations and the goals of the exporter.

use fencepost_fixtures::trace::Protocol as ProtocolName;
use fencepost_fixtures::variants::{FencingRules, Rules, find};

use super::Fencing;
use super::bounds::{Bounds, Setting};
use super::mutant::Mutant;
use crate::protocol::{Catalogue, Configuration, Goal, Tier};

/// The rules of a variant by name.
#[must_use]
pub fn rules(variant: &str) -> Option<FencingRules> {
    match find(ProtocolName::Fencing, variant)?.rules {
        Rules::Fencing(rules) => Some(rules),
        Rules::Compaction(_) | Rules::Replication(_) | Rules::Consumer(_) => None,
    }
}

/// The configurations in the making.
pub(super) struct List(Vec<Configuration<Fencing>>);

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
            name: format!("fencing/{variant}{plus}/{name}"),
            tier,
            reason,
            walks: None,
            protocol: Fencing::new(Setting { rules, mutant, bounds }),
        });
    }
}

const EIGHT: [&str; 8] = [
    "no-fencing",
    "kafka-4.0",
    "kafka-4.2",
    "revocation-epoch-bumped",
    "revocation-epoch-kept",
    "assignment-epoch-bumped",
    "kafka-4.3",
    "assignment-epoch-owned",
];

impl Catalogue for Fencing {
    fn configurations() -> Vec<Configuration<Self>> {
        let mut list = List(Vec::new());
        for variant in EIGHT {
            list.add(
                Tier::Smoke,
                variant,
                Mutant::None,
                "two-members-two-targets",
                "the table of section 8: all that it says shows with two members, two partitions, two targets, one commit each",
                Bounds::BASE,
            );
        }
        super::rows::larger(&mut list);
        super::rows::mutants(&mut list);
        list.0
    }

    fn goals() -> Vec<Goal> {
        super::goals::goals()
    }
}
