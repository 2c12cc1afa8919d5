//! All protocols and configurations behind one type, so that the commands know no protocol.
//!
//! A new protocol is one line in [`Registry::shipped`].

use std::net::SocketAddr;
use std::sync::Arc;

use fencepost_fixtures::trace::{Header, Origin};
use fencepost_fixtures::{Document, KafkaError};
use stateright::{Model, Property as Always};
use strsim::normalized_damerau_levenshtein;
use timely::worker::Worker;

use crate::compaction::Compaction;
use crate::consumer::Consumer;
use crate::diagram;
use crate::distributed;
use crate::distributed::fingerprint::{Encoder, Fingerprint, Width};
use crate::distributed::live::{Live, Stopped};
use crate::distributed::settle::Explored;
use crate::fencing::Fencing;
use crate::goals::{self, AimError, MissError, Sought};
use crate::limits::{Limits, Observer};
use crate::path::{Indices, PathError, States, walk};
use crate::protocol::{Aim, Claim, Configuration, Exported, Goal, Protocol, Tier};
use crate::replication::Replication;
use crate::replication::tla::{self, Tla, async_isr::AsyncIsr};
use crate::runs::{self, Counted, Order, Shortest};
use crate::search::{self, Labels, Number, Visit};
use crate::simulate::random_path;
use crate::walks::{self, Walks};
use crate::world::{World, WorldState};

/// A property, for a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its id in the specification.
    pub id: &'static str,
    /// The statement.
    pub statement: &'static str,
    /// The assumption under which it is claimed; empty where there is none.
    pub assumption: &'static str,
}

impl Property {
    fn of<P: Protocol>(claim: &Claim<P>) -> Self {
        Self { id: claim.id, statement: claim.statement, assumption: claim.assumption }
    }
}

/// A configuration of whichever protocol.
pub trait Subject: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;
    /// When it is run.
    fn tier(&self) -> Tier;
    /// Why its bounds are what they are.
    fn reason(&self) -> &'static str;
    /// The walks that are taken where the states can't be exhausted.
    fn walks(&self) -> Option<Walks>;
    /// Its properties; the bits of a [`Counted`] follow this order.
    fn properties(&self) -> Vec<Property>;
    /// The labels that steps can have.
    fn label_names(&self) -> &'static [&'static str];
    /// Exhausts its states, on so many threads; or takes its walks.
    fn count(&self, order: Order, threads: usize, limits: &Limits, observer: &dyn Observer) -> Counted;
    /// The shortest path to a violation of the property with this index.
    fn shortest(&self, property: usize, limits: &Limits, observer: &dyn Observer) -> Shortest;
    /// The labels of the steps among the first `bound` states.
    fn labels(&self, bound: usize, limits: &Limits) -> Labels;
    /// The steps of a path, a line or two each.
    fn narrate(&self, path: &Indices) -> Result<Vec<String>, PathError>;
    /// The properties that the last state of a path violates.
    fn violated(&self, path: &Indices) -> Result<Vec<Property>, PathError>;
    /// The sequence diagram of a path, as SVG; a path without a step has none.
    fn svg(&self, path: &Indices) -> Result<Option<String>, PathError>;
    /// The sequence diagram of a path, as Mermaid text.
    fn mermaid(&self, path: &Indices) -> Result<String, PathError>;
    /// The shortest path to each aim.
    fn seek(&self, aims: &[&Aim], limits: &Limits) -> Result<Sought, AimError>;
    /// After how many steps of a path an aim is met for the first time.
    fn met_at(&self, aim: &Aim, path: &Indices) -> Result<Option<usize>, MissError>;
    /// The labels of the steps of a path.
    fn labels_on(&self, path: &Indices) -> Result<Vec<&'static str>, PathError>;
    /// The trace of a path.
    fn trace(&self, goal: &Goal, path: &Indices) -> Result<Document, RenderError>;
    /// The twin of a counterexample.
    fn twin(&self, goal: &Goal, path: &Indices) -> Result<Document, RenderError>;
    /// A random behaviour of at most `depth` steps.
    fn simulated(&self, seed: u64, number: u64, depth: usize) -> Result<Document, RenderError>;
    /// A worker's part in the exploration on several workers.
    fn spread(&self, worker: &mut Worker, width: Width, live: &Live) -> Result<Explored, Stopped>;
    /// A hash of what it is: its bounds, rules and properties, and its first states as they are encoded. Programs that
    /// have the same one explore the same states.
    fn identity(&self) -> u64;
    /// Serves Stateright's explorer. Does not return while it serves.
    fn serve(&self, address: SocketAddr);
}

