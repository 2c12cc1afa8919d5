//! The rows of the compaction matrix: which slips they show.

use std::collections::BTreeSet;
use std::path::Path;

use fencepost_model::compaction::mutant::Mutant;
use fencepost_model::matrix::Matrix;

#[test]
fn every_slip_breaks_a_property_in_some_row_or_says_why_it_breaks_none() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrix");
    let matrix = Matrix::read(&directory, "compaction").expect("the matrix");
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
