//! The toy as a target: only the decision it has is answered, and everything else is skipped.

use std::collections::BTreeSet;

use fencepost_conformance::target::*;
use fencepost_fixtures::fencing::{Call, Fencing, Outcome};
use fencepost_fixtures::{KafkaError, Protocol};
use toy_coordinator::{Member, may_commit};

fn main() {
    fencepost_conformance::suite::fencing(|| Toy).exit();
}

struct Toy;

impl Target<Fencing> for Toy {
    fn hello(&mut self) -> Result<Hello, Fault> {
        Ok(Hello {
            protocol_version: PROTOCOL_VERSION,
            name: "toy".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocols: BTreeSet::from([Protocol::Fencing]),
            variants: Vec::new(),
            kinds: BTreeSet::from([Kind::Function]),
            features: BTreeSet::new(),
            unseen: BTreeSet::new(),
            first_epoch: 1,
        })
    }

    fn reset(&mut self, _: &Reset<'_, Fencing>) -> Result<Ready, Fault> {
        Ok(Ready::Skipped("the toy has no groups".to_owned()))
    }

    fn step(&mut self, _: &Input<'_, Fencing>) -> Result<Reply<Fencing>, Fault> {
        Ok(Reply::new(Answered::Skipped("the toy has no groups".to_owned())))
    }

    fn call(&mut self, question: &Question<'_, Fencing>) -> Result<Decision<Fencing>, Fault> {
        let Call::CommitCheck { member: name, epoch, partitions, transactional: false, version: None, .. } =
            question.call
        else {
            return Ok(Decision::Skipped("the toy decides plain commits of the newest version alone".to_owned()));
        };
        let Some(given) = question.given.members.get(name).filter(|_| epoch.0 >= 0) else {
            return Ok(Decision::Skipped("the toy decides for members alone".to_owned()));
        };
        let owned = given.assigned.iter().chain(&given.pending_revocation);
        let member = Member {
            epoch: given.epoch.0,
            owned: owned.map(|(partition, epoch)| (partition.to_string(), epoch.0)).collect(),
            classic: given.classic,
        };
        let asked: Vec<String> = partitions.iter().map(ToString::to_string).collect();
        Ok(if may_commit(&member, epoch.0, &asked) {
            Decision::Outcome(Outcome::Accepted(partitions.clone()))
        } else if member.classic {
            Decision::Error(KafkaError::IllegalGeneration.name().to_owned())
        } else {
            Decision::Error(KafkaError::StaleMemberEpoch.name().to_owned())
        })
    }
}
