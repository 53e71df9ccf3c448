//! Records of dead letters that go through together.

use crate::record::{ChangeRecords, OriginRun, Origins, Page};
use arrow::array::{Array, AsArray, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow::compute::{concat, concat_batches, take, take_record_batch};
use arrow::datatypes::{SchemaRef, UInt8Type, UInt64Type};
use arrow::error::ArrowError;
use gristmill_core::cursor::Cursor;

/// Rows, and the letter that each of them is.
#[derive(Debug)]
pub(super) struct Part {
    pub rows: Rows,
    pub letters: Vec<i64>,
}

/// How far the records have come before.
#[derive(Debug)]
pub(super) enum Rows {
    /// As the source gives them.
    Page(Page),
    /// As a stored batch has them.
    Records(ChangeRecords),
}

impl Part {
    pub fn len(&self) -> usize {
        self.letters.len()
    }

    /// The size of the values in memory, at most.
    pub fn bytes(&self) -> usize {
        match &self.rows {
            Rows::Page(page) => page.rows.get_array_memory_size(),
            Rows::Records(records) => records.rows.get_array_memory_size(),
        }
    }

    /// Some of the rows.
    pub fn select(&self, rows: &[u32]) -> Result<Self, ArrowError> {
        let letters = rows.iter().map(|row| self.letters[*row as usize]).collect();
        Ok(Self {
            rows: match &self.rows {
                Rows::Page(page) => Rows::Page(select_page(page, rows)?),
                Rows::Records(records) => Rows::Records(select_records(records, rows)?),
            },
            letters,
        })
    }

    /// Parts of one kind as one; none of none. `schema` is that of a page's rows.
    pub fn concat(parts: Vec<Self>, schema: &SchemaRef) -> Result<Option<Self>, ArrowError> {
        let (mut pages, mut records, mut letters) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            letters.extend(part.letters);
            match part.rows {
                Rows::Page(page) => pages.push(page),
                Rows::Records(of_batch) => records.push(of_batch),
            }
        }
        let rows = match records.first() {
            Some(first) => Rows::Records(concat_records(&first.rows.schema(), &records)?),
            None if pages.is_empty() => return Ok(None),
            None => Rows::Page(concat_pages(&pages, schema)?),
        };
        Ok(Some(Self { rows, letters }))
    }
}

pub(super) fn select_records(records: &ChangeRecords, rows: &[u32]) -> Result<ChangeRecords, ArrowError> {
    let rows = UInt32Array::from(rows.to_vec());
    Ok(ChangeRecords {
        rows: take_record_batch(&records.rows, &rows)?,
        operations: take(&records.operations, &rows, None)?.as_primitive::<UInt8Type>().clone(),
        versions: take(&records.versions, &rows, None)?.as_binary::<i32>().clone(),
    })
}

fn concat_records(schema: &SchemaRef, records: &[ChangeRecords]) -> Result<ChangeRecords, ArrowError> {
    let all = |of: fn(&ChangeRecords) -> &dyn Array| concat(&records.iter().map(of).collect::<Vec<_>>());
    Ok(ChangeRecords {
        rows: concat_batches(schema, records.iter().map(|records| &records.rows))?,
        operations: all(|records| &records.operations)?.as_primitive::<UInt8Type>().clone(),
        versions: all(|records| &records.versions)?.as_binary::<i32>().clone(),
    })
}

/// A page that stands nowhere in the source.
pub(super) fn page(rows: RecordBatch, operations: UInt8Array, origins: Origins) -> Page {
    let state = std::collections::BTreeMap::new();
    let (cursor_from, cursor_to) = (Cursor::Start, Cursor::Start);
    Page { rows, operations, origins, dead_letters: Vec::new(), cursor_from, cursor_to, state }
}

