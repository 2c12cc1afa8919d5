//! A model, as the dataflow sees it: encoded states in, encoded states out.

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateright::{Expectation, Model, Property};

use super::fingerprint::{Encoder, Fingerprint, decode};
use super::records::Record;

/// What a property has first: of one that should always hold, a violation; of one that should hold somewhere, an example.
/// The least depth, and at that depth the smallest fingerprint.
pub(super) type Find<F> = Option<(u32, F)>;

/// A model behind a pointer, so that the dataflow is compiled once for all models.
pub(super) trait Expand<F: Fingerprint> {
    /// How many properties it has.
    fn properties(&self) -> usize;
    /// Makes the initial states.
    fn start(&mut self, give: &mut dyn FnMut(F, &[u8])) -> Result<(), String>;
    /// Makes every state one step further than an encoded one, and looks at the properties of that one, which is so deep
    /// and has this fingerprint. Returns how many it made.
    fn expand(
        &mut self,
        encoded: &[u8],
        here: (u32, F),
        first: &mut [Find<F>],
        give: &mut dyn FnMut(Record<'_, F>),
    ) -> Result<u64, String>;
}

/// A Stateright model.
pub(super) struct Expander<M: Model> {
    model: M,
    properties: Vec<Property<M>>,
    actions: Vec<M::Action>,
    encoder: Encoder,
}

impl<M: Model> Expander<M> {
    pub(super) fn new(model: M) -> Self {
        Self { properties: model.properties(), model, actions: Vec::new(), encoder: Encoder::default() }
    }

    /// Looks at a state's properties, but for those that were found nearer to the start.
    fn look<F: Fingerprint>(&self, state: &M::State, here: (u32, F), first: &mut [Find<F>]) {
        for (property, first) in self.properties.iter().zip(first) {
            if first.is_some_and(|first| first <= here) {
                continue;
            }
            let found = match property.expectation {
                Expectation::Always => !(property.condition)(&self.model, state),
                Expectation::Sometimes => (property.condition)(&self.model, state),
                // Not decided by looking at states one by one; see `docs/architecture.md`.
                Expectation::Eventually => false,
            };
            if found {
                *first = Some(here);
            }
        }
    }
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
                let encoded = self.encoder.encode(&state)?;
                give(F::of(encoded), encoded);
            }
        }
        Ok(())
    }

    fn expand(
        &mut self,
        encoded: &[u8],
        here: (u32, F),
        first: &mut [Find<F>],
        give: &mut dyn FnMut(Record<'_, F>),
    ) -> Result<u64, String> {
        let state: M::State = decode(encoded)?;
        self.look(&state, here, first);
        self.actions.clear();
        self.model.actions(&state, &mut self.actions);
        let mut generated = 0;
        for action in self.actions.drain(..) {
            let Some(next) = self.model.next_state(&state, action) else { continue };
            if !self.model.within_boundary(&next) {
                continue;
            }
            generated += 1;
            let encoded = self.encoder.encode(&next)?;
            give(Record { fingerprint: F::of(encoded), parent: here.1, encoded });
        }
        Ok(generated)
    }
}
