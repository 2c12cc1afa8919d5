//! After the search: the sums over all workers, and the paths to what was found.
//!
//! A path is rebuilt from its end: the owner of a state knows the state's parent, and hands the question on to the
//! parent's owner. What comes out is a list of fingerprints, and the model replays it: of the actions that lead to a
//! state of the next fingerprint, it takes the first. The choice among several finds and several parents is by the
//! smallest fingerprint, so the path is the same for any number of workers.

use std::cell::RefCell;
use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stateright::{Expectation, Model};
use timely::ExchangeData;
use timely::dataflow::operators::vec::{Broadcast, Filter, Map, ToStream};
use timely::dataflow::operators::{Concat, ConnectLoop, Exchange, Feedback, Inspect, Probe};
use timely::worker::Worker;

use crate::limits::resident_bytes;
use crate::path::Indices;

use super::explore::{Owned, step};
use super::fingerprint::{Encoder, Fingerprint};
use super::live::{Live, Stopped};

/// What one worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The worker, counted over all processes.
    pub worker: usize,
    /// Its process.
    pub process: usize,
    /// How many states it owns.
    pub unique: u64,
    /// How many states it made.
    pub generated: u64,
    /// The memory of its process at the end of the run, in bytes.
    pub memory_bytes: u64,
}

/// The first find of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct First {
    /// After how many steps.
    pub depth: u32,
    /// The path to it; of a violation only.
    pub path: Option<Indices>,
}

/// What a run found, equal for every worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// What each worker did.
    pub shares: Vec<Share>,
    /// The depth of the deepest state, in steps.
    pub depth: u32,
    /// The first find of each of the model's properties.
    pub first: Vec<Option<First>>,
    /// What a worker had to remark; see `settle`.
    pub remark: Option<String>,
}

impl Explored {
    /// How many states there are.
    #[must_use]
    pub fn unique(&self) -> u64 {
        self.shares.iter().map(|share| share.unique).sum()
    }

