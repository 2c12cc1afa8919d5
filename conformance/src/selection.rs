//! Which traces a command is about: the embedded ones, files, directories, patterns, or standard input.

use fencepost_fixtures::corpus;
use fencepost_fixtures::error::ReadError;
use fencepost_fixtures::reader::{Fixture, Reader};

use crate::pattern;

/// The argument that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// The traces that `arguments` name; without arguments all that are embedded.
///
/// An argument is `-`, a path, an id or a pattern of ids among the embedded traces, or a pattern of paths. All errors
/// are given, not the first alone.
pub fn select(arguments: &[String]) -> Result<Vec<Fixture>, Vec<ReadError>> {
    let mut reader = Reader::new();
    let mut fixtures = Vec::new();
    let mut errors = Vec::new();
    let mut take = |items: &mut dyn Iterator<Item = Result<Fixture, ReadError>>| {
        for item in items {
            match item {
                Ok(fixture) => fixtures.push(fixture),
                Err(error) => errors.push(error),
            }
        }
    };
    if arguments.is_empty() {
        take(&mut corpus::read());
    }
    for argument in arguments {
        if argument == STANDARD_INPUT {
            take(&mut reader.stream("standard input", std::io::stdin().lock()));
        } else if !std::path::Path::new(argument).exists() && named_by(argument).next().is_some() {
            take(&mut named_by(argument).map(Ok));
        } else {
            take(&mut reader.argument(argument));
        }
    }
    if errors.is_empty() { Ok(fixtures) } else { Err(errors) }
}

/// The embedded traces whose ids match.
fn named_by(argument: &str) -> impl Iterator<Item = Fixture> {
    corpus::all().filter(move |fixture| pattern::matches(argument, fixture.id().as_str()))
}
