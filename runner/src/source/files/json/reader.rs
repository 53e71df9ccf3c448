//! Lines into chunks of records.

use super::decode::{Decoded, LineDecoder, LineFault};
use crate::source::SourceError;
use crate::source::files::chunk::{Budget, Chunk, Position, RecordReader, Refused};
use crate::source::files::compression::Compression;
use crate::source::files::held::HeldFile;
use crate::source::files::measure::row_bytes;
use crate::source::files::options::FilesOptions;
use crate::source::files::text::TextWindow;
use crate::source::files::trouble;
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use gristmill_core::dead_letter::DeadLetterClass;
use std::io;

/// Lines that are decoded together: enough to make the decoder's set-up cheap, few enough to find a bad one fast.
const LINES_TOGETHER: usize = 1024;

pub(in crate::source::files) struct JsonReader {
    path: String,
    schema: SchemaRef,
    decoder: LineDecoder,
    window: TextWindow,
    record: u64,
    line: u64,
    line_max_bytes: usize,
}

/// A line of the window: `bytes` up to the next line, the first `content` of them without the line end.
#[derive(Debug, Clone, Copy)]
struct Line {
    start: usize,
    content: usize,
    bytes: usize,
}

impl JsonReader {
    pub fn open(file: HeldFile, path: &str, options: &FilesOptions, from: Position) -> Result<Self, SourceError> {
        let window =
            TextWindow::open(file, Compression::of(path), from.byte).map_err(|error| trouble::reading(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            schema: options.columns.clone(),
            decoder: LineDecoder::new(options.columns.clone(), options.ignore_columns, options.max_field_bytes)?,
            window,
            record: from.record,
            line: from.line,
            line_max_bytes: options.record_max_bytes(),
        })
    }

    /// The complete lines at the start of the window, up to `max`. Empty: the first line is longer than a line may be.
    /// None: nothing is left.
    fn lines(&mut self, max: usize) -> io::Result<Option<Vec<Line>>> {
        loop {
            let bytes = self.window.bytes();
            let mut lines = Vec::new();
            let mut start = 0;
            while lines.len() < max {
                let Some(end) = bytes[start..].iter().position(|b| *b == b'\n') else { break };
                lines.push(Line { start, content: end, bytes: end + 1 });
                start += end + 1;
            }
            if lines.is_empty() && self.window.ended() {
                if bytes.is_empty() {
                    return Ok(None);
                }
                lines.push(Line { start: 0, content: bytes.len(), bytes: bytes.len() });
            }
            if !lines.is_empty() || bytes.len() > self.line_max_bytes {
                return Ok(Some(lines));
            }
            self.window.fill()?;
        }
    }

    fn refused(&self, fault: LineFault) -> Refused {
        Refused {
            record: self.record,
            line: Some(self.line),
            class: fault.class,
            field: fault.field,
            message: fault.message,
        }
    }

    fn over_size(&self, bytes: u64) -> LineFault {
        let message = format!("a line of {bytes} bytes; at most {} are accepted", self.line_max_bytes);
        LineFault { class: DeadLetterClass::OverSize, field: None, message }
    }

    /// Passes a line that is not kept in memory.
    fn skip_line(&mut self) -> io::Result<Refused> {
        let start = self.window.offset();
        let content = loop {
            if let Some(end) = self.window.bytes().iter().position(|b| *b == b'\n') {
                let content = self.window.offset() - start + end as u64;
                self.window.consume(end + 1);
                break content;
            }
            self.window.consume(self.window.bytes().len());
            if !self.window.fill()? {
                break self.window.offset() - start;
            }
        };
        let refused = self.refused(self.over_size(content));
        self.record += 1;
        self.line += 1;
        Ok(refused)
    }

