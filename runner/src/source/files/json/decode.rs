//! Whole lines into rows.
//!
//! Scalars at the top level are decoded as text and then parsed as CSV fields are: the JSON decoder itself would cut
//! `1.5` to 1 in an integer column. Nested columns are the decoder's; what it would cut there is refused beforehand.

use super::diagnose;
use super::nested::Nested;
use crate::source::SourceError;
use crate::source::files::values::{Column, Fault, column_of, is_text};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::ReaderBuilder;
use arrow::json::reader::Decoder;
use gristmill_core::dead_letter::DeadLetterClass;
use std::sync::Arc;

/// Why a line is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineFault {
    pub class: DeadLetterClass,
    pub field: Option<String>,
    pub message: String,
}

/// Rows from lines, and the lines that gave none.
pub(super) struct Decoded {
    pub rows: RecordBatch,
    /// By the line's place in the chunk.
    pub faults: Vec<Option<LineFault>>,
}

pub(super) struct LineDecoder {
    schema: SchemaRef,
    /// What the JSON decoder is asked for: scalars as text, everything nullable at the top.
    raw_schema: SchemaRef,
    /// For each column the parser of its texts; none where the decoder's array is the column.
    columns: Vec<Option<Box<dyn Column>>>,
    nested: Nested,
    /// Members that the schema does not have refuse the line.
    strict: bool,
}

impl LineDecoder {
    pub fn new(schema: SchemaRef, ignore_columns: bool, max_field_bytes: usize) -> Result<Self, SourceError> {
        let unsupported = |what: String| SourceError::Mismatch {
            what,
            hint: "use a type of the transform contract: see its list of data types".into(),
        };
        let mut columns = Vec::new();
        let mut raw = Vec::new();
        for field in schema.fields() {
            let data_type = field.data_type();
            let parsed = if is_text(data_type) { None } else { column_of(data_type) };
            let raw_type = if parsed.is_some() { DataType::Utf8 } else { data_type.clone() };
            raw.push(Field::new(field.name(), raw_type, true));
            columns.push(parsed);
        }
        let raw_schema = Arc::new(Schema::new(raw));
        decoder(&raw_schema, 1, true).map_err(|_| unsupported("JSON Lines has no form for a column's type".into()))?;
        let nested = Nested::new(&schema, max_field_bytes);
        Ok(Self { schema, raw_schema, columns, nested, strict: !ignore_columns })
    }

    pub fn decode(&mut self, lines: &[&[u8]]) -> Result<Decoded, ArrowError> {
        let mut faults = vec![None; lines.len()];
        let mut accepted = Vec::with_capacity(lines.len());
        for (place, line) in lines.iter().enumerate() {
            match self.refused_at_sight(line) {
                Some(fault) => faults[place] = Some(fault),
                None => accepted.push(place),
            }
        }
        let mut batches = Vec::new();
        self.decode_or_split(lines, &accepted, &mut batches, &mut faults);
        let raw = concat_batches(&self.raw_schema, &batches)?;
        let kept: Vec<usize> = (0..lines.len()).filter(|place| faults[*place].is_none()).collect();
        let rows = self.parse(&raw, &kept, &mut faults)?;
        Ok(Decoded { rows, faults })
    }

    fn refused_at_sight(&mut self, line: &[u8]) -> Option<LineFault> {
        if diagnose::nests_too_deep(line) {
            let message = format!("more than {} levels of nesting", diagnose::MAX_DEPTH);
            return Some(LineFault { class: DeadLetterClass::Malformed, field: None, message });
        }
        if self.nested.concerns(line) { self.nested.fault(line) } else { None }
    }

    /// Decodes the lines at `places` as one batch; should that fail, by halves, down to the lines at fault.
    fn decode_or_split(
        &self,
        lines: &[&[u8]],
        places: &[usize],
        batches: &mut Vec<RecordBatch>,
        faults: &mut [Option<LineFault>],
    ) {
        if places.is_empty() {
            return;
        }
        if let Some(batch) = decode_all(&self.raw_schema, lines, places, self.strict) {
            batches.push(batch);
        } else if let [place] = *places {
            faults[place] = Some(diagnose::fault(lines[place], &self.schema, &self.raw_schema, self.strict));
        } else {
            let (first, second) = places.split_at(places.len() / 2);
            self.decode_or_split(lines, first, batches, faults);
            self.decode_or_split(lines, second, batches, faults);
        }
    }

    /// Parses texts into their types. `places[row]` is the line of a raw row.
    fn parse(
        &mut self,
        raw: &RecordBatch,
        places: &[usize],
        faults: &mut [Option<LineFault>],
    ) -> Result<RecordBatch, ArrowError> {
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for ((field, column), array) in self.schema.fields().iter().zip(&mut self.columns).zip(raw.columns()) {
            let mut refuse = |row: usize, class, message| {
                faults[places[row]].get_or_insert(LineFault { class, field: Some(field.name().clone()), message });
            };
            if !field.is_nullable() {
                for row in (0..array.len()).filter(|row| array.is_null(*row)) {
                    refuse(row, DeadLetterClass::UnparsableValue, "no value, and the column is not nullable".into());
                }
            }
            let Some(column) = column else {
                arrays.push(array.clone());
                continue;
            };
            let texts = array.as_string::<i32>();
            for row in 0..texts.len() {
                if texts.is_null(row) {
                    column.push_null();
                    continue;
                }
                let text = texts.value(row).as_bytes();
                if let Err(fault) = column.push(text, false) {
                    let class = match fault {
                        Fault::InvalidUtf8 => DeadLetterClass::InvalidUtf8,
                        Fault::Unparsable => DeadLetterClass::UnparsableValue,
                    };
                    let data_type = field.data_type();
                    refuse(row, class, format!("a value of {} bytes that is not a {data_type}", text.len()));
                    column.push_null();
                }
            }
            arrays.push(column.finish()?);
        }
        let nullable: Vec<Field> =
            self.schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(raw.num_rows()));
        let mut rows = RecordBatch::try_new_with_options(Arc::new(Schema::new(nullable)), arrays, &options)?;
        if places.iter().any(|place| faults[*place].is_some()) {
            let kept: BooleanArray = places.iter().map(|place| Some(faults[*place].is_none())).collect();
            rows = filter_record_batch(&rows, &kept)?;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), rows.columns().to_vec(), &options)
    }
}

fn decoder(schema: &SchemaRef, rows: usize, strict: bool) -> Result<Decoder, ArrowError> {
    ReaderBuilder::new(schema.clone())
        .with_batch_size(rows)
        .with_coerce_primitive(true)
        .with_strict_mode(strict)
        .build_decoder()
}

/// One row from each line, or nothing. Lines are fed one by one: two objects on one line, or one over two, are no records.
fn decode_all(schema: &SchemaRef, lines: &[&[u8]], places: &[usize], strict: bool) -> Option<RecordBatch> {
    let mut decoder = decoder(schema, places.len(), strict).ok()?;
    for (row, place) in places.iter().enumerate() {
        let line = lines[*place];
        let whole = decoder.decode(line).ok()? == line.len();
        // A number at the end of a line is only complete with the line end.
        if !whole || decoder.len() != row + 1 || decoder.has_partial_record() {
            return None;
        }
    }
    decoder.flush().ok().flatten()
}

/// Whether a line decodes when only one column is looked at.
pub(super) fn decodes_alone(field: &Field, line: &[u8]) -> bool {
    let schema = Arc::new(Schema::new(vec![field.clone()]));
    let Ok(mut decoder) = decoder(&schema, 1, false) else { return false };
    decoder.decode(line).is_ok() && decoder.flush().is_ok()
}
