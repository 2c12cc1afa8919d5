//! The dataflow: one operator in a loop, whose times are depths.
//!
//! ```text
//!              +--------------------------------------------------------------+
//!              |                                                              |
//!              v                                                              |
//!   by fingerprint to the owner --> known? dropped : it waits --> expanded when the
//!              ^                                                  frontier has passed its depth
//!              |                                                              |
//!              +----------------------- one step deeper ----------------------+
//! ```
//!
//! The frontier passes a depth when every record of that depth has been taken in, by whichever worker. So a state is
//! known by its smallest depth, and all its possible parents have been seen. Expansion goes in chunks, and the operator
//! gives way between them: what has arrived meanwhile is taken in before more is sent.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateright::{Expectation, Model, Property};
use timely::container::{CapacityContainerBuilder, DrainContainer};
use timely::dataflow::channels::pact::ExchangeCore;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::{Capability, ConnectLoop, Feedback, Probe};
use timely::worker::Worker;

use super::fingerprint::{Fingerprint, decode, encode, fingerprint};
use super::known::{DEEPEST, Known};
use super::live::{Live, Stopped};
use super::records::{Record, Records};
use super::waiting::Waiting;

/// How many states are expanded before the operator gives way, for each worker there is: enough to fill a container for
/// each of them.
const CHUNK: usize = 256;

/// How long a worker sleeps that has nothing to do, before it looks whether it has to stop.
const NAP: Duration = Duration::from_millis(20);

/// What one worker has of the state space.
pub(super) struct Owned<F: Fingerprint> {
    pub known: Known<F>,
    /// How many states it owns.
    pub unique: u64,
    /// How many states it made.
    pub generated: u64,
    /// The depth of its deepest state, in steps.
    pub depth: u32,
    /// The first find of each property, of those that this worker made: the least depth, and at that depth the smallest
    /// fingerprint. Of a property that should always hold, a violation; of one that should hold somewhere, an example.
    pub first: Vec<Option<(u32, F)>>,
}

