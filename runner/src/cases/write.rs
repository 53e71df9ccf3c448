//! Writing down what a transform makes, as what is expected from now on.

use super::CasesError;
use super::digests::{self, FILE};
use super::input::{Format, OPERATION, ROW, operation_text};
use super::manifest::{Case, Folder, Rows};
use super::report::CaseReport;
use super::run::{Made, MadeRows, origins};
use super::{expected, lines};
use crate::host::{Reject, Selection, StageRows};
use gristmill_core::record::Operation;
use std::io;
use std::path::{Path, PathBuf};

/// A reject as a line of its file.
pub(super) fn reject_line(reject: &Reject) -> String {
    let field = reject.field.as_deref().map_or("null".to_owned(), lines::text);
    format!(
        r#"{{"row":{},"code":{},"field":{field},"message":{}}}"#,
        reject.row,
        lines::text(&reject.code),
        lines::text(&reject.message)
    )
}

/// Writes the files of a case that differ from what they hold. Returns those that were written.
pub(super) fn case(folder: &Folder, case: &Case, made: &Made) -> Result<Vec<PathBuf>, String> {
    let mut written = Vec::new();
    let Some(MadeRows { outputs, rejects, .. }) = &made.rows else { return Ok(written) };
    let generated = matches!(case.rows, Rows::Generated(_));
    let only = outputs.len() == 1;
    for (name, rows) in outputs {
        let path = match expected::file(folder, case, name, only) {
            Some((path, Format::JsonLines)) => path,
            Some((path, _)) => return Err(format!("{} is rewritten by hand, or as .jsonl", path.display())),
            // Generated rows are many: their digest is enough.
            None if generated => continue,
            None if only => folder.file(case, "out.jsonl"),
            None => folder.file(case, &format!("{name}.out.jsonl")),
        };
        if changed(&path, &text(rows)).map_err(|e| format!("{}: {e}", path.display()))? {
            written.push(path);
        }
    }
    if generated {
        return Ok(written);
    }
    let path = expected::rejects_file(folder, case);
    let failed = |e: io::Error| format!("{}: {e}", path.display());
    let rejects: String = rejects.iter().map(|reject| reject_line(reject) + "\n").collect();
    if !rejects.is_empty() {
        if changed(&path, &rejects).map_err(failed)? {
            written.push(path);
        }
    } else if path.exists() {
        std::fs::remove_file(&path).map_err(failed)?;
        written.push(path);
    }
    Ok(written)
}

/// Writes `digests.txt`, if the folder keeps one or has generated cases.
pub(super) fn digests(folder: &Folder, reports: &[CaseReport]) -> Result<Option<PathBuf>, CasesError> {
    let path = folder.dir().join(FILE);
    if !path.exists() && !folder.cases().iter().any(|case| matches!(case.rows, Rows::Generated(_))) {
        return Ok(None);
    }
    let of_cases = reports.iter().filter_map(|case| Some((case.name.as_str(), case.outcome.digests?)));
    let failed = |source| CasesError::File { path: path.clone(), source };
    Ok(changed(&path, &digests::text(of_cases)).map_err(failed)?.then_some(path))
}

fn text(rows: &StageRows) -> String {
    let origins = origins(rows);
    let moved = rows.selection != Selection::All;
    let line = |row: usize| {
        let mut first = Vec::new();
        if moved {
            first.push(format!("\"{ROW}\":{}", origins[row]));
        }
        let operation = rows.operations.value(row);
        if operation != Operation::Insert.code() {
            first.push(format!("\"{OPERATION}\":\"{}\"", operation_text(operation)));
        }
        lines::object(&rows.rows, row, &first) + "\n"
    };
    (0..rows.rows.num_rows()).map(line).collect()
}

/// Writes a file, unless it says the same already.
fn changed(path: &Path, text: &str) -> io::Result<bool> {
    if std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(false);
    }
    std::fs::write(path, text)?;
    Ok(true)
}
