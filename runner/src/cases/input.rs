//! Rows from the files of cases, with the extra columns that say more than the schema.

use crate::source::files::{CsvOptions, FileFormat, infer_file, read_file};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt8Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use gristmill_core::record::Operation;
use std::path::Path;
use std::sync::Arc;

/// The operation of a row: `insert`, `update` or `delete`.
pub(super) const OPERATION: &str = "@operation";
/// The input row that an output row comes from.
pub(super) const ROW: &str = "@row";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    JsonLines,
    Csv,
    Parquet,
}

impl Format {
    pub(super) const ALL: [(&str, Self); 3] =
        [("jsonl", Self::JsonLines), ("csv", Self::Csv), ("parquet", Self::Parquet)];

    pub(super) fn of(extension: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == extension).map(|(_, format)| format)
    }

    fn of_file(self, null_values: &[String]) -> FileFormat {
        match self {
            Self::JsonLines => FileFormat::JsonLines,
            Self::Csv => FileFormat::Csv(CsvOptions { null_values: null_values.to_vec(), ..CsvOptions::default() }),
            Self::Parquet => FileFormat::Parquet,
        }
    }
}

/// Rows of a file.
#[derive(Debug)]
pub(super) struct Table {
    pub rows: RecordBatch,
    /// One operation for each row.
    pub operations: UInt8Array,
    /// The column `@row`, where the file has one.
    pub origins: Option<ArrayRef>,
    /// The line of each row, from 1; empty for Parquet.
    pub lines: Vec<u64>,
}

/// Reads a whole file; columns are inferred where none are given. An error names the file, its line and the column.
pub(super) fn read(
    path: &Path,
    format: Format,
    null_values: &[String],
    columns: Option<&SchemaRef>,
) -> Result<Table, String> {
    let failed = |what: String| format!("{}: {what}", path.display());
    let file_format = format.of_file(null_values);
    // JSON Lines leave out what is null, so that the file need not have a column to be asked for it.
    let inferred = match (format, columns) {
        (Format::JsonLines, Some(_)) => None,
        _ => Some(infer_file(path, &file_format).map_err(|e| e.to_string())?),
    };
    let has = |name: &str| inferred.as_ref().is_none_or(|inferred| inferred.column_with_name(name).is_some());
    let payload: Vec<_> = match (columns, &inferred) {
        (Some(columns), _) => columns.fields().iter().cloned().collect(),
        (None, Some(inferred)) => {
            inferred.fields().iter().filter(|f| ![OPERATION, ROW].contains(&f.name().as_str())).cloned().collect()
        }
        (None, None) => Vec::new(),
    };
    let count = payload.len();
    let mut fields = payload.clone();
    for (name, data_type) in [(OPERATION, DataType::Utf8), (ROW, DataType::UInt32)] {
        if has(name) {
            fields.push(Arc::new(Field::new(name, data_type, true)));
        }
    }
    let whole = read_file(path, &file_format, Arc::new(Schema::new(fields))).map_err(|e| e.to_string())?;
    if let Some(refused) = whole.refused.first() {
        let line = refused.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let field = refused.field.as_ref().map(|field| format!("column `{field}`: ")).unwrap_or_default();
        return Err(failed(format!("{line}{field}{}", refused.message)));
    }
    let rows = whole.rows.num_rows();
    let extra = |name: &str| whole.rows.column_by_name(name);
    let operations = match extra(OPERATION) {
        None => UInt8Array::from(vec![Operation::Insert.code(); rows]),
        Some(texts) => operations(texts).map_err(failed)?,
    };
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let payload = RecordBatch::try_new_with_options(
        Arc::new(Schema::new(payload)),
        whole.rows.columns()[..count].to_vec(),
        &options,
    );
    Ok(Table {
        operations,
        origins: extra(ROW).cloned(),
        lines: whole.lines.clone(),
        rows: payload.map_err(|e| failed(e.to_string()))?,
    })
}

fn operations(texts: &ArrayRef) -> Result<UInt8Array, String> {
    let texts = texts.as_string::<i32>();
    let code = |row: usize| {
        let operation = match texts.is_null(row) {
            true => Some(Operation::Insert),
            false => OPERATIONS.into_iter().find(|(text, _)| *text == texts.value(row)).map(|(_, operation)| operation),
        };
        let place = || format!("row {row}: {OPERATION} is none of insert, update and delete");
        operation.map(Operation::code).ok_or_else(place)
    };
    (0..texts.len()).map(code).collect::<Result<Vec<_>, _>>().map(UInt8Array::from)
}

const OPERATIONS: [(&str, Operation); 3] =
    [("insert", Operation::Insert), ("update", Operation::Update), ("delete", Operation::Delete)];

/// The word for an operation code.
pub(super) fn operation_text(code: u8) -> &'static str {
    OPERATIONS.into_iter().find(|(_, operation)| operation.code() == code).map_or("unknown", |(text, _)| text)
}
