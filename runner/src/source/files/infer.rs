//! A schema from the first file, for a source that is given none. It is frozen by whoever asks.

use super::admit::{self, Cancelled, Opened};
use super::compression::Compression;
use super::csv::{Fields, Scan, read_header};
use super::held::HeldFile;
use super::listing;
use super::options::{CsvOptions, FileFormat, RECORD_MAX_BYTES};
use super::parquet::file_schema;
use super::root::FilesRoot;
use super::text::TextWindow;
use super::trouble;
use super::types::plain;
use super::values::{date_days, float, instant, signed};
use crate::source::SourceError;
use arrow::datatypes::{DataType, Field, FieldRef, Fields as ArrowFields, Schema, TimeUnit};
use arrow::json::reader::infer_json_schema_from_iterator;
use globset::Glob;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Handle;

/// Records that are looked at.
const SAMPLE_RECORDS: usize = 10_000;
/// The most memory that sampled JSON takes, about.
const SAMPLE_BYTES: usize = 64 << 20;

/// The columns of the first file, by path order, from at most its first 10,000 records. All are nullable.
///
/// CSV columns become, by the first that all their texts fit: boolean (`true` and `false` only), int64 (without leading
/// zeros), float64, date32, timestamp in microseconds (with zone `+00:00` where the texts have an offset), utf8. JSON
/// columns are sorted by name. Columns without any value are utf8.
pub async fn infer_schema(
    root: &FilesRoot,
    pattern: Option<&Glob>,
    format: &FileFormat,
    spool_dir: &Path,
) -> Result<Schema, SourceError> {
    let matcher = pattern.map(Glob::compile_matcher);
    let (root, format, spool_dir) = (root.clone(), format.clone(), PathBuf::from(spool_dir));
    let runtime = Handle::current();
    let task = tokio::task::spawn_blocking(move || {
        if let FileFormat::Csv(csv) = &format {
            csv.check()?;
        }
        for found in runtime.block_on(listing::list(&root, matcher.as_ref()))? {
            if let Some(opened) =
                runtime.block_on(admit::open(&root, &found.path, &spool_dir, &Cancelled::default()))?
            {
                return infer_from(&opened, &format);
            }
        }
        Err(SourceError::Mismatch {
            what: "no schema is given, and there is no file to infer one from".into(),
            hint: "put the first file in place, or give the source its `columns`".into(),
        })
    });
    task.await.map_err(|_| SourceError::Permanent {
        what: "inferring the schema stopped: a fault in this program, or a shutdown".into(),
        hint: "give the source its `columns`".into(),
    })?
}

pub(super) fn infer_from(opened: &Opened, format: &FileFormat) -> Result<Schema, SourceError> {
    infer_held(&opened.file, opened.found.path.as_str(), format)
}

/// As [`infer_from`], for a file that is not the source's.
pub(super) fn infer_held(file: &HeldFile, path: &str, format: &FileFormat) -> Result<Schema, SourceError> {
    let window = || {
        let window = TextWindow::open(file.clone(), Compression::of(path), 0);
        window.map_err(|error| trouble::corrupt(path, &error))
    };
    let fields = match format {
        FileFormat::Csv(csv) => csv_fields(&mut window()?, csv, path)?,
        FileFormat::JsonLines => json_fields(&mut window()?, path)?,
        FileFormat::Parquet => parquet_fields(file_schema(file.clone(), path)?.fields())?,
    };
    if fields.is_empty() {
        return Err(SourceError::Mismatch {
            what: format!("{path} has no columns to infer a schema from"),
            hint: "give the source its `columns`".into(),
        });
    }
    Ok(Schema::new(fields))
}

/// The types that all values of a CSV column so far have.
#[derive(Debug, Clone, Copy)]
struct Candidates {
    any: bool,
    boolean: bool,
    integer: bool,
    float: bool,
    date: bool,
    local: bool,
    instant: bool,
}

impl Candidates {
    const ALL: Self =
        Self { any: false, boolean: true, integer: true, float: true, date: true, local: true, instant: true };

    fn narrow(&mut self, text: &[u8]) {
        self.any = true;
        self.boolean &= text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false");
        // `007` and `+5` are codes, not numbers: as integers they would not come back.
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let is_plain =
            digits.first().is_some_and(u8::is_ascii_digit) && !(digits.len() > 1 && digits.starts_with(b"0"));
        self.integer = self.integer && is_plain && signed(text).is_some();
        let is_plain_fraction = is_plain || digits.starts_with(b"0.");
        self.float = self.float && is_plain_fraction && float(text).is_some();
        self.date = self.date && date_days(text).is_some();
        let found = if self.local || self.instant { instant(text) } else { None };
        let fits = found.is_some_and(|instant| instant.nanos.is_multiple_of(1000));
        let has_offset = found.is_some_and(|instant| instant.offset_seconds.is_some());
        self.local &= fits && !has_offset;
        self.instant &= fits && has_offset;
    }

