//! Whether a file still has the columns that the source reads, judged before any of it counts as read.

use super::admit::Opened;
use super::compression::Compression;
use super::csv::{Fields, Header, read_header};
use super::infer::{fields_of, infer_from, json_sample};
use super::options::{CsvOptions, FileFormat, FilesOptions};
use super::parquet::file_schema;
use super::text::TextWindow;
use super::trouble;
use super::types::{is_same, plain};
use crate::source::{Changed, SourceError};
use arrow::datatypes::{Field, FieldRef, Schema};
use std::collections::HashSet;
use std::sync::Arc;

/// Refuses a file whose columns are others, with all that it has. Columns that only came to it are let through where the
/// source leaves them out.
pub(super) fn check(opened: &Opened, options: &FilesOptions) -> Result<(), SourceError> {
    let columns = options.columns.as_ref();
    let observed = match &options.format {
        FileFormat::Csv(csv) if csv.header => csv_columns(opened, csv, options)?,
        FileFormat::Csv(_) => return Ok(()),
        FileFormat::JsonLines => json_columns(opened, options),
        FileFormat::Parquet => parquet_columns(opened, columns)?,
    };
    let Some(observed) = observed else { return Ok(()) };
    let only_more = columns.fields().iter().all(|field| observed.fields().iter().any(|found| found == field));
    if only_more && options.ignore_columns || observed.fields() == columns.fields() {
        return Ok(());
    }
    let object = opened.found.path.clone();
    Err(SourceError::Changed(Box::new(Changed { object, observed })))
}

/// What one file shows by itself: declared types where it only has texts, its own where it has types.
pub(super) fn observe(opened: &Opened, options: &FilesOptions) -> Result<Schema, SourceError> {
    infer_from(opened, &options.format)
}

/// None: nothing to say, or a matter for whoever reads the file.
fn csv_columns(opened: &Opened, csv: &CsvOptions, options: &FilesOptions) -> Result<Option<Schema>, SourceError> {
    let Some(Header { names }) = header(opened, csv, options)? else { return Ok(None) };
    let known: HashSet<&str> = names.iter().map(String::as_str).collect();
    let columns = options.columns.fields();
    let has_none = !columns.iter().any(|field| known.contains(field.name().as_str()));
    if has_none || known.len() < names.len() {
        return Ok(None);
    }
    if known.len() == columns.len() && columns.iter().all(|field| known.contains(field.name().as_str())) {
        return Ok(None);
    }
    // The texts say what type a new column has; those that are known keep theirs.
    let inferred = infer_from(opened, &options.format)?;
    Ok(Some(merged(columns, &inferred, |field| known.contains(field.name().as_str()).then(|| field.clone()))))
}

fn header(opened: &Opened, csv: &CsvOptions, options: &FilesOptions) -> Result<Option<Header>, SourceError> {
    let path = opened.found.path.as_str();
    let window = TextWindow::open(opened.file.clone(), Compression::of(path), 0);
    let mut window = window.map_err(|error| trouble::reading(path, error))?;
    read_header(&mut window, &mut Fields::new(csv), &mut 1, path, options.record_max_bytes())
}

/// A member that a record lacks says nothing. One that the schema lacks is a new column where most records have it; where few
/// do, it is those records that are refused.
fn json_columns(opened: &Opened, options: &FilesOptions) -> Option<Schema> {
    let path = opened.found.path.as_str();
    let mut window = TextWindow::open(opened.file.clone(), Compression::of(path), 0).ok()?;
    let values = json_sample(&mut window, path).ok()?;
    let mut inferred = fields_of(&values, path).ok()?;
    inferred.retain(|field| values.iter().filter(|value| value.get(field.name()).is_some()).count() * 2 > values.len());
    Some(merged(options.columns.fields(), &Schema::new(inferred), |field| Some(field.clone())))
}

fn parquet_columns(opened: &Opened, columns: &Schema) -> Result<Option<Schema>, SourceError> {
    let file = file_schema(opened.file.clone(), &opened.found.path)?;
    let mut plain_fields = Vec::with_capacity(file.fields().len());
    for field in file.fields() {
        // A type that no transform can take is told by whoever reads the file.
        let Some(data_type) = plain(field.data_type()) else { return Ok(None) };
        plain_fields.push(Field::new(field.name(), data_type, true));
    }
    let file = Schema::new(plain_fields);
    let known = |field: &FieldRef| {
        let found = file.field_with_name(field.name()).ok()?;
        Some(match is_same(found.data_type(), field.data_type()) {
            true => field.clone(),
            false => Arc::new(field.as_ref().clone().with_data_type(found.data_type().clone())),
        })
    };
    Ok(Some(merged(columns.fields(), &file, known)))
}

/// The known columns as they are now, in their order, then the new ones in the file's.
fn merged(columns: &[FieldRef], found: &Schema, known: impl Fn(&FieldRef) -> Option<FieldRef>) -> Schema {
    let is_new = |field: &&FieldRef| columns.iter().all(|column| column.name() != field.name());
    let new = found.fields().iter().filter(is_new).cloned();
    Schema::new(columns.iter().filter_map(known).chain(new).collect::<Vec<_>>())
}