/// A model, as the dataflow sees it: encoded states in, encoded states out. Behind a pointer, so that the dataflow is
/// compiled once for all models.
trait Expand<F: Fingerprint> {
    /// How many properties it has.
    fn properties(&self) -> usize;
    /// Makes the initial states.
    fn start(&mut self, give: &mut dyn FnMut(F, &[u8])) -> Result<(), String>;
    /// Makes every state one step further than an encoded one, and looks at the properties of that one. Returns how many
    /// it made.
    fn expand(
        &mut self,
        encoded: &[u8],
        depth: u32,
        first: &mut [Option<(u32, F)>],
        give: &mut dyn FnMut(Record<'_, F>),
    ) -> Result<u64, String>;
}

struct Expander<M: Model> {
    model: M,
    properties: Vec<Property<M>>,
    actions: Vec<M::Action>,
    encoded: Vec<u8>,
}

impl<M, F> Expand<F> for Expander<M>
where
    M: Model,
    M::State: Serialize + DeserializeOwned,
    F: Fingerprint,
{
    fn properties(&self) -> usize {
        self.properties.len()
    }

    fn start(&mut self, give: &mut dyn FnMut(F, &[u8])) -> Result<(), String> {
        for state in self.model.init_states() {
            if self.model.within_boundary(&state) {
                let fingerprint = fingerprint(&state, &mut self.encoded)?;
                give(fingerprint, &self.encoded);
            }
        }
        Ok(())
    }

    fn expand(
        &mut self,
        encoded: &[u8],
        depth: u32,
        first: &mut [Option<(u32, F)>],
        give: &mut dyn FnMut(Record<'_, F>),
    ) -> Result<u64, String> {
        let state: M::State = decode(encoded)?;
        let parent = F::of(encoded);
        look(&self.model, &self.properties, &state, (depth, parent), first);
        self.actions.clear();
        self.model.actions(&state, &mut self.actions);
        let mut generated = 0;
        for action in self.actions.drain(..) {
            let Some(next) = self.model.next_state(&state, action) else { continue };
            if !self.model.within_boundary(&next) {
                continue;
            }
            generated += 1;
            self.encoded.clear();
            encode(&next, &mut self.encoded)?;
            give(Record { fingerprint: F::of(&self.encoded), parent, encoded: &self.encoded });
        }
        Ok(generated)
    }
}

/// Looks at a state's properties, but for those that were found nearer to the start.
fn look<M: Model, F: Fingerprint>(
    model: &M,
    properties: &[Property<M>],
    state: &M::State,
    here: (u32, F),
    first: &mut [Option<(u32, F)>],
) {
    for (property, first) in properties.iter().zip(first) {
        if first.is_some_and(|first| first <= here) {
            continue;
        }
        let found = match property.expectation {
            Expectation::Always => !(property.condition)(model, state),
            Expectation::Sometimes => (property.condition)(model, state),
            // Not decided by looking at states one by one; see `docs/architecture.md`.
            Expectation::Eventually => false,
        };
        if found {
            *first = Some(here);
        }
    }
}

struct Explorer<F: Fingerprint> {
    expander: Box<dyn Expand<F>>,
    owned: Owned<F>,
    /// Why it can't go on.
    broken: Option<String>,
}

impl<F: Fingerprint> Explorer<F> {
    fn new(expander: Box<dyn Expand<F>>) -> Self {
        let first = vec![None; expander.properties()];
        let owned = Owned { known: Known::default(), unique: 0, generated: 0, depth: 0, first };
        Self { expander, owned, broken: None }
    }

    /// The initial states that this worker owns.
    fn start(&mut self, index: u64, peers: u64) -> Waiting {
        let mut waiting = Waiting::default();
        let owned = &mut self.owned;
        let started = self.expander.start(&mut |fingerprint, encoded| {
            if fingerprint.bits() % peers == index {
                owned.generated += 1;
                if owned.arrive(fingerprint, fingerprint, 0) {
                    waiting.push(encoded);
                }
            }
        });
        self.broken = started.err();
        waiting
    }

    fn expand(&mut self, encoded: &[u8], depth: u32, give: &mut dyn FnMut(Record<'_, F>)) -> bool {
        match self.expander.expand(encoded, depth, &mut self.owned.first, give) {
            Ok(generated) => self.owned.generated += generated,
            Err(broken) => self.broken = Some(broken),
        }
        self.broken.is_none()
    }
}

impl<F: Fingerprint> Owned<F> {
    /// Takes in a state. Returns whether it is new.
    fn arrive(&mut self, fingerprint: F, parent: F, depth: u32) -> bool {
        let new = self.known.insert(fingerprint, parent, depth);
        if new {
            self.unique += 1;
            self.depth = self.depth.max(depth);
        }
        new
    }
}

/// Exhausts the states of a model, together with all other workers.
pub(super) fn explore<M, F>(worker: &mut Worker, model: M, live: &Live) -> Result<Owned<F>, Stopped>
where
    M: Model + 'static,
    M::State: Serialize + DeserializeOwned,
    F: Fingerprint,
{
    let properties = model.properties();
    run(worker, Box::new(Expander { model, properties, actions: Vec::new(), encoded: Vec::new() }), live)
}

fn run<F: Fingerprint>(worker: &mut Worker, expander: Box<dyn Expand<F>>, live: &Live) -> Result<Owned<F>, Stopped> {
    let (index, peers) = (worker.index() as u64, worker.peers());
    let explorer = Rc::new(RefCell::new(Explorer::new(expander)));
    let counters = live.counters(worker);
    let inside = Rc::clone(&explorer);
    let probe = worker.dataflow::<u32, _, _>(|scope| {
        let (handle, arrivals) = scope.feedback::<Records<F>>(1);
        let to_owner = ExchangeCore::<CapacityContainerBuilder<Records<F>>, _>::new_core(|record: &Record<'_, F>| {
            record.fingerprint.bits()
        });
        let steps = arrivals.unary_frontier::<CapacityContainerBuilder<Records<F>>, _, _, _>(
            to_owner,
            "own and expand",
            |capability, info| {
                let again = scope.activator_for(info.address);
                // What waits, by depth: seldom more than the depth that is expanded and the next.
                let mut levels: BTreeMap<u32, (Capability<u32>, Waiting)> = BTreeMap::new();
                let start = inside.borrow_mut().start(index, peers as u64);
                if !start.is_empty() {
                    levels.insert(0, (capability, start));
                }
                move |(input, frontier), output| {
                    let mut explorer = inside.borrow_mut();
                    input.for_each(|capability, records| {
                        let Some(depth) = capability.least().copied() else { return };
                        if depth > DEEPEST {
                            explorer.broken = Some(format!("a state is more than {DEEPEST} steps from the start"));
                            return;
                        }
                        for Record { fingerprint, parent, encoded } in records.drain() {
                            if explorer.owned.arrive(fingerprint, parent, depth) {
                                if let Some((_, waiting)) = levels.get_mut(&depth) {
                                    waiting.push(encoded);
                                } else if let Some(capability) = capability.retain_least(output.output_index()) {
                                    let mut waiting = Waiting::default();
                                    waiting.push(encoded);
                                    levels.insert(depth, (capability, waiting));
                                }
                            }
                        }
                    });
                    if let Some(mut level) = levels.first_entry()
                        && !frontier.less_equal(level.key())
                    {
                        let depth = *level.key();
                        let (capability, waiting) = level.get_mut();
                        let mut session = output.session(&*capability);
                        for _ in 0..CHUNK * peers {
                            let Some(encoded) = waiting.pop() else { break };
                            if !explorer.expand(encoded, depth, &mut |record| session.give(record)) {
                                break;
                            }
                        }
                        drop(session);
                        if waiting.is_empty() {
                            level.remove();
                        } else {
                            again.activate();
                        }
                    }
                    counters.set(explorer.owned.unique, explorer.owned.generated, explorer.owned.depth);
                }
            },
        );
        let (probe, steps) = steps.probe();
        steps.connect_loop(handle);
        probe
    });
    while !probe.done() {
        step(worker, live)?;
        if let Some(broken) = explorer.borrow_mut().broken.take() {
            return Err(live.broken(broken));
        }
    }
    // The dataflow is over, and with it its hold of the explorer, as soon as the worker has looked at it once more.
    while Rc::strong_count(&explorer) > 1 && worker.has_dataflows() {
        step(worker, live)?;
    }
    match Rc::try_unwrap(explorer) {
        Ok(explorer) => Ok(explorer.into_inner().owned),
        Err(_) => Err(live.broken("a dataflow that is over did not go".to_owned())),
    }
}

/// One turn of a worker, unless it has to stop.
pub(super) fn step(worker: &mut Worker, live: &Live) -> Result<(), Stopped> {
    worker.step_or_park(Some(NAP));
    live.check()
}
