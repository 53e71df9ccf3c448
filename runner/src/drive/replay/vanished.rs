//! Rows that a batch gave and, mapped anew, no longer gives.
//!
//! A repair leaves the rest of the target as it is, so it has to take out what its batches would no longer put in: each such
//! row becomes a delete of the version that it had. Newer versions of the record are not touched by it.

use crate::drive::mapping::Mapped;
use crate::record::{MappedOutput, OutputSchema};
use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, RecordBatch, UInt8Array, UInt32Array, UInt64Array, new_null_array,
};
use arrow::compute::{concat, concat_batches, filter, filter_record_batch};
use arrow::datatypes::{Field, Schema};
use arrow::error::ArrowError;
use arrow::row::{OwnedRow, RowConverter, SortField};
use gristmill_core::record::Operation;
use std::collections::HashSet;
use std::sync::Arc;

/// `now` with a delete for each row of `before` whose record is in no row of `now`. Outputs whose identity columns have
/// changed are left as they are: their old rows have no counterpart.
pub(super) fn with_vanished(
    before: &Mapped,
    outputs: &[OutputSchema],
    now: Vec<MappedOutput>,
) -> Result<Vec<MappedOutput>, ArrowError> {
    let mut all = Vec::with_capacity(now.len());
    for (schema, output) in outputs.iter().zip(now) {
        let old = before.outputs.iter().find(|old| old.name == output.name);
        all.push(match old {
            Some(old) => one(old, schema, output)?,
            None => output,
        });
    }
    Ok(all)
}

fn one(old: &MappedOutput, schema: &OutputSchema, now: MappedOutput) -> Result<MappedOutput, ArrowError> {
    let key = |rows: &RecordBatch| -> Option<Vec<ArrayRef>> {
        schema.identity.iter().map(|name| rows.column_by_name(name).cloned()).collect()
    };
    let (Some(old_key), Some(new_key)) = (key(&old.rows), key(&now.rows)) else { return Ok(now) };
    let types = |key: &[ArrayRef]| key.iter().map(|column| column.data_type().clone()).collect::<Vec<_>>();
    if types(&old_key) != types(&new_key) {
        return Ok(now);
    }
    let converter = RowConverter::new(types(&old_key).into_iter().map(SortField::new).collect())?;
    let there: HashSet<OwnedRow> = converter.convert_columns(&new_key)?.iter().map(|row| row.owned()).collect();
    let gone: BooleanArray =
        converter.convert_columns(&old_key)?.iter().map(|row| Some(!there.contains(&row.owned()))).collect();
    if gone.true_count() == 0 {
        return Ok(now);
    }
    let old_rows = filter_record_batch(&old.rows, &gone)?;
    let count = old_rows.num_rows();
    // A tombstone keeps its identity alone, so all other columns must allow null.
    let fields: Vec<Field> = now
        .rows
        .schema()
        .fields()
        .iter()
        .map(|field| {
            let keep = schema.identity.contains(field.name()) || field.is_nullable();
            field.as_ref().clone().with_nullable(if keep { field.is_nullable() } else { true })
        })
        .collect();
    let wide = Arc::new(Schema::new(fields));
    let columns = wide.fields().iter().map(|field| match old_rows.column_by_name(field.name()) {
        Some(column) if schema.identity.contains(field.name()) => column.clone(),
        _ => new_null_array(field.data_type(), count),
    });
    let tombstones = RecordBatch::try_new(wide.clone(), columns.collect())?;
    let rows = RecordBatch::try_new(wide.clone(), now.rows.columns().to_vec())?;
    let join = |a: &dyn Array, b: &dyn Array| concat(&[a, b]);
    let versions = join(&now.versions, &filter(&old.versions, &gone)?)?;
    let hashes = join(&now.hashes, &UInt64Array::from(vec![0; count]))?;
    let source_rows = join(&now.source_rows, &filter(&old.source_rows, &gone)?)?;
    let operations = join(&now.operations, &UInt8Array::from(vec![Operation::Delete.code(); count]))?;
    let cast = |array: ArrayRef| array.to_data();
    Ok(MappedOutput {
        name: now.name,
        rows: concat_batches(&wide, [&rows, &tombstones])?,
        operations: UInt8Array::from(cast(operations)),
        versions: BinaryArray::from(cast(versions)),
        hashes: UInt64Array::from(cast(hashes)),
        source_rows: UInt32Array::from(cast(source_rows)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Int64Array, StringArray};
    use arrow::datatypes::{DataType, Int64Type};
    use gristmill_core::digest::Digest;

    fn output(rows: &[(i64, &str, u8)]) -> MappedOutput {
        let schema =
            Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("name", DataType::Utf8, false)]);
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
        let names: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1)));
        MappedOutput {
            name: "out".into(),
            rows: RecordBatch::try_new(Arc::new(schema), vec![ids, names]).unwrap(),
            operations: UInt8Array::from(vec![Operation::Insert.code(); rows.len()]),
            versions: BinaryArray::from_iter_values(rows.iter().map(|row| [row.2])),
            hashes: UInt64Array::from(vec![7; rows.len()]),
            source_rows: UInt32Array::from_iter_values(0..rows.len() as u32),
        }
    }

    fn vanished(before: &[(i64, &str, u8)], now: &[(i64, &str, u8)]) -> MappedOutput {
        let before =
            Mapped { outputs: vec![output(before)], digest: Digest::of(b""), dead_letters: vec![], messages: vec![] };
        let now = output(now);
        let schema = OutputSchema {
            name: "out".into(),
            table: "out".into(),
            schema: now.rows.schema(),
            identity: vec!["id".into()],
        };
        with_vanished(&before, &[schema], vec![now]).unwrap().remove(0)
    }

    #[test]
    fn rows_that_are_no_longer_made_become_deletes_of_their_version() {
        let output = vanished(&[(1, "a", 1), (2, "b", 2), (3, "c", 3)], &[(1, "x", 1), (4, "d", 4)]);
        assert_eq!(output.rows.column(0).as_primitive::<Int64Type>().values(), &[1, 4, 2, 3]);
        let (insert, delete) = (Operation::Insert.code(), Operation::Delete.code());
        assert_eq!(output.operations.values(), &[insert, insert, delete, delete]);
        assert_eq!((output.versions.value(2), output.versions.value(3)), ([2].as_slice(), [3].as_slice()));
        assert!(output.rows.column(1).is_null(2), "a tombstone keeps its identity alone");
        assert_eq!(output.source_rows.values(), &[0, 1, 1, 2]);
    }

    #[test]
    fn rows_that_are_still_made_stay_as_they_are() {
        let rows = [(1, "a", 1), (2, "b", 2)];
        let output = vanished(&rows, &rows);
        assert_eq!((output.rows.num_rows(), output.rows.schema().field(1).is_nullable()), (2, false));
    }
}
