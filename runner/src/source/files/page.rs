//! A page under construction.

use super::chunk::{Budget, Chunk};
use crate::record::{OriginRun, Origins, Page};
use crate::source::{PageLimits, SourceError};
use arrow::array::{RecordBatch, UInt8Array, UInt64Array};
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use gristmill_core::cursor::{Cursor, FilesCursor};
use gristmill_core::dead_letter::{DeadLetter, RecordPosition, RefusedAt};
use gristmill_core::record::Operation;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) struct PageBuilder {
    schema: SchemaRef,
    limits: PageLimits,
    has_lines: bool,
    batches: Vec<RecordBatch>,
    operations: Vec<u8>,
    objects: Vec<OriginRun>,
    records: Vec<u64>,
    lines: Vec<u64>,
    dead_letters: Vec<DeadLetter>,
    bytes: usize,
    has_moved: bool,
}

impl PageBuilder {
    pub fn new(schema: SchemaRef, has_lines: bool, limits: PageLimits) -> Self {
        Self {
            schema,
            limits,
            has_lines,
            batches: Vec::new(),
            operations: Vec::new(),
            objects: Vec::new(),
            records: Vec::new(),
            lines: Vec::new(),
            dead_letters: Vec::new(),
            bytes: 0,
            has_moved: false,
        }
    }

    fn count(&self) -> usize {
        self.records.len() + self.dead_letters.len()
    }

    pub fn budget(&self) -> Budget {
        Budget {
            rows: self.limits.max_rows.max(1).saturating_sub(self.count()),
            bytes: self.limits.max_bytes.saturating_sub(self.bytes),
            page_is_empty: self.count() == 0,
        }
    }

    pub fn is_full(&self) -> bool {
        self.count() >= self.limits.max_rows.max(1) || self.count() > 0 && self.bytes >= self.limits.max_bytes
    }

    /// Whether the page says anything: it has records, or a file was finished.
    pub const fn has_moved(&self) -> bool {
        self.has_moved
    }

    pub fn add(&mut self, chunk: Chunk, cursor: &FilesCursor, operation: Operation) {
        self.has_moved = true;
        let (object, object_sequence) = (&cursor.file.path, cursor.file_sequence);
        let dead_letters = chunk.refused.into_iter().map(|refused| DeadLetter {
            refused_at: RefusedAt::Source,
            class: refused.class,
            code: refused.class.as_str().to_owned(),
            field: refused.field,
            output: None,
            position: RecordPosition::Source {
                object: object.clone(),
                object_sequence,
                record: refused.record,
                line: refused.line,
            },
            message: refused.message,
        });
        self.dead_letters.extend(dead_letters);
        if chunk.records.is_empty() {
            return;
        }
        self.objects.push(OriginRun {
            first_row: self.records.len(),
            object: Arc::from(object.as_str()),
            object_sequence,
        });
        self.operations.resize(self.operations.len() + chunk.records.len(), operation.code());
        self.records.extend(chunk.records);
        self.lines.extend(chunk.lines);
        self.bytes += chunk.bytes;
        self.batches.push(chunk.rows);
    }

    pub fn finish(
        self,
        cursor_from: Cursor,
        cursor_to: Cursor,
        state: BTreeMap<String, Option<String>>,
    ) -> Result<Page, SourceError> {
        let rows = match <[RecordBatch; 1]>::try_from(self.batches) {
            Ok([rows]) => Ok(rows),
            Err(batches) => concat_batches(&self.schema, &batches),
        };
        let rows = rows.map_err(|_| SourceError::Permanent {
            what: "the rows of a page do not make a batch".into(),
            hint: "lower `max_bytes` of a batch to less than 2 GiB".into(),
        })?;
        Ok(Page {
            rows,
            operations: UInt8Array::from(self.operations),
            origins: Origins {
                objects: self.objects,
                records: UInt64Array::from(self.records),
                lines: self.has_lines.then(|| UInt64Array::from(self.lines)),
            },
            dead_letters: self.dead_letters,
            cursor_from,
            cursor_to,
            state,
        })
    }
}
