//! `smoke`: the twelve checks of a new driver.

use std::fmt::Write as _;

use super::replay::{cancelled_by_signal, launcher};
use super::{SmokeArgs, color, fail, print};
use crate::exit::Exit;
use crate::report::terminal::Style;
use crate::smoke::{Check, Checked, smoke};

pub(super) fn run(arguments: &SmokeArgs) -> Exit {
    let cancelled = cancelled_by_signal();
    let launcher = match launcher(&arguments.target, &cancelled) {
        Ok(launcher) => launcher,
        Err(message) => return fail(message),
    };
    let checks = smoke(launcher.as_ref());
    print(&render(&checks, Style { color: color(), verbose: false }));
    if cancelled.load(std::sync::atomic::Ordering::Relaxed) {
        Exit::CutShort
    } else if checks.iter().all(|check| matches!(check.result, Checked::Right | Checked::LeftOut(_))) {
        Exit::AsExpected
    } else {
        Exit::NotAsExpected
    }
}

/// The checks with what to do about the first that is wrong; those after it may be wrong for the same reason.
#[must_use]
fn render(checks: &[Check], style: Style) -> String {
    let mut text = String::new();
    let mut advice = true;
    // Writing to a string does not fail.
    for (check, number) in checks.iter().zip(1..) {
        let Check { claim, to_do, result } = check;
        let _ = match result {
            Checked::Right => writeln!(text, "{number:>2}  {}  {claim}", style.good("right   ")),
            Checked::LeftOut(reason) => writeln!(text, "{number:>2}  {}  {claim}: {reason}", style.weak("left out")),
            Checked::NotReached => writeln!(text, "{number:>2}  {}  {claim}", style.weak("        ")),
            Checked::Wrong(reason) => {
                let reason = reason.replace('\n', "\n              ");
                let _ = writeln!(text, "{number:>2}  {}  {claim}\n              {reason}", style.bad("WRONG   "));
                if advice {
                    let _ = writeln!(text, "              To do: {to_do}.");
                }
                advice = false;
                Ok(())
            }
        };
    }
    let right = checks.iter().filter(|check| check.result == Checked::Right).count();
    let left_out = checks.iter().filter(|check| matches!(check.result, Checked::LeftOut(_))).count();
    let _ = writeln!(text, "{right} of {} right, {left_out} left out.", checks.len());
    if right + left_out == checks.len() {
        let _ = writeln!(text, "Next: fencepost-conformance replay --target '...'");
    }
    text
}