fn select_page(from: &Page, rows: &[u32]) -> Result<Page, ArrowError> {
    let origins = &from.origins;
    let mut objects = Vec::<OriginRun>::new();
    for (place, row) in rows.iter().enumerate() {
        let run = origins.run_of(*row as usize);
        let same = |last: &OriginRun| (&last.object, last.object_sequence) == (&run.object, run.object_sequence);
        if !objects.last().is_some_and(same) {
            objects.push(OriginRun { first_row: place, ..run.clone() });
        }
    }
    let rows = UInt32Array::from(rows.to_vec());
    let numbers =
        |from: &UInt64Array| Ok::<_, ArrowError>(take(from, &rows, None)?.as_primitive::<UInt64Type>().clone());
    Ok(page(
        take_record_batch(&from.rows, &rows)?,
        take(&from.operations, &rows, None)?.as_primitive::<UInt8Type>().clone(),
        Origins {
            objects,
            records: numbers(&origins.records)?,
            lines: origins.lines.as_ref().map(numbers).transpose()?,
        },
    ))
}

fn concat_pages(pages: &[Page], schema: &SchemaRef) -> Result<Page, ArrowError> {
    let (mut objects, mut operations, mut records) = (Vec::new(), Vec::new(), Vec::new());
    let mut lines = Some(Vec::new());
    for page in pages {
        let before = records.len();
        let moved = |run: &OriginRun| OriginRun { first_row: run.first_row + before, ..run.clone() };
        objects.extend(page.origins.objects.iter().map(moved));
        operations.extend_from_slice(page.operations.values());
        records.extend_from_slice(page.origins.records.values());
        match (&mut lines, &page.origins.lines) {
            (Some(lines), Some(more)) => lines.extend_from_slice(more.values()),
            _ => lines = None,
        }
    }
    Ok(page(
        concat_batches(schema, pages.iter().map(|page| &page.rows))?,
        UInt8Array::from(operations),
        Origins { objects, records: UInt64Array::from(records), lines: lines.map(UInt64Array::from) },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int32Array};
    use std::sync::Arc;

    fn some_page(object: &str, sequence: u64, values: std::ops::Range<i32>) -> Page {
        let numbers: Vec<u64> = values.clone().map(|value| value as u64 + 100).collect();
        let count = numbers.len();
        let column: ArrayRef = Arc::new(Int32Array::from_iter_values(values));
        page(
            RecordBatch::try_from_iter([("a", column)]).unwrap(),
            UInt8Array::from(vec![1; count]),
            Origins {
                objects: vec![OriginRun { first_row: 0, object: object.into(), object_sequence: sequence }],
                lines: Some(numbers.iter().map(|n| n + 1).collect::<Vec<_>>().into()),
                records: numbers.into(),
            },
        )
    }

    fn origins(page: &Page) -> Vec<(String, u64, u64)> {
        let row = |row| (page.origins.run_of(row), page.origins.records.value(row));
        (0..page.rows.num_rows())
            .map(row)
            .map(|(run, record)| (run.object.to_string(), run.object_sequence, record))
            .collect()
    }

    #[test]
    fn rows_keep_letters_and_origins() {
        let part = |page: Page, letters: &[i64]| Part { rows: Rows::Page(page), letters: letters.to_vec() };
        let (first, second) = (some_page("a", 1, 0..3), some_page("b", 4, 3..5));
        let schema = first.rows.schema();
        let all = Part::concat(vec![part(first, &[7, 8, 9]), part(second, &[20, 21])], &schema).unwrap().unwrap();
        let some = all.select(&[4, 1, 2]).unwrap();
        assert_eq!(some.letters, [21, 8, 9]);
        let Rows::Page(page) = &some.rows else { panic!("a page stays one") };
        assert_eq!(origins(page), [("b".into(), 4, 104), ("a".into(), 1, 101), ("a".into(), 1, 102)]);
        assert_eq!(page.origins.objects.len(), 2, "rows of one object are one run");
        assert_eq!(page.origins.lines.as_ref().unwrap().values(), &[105, 102, 103]);
        assert_eq!(page.rows.column(0).as_primitive::<arrow::datatypes::Int32Type>().values(), &[4, 1, 2]);
    }
}
