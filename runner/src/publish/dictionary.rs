//! Dictionaries: CSV files with a header, small enough to hold in memory.

use crate::host::{Dictionary, DictionaryError};
use crate::schema::{UnsupportedType, from_arrow, to_arrow};
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::csv::reader::Format;
use arrow::csv::{ReaderBuilder, reader};
use arrow::error::ArrowError;
use gristmill_core::pins::DictionaryPin;
use gristmill_core::schema::{Field, InvalidSchema, Schema};
use std::io::Cursor;

/// Largest dictionary file.
pub const DICTIONARY_MAX_BYTES: usize = 256 << 20;

/// Why a file is not a dictionary. The texts of the CSV reader name lines and columns, not values.
#[derive(Debug, thiserror::Error)]
pub enum DictionaryFileError {
    #[error("it has {bytes} bytes, more than {DICTIONARY_MAX_BYTES}")]
    TooLarge { bytes: usize },
    #[error("it has no header")]
    Empty,
    #[error("column `{column}` is not in it")]
    NoColumn { column: String },
    #[error("it cannot be read as CSV with the columns {columns}")]
    Unreadable { columns: String },
    #[error(transparent)]
    Type(#[from] UnsupportedType),
    #[error(transparent)]
    Schema(#[from] InvalidSchema),
    #[error(transparent)]
    Keys(#[from] DictionaryError),
}

/// Columns of a dictionary: types as given, else int64 or float64 where every value is one, else text.
pub fn infer(bytes: &[u8], given: Option<&Schema>) -> Result<Schema, DictionaryFileError> {
    if bytes.len() > DICTIONARY_MAX_BYTES {
        return Err(DictionaryFileError::TooLarge { bytes: bytes.len() });
    }
    let format = Format::default().with_header(true);
    let unreadable = |_: ArrowError| DictionaryFileError::Unreadable { columns: "of its header".into() };
    let (inferred, _) = format.infer_schema(Cursor::new(bytes), None).map_err(unreadable)?;
    if inferred.fields().is_empty() {
        return Err(DictionaryFileError::Empty);
    }
    let mut fields = Vec::with_capacity(inferred.fields().len());
    for field in from_arrow(&inferred)?.fields() {
        use gristmill_core::schema::LogicalType as T;
        let logical_type = match given.and_then(|g| g.fields().iter().find(|f| f.name == field.name)) {
            Some(given) => given.logical_type.clone(),
            None => match &field.logical_type {
                T::Int64 | T::Float64 => field.logical_type.clone(),
                _ => T::Utf8,
            },
        };
        fields.push(Field { name: field.name.clone(), logical_type, nullable: true });
    }
    if let Some(missing) = given.and_then(|g| g.fields().iter().find(|f| !fields.iter().any(|x| x.name == f.name))) {
        return Err(DictionaryFileError::NoColumn { column: missing.name.clone() });
    }
    Ok(Schema::new(fields)?)
}

/// Reads a pinned dictionary.
pub fn load(name: &str, bytes: &[u8], pin: &DictionaryPin) -> Result<Dictionary, DictionaryFileError> {
    Ok(Dictionary::new(name, &pin.key, rows(bytes, &pin.columns)?)?)
}

fn rows(bytes: &[u8], columns: &Schema) -> Result<RecordBatch, DictionaryFileError> {
    let schema = to_arrow(columns);
    let unreadable = |_: ArrowError| {
        let columns: Vec<_> = columns.fields().iter().map(|f| format!("{}: {}", f.name, f.logical_type)).collect();
        DictionaryFileError::Unreadable { columns: columns.join(", ") }
    };
    let csv: reader::Reader<_> =
        ReaderBuilder::new(schema.clone()).with_header(true).build(Cursor::new(bytes)).map_err(unreadable)?;
    let parts = csv.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    concat_batches(&schema, &parts).map_err(unreadable)
}
