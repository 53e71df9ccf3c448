//! Numbers that Rust has no stable type for.

use std::fmt;

/// A half-precision float, as its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct F16(u16);

impl F16 {
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
    pub const fn to_bits(self) -> u16 {
        self.0
    }
    pub(crate) const fn from_le_bytes(bytes: [u8; 2]) -> Self {
        Self(u16::from_le_bytes(bytes))
    }
    pub(crate) const fn to_le_bytes(self) -> [u8; 2] {
        self.0.to_le_bytes()
    }

    /// Exact: every half is also a single.
    pub fn to_f32(self) -> f32 {
        let sign = if self.0 >> 15 == 1 { -1.0 } else { 1.0 };
        let exponent = i32::from(self.0 >> 10 & 0x1f);
        let fraction = f32::from(self.0 & 0x3ff);
        match exponent {
            0 => sign * fraction * 2f32.powi(-24),
            31 if fraction == 0.0 => sign * f32::INFINITY,
            31 => f32::NAN,
            _ => sign * (1024.0 + fraction) * 2f32.powi(exponent - 25),
        }
    }

    /// Rounds to the nearest half, ties to even.
    pub fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        let sign = (bits >> 16 & 0x8000) as u16;
        let magnitude = bits & 0x7fff_ffff;
        let half = match magnitude {
            0x7f80_0001.. => 0x7e00,
            // 65520 and more round to infinity.
            0x477f_f000.. => 0x7c00,
            // Below the smallest normal half: count in steps of 2^-24.
            0..0x3880_0000 => (f32::from_bits(magnitude) * 2f32.powi(24)).round_ties_even() as u16,
            _ => {
                let rebased = magnitude - (112 << 23);
                let odd = rebased >> 13 & 1;
                ((rebased + 0xfff + odd) >> 13) as u16
            }
        };
        Self(sign | half)
    }
}

/// A signed 256-bit integer, little-endian: the unscaled value of a decimal256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct I256([u8; 32]);

impl I256 {
    pub const fn from_le_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
    pub const fn to_le_bytes(self) -> [u8; 32] {
        self.0
    }
    /// None if it needs more than 128 bits.
    pub fn to_i128(self) -> Option<i128> {
        let (low, high) = self.0.split_at(16);
        let low = i128::from_le_bytes(low.try_into().ok()?);
        let sign = if low < 0 { 0xff } else { 0 };
        high.iter().all(|byte| *byte == sign).then_some(low)
    }
}

impl From<i128> for I256 {
    fn from(value: i128) -> Self {
        let mut bytes = [if value < 0 { 0xff } else { 0 }; 32];
        bytes[..16].copy_from_slice(&value.to_le_bytes());
        Self(bytes)
    }
}

impl fmt::Display for I256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_i128() {
            Some(value) => write!(f, "{value}"),
            None => {
                f.write_str("0x")?;
                self.0.iter().rev().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

/// A number below 10^8 in decimal, with leading zeros. All eight digits are worked out at once, each in its own byte.
#[inline]
pub(crate) fn eight_digits(number: u32) -> [u8; 8] {
    let number = u64::from(number);
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = tens | ((twos - tens * 10) << 8);
    (ones | 0x3030_3030_3030_3030).to_le_bytes()
}

/// Reads a decimal number that starts at the beginning of `text` and has `len` characters, with or without a minus.
/// None if it is not one, or does not fit. `text` may go on behind it, and is read faster if it does.
#[inline]
pub(crate) fn parse_integer(text: &[u8], len: usize) -> Option<i64> {
    let negative = text.first() == Some(&b'-') && len > 0;
    let (digits, len) = if negative { (&text[1..], len - 1) } else { (text, len) };
    let magnitude =
        if (1..=8).contains(&len) { parse_eight(digits, len)?.into() } else { parse_long(digits.get(..len)?)? };
    Some(if negative { -magnitude } else { magnitude })
}

/// One to eight digits at once: each pair, then each four, then all are added up in one multiplication.
#[inline]
fn parse_eight(text: &[u8], len: usize) -> Option<u32> {
    let eight = match text.first_chunk::<8>() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => {
            let mut eight = [0; 8];
            eight.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(eight)
        }
    };
    // Moves the digits to the end and fills up with zeros before them.
    let unused = 64 - 8 * len as u32;
    let zeros = 0x3030_3030_3030_3030u64.checked_shr(64 - unused).unwrap_or(0);
    let digits = (eight << unused | zeros) ^ 0x3030_3030_3030_3030;
    // A carry can only come out of a byte that is no digit.
    if (digits | digits.wrapping_add(0x0606_0606_0606_0606)) & 0xf0f0_f0f0_f0f0_f0f0 != 0 {
        return None;
    }
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) as u32)
}

