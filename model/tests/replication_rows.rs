//! The rows of the replication matrix: which slips they show.

use std::collections::BTreeSet;
use std::path::Path;

use fencepost_model::matrix::Matrix;
use fencepost_model::replication::mutant::Mutant;

#[test]
fn every_slip_breaks_a_property_in_some_row_or_says_why_it_breaks_none() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrix");
    let matrix = Matrix::read(&directory, "replication").expect("the matrix");
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

#[test]
fn what_is_claimed_of_the_oracle_holds_in_every_row_of_it() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrix");
    let matrix = Matrix::read(&directory, "replication").expect("the matrix");
    // A damaged file of epochs is no rule's fault: what it breaks is said in its row. A proposal that is taken back leaves
    // the high watermark where it is in Kafka, and there is no repair of that among the variants.
    // What has no epochs, or epochs on one side only, is not promised to survive (2.12 d).
    let said =
        ["-damaged", "/proposal-taken-back", "-old-format", "-old-formats", "/format-goes-back", "/middle-of-a-batch"];
    let of_oracle = |name: &str| {
        name.starts_with("replication/proposal-kept/") && !said.iter().any(|ending| name.ends_with(ending))
    };
    let rows: Vec<_> = matrix.rows.iter().filter(|row| of_oracle(&row.configuration)).collect();
    assert!(!rows.is_empty());
    for row in rows {
        assert!(row.fails.is_empty(), "{}: {:?}", row.configuration, row.fails);
    }
}
