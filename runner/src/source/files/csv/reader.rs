//! CSV records into typed columns.

use super::header::{line_feeds, read_header, skip_blank};
use super::oversize::{Skipped, skip_record};
use super::records::{Fields, Scan};
use crate::source::SourceError;
use crate::source::files::chunk::{Budget, Chunk, Position, RecordReader, Refused};
use crate::source::files::compression::Compression;
use crate::source::files::held::HeldFile;
use crate::source::files::measure::fixed_bytes;
use crate::source::files::options::{CsvOptions, FilesOptions};
use crate::source::files::text::TextWindow;
use crate::source::files::trouble;
use crate::source::files::values::{Column, Fault, column_of, is_text};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use gristmill_core::dead_letter::DeadLetterClass;
use std::io;

pub(in crate::source::files) struct CsvReader {
    path: String,
    schema: SchemaRef,
    /// In the order of the file's fields; none for those that are left out.
    fields_to_columns: Vec<Option<FieldColumn>>,
    /// In the order of the schema.
    columns: Vec<Box<dyn Column>>,
    row_fixed_bytes: usize,
    fields: Fields,
    window: TextWindow,
    record: u64,
    line: u64,
    options: CsvOptions,
    max_field_bytes: usize,
    record_max_bytes: usize,
}

struct FieldColumn {
    column: usize,
    nullable: bool,
    text: bool,
    /// Its size varies.
    variable: bool,
}

/// Why a row is refused; `field` is its place in the file.
struct RowFault {
    class: DeadLetterClass,
    field: Option<usize>,
    message: String,
}

impl CsvReader {
    pub fn open(
        file: HeldFile,
        path: &str,
        csv: &CsvOptions,
        options: &FilesOptions,
        from: Position,
    ) -> Result<Self, SourceError> {
        let failed = |error: io::Error| trouble::reading(path, error);
        let schema = options.columns.clone();
        let columns = columns(&schema)?;
        let mut window = TextWindow::open(file, Compression::of(path), 0).map_err(failed)?;
        let mut fields = Fields::new(csv);
        let (mut record, mut line) = (0, 1);
        let mut order: Vec<Option<usize>> = (0..columns.len()).map(Some).collect();
        if csv.header
            && let Some(header) = read_header(&mut window, &mut fields, &mut line, path, options.record_max_bytes())?
        {
            order = header.columns(&schema, options.ignore_columns, path)?;
        }
        if from.byte > window.offset() {
            window.seek(from.byte).map_err(failed)?;
            (record, line) = (from.record, from.line);
        }
        let fields_to_columns = order
            .into_iter()
            .map(|column| {
                let column = column?;
                let field = schema.field(column);
                let text = is_text(field.data_type());
                let variable = text || field.data_type().is_binary();
                Some(FieldColumn { column, nullable: field.is_nullable(), text, variable })
            })
            .collect();
        Ok(Self {
            path: path.to_owned(),
            row_fixed_bytes: schema.fields().iter().map(|field| fixed_bytes(field.data_type())).sum(),
            schema,
            fields_to_columns,
            columns,
            fields,
            window,
            record,
            line,
            options: csv.clone(),
            max_field_bytes: options.max_field_bytes,
            record_max_bytes: options.record_max_bytes(),
        })
    }

    /// Appends the scanned record to the columns and gives its size. After a fault the columns hold a part of it.
    #[inline]
    fn push_row(&mut self, bytes: usize) -> Result<usize, RowFault> {
        let window = self.window.bytes();
        let ascii = window[..bytes].is_ascii();
        let mut size = self.row_fixed_bytes;
        for (place, target) in self.fields_to_columns.iter().enumerate() {
            let Some(target) = target else { continue };
            let text = self.fields.get(window, place);
            let fault = |class, message| RowFault { class, field: Some(place), message };
            if text.len() > self.max_field_bytes {
                let message = format!("a field of {} bytes; at most {} are accepted", text.len(), self.max_field_bytes);
                return Err(fault(DeadLetterClass::OverSize, message));
            }
            let column = &mut self.columns[target.column];
            if text.is_empty() && !target.text || self.options.null_values.iter().any(|null| null.as_bytes() == text) {
                if !target.nullable {
                    return Err(fault(
                        DeadLetterClass::UnparsableValue,
                        "no value, and the column is not nullable".into(),
                    ));
                }
                column.push_null();
                continue;
            }
            match column.push(text, ascii) {
                Ok(()) if target.variable => size += text.len(),
                Ok(()) => {}
                Err(Fault::InvalidUtf8) => {
                    return Err(fault(
                        DeadLetterClass::InvalidUtf8,
                        format!("{} bytes that are not UTF-8", text.len()),
                    ));
                }
                Err(Fault::Unparsable) => {
                    let data_type = self.schema.field(target.column).data_type();
                    let message = format!("a text of {} bytes that is not a value of {data_type}", text.len());
                    return Err(fault(DeadLetterClass::UnparsableValue, message));
                }
            }
        }
        Ok(size)
    }

