//! What is wrong with a line that did not decode. The decoder's own messages hold values: they are never shown.

use super::decode::{LineFault, decodes_alone};
use crate::source::files::values::decimal_fits;
use arrow::datatypes::{DataType, Schema};
use gristmill_core::dead_letter::DeadLetterClass;
use serde_json::Value;

/// Deeper nesting would overflow the stack of what looks at it.
pub(super) const MAX_DEPTH: usize = 100;

/// Whether objects and lists nest deeper than [`MAX_DEPTH`].
pub(super) fn nests_too_deep(line: &[u8]) -> bool {
    if line.iter().filter(|b| matches!(b, b'[' | b'{')).count() <= MAX_DEPTH {
        return false;
    }
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// What a line that does not decode is refused for.
pub(super) fn fault(line: &[u8], schema: &Schema, raw_schema: &Schema, strict: bool) -> LineFault {
    let fault = |class, message: &str| LineFault { class, field: None, message: message.into() };
    if std::str::from_utf8(line).is_err() {
        return fault(DeadLetterClass::InvalidUtf8, "bytes that are not UTF-8");
    }
    let object = match serde_json::from_slice(line) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return fault(DeadLetterClass::Malformed, "a JSON value that is not an object"),
        Err(_) => return fault(DeadLetterClass::Malformed, "not one JSON object on one line"),
    };
    let unknown = object.keys().filter(|name| schema.column_with_name(name).is_none()).count();
    if strict && unknown > 0 {
        return fault(DeadLetterClass::FieldCount, &format!("{unknown} fields that the schema does not have"));
    }
    match raw_schema.fields().iter().find(|field| !decodes_alone(field, line)) {
        Some(field) => {
            let data_type = schema.field_with_name(field.name()).map_or(field.data_type(), |field| field.data_type());
            LineFault {
                class: DeadLetterClass::UnparsableValue,
                field: Some(field.name().clone()),
                message: format!("a value that is not a {data_type}"),
            }
        }
        None => fault(DeadLetterClass::Malformed, "not one JSON object on one line"),
    }
}

/// What the decoder would accept but should not: a text over the limit, or a number in a nested column that it would cut.
pub(super) fn nested_fault(line: &[u8], schema: &Schema, max_field_bytes: usize) -> Option<LineFault> {
    // A line that is not JSON is refused by the decoder.
    let Ok(Value::Object(object)) = serde_json::from_slice(line) else { return None };
    for (name, value) in &object {
        let field = || schema.field_with_name(name).ok().map(|field| field.name().clone());
        let longest = longest_text(value);
        if longest > max_field_bytes {
            let message = format!("a field of {longest} bytes; at most {max_field_bytes} are accepted");
            return Some(LineFault { class: DeadLetterClass::OverSize, field: field(), message });
        }
        let Ok(column) = schema.field_with_name(name) else { continue };
        if column.data_type().is_nested() && !fits(value, column.data_type()) {
            let message = format!("a number in a {} that its type cannot hold exactly", kind(column.data_type()));
            return Some(LineFault { class: DeadLetterClass::UnparsableValue, field: field(), message });
        }
    }
    None
}

const fn kind(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Struct(_) => "struct",
        DataType::Map(_, _) => "map",
        _ => "list",
    }
}

fn longest_text(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(longest_text).max().unwrap_or(0),
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len().max(longest_text(value))).max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// Whether numbers keep their values. Values of a wrong kind are left to the decoder.
fn fits(value: &Value, data_type: &DataType) -> bool {
    match (data_type, value) {
        (DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _), Value::Array(items)) => {
            items.iter().all(|value| fits(value, item.data_type()))
        }
        (DataType::Struct(fields), Value::Object(members)) => {
            fields.iter().all(|field| members.get(field.name()).is_none_or(|value| fits(value, field.data_type())))
        }
        (DataType::Map(entries, _), Value::Object(members)) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                members.values().all(|value| fits(value, fields[1].data_type()))
            }
            _ => true,
        },
        (DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale), Value::Number(number)) => {
            decimal_fits(number.to_string().as_bytes(), *precision, *scale)
        }
        (DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale), Value::String(text)) => {
            decimal_fits(text.as_bytes(), *precision, *scale)
        }
        (data_type, Value::Number(number)) if data_type.is_integer() => !number.is_f64(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_ignores_texts() {
        assert!(nests_too_deep("[".repeat(101).as_bytes()));
        assert!(!nests_too_deep(format!("\"{}\\\"[\"", "[".repeat(101)).as_bytes()));
        assert!(!nests_too_deep("[]".repeat(101).as_bytes()));
    }
}