    fn decode(&mut self, lines: &[Line]) -> Result<Decoded, SourceError> {
        let window = self.window.bytes();
        // A line over the limit is refused when its turn comes; here it only must not be decoded.
        let fed: Vec<&[u8]> = lines
            .iter()
            .map(|line| {
                if line.content > self.line_max_bytes {
                    &[][..]
                } else {
                    &window[line.start..line.start + line.content]
                }
            })
            .collect();
        self.decoder.decode(&fed).map_err(|_| unbatchable(&self.path))
    }
}

fn unbatchable(path: &str) -> SourceError {
    SourceError::Permanent {
        what: format!("{path}: its rows do not make a batch"),
        hint: "lower `max_bytes` of a batch to less than 2 GiB".into(),
    }
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

/// Whether every column can be read from JSON Lines.
pub(in crate::source::files) fn check_types(schema: &SchemaRef) -> Result<(), SourceError> {
    LineDecoder::new(schema.clone(), false, usize::MAX).map(|_| ())
}

impl RecordReader for JsonReader {
    fn read(&mut self, budget: Budget) -> Result<Chunk, SourceError> {
        let path = self.path.clone();
        let failed = |error| trouble::reading(&path, error);
        let mut batches: Vec<RecordBatch> = Vec::new();
        let (mut records, mut line_numbers, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        let mut total = 0;
        let mut ended = false;
        'page: while records.len() + refused.len() < budget.rows {
            let left = budget.rows - records.len() - refused.len();
            let Some(lines) = self.lines(left.min(LINES_TOGETHER)).map_err(failed)? else {
                ended = true;
                break;
            };
            if lines.is_empty() {
                refused.push(self.skip_line().map_err(failed)?);
                continue;
            }
            let window = self.window.bytes();
            let (blank, full): (Vec<Line>, Vec<Line>) =
                lines.iter().partition(|line| is_blank(&window[line.start..line.start + line.content]));
            let decoded = self.decode(&full)?;
            let sizes = row_bytes(&decoded.rows);
            let (mut row, mut consumed, mut next_full, mut next_blank) = (0, 0, 0, 0);
            let mut is_full = false;
            while next_full < full.len() || next_blank < blank.len() {
                let is_next_blank =
                    blank.get(next_blank).is_some_and(|b| full.get(next_full).is_none_or(|f| b.start < f.start));
                if is_next_blank {
                    consumed += blank[next_blank].bytes;
                    next_blank += 1;
                    self.line += 1;
                    continue;
                }
                let line = full[next_full];
                let count = records.len() + refused.len();
                if line.content > self.line_max_bytes {
                    refused.push(self.refused(self.over_size(line.content as u64)));
                } else if let Some(fault) = &decoded.faults[next_full] {
                    refused.push(self.refused(fault.clone()));
                } else if budget.fits(count, total, sizes[row]) {
                    records.push(self.record);
                    line_numbers.push(self.line);
                    total += sizes[row];
                    row += 1;
                } else {
                    is_full = true;
                    break;
                }
                consumed += line.bytes;
                next_full += 1;
                self.record += 1;
                self.line += 1;
            }
            self.window.consume(consumed);
            batches.push(decoded.rows.slice(0, row));
            if is_full {
                break 'page;
            }
        }
        if !ended {
            ended = self.window.only_blank_left().map_err(failed)?;
        }
        let rows = concat_batches(&self.schema, &batches).map_err(|_| unbatchable(&self.path))?;
        let at = Position { record: self.record, byte: self.window.offset(), line: self.line };
        Ok(Chunk { rows, records, lines: line_numbers, refused, bytes: total, at, ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::files::options::{FileFormat, MAX_FIELD_BYTES_DEFAULT};
    use crate::source::files::root::FilesRoot;
    use arrow::array::AsArray;
    use arrow::datatypes::{DataType, Field, Int32Type, Schema};
    use std::io::Write;
    use std::sync::Arc;

    fn read(fields: Vec<Field>, text: &[u8], max_field_bytes: usize) -> Chunk {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        let options = FilesOptions {
            root: FilesRoot::Local("unused".into()),
            pattern: None,
            format: FileFormat::JsonLines,
            columns: Arc::new(Schema::new(fields)),
            ignore_columns: false,
            settle: std::time::Duration::ZERO,
            max_field_bytes,
            spool_dir: "unused".into(),
        };
        let held = HeldFile::new(file, text.len() as u64);
        let mut reader = JsonReader::open(held, "a.jsonl", &options, Position::START).unwrap();
        reader.read(Budget { rows: 10_000, bytes: usize::MAX, page_is_empty: true }).unwrap()
    }

    fn classes(chunk: &Chunk) -> Vec<(u64, &'static str, Option<&str>)> {
        chunk.refused.iter().map(|r| (r.line.unwrap(), r.class.as_str(), r.field.as_deref())).collect()
    }

    #[test]
    fn bad_lines_are_told_apart() {
        let fields = || {
            let list = DataType::new_list(DataType::Int64, true);
            vec![
                Field::new("a", DataType::Int32, false),
                Field::new("b", DataType::Utf8, true),
                Field::new("c", list, true),
            ]
        };
        let long = "x".repeat(60);
        let text = format!(
            concat!(
                "{{\"a\":1,\"b\":\"x\",\"c\":[1,2]}}\n\n",
                "{{\"a\":1.5}}\n",
                "{{\"a\":2}}{{\"a\":3}}\n",
                "{{\"a\":\n",
                "3}}\n",
                "{{\"a\":4,\"d\":1}}\n",
                "{{\"a\":5,\"b\":[1]}}\n",
                "{{\"b\":\"x\"}}\n",
                "{{\"a\":6,\"c\":[1.5]}}\n",
                "7\n",
                "{{\"a\":8,\"b\":\"{long}\"}}\n",
                "  \n{{\"a\":9}}",
            ),
            long = long
        );
        let chunk = read(fields(), text.as_bytes(), 50);
        assert_eq!(
            classes(&chunk),
            [
                (3, "unparsable-value", Some("a")),
                (4, "malformed", None),
                (5, "malformed", None),
                (6, "malformed", None),
                (7, "field-count", None),
                (8, "unparsable-value", Some("b")),
                (9, "unparsable-value", Some("a")),
                (10, "unparsable-value", Some("c")),
                (11, "malformed", None),
                (12, "over-size", Some("b")),
            ]
        );
        assert!(chunk.ended);
        assert_eq!((chunk.lines, chunk.records), (vec![1, 14], vec![0, 11]));
        assert_eq!(chunk.rows.column(0).as_primitive::<Int32Type>().values(), &[1, 9]);
    }

    #[test]
    fn bytes_that_are_not_utf8_and_bottomless_nesting() {
        let mut text = b"{\"a\":\"\xff\"}\n{\"a\":".to_vec();
        text.extend(std::iter::repeat_n(b'[', 1 << 20));
        let chunk = read(vec![Field::new("a", DataType::Utf8, true)], &text, MAX_FIELD_BYTES_DEFAULT);
        assert_eq!(classes(&chunk), [(1, "invalid-utf8", None), (2, "malformed", None)]);
    }

    #[test]
    fn a_line_without_end_takes_bounded_memory() {
        let mut text = b"{\"a\":\"".to_vec();
        text.resize(20 << 20, b'x');
        text.extend_from_slice(b"\"}\n{\"a\":\"y\"}\n");
        let chunk = read(vec![Field::new("a", DataType::Utf8, true)], &text, 10);
        assert_eq!(classes(&chunk), [(1, "over-size", None)]);
        assert_eq!(chunk.lines, [2]);
    }

    #[test]
    fn scalars_are_parsed_exactly() {
        let fields = vec![Field::new("a", DataType::Decimal128(20, 2), true), Field::new("b", DataType::Boolean, true)];
        let text = b"{\"a\":12345678901234567.25,\"b\":true}\n{\"a\":\"1.5\",\"b\":null}\n{\"a\":1.255}\n";
        let chunk = read(fields, text, 100);
        let values = chunk.rows.column(0).as_primitive::<arrow::datatypes::Decimal128Type>();
        assert_eq!(values.values(), &[1_234_567_890_123_456_725, 150]);
        assert_eq!(classes(&chunk), [(3, "unparsable-value", Some("a"))]);
    }

    /// What the top level refuses is refused within structs, lists and maps, too: nothing is cut or shifted there.
    #[test]
    fn scalars_in_nested_columns_are_parsed_exactly() {
        use arrow::datatypes::{TimeUnit, TimestampSecondType};
        let field = |name: &str, data_type| Field::new(name, data_type, true);
        let inner = vec![
            field("d", DataType::Decimal128(5, 2)),
            field("t", DataType::Timestamp(TimeUnit::Second, None)),
            field("z", DataType::Timestamp(TimeUnit::Second, Some("+00:00".into()))),
            field("b", DataType::Boolean),
            field("s", DataType::Utf8),
        ];
        let s = field("s", DataType::Struct(inner.into()));
        let l = field("l", DataType::new_list(DataType::Time32(TimeUnit::Second), true));
        let entries = vec![Field::new("keys", DataType::Utf8, false), field("values", DataType::Date32)];
        let entries = Field::new("entries", DataType::Struct(entries.into()), false);
        let m = field("m", DataType::Map(Arc::new(entries), false));
        let good = [
            r#"{"s":{"d":1.50,"t":"2023-01-01T12:00:00","z":"2023-01-01T12:00:00+01:00","b":true,"s":12.75}}"#,
            r#"{"s":{"d":"1.5","t":null},"l":["12:00:00",null],"m":{"k":"2023-01-01"}}"#,
        ];
        let bad = [
            (r#"{"s":{"d":1.00000000000000000001}}"#, "s", "Decimal128(5, 2)"),
            (r#"{"s":{"d":1e1}}"#, "s", "Decimal128(5, 2)"),
            (r#"{"s":{"d":"1.005"}}"#, "s", "Decimal128(5, 2)"),
            (r#"{"s":{"t":"2023-01-01T12:00:00+01:00"}}"#, "s", "Timestamp(s)"),
            (r#"{"s":{"t":"2023-01-01T12:00:00.5"}}"#, "s", "Timestamp(s)"),
            (r#"{"s":{"t":12.7}}"#, "s", "Timestamp(s)"),
            (r#"{"s":{"t":12}}"#, "s", "Timestamp(s)"),
            (r#"{"s":{"z":"2023-01-01T12:00:00.5Z"}}"#, "s", "Timestamp(s, "),
            (r#"{"l":["12:00:00.25"]}"#, "l", "Time32(s)"),
            (r#"{"m":{"k":"2023-01-01T12:00:00"}}"#, "m", "Date32"),
        ];
        let lines = good.into_iter().chain(bad.iter().map(|(line, ..)| *line));
        let chunk = read(vec![s, l, m], lines.map(|line| format!("{line}\n")).collect::<String>().as_bytes(), 100);
        assert_eq!(chunk.lines, [1, 2]);
        let expected: Vec<_> = (3..).zip(&bad).map(|(line, bad)| (line, "unparsable-value", Some(bad.1))).collect();
        assert_eq!(classes(&chunk), expected);
        for (refused, (line, _, data_type)) in chunk.refused.iter().zip(bad) {
            assert!(refused.message.contains(data_type), "{line}: {}", refused.message);
        }
        let inner = chunk.rows.column(0).as_struct();
        assert_eq!(inner.column(0).as_primitive::<arrow::datatypes::Decimal128Type>().values(), &[150, 150]);
        let noon = 1_672_574_400;
        assert_eq!(inner.column(1).as_primitive::<TimestampSecondType>().value(0), noon);
        assert_eq!(inner.column(2).as_primitive::<TimestampSecondType>().value(0), noon - 3600);
    }
}
