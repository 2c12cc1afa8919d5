//! `verify-log`: reads a partition's directory, with a progress bar where there is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

use super::replay::cancelled_by_signal;
use super::{VerifyLogArgs, fail, print};
use crate::exit::Exit;
use crate::verify_log::{Directory, VerifyError, pass};

pub(super) fn run(arguments: &VerifyLogArgs) -> Exit {
    let stop = cancelled_by_signal();
    let directory = match Directory::open(&arguments.directory) {
        Ok(directory) => directory,
        Err(error) => return fail(error),
    };
    // Drawn to standard error, and only where that is a terminal.
    let bar = ProgressBar::new(directory.bytes());
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}") {
        bar.set_style(style);
    }
    let found = pass::verify(&directory, &stop, &mut |bytes| bar.set_position(bytes));
    bar.finish_and_clear();
    let report = match found {
        Ok(report) => report,
        Err(error @ VerifyError::Interrupted) => {
            eprintln!("{error}");
            return Exit::CutShort;
        }
        Err(error) => return fail(error),
    };
    if let Some(path) = &arguments.json {
        let json = serde_json::to_string_pretty(&report).map_err(|error| error.to_string());
        let written = json.and_then(|json| std::fs::write(path, json + "\n").map_err(|error| error.to_string()));
        if let Err(error) = written {
            return fail(format!("{}: {error}", path.display()));
        }
    }
    print(&report.text());
    if report.has_faults() { Exit::NotAsExpected } else { Exit::AsExpected }
}
