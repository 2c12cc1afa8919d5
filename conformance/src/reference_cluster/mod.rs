//! The reference's brokers and controller as a target for traces of replication.
//!
//! | Module | Subject |
//! | --- | --- |
//! | `rules` | a variant's name, as the reference's rules |
//! | `functions` | the decisions, one call each |
//! | `cluster` | a behaviour's operations, and what is seen of the cluster |
//! | `words` | what the trace says, as the reference says it, and back |

mod cluster;
mod functions;
mod rules;
mod words;

use std::collections::BTreeSet;

use fencepost_fixtures::replication::Replication;
use fencepost_fixtures::{Protocol, variants};

use self::cluster::Cluster;
use crate::target::{
    Action, Answered, Decision, Fault, Feature, Hello, Input, Kind, PROTOCOL_VERSION, Prepared, Question, Ready, Reply,
    Reset, Target,
};

/// The reference's brokers and controller, in this process.
#[derive(Debug, Default)]
pub struct ReferenceCluster {
    cluster: Option<Cluster>,
}

impl Target<Replication> for ReferenceCluster {
    fn hello(&mut self) -> Result<Hello, Fault> {
        Ok(Hello {
            protocol_version: PROTOCOL_VERSION,
            name: "fencepost reference".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocols: BTreeSet::from([Protocol::Replication]),
            variants: variants::of(Protocol::Replication).map(|variant| variant.name.to_owned()).collect(),
            kinds: BTreeSet::from([Kind::Wire, Kind::State, Kind::Function]),
            features: Feature::ALL.iter().copied().collect(),
            unseen: BTreeSet::new(),
            first_epoch: 1,
        })
    }

    fn reset(&mut self, reset: &Reset<'_, Replication>) -> Result<Ready, Fault> {
        match Cluster::new(reset.configure, reset.settings)? {
            Ok(cluster) => {
                self.cluster = Some(cluster);
                Ok(Ready::Ok(Prepared::default()))
            }
            Err(reason) => Ok(Ready::Skipped(reason)),
        }
    }

    fn step(&mut self, input: &Input<'_, Replication>) -> Result<Reply<Replication>, Fault> {
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

    fn call(&mut self, question: &Question<'_, Replication>) -> Result<Decision<Replication>, Fault> {
        match rules::of(question.settings.variant, question.settings.slip) {
            Ok((rules, slip)) => functions::decide(rules, slip, question.given, question.call),
            Err(reason) => Ok(Decision::Skipped(reason)),
        }
    }
}
