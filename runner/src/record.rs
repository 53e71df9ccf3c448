//! What flows through the runner: pages, change records, mapped rows. All columnar, none durable.

use arrow::array::{BinaryArray, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow::datatypes::SchemaRef;
use gristmill_core::cursor::Cursor;
use gristmill_core::dead_letter::DeadLetter;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one source read returned; not durable.
#[derive(Debug, Clone)]
pub struct Page {
    /// Columns of [`crate::source::Source::schema`].
    pub rows: RecordBatch,
    /// [`gristmill_core::record::Operation`] code of each row.
    pub operations: UInt8Array,
    pub origins: Origins,
    /// Records that the source itself could not accept. They count as read.
    pub dead_letters: Vec<DeadLetter>,
    /// Where this page starts: the `cursor_to` of the page before.
    pub cursor_from: Cursor,
    /// Where reading goes on once this page is committed.
    pub cursor_to: Cursor,
    /// Changes of the source's logical state that hold once this page is committed; written in one transaction with
    /// the cursor. A value of `None` removes the key.
    pub state: BTreeMap<String, Option<String>>,
}

/// Where each row of a page comes from.
#[derive(Debug, Clone)]
pub struct Origins {
    /// Runs of rows of one object, in row order; the first starts at row 0.
    pub objects: Vec<OriginRun>,
    /// Ordinal of each row in its object, from 0; refused records keep theirs.
    pub records: UInt64Array,
    /// Line of each row in its object, from 1; none for formats without lines.
    pub lines: Option<UInt64Array>,
}

impl Origins {
    /// The run that a row lies in.
    pub fn run_of(&self, row: usize) -> &OriginRun {
        let after = self.objects.partition_point(|run| run.first_row <= row);
        &self.objects[after - 1]
    }
}

/// A run of rows of one object.
#[derive(Debug, Clone)]
pub struct OriginRun {
    pub first_row: usize,
    pub object: Arc<str>,
    /// The place of this object version in the order of reading: the major part of a position version.
    pub object_sequence: u64,
}

/// The canonical records of a batch: what normalize made, as stored.
#[derive(Debug, Clone)]
pub struct ChangeRecords {
    /// Payload columns, in the order of the task's schema.
    pub rows: RecordBatch,
    /// [`gristmill_core::record::Operation`] code of each record.
    pub operations: UInt8Array,
    /// Source version of each record ([`gristmill_core::version`]); no nulls.
    pub versions: BinaryArray,
}

/// A table that the mapper fills.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    /// The mapper's name for it.
    pub name: String,
    /// The target's name for it: a table of a database, a folder of a dataset.
    pub table: String,
    pub schema: SchemaRef,
    /// Columns that name a record of the target; at least one, all present in `schema`.
    pub identity: Vec<String>,
}

/// Rows for one output of the mapper.
#[derive(Debug, Clone)]
pub struct MappedOutput {
    pub name: String,
    pub rows: RecordBatch,
    /// Per row, as in [`ChangeRecords`].
    pub operations: UInt8Array,
    pub versions: BinaryArray,
    /// Content hash of each row ([`crate::content`]).
    pub hashes: UInt64Array,
    /// The record of the batch that each row comes from.
    pub source_rows: UInt32Array,
}
