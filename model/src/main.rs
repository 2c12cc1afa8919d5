//! `fencepost-model`: maps the command line to the library, and its results to exit codes.

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Parser;
use fencepost_model::cli::{self, Cli, CliError};
use fencepost_model::registry::Registry;

/// The checker makes and drops states on several threads, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match cli::run(&Cli::parse(), &Registry::shipped()) {
        Ok(code) => ExitCode::from(code),
        // Who reads has seen enough, as `head` does.
        Err(CliError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", cli::PROGRAM);
            ExitCode::from(error.exit_code())
        }
    }
}
