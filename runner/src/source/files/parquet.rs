//! Parquet files.

use super::chunk::{Budget, Chunk, Position, RecordReader, Refused};
use super::held::HeldFile;
use super::measure::row_bytes;
use super::types::{is_same, plain};
use crate::source::SourceError;
use arrow::array::{Array, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, cast_with_options, concat_batches, filter_record_batch};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use gristmill_core::dead_letter::DeadLetterClass;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use std::sync::Arc;

/// The most rows that are decoded together.
const ROWS_TOGETHER: usize = 8192;
/// About the most memory that rows decoded together take.
const BYTES_TOGETHER: usize = 8 << 20;

pub(super) struct ParquetReader {
    path: String,
    schema: SchemaRef,
    /// The file's column for each column of the schema.
    places: Vec<usize>,
    batches: ParquetRecordBatchReader,
    /// Decoded rows that the last page had no room for.
    pending: Option<RecordBatch>,
    record: u64,
    records: u64,
}

impl ParquetReader {
    pub fn open(
        file: HeldFile,
        path: &str,
        schema: SchemaRef,
        ignore_columns: bool,
        from: Position,
    ) -> Result<Self, SourceError> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| corrupt(path, &error))?;
        let places = match_columns(builder.schema(), &schema, ignore_columns, path)?;
        let metadata = builder.metadata();
        let records = metadata.row_groups().iter().map(|group| group.num_rows().max(0).unsigned_abs()).sum();
        // A row group's mean row says how many rows fit in a bounded piece of memory.
        let row_bytes = metadata
            .row_groups()
            .iter()
            .map(|group| group.total_byte_size().max(0).unsigned_abs() / group.num_rows().max(1).unsigned_abs())
            .max()
            .unwrap_or(0);
        let together = BYTES_TOGETHER / usize::try_from(row_bytes.max(1)).unwrap_or(usize::MAX);
        let batches = builder
            .with_batch_size(together.clamp(1, ROWS_TOGETHER))
            .with_offset(usize::try_from(from.record).unwrap_or(usize::MAX))
            .build()
            .map_err(|error| corrupt(path, &error))?;
        Ok(Self { path: path.to_owned(), schema, places, batches, pending: None, record: from.record, records })
    }

    fn next_rows(&mut self) -> Result<Option<RecordBatch>, SourceError> {
        if let Some(pending) = self.pending.take() {
            return Ok(Some(pending));
        }
        let Some(batch) = self.batches.next() else { return Ok(None) };
        let batch = batch.and_then(|batch| self.convert(&batch));
        batch.map(Some).map_err(|error| super::trouble::corrupt(&self.path, &without_values(&error)))
    }

    /// Dictionaries, views and other encodings become the plain columns of the schema, still nullable.
    fn convert(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let arrays: Result<Vec<_>, _> = self
            .schema
            .fields()
            .iter()
            .zip(&self.places)
            .map(|(field, place)| cast_with_options(batch.column(*place), field.data_type(), &options))
            .collect();
        let nullable: Vec<_> = self.schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(nullable)), arrays?, &options)
    }

    /// The column that makes a row unacceptable: a null where the schema has none.
    fn null_fault(&self, rows: &RecordBatch, row: usize) -> Option<usize> {
        (0..rows.num_columns()).find(|i| !self.schema.field(*i).is_nullable() && rows.column(*i).is_null(row))
    }
}

/// Decodes the whole file once and keeps nothing: a page that does not decompress, or a value that does not decode, is
/// found before any record counts as read.
pub(super) fn check(
    file: HeldFile,
    path: &str,
    schema: SchemaRef,
    ignore_columns: bool,
    is_cancelled: impl Fn() -> bool,
) -> Result<(), SourceError> {
    contained(path, || {
        let mut reader = ParquetReader::open(file, path, schema, ignore_columns, Position::START)?;
        let mut records = 0;
        while let Some(rows) = reader.next_rows()? {
            records += rows.num_rows() as u64;
            if is_cancelled() {
                return Ok(());
            }
        }
        if records != reader.records {
            let how = format!("it holds {records} records where its footer says {}", reader.records);
            return Err(super::trouble::corrupt(path, &how));
        }
        Ok(())
    })
}

/// The columns of a file, for inference.
pub(super) fn file_schema(file: HeldFile, path: &str) -> Result<SchemaRef, SourceError> {
    contained(path, || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| corrupt(path, &error))?;
        Ok(builder.schema().clone())
    })
}

