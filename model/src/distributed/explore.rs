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
//! A state that the worker who made it owns does not go round the loop; it is taken in where it is made, with a hold on
//! its depth. So one worker alone sends nothing.
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
use stateright::Model;
use timely::container::{CapacityContainerBuilder, DrainContainer};
use timely::dataflow::channels::pact::ExchangeCore;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::{Capability, ConnectLoop, Feedback, Probe};
use timely::worker::Worker;

use super::expand::{Expand, Expander, Find};
use super::fingerprint::Fingerprint;
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
    /// The states that it owns.
    pub known: Known<F>,
    /// How many states it made.
    pub generated: u64,
    /// The first find of each property, of those that this worker made.
    pub first: Vec<Find<F>>,
}

struct Explorer<F: Fingerprint> {
    expander: Box<dyn Expand<F>>,
    owned: Owned<F>,
    /// This worker, and how many there are.
    index: u64,
    peers: u64,
    /// Why it can't go on.
    broken: Option<String>,
}

impl<F: Fingerprint> Explorer<F> {
    fn new(expander: Box<dyn Expand<F>>, worker: &Worker) -> Self {
        let first = vec![None; expander.properties()];
        let owned = Owned { known: Known::default(), generated: 0, first };
        Self { expander, owned, index: worker.index() as u64, peers: worker.peers() as u64, broken: None }
    }

    /// The initial states that this worker owns.
    fn start(&mut self) -> Waiting<F> {
        let mut waiting = Waiting::default();
        let Self { owned, index, peers, .. } = self;
        let started = self.expander.start(&mut |fingerprint, encoded| {
            if fingerprint.bits() % *peers == *index {
                owned.generated += 1;
                if owned.known.insert(fingerprint, fingerprint, 0) {
                    waiting.push(fingerprint, encoded);
                }
            }
        });
        self.broken = started.err();
        waiting
    }

    /// Expands some states of a depth. What they lead to is put with what waits one step deeper, or given away.
    fn expand(
        &mut self,
        depth: u32,
        waiting: &mut Waiting<F>,
        deeper: &mut Waiting<F>,
        give: &mut dyn FnMut(Record<'_, F>),
    ) {
        let Self { expander, owned: Owned { known, generated, first }, index, peers, .. } = self;
        for _ in 0..CHUNK * usize::try_from(*peers).unwrap_or(1) {
            let Some((fingerprint, encoded)) = waiting.pop() else { break };
            let made = expander.expand(encoded, (depth, fingerprint), first, &mut |record| {
                if record.fingerprint.bits() % *peers != *index {
                    give(record);
                } else if known.insert(record.fingerprint, record.parent, depth + 1) {
                    deeper.push(record.fingerprint, record.encoded);
                }
            });
            match made {
                Ok(made) if made > 0 && depth >= DEEPEST => {
                    self.broken = Some(format!("a state is more than {DEEPEST} steps from the start"));
                    break;
                }
                Ok(made) => *generated += made,
                Err(broken) => {
                    self.broken = Some(broken);
                    break;
                }
            }
        }
    }
}

/// Exhausts the states of a model, together with all other workers.
pub(super) fn explore<M, F>(worker: &mut Worker, model: M, live: &Live) -> Result<Owned<F>, Stopped>
where
    M: Model + 'static,
    M::State: Serialize + DeserializeOwned,
    F: Fingerprint,
{
    run(worker, Box::new(Expander::new(model)), live)
}

fn run<F: Fingerprint>(worker: &mut Worker, expander: Box<dyn Expand<F>>, live: &Live) -> Result<Owned<F>, Stopped> {
    let explorer = Rc::new(RefCell::new(Explorer::new(expander, worker)));
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
                let mut levels: BTreeMap<u32, (Capability<u32>, Waiting<F>)> = BTreeMap::new();
                let start = inside.borrow_mut().start();
                if !start.is_empty() {
                    levels.insert(0, (capability, start));
                }
                move |(input, frontier), output| {
                    let mut explorer = inside.borrow_mut();
                    input.for_each(|capability, records| {
                        let Some(depth) = capability.least().copied() else { return };
                        let mut level = levels.remove(&depth);
                        for Record { fingerprint, parent, encoded } in records.drain() {
                            if explorer.owned.known.insert(fingerprint, parent, depth) {
                                let (_, waiting) = level.get_or_insert_with(|| {
                                    (capability.delayed(&depth, output.output_index()), Waiting::default())
                                });
                                waiting.push(fingerprint, encoded);
                            }
                        }
                        levels.extend(level.map(|level| (depth, level)));
                    });
                    if let Some(level) = levels.first_entry()
                        && !frontier.less_equal(level.key())
                    {
                        let (depth, (capability, mut waiting)) = level.remove_entry();
                        let deeper = levels.remove(&(depth + 1));
                        let (hold, mut deeper) =
                            deeper.unwrap_or_else(|| (capability.delayed(&(depth + 1)), Waiting::default()));
                        let mut session = output.session(&capability);
                        explorer.expand(depth, &mut waiting, &mut deeper, &mut |record| session.give(record));
                        drop(session);
                        if !deeper.is_empty() {
                            levels.insert(depth + 1, (hold, deeper));
                        }
                        if !waiting.is_empty() {
                            levels.insert(depth, (capability, waiting));
                            again.activate();
                        }
                    }
                    let Owned { known, generated, .. } = &explorer.owned;
                    counters.set(known.unique(), *generated, known.deepest());
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
