//! What a case's files say that must come out.

use super::input::{self, Format};
use super::manifest::{Case, Folder};
use super::{digests, lines};
use arrow::array::{Array, AsArray, UInt8Array};
use arrow::datatypes::{SchemaRef, UInt32Type};
use serde::Deserialize;
use std::path::PathBuf;

/// One row, its values as JSON, for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub operation: u8,
    /// The input row; none where the file leaves it open.
    pub origin: Option<u32>,
    pub values: Vec<String>,
}

/// Rows of one file.
#[derive(Debug)]
pub(super) struct Rows {
    pub path: PathBuf,
    pub rows: Vec<Row>,
    /// The line of each row; empty for Parquet.
    pub lines: Vec<u64>,
}

/// A reject as a file states it. What it leaves out is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedReject {
    pub row: u32,
    pub code: String,
    pub field: Option<String>,
    pub message: Option<String>,
}

/// The rows of an output's file. None: it has none.
pub(super) fn rows(
    folder: &Folder,
    case: &Case,
    output: &str,
    only: bool,
    schema: &SchemaRef,
) -> Result<Option<Rows>, String> {
    let Some((path, format)) = file(folder, case, output, only) else { return Ok(None) };
    let table = input::read(&path, format, &case.null_values, Some(schema))?;
    let origins = table.origins.as_ref().map(|origins| origins.as_primitive::<UInt32Type>());
    let origin = |row: usize| origins.filter(|origins| origins.is_valid(row)).map(|origins| origins.value(row));
    let rows = of_batch(&table.rows, &table.operations, origin);
    Ok(Some(Rows { path, rows, lines: table.lines }))
}

/// The rows of a batch.
pub(super) fn of_batch(
    batch: &arrow::array::RecordBatch,
    operations: &UInt8Array,
    origin: impl Fn(usize) -> Option<u32>,
) -> Vec<Row> {
    let row = |row: usize| Row {
        operation: operations.value(row),
        origin: origin(row),
        values: batch.columns().iter().map(|column| lines::value(column, row)).collect(),
    };
    (0..batch.num_rows()).map(row).collect()
}

/// The file of an output; that of the only output may leave its name out.
pub(super) fn file(folder: &Folder, case: &Case, output: &str, only: bool) -> Option<(PathBuf, Format)> {
    let named = Format::ALL.iter().map(|(extension, format)| (format!("{output}.out.{extension}"), *format));
    let plain = Format::ALL.iter().map(|(extension, format)| (format!("out.{extension}"), *format));
    let candidates = named.chain(plain.filter(|_| only));
    candidates.map(|(suffix, format)| (folder.file(case, &suffix), format)).find(|(path, _)| path.exists())
}

pub(super) fn rejects_file(folder: &Folder, case: &Case) -> PathBuf {
    folder.file(case, "rejects.jsonl")
}

/// The rejects of a case, by row; none where there is no file.
pub(super) fn rejects(folder: &Folder, case: &Case) -> Result<Vec<ExpectedReject>, String> {
    let path = rejects_file(folder, case);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(format!("{}: {e}", path.display())),
    };
    let mut rejects = Vec::new();
    for (place, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let reject: ExpectedReject =
            serde_json::from_str(line).map_err(|e| format!("{} line {}: {e}", path.display(), place + 1))?;
        rejects.push(reject);
    }
    rejects.sort_by_key(|reject| reject.row);
    Ok(rejects)
}

/// The digests of a case. None: the folder keeps no digests.
pub(super) fn digests(folder: &Folder, case: &Case) -> Result<Option<digests::Digests>, String> {
    let Some(all) = digests::read(folder.dir())? else { return Ok(None) };
    match all.get(&case.name) {
        Some(digests) => Ok(Some(*digests)),
        None => Err(format!("{} has no line for this case; `--update` adds it", digests::FILE)),
    }
}
