//! Variables in values: `${NAME}`, `${NAME:-default}`, and `$${` for a literal `${`.

/// A reference that has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoValue {
    /// Neither a value nor a default.
    Unset(String),
    /// Not a reference: no closing brace, or no name.
    Malformed,
}

/// The text with its references replaced; none if there are none. Values are not searched for references again.
pub(super) fn replaced(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Option<String>, NoValue> {
    let mut out = String::new();
    let mut rest = text;
    let mut changed = false;
    while let Some(at) = rest.find("${") {
        changed = true;
        if let Some(before) = rest[..at].strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        out.push_str(&rest[..at]);
        let reference = &rest[at + 2..];
        let end = reference.find('}').ok_or(NoValue::Malformed)?;
        out.push_str(&value(&reference[..end], env)?);
        rest = &reference[end + 1..];
    }
    out.push_str(rest);
    Ok(changed.then_some(out))
}

fn value(reference: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<String, NoValue> {
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    let word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !word || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(NoValue::Malformed);
    }
    match (env(name), default) {
        (Some(value), None) => Ok(value),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(NoValue::Unset(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_have_values_or_say_why_not() {
        let env = |name: &str| match name {
            "A" => Some("60".to_owned()),
            "EMPTY" => Some(String::new()),
            "TRICK" => Some("${A}".to_owned()),
            _ => None,
        };
        for (text, expected) in [
            ("plain $A {A} $", None),
            ("${A}", Some("60")),
            ("x${A}y${A}", Some("x60y60")),
            ("${NOPE:-a b}", Some("a b")),
            ("${EMPTY:-d}${EMPTY}", Some("d")),
            ("${A:-d}", Some("60")),
            ("$${A} ${A}", Some("${A} 60")),
            ("$$${A}", Some("$${A}")),
            ("${TRICK}", Some("${A}")),
        ] {
            assert_eq!(replaced(text, &env), Ok(expected.map(str::to_owned)), "{text}");
        }
        assert_eq!(replaced("${NOPE}", &env), Err(NoValue::Unset("NOPE".into())));
        for malformed in ["${A", "${}", "${1A}", "${A B}", "${A:x}", "${é}"] {
            assert_eq!(replaced(malformed, &env), Err(NoValue::Malformed), "{malformed}");
        }
    }
}
