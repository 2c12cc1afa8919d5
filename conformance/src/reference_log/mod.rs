//! The reference log as a target for traces of compaction.
//!
//! | Module | Subject |
//! | --- | --- |
//! | `rules` | a variant's name, as the reference's rules |
//! | `functions` | the cleaner's decisions, one call each |
//! | `system` | a behaviour's operations, and what is seen of the log |
//! | `replica` | one replica: files in memory, rounds, restarts, reads |
//! | `stopping_fs` | files that go off in the middle of a swap |

mod functions;
mod hex;
mod replica;
mod rules;
mod stopping_fs;
mod system;

use std::collections::BTreeSet;

use fencepost_fixtures::compaction::Compaction;
use fencepost_fixtures::{Protocol, variants};
use fencepost_reference::storage::mutation::Mutation;

use self::system::System;
use crate::target::{
    Action, Answered, Decision, Fault, Feature, Hello, Input, Kind, PROTOCOL_VERSION, Prepared, Question, Ready, Reply,
    Reset, Settings, Target,
};

/// The reference log, in this process.
#[derive(Debug, Default)]
pub struct ReferenceLog {
    system: Option<System>,
}

impl ReferenceLog {
    /// As it should be.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// The slip that is asked for, if it is one of the log's.
fn mutation(settings: Settings<'_>) -> Option<Mutation> {
    Mutation::ALL.iter().find(|mutation| Some(mutation.name()) == settings.slip).copied()
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
        let variant = reset.settings.variant;
        match rules::of(variant, mutation(reset.settings)) {
            Ok(rules) => {
                self.system = Some(System::new(reset.configure, rules, rules::waits_for_replicas(variant))?);
                Ok(Ready::Ok(Prepared::default()))
            }
            Err(reason) => Ok(Ready::Skipped(reason)),
        }
    }

    fn step(&mut self, input: &Input<'_, Compaction>) -> Result<Reply<Compaction>, Fault> {
        let system = self.system.as_mut().ok_or_else(|| Fault::broken("a step came before the first reset"))?;
        let mut reply = match input.action {
            Action::Observe => Reply::new(Answered::Nothing),
            Action::Setup(operation) | Action::Operation(operation) => system.apply(input.broker, operation)?,
        };
        if input.observe {
            reply.state = Some(system.state(input.broker)?);
        }
        Ok(reply)
    }

    fn call(&mut self, question: &Question<'_, Compaction>) -> Result<Decision<Compaction>, Fault> {
        match rules::of(question.settings.variant, mutation(question.settings)) {
            Ok(rules) => functions::decide(rules.cleaner, question.given, question.call),
            Err(reason) => Ok(Decision::Skipped(reason)),
        }
    }
}
