//! What is expected against what was made, told so that a person finds the place.

use super::expected::{self, ExpectedReject, Row, Rows};
use super::input::operation_text;
use super::manifest::{Case, Folder};
use super::run::{Made, MadeRows, origins};
use crate::host::Reject;
use arrow::datatypes::SchemaRef;
use std::fmt::Write;
use std::path::Path;

/// Differences of one file that are shown.
const SHOWN_MAX: usize = 20;
/// Rows of a file that are aligned; longer ones are compared row by row.
const ALIGNED_MAX: usize = 2_000;

/// All differences of a case; none if it passes.
pub(super) fn case(folder: &Folder, case: &Case, made: &Made) -> Vec<String> {
    let mut differences = stated(case, made);
    let Some(made) = &made.rows else { return differences };
    let mut had_rows = false;
    let only = made.outputs.len() == 1;
    for (name, rows) in &made.outputs {
        match expected::rows(folder, case, name, only, &rows.rows.schema()) {
            Ok(Some(expected)) => {
                had_rows = true;
                let origins = origins(rows);
                let actual = expected::of_batch(&rows.rows, &rows.operations, |row| Some(origins[row]));
                differences.extend(of_rows(&expected, &actual, &rows.rows.schema()));
            }
            Ok(None) => {}
            Err(problem) => differences.push(problem),
        }
    }
    match expected::rejects(folder, case) {
        // Those of generated rows are many: without a file their digest is enough.
        Ok(expected) if expected.is_empty() && matches!(case.rows, super::Rows::Generated(_)) => {}
        Ok(expected) => differences.extend(of_rejects(&expected::rejects_file(folder, case), &expected, &made.rejects)),
        Err(problem) => differences.push(problem),
    }
    match expected::digests(folder, case) {
        Ok(None) if !had_rows => differences.push("nothing says what is expected; `--update` writes it down".into()),
        Ok(None) => {}
        Ok(Some(digests)) if digests != made.digests && differences.is_empty() => {
            differences.push(format!("{}: the digests differ", super::digests::FILE));
        }
        Ok(Some(_)) => {}
        Err(problem) => differences.push(problem),
    }
    differences
}

/// Differences from what `cases.toml` states.
pub(super) fn stated(case: &Case, made: &Made) -> Vec<String> {
    let Some(MadeRows { messages, poison, .. }) = &made.rows else { return Vec::new() };
    let mut differences = Vec::new();
    if let Some(expected) = &case.messages
        && expected != messages
    {
        differences.push(format!("messages: expected {expected:?}, got {messages:?}"));
    }
    for reject in poison.iter().filter(|reject| !case.poison.contains(&reject.row)) {
        differences.push(format!("row {}: the transform breaks on it: {}", reject.row, reject.message));
    }
    for row in case.poison.iter().filter(|row| !poison.iter().any(|reject| reject.row == **row)) {
        differences.push(format!("row {row}: the transform must break on it, and does not"));
    }
    differences
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn of_rows(expected: &Rows, actual: &[Row], schema: &SchemaRef) -> Option<String> {
    let mut changes = Vec::new();
    for change in align(&expected.rows, actual) {
        match change {
            Change::Changed(e, a) => {
                let cells = cells(&expected.rows[e], &actual[a], schema);
                changes.push(format!("{}: {}", place(expected, e), cells.join("; ")));
            }
            Change::Missing(e) => changes.push(format!("{}: this row is missing", place(expected, e))),
            Change::Added(a) => changes.push(format!("not expected: {}", object(&actual[a], schema))),
        }
    }
    listed(&expected.path, changes)
}

fn listed(path: &Path, changes: Vec<String>) -> Option<String> {
    if changes.is_empty() {
        return None;
    }
    let mut text = file_name(path);
    for change in changes.iter().take(SHOWN_MAX) {
        let _ = write!(text, "\n  {change}");
    }
    if changes.len() > SHOWN_MAX {
        let _ = write!(text, "\n  and {} more", changes.len() - SHOWN_MAX);
    }
    Some(text)
}

fn place(expected: &Rows, row: usize) -> String {
    match expected.lines.get(row) {
        Some(line) => format!("line {line}"),
        None => format!("row {row}"),
    }
}

fn cells(expected: &Row, actual: &Row, schema: &SchemaRef) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = |name: &str, expected: &str, actual: &str| {
        if expected != actual {
            cells.push(format!("{name}: expected {expected}, got {actual}"));
        }
    };
    for (field, (expected, actual)) in schema.fields().iter().zip(expected.values.iter().zip(&actual.values)) {
        cell(field.name(), expected, actual);
    }
    cell("@operation", operation_text(expected.operation), operation_text(actual.operation));
    if let (Some(expected), Some(actual)) = (expected.origin, actual.origin) {
        cell("@row", &expected.to_string(), &actual.to_string());
    }
    cells
}

