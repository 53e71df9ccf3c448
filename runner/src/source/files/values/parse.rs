//! Values from texts. Every function takes the whole text or refuses it: nothing is rounded, cut or guessed.
//!
//! | type | text |
//! |---|---|
//! | boolean | `true` `false` `t` `f` `1` `0`, in any case |
//! | integer | digits with an optional sign |
//! | float | as Rust reads it: `1`, `-.5`, `1e9`, `NaN`, `inf`; a number too large for the type is refused |
//! | decimal | digits with an optional sign and point; no more digits than precision and scale hold, except zeros |
//! | date | `YYYY-MM-DD` |
//! | time | `HH:MM`, `HH:MM:SS`, `HH:MM:SS.fffffffff` |
//! | timestamp | date, `T` or a space, time; with a zone: then `Z`, `±HH`, `±HHMM` or `±HH:MM` |
//! | duration | an integer, in the column's unit |
//! | binary | hexadecimal digits |

use arrow::datatypes::TimeUnit;
use chrono::{Datelike, NaiveDate};

pub(super) fn boolean(text: &[u8]) -> Option<bool> {
    match text {
        b"1" | b"t" | b"T" => Some(true),
        b"0" | b"f" | b"F" => Some(false),
        _ if text.eq_ignore_ascii_case(b"true") => Some(true),
        _ if text.eq_ignore_ascii_case(b"false") => Some(false),
        _ => None,
    }
}

fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    if text.len() <= 19 {
        // 19 digits always fit.
        for byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + u64::from(digit);
        }
    } else {
        for byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        }
    }
    Some(value)
}

/// The sign (true: minus) and the rest.
fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

pub(in crate::source::files) fn signed(text: &[u8]) -> Option<i64> {
    let (minus, rest) = split_sign(text);
    let magnitude = digits(rest)?;
    if minus { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

pub(super) fn unsigned(text: &[u8]) -> Option<u64> {
    let (minus, rest) = split_sign(text);
    let magnitude = digits(rest)?;
    (!minus || magnitude == 0).then_some(magnitude)
}

pub(in crate::source::files) fn float(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    finite_or_named(value.is_finite(), text).then_some(value)
}

pub(super) fn float32(text: &[u8]) -> Option<f32> {
    let value: f32 = std::str::from_utf8(text).ok()?.parse().ok()?;
    finite_or_named(value.is_finite(), text).then_some(value)
}

/// Infinity must have been written as a word: digits that overflow are not a value of the type.
pub(super) fn finite_or_named(finite: bool, text: &[u8]) -> bool {
    finite || !text.iter().any(u8::is_ascii_digit)
}

/// The significant digits of a decimal at a scale.
pub(super) struct UnscaledDigits {
    pub minus: bool,
    digits: [u8; 76],
    len: usize,
}

impl UnscaledDigits {
    pub fn parse(text: &[u8], precision: u8, scale: i8) -> Option<Self> {
        let (minus, rest) = split_sign(text);
        let point = rest.iter().position(|b| *b == b'.').unwrap_or(rest.len());
        let (whole, fraction) = (&rest[..point], rest.get(point + 1..).unwrap_or_default());
        if whole.is_empty() && fraction.is_empty() || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
            return None;
        }
        let mut found = Self { minus, digits: [0; 76], len: 0 };
        let limit = usize::from(precision).min(found.digits.len());
        let kept_fraction = usize::try_from(scale).unwrap_or(0);
        let dropped_whole = usize::try_from(-i16::from(scale)).unwrap_or(0).min(whole.len());
        let (kept, zeros) = whole.split_at(whole.len() - dropped_whole);
        let (fraction, beyond) = fraction.split_at(kept_fraction.min(fraction.len()));
        if zeros.iter().chain(beyond).any(|b| *b != b'0') {
            return None;
        }
        for byte in kept.iter().chain(fraction) {
            found.push(*byte, limit)?;
        }
        for _ in fraction.len()..kept_fraction {
            found.push(b'0', limit)?;
        }
        Some(found)
    }

    fn push(&mut self, digit: u8, limit: usize) -> Option<()> {
        if self.len == 0 && digit == b'0' {
            return Some(());
        }
        if self.len == limit {
            return None;
        }
        self.digits[self.len] = digit;
        self.len += 1;
        Some(())
    }

    pub fn as_bytes(&self) -> &[u8] {
        if self.len == 0 { b"0" } else { &self.digits[..self.len] }
    }
}

pub(super) fn decimal128(text: &[u8], precision: u8, scale: i8) -> Option<i128> {
    let unscaled = UnscaledDigits::parse(text, precision, scale)?;
    let mut value = 0_i128;
    for byte in unscaled.as_bytes() {
        value = value.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
    }
    Some(if unscaled.minus { -value } else { value })
}

fn two_digits(text: &[u8]) -> Option<u32> {
    match text {
        [a, b] if a.is_ascii_digit() && b.is_ascii_digit() => Some(u32::from(a - b'0') * 10 + u32::from(b - b'0')),
        _ => None,
    }
}

/// Days from 1970-01-01.
pub(in crate::source::files) fn date_days(text: &[u8]) -> Option<i32> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text else { return None };
    let year = two_digits(&[y1, y2])? * 100 + two_digits(&[y3, y4])?;
    let date = NaiveDate::from_ymd_opt(year.cast_signed(), two_digits(&[m1, m2])?, two_digits(&[d1, d2])?)?;
    const EPOCH_FROM_CE: i32 = 719_163;
    Some(date.num_days_from_ce() - EPOCH_FROM_CE)
}

