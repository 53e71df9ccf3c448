//! Sizes, durations and counts as people write them.

use std::time::Duration;

const SIZE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

const DURATION_UNITS: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

const SIZE_HINT: &str = "write a whole number with a unit, such as `8MiB`, `500kB` or `1GB`, or plain bytes";
const DURATION_HINT: &str = "write a whole number with a unit, such as `500ms`, `5s`, `2m` or `1h`";

/// A text that is not a quantity: what to write instead.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotAQuantity {
    pub hint: String,
}

/// Bytes.
pub(super) fn size(text: &str) -> Result<u64, NotAQuantity> {
    let (number, unit) = split(text);
    if unit.is_empty() {
        return number_of(number).ok_or_else(|| SIZE_HINT.into());
    }
    scaled(number, unit, SIZE_UNITS, SIZE_HINT)
}

pub(super) fn duration(text: &str) -> Result<Duration, NotAQuantity> {
    let (number, unit) = split(text);
    if unit.is_empty() && number_of(number).is_some() {
        return Err(NotAQuantity { hint: format!("a duration needs a unit: `{number}s` or `{number}ms`?") });
    }
    scaled(number, unit, DURATION_UNITS, DURATION_HINT).map(Duration::from_millis)
}

/// A whole number; `_` may group its digits.
pub(super) fn count(text: &str) -> Result<u64, NotAQuantity> {
    number_of(text).ok_or_else(|| "write a whole number".into())
}

impl From<&str> for NotAQuantity {
    fn from(hint: &str) -> Self {
        Self { hint: hint.to_owned() }
    }
}

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn number_of(text: &str) -> Option<u64> {
    let digits = text.replace('_', "");
    // `u64::from_str` takes a leading `+`.
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn scaled(number: &str, unit: &str, units: &[(&str, u64)], hint: &str) -> Result<u64, NotAQuantity> {
    let number = number_of(number).ok_or(NotAQuantity { hint: hint.to_owned() })?;
    if let Some((_, factor)) = units.iter().find(|(known, _)| *known == unit) {
        return number.checked_mul(*factor).ok_or(NotAQuantity { hint: hint.to_owned() });
    }
    let meant = units.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(unit));
    let hint = match meant {
        Some((meant, _)) => format!("did you mean `{number}{meant}`?"),
        None => hint.to_owned(),
    };
    Err(NotAQuantity { hint })
}

/// The shortest exact way to write a size.
pub(super) fn show_size(bytes: u64) -> String {
    let exact = SIZE_UNITS.iter().rev().find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    match exact {
        Some((unit, factor)) if *factor > 1 => format!("{}{unit}", bytes / factor),
        _ => format!("{bytes} bytes"),
    }
}

/// The shortest exact way to write a duration.
pub(super) fn show_duration(duration: Duration) -> String {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let exact = DURATION_UNITS.iter().rev().find(|(_, factor)| ms >= *factor && ms.is_multiple_of(*factor));
    exact.map_or("0s".to_owned(), |(unit, factor)| format!("{}{unit}", ms / factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in
            [("8MiB", 8 << 20), ("8MB", 8_000_000), ("500", 500), ("1_024 B", 1024), ("2GiB", 2 << 30), ("0", 0)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for bad in ["", "MiB", "-1", "1.5MiB", "8 MiBs", "99999999999GiB", "+5", "_", "8MiB2"] {
            assert!(size(bad).is_err(), "{bad}");
        }
        assert_eq!(size("8mib").unwrap_err().hint, "did you mean `8MiB`?");
        assert_eq!(size("8kb").unwrap_err().hint, "did you mean `8KB`?");
    }

    #[test]
    fn durations() {
        for (text, ms) in [("500ms", 500), ("5s", 5_000), ("2m", 120_000), ("1h", 3_600_000), ("5 s", 5_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for bad in ["", "s", "5", "1h30m", "-5s", "5sec", "999999999999999999h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert_eq!(duration("5").unwrap_err().hint, "a duration needs a unit: `5s` or `5ms`?");
    }

    #[test]
    fn shown_quantities_read_back() {
        for bytes in [1_000, 1 << 10, 3 << 20, 1 << 30, 10_000_000, 1_000_000_000] {
            assert_eq!(size(&show_size(bytes)), Ok(bytes));
        }
        assert_eq!(show_size(1), "1 bytes");
        for ms in [10, 1_000, 90_000, 3_600_000] {
            let d = Duration::from_millis(ms);
            assert_eq!(duration(&show_duration(d)), Ok(d));
        }
    }
}
