//! The shortest path to each row of the tables.

use crate::protocol::{Aim, Goal};

/// Which rows are looked for in which bounds of which variant.
const COVERAGE: &[(&str, &[&str])] = &[];

pub(super) fn goals(goals: &mut Vec<Goal>) {
    for (configuration, labels) in COVERAGE {
        for label in *labels {
            cover(goals, configuration, label);
        }
    }
}

fn cover(goals: &mut Vec<Goal>, configuration: &str, label: &'static str) {
    let mut slug = String::new();
    for character in label.chars() {
        match character {
            '\'' => {}
            _ if character.is_ascii_alphanumeric() || character == '.' => slug.push(character.to_ascii_lowercase()),
            _ if !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let Ok(id) = format!("compaction/row/{}", slug.trim_end_matches('-')).parse() else { return };
    goals.push(Goal {
        id,
        title: label.to_owned(),
        configuration: format!("compaction/{configuration}"),
        aim: Aim::Label(vec![label]),
        rests_on: vec!["KIP-534".to_owned()],
        twin: None,
    });
}

/// Why no generated trace has a label, or names an error, where that is meant.
#[must_use]
pub fn unreached(label: &str) -> Option<&'static str> {
    let _ = label;
    None
}
