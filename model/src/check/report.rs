//! The verdicts as people read them: a table, the counterexamples that nobody expected, and a sum.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::progress::short;
use super::verdict::{Answer, Place, Report, Verdict};

const BAD: Style = AnsiColor::Red.on_default().bold();
const HEAD: Style = Style::new().bold();

/// A number with its thousands set apart: `128,883`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The report as text. It has colours, which the stream that it goes to takes out where they are not wanted.
#[must_use]
pub fn text(report: &Report, program: &str) -> String {
    let mut text = table(&report.verdicts);
    for verdict in report.verdicts.iter().filter(|verdict| !verdict.as_expected) {
        explain(&mut text, verdict, program);
    }
    for stale in &report.stale {
        let _ = writeln!(text, "\nstale: {stale}");
    }
    if !report.stale.is_empty() {
        let _ = writeln!(text, "`{program} check --all --bless` writes the matrix anew.");
    }
    if !report.dead.is_empty() {
        text.push('\n');
    }
    for dead in &report.dead {
        let _ = writeln!(text, "dead: {}", dead.message);
    }
    for file in &report.blessed {
        let _ = writeln!(text, "\nrewritten: {file}");
    }
    if report.blessing && report.blessed.is_empty() {
        let _ = writeln!(text, "\nThe matrix says all this already.");
    }
    text.push('\n');
    places(&mut text, &report.places);
    sum(&mut text, report);
    text
}

/// What ran where.
fn places(text: &mut String, places: &[Place]) {
    for place in places {
        let here = if place.address.is_empty() { String::new() } else { format!(" at {}", place.address) };
        let workers: Vec<String> = place.workers.iter().map(|unique| grouped(*unique)).collect();
        let _ = writeln!(
            text,
            "process {}{here}: {} states on {} {} ({}), {} made, {}",
            place.process,
            grouped(place.workers.iter().sum()),
            place.workers.len(),
            if place.workers.len() == 1 { "worker" } else { "workers" },
            workers.join(" + "),
            grouped(place.generated),
            memory(place.memory_bytes)
        );
    }
}

/// A configuration's name in the three columns of the table.
fn parts(name: &str) -> [&str; 3] {
    let mut parts = name.splitn(3, '/');
    std::array::from_fn(|_| parts.next().unwrap_or(""))
}

fn table(verdicts: &[Verdict]) -> String {
    const HEADER: [&str; 10] =
        ["PROTOCOL", "VARIANT", "BOUNDS", "PROPERTY", "EXPECTED", "FOUND", "STATES", "DEPTH", "SECONDS", "MEMORY"];
    let rows: Vec<([String; 10], bool)> = verdicts
        .iter()
        .map(|verdict| {
            let [protocol, variant, bounds] = parts(&verdict.configuration).map(str::to_owned);
            let mut found = verdict.found.to_string();
            if !verdict.as_expected {
                found = match verdict.found {
                    Answer::FailsIn(steps) => format!("FAILS in {steps}"),
                    Answer::Holds if !verdict.differences.is_empty() => "DIFFERS".to_owned(),
                    Answer::Holds => "HOLDS".to_owned(),
                    Answer::Cut(_) | Answer::Unknown => found.to_uppercase(),
                };
            }
            if let Some(walks) = verdict.simulated {
                let _ = write!(found, ", simulated: {} walks, seed {}", grouped(walks.number), walks.seed);
            }
            let depth = verdict.depth.map_or_else(|| "-".to_owned(), |depth| depth.to_string());
            let cells = [
                protocol,
                variant,
                bounds,
                verdict.property.clone(),
                verdict.expected.to_string(),
                found,
                grouped(verdict.unique),
                depth,
                format!("{:.1}", verdict.seconds),
                memory(verdict.memory_bytes),
            ];
            (cells, verdict.as_expected)
        })
        .collect();
    let mut widths = HEADER.map(str::len);
    for (cells, _) in &rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    line(&mut text, &HEADER.map(str::to_owned), &widths, HEAD);
    for (cells, as_expected) in &rows {
        line(&mut text, cells, &widths, if *as_expected { Style::new() } else { BAD });
    }
    text
}

fn line(text: &mut String, cells: &[String; 10], widths: &[usize; 10], style: Style) {
    let mut line = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if column > 0 {
            line.push_str("  ");
        }
        // Words to the left, numbers to the right.
        if column < 6 {
            let _ = write!(line, "{cell:<width$}");
        } else {
            let _ = write!(line, "{cell:>width$}");
        }
    }
    let _ = writeln!(text, "{style}{}{style:#}", line.trim_end());
}

fn memory(bytes: u64) -> String {
    if bytes == 0 { "-".to_owned() } else { format!("{} MB", bytes.div_ceil(1_000_000)) }
}

fn explain(text: &mut String, verdict: &Verdict, program: &str) {
    let Verdict { configuration, property, statement, .. } = verdict;
    if !verdict.differences.is_empty() {
        let _ = writeln!(text, "\n{configuration}:");
        for difference in &verdict.differences {
            let _ = writeln!(text, "  {difference}");
        }
    }
    let Answer::FailsIn(steps) = verdict.found else { return };
    if verdict.steps.is_empty() {
        if let Answer::FailsIn(expected) = verdict.expected {
            let _ = writeln!(text, "\n{configuration}: {property} fails in {steps} steps instead of {expected}.");
        }
    } else {
        let _ = writeln!(text, "\n{property} \"{statement}\" fails in {steps} steps:");
        text.push_str(&numbered(&verdict.steps));
    }
    let _ = writeln!(text, "Look at it:   {program} explore {configuration} --violates {property}");
    let _ = writeln!(
        text,
        "Keep it:      {program} show {configuration} --violates {property} --format yaml > {}.yaml",
        property.to_lowercase()
    );
}

/// Steps with their numbers, further lines of a step set in.
#[must_use]
pub fn numbered(steps: &[String]) -> String {
    let mut text = String::new();
    for (number, step) in steps.iter().enumerate() {
        for (place, line) in step.lines().enumerate() {
            if place == 0 {
                let _ = writeln!(text, "{:>4}  {line}", number + 1);
            } else {
                let _ = writeln!(text, "      {line}");
            }
        }
    }
    text
}

fn sum(text: &mut String, report: &Report) {
    let all = report.verdicts.len();
    let failures = report.verdicts.iter().filter(|verdict| matches!(verdict.expected, Answer::FailsIn(_))).count();
    let wrong = report.verdicts.iter().filter(|verdict| !verdict.as_expected).count();
    let verdicts = if all == 1 { "verdict" } else { "verdicts" };
    let _ = write!(text, "{all} {verdicts}, {failures} of them failures that must be found. ");
    let _ = match (report.cut, wrong) {
        (true, _) => writeln!(text, "CUT SHORT: this says nothing of what was not looked at."),
        (false, 0) if report.exit_code() == 0 => writeln!(text, "All as expected."),
        (false, 0) => writeln!(text, "All of them as expected, but see above."),
        (false, 1) => writeln!(text, "1 of them is not as expected."),
        (false, wrong) => writeln!(text, "{wrong} of them are not as expected."),
    };
    let memory = memory(report.peak_memory_bytes);
    let _ = writeln!(
        text,
        "{} states in {:.1} s, {memory} at most. Expected number of fingerprint collisions: {:.1e}.",
        short(report.unique),
        report.seconds,
        report.expected_collisions
    );
}
