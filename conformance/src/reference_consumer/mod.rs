//! The reference's client, and the brokers that it reads from, as a target for traces of consumers.
//!
//! | Module | Subject |
//! | --- | --- |
//! | `rules` | a variant's name, as the reference's rules |
//! | `functions` | the decisions, one call each |
//! | `cluster` | a behaviour's operations, and what is seen of client and brokers |
//! | `words` | what the trace says, as the reference says it, and back |

mod cluster;
mod functions;
mod rules;
mod words;

use std::collections::BTreeSet;

use fencepost_fixtures::consumer::Consumer;
use fencepost_fixtures::{Protocol, variants};

use self::cluster::Cluster;
use crate::target::{
    Action, Answered, Decision, Fault, Feature, Hello, Input, Kind, PROTOCOL_VERSION, Prepared, Question, Ready, Reply,
    Reset, Target,
};

/// The reference's client and the brokers that it sees, in this process.
#[derive(Debug, Default)]
pub struct ReferenceConsumer {
    cluster: Option<Cluster>,
}

impl Target<Consumer> for ReferenceConsumer {
    fn hello(&mut self) -> Result<Hello, Fault> {
        Ok(Hello {
            protocol_version: PROTOCOL_VERSION,
            name: "fencepost reference".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocols: BTreeSet::from([Protocol::Consumer]),
            variants: variants::of(Protocol::Consumer).map(|variant| variant.name.to_owned()).collect(),
            kinds: BTreeSet::from([Kind::Wire, Kind::State, Kind::Function]),
            features: Feature::ALL.iter().copied().collect(),
            unseen: BTreeSet::new(),
            first_epoch: 1,
        })
    }

    fn reset(&mut self, reset: &Reset<'_, Consumer>) -> Result<Ready, Fault> {
        match Cluster::new(reset.configure, reset.settings)? {
            Ok(cluster) => {
                self.cluster = Some(cluster);
                Ok(Ready::Ok(Prepared::default()))
            }
            Err(reason) => Ok(Ready::Skipped(reason)),
        }
    }

    fn step(&mut self, input: &Input<'_, Consumer>) -> Result<Reply<Consumer>, Fault> {
        let cluster = self.cluster.as_mut().ok_or_else(|| Fault::broken("a step came before the first reset"))?;
        let mut reply = match input.action {
            Action::Observe => Reply::new(Answered::Nothing),
            Action::Setup(setup) => cluster.set_up(setup)?,
            Action::Operation(operation) => {
                let at = input.broker.ok_or_else(|| Fault::broken("a step has no `broker`"))?;
                cluster.apply(at, operation, input.message.as_ref())?
            }
        };
        if input.observe {
            reply.state = Some(cluster.state()?);
        }
        Ok(reply)
    }

    fn call(&mut self, question: &Question<'_, Consumer>) -> Result<Decision<Consumer>, Fault> {
        match rules::of(question.settings.variant, question.settings.slip) {
            Ok(rules) => functions::decide(rules, question.given, question.call),
            Err(reason) => Ok(Decision::Skipped(reason)),
        }
    }
}