fn object(row: &Row, schema: &SchemaRef) -> String {
    let members = schema.fields().iter().zip(&row.values);
    let members = members.map(|(field, value)| format!("{}:{value}", super::lines::text(field.name())));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn is_same(expected: &Row, actual: &Row) -> bool {
    expected.values == actual.values
        && expected.operation == actual.operation
        && (expected.origin.is_none() || expected.origin == actual.origin)
}

#[derive(Debug, PartialEq, Eq)]
enum Change {
    Changed(usize, usize),
    Missing(usize),
    Added(usize),
}

/// Pairs rows up. Between rows that are the same, as many as there are on both sides count as changed.
fn align(expected: &[Row], actual: &[Row]) -> Vec<Change> {
    let start = expected.iter().zip(actual).take_while(|(e, a)| is_same(e, a)).count();
    let (expected, actual) = (&expected[start..], &actual[start..]);
    let end = expected.iter().rev().zip(actual.iter().rev()).take_while(|(e, a)| is_same(e, a)).count();
    let (expected, actual) = (&expected[..expected.len() - end], &actual[..actual.len() - end]);
    let mut changes = Vec::new();
    let (mut e, mut a) = (0, 0);
    let mut gap = |from: (usize, usize), to: (usize, usize)| {
        let both = (to.0 - from.0).min(to.1 - from.1);
        changes.extend((0..both).map(|i| Change::Changed(start + from.0 + i, start + from.1 + i)));
        changes.extend((from.0 + both..to.0).map(|i| Change::Missing(start + i)));
        changes.extend((from.1 + both..to.1).map(|i| Change::Added(start + i)));
    };
    for (same_e, same_a) in common(expected, actual) {
        gap((e, a), (same_e, same_a));
        (e, a) = (same_e + 1, same_a + 1);
    }
    gap((e, a), (expected.len(), actual.len()));
    changes
}

/// Places of a longest common subsequence.
fn common(expected: &[Row], actual: &[Row]) -> Vec<(usize, usize)> {
    if expected.len() > ALIGNED_MAX || actual.len() > ALIGNED_MAX {
        return (0..expected.len().min(actual.len()))
            .filter(|i| is_same(&expected[*i], &actual[*i]))
            .map(|i| (i, i))
            .collect();
    }
    let width = actual.len() + 1;
    let mut longest = vec![0_u16; (expected.len() + 1) * width];
    for e in (0..expected.len()).rev() {
        for a in (0..actual.len()).rev() {
            longest[e * width + a] = match is_same(&expected[e], &actual[a]) {
                true => longest[(e + 1) * width + a + 1] + 1,
                false => longest[(e + 1) * width + a].max(longest[e * width + a + 1]),
            };
        }
    }
    let (mut e, mut a, mut pairs) = (0, 0, Vec::new());
    while e < expected.len() && a < actual.len() {
        if is_same(&expected[e], &actual[a]) {
            pairs.push((e, a));
            (e, a) = (e + 1, a + 1);
        } else if longest[(e + 1) * width + a] >= longest[e * width + a + 1] {
            e += 1;
        } else {
            a += 1;
        }
    }
    pairs
}

fn of_rejects(path: &Path, expected: &[ExpectedReject], actual: &[Reject]) -> Option<String> {
    let mut changes = Vec::new();
    for reject in expected {
        let Some(found) = actual.iter().find(|found| found.row == reject.row) else {
            changes.push(format!("row {}: it must be rejected with `{}`, and is not", reject.row, reject.code));
            continue;
        };
        let mut differ = |what: &str, expected: Option<&str>, actual: Option<&str>| {
            if expected != actual {
                let shown = |text: Option<&str>| text.map_or("none".to_owned(), |text| format!("`{text}`"));
                changes.push(format!(
                    "row {}: {what}: expected {}, got {}",
                    reject.row,
                    shown(expected),
                    shown(actual)
                ));
            }
        };
        differ("code", Some(&reject.code), Some(&found.code));
        differ("field", reject.field.as_deref(), found.field.as_deref());
        if let Some(message) = &reject.message {
            differ("message", Some(message), Some(&found.message));
        }
    }
    for found in actual.iter().filter(|found| !expected.iter().any(|reject| reject.row == found.row)) {
        changes.push(format!(
            "row {}: rejected with `{}`, which is not expected: {}",
            found.row, found.code, found.message
        ));
    }
    listed(path, changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{DataType, Field, Schema};
    use std::sync::Arc;

    fn row(value: &str) -> Row {
        Row { operation: 0, origin: None, values: vec![value.into(), "1".into()] }
    }

    fn rows(values: &str) -> Vec<Row> {
        values.split_whitespace().map(row).collect()
    }

    #[test]
    fn rows_are_aligned_around_those_that_are_the_same() {
        use Change::*;
        assert_eq!(align(&rows("a b c d"), &rows("a b c d")), []);
        assert_eq!(align(&rows("a b c d"), &rows("a x c d")), [Changed(1, 1)]);
        assert_eq!(align(&rows("a b c d"), &rows("a c d")), [Missing(1)]);
        assert_eq!(align(&rows("a c"), &rows("a b c d")), [Added(1), Added(3)]);
        assert_eq!(align(&rows("a b c d e"), &rows("a y z d")), [Changed(1, 1), Changed(2, 2), Missing(4)]);
    }

    #[test]
    fn a_difference_names_line_column_and_both_values() {
        let schema = Arc::new(Schema::new(vec![
            Field::new("name", DataType::Utf8, true),
            Field::new("n", DataType::Int64, true),
        ]));
        let mut expected = Rows { path: "cases/a.out.jsonl".into(), rows: rows("a b c"), lines: vec![1, 3, 4] };
        expected.rows[2].operation = 2;
        expected.rows[2].origin = Some(7);
        let mut actual = rows("a B c d");
        actual.iter_mut().zip(0..).for_each(|(row, origin)| row.origin = Some(origin));
        let text = of_rows(&expected, &actual, &schema).unwrap();
        assert_eq!(
            text,
            "a.out.jsonl\n  line 3: name: expected b, got B\n  \
             line 4: @operation: expected delete, got insert; @row: expected 7, got 2\n  not expected: {\"name\":d,\"n\":1}"
        );
    }
}
