//! Source versions: bytes that compare as their records do.
//!
//! A version is a tag byte and a payload. Versions of one tag compare bytewise in the order of the values that they
//! encode; a sink compares versions as unsigned bytes and nothing else, so that every database orders them alike.
//! Tags never compare with each other in a meaningful way: a task that changes its kind of version starts a new epoch.
//!
//! | tag | version | payload |
//! |---|---|---|
//! | 1 | arrival | sequence of the batch, row in the batch: 2 × u64 big-endian |
//! | 2 | position in files | sequence of the file version, record in the file: 2 × u64 big-endian |
//! | 16 | signed integers, dates, times, timestamps | i64 big-endian with the sign bit flipped |
//! | 17 | unsigned integers | u64 big-endian |
//! | 18 | floats | IEEE 754 total order of f64, big-endian |
//! | 19 | decimals | i128 big-endian with the sign bit flipped, at the column's scale |
//! | 20 | text and binary | the bytes |

use serde::{Deserialize, Serialize};

/// Where the order of a record's versions comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VersionSource {
    /// A column of the change record that grows with each change of the record.
    Column(String),
    /// The record's place in the source: later files win, and within a file later records.
    Position,
    /// The order in which this task happened to read. Weaker: two channels that deliver the same record cannot be compared.
    Arrival,
}

pub const TAG_ARRIVAL: u8 = 1;
pub const TAG_POSITION: u8 = 2;
pub const TAG_SIGNED: u8 = 16;
pub const TAG_UNSIGNED: u8 = 17;
pub const TAG_FLOAT: u8 = 18;
pub const TAG_DECIMAL: u8 = 19;
pub const TAG_BYTES: u8 = 20;

/// Length of an arrival or position version.
pub const PAIR_BYTES: usize = 17;

/// The version of the record at `minor` of `major` (file version and record, or batch and row).
pub fn pair(tag: u8, major: u64, minor: u64) -> [u8; PAIR_BYTES] {
    let mut bytes = [0; PAIR_BYTES];
    bytes[0] = tag;
    bytes[1..9].copy_from_slice(&major.to_be_bytes());
    bytes[9..].copy_from_slice(&minor.to_be_bytes());
    bytes
}

pub fn signed(value: i64) -> [u8; 9] {
    tagged(TAG_SIGNED, (value ^ i64::MIN).to_be_bytes())
}

pub fn unsigned(value: u64) -> [u8; 9] {
    tagged(TAG_UNSIGNED, value.to_be_bytes())
}

/// Orders as `f64::total_cmp` does.
pub fn float(value: f64) -> [u8; 9] {
    let bits = value.to_bits();
    let flip = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
    tagged(TAG_FLOAT, (bits ^ flip).to_be_bytes())
}

pub fn decimal(unscaled: i128) -> [u8; 17] {
    let mut bytes = [0; 17];
    bytes[0] = TAG_DECIMAL;
    bytes[1..].copy_from_slice(&(unscaled ^ i128::MIN).to_be_bytes());
    bytes
}

/// Text and binary: the tag, then the value's own bytes.
pub fn bytes(value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len() + 1);
    bytes.push(TAG_BYTES);
    bytes.extend_from_slice(value);
    bytes
}

fn tagged(tag: u8, payload: [u8; 8]) -> [u8; 9] {
    let mut bytes = [0; 9];
    bytes[0] = tag;
    bytes[1..].copy_from_slice(&payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn signed_orders_like_i64(a: i64, b: i64) {
            prop_assert_eq!(signed(a).cmp(&signed(b)), a.cmp(&b));
        }
        #[test]
        fn unsigned_orders_like_u64(a: u64, b: u64) {
            prop_assert_eq!(unsigned(a).cmp(&unsigned(b)), a.cmp(&b));
        }
        #[test]
        fn float_orders_like_total_cmp(a: f64, b: f64) {
            prop_assert_eq!(float(a).cmp(&float(b)), a.total_cmp(&b));
        }
        #[test]
        fn decimal_orders_like_i128(a: i128, b: i128) {
            prop_assert_eq!(decimal(a).cmp(&decimal(b)), a.cmp(&b));
        }
        #[test]
        fn pairs_order_by_major_then_minor(a: (u64, u64), b: (u64, u64)) {
            prop_assert_eq!(pair(TAG_POSITION, a.0, a.1).cmp(&pair(TAG_POSITION, b.0, b.1)), a.cmp(&b));
        }
        #[test]
        fn bytes_order_like_bytes(a: Vec<u8>, b: Vec<u8>) {
            prop_assert_eq!(bytes(&a).cmp(&bytes(&b)), a.cmp(&b));
        }
    }

    /// Stored in every target: a change of these bytes would make every stored version incomparable.
    #[test]
    fn encodings_are_fixed() {
        assert_eq!(signed(-1), [16, 0x7f, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(unsigned(1), [17, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(float(-0.0), [18, 0x7f, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(float(1.0), [18, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(decimal(0)[..2], [19, 0x80]);
        assert_eq!(bytes(b"ab"), [20, b'a', b'b']);
        assert_eq!(pair(TAG_POSITION, 1, 2), [2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
    }
}
