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

#[cfg(test)]
mod tests {
    use super::*;

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
