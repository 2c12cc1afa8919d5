//! The verdict matrix: what every configuration is expected to give, as data.
//!
//! One file a protocol, `model/matrix/PROTOCOL.yaml`, written by `check --bless` and reviewed like code. `check` fails on
//! any difference, a smaller state space included: a change of meaning that no property notices changes a number here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fencepost_fixtures::error::Place;
use fencepost_fixtures::yaml;
use serde::{Deserialize, Serialize};

use crate::walks::Walks;

/// The matrix of one protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// A row for each configuration, in the order of the catalogue.
    pub rows: Vec<Row>,
    /// The labels that no step has in what the smoke run looks at. The full run has to reach every label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels_beyond_smoke: Vec<String>,
    /// The properties whose antecedent no state of a smoke configuration meets. The full run has to meet every one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub antecedents_beyond_smoke: Vec<String>,
}

/// What one configuration is expected to give.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The configuration's name.
    pub configuration: String,
    /// The random walks that were taken, where the states can't be exhausted. The row then says what they met, and no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Walks>,
    /// How many states differ.
    pub unique: u64,
    /// How many states are made, the initial one included; on walks, one of each walk.
    pub generated: u64,
    /// The properties that fail, each with the length of the shortest path to a violation (of those that walks
    /// met, where it is simulated), in steps. All others hold.
    pub fails: BTreeMap<String, u64>,
    /// The properties that hold because no state here meets their antecedent. Each must be met by another row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vacuous: Vec<String>,
}

/// Why the matrix could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a matrix.
    #[error("{}{}: {message}", path.display(), place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Option<Place>,
        /// What is wrong.
        message: String,
    },
}

impl Matrix {
    /// The file of a protocol's matrix.
    #[must_use]
    pub fn file(directory: &Path, protocol: &str) -> PathBuf {
        directory.join(format!("{protocol}.yaml"))
    }

    /// Reads a protocol's matrix. A file that is not there is an empty matrix: every configuration is then missing in it.
    pub fn read(directory: &Path, protocol: &str) -> Result<Self, MatrixError> {
        let path = Self::file(directory, protocol);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(MatrixError::File { path, source }),
        };
        yaml::from_str(&text).map_err(|error| MatrixError::Syntax { path, place: error.place, message: error.message })
    }

    /// Writes a protocol's matrix. Returns whether the file changed.
    pub fn write(&self, directory: &Path, protocol: &str) -> Result<bool, MatrixError> {
        let path = Self::file(directory, protocol);
        let text = yaml::to_string(self).map_err(|error| MatrixError::Syntax {
            path: path.clone(),
            place: None,
            message: error.message,
        })?;
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(false);
        }
        let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, text));
        written.map(|()| true).map_err(|source| MatrixError::File { path, source })
    }

    /// The row of a configuration.
    #[must_use]
    pub fn row(&self, configuration: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.configuration == configuration)
    }
}
