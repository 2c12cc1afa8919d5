//! `list` and `show`: which traces there are, and one of them for a reader.

use std::fmt::Write as _;

use fencepost_fixtures::reader::Fixture;

use super::{ListArgs, ShowArgs, fail, print};
use crate::exit::Exit;
use crate::pattern;
use crate::selection::select;
use crate::show::show as show_document;

/// The traces that the arguments name; where there are errors, they are printed.
pub(super) fn selected(arguments: &[String]) -> Result<Vec<Fixture>, Exit> {
    select(arguments).map_err(|errors| {
        for error in &errors {
            eprintln!("error: {error}");
        }
        Exit::Broken
    })
}

pub(super) fn list(arguments: &ListArgs) -> Exit {
    let fixtures = match selected(&arguments.traces) {
        Ok(fixtures) => fixtures,
        Err(exit) => return exit,
    };
    let chosen: Vec<&Fixture> = fixtures
        .iter()
        .filter(|fixture| {
            let header = fixture.document.header();
            arguments.filter.as_ref().is_none_or(|filter| {
                let filter = if pattern::has_wildcard(filter) { filter.clone() } else { format!("*{filter}*") };
                pattern::matches(&filter, header.id.as_str()) || pattern::matches(&filter, &header.title)
            }) && arguments.holds_for.as_ref().is_none_or(|variant| header.holds_for.contains(variant))
        })
        .collect();
    let width = chosen.iter().map(|fixture| fixture.id().as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    for fixture in &chosen {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:<width$}  {}", fixture.id().as_str(), fixture.document.header().title);
    }
    print(&text);
    if chosen.is_empty() {
        fail("no trace is like that; `list` without arguments shows them all")
    } else {
        Exit::AsExpected
    }
}

pub(super) fn show(arguments: &ShowArgs) -> Exit {
    let fixtures = match selected(std::slice::from_ref(&arguments.trace)) {
        Ok(fixtures) => fixtures,
        Err(exit) => return exit,
    };
    let mut text = String::new();
    for (index, fixture) in fixtures.iter().enumerate() {
        if index > 0 {
            text += if arguments.format == crate::show::Form::Yaml { "---\n" } else { "\n" };
        }
        match show_document(&fixture.document, arguments.format) {
            Ok(shown) => text += &shown,
            Err(error) => return fail(error.message),
        }
    }
    print(&text);
    Exit::AsExpected
}