/// Nanoseconds since midnight, and how many bytes of the text they took.
fn time_prefix(text: &[u8]) -> Option<(u64, usize)> {
    let hour = two_digits(text.get(..2)?)?;
    let minute = two_digits(text.get(3..5)?)?;
    if text[2] != b':' || hour > 23 || minute > 59 {
        return None;
    }
    let whole = |second: u32| u64::from((hour * 60 + minute) * 60 + second) * 1_000_000_000;
    if text.get(5) != Some(&b':') {
        return Some((whole(0), 5));
    }
    let second = two_digits(text.get(6..8)?)?;
    if second > 59 {
        return None;
    }
    if text.get(8) != Some(&b'.') {
        return Some((whole(second), 8));
    }
    let fraction = text[9..].iter().take_while(|b| b.is_ascii_digit()).count();
    if fraction == 0 || fraction > 9 {
        return None;
    }
    let scale = 10_u64.pow(9 - fraction as u32);
    Some((whole(second) + digits(&text[9..9 + fraction])? * scale, 9 + fraction))
}

/// Nanoseconds since midnight.
pub(super) fn time_nanos(text: &[u8]) -> Option<u64> {
    time_prefix(text).and_then(|(nanos, used)| (used == text.len()).then_some(nanos))
}

/// A date and a time, and the offset from UTC if the text has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::source::files) struct Instant {
    pub days: i32,
    /// Nanoseconds since midnight.
    pub nanos: u64,
    pub offset_seconds: Option<i32>,
}

pub(in crate::source::files) fn instant(text: &[u8]) -> Option<Instant> {
    let days = date_days(text.get(..10)?)?;
    if !matches!(text.get(10)?, b'T' | b't' | b' ') {
        return None;
    }
    let (nanos, used) = time_prefix(&text[11..])?;
    let zone = &text[11 + used..];
    let offset_seconds = if zone.is_empty() { None } else { Some(offset_seconds(zone)?) };
    Some(Instant { days, nanos, offset_seconds })
}

