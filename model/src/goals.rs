//! The shortest path to each goal of the exporter, by one pass through the states of a configuration.

use crate::limits::{Cut, Limits};
use crate::path::{Indices, PathError, walk};
use crate::protocol::{Aim, Exported, Protocol};
use crate::search::{Number, Visit, search};
use crate::world::{ActionOf, World, WorldState};

/// What a pass for goals gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// The shortest path to each goal, in their order; `None` where there is none.
    pub paths: Vec<Option<Indices>>,
    /// Why the pass was cut short. A path that is missing may then exist.
    pub cut: Option<Cut>,
}

/// Why an aim makes no sense in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AimError {
    /// No such property.
    #[error("there is no property {0}")]
    Property(String),
    /// No such label.
    #[error("there is no label `{0}`")]
    Label(String),
}

/// An aim with its names looked up.
enum Resolved {
    Violation(usize),
    Labels(Vec<u16>),
}

fn resolve<P: Protocol>(protocol: &P, aim: &Aim) -> Result<Resolved, AimError> {
    match aim {
        Aim::Violation(id) => {
            let at = protocol.properties().iter().position(|claim| claim.id == *id);
            at.map(Resolved::Violation).ok_or_else(|| AimError::Property((*id).to_owned()))
        }
        Aim::Label(names) => {
            let labels = names.iter().map(|name| {
                let at = protocol.label_names().iter().position(|label| label == name);
                at.and_then(|at| u16::try_from(at).ok()).ok_or_else(|| AimError::Label((*name).to_owned()))
            });
            labels.collect::<Result<_, _>>().map(Resolved::Labels)
        }
    }
}

struct Seek {
    aims: Vec<Resolved>,
    /// The place of each goal that was reached: a state, and perhaps a step from it.
    reached: Vec<Option<(Number, Option<u16>)>>,
    missing: usize,
}

impl Seek {
    fn reach(&mut self, number: Number, index: Option<u16>, hit: impl Fn(&Resolved) -> bool) {
        for (aim, reached) in self.aims.iter().zip(&mut self.reached) {
            if reached.is_none() && hit(aim) {
                *reached = Some((number, index));
                self.missing -= 1;
            }
        }
    }
}

impl<P: Exported> Visit<P> for Seek {
    fn state(&mut self, world: &World<P>, state: &WorldState<P>, number: Number) {
        self.reach(number, None, |aim| match aim {
            Resolved::Violation(property) => !(world.protocol.properties()[*property].holds)(world, state),
            Resolved::Labels(_) => false,
        });
    }

    fn step(
        &mut self,
        world: &World<P>,
        (before, action, after): (&WorldState<P>, &ActionOf<P>, &WorldState<P>),
        number: Number,
        index: u16,
    ) {
        let wanted = self.aims.iter().zip(&self.reached);
        if wanted.filter(|(aim, reached)| reached.is_none() && matches!(aim, Resolved::Labels(_))).count() == 0 {
            return;
        }
        let labels = world.protocol.labels(before, action, after);
        self.reach(number, Some(index), |aim| match aim {
            Resolved::Labels(wanted) => wanted.iter().all(|label| labels.contains(label)),
            Resolved::Violation(_) => false,
        });
    }

    fn done(&self) -> bool {
        self.missing == 0
    }
}

/// Finds the shortest path to each aim.
pub fn seek<P: Exported>(protocol: &P, aims: &[&Aim], limits: &Limits) -> Result<Sought, AimError> {
    let aims: Vec<_> = aims.iter().map(|aim| resolve(protocol, aim)).collect::<Result<_, _>>()?;
    let missing = aims.len();
    let mut seek = Seek { reached: vec![None; missing], aims, missing };
    let bound = limits.states.and_then(|states| usize::try_from(states).ok()).unwrap_or(usize::MAX);
    let searched = search(&World::new(protocol.clone()), bound, limits, &mut seek);
    let paths = seek.reached.iter().map(|reached| {
        reached.map(|(number, index)| match index {
            None => searched.tree.path(number),
            Some(index) => searched.tree.path_and(number, index),
        })
    });
    let paths = paths.collect();
    let bounded = !searched.exhausted && seek.missing > 0;
    Ok(Sought { paths, cut: searched.cut.or(if bounded { Some(Cut::States) } else { None }) })
}

/// Why a stored path does not lead to its goal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissError {
    /// The path is none of the model.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The aim makes no sense.
    #[error(transparent)]
    Aim(#[from] AimError),
}

/// The first place on a path at which an aim is met, as the number of steps before it. The aim of a stored trace has to
/// be met by its last step and by none before.
pub fn met_at<P: Exported>(protocol: &P, aim: &Aim, path: &Indices) -> Result<Option<usize>, MissError> {
    let world = World::new(protocol.clone());
    let resolved = resolve(protocol, aim)?;
    let states = walk(&world, path)?;
    let met = states.iter().enumerate().position(|(at, (state, _))| match &resolved {
        Resolved::Violation(property) => !(protocol.properties()[*property].holds)(&world, state),
        Resolved::Labels(wanted) => at.checked_sub(1).is_some_and(|before| {
            let (before, action) = &states[before];
            action.as_ref().is_some_and(|action| {
                let labels = protocol.labels(before, action, state);
                wanted.iter().all(|label| labels.contains(label))
            })
        }),
    });
    Ok(met)
}

/// The labels of the steps of a path, by index.
pub fn labels_on<P: Protocol>(protocol: &P, path: &Indices) -> Result<Vec<u16>, PathError> {
    let world = World::new(protocol.clone());
    let states = walk(&world, path)?;
    let steps = states.windows(2).flat_map(|pair| match &pair[0].1 {
        Some(action) => protocol.labels(&pair[0].0, action, &pair[1].0),
        None => Vec::new(),
    });
    Ok(steps.collect())
}
