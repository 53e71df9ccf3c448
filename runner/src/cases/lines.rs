//! Values as the JSON that the readers of this crate read back without loss.
//!
//! Integers are numbers of any size. Decimals, dates, times and timestamps are texts, timestamps with a zone in UTC.
//! Binary values are hexadecimal. Floats that JSON does not have are `"NaN"`, `"inf"` and `"-inf"`. Maps are objects where
//! their keys are text, else lists of pairs.

use arrow::array::{Array, ArrowPrimitiveType, AsArray, RecordBatch};
use arrow::datatypes::*;
use chrono::{DateTime, NaiveTime, SecondsFormat};
use std::fmt::{Display, Write};

/// One row as a JSON object, its columns in order, behind members that are written already (`"@row":1`).
pub(super) fn object(rows: &RecordBatch, row: usize, first: &[String]) -> String {
    let mut members = first.to_vec();
    for (field, column) in rows.schema_ref().fields().iter().zip(rows.columns()) {
        members.push(format!("{}:{}", text(field.name()), value(column, row)));
    }
    format!("{{{}}}", members.join(","))
}

/// A text as JSON.
pub(super) fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// One value as JSON.
pub(super) fn value(array: &dyn Array, row: usize) -> String {
    let mut out = String::new();
    write(array, row, &mut out);
    out
}

fn write(array: &dyn Array, row: usize, out: &mut String) {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        out.push_str("null");
        return;
    }
    match array.data_type() {
        DataType::Boolean => put(array.as_boolean().value(row), out),
        DataType::Int8 => put(number::<Int8Type>(array, row), out),
        DataType::Int16 => put(number::<Int16Type>(array, row), out),
        DataType::Int32 => put(number::<Int32Type>(array, row), out),
        DataType::Int64 => put(number::<Int64Type>(array, row), out),
        DataType::UInt8 => put(number::<UInt8Type>(array, row), out),
        DataType::UInt16 => put(number::<UInt16Type>(array, row), out),
        DataType::UInt32 => put(number::<UInt32Type>(array, row), out),
        DataType::UInt64 => put(number::<UInt64Type>(array, row), out),
        DataType::Float16 => {
            let number = number::<Float16Type>(array, row).to_f32();
            float(number.is_nan(), number.is_finite(), number > 0.0, format!("{number:?}"), out);
        }
        DataType::Float32 => {
            let number = number::<Float32Type>(array, row);
            float(number.is_nan(), number.is_finite(), number > 0.0, format!("{number:?}"), out);
        }
        DataType::Float64 => {
            let number = number::<Float64Type>(array, row);
            float(number.is_nan(), number.is_finite(), number > 0.0, format!("{number:?}"), out);
        }
        DataType::Decimal32(..) => quote(array.as_primitive::<Decimal32Type>().value_as_string(row), out),
        DataType::Decimal64(..) => quote(array.as_primitive::<Decimal64Type>().value_as_string(row), out),
        DataType::Decimal128(..) => quote(array.as_primitive::<Decimal128Type>().value_as_string(row), out),
        DataType::Decimal256(..) => quote(array.as_primitive::<Decimal256Type>().value_as_string(row), out),
        DataType::Utf8 => out.push_str(&text(array.as_string::<i32>().value(row))),
        DataType::LargeUtf8 => out.push_str(&text(array.as_string::<i64>().value(row))),
        DataType::Binary => hex(array.as_binary::<i32>().value(row), out),
        DataType::LargeBinary => hex(array.as_binary::<i64>().value(row), out),
        DataType::FixedSizeBinary(_) => hex(array.as_fixed_size_binary().value(row), out),
        DataType::Date32 => instant(i64::from(number::<Date32Type>(array, row)) * 86_400, 0, Shown::Date, out),
        DataType::Date64 => instant(number::<Date64Type>(array, row).div_euclid(1000), 0, Shown::Date, out),
        DataType::Time32(TimeUnit::Second) => time(number::<Time32SecondType>(array, row).into(), 1, out),
        DataType::Time32(_) => time(number::<Time32MillisecondType>(array, row).into(), 1_000, out),
        DataType::Time64(TimeUnit::Microsecond) => time(number::<Time64MicrosecondType>(array, row), 1_000_000, out),
        DataType::Time64(_) => time(number::<Time64NanosecondType>(array, row), 1_000_000_000, out),
        DataType::Timestamp(unit, zone) => {
            let (number, per_second) = match unit {
                TimeUnit::Second => (number::<TimestampSecondType>(array, row), 1),
                TimeUnit::Millisecond => (number::<TimestampMillisecondType>(array, row), 1_000),
                TimeUnit::Microsecond => (number::<TimestampMicrosecondType>(array, row), 1_000_000),
                TimeUnit::Nanosecond => (number::<TimestampNanosecondType>(array, row), 1_000_000_000),
            };
            let nanos = number.rem_euclid(per_second) * (1_000_000_000 / per_second);
            let shown = if zone.is_some() { Shown::Instant } else { Shown::Local };
            instant(number.div_euclid(per_second), nanos as u32, shown, out);
        }
        DataType::Duration(unit) => {
            let number = match unit {
                TimeUnit::Second => number::<DurationSecondType>(array, row),
                TimeUnit::Millisecond => number::<DurationMillisecondType>(array, row),
                TimeUnit::Microsecond => number::<DurationMicrosecondType>(array, row),
                TimeUnit::Nanosecond => number::<DurationNanosecondType>(array, row),
            };
            put(number, out);
        }
        DataType::List(_) => list(&array.as_list::<i32>().value(row), out),
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(row), out),
        DataType::FixedSizeList(..) => list(&array.as_fixed_size_list().value(row), out),
        DataType::Struct(fields) => {
            let members = fields.iter().zip(array.as_struct().columns());
            let members = members.map(|(field, member)| format!("{}:{}", text(field.name()), value(member, row)));
            put(format_args!("{{{}}}", members.collect::<Vec<_>>().join(",")), out);
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let are_text = matches!(keys.data_type(), DataType::Utf8 | DataType::LargeUtf8);
            let (open, between, close, end) = if are_text { ("", ":", "", "{}") } else { ("[", ",", "]", "[]") };
            let entry = |at| format!("{open}{}{between}{}{close}", value(keys, at), value(values, at));
            let entries: Vec<_> = (0..keys.len()).map(entry).collect();
            put(format_args!("{}{}{}", &end[..1], entries.join(","), &end[1..]), out);
        }
        // Encodings that the contract does not have: the host has unpacked them.
        other => quote(format_args!("a value of type {other}"), out),
    }
}

