//! Pages as the source gave them, kept beside their batches so that normalize can run again.

use super::StoreError;
use super::batches::{encode_rows, unreadable, whole};
use crate::record::{OriginRun, Origins, Page};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, UInt8Type, UInt64Type};
use bytes::Bytes;
use std::sync::Arc;

const OPERATION: &str = "gristmill_operation";
const OBJECT: &str = "gristmill_object";
const OBJECT_SEQUENCE: &str = "gristmill_object_sequence";
const RECORD: &str = "gristmill_record";
const LINE: &str = "gristmill_line";
/// Columns after the source's.
const OWN: usize = 5;

/// What normalize takes of a page.
#[derive(Debug)]
pub struct RawRows {
    pub rows: RecordBatch,
    pub operations: arrow::array::UInt8Array,
    pub origins: Origins,
}

/// The page as Parquet: the source's columns, then where each row comes from.
pub(super) fn encode(page: &Page) -> Result<Bytes, StoreError> {
    let rows = page.rows.num_rows();
    let mut objects = Vec::with_capacity(rows);
    let mut sequences = Vec::with_capacity(rows);
    let runs = &page.origins.objects;
    for (place, run) in runs.iter().enumerate() {
        let end = runs.get(place + 1).map_or(rows, |next| next.first_row);
        for _ in run.first_row..end {
            objects.push(run.object.as_ref());
            sequences.push(run.object_sequence);
        }
    }
    let lines: UInt64Array = match &page.origins.lines {
        Some(lines) => lines.clone(),
        None => UInt64Array::new_null(rows),
    };
    let own: [(&str, DataType, bool, ArrayRef); OWN] = [
        (OPERATION, DataType::UInt8, false, Arc::new(page.operations.clone())),
        (OBJECT, DataType::Utf8, false, Arc::new(StringArray::from_iter_values(objects))),
        (OBJECT_SEQUENCE, DataType::UInt64, false, Arc::new(UInt64Array::from(sequences))),
        (RECORD, DataType::UInt64, false, Arc::new(page.origins.records.clone())),
        (LINE, DataType::UInt64, true, Arc::new(lines)),
    ];
    let mut fields = page.rows.schema().fields().to_vec();
    let mut columns = page.rows.columns().to_vec();
    for (name, data_type, nullable, column) in own {
        fields.push(Arc::new(Field::new(name, data_type, nullable)));
        columns.push(column);
    }
    let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|e| StoreError::Io {
        doing: "encoding a page".into(),
        transient: false,
        source: e.into(),
    })?;
    encode_rows(&rows, &[])
}

/// Reads a page back; `what` names its file.
pub(super) fn decode(what: &str, data: Bytes) -> Result<RawRows, StoreError> {
    let read = || -> Result<RawRows, String> {
        let all = whole(data)?;
        let width = all.num_columns().checked_sub(OWN).ok_or("it has no bookkeeping columns")?;
        let own = |name: &str, data_type: &DataType| {
            let column = all.column_by_name(name).filter(|column| column.data_type() == data_type);
            column.ok_or(format!("it has no column {name}"))
        };
        let objects = own(OBJECT, &DataType::Utf8)?.as_string::<i32>();
        let sequences = own(OBJECT_SEQUENCE, &DataType::UInt64)?.as_primitive::<UInt64Type>();
        let mut runs: Vec<OriginRun> = Vec::new();
        for row in 0..all.num_rows() {
            let (object, object_sequence) = (objects.value(row), sequences.value(row));
            if runs.last().is_none_or(|run| (&*run.object, run.object_sequence) != (object, object_sequence)) {
                runs.push(OriginRun { first_row: row, object: object.into(), object_sequence });
            }
        }
        let lines = own(LINE, &DataType::UInt64)?.as_primitive::<UInt64Type>();
        let has_lines = lines.null_count() < lines.len() || lines.is_empty();
        Ok(RawRows {
            operations: own(OPERATION, &DataType::UInt8)?.as_primitive::<UInt8Type>().clone(),
            origins: Origins {
                objects: runs,
                records: own(RECORD, &DataType::UInt64)?.as_primitive::<UInt64Type>().clone(),
                lines: has_lines.then(|| lines.clone()),
            },
            rows: all.project(&(0..width).collect::<Vec<_>>()).map_err(|e| e.to_string())?,
        })
    };
    read().map_err(unreadable(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, UInt8Array};
    use gristmill_core::cursor::Cursor;

    #[test]
    fn pages_come_back_as_they_were() {
        let rows =
            RecordBatch::try_from_iter([("a", Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])) as ArrayRef)]);
        let run =
            |first_row, object: &str, object_sequence| OriginRun { first_row, object: object.into(), object_sequence };
        for lines in [None, Some(UInt64Array::from(vec![2, 4, 2]))] {
            let page = Page {
                rows: rows.as_ref().unwrap().clone(),
                operations: UInt8Array::from(vec![0, 1, 2]),
                origins: Origins {
                    objects: vec![run(0, "a.csv", 1), run(2, "b.csv", 2)],
                    records: UInt64Array::from(vec![0, 2, 0]),
                    lines: lines.clone(),
                },
                dead_letters: vec![],
                cursor_from: Cursor::Start,
                cursor_to: Cursor::Start,
                state: Default::default(),
            };
            let back = decode("raw", encode(&page).unwrap()).unwrap();
            assert_eq!(back.rows, page.rows);
            assert_eq!(back.operations, page.operations);
            assert_eq!(back.origins.records, page.origins.records);
            assert_eq!(back.origins.lines, lines);
            let runs: Vec<_> =
                back.origins.objects.iter().map(|r| (r.first_row, &*r.object, r.object_sequence)).collect();
            assert_eq!(runs, [(0, "a.csv", 1), (2, "b.csv", 2)]);
        }
        assert!(matches!(decode("raw", Bytes::from_static(b"nothing")), Err(StoreError::Damaged { .. })));
    }
}
