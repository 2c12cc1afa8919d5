//! A breadth-first pass of our own, for what Stateright's checker does not show: every step, with its labels.
//!
//! The checker keeps no edges, and a visitor of it sees one path to each state. This pass calls `actions` and
//! `next_state` itself, so it sees every transition once, in order of depth. It keeps a fingerprint, the parent and the
//! index of the action for each state (about 20 bytes), and the states of the frontier only.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use nohash_hasher::NoHashHasher;
use stateright::Model;

use crate::limits::{Cut, Limits};
use crate::path::Indices;
use crate::protocol::Protocol;
use crate::world::{ActionOf, World, WorldState};

/// A state by its number in the order of discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(u32);

/// What is done at each state and each step.
pub trait Visit<P: Protocol> {
    /// A state is met for the first time.
    fn state(&mut self, world: &World<P>, state: &WorldState<P>, number: Number) {
        let _ = (world, state, number);
    }
    /// A step is taken: the action with this index, from the state with this number.
    fn step(
        &mut self,
        world: &World<P>,
        step: (&WorldState<P>, &ActionOf<P>, &WorldState<P>),
        number: Number,
        index: u16,
    ) {
        let _ = (world, step, number, index);
    }
    /// Whether enough was seen.
    fn done(&self) -> bool;
}

/// How each state was reached.
#[derive(Debug, Default)]
pub struct Tree {
    parents: Vec<(u32, u16)>,
}

impl Tree {
    /// The shortest path to a state.
    #[must_use]
    pub fn path(&self, number: Number) -> Indices {
        let mut reversed = Vec::new();
        let mut at = number.0;
        while let Some((parent, index)) = self.parents.get(at as usize) {
            reversed.push(usize::from(*index));
            if *parent == u32::MAX {
                break;
            }
            at = *parent;
        }
        reversed.reverse();
        Indices(reversed)
    }

    /// The shortest path to a state, and one step further.
    #[must_use]
    pub fn path_and(&self, number: Number, index: u16) -> Indices {
        let mut path = self.path(number);
        path.0.push(usize::from(index));
        path
    }

    /// The number of states.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Whether there is no state at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }
}

/// How a pass ended.
#[derive(Debug)]
pub struct Searched {
    /// How each state was reached.
    pub tree: Tree,
    /// Whether every state that can be reached was expanded.
    pub exhausted: bool,
    /// The limit that ended the pass, if one did. A pass that ended because enough was seen, or at its own bound on
    /// states, was not cut.
    pub cut: Option<Cut>,
}

/// Every how many states the limits are looked at.
const BLOCK: usize = 4096;

/// Goes through the states in order of depth, at most `bound` of them.
pub fn search<P: Protocol>(world: &World<P>, bound: usize, limits: &Limits, visit: &mut impl Visit<P>) -> Searched {
    let hasher = ahash::RandomState::with_seeds(0x6665_6e63, 0x6570_6f73, 0x745f_6d6f, 0x6465_6c73);
    let mut seen = HashSet::<u64, BuildHasherDefault<NoHashHasher<u64>>>::default();
    let mut tree = Tree::default();
    let bound = bound.min(u32::MAX as usize - 1);
    let mut level = Vec::new();
    for (index, state) in world.init_states().into_iter().enumerate() {
        if seen.insert(hasher.hash_one(&state)) {
            let number = Number(tree_number(&tree));
            tree.parents.push((u32::MAX, u16::try_from(index).unwrap_or(u16::MAX)));
            visit.state(world, &state, number);
            level.push((state, number));
        }
    }
    let mut actions = Vec::new();
    let mut expanded = 0_usize;
    while !level.is_empty() {
        let mut next_level = Vec::new();
        for (state, number) in level {
            if visit.done() || tree.len() >= bound {
                return Searched { tree, exhausted: false, cut: None };
            }
            expanded += 1;
            if expanded.is_multiple_of(BLOCK)
                && let Some(cut) = limits.reached(tree.len() as u64)
            {
                return Searched { tree, exhausted: false, cut: Some(cut) };
            }
            actions.clear();
            world.actions(&state, &mut actions);
            for (index, action) in actions.iter().enumerate() {
                let Some(next) = world.next_state(&state, *action) else { continue };
                let index = u16::try_from(index).unwrap_or(u16::MAX);
                visit.step(world, (&state, action, &next), number, index);
                if seen.insert(hasher.hash_one(&next)) {
                    let next_number = Number(tree_number(&tree));
                    tree.parents.push((number.0, index));
                    visit.state(world, &next, next_number);
                    next_level.push((next, next_number));
                }
            }
        }
        level = next_level;
    }
    Searched { tree, exhausted: true, cut: None }
}

fn tree_number(tree: &Tree) -> u32 {
    u32::try_from(tree.len()).unwrap_or(u32::MAX - 1)
}

/// The labels that steps have, among the first `bound` states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Which labels were met, by index.
    pub met: Vec<bool>,
    /// Why the pass was cut short.
    pub cut: Option<Cut>,
}

/// Collects the labels of all steps among the first `bound` states.
pub fn labels<P: Protocol>(protocol: &P, bound: usize, limits: &Limits) -> Labels {
    struct Collect {
        met: Vec<bool>,
        missing: usize,
    }
    impl<P: Protocol> Visit<P> for Collect {
        fn step(
            &mut self,
            world: &World<P>,
            (before, action, after): (&WorldState<P>, &ActionOf<P>, &WorldState<P>),
            _: Number,
            _: u16,
        ) {
            for label in world.protocol.labels(before, action, after) {
                if let Some(met) = self.met.get_mut(usize::from(label))
                    && !*met
                {
                    *met = true;
                    self.missing -= 1;
                }
            }
        }
        fn done(&self) -> bool {
            self.missing == 0
        }
    }
    let names = protocol.label_names().len();
    let mut collect = Collect { met: vec![false; names], missing: names };
    let searched = search(&World::new(protocol.clone()), bound, limits, &mut collect);
    Labels { met: collect.met, cut: searched.cut }
}