/// Some damage makes the Parquet decoder panic: that is the file's fault, and must name it. Nothing of what `read`
/// works on outlives the panic.
fn contained<T>(path: &str, read: impl FnOnce() -> Result<T, SourceError>) -> Result<T, SourceError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(super::trouble::corrupt(path, &"Parquet: its decoder gave up")))
}

fn match_columns(file: &Schema, schema: &Schema, ignore_columns: bool, path: &str) -> Result<Vec<usize>, SourceError> {
    let mut places = Vec::new();
    let mut complaints = Vec::new();
    for field in schema.fields() {
        match file.index_of(field.name()) {
            Err(_) => complaints.push(format!("column `{}` is missing", field.name())),
            Ok(place) => {
                let found = file.field(place).data_type();
                if !plain(found).is_some_and(|plain| is_same(&plain, field.data_type())) {
                    complaints.push(format!(
                        "column `{}` is {found}, the schema says {}",
                        field.name(),
                        field.data_type()
                    ));
                }
                places.push(place);
            }
        }
    }
    for field in file.fields() {
        if !ignore_columns && schema.index_of(field.name()).is_err() {
            complaints.push(format!("the schema has no column `{}`", field.name()));
        }
    }
    if complaints.is_empty() {
        return Ok(places);
    }
    Err(SourceError::Mismatch {
        what: format!("{path}: {}", complaints.join("; ")),
        hint: "make the file and the source's `columns` agree, or read it with a source of its own".into(),
    })
}

fn corrupt(path: &str, error: &ParquetError) -> SourceError {
    super::trouble::corrupt(path, &format!("Parquet: {}", kind(error)))
}

/// What a Parquet error is about; its message may hold data of a damaged file.
const fn kind(error: &ParquetError) -> &'static str {
    match error {
        ParquetError::EOF(_) | ParquetError::NeedMoreData(_) | ParquetError::NeedMoreDataRange(_) => {
            "it ends too early"
        }
        ParquetError::NYI(_) => "it uses a feature that is not supported",
        _ => "its footer, or a page, cannot be read",
    }
}

fn without_values(error: &ArrowError) -> &'static str {
    match error {
        ArrowError::CastError(_) | ArrowError::ParseError(_) => "Parquet: a value cannot be read as its column's type",
        _ => "Parquet: a page cannot be read",
    }
}

impl RecordReader for ParquetReader {
    fn read(&mut self, budget: Budget) -> Result<Chunk, SourceError> {
        let mut batches = Vec::new();
        let (mut records, mut refused) = (Vec::new(), Vec::new());
        let mut total = 0;
        while records.len() + refused.len() < budget.rows {
            let Some(rows) = self.next_rows()? else { break };
            let sizes = row_bytes(&rows);
            let mut kept = Vec::with_capacity(rows.num_rows());
            for (row, size) in sizes.iter().enumerate() {
                let count = records.len() + refused.len();
                let fault = self.null_fault(&rows, row);
                if !budget.fits(count, total, if fault.is_some() { 0 } else { *size }) {
                    break;
                }
                if let Some(column) = fault {
                    refused.push(Refused {
                        record: self.record,
                        line: None,
                        class: DeadLetterClass::UnparsableValue,
                        field: Some(self.schema.field(column).name().clone()),
                        message: "no value, and the column is not nullable".into(),
                    });
                } else {
                    records.push(self.record);
                    total += size;
                }
                kept.push(fault.is_none());
                self.record += 1;
            }
            let taken = rows.slice(0, kept.len());
            let is_full = kept.len() < rows.num_rows();
            if is_full {
                self.pending = Some(rows.slice(kept.len(), rows.num_rows() - kept.len()));
            }
            let taken = if kept.iter().all(|kept| *kept) {
                Ok(taken)
            } else {
                filter_record_batch(&taken, &BooleanArray::from(kept))
            };
            let taken = taken.and_then(|rows| {
                let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
                RecordBatch::try_new_with_options(self.schema.clone(), rows.columns().to_vec(), &options)
            });
            batches.push(taken.map_err(|error| super::trouble::corrupt(&self.path, &without_values(&error)))?);
            if is_full {
                break;
            }
        }
        let rows = concat_batches(&self.schema, &batches).map_err(|_| SourceError::Permanent {
            what: format!("{}: its rows do not make a batch", self.path),
            hint: "lower `max_bytes` of a batch to less than 2 GiB".into(),
        })?;
        let at = Position { record: self.record, byte: 0, line: 1 };
        let ended = self.record >= self.records;
        Ok(Chunk { rows, records, lines: Vec::new(), refused, bytes: total, at, ended })
    }
}
