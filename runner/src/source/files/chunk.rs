//! What a format's reader gives: a run of records of one file.

use crate::source::SourceError;
use arrow::array::RecordBatch;
use gristmill_core::cursor::FilePosition;
use gristmill_core::dead_letter::DeadLetterClass;

/// Before a record of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub record: u64,
    /// In the uncompressed content; 0 for formats that are not read front to back.
    pub byte: u64,
    /// From 1.
    pub line: u64,
}

impl Position {
    pub const START: Self = Self { record: 0, byte: 0, line: 1 };
}

impl From<Position> for FilePosition {
    fn from(at: Position) -> Self {
        Self::At { record: at.record, byte: at.byte, line: at.line }
    }
}

/// What a page has room for. Refused records count as rows: they take memory, too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    pub rows: usize,
    pub bytes: usize,
    /// The page holds no record yet: the first may exceed `bytes`.
    pub page_is_empty: bool,
}

impl Budget {
    /// Whether a record of `size` still fits after `count` records of `bytes` in all.
    pub const fn fits(&self, count: usize, bytes: usize, size: usize) -> bool {
        count < self.rows && (bytes.saturating_add(size) <= self.bytes || count == 0 && self.page_is_empty)
    }
}

/// A record that cannot be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub record: u64,
    pub line: Option<u64>,
    pub class: DeadLetterClass,
    pub field: Option<String>,
    /// Says lengths and types, never values.
    pub message: String,
}

/// A run of records.
pub(super) struct Chunk {
    pub rows: RecordBatch,
    /// Ordinal of each row.
    pub records: Vec<u64>,
    /// Line of each row; empty for formats without lines.
    pub lines: Vec<u64>,
    pub refused: Vec<Refused>,
    /// Size of the rows, see [`super::measure`].
    pub bytes: usize,
    /// After the last record of the chunk.
    pub at: Position,
    /// Nothing is left in the file. When false, the budget is used up.
    pub ended: bool,
}

/// Reads the records of one file, front to back.
pub(super) trait RecordReader: Send {
    /// The next records, as many as fit.
    fn read(&mut self, budget: Budget) -> Result<Chunk, SourceError>;
}
