//! Which columns of paired rows differ, and what of a row may be shown.

use super::report::{Cell, ChangedCell, Example, ExampleKind};
use super::{OPERATION, VERSION};
use crate::content::{row_hashes, type_text};
use crate::record::MappedOutput;
use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use gristmill_core::id::BatchId;
use gristmill_core::record::Operation;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What stands for a value that may not be shown.
const REDACTED: &str = "‹redacted›";
/// A longer value is cut.
const VALUE_MAX_CHARS: usize = 60;

/// The values at some rows.
pub(super) fn taken(column: &dyn Array, rows: &UInt32Array) -> Result<ArrayRef, ArrowError> {
    take(column, rows, None)
}

/// Where two columns of one logical type differ; null is a value like others here.
pub(super) fn differs(old: &ArrayRef, new: &ArrayRef) -> Result<BooleanArray, ArrowError> {
    let new = if old.data_type() == new.data_type() { new.clone() } else { cast(new, old.data_type())? };
    let flat = match old.data_type() {
        DataType::Dictionary(_, values) => !values.is_nested(),
        other => !other.is_nested(),
    };
    if flat {
        return distinct(old, &new);
    }
    // What a list or struct says, whatever its layout.
    let hashes = |column: &ArrayRef| -> Result<_, ArrowError> {
        let schema = Schema::new(vec![Field::new("value", column.data_type().clone(), true)]);
        Ok(row_hashes(&RecordBatch::try_new(Arc::new(schema), vec![column.clone()])?))
    };
    distinct(&hashes(old)?, &hashes(&new)?)
}

/// How the columns of an output differ, one sentence each.
pub(super) fn schema_differences(old: &Schema, new: &Schema) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for field in old.fields() {
        let name = field.name();
        match new.field_with_name(name) {
            Err(_) => {
                found.insert(format!("column `{name}` is gone"));
            }
            Ok(other) => {
                let (was, is) = (type_text(field.data_type()), type_text(other.data_type()));
                if was != is {
                    found.insert(format!("column `{name}`: {was} → {is}"));
                }
                if field.is_nullable() != other.is_nullable() {
                    let now = if other.is_nullable() { "can be null now" } else { "is never null now" };
                    found.insert(format!("column `{name}` {now}"));
                }
            }
        }
    }
    for field in new.fields().iter().filter(|field| old.field_with_name(field.name()).is_err()) {
        found.insert(format!("column `{}` is new: {}", field.name(), type_text(field.data_type())));
    }
    let shared = |schema: &Schema, other: &Schema| {
        let names = schema.fields().iter().map(|field| field.name().clone());
        names.filter(|name| other.field_with_name(name).is_ok()).collect::<Vec<_>>()
    };
    if shared(old, new) != shared(new, old) {
        found.insert("its columns are in another order".into());
    }
    found
}

/// What may be shown of rows.
pub(super) struct Shown<'a> {
    pub batch: BatchId,
    pub identity: &'a [String],
    pub redact: &'a BTreeSet<String>,
}

impl Shown<'_> {
    /// Rows that only one side has, by their identities.
    pub fn rows(&self, kind: ExampleKind, output: &MappedOutput, rows: &[u32]) -> Result<Vec<Example>, ArrowError> {
        let example = |row: &u32| {
            Ok(Example {
                kind,
                batch: self.batch,
                identity: self.identity(output, *row as usize)?,
                columns: Vec::new(),
            })
        };
        rows.iter().map(example).collect()
    }

    /// A row that both sides have, with the columns that differ.
    pub fn change(
        &self,
        old: &MappedOutput,
        new: &MappedOutput,
        (old_row, new_row): (usize, usize),
        columns: &[&str],
    ) -> Result<Example, ArrowError> {
        let mut changed = Vec::with_capacity(columns.len());
        for column in columns {
            changed.push(ChangedCell {
                column: (*column).to_owned(),
                old: self.value(old, column, old_row)?,
                new: self.value(new, column, new_row)?,
            });
        }
        let identity = self.identity(new, new_row)?;
        Ok(Example { kind: ExampleKind::Changed, batch: self.batch, identity, columns: changed })
    }

    fn identity(&self, output: &MappedOutput, row: usize) -> Result<Vec<Cell>, ArrowError> {
        let cell = |name: &String| Ok(Cell { column: name.clone(), value: self.value(output, name, row)? });
        self.identity.iter().map(cell).collect()
    }

    fn value(&self, output: &MappedOutput, column: &str, row: usize) -> Result<String, ArrowError> {
        if self.redact.contains(column) {
            return Ok(REDACTED.to_owned());
        }
        match column {
            OPERATION => {
                let operation = Operation::from_code(output.operations.value(row));
                return Ok(operation.map_or("unknown", operation_text).to_owned());
            }
            VERSION => return Ok(output.versions.value(row).iter().map(|b| format!("{b:02x}")).collect()),
            _ => {}
        }
        match output.rows.column_by_name(column) {
            Some(values) => text(values, row),
            None => Ok("no such column".into()),
        }
    }
}

const fn operation_text(operation: Operation) -> &'static str {
    match operation {
        Operation::Insert => "insert",
        Operation::Update => "update",
        Operation::Delete => "delete",
    }
}

/// A value on one line, cut to a bounded length.
fn text(values: &ArrayRef, row: usize) -> Result<String, ArrowError> {
    let value = values.slice(row, 1);
    // Names of zones need a database of zones; the moment is the same in UTC.
    let value = match value.data_type() {
        DataType::Timestamp(unit, Some(_)) => cast(&value, &DataType::Timestamp(*unit, Some("+00:00".into())))?,
        _ => value,
    };
    let options = FormatOptions::default().with_null("null").with_display_error(true);
    let shown = ArrayFormatter::try_new(value.as_ref(), &options)?.value(0).to_string();
    let mut chars = shown.chars().map(|c| if c.is_control() { '�' } else { c });
    let cut: String = chars.by_ref().take(VALUE_MAX_CHARS).collect();
    Ok(if chars.next().is_some() { cut + "…" } else { cut })
}