fn number<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

fn put(value: impl Display, out: &mut String) {
    // Writing to a text never fails.
    let _ = write!(out, "{value}");
}

fn quote(value: impl Display, out: &mut String) {
    put(format_args!("\"{value}\""), out);
}

fn float(is_nan: bool, is_finite: bool, is_positive: bool, shortest: String, out: &mut String) {
    match (is_nan, is_finite) {
        (true, _) => quote("NaN", out),
        (_, true) => out.push_str(&shortest),
        (_, false) => quote(if is_positive { "inf" } else { "-inf" }, out),
    }
}

fn hex(bytes: &[u8], out: &mut String) {
    out.push('"');
    bytes.iter().for_each(|byte| put(format_args!("{byte:02x}"), out));
    out.push('"');
}

fn list(items: &dyn Array, out: &mut String) {
    out.push('[');
    for item in 0..items.len() {
        if item > 0 {
            out.push(',');
        }
        write(items, item, out);
    }
    out.push(']');
}

enum Shown {
    Date,
    Local,
    Instant,
}

/// Seconds beyond what a calendar date can say are shown as a number.
fn instant(seconds: i64, nanos: u32, shown: Shown, out: &mut String) {
    let Some(instant) = DateTime::from_timestamp(seconds, nanos) else {
        put(seconds, out);
        return;
    };
    match shown {
        Shown::Date => quote(instant.format("%Y-%m-%d"), out),
        Shown::Local => {
            let text = instant.to_rfc3339_opts(SecondsFormat::AutoSi, true);
            quote(text.trim_end_matches('Z'), out);
        }
        Shown::Instant => quote(instant.to_rfc3339_opts(SecondsFormat::AutoSi, true), out),
    }
}

fn time(number: i64, per_second: i64, out: &mut String) {
    let seconds = u32::try_from(number.div_euclid(per_second)).unwrap_or(u32::MAX);
    let nanos = number.rem_euclid(per_second) * (1_000_000_000 / per_second);
    match NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos as u32) {
        Some(time) => quote(time.format("%H:%M:%S%.f"), out),
        None => put(number, out),
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::{Generate, rows};
    use super::super::input::{self, Format};
    use super::*;
    use crate::schema::to_arrow;

    /// Every type of the contract, generated, written and read back, is the same.
    #[test]
    fn what_is_written_reads_back() {
        let schema = include_str!("../../../tests/conformance/cases/every-type.schema.json");
        let schema = to_arrow(&serde_json::from_str(schema).unwrap());
        let generate = Generate { rows: 500, seed: 7, values: Default::default() };
        let (batch, _) = rows(&generate, &schema).unwrap();
        let file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
        let text: String = (0..batch.num_rows()).map(|row| object(&batch, row, &[]) + "\n").collect();
        std::fs::write(file.path(), text).unwrap();
        let table = input::read(file.path(), Format::JsonLines, &[], Some(&schema)).unwrap();
        for (field, (written, read)) in schema.fields().iter().zip(batch.columns().iter().zip(table.rows.columns())) {
            for row in 0..batch.num_rows() {
                assert_eq!(value(written, row), value(read, row), "{} of row {row}", field.name());
            }
        }
    }
}
