//! The exhaustive check on several threads and several machines, on the dataflow engine `timely`.
//!
//! One generic module over a Stateright `Model` whose states have serde: it knows no protocol. A state goes, encoded
//! once, to the worker that owns its fingerprint; it is dropped there if it is known, and expanded when every state of
//! its depth has arrived. So the numbers of states are those of the local search, the depths are exact, and the first
//! violation of every property is a shortest one, all in the same run. How to run it: `docs/distributed.md`.
//!
//! | module | subject |
//! |---|---|
//! | [`fingerprint`] | what a state is known by, on every machine |
//! | `records` | states on their way: a container of bytes |
//! | `known` | the states that a worker owns, with their parents |
//! | `waiting` | the states of a depth that wait for their expansion |
//! | `expand` | a model, as the dataflow sees it |
//! | `explore` | the dataflow |
//! | [`settle`] | sums and paths, after the search |
//! | [`live`] | what workers show while they run, and how they are stopped |
//! | [`hosts`] | the hosts file |
//! | [`meet`] | how processes meet, and refuse each other |
//! | `link` | that a peer lives, how far it is, why it ends |
//! | [`team`] | a run, on all workers of all processes |
//! | `threads` | the workers of this process |
//! | [`watch`] | the watch over them and over the peers |

pub mod fingerprint;
pub mod hosts;
pub mod live;
pub mod meet;
pub mod settle;
pub mod team;
pub mod watch;

mod expand;
mod explore;
mod known;
mod link;
mod records;
mod threads;
mod waiting;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateright::Model;
use timely::worker::Worker;

use fingerprint::Width;
use live::{Live, Stopped};
use settle::Explored;

/// A worker's part in the exploration of a model. `remark` is asked when the search is over.
pub fn explore<M>(
    worker: &mut Worker,
    model: &M,
    width: Width,
    live: &Live,
    remark: impl FnOnce() -> Option<String>,
) -> Result<Explored, Stopped>
where
    M: Model + Clone + 'static,
    M::State: Serialize + DeserializeOwned,
{
    match width {
        Width::Short => {
            let owned = explore::explore::<M, u64>(worker, model.clone(), live)?;
            settle::settle(worker, model, owned, remark(), live)
        }
        Width::Exact => {
            let owned = explore::explore::<M, u128>(worker, model.clone(), live)?;
            settle::settle(worker, model, owned, remark(), live)
        }
    }
}
