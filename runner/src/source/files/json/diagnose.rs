//! What is wrong with a line that did not decode. The decoder's own messages hold values: they are never shown.

use super::decode::{LineFault, decodes_alone};
use arrow::datatypes::Schema;
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