/// Why a path has no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The path is none of the model.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The protocol can't say it in a trace.
    #[error("{0}")]
    Trace(String),
}

/// Of how many states the identity of a configuration is taken.
const FIRST_STATES: usize = 300;

/// A configuration with its type.
struct Typed<P>(Configuration<P>);

impl<P: Protocol> Typed<P> {
    fn walked(&self, path: &Indices) -> Result<(World<P>, States<P>), PathError> {
        let world = World::new(self.0.protocol.clone());
        let states = walk(&world, path)?;
        Ok((world, states))
    }
}

impl<P: Exported> Subject for Typed<P> {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn tier(&self) -> Tier {
        self.0.tier
    }

    fn reason(&self) -> &'static str {
        self.0.reason
    }

    fn walks(&self) -> Option<Walks> {
        self.0.walks
    }

    fn properties(&self) -> Vec<Property> {
        self.0.protocol.properties().iter().map(Property::of).collect()
    }

    fn label_names(&self) -> &'static [&'static str] {
        self.0.protocol.label_names()
    }

    fn count(&self, order: Order, threads: usize, limits: &Limits, observer: &dyn Observer) -> Counted {
        match self.0.walks {
            Some(taken) => walks::count(&self.0.protocol, taken, limits, observer),
            None => runs::count(&self.0.protocol, order, threads, limits, observer),
        }
    }

    fn shortest(&self, property: usize, limits: &Limits, observer: &dyn Observer) -> Shortest {
        let claim = &self.0.protocol.properties()[property];
        match self.0.walks {
            Some(taken) => walks::shortest(&self.0.protocol, taken, claim, limits, observer),
            None => runs::shortest(&self.0.protocol, claim, limits, observer),
        }
    }

    fn labels(&self, bound: usize, limits: &Limits) -> Labels {
        search::labels(&self.0.protocol, bound, limits)
    }

    fn narrate(&self, path: &Indices) -> Result<Vec<String>, PathError> {
        let (world, states) = self.walked(path)?;
        let steps = states.windows(2).filter_map(|pair| {
            let (before, action) = &pair[0];
            Some(world.protocol.describe_step(before, action.as_ref()?, &pair[1].0))
        });
        Ok(steps.collect())
    }

    fn violated(&self, path: &Indices) -> Result<Vec<Property>, PathError> {
        let (world, states) = self.walked(path)?;
        let last = states.last().map(|(state, _)| state);
        Ok(last.map_or_else(Vec::new, |state| world.violations(state).map(Property::of).collect()))
    }

    fn svg(&self, path: &Indices) -> Result<Option<String>, PathError> {
        let (world, states) = self.walked(path)?;
        Ok(world.protocol.diagram(&states))
    }

    fn mermaid(&self, path: &Indices) -> Result<String, PathError> {
        let (world, states) = self.walked(path)?;
        Ok(diagram::mermaid(&world.protocol, &states))
    }

    fn seek(&self, aims: &[&Aim], limits: &Limits) -> Result<Sought, AimError> {
        goals::seek(&self.0.protocol, aims, limits)
    }

    fn met_at(&self, aim: &Aim, path: &Indices) -> Result<Option<usize>, MissError> {
        goals::met_at(&self.0.protocol, aim, path)
    }

    fn labels_on(&self, path: &Indices) -> Result<Vec<&'static str>, PathError> {
        let names = self.0.protocol.label_names();
        let labels = goals::labels_on(&self.0.protocol, path)?;
        Ok(labels.into_iter().filter_map(|label| names.get(usize::from(label)).copied()).collect())
    }

    fn trace(&self, goal: &Goal, path: &Indices) -> Result<Document, RenderError> {
        let (world, states) = self.walked(path)?;
        let mut document = P::trace(goal, &world, &states).map_err(RenderError::Trace)?;
        let configuration = self.0.name.clone();
        let path = path.to_string();
        let header = header_mut(&mut document);
        header.twin.clone_from(&goal.twin);
        header.origin = match &goal.aim {
            Aim::Violation(property) => {
                Origin::Counterexample { property: (*property).to_owned(), configuration, path }
            }
            Aim::Label(labels) => Origin::Coverage { goal: labels.join(" + "), configuration, path },
        };
        let holds_for = P::holds_for(&document);
        header_mut(&mut document).holds_for = holds_for;
        Ok(document)
    }

    fn twin(&self, goal: &Goal, path: &Indices) -> Result<Document, RenderError> {
        let (world, states) = self.walked(path)?;
        let mut document = P::twin(goal, &world, &states).map_err(RenderError::Trace)?;
        let holds_for = P::holds_for(&document);
        header_mut(&mut document).holds_for = holds_for;
        Ok(document)
    }

    fn simulated(&self, seed: u64, number: u64, depth: usize) -> Result<Document, RenderError> {
        let path = random_path(&self.0.protocol, seed, number, depth);
        let (world, states) = self.walked(&path)?;
        // A name is made of plain words.
        let name = self.0.name.replace('+', "-with-").to_lowercase();
        let id = format!("{name}/seed-{seed}/behaviour-{number}").parse().map_err(RenderError::Trace)?;
        let mut document = P::behaviour(id, &self.0.name, seed, number, &world, &states).map_err(RenderError::Trace)?;
        header_mut(&mut document).origin =
            Origin::Simulation { configuration: self.0.name.clone(), seed, behaviour: number, path: path.to_string() };
        let holds_for = P::holds_for(&document);
        header_mut(&mut document).holds_for = holds_for;
        Ok(document)
    }

    fn spread(&self, worker: &mut Worker, width: Width, live: &Live) -> Result<Explored, Stopped> {
        let mut world = World::new(self.0.protocol.clone());
        let claims = || self.0.protocol.properties().iter();
        // First what must hold always, then the antecedents: each must hold somewhere.
        let hold = claims().map(|claim| Always::always(claim.id, claim.holds));
        let apply = claims().map(|claim| Always::sometimes(claim.id, claim.applies));
        world.properties = hold.chain(apply).collect();
        let control = Arc::clone(&world.control);
        distributed::explore(worker, &world, width, live, || control.ignored.get().cloned())
    }

    fn identity(&self) -> u64 {
        struct First(Vec<u8>, Encoder);
        impl<P: Protocol> Visit<P> for First {
            fn state(&mut self, _: &World<P>, state: &WorldState<P>, _: Number) {
                // A state that can't be encoded makes the search itself fail, with a reason.
                self.0.extend_from_slice(self.1.encode(state).unwrap_or_default());
            }
            fn done(&self) -> bool {
                false
            }
        }
        let ids = self.0.protocol.properties().iter().map(|claim| claim.id).collect::<Vec<_>>();
        let mut first =
            First(format!("{} {:?} {ids:?}", self.0.name, self.0.protocol).into_bytes(), Encoder::default());
        search::search(&World::new(self.0.protocol.clone()), FIRST_STATES, &Limits::default(), &mut first);
        <u64 as Fingerprint>::of(&first.0)
    }

    fn serve(&self, address: SocketAddr) {
        let mut world = World::new(self.0.protocol.clone());
        let claims = self.0.protocol.properties().iter();
        // By their ids alone: longer names would push the state and its diagram, which say it all, below the list.
        world.properties = claims.map(|claim| Always::always(claim.id, claim.holds)).collect();
        world.checker().serve(address);
    }
}