#[cold]
fn parse_long(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0i64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_of_any_number() {
        for number in (0..100_000_000).step_by(991).chain([9_999, 10_000, 99_999_999, 90_000_009]) {
            assert_eq!(eight_digits(number), format!("{number:08}").as_bytes(), "{number}");
        }
    }

    #[test]
    fn integers_are_read() {
        for number in [0, 7, -7, 42, 517, -1301, 99_999_999, -99_999_999, 100_000_000, i64::MAX, -i64::MAX] {
            let text = number.to_string();
            for tail in ["", "9", "NA-1234567"] {
                let whole = text.clone() + tail;
                assert_eq!(parse_integer(whole.as_bytes(), text.len()), Some(number), "{whole}");
            }
        }
        assert_eq!(parse_integer(b"007", 3), Some(7));
        assert_eq!(parse_integer(b"12345678", 3), Some(123), "what follows is not read");
    }

    #[test]
    fn what_is_no_integer_is_not_read() {
        for text in
            ["", "-", "+1", "--1", "1.5", " 1", "1 ", "x", "NA", "12a", "1:3", "1/3", "9223372036854775808", "1234567x"]
        {
            for tail in ["", "12345678"] {
                assert_eq!(parse_integer((text.to_owned() + tail).as_bytes(), text.len()), None, "{text}");
            }
        }
        for byte in 0..=255u8 {
            let expected = byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
            assert_eq!(parse_integer(&[byte], 1), expected, "{byte}");
            let expected = byte.is_ascii_digit().then(|| 10 + i64::from(byte - b'0'));
            assert_eq!(parse_integer(&[b'1', byte, b'5', b'5', b'5', b'5', b'5', b'5', b'5'], 2), expected, "{byte}");
        }
    }

    #[test]
    fn halves_round_trip() {
        for bits in 0..=u16::MAX {
            let half = F16::from_bits(bits);
            let single = half.to_f32();
            if single.is_nan() {
                assert!(F16::from_f32(single).to_f32().is_nan());
            } else {
                assert_eq!(F16::from_f32(single), half, "{bits:#06x}");
            }
        }
    }

    #[test]
    fn halves_round_to_even() {
        assert_eq!(F16::from_f32(2049.0).to_f32(), 2048.0);
        assert_eq!(F16::from_f32(2051.0).to_f32(), 2052.0);
        assert_eq!(F16::from_f32(65519.0).to_f32(), 65504.0);
        assert_eq!(F16::from_f32(65520.0).to_f32(), f32::INFINITY);
        assert_eq!(F16::from_f32(1e-9).to_f32(), 0.0);
    }

    #[test]
    fn wide_integers() {
        for value in [0, 1, -1, i128::MAX, i128::MIN] {
            assert_eq!(I256::from(value).to_i128(), Some(value));
        }
        let mut wide = [0; 32];
        wide[31] = 1;
        assert_eq!(I256::from_le_bytes(wide).to_i128(), None);
        let mut carry = [0; 32];
        carry[15] = 0x80;
        assert_eq!(I256::from_le_bytes(carry).to_i128(), None, "2^127 is one more than i128 holds");
    }
}
