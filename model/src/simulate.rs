//! `simulate`: random behaviours, beyond what can be exhausted, reproducible by their seed.

use stateright::Model;

use crate::path::Indices;
use crate::protocol::Protocol;
use crate::world::World;

/// A generator of random numbers (`SplitMix64`). Its numbers are part of what a seed means, so it is written out here and
/// is no dependency's to change.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of one behaviour. Behaviours of one seed do not depend on how many there are.
    #[must_use]
    pub fn new(seed: u64, number: u64) -> Self {
        let mut random = Self(seed);
        let mixed = random.next() ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(mixed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of so many, if there is one.
    pub(crate) fn choose(&mut self, among: usize) -> Option<usize> {
        (among > 0).then(|| self.below(among))
    }

    /// A number below `bound`, each as likely as the others to within 2⁻⁴⁸ for the few actions that a state has.
    fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.next()) * bound as u128;
        usize::try_from(wide >> 64).unwrap_or(0)
    }
}

/// A random path of at most `depth` steps; shorter where a state has no action.
pub fn random_path<P: Protocol>(protocol: &P, seed: u64, number: u64, depth: usize) -> Indices {
    let world = World::new(protocol.clone());
    let mut random = Random::new(seed, number);
    let mut path = Indices(vec![0]);
    let Some(mut state) = world.init_states().into_iter().next() else { return path };
    let mut actions = Vec::new();
    while path.steps() < depth {
        actions.clear();
        world.actions(&state, &mut actions);
        let Some(index) = random.choose(actions.len()) else { break };
        let Some(next) = world.next_state(&state, actions[index]) else { break };
        path.0.push(index);
        state = next;
    }
    path
}
