//! Whatever the number of workers: the counts of Stateright's checker, its shortest lengths, and the same paths.

use std::sync::Arc;

use fencepost_model::distributed::fingerprint::Width;
use fencepost_model::distributed::meet::Common;
use fencepost_model::distributed::settle::Explored;
use fencepost_model::distributed::team::{Shown, Task, Team, run};
use fencepost_model::distributed::{self};
use fencepost_model::limits::{Cut, Limits, Progress};
use stateright::{Checker, Model};

use crate::puzzle::Puzzle;

pub(crate) struct Unseen;

impl Shown for Unseen {
    fn progress(&self, _: usize, _: Progress) {}
    fn finished(&self, _: usize) {}
}

pub(crate) fn task(model: Puzzle, width: Width) -> Task {
    Arc::new(move |worker, live| distributed::explore(worker, &model, width, live, || None))
}

pub(crate) fn common(team: &Team) -> Common {
    Common {
        workers: team.workers,
        width: Width::Short,
        hosts: team.hosts.iter().map(ToString::to_string).collect(),
        configurations: 1,
        models: 1,
    }
}

fn explored(model: &Puzzle, workers: usize, width: Width) -> Explored {
    let team = Team::local(workers);
    let ran = run(&team, vec![task(model.clone(), width)], &common(&team), &Limits::default(), &Unseen).expect("run");
    assert_eq!(ran.cut, None);
    ran.done.into_iter().next().expect("one task").explored
}

#[test]
fn counts_and_lengths_are_those_of_the_local_checker() {
    let model = Puzzle::up_to(5);
    let local = model.clone().checker().spawn_bfs().join();
    let found = explored(&model, 2, Width::Short);
    assert_eq!(found.unique(), local.unique_state_count() as u64);
    assert_eq!(found.generated(), local.state_count() as u64);
    // Breadth first on one thread; a state more on the path than steps.
    assert_eq!(found.depth as usize + 1, local.max_depth());
}

/// By hand: seven in all is seven steps up from nothing, and six from the other start. `[3, 6, _, _]` has the smallest sum
/// of nine, and each step adds one; the start `[0, 0, 0, 1]` saves one, and has to carry its counter over.
#[test]
fn a_first_violation_is_a_shortest_one() {
    let found = explored(&Puzzle::up_to(6), 2, Width::Short);
    let depths: Vec<_> = found.first.iter().map(|first| first.as_ref().map(|first| first.depth)).collect();
    // All at six: 24 steps up, one of them saved by the start.
    assert_eq!(depths, [Some(6), Some(9), None, Some(23), None]);
    for first in found.first.iter().take(2).flatten() {
        assert_eq!(first.path.as_ref().expect("the path of a violation").steps(), first.depth as usize);
    }
}

#[test]
fn paths_are_the_same_for_any_number_of_workers() {
    let model = Puzzle::up_to(6);
    for width in [Width::Short, Width::Exact] {
        let one = explored(&model, 1, width);
        for workers in [2, 3, 4, 7] {
            let several = explored(&model, workers, width);
            assert_eq!(several.first, one.first, "{workers} workers, {width:?}");
            assert_eq!(
                (several.unique(), several.generated(), several.depth),
                (one.unique(), one.generated(), one.depth)
            );
            assert_eq!(several.shares.len(), workers);
        }
    }
}

#[test]
fn a_path_leads_to_what_it_is_for() {
    let model = Puzzle::up_to(6);
    let found = explored(&model, 3, Width::Short);
    for (property, first) in model.properties().iter().zip(&found.first) {
        let Some(path) = first.as_ref().and_then(|first| first.path.as_ref()) else { continue };
        let mut indices = path.0.iter();
        let mut state = model.init_states()[*indices.next().expect("a start")];
        for index in indices {
            let mut actions = Vec::new();
            model.actions(&state, &mut actions);
            state = model.next_state(&state, actions[*index]).expect("a step");
        }
        assert!(!(property.condition)(&model, &state), "{}", property.name);
    }
}

#[test]
fn a_limit_ends_all_workers_without_a_verdict() {
    let team = Team::local(2);
    let limits = Limits { states: Some(100), ..Limits::default() };
    let ran = run(&team, vec![task(Puzzle::up_to(9), Width::Short)], &common(&team), &limits, &Unseen).expect("run");
    assert_eq!(ran.cut.map(|(cut, _)| cut), Some(Cut::States));
}

#[test]
fn several_tasks_follow_each_other() {
    let team = Team::local(2);
    let tasks = vec![task(Puzzle::up_to(3), Width::Short), task(Puzzle::up_to(4), Width::Exact)];
    let ran = run(&team, tasks, &common(&team), &Limits::default(), &Unseen).expect("run");
    // (top + 1)^4 states.
    assert_eq!(ran.done.iter().map(|done| done.explored.unique()).collect::<Vec<_>>(), [256, 625]);
}