fn header_mut(document: &mut Document) -> &mut Header {
    match document {
        Document::Fencing(trace) => &mut trace.header,
        Document::Compaction(trace) => &mut trace.header,
        Document::Replication(trace) => &mut trace.header,
        Document::Consumer(trace) => &mut trace.header,
    }
}

/// A protocol with its configurations, in the order of the report.
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Its configurations.
    pub subjects: Vec<Arc<dyn Subject>>,
    /// The goals of the exporter.
    pub goals: Vec<Goal>,
    /// The errors that its requests can be refused with.
    pub errors: &'static [KafkaError],
    /// Why no trace has a label, or names an error, where that is meant.
    pub unreached: fn(&str) -> Option<&'static str>,
}

impl Entry {
    /// The configuration of this name.
    #[must_use]
    pub fn subject(&self, name: &str) -> Option<&Arc<dyn Subject>> {
        self.subjects.iter().find(|subject| subject.name() == name)
    }
}

/// What there is to run.
#[derive(Default)]
pub struct Registry {
    /// The protocols, in the order of the report.
    pub protocols: Vec<Entry>,
}

impl Registry {
    /// Everything that fencepost models.
    #[must_use]
    pub fn shipped() -> Self {
        Self::default()
            .with::<Fencing>()
            .with::<Compaction>()
            .with::<Replication>()
            .with::<Consumer>()
            .with::<Tla<tla::variants::Replication>>()
            .with::<Tla<AsyncIsr>>()
    }

