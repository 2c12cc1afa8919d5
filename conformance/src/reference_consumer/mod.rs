//! The reference's client, and the brokers that it reads from, as a target for traces of consumers.

use std::collections::BTreeSet;

use fencepost_fixtures::Protocol;
use fencepost_fixtures::consumer::Consumer;

use crate::target::{Fault, Hello, Input, Kind, PROTOCOL_VERSION, Ready, Reply, Reset, Target};

/// The reference's client, in this process.
#[derive(Debug, Default)]
pub struct ReferenceConsumer {}

impl Target<Consumer> for ReferenceConsumer {
    fn hello(&mut self) -> Result<Hello, Fault> {
        Ok(Hello {
            protocol_version: PROTOCOL_VERSION,
            name: "fencepost reference".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocols: BTreeSet::from([Protocol::Consumer]),
            variants: Vec::new(),
            kinds: BTreeSet::from([Kind::Wire, Kind::State, Kind::Function]),
            features: BTreeSet::new(),
            unseen: BTreeSet::new(),
            first_epoch: 1,
        })
    }

    fn reset(&mut self, _: &Reset<'_, Consumer>) -> Result<Ready, Fault> {
        Ok(Ready::Skipped("the reference has no client yet".to_owned()))
    }

    fn step(&mut self, _: &Input<'_, Consumer>) -> Result<Reply<Consumer>, Fault> {
        Err(Fault::broken("a step came before the first reset"))
    }
}
