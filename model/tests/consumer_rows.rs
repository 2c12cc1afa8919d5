//! The rows of the consumer's matrix: which slips they show, and what the rules that are right promise.

use std::collections::BTreeSet;
use std::path::Path;

use fencepost_model::consumer::mutant::Mutant;
use fencepost_model::matrix::Matrix;

fn matrix() -> Matrix {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrix");
    Matrix::read(&directory, "consumer").expect("the matrix")
}

#[test]
fn every_slip_breaks_a_property_in_some_row_or_says_why_it_breaks_none() {
    let matrix = matrix();
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
fn the_strict_rule_holds_where_the_position_has_an_epoch() {
    // No epoch to validate by, an offset that was never read from, and transactions over unclean elections.
    let said = [
        "without-epoch",
        "/old-message-format",
        "/old-brokers",
        "/seek-to-offset",
        "/log-end",
        "/log-end-no-policy",
        "/lost-marker",
    ];
    let matrix = matrix();
    let of_oracle = |name: &str| name.starts_with("consumer/strict/") && !said.iter().any(|part| name.ends_with(part));
    let rows: Vec<_> = matrix.rows.iter().filter(|row| of_oracle(&row.configuration)).collect();
    assert!(rows.len() > 10);
    for row in rows {
        // One pair does not tell where the logs part: that no record is skipped is promised with the full history.
        let broken: Vec<_> = row.fails.keys().filter(|property| *property != "P5-ALO").collect();
        assert!(broken.is_empty(), "{}: {broken:?}", row.configuration);
    }
}

#[test]
fn with_the_full_history_no_record_is_skipped() {
    for row in matrix().rows.iter().filter(|row| row.configuration.starts_with("consumer/history-kept/")) {
        // But for a position that was sought without an epoch beyond what the history knows.
        if !row.configuration.ends_with("/seek-to-offset") {
            assert!(!row.fails.contains_key("P5-ALO"), "{}", row.configuration);
        }
    }
}