    fn data_type(self) -> DataType {
        match self {
            Self { any: false, .. } => DataType::Utf8,
            Self { boolean: true, .. } => DataType::Boolean,
            Self { integer: true, .. } => DataType::Int64,
            Self { float: true, .. } => DataType::Float64,
            Self { date: true, .. } => DataType::Date32,
            Self { local: true, .. } => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self { instant: true, .. } => DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
            _ => DataType::Utf8,
        }
    }
}

fn csv_fields(window: &mut TextWindow, csv: &CsvOptions, path: &str) -> Result<Vec<Field>, SourceError> {
    let mut fields = Fields::new(csv);
    let mut line = 1;
    let mut names = None;
    if csv.header {
        names = read_header(window, &mut fields, &mut line, path, RECORD_MAX_BYTES)?.map(|header| header.names);
    }
    let mut columns: Vec<Candidates> = names.as_ref().map_or(Vec::new(), |names| vec![Candidates::ALL; names.len()]);
    let mut records = 0;
    while records < SAMPLE_RECORDS {
        let blank = window.bytes().iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
        window.consume(blank);
        let bytes = window.bytes();
        let scan = if bytes.is_empty() { Scan::NeedMore } else { fields.scan(bytes, window.ended()) };
        match scan {
            Scan::Record { bytes: taken, .. } => {
                if columns.is_empty() {
                    columns = vec![Candidates::ALL; fields.len()];
                }
                // Records of another shape become dead letters later; they say nothing of the columns.
                if fields.len() == columns.len() {
                    for (place, column) in columns.iter_mut().enumerate() {
                        let text = fields.get(bytes, place);
                        if !text.is_empty() && !csv.null_values.iter().any(|null| null.as_bytes() == text) {
                            column.narrow(text);
                        }
                    }
                }
                records += 1;
                window.consume(taken);
            }
            Scan::NeedMore if bytes.len() <= RECORD_MAX_BYTES => {
                if !window.fill().map_err(|error| trouble::corrupt(path, &error))? && window.bytes().is_empty() {
                    break;
                }
            }
            Scan::NeedMore | Scan::Unclosed => break,
        }
    }
    let names = names.unwrap_or_else(|| (1..=columns.len()).map(|place| format!("column_{place}")).collect());
    Ok(names.into_iter().zip(columns).map(|(name, column)| Field::new(name, column.data_type(), true)).collect())
}

/// The first records of a JSON file that are objects, as far as a sample goes.
pub(super) fn json_sample(window: &mut TextWindow, path: &str) -> Result<Vec<Value>, SourceError> {
    let mut values: Vec<Value> = Vec::new();
    let mut bytes = 0;
    while values.len() < SAMPLE_RECORDS && bytes < SAMPLE_BYTES {
        let content = window.bytes();
        let taken = match content.iter().position(|b| *b == b'\n') {
            Some(end) => end + 1,
            None if window.ended() && !content.is_empty() => content.len(),
            None if window.ended() || content.len() > RECORD_MAX_BYTES => break,
            None => {
                window.fill().map_err(|error| trouble::corrupt(path, &error))?;
                continue;
            }
        };
        // Lines that are no objects become dead letters later; they say nothing of the columns.
        if let Ok(value @ Value::Object(_)) = serde_json::from_slice(&content[..taken]) {
            values.push(value);
        }
        bytes += taken;
        window.consume(taken);
    }
    Ok(values)
}

fn json_fields(window: &mut TextWindow, path: &str) -> Result<Vec<Field>, SourceError> {
    let values = json_sample(window, path)?;
    fields_of(&values, path)
}

/// The columns of sampled records, sorted by name.
pub(super) fn fields_of(values: &[Value], path: &str) -> Result<Vec<Field>, SourceError> {
    let schema = infer_json_schema_from_iterator(values.iter().map(Ok)).map_err(|_| SourceError::Mismatch {
        what: format!("{path}: its records have no common schema"),
        hint: "give the source its `columns`".into(),
    })?;
    let mut fields: Vec<Field> = schema.fields().iter().map(|field| settled(field).as_ref().clone()).collect();
    fields.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(fields)
}

/// Nullable all the way down, with members in a fixed order and text where there was no value.
fn settled(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Null => DataType::Utf8,
        DataType::List(item) => DataType::List(settled(item)),
        DataType::Struct(members) => {
            let mut members: Vec<FieldRef> = members.iter().map(settled).collect();
            members.sort_by(|a, b| a.name().cmp(b.name()));
            DataType::Struct(ArrowFields::from(members))
        }
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, true))
}

fn parquet_fields(fields: &ArrowFields) -> Result<Vec<Field>, SourceError> {
    let field = |field: &FieldRef| match plain(field.data_type()) {
        Some(data_type) => Ok(Field::new(field.name(), data_type, true)),
        None => Err(SourceError::Mismatch {
            what: format!("column `{}` is {}, which no transform can take", field.name(), field.data_type()),
            hint: "write the column as another type".into(),
        }),
    };
    fields.iter().map(field).collect()
}
