//! The configurations.

use super::Consumer;
use super::bounds::{Bounds, Setting};
use super::mutant::Mutant;
use super::rules::rules;
use crate::protocol::{Catalogue, Configuration, Goal, Tier};

pub use super::rules::ORACLE;

/// The configurations in the making.
pub(super) struct List(Vec<Configuration<Consumer>>);

impl List {
    pub(super) fn add(
        &mut self,
        tier: Tier,
        variant: &'static str,
        mutant: Mutant,
        name: &str,
        reason: &'static str,
        bounds: Bounds,
    ) {
        let Some(rules) = rules(variant) else { return };
        let plus = if mutant == Mutant::None { String::new() } else { format!("+{mutant}") };
        self.0.push(Configuration {
            name: format!("consumer/{variant}{plus}/{name}"),
            tier,
            reason,
            walks: None,
            protocol: Consumer::new(Setting { variant, rules, mutant, bounds }),
        });
    }
}

impl Catalogue for Consumer {
    fn configurations() -> Vec<Configuration<Self>> {
        let mut list = List(Vec::new());
        super::rows::clients(&mut list);
        super::rows::positions(&mut list);
        super::rows::divergence(&mut list);
        super::rows::others(&mut list);
        super::rows::slips(&mut list);
        list.0
    }

    fn goals() -> Vec<Goal> {
        super::goals::goals()
    }
}
