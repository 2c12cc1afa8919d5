//! Paths of indices.

use fencepost_model::path::{Indices, PathError, walk};
use fencepost_model::world::World;

use crate::toy::{Rule, Toy};

#[test]
fn a_path_reads_back_as_it_is_written() {
    let path: Indices = "0/0/3/12".parse().expect("a path");
    assert_eq!(path, Indices(vec![0, 0, 3, 12]));
    assert_eq!(path.to_string(), "0/0/3/12");
    assert_eq!(path.steps(), 3);
}

#[test]
fn what_is_no_path_is_an_error() {
    for text in ["", "/", "0/", "0/a", "-1", "0/99999999999999999999999", "0 1"] {
        assert!(matches!(text.parse::<Indices>(), Err(PathError::Unreadable(_))), "{text:?}");
    }
    let endless = "0/".repeat(1_000_000) + "0";
    assert!(matches!(endless.parse::<Indices>(), Err(PathError::Unreadable(_))));
}

#[test]
fn a_path_that_does_not_fit_the_model_names_the_step() {
    let world = World::new(Toy::new(Rule::Polite, 1));
    let follow = |text: &str| walk(&world, &text.parse().expect("a path")).map(|states| states.len());
    assert_eq!(follow("0"), Ok(1));
    // Both clients may ask; after one did, its request may arrive, or the other may ask.
    assert_eq!(follow("0/1/0"), Ok(3));
    assert_eq!(follow("1"), Err(PathError::Start(1)));
    assert_eq!(follow("0/2"), Err(PathError::NoAction { step: 1, index: 2, actions: 2 }));
    assert_eq!(follow("0/0/7/0"), Err(PathError::NoAction { step: 2, index: 7, actions: 2 }));
}
