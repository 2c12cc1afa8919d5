//! The rows of the fencing matrix: which slips they show, and which traces show what they expect to fail.

use std::collections::BTreeSet;
use std::path::Path;

use fencepost_fixtures::corpus;
use fencepost_model::fencing::Fencing;
use fencepost_model::fencing::mutant::Mutant;
use fencepost_model::fencing::traces::ORACLE;
use fencepost_model::matrix::Matrix;
use fencepost_model::protocol::{Aim, Catalogue as _};

#[test]
fn every_slip_breaks_a_property_in_some_row_or_says_why_it_breaks_none() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrix");
    let matrix = Matrix::read(&directory, "fencing").expect("the matrix");
    let broken: BTreeSet<_> = matrix
        .rows
        .iter()
        .filter(|row| !row.fails.is_empty())
        .filter_map(|row| Some(row.configuration.split('/').nth(1)?.split_once('+')?.1))
        .collect();
    for mutant in Mutant::ALL {
        let shows = broken.contains(mutant.name());
        assert_ne!(shows, mutant.unseen().is_some(), "{mutant}: {:?}", mutant.unseen());
    }
}

/// The variant, with the slip if any, and the bounds.
fn parts(configuration: &str) -> (&str, &str) {
    let mut words = configuration.split('/').skip(1);
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

#[test]
fn every_expected_violation_is_a_counterexample() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrix");
    let matrix = Matrix::read(&directory, "fencing").expect("the matrix");
    let goals = Fencing::goals();
    let shown = |rules: &str, property: &str| {
        goals.iter().any(|goal| {
            let holds = || {
                let fixture = corpus::find(&goal.id).expect("the trace of a goal");
                fixture.document.header().holds_for.iter().any(|variant| variant == rules)
            };
            // The same steps under another variant are the same counterexample; a slip has its own.
            let (own, _) = parts(&goal.configuration);
            matches!(goal.aim, Aim::Violation(id) if id == property)
                && (own == rules || (!own.contains('+') && holds()))
        })
    };
    let mut missing = Vec::new();
    for row in &matrix.rows {
        let (rules, bounds) = parts(&row.configuration);
        let slip = rules.split_once('+').and_then(|(_, slip)| Mutant::ALL.iter().find(|mutant| mutant.name() == slip));
        let oracles = |property: &String| {
            matrix
                .rows
                .iter()
                .any(|row| parts(&row.configuration) == (ORACLE, bounds) && row.fails.contains_key(property))
        };
        for property in row.fails.keys() {
            let excused = slip.is_some_and(|slip| slip.untraced().is_some() || oracles(property));
            if !excused && !shown(rules, property) {
                missing.push(format!("{rules} {property}"));
            }
        }
    }
    assert!(missing.is_empty(), "no trace shows {missing:#?}");
}
