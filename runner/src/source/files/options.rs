//! How a files source is set up.

use super::root::FilesRoot;
use crate::source::SourceError;
use arrow::datatypes::SchemaRef;
use globset::{Glob, GlobBuilder};
use std::path::PathBuf;
use std::time::Duration;

/// How long a local file must have been left alone before it is read, unless the pipeline says otherwise.
pub const SETTLE_DEFAULT: Duration = Duration::from_secs(2);

/// The longest field that is accepted, unless the pipeline says otherwise.
pub const MAX_FIELD_BYTES_DEFAULT: usize = 1 << 20;

/// The longest record of a text format, in bytes, unless one field alone may be longer. It bounds the memory that a quote
/// which never closes, or a file without line ends, can take.
pub(super) const RECORD_MAX_BYTES: usize = 16 << 20;

/// What a files source reads, and how.
#[derive(Clone)]
pub struct FilesOptions {
    pub root: FilesRoot,
    /// Only paths below the root that match; see [`parse_pattern`]. A root that is one file is read whatever its name.
    pub pattern: Option<Glob>,
    pub format: FileFormat,
    /// The columns of every record: explicit, or frozen after [`super::infer_schema`].
    pub columns: SchemaRef,
    /// Leave out what a file has and `columns` does not, instead of stopping at the file.
    pub ignore_columns: bool,
    /// How long a local file must have been left alone before it is read. Objects of a store appear whole and do not
    /// wait.
    pub settle: Duration,
    /// The longest field that is accepted; a record with a longer one becomes a dead letter.
    pub max_field_bytes: usize,
    /// Where objects of a store are kept while they are read. The
    /// folder must exist. Nothing stays there, not even after a crash.
    pub spool_dir: PathBuf,
}

impl FilesOptions {
    pub(super) fn record_max_bytes(&self) -> usize {
        RECORD_MAX_BYTES.max(self.max_field_bytes)
    }
}

/// The format of all files of a source. Compression goes by the name: `.gz`, `.zst`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFormat {
    Csv(CsvOptions),
    /// One JSON object a line.
    JsonLines,
    Parquet,
}

impl FileFormat {
    /// Records of text formats are on lines.
    pub(super) const fn has_lines(&self) -> bool {
        !matches!(self, Self::Parquet)
    }
}

/// How CSV is read.
///
/// Records end at a line feed, a carriage return or both; blank lines are skipped; quotes inside a quoted field are
/// doubled. An empty field is an empty text in a text column and null in any other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    pub delimiter: u8,
    /// None: quotes have no meaning.
    pub quote: Option<u8>,
    /// The first record of each file names its columns, in any order. Without it, fields follow the order of the schema.
    pub header: bool,
    /// Texts that mean null, whatever the column's type, such as `NA`.
    pub null_values: Vec<String>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self { delimiter: b',', quote: Some(b'"'), header: true, null_values: Vec::new() }
    }
}

impl CsvOptions {
    pub(super) fn check(&self) -> Result<(), SourceError> {
        let special = |byte: u8| byte == b'\n' || byte == b'\r' || !byte.is_ascii();
        if special(self.delimiter) || self.quote.is_some_and(special) || self.quote == Some(self.delimiter) {
            return Err(SourceError::Mismatch {
                what: "the CSV delimiter and quote must be two different ASCII characters other than line ends".into(),
                hint: "set `delimiter` and `quote` to single characters, such as `,` and `\"`".into(),
            });
        }
        Ok(())
    }
}

/// A pattern over paths below the root: `*` stays within one folder, `**` goes through folders.
pub fn parse_pattern(pattern: &str) -> Result<Glob, SourceError> {
    GlobBuilder::new(pattern).literal_separator(true).build().map_err(|error| SourceError::Mismatch {
        what: format!("the file pattern is not valid: {}", error.kind()),
        hint: "use `*`, `**`, `?`, `[a-z]` and `{a,b}`, as in `**/*.csv`".into(),
    })
}
