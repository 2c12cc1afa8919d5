//! A path as a list of indices: the first names an initial state, each further one an action of the state before it.
//!
//! The order of actions is stable, so `0/0/3` is a name for a behaviour: it stands in a trace's header and in the
//! explorer's address. A path that comes from a file may not fit the model any more; that is an error here, and never a
//! panic (Stateright's own walk panics).

use std::fmt;
use std::str::FromStr;

use stateright::Model;

use crate::protocol::Protocol;
use crate::world::{ActionOf, World, WorldState};

/// A path of indices. Written `0/0/3`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Indices(pub Vec<usize>);

/// The longest path that is read, in steps; more is a broken file.
const LIMIT: usize = 100_000;

impl Indices {
    /// The number of steps: the indices without that of the initial state.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// Whether `other` begins with this path.
    #[must_use]
    pub fn is_prefix_of(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl fmt::Display for Indices {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, index) in self.0.iter().enumerate() {
            if number > 0 {
                formatter.write_str("/")?;
            }
            write!(formatter, "{index}")?;
        }
        Ok(())
    }
}

impl FromStr for Indices {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let unreadable = || PathError::Unreadable(text.chars().take(60).collect());
        let indices: Vec<usize> =
            text.split('/').take(LIMIT + 2).map(str::parse).collect::<Result<_, _>>().map_err(|_| unreadable())?;
        if indices.len() > LIMIT + 1 { Err(unreadable()) } else { Ok(Self(indices)) }
    }
}

/// Why a path is none of the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Not a list of numbers.
    #[error("`{0}` is not a path; write indices, as in 0/0/3")]
    Unreadable(String),
    /// There is no such initial state.
    #[error("the path begins in initial state {0}, and the model has only initial state 0")]
    Start(usize),
    /// There is no such action.
    #[error("step {step} takes action {index}, but there are only {actions} (numbered from 0) in that state")]
    NoAction {
        /// The step, from 1.
        step: usize,
        /// The action's index in the path.
        index: usize,
        /// How many actions the state has.
        actions: usize,
    },
}

/// A path with its states: each with the action that is taken from it, the last with none.
pub type States<P> = Vec<(WorldState<P>, Option<ActionOf<P>>)>;

/// Follows a path.
pub fn walk<P: Protocol>(world: &World<P>, path: &Indices) -> Result<States<P>, PathError> {
    let mut indices = path.0.iter().copied();
    let start = indices.next().ok_or_else(|| PathError::Unreadable(String::new()))?;
    let mut state = world.init_states().into_iter().nth(start).ok_or(PathError::Start(start))?;
    let mut walked = Vec::with_capacity(path.0.len());
    let mut actions = Vec::new();
    for (number, index) in indices.enumerate() {
        actions.clear();
        world.actions(&state, &mut actions);
        let next = actions.get(index).and_then(|action| Some((*action, world.next_state(&state, *action)?)));
        let Some((action, next)) = next else {
            return Err(PathError::NoAction { step: number + 1, index, actions: actions.len() });
        };
        walked.push((state, Some(action)));
        state = next;
    }
    walked.push((state, None));
    Ok(walked)
}
