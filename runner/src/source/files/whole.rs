//! One local file at once, read as a run reads it: for tools that hold a transform against rows in files.

use super::chunk::{Budget, Position};
use super::held::HeldFile;
use super::infer::infer_held;
use super::options::{FileFormat, FilesOptions, MAX_FIELD_BYTES_DEFAULT};
use super::reading::reader;
use super::root::FilesRoot;
use super::trouble;
use crate::source::SourceError;
use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is in a file.
#[derive(Debug, Clone)]
pub struct WholeFile {
    pub rows: RecordBatch,
    /// The line of each row, from 1; empty for formats without lines.
    pub lines: Vec<u64>,
    /// Records that the reader does not accept.
    pub refused: Vec<RefusedRecord>,
}

/// A record that a run would put aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRecord {
    /// From 1, where the format has lines.
    pub line: Option<u64>,
    pub field: Option<String>,
    /// Says lengths and types, never values.
    pub message: String,
}

/// Reads all records of a file. It is held in memory: this is for files that a person wrote.
pub fn read_file(path: &Path, format: &FileFormat, columns: SchemaRef) -> Result<WholeFile, SourceError> {
    let (file, name) = open(path)?;
    let options = FilesOptions {
        root: FilesRoot::Local(path.to_owned()),
        pattern: None,
        format: format.clone(),
        columns,
        ignore_columns: false,
        settle: Duration::ZERO,
        max_field_bytes: MAX_FIELD_BYTES_DEFAULT,
        spool_dir: PathBuf::new(),
    };
    if let FileFormat::Csv(csv) = format {
        csv.check()?;
    }
    let mut reader = reader(&options, &name, file, Position::START)?;
    let chunk = reader.read(Budget { rows: usize::MAX, bytes: usize::MAX, page_is_empty: true })?;
    let refused = chunk.refused.into_iter();
    let refused = refused.map(|r| RefusedRecord { line: r.line, field: r.field, message: r.message }).collect();
    Ok(WholeFile { rows: chunk.rows, lines: chunk.lines, refused })
}

/// The columns of a file, by the rules of [`super::infer_schema`].
pub fn infer_file(path: &Path, format: &FileFormat) -> Result<Schema, SourceError> {
    let (file, name) = open(path)?;
    infer_held(&file, &name, format)
}

fn open(path: &Path) -> Result<(HeldFile, String), SourceError> {
    let name = path.display().to_string();
    let unreadable = |error| trouble::unreadable(&name, error);
    let file = File::open(path).map_err(unreadable)?;
    let bytes = file.metadata().map_err(unreadable)?.len();
    Ok((HeldFile::new(file, bytes), name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{DataType, Field};
    use std::sync::Arc;

    #[test]
    fn a_file_is_read_to_its_end_and_what_is_refused_has_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let text: String = (0..5000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
        std::fs::write(&path, text + "\n{\"n\":1.5}\n{\"n\":7}").unwrap();
        let columns = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]));
        let inferred = infer_file(&path, &FileFormat::JsonLines).unwrap();
        assert_eq!(inferred.field(0).data_type(), &DataType::Float64, "the line that is no int64 counts too");
        let whole = read_file(&path, &FileFormat::JsonLines, columns).unwrap();
        assert_eq!((whole.rows.num_rows(), whole.lines.last()), (5001, Some(&5003)));
        assert_eq!(whole.refused.len(), 1);
        assert_eq!((whole.refused[0].line, whole.refused[0].field.as_deref()), (Some(5002), Some("n")));
    }
}