    /// Adds a protocol.
    #[must_use]
    pub fn with<P: Exported>(mut self) -> Self {
        let subjects = P::configurations().into_iter().map(|configuration| {
            let subject: Arc<dyn Subject> = Arc::new(Typed(configuration));
            subject
        });
        self.protocols.push(Entry {
            name: P::NAME,
            subjects: subjects.collect(),
            goals: P::goals(),
            errors: P::errors(),
            unreached: P::unreached,
        });
        self
    }

    /// Every configuration.
    pub fn subjects(&self) -> impl Iterator<Item = &Arc<dyn Subject>> {
        self.protocols.iter().flat_map(|entry| &entry.subjects)
    }

    /// The configuration of this name.
    pub fn find(&self, name: &str) -> Result<&Arc<dyn Subject>, UnknownName> {
        self.subjects().find(|subject| subject.name() == name).ok_or_else(|| {
            UnknownName::new("configuration", name, self.subjects().map(|subject| subject.name().to_owned()))
        })
    }

    /// The configurations that match one of the globs, or all where there is none. A glob that matches nothing is an
    /// error.
    pub fn select(&self, globs: &[String]) -> Result<Vec<Arc<dyn Subject>>, UnknownName> {
        for glob in globs {
            if !self.subjects().any(|subject| matches(glob, subject.name())) {
                let names = self.subjects().map(|subject| subject.name().to_owned());
                return Err(UnknownName::new("configuration", glob, names));
            }
        }
        let chosen = |name: &str| globs.is_empty() || globs.iter().any(|glob| matches(glob, name));
        Ok(self.subjects().filter(|subject| chosen(subject.name())).cloned().collect())
    }
}

/// A name that nothing has, with the nearest that something has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} `{name}`{}", nearest_text(nearest))]
pub struct UnknownName {
    /// What kind of thing was looked for.
    pub what: &'static str,
    /// The name as it was given.
    pub name: String,
    /// Names that are similar, the most similar first.
    pub nearest: Vec<String>,
}

fn nearest_text(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(", or ")) }
}

impl UnknownName {
    /// Looks for names that are like `name`.
    pub fn new(what: &'static str, name: &str, known: impl Iterator<Item = String>) -> Self {
        let mut scored: Vec<(f64, String)> = known
            .map(|candidate| {
                let like = normalized_damerau_levenshtein(name, &candidate);
                // Half a name is a good hint, however much is missing.
                let part = !name.is_empty() && candidate.contains(name.trim_matches(['*', '/']));
                (if part { like + 1.0 } else { like }, candidate)
            })
            .filter(|(score, _)| *score > 0.4)
            .collect();
        scored.sort_by(|(left, a), (right, b)| right.total_cmp(left).then_with(|| a.cmp(b)));
        Self { what, name: name.to_owned(), nearest: scored.into_iter().take(3).map(|(_, name)| name).collect() }
    }
}

/// Whether a name matches a glob: `*` stands for any characters, `/` among them, `?` for one. A glob that is the
/// beginning of the name, up to a `/`, matches as well.
#[must_use]
pub fn matches(glob: &str, name: &str) -> bool {
    fn whole(glob: &[u8], name: &[u8]) -> bool {
        // The classic two-pointer match: on a mismatch, the last `*` swallows one more character.
        let (mut at, mut from, mut star) = (0, 0, None);
        while from < name.len() {
            if at < glob.len() && glob[at] == b'*' {
                star = Some((at, from));
                at += 1;
            } else if at < glob.len() && (glob[at] == b'?' || glob[at] == name[from]) {
                at += 1;
                from += 1;
            } else if let Some((starred, swallowed)) = star {
                star = Some((starred, swallowed + 1));
                at = starred + 1;
                from = swallowed + 1;
            } else {
                return false;
            }
        }
        glob[at..].iter().all(|byte| *byte == b'*')
    }
    let beginning = name.strip_prefix(glob.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'));
    beginning || whole(glob.as_bytes(), name.as_bytes())
}
