//! How a run ends, as a number: 0 all as expected, 1 a trace is not, 2 usage or a broken fixture or driver, 3 a stale
//! expectation list, 4 cut short. Of several, the first of 2, 4, 3, 1 that applies.

use std::process::ExitCode;

/// Why a run does not end with 0. In the order in which one takes precedence over the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Usage, a broken fixture, a broken driver, or a run that compared nothing.
    Broken,
    /// A run was cut short.
    CutShort,
    /// The expectation list is stale.
    Stale,
    /// A trace is not as expected.
    NotAsExpected,
    /// All as expected.
    AsExpected,
}

impl Exit {
    /// The number.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::AsExpected => 0,
            Self::NotAsExpected => 1,
            Self::Broken => 2,
            Self::Stale => 3,
            Self::CutShort => 4,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}
