//! An implementation of one protocol or several, and how the runner gets one.
//!
//! [`Target`] is generic over the protocol; what stands here is the table of protocols, so that a run over traces of all
//! of them finds the right target. A new protocol is one method here and one arm in [`replay_document`].

use std::collections::BTreeSet;

use fencepost_fixtures::Document;
use fencepost_fixtures::compaction::Compaction;
use fencepost_fixtures::consumer::Consumer;
use fencepost_fixtures::fencing::Fencing;
use fencepost_fixtures::replication::Replication;
use fencepost_fixtures::trace::Vocabulary;

use crate::reference_cluster::ReferenceCluster;
use crate::reference_consumer::ReferenceConsumer;
use crate::reference_log::ReferenceLog;
use crate::reference_target::ReferenceTarget;
use crate::replayer::{Counts, Replay, Verdict, replay};
use crate::target::{Fault, Hello, Settings, Target};

/// An implementation: a target for each protocol that it has.
pub trait Implementation: Send {
    /// Who this is, for all its protocols.
    fn hello(&mut self) -> Result<Hello, Fault>;

    /// Its target for fencing, if it has one.
    fn fencing(&mut self) -> Option<&mut dyn Target<Fencing>> {
        None
    }

    /// Its target for compaction, if it has one.
    fn compaction(&mut self) -> Option<&mut dyn Target<Compaction>> {
        None
    }

    /// Its target for replication, if it has one.
    fn replication(&mut self) -> Option<&mut dyn Target<Replication>> {
        None
    }

    /// Its target for consumers, if it has one.
    fn consumer(&mut self) -> Option<&mut dyn Target<Consumer>> {
        None
    }

    /// No more will be asked. A fault here costs no trace.
    fn bye(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Starts implementations: one for each thread of a run, and another after a fault.
pub trait Launcher: Sync {
    /// Starts one.
    fn launch(&self) -> Result<Box<dyn Implementation>, Fault>;
}

impl<F: Fn() -> Result<Box<dyn Implementation>, Fault> + Sync> Launcher for F {
    fn launch(&self) -> Result<Box<dyn Implementation>, Fault> {
        self()
    }
}

macro_rules! only {
    ($(#[$doc:meta])* $name:ident, $protocol:ident, $method:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<T>(pub T);

        impl<T: Target<$protocol> + Send> Implementation for $name<T> {
            fn hello(&mut self) -> Result<Hello, Fault> {
                self.0.hello()
            }

            fn $method(&mut self) -> Option<&mut dyn Target<$protocol>> {
                Some(&mut self.0)
            }

            fn bye(&mut self) -> Result<(), Fault> {
                self.0.bye()
            }
        }
    };
}

only!(
    /// The implementation that has fencing alone.
    FencingOnly,
    Fencing,
    fencing
);
only!(
    /// The implementation that has compaction alone.
    CompactionOnly,
    Compaction,
    compaction
);
only!(
    /// The implementation that has replication alone.
    ReplicationOnly,
    Replication,
    replication
);

only!(
    /// The implementation that has consumers alone.
    ConsumerOnly,
    Consumer,
    consumer
);

/// The reference: its coordinator, its log, its brokers, and its client.
#[derive(Debug, Default)]
pub struct Reference {
    /// Its coordinator.
    pub coordinator: ReferenceTarget,
    /// Its log.
    pub log: ReferenceLog,
    /// Its brokers and controller.
    pub cluster: ReferenceCluster,
    /// Its client.
    pub client: ReferenceConsumer,
}

impl Implementation for Reference {
    fn hello(&mut self) -> Result<Hello, Fault> {
        let mut hello = self.coordinator.hello()?;
        for other in [self.log.hello()?, self.cluster.hello()?, self.client.hello()?] {
            hello.protocols.extend(other.protocols);
            hello.variants.extend(other.variants);
            hello.kinds.extend(other.kinds);
            hello.features.extend(other.features);
        }
        // A name that several protocols have is one name.
        let mut seen = BTreeSet::new();
        hello.variants.retain(|name| seen.insert(name.clone()));
        Ok(hello)
    }

    fn fencing(&mut self) -> Option<&mut dyn Target<Fencing>> {
        Some(&mut self.coordinator)
    }

    fn compaction(&mut self) -> Option<&mut dyn Target<Compaction>> {
        Some(&mut self.log)
    }

    fn replication(&mut self) -> Option<&mut dyn Target<Replication>> {
        Some(&mut self.cluster)
    }

    fn consumer(&mut self) -> Option<&mut dyn Target<Consumer>> {
        Some(&mut self.client)
    }
}

/// Starts the reference, in this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceLauncher;

impl Launcher for ReferenceLauncher {
    fn launch(&self) -> Result<Box<dyn Implementation>, Fault> {
        Ok(Box::new(Reference::default()))
    }
}

/// Replays a trace of any protocol.
///
/// `settings` is what the target is set to, as far as it can be set. Without a variant that is the one that the trace was
/// recorded under, and its slip.
pub fn replay_document(
    document: &Document,
    hello: &Hello,
    implementation: &mut dyn Implementation,
    settings: Settings<'_>,
) -> Replay {
    let header = document.header();
    let settable = !hello.variants.is_empty();
    let variant = settable.then_some(settings.variant.unwrap_or(&header.variant));
    if let Some(variant) = variant
        && !hello.variants.iter().any(|known| known == variant)
    {
        return inconclusive(format!("the target can't be set to {variant}"));
    }
    let own_slip = header.mutant.as_deref().filter(|_| settings.variant.is_none());
    let slip = settings.slip.or(own_slip).filter(|_| settable);
    let settings = Settings { variant, slip, only: settings.only };
    match document {
        Document::Fencing(trace) => match implementation.fencing() {
            Some(target) => replay(trace, hello, target, settings),
            None => absent::<Fencing>(),
        },
        Document::Compaction(trace) => match implementation.compaction() {
            Some(target) => replay(trace, hello, target, settings),
            None => absent::<Compaction>(),
        },
        Document::Replication(trace) => match implementation.replication() {
            Some(target) => replay(trace, hello, target, settings),
            None => absent::<Replication>(),
        },
        Document::Consumer(trace) => match implementation.consumer() {
            Some(target) => replay(trace, hello, target, settings),
            None => absent::<Consumer>(),
        },
    }
}

fn absent<V: Vocabulary>() -> Replay {
    inconclusive(format!("the target does not have {}", V::PROTOCOL))
}

fn inconclusive(reason: String) -> Replay {
    Replay {
        verdict: Verdict::Inconclusive(reason),
        compared: Counts::default(),
        not_compared: Counts::default(),
        operations: 0,
    }
}