    /// What the record is refused for before its fields are looked at.
    fn shape_fault(&self, bytes: usize, text_after_quote: bool) -> Option<RowFault> {
        let (found, expected) = (self.fields.len(), self.fields_to_columns.len());
        let lines = if self.fields.quoted() { line_feeds(&self.window.bytes()[..bytes]) } else { 1 };
        let over = if lines > 1 { format!(", over {lines} lines") } else { String::new() };
        if bytes > self.record_max_bytes {
            return Some(self.oversize(bytes as u64));
        }
        if text_after_quote {
            let message = format!("text after a closing quote{over}");
            return Some(RowFault { class: DeadLetterClass::Malformed, field: None, message });
        }
        (found != expected).then(|| {
            let message = format!("{found} fields where the schema has {expected}{over}");
            RowFault { class: DeadLetterClass::FieldCount, field: None, message }
        })
    }

    fn oversize(&self, bytes: u64) -> RowFault {
        let message = format!("a record of {bytes} bytes; at most {} are accepted", self.record_max_bytes);
        RowFault { class: DeadLetterClass::OverSize, field: None, message }
    }

    fn refused(&self, fault: RowFault) -> Refused {
        let name =
            |place: usize| Some(self.schema.field(self.fields_to_columns[place].as_ref()?.column).name().clone());
        Refused {
            record: self.record,
            line: Some(self.line),
            class: fault.class,
            field: fault.field.and_then(name),
            message: fault.message,
        }
    }

    /// Passes a record that is not kept in memory.
    fn skip(&mut self) -> Result<Refused, SourceError> {
        let skipped = skip_record(&mut self.window, self.options.delimiter, self.options.quote)
            .map_err(|error| trouble::reading(&self.path, error))?;
        let (fault, line_feeds) = match skipped {
            Skipped::Record { bytes, line_feeds } => (self.oversize(bytes), line_feeds),
            Skipped::Unclosed { line_feeds } => {
                let message = "a quote that never closes; reading goes on after its line".into();
                (RowFault { class: DeadLetterClass::Malformed, field: None, message }, line_feeds)
            }
        };
        let refused = self.refused(fault);
        self.record += 1;
        self.line += line_feeds;
        Ok(refused)
    }
}

/// A typed column for each field of the schema.
fn columns(schema: &SchemaRef) -> Result<Vec<Box<dyn Column>>, SourceError> {
    let column = |field: &std::sync::Arc<arrow::datatypes::Field>| {
        column_of(field.data_type()).ok_or_else(|| SourceError::Mismatch {
            what: format!("column `{}`: CSV has no text form for {}", field.name(), field.data_type()),
            hint: "read it as text and convert it in the normalize transform, or use JSON Lines or Parquet".into(),
        })
    };
    schema.fields().iter().map(column).collect()
}

/// Whether every column can be read from CSV.
pub(in crate::source::files) fn check_types(schema: &SchemaRef) -> Result<(), SourceError> {
    columns(schema).map(|_| ())
}

impl RecordReader for CsvReader {
    fn read(&mut self, budget: Budget) -> Result<Chunk, SourceError> {
        let mut records = Vec::new();
        let mut lines = Vec::new();
        let mut refused = Vec::new();
        let mut total = 0;
        let mut ended = false;
        loop {
            skip_blank(&mut self.window, &mut self.line);
            if self.window.bytes().is_empty() && self.window.ended() {
                ended = true;
                break;
            }
            let count = records.len() + refused.len();
            if count >= budget.rows {
                break;
            }
            let scan = match self.window.bytes() {
                [] => Scan::NeedMore,
                bytes => self.fields.scan(bytes, self.window.ended()),
            };
            let (bytes, text_after_quote) = match scan {
                Scan::Record { bytes, text_after_quote } => (bytes, text_after_quote),
                Scan::NeedMore if self.window.bytes().len() <= self.record_max_bytes => {
                    self.window.fill().map_err(|error| trouble::reading(&self.path, error))?;
                    continue;
                }
                Scan::NeedMore | Scan::Unclosed => {
                    refused.push(self.skip()?);
                    continue;
                }
            };
            let pushed = match self.shape_fault(bytes, text_after_quote) {
                Some(fault) => Err(fault),
                None => self.push_row(bytes),
            };
            match pushed {
                Ok(size) if budget.fits(count, total, size) => {
                    records.push(self.record);
                    lines.push(self.line);
                    total += size;
                }
                Ok(_) => {
                    self.columns.iter_mut().for_each(|column| column.truncate(records.len()));
                    break;
                }
                Err(fault) => {
                    self.columns.iter_mut().for_each(|column| column.truncate(records.len()));
                    refused.push(self.refused(fault));
                }
            }
            self.record += 1;
            let record = &self.window.bytes()[..bytes];
            self.line += if self.fields.quoted() { line_feeds(record) } else { u64::from(record.ends_with(b"\n")) };
            self.window.consume(bytes);
        }
        if !ended {
            // A page that ends with the file says so: no empty page has to follow.
            ended = self.window.only_blank_left().map_err(|error| trouble::reading(&self.path, error))?;
        }
        let arrays: Result<Vec<_>, _> = self.columns.iter_mut().map(|column| column.finish()).collect();
        let rows = arrays.and_then(|arrays| {
            let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(records.len()));
            RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
        });
        let rows = rows.map_err(|_| SourceError::Permanent {
            what: format!("{}: its rows do not make a batch", self.path),
            hint: "lower `max_bytes` of a batch to less than 2 GiB".into(),
        })?;
        let at = Position { record: self.record, byte: self.window.offset(), line: self.line };
        Ok(Chunk { rows, records, lines, refused, bytes: total, at, ended })
    }
}
