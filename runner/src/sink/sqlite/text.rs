//! Values that SQLite keeps as text: dates, times and decimals, written into a reused buffer.
//!
//! Every column writes a fixed number of digits, so that the order of the texts is the order of the values (for
//! moments within the years 0000 to 9999; others are written with a sign, as ISO 8601 asks, and sort apart).

use arrow::datatypes::TimeUnit;

const SECONDS_A_DAY: i64 = 86_400;

/// The day that a column wrote last, with its text: most rows of a batch fall on few days.
#[derive(Default)]
pub(super) struct LastDay {
    days: Option<i64>,
    text: Vec<u8>,
}

impl LastDay {
    /// Appends `YYYY-MM-DD`.
    pub(super) fn push(&mut self, days: i64, out: &mut Vec<u8>) {
        if self.days != Some(days) {
            self.text.clear();
            push_date(days, &mut self.text);
            self.days = Some(days);
        }
        out.extend_from_slice(&self.text);
    }
}

/// Appends `YYYY-MM-DD`.
fn push_date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil(days);
    if (0..=9999).contains(&year) {
        push_two(year / 100, out);
        push_two(year % 100, out);
    } else {
        out.push(if year < 0 { b'-' } else { b'+' });
        out.extend_from_slice(format!("{:06}", year.unsigned_abs()).as_bytes());
    }
    out.push(b'-');
    push_two(month, out);
    out.push(b'-');
    push_two(day, out);
}

/// Appends `HH:MM:SS` and the fraction that the unit has, of a time since midnight.
pub(super) fn push_time(value: i64, unit: TimeUnit, out: &mut Vec<u8>) {
    let (per_second, digits) = scale(unit);
    push_clock(value.div_euclid(per_second), value.rem_euclid(per_second), digits, out);
}

/// Appends `YYYY-MM-DDTHH:MM:SS`, the fraction that the unit has, and `Z` when the value is a moment in UTC.
pub(super) fn push_timestamp(value: i64, unit: TimeUnit, utc: bool, last: &mut LastDay, out: &mut Vec<u8>) {
    let (per_second, digits) = scale(unit);
    let seconds = value.div_euclid(per_second);
    last.push(seconds.div_euclid(SECONDS_A_DAY), out);
    out.push(b'T');
    push_clock(seconds.rem_euclid(SECONDS_A_DAY), value.rem_euclid(per_second), digits, out);
    if utc {
        out.push(b'Z');
    }
}

/// Appends a decimal with exactly `scale` digits after the point, given its unscaled digits (with a sign if negative).
/// A negative scale appends zeros.
pub(super) fn push_decimal(unscaled: &str, scale: i8, out: &mut Vec<u8>) {
    let digits = match unscaled.strip_prefix('-') {
        Some(digits) => {
            out.push(b'-');
            digits
        }
        None => unscaled,
    };
    let Ok(scale) = usize::try_from(scale) else {
        out.extend_from_slice(digits.as_bytes());
        if digits != "0" {
            out.extend(std::iter::repeat_n(b'0', usize::from(scale.unsigned_abs())));
        }
        return;
    };
    let whole = digits.len().saturating_sub(scale);
    match whole {
        0 => out.push(b'0'),
        _ => out.extend_from_slice(&digits.as_bytes()[..whole]),
    }
    if scale > 0 {
        out.push(b'.');
        out.extend(std::iter::repeat_n(b'0', scale.saturating_sub(digits.len())));
        out.extend_from_slice(&digits.as_bytes()[whole..]);
    }
}

fn push_clock(seconds: i64, fraction: i64, digits: usize, out: &mut Vec<u8>) {
    let [hours, minutes, seconds] = [seconds / 3600, seconds / 60 % 60, seconds % 60].map(two);
    let clock = [hours[0], hours[1], b':', minutes[0], minutes[1], b':', seconds[0], seconds[1]];
    out.extend_from_slice(&clock);
    if digits > 0 {
        out.push(b'.');
        let start = out.len();
        out.resize(start + digits, b'0');
        let mut rest = fraction;
        for digit in out[start..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
}

fn push_two(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&two(value));
}

fn two(value: i64) -> [u8; 2] {
    [b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]
}

/// Parts of the unit in a second, and the digits that they take.
fn scale(unit: TimeUnit) -> (i64, usize) {
    match unit {
        TimeUnit::Second => (1, 0),
        TimeUnit::Millisecond => (1_000, 3),
        TimeUnit::Microsecond => (1_000_000, 6),
        TimeUnit::Nanosecond => (1_000_000_000, 9),
    }
}

/// Year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
///
/// Counted in years that start in March, so that the leap day comes last, and eras of 400 years, which are all alike.
fn civil(days: i64) -> (i64, i64, i64) {
    const DAYS_AN_ERA: i64 = 146_097;
    const MARCH_OF_YEAR_0: i64 = 719_468;
    let days = days + MARCH_OF_YEAR_0;
    let (era, day_of_era) = (days.div_euclid(DAYS_AN_ERA), days.rem_euclid(DAYS_AN_ERA));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn timestamp(value: i64, unit: TimeUnit) -> String {
        written(|out| push_timestamp(value, unit, true, &mut LastDay::default(), out))
    }

    proptest! {
        #[test]
        fn moments_are_what_chrono_says(micros in -62_167_219_200_000_000..253_402_300_800_000_000_i64) {
            let moment = chrono::DateTime::from_timestamp_micros(micros).unwrap();
            prop_assert_eq!(timestamp(micros, TimeUnit::Microsecond), moment.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string());
        }

        #[test]
        fn a_day_that_is_remembered_is_the_right_one(days in proptest::collection::vec(-3_i64..3, 1..20)) {
            let mut last = LastDay::default();
            for day in days {
                prop_assert_eq!(written(|out| last.push(day, out)), written(|out| push_date(day, out)));
            }
        }

        #[test]
        fn text_order_is_time_order(a in -62_167_219_200_000..253_402_300_800_000_i64, b in -62_167_219_200_000..253_402_300_800_000_i64) {
            let text = |value| timestamp(value, TimeUnit::Millisecond);
            prop_assert_eq!(text(a).cmp(&text(b)), a.cmp(&b));
        }

        #[test]
        fn decimals_are_what_arrow_says(value in -(10_i128.pow(38) - 1)..10_i128.pow(38), scale in -5_i8..30) {
            let text = written(|out| push_decimal(&value.to_string(), scale, out));
            prop_assert_eq!(text, <arrow::datatypes::Decimal128Type as arrow::datatypes::DecimalType>::format_decimal(value, 38, scale));
        }
    }

    #[test]
    fn every_unit_has_its_digits() {
        assert_eq!(timestamp(-1, TimeUnit::Second), "1969-12-31T23:59:59Z");
        assert_eq!(timestamp(1, TimeUnit::Millisecond), "1970-01-01T00:00:00.001Z");
        assert_eq!(timestamp(-1, TimeUnit::Nanosecond), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(
            written(|out| push_timestamp(0, TimeUnit::Second, false, &mut LastDay::default(), out)),
            "1970-01-01T00:00:00"
        );
        assert_eq!(written(|out| push_time(86_399_999_999, TimeUnit::Microsecond, out)), "23:59:59.999999");
        assert_eq!(written(|out| push_date(-719_529, out)), "-000001-12-31");
        assert_eq!(written(|out| push_date(2_932_897, out)), "+010000-01-01");
    }

    #[test]
    fn the_ends_of_the_range_are_written() {
        for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
            for value in [i64::MIN, i64::MAX] {
                assert!(timestamp(value, unit).ends_with('Z'));
            }
        }
    }
}
