//! The rules for single values.

pub const MICROS_PER_DAY: i64 = 86_400_000_000;
/// Digits behind the point of `amount` and `fee`.
pub const SCALE: u32 = 10;
/// The smallest number of more than 38 digits.
const DECIMAL_END: u128 = 10_u128.pow(38);

/// Takes the spaces away at both ends. Letters are the caller's: lower-casing a whole column at once is faster.
pub fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] | [rest @ .., b' '] = text {
        text = rest;
    }
    text
}

/// The sum, unless it has more than 38 digits.
pub fn decimal_sum(a: i128, b: i128) -> Option<i128> {
    a.checked_add(b).filter(|sum| sum.unsigned_abs() < DECIMAL_END)
}

pub fn write_decimal(unscaled: i128, out: &mut Vec<u8>) {
    const UNIT: u128 = 10_u128.pow(SCALE);
    if unscaled < 0 {
        out.push(b'-');
    }
    let magnitude = unscaled.unsigned_abs();
    write_digits(magnitude / UNIT, 1, out);
    out.push(b'.');
    write_digits(magnitude % UNIT, SCALE as usize, out);
}

/// The digits of a number of up to 38, filled up with zeros to a width.
fn write_digits(number: u128, width: usize, out: &mut Vec<u8>) {
    const HALF: u128 = 10_u128.pow(19);
    // Division of 128 bits is slow: once into two halves, which 64 bits hold.
    let (mut high, mut low) = match u64::try_from(number) {
        Ok(low) => (0, low),
        Err(_) => ((number / HALF) as u64, (number % HALF) as u64),
    };
    let mut digits = [b'0'; 38];
    let mut start = digits.len();
    let mut put = |half: &mut u64, end: usize| {
        let mut place = end;
        while *half > 0 {
            place -= 1;
            digits[place] = b'0' + (*half % 10) as u8;
            *half /= 10;
            start = start.min(place);
        }
    };
    put(&mut low, 38);
    put(&mut high, 19);
    out.extend_from_slice(&digits[start.min(38 - width)..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_spaces_are_trimmed() {
        assert_eq!(trim(b"  a b \t "), b"a b \t");
        assert_eq!(trim(b"   "), b"");
    }

    #[test]
    fn sums_of_38_digits() {
        let max = DECIMAL_END as i128 - 1;
        assert_eq!(decimal_sum(max, 0), Some(max));
        assert_eq!(decimal_sum(max, 1), None);
        assert_eq!(decimal_sum(max, max), None, "more than 128 bits");
        assert_eq!(decimal_sum(-max, -1), None);
        assert_eq!(decimal_sum(max, -max), Some(0));
    }

    #[test]
    fn decimals_as_text() {
        let text = |unscaled| {
            let mut out = Vec::new();
            write_decimal(unscaled, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(0), "0.0000000000");
        assert_eq!(text(-1), "-0.0000000001");
        assert_eq!(text(10_i128.pow(29)), "10000000000000000000.0000000000");
        assert_eq!(text(123_456_789_012_345_678_901_234_567_890), "12345678901234567890.1234567890");
        assert_eq!(text(-(10_i128.pow(38) - 1)), "-9999999999999999999999999999.9999999999");
    }
}