    /// How many states were made.
    #[must_use]
    pub fn generated(&self) -> u64 {
        self.shares.iter().map(|share| share.generated).sum()
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Sum<F> {
    share: Share,
    depth: u32,
    first: Vec<Option<(u32, F)>>,
    remark: Option<String>,
}

/// A path that is being rebuilt: which find it is for, and the fingerprints so far, the last state first.
#[derive(Clone, Serialize, Deserialize)]
struct Chain<F> {
    property: usize,
    fingerprints: Vec<F>,
    begins: bool,
}

/// Sums up what the workers found, and rebuilds the paths. `remark` is asked at the end; of several remarks, that of the
/// first worker counts.
pub(super) fn settle<M, F>(
    worker: &mut Worker,
    model: &M,
    owned: Owned<F>,
    remark: Option<String>,
    live: &Live,
) -> Result<Explored, Stopped>
where
    M: Model,
    M::State: Serialize + DeserializeOwned,
    F: Fingerprint,
{
    let share = Share {
        worker: worker.index(),
        process: live.process_of(worker),
        unique: owned.known.unique(),
        generated: owned.generated,
        memory_bytes: resident_bytes().unwrap_or(0),
    };
    let sum = Sum { share, depth: owned.known.deepest(), first: owned.first.clone(), remark };
    let mut sums = gather(worker, sum, live)?;
    sums.sort_by_key(|sum| sum.share.worker);
    let properties = model.properties();
    let mut finds: Vec<Option<(u32, F)>> = vec![None; properties.len()];
    for sum in &sums {
        for (find, other) in finds.iter_mut().zip(&sum.first) {
            *find = find.iter().chain(other).min().copied();
        }
    }
    let wanted = finds.iter().zip(&properties).enumerate().filter_map(|(property, (find, declared))| {
        let (_, last) = find.filter(|_| declared.expectation == Expectation::Always)?;
        Some(Chain { property, fingerprints: vec![last], begins: false })
    });
    let chains = rebuild(worker, &wanted.collect::<Vec<_>>(), owned, live)?;
    let mut first: Vec<Option<First>> =
        finds.iter().map(|find| find.map(|(depth, _)| First { depth, path: None })).collect();
    for Chain { property, fingerprints, .. } in chains {
        let path = replay(model, &fingerprints).map_err(|why| live.broken(why))?;
        if let Some(Some(first)) = first.get_mut(property) {
            first.path = Some(path);
        }
    }
    Ok(Explored {
        depth: sums.iter().map(|sum| sum.depth).max().unwrap_or(0),
        remark: sums.iter().find_map(|sum| sum.remark.clone()),
        shares: sums.into_iter().map(|sum| sum.share).collect(),
        first,
    })
}

/// Everything that every worker has to say, at every worker.
fn gather<D: ExchangeData + Clone>(worker: &mut Worker, said: D, live: &Live) -> Result<Vec<D>, Stopped> {
    let heard = Rc::new(RefCell::new(Vec::new()));
    let ear = Rc::clone(&heard);
    let probe = worker.dataflow::<u32, _, _>(move |scope| {
        let said = Some(said).to_stream(scope).broadcast().inspect(move |said| ear.borrow_mut().push(said.clone()));
        said.probe().0
    });
    while !probe.done() {
        step(worker, live)?;
    }
    Ok(heard.take())
}

/// Follows the parents from owner to owner. Every worker has the same `wanted`, and gets all that came of it.
fn rebuild<F: Fingerprint>(
    worker: &mut Worker,
    wanted: &[Chain<F>],
    owned: Owned<F>,
    live: &Live,
) -> Result<Vec<Chain<F>>, Stopped> {
    // One worker asks, the others know that it does.
    let asked = if worker.index() == 0 { wanted.to_vec() } else { Vec::new() };
    let whole = Rc::new(RefCell::new(Vec::new()));
    let stranger = Rc::new(RefCell::new(None));
    let (ear, mark) = (Rc::clone(&whole), Rc::clone(&stranger));
    let probe = worker.dataflow::<u32, _, _>(move |scope| {
        let (handle, again) = scope.feedback::<Vec<Chain<F>>>(1);
        let at_owner = asked
            .to_stream(scope)
            .concat(again)
            .exchange(|chain: &Chain<F>| chain.fingerprints.last().map_or(0, |last| last.bits()));
        let longer = at_owner.flat_map(move |mut chain| {
            let last = chain.fingerprints.last().copied();
            match last.and_then(|last| owned.known.parent(last)) {
                Some((_, 0)) => chain.begins = true,
                Some((parent, _)) => chain.fingerprints.push(parent),
                None => {
                    *mark.borrow_mut() = last;
                    return None;
                }
            }
            Some(chain)
        });
        longer.clone().filter(|chain| !chain.begins).connect_loop(handle);
        let whole = longer.filter(|chain| chain.begins).broadcast();
        whole.inspect(move |chain| ear.borrow_mut().push(chain.clone())).probe().0
    });
    while !probe.done() {
        step(worker, live)?;
    }
    if let Some(stranger) = stranger.take() {
        return Err(live.broken(format!("the owner of the state {stranger:?} does not know it")));
    }
    Ok(whole.take())
}

/// Finds the actions that lead along fingerprints, the last state first.
fn replay<M, F>(model: &M, fingerprints: &[F]) -> Result<Indices, String>
where
    M: Model,
    M::State: Serialize,
    F: Fingerprint,
{
    let mut encoder = Encoder::default();
    let mut along = fingerprints.iter().rev();
    let mut named = |state: &M::State, wanted: &F| Ok::<_, String>(F::of(encoder.encode(state)?) == *wanted);
    let lost = |step: usize| format!("the model does not follow a path that it was found by, at step {step}");
    let start = along.next().ok_or_else(|| lost(0))?;
    let mut at = None;
    for (index, state) in model.init_states().into_iter().enumerate() {
        if named(&state, start)? {
            at = Some((index, state));
            break;
        }
    }
    let (index, mut state) = at.ok_or_else(|| lost(0))?;
    let mut path = vec![index];
    let mut actions = Vec::new();
    for (step, wanted) in along.enumerate() {
        actions.clear();
        model.actions(&state, &mut actions);
        let mut next = None;
        for (index, action) in actions.drain(..).enumerate() {
            if let Some(reached) = model.next_state(&state, action)
                && named(&reached, wanted)?
            {
                next = Some((index, reached));
                break;
            }
        }
        let (index, reached) = next.ok_or_else(|| lost(step + 1))?;
        path.push(index);
        state = reached;
    }
    Ok(Indices(path))
}
