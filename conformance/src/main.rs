//! `fencepost-conformance`: the command line of the replayer. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    fencepost_conformance::cli::main().into()
}
