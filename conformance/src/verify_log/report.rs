//! What a look at a log found, for a person and for a program.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use super::{Finding, Rule};

/// How many findings of a rule are printed for a person. The JSON report has all.
const SHOWN: usize = 10;

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Segments.
    pub segments: u64,
    /// Batches of format 2.
    pub batches: u64,
    /// Batches of an older format, into which this does not look.
    pub old_batches: u64,
    /// Records.
    pub records: u64,
    /// Keys below the cleaner's checkpoint.
    pub keys: u64,
}

/// What a look at a log found.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// The directory.
    pub directory: PathBuf,
    /// The cleaner's checkpoint, if there is one. Without it the clean part is not known, and S13 says nothing.
    pub first_dirty: Option<i64>,
    /// The high watermark of the broker's checkpoint, if it is known.
    pub high_watermark: Option<i64>,
    /// The offset after the last batch.
    pub log_end: i64,
    /// The first offset of the oldest transaction that is open.
    pub first_open: Option<i64>,
    /// Files of a swap that did not end.
    pub unfinished: Vec<PathBuf>,
    /// What was read.
    pub counts: Counts,
    /// What breaks a rule, in the order in which it was met.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether a rule is broken. What only warns does not count.
    #[must_use]
    pub fn has_faults(&self) -> bool {
        self.findings.iter().any(|finding| finding.rule.is_fault())
    }

    /// The report for a person.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let Counts { segments, batches, old_batches, records, keys } = self.counts;
        let known = |offset: Option<i64>| offset.map_or_else(|| "not known".to_owned(), |offset| offset.to_string());
        writeln!(out, "{}", self.directory.display())?;
        writeln!(out, "{segments} segments, {batches} batches, {records} records; the log ends at {}", self.log_end)?;
        writeln!(
            out,
            "cleaner's checkpoint {}, high watermark {}, first open transaction {}",
            known(self.first_dirty),
            known(self.high_watermark),
            self.first_open.map_or_else(|| "none".to_owned(), |offset| format!("at {offset}"))
        )?;
        if old_batches > 0 {
            writeln!(out, "{old_batches} batches of a format before 2 were not looked into")?;
        }
        for path in &self.unfinished {
            writeln!(out, "{} belongs to a swap that did not end; a restart repairs it", path.display())?;
        }
        writeln!(out)?;
        for rule in Rule::ALL {
            let found: Vec<_> = self.findings.iter().filter(|finding| finding.rule == rule).collect();
            let verdict = match (found.len(), rule, self.first_dirty) {
                (0, Rule::S13 | Rule::N2, None) => "not looked at: there is no checkpoint".to_owned(),
                (0, Rule::S13, Some(_)) => format!("holds for {keys} keys"),
                (0, ..) => "holds".to_owned(),
                (count, ..) if rule.is_fault() => format!("BROKEN in {count} places"),
                (count, ..) => format!("warning: {count} places"),
            };
            writeln!(out, "{:<9} {:<72} {verdict}", rule.name(), rule.statement())?;
            for finding in found.iter().take(SHOWN) {
                writeln!(out, "          {}, byte {}: {}", finding.file.display(), finding.position, finding.text)?;
            }
            if found.len() > SHOWN {
                writeln!(out, "          and {} more; --json has them", found.len() - SHOWN)?;
            }
        }
        Ok(())
    }
}