/// `Z`, `±HH`, `±HHMM` or `±HH:MM`, in seconds east of UTC.
pub(super) fn offset_seconds(text: &[u8]) -> Option<i32> {
    if matches!(text, b"Z" | b"z") {
        return Some(0);
    }
    let (sign, rest) = text.split_first()?;
    let (hours, minutes) = match rest {
        [_, _] => (two_digits(rest)?, 0),
        [_, _, m @ ..] if m.len() == 2 => (two_digits(&rest[..2])?, two_digits(m)?),
        [_, _, b':', m @ ..] => (two_digits(&rest[..2])?, two_digits(m)?),
        _ => return None,
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = ((hours * 60 + minutes) * 60).cast_signed();
    match sign {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

pub(super) const fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Nanoseconds in a unit; none if the unit is too coarse to hold them exactly.
pub(super) fn nanos_in(nanos: u64, unit: TimeUnit) -> Option<i64> {
    let step = 1_000_000_000 / per_second(unit).unsigned_abs();
    nanos.is_multiple_of(step).then(|| (nanos / step).cast_signed())
}

/// A timestamp in a unit, east of UTC by `offset_seconds`.
pub(super) fn timestamp(instant: Instant, offset_seconds: i32, unit: TimeUnit) -> Option<i64> {
    let midnight = i64::from(instant.days) * 86_400 - i64::from(offset_seconds);
    midnight.checked_mul(per_second(unit))?.checked_add(nanos_in(instant.nanos, unit)?)
}

pub(super) fn hex_into(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let before = out.len();
    for pair in text.chunks_exact(2) {
        let (high, low) = (char::from(pair[0]).to_digit(16), char::from(pair[1]).to_digit(16));
        let (Some(high), Some(low)) = (high, low) else {
            out.truncate(before);
            return None;
        };
        out.push((high * 16 + low) as u8);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_round_trip(value: i64, other: u64) {
            prop_assert_eq!(signed(value.to_string().as_bytes()), Some(value));
            prop_assert_eq!(unsigned(other.to_string().as_bytes()), Some(other));
        }
        #[test]
        fn integers_agree_with_the_standard_library(text in "[+-]?[0-9]{0,21}") {
            prop_assert_eq!(signed(text.as_bytes()), text.parse().ok());
        }
        #[test]
        fn floats_round_trip(value: f64) {
            let back = float(value.to_string().as_bytes()).unwrap();
            prop_assert!(back == value || back.is_nan() && value.is_nan());
        }
        #[test]
        fn decimals_round_trip(unscaled in -(10_i128.pow(38) - 1)..10_i128.pow(38), scale in 0_i8..=38) {
            let digits = format!("{:0>1$}", unscaled.unsigned_abs(), scale as usize + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
            let text = format!("{}{whole}.{fraction}", if unscaled < 0 { "-" } else { "" });
            prop_assert_eq!(decimal128(text.as_bytes(), 38, scale), Some(unscaled));
        }
        #[test]
        fn timestamps_agree_with_chrono(micros in -62_135_596_800_000_000_i64..253_402_300_799_999_999, minutes in -1439_i32..1440) {
            let offset = chrono::FixedOffset::east_opt(minutes * 60).unwrap();
            let at = chrono::DateTime::from_timestamp_micros(micros).unwrap().with_timezone(&offset);
            prop_assume!((0..=9999).contains(&at.year()));
            let found = instant(at.to_rfc3339().as_bytes()).unwrap();
            prop_assert_eq!(timestamp(found, found.offset_seconds.unwrap(), TimeUnit::Microsecond), Some(micros));
        }
        #[test]
        fn no_text_panics(text: Vec<u8>, precision in 1_u8..=38, scale in -38_i8..=38) {
            let _ = (boolean(&text), signed(&text), unsigned(&text), float(&text), instant(&text), time_nanos(&text));
            let _ = (decimal128(&text, precision, scale), date_days(&text), hex_into(&text, &mut Vec::new()));
        }
    }

    #[test]
    fn nothing_is_rounded() {
        assert_eq!(decimal128(b"1.20", 5, 1), Some(12));
        assert_eq!(decimal128(b"1.25", 5, 1), None);
        assert_eq!(decimal128(b"12300", 5, -2), Some(123));
        assert_eq!(decimal128(b"12345", 5, -2), None);
        assert_eq!(decimal128(b"1000", 3, 0), None, "over the precision");
        assert_eq!(nanos_in(1_500_000_000, TimeUnit::Second), None);
        assert_eq!(float(b"1e999"), None);
        assert_eq!(float(b"inf"), Some(f64::INFINITY));
    }

    #[test]
    fn what_is_not_a_value() {
        for text in ["", " 1", "1 ", "0x1", "1_0", "--1", "+", "9223372036854775808"] {
            assert_eq!(signed(text.as_bytes()), None, "{text}");
        }
        for text in ["2023-02-29", "2023-13-01", "2023-1-1", "23-01-01", "2023-01-01 "] {
            assert_eq!(date_days(text.as_bytes()), None, "{text}");
        }
        for text in ["24:00", "12:60", "12:00:60", "12:00:00.", "12:00:00.1234567890", "1200"] {
            assert_eq!(time_nanos(text.as_bytes()), None, "{text}");
        }
        for text in ["2023-01-01", "2023-01-01T12", "2023-01-01T12:00:00+24:00", "2023-01-01T12:00:00 Z"] {
            assert_eq!(instant(text.as_bytes()), None, "{text}");
        }
        assert_eq!(decimal128(b".", 5, 1), None);
        assert_eq!(decimal128(b"1e3", 5, 1), None);
    }

    #[test]
    fn known_values() {
        assert_eq!(date_days(b"1970-01-02"), Some(1));
        assert_eq!(date_days(b"1969-12-31"), Some(-1));
        assert_eq!(time_nanos(b"00:01:02.5"), Some(62_500_000_000));
        let at = instant(b"2013-01-01T05:00:00+01:00").unwrap();
        assert_eq!(timestamp(at, 3600, TimeUnit::Second), Some(1_357_012_800));
        let mut bytes = Vec::new();
        assert_eq!(hex_into(b"00fF", &mut bytes), Some(()));
        assert_eq!(bytes, [0, 255]);
    }
}
