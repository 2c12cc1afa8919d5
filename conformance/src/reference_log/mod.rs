//! The reference log as a target for traces of compaction.
//!
//! | Module | Subject |
//! | --- | --- |
//! | [`rules`] | a variant's name, as the reference's rules |
//! | [`functions`] | the cleaner's decisions, one call each |

mod functions;
mod hex;
mod rules;

use std::collections::BTreeSet;

use fencepost_fixtures::compaction::Compaction;
use fencepost_fixtures::{Protocol, variants};
use fencepost_reference::storage::mutation::Mutation;

use crate::target::{
    Answered, Decision, Fault, Feature, Hello, Input, Kind, PROTOCOL_VERSION, Question, Ready, Reply, Reset, Target,
};

/// The reference log, in this process.
#[derive(Debug, Default)]
pub struct ReferenceLog {
    mutation: Option<Mutation>,
}

impl ReferenceLog {
    /// As it should be.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one slip.
    #[must_use]
    pub fn with_mutation(mutation: Mutation) -> Self {
        Self { mutation: Some(mutation) }
    }
}

impl Target<Compaction> for ReferenceLog {
    fn hello(&mut self) -> Result<Hello, Fault> {
        Ok(Hello {
            protocol_version: PROTOCOL_VERSION,
            name: "fencepost reference".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocols: BTreeSet::from([Protocol::Compaction]),
            variants: variants::of(Protocol::Compaction).map(|variant| variant.name.to_owned()).collect(),
            kinds: BTreeSet::from([Kind::Wire, Kind::State, Kind::Function]),
            features: Feature::ALL.iter().copied().collect(),
            unseen: BTreeSet::new(),
            first_epoch: 1,
        })
    }

    fn reset(&mut self, reset: &Reset<'_, Compaction>) -> Result<Ready, Fault> {
        let _ = rules::waits_for_replicas(reset.variant);
        Ok(Ready::Skipped("behaviours are not replayed on the reference yet".to_owned()))
    }

    fn step(&mut self, _: &Input<'_, Compaction>) -> Result<Reply<Compaction>, Fault> {
        Ok(Reply::new(Answered::Skipped("behaviours are not replayed on the reference yet".to_owned())))
    }

    fn call(&mut self, question: &Question<'_, Compaction>) -> Result<Decision<Compaction>, Fault> {
        match rules::of(question.variant, self.mutation) {
            Ok(rules) => functions::decide(rules.cleaner, question.given, question.call),
            Err(reason) => Ok(Decision::Skipped(reason)),
        }
    }
}
