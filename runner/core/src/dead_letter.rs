//! Records that could not be accepted.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What was wrong, as a fixed word: the operator counts and filters by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeadLetterClass {
    /// A record with more or fewer fields than the schema.
    FieldCount,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// Text that is not a value of the column's type.
    UnparsableValue,
    /// A field or record over its size limit.
    OverSize,
    /// A record that is not well-formed in the file's format.
    Malformed,
    /// The identity or the source version is null.
    MissingKey,
    /// The transform refused the row.
    Rejected,
    /// The transform trapped, looped or broke its limits on this row alone.
    PoisonRow,
    /// The target holds the same version of this record with other content.
    VersionConflict,
    /// The target cannot hold the value.
    TargetRefused,
}

impl DeadLetterClass {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FieldCount => "field-count",
            Self::InvalidUtf8 => "invalid-utf8",
            Self::UnparsableValue => "unparsable-value",
            Self::OverSize => "over-size",
            Self::Malformed => "malformed",
            Self::MissingKey => "missing-key",
            Self::Rejected => "rejected",
            Self::PoisonRow => "poison-row",
            Self::VersionConflict => "version-conflict",
            Self::TargetRefused => "target-refused",
        }
    }
}
impl fmt::Display for DeadLetterClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where in the run a record was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefusedAt {
    Source,
    Normalize,
    Migrate,
    Map,
    Sink,
}

impl fmt::Display for RefusedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Normalize => "normalize",
            Self::Migrate => "migrate",
            Self::Map => "map",
            Self::Sink => "sink",
        })
    }
}

/// Where the record is to be found again. Never the record itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "in")]
pub enum RecordPosition {
    /// In a source object: its path, the version's place in the reading order, the record (from 0) and, for text, the line (from 1).
    #[serde(rename_all = "camelCase")]
    Source {
        object: String,
        object_sequence: u64,
        record: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
    },
    /// In a stored batch: the row, from 0.
    Batch { row: u32 },
}

impl fmt::Display for RecordPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source { object, line: Some(line), .. } => write!(f, "{object}:{line}"),
            Self::Source { object, record, .. } => write!(f, "{object}#{record}"),
            Self::Batch { row } => write!(f, "row {row} of the batch"),
        }
    }
}

/// A record that cannot be accepted: its class, place and redacted diagnosis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    pub refused_at: RefusedAt,
    pub class: DeadLetterClass,
    /// The transform's own word for it, such as `bad-time`; the class where there is none.
    pub code: String,
    /// The column at fault.
    pub field: Option<String>,
    /// The name of the mapper's output, for `map` and `sink`.
    pub output: Option<String>,
    pub position: RecordPosition,
    /// For people. Says lengths and types, never values.
    pub message: String,
}

/// What became of a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LetterState {
    /// It waits for a replay or a decision. Set when the record is refused.
    Open,
    /// Its record went through. Set together with the receipt of the batch that carried it.
    Replayed,
    /// A person has decided to do without it.
    Discarded,
}

impl LetterState {
    pub const ALL: [Self; 3] = [Self::Open, Self::Replayed, Self::Discarded];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Replayed => "REPLAYED",
            Self::Discarded => "DISCARDED",
        }
    }
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// The longest message that is kept, in bytes.
pub const MESSAGE_MAX_BYTES: usize = 512;

/// Cuts at a character boundary so that a foreign text cannot fill the state store.
pub fn bounded(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

/// When dead letters stop a task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DeadLetterLimit {
    /// Dead letters over records read, in 0..=1, judged over the whole history of the task.
    pub max_ratio: Option<f64>,
    /// Dead letters in the whole history of the task.
    pub max_records: Option<u64>,
}

/// Below this many records a ratio says little: one bad row in three is not a third of the source.
pub const RATIO_NEEDS_RECORDS: u64 = 1000;

impl DeadLetterLimit {
    /// Judges one page by itself: a ratio says little about few records, but when not one of several is acceptable it is
    /// the configuration that is wrong, and the file should not count as read.
    pub fn page_refused(&self, dead: u64, read: u64) -> Option<String> {
        (self.max_ratio.is_some_and(|max| max < 1.0) && read > 1 && dead >= read)
            .then(|| format!("none of the {read} records in hand could be accepted"))
    }

    /// Judges totals that already include the page or batch in hand. None: go on.
    pub fn exceeded(&self, dead: u64, read: u64) -> Option<String> {
        if let Some(max) = self.max_records.filter(|max| dead > *max) {
            return Some(format!("{dead} dead letters, more than max_records {max}"));
        }
        let max = self.max_ratio?;
        let allowed = max * read.max(RATIO_NEEDS_RECORDS) as f64;
        (dead as f64 > allowed).then(|| format!("{dead} dead letters in {read} records, more than max_ratio {max}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        let limit = DeadLetterLimit { max_ratio: Some(0.01), max_records: Some(50) };
        assert_eq!(limit.exceeded(10, 10), None, "ten of the first thousand may be bad");
        assert!(limit.exceeded(11, 1000).is_some());
        assert_eq!(limit.exceeded(50, 1_000_000), None);
        assert!(limit.exceeded(51, 1_000_000).is_some());
        assert!(limit.page_refused(3, 3).is_some(), "a page of which nothing is left");
        assert_eq!(limit.page_refused(2, 3), None);
        assert_eq!(limit.page_refused(1, 1), None, "a single bad record is just that");
        let none = DeadLetterLimit { max_ratio: Some(0.0), max_records: None };
        assert!(none.exceeded(1, 1_000_000).is_some());
        assert_eq!(none.exceeded(0, 1), None);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(bounded("abc", 3), "abc");
        assert_eq!(bounded("aé", 2), "a…");
    }
}
