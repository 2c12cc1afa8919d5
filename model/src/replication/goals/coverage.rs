//! The rows of the tables: of each the shortest path to it, in the smallest configuration that reaches it.

use super::place;
use crate::protocol::{Aim, Goal};

/// A label's words as part of a name.
fn slug(label: &str) -> String {
    let plain: String = label
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, ' ' | '.'))
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join("-")
}

fn row(configuration: &str, label: &'static str) -> Option<Goal> {
    let (section, words) = label.split_once(' ')?;
    let mut letters = words.chars();
    let title = letters.next().map(|first| first.to_uppercase().chain(letters).collect())?;
    Some(Goal {
        id: format!("replication/{}/{}", place(configuration)?, slug(label)).parse().ok()?,
        title,
        configuration: format!("replication/{configuration}"),
        aim: Aim::Label(vec![label]),
        rests_on: vec![format!("docs/replication.md {section}")],
        twin: None,
    })
}

/// The rows: a configuration, and what is looked for there.
const ROWS: &[(&str, &[&str])] = &[];

/// The goals.
pub(super) fn goals() -> impl Iterator<Item = Goal> {
    let tried: Vec<Goal> = std::fs::read_to_string("/tmp/fp6/tr-pairs.txt").unwrap_or_default().lines().filter_map(|line| {
        let (configuration, label) = line.split_once('|')?;
        row(configuration, Box::leak(label.to_owned().into_boxed_str()))
    }).collect();
    ROWS.iter().flat_map(|(configuration, labels)| labels.iter().filter_map(move |label| row(configuration, label))).chain(tried)
}
