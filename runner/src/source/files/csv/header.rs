//! Which field of a CSV file belongs to which column.

use super::records::{Fields, Scan};
use crate::source::SourceError;
use crate::source::files::text::TextWindow;
use crate::source::files::trouble;
use arrow::datatypes::Schema;
use gristmill_core::dead_letter::bounded;
use std::collections::HashSet;

/// Longest name that an error repeats, in bytes.
const NAME_MAX_BYTES: usize = 64;

/// The first record of a file.
#[derive(Debug)]
pub(in crate::source::files) struct Header {
    pub names: Vec<String>,
}

/// Reads the header and leaves it behind, with its line feeds counted into `line`. None: the file has no record at all.
pub(in crate::source::files) fn read_header(
    window: &mut TextWindow,
    fields: &mut Fields,
    line: &mut u64,
    path: &str,
    max_bytes: usize,
) -> Result<Option<Header>, SourceError> {
    loop {
        skip_blank(window, line);
        if window.bytes().is_empty() {
            if window.ended() {
                return Ok(None);
            }
            window.fill().map_err(|error| trouble::reading(path, error))?;
            continue;
        }
        match fields.scan(window.bytes(), window.ended()) {
            Scan::Record { bytes, .. } if bytes <= max_bytes => {
                let record = window.bytes();
                let name = |i| String::from_utf8_lossy(fields.get(record, i)).into_owned();
                let names = (0..fields.len()).map(name).collect();
                *line += line_feeds(&record[..bytes]);
                window.consume(bytes);
                return Ok(Some(Header { names }));
            }
            Scan::NeedMore if window.bytes().len() <= max_bytes => {
                window.fill().map_err(|error| trouble::reading(path, error))?;
            }
            _ => {
                return Err(SourceError::Mismatch {
                    what: format!(
                        "{path}: its first record is no header: it is too long or a quote of it never closes"
                    ),
                    hint: "check the file, and `delimiter` and `quote`; `header: false` reads files without a header"
                        .into(),
                });
            }
        }
    }
}

impl Header {
    /// The column of each field. Every column must be there, once, and nothing else.
    pub fn columns(
        &self,
        schema: &Schema,
        ignore_columns: bool,
        path: &str,
    ) -> Result<Vec<Option<usize>>, SourceError> {
        let mismatch = |what: String| SourceError::Mismatch {
            what: format!("{path}: {what}"),
            hint:
                "make the file's header and the source's `columns` name the same columns; `header: false` reads files \
                   without a header"
                    .into(),
        };
        let known: HashSet<&str> = self.names.iter().map(String::as_str).collect();
        let missing: Vec<&str> =
            schema.fields().iter().map(|f| f.name().as_str()).filter(|name| !known.contains(name)).collect();
        if missing.len() == schema.fields().len() && !missing.is_empty() {
            // Not a header, perhaps: what stands there may be values, which no error may show.
            return Err(mismatch(format!("its first line names none of the {} columns of the schema", missing.len())));
        }
        let extra: Vec<&str> =
            self.names.iter().map(String::as_str).filter(|name| schema.column_with_name(name).is_none()).collect();
        let mut complaints = Vec::new();
        if !missing.is_empty() {
            complaints.push(format!("columns missing: {}", list(&missing)));
        }
        if !extra.is_empty() && !ignore_columns {
            complaints.push(format!("columns that the schema does not have: {}", list(&extra)));
        }
        if complaints.is_empty() && known.len() < self.names.len() {
            complaints.push("a column is named twice".into());
        }
        if !complaints.is_empty() {
            return Err(mismatch(complaints.join("; ")));
        }
        Ok(self.names.iter().map(|name| schema.index_of(name).ok()).collect())
    }
}

fn list(names: &[&str]) -> String {
    const SHOWN: usize = 10;
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| bounded(name, NAME_MAX_BYTES)).collect();
    if names.len() > SHOWN {
        shown.push(format!("and {} more", names.len() - SHOWN));
    }
    shown.join(", ")
}

/// Leaves blank lines behind.
pub(super) fn skip_blank(window: &mut TextWindow, line: &mut u64) {
    let blank = window.bytes().iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
    if blank > 0 {
        *line += line_feeds(&window.bytes()[..blank]);
        window.consume(blank);
    }
}

pub(super) fn line_feeds(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|b| **b == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{DataType, Field};

    fn columns(names: &[&str]) -> Result<Vec<Option<usize>>, String> {
        let schema = Schema::new(vec![Field::new("a", DataType::Int8, true), Field::new("b", DataType::Int8, true)]);
        let header = Header { names: names.iter().map(|n| (*n).to_owned()).collect() };
        header.columns(&schema, false, "x.csv").map_err(|error| error.to_string())
    }

    #[test]
    fn headers_decide_the_order() {
        assert_eq!(columns(&["a", "b"]), Ok(vec![Some(0), Some(1)]));
        assert_eq!(columns(&["b", "a"]), Ok(vec![Some(1), Some(0)]));
    }

    #[test]
    fn mismatches_name_the_columns() {
        assert_eq!(columns(&["a"]).unwrap_err(), "x.csv: columns missing: b");
        assert_eq!(
            columns(&["a", "c"]).unwrap_err(),
            "x.csv: columns missing: b; columns that the schema does not have: c"
        );
        assert_eq!(columns(&["a", "b", "a"]).unwrap_err(), "x.csv: a column is named twice");
        let values = columns(&["4111 1111", "Smith"]).unwrap_err();
        assert!(!values.contains("Smith"), "{values}");
    }
}
