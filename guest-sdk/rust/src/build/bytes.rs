//! Builders for texts and byte strings.

use super::{ArrayData, Builder, Nulls};
use crate::column::{OffsetSize, RawBytes};

/// Builds a column of byte strings.
#[derive(Debug, Clone)]
pub struct BytesBuilder<O: OffsetSize> {
    offsets: Vec<O::Bytes>,
    bytes: Vec<u8>,
    nulls: Nulls,
}

impl<O: OffsetSize> BytesBuilder<O> {
    /// Room for `values` of `bytes` in all.
    pub fn with_capacity(values: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(values + 1);
        offsets.push(O::from_index(0).to_bytes());
        Self { offsets, bytes: Vec::with_capacity(bytes), nulls: Nulls::default() }
    }

    #[inline]
    pub fn push(&mut self, value: &[u8]) {
        append(&mut self.bytes, value);
        self.end_value();
    }

    #[inline]
    pub fn push_option(&mut self, value: Option<&[u8]>) {
        match value {
            Some(value) => self.push(value),
            None => self.push_null(),
        }
    }

    /// Adds one value of as many bytes as `write` appends.
    #[inline]
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.bytes.len();
        write(&mut self.bytes);
        assert!(self.bytes.len() >= before, "a value never takes bytes from the one before it");
        self.end_value();
    }

    #[inline]
    fn end_value(&mut self) {
        self.offsets.push(O::from_index(self.bytes.len()).to_bytes());
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.offsets.truncate(len + 1);
            self.bytes.truncate(O::from_bytes(self.offsets[len]).to_index());
            self.nulls.truncate(len);
        }
    }
}

impl<O: OffsetSize> Builder for BytesBuilder<O> {
    fn len(&self) -> usize {
        self.offsets.len() - 1
    }
    #[inline]
    fn push_null(&mut self) {
        self.nulls.push(self.len());
        self.end_value();
    }
    fn finish(self) -> ArrayData {
        let len = self.len();
        let (validity, nulls) = self.nulls.finish(len);
        ArrayData::leaf(len, nulls, vec![validity, O::Bytes::into_buffer(self.offsets), self.bytes])
    }
}

/// Appends a value. Engines call out of the guest for a copy of a length that is not known when it is compiled, which
/// costs more than a short value itself: those are copied in pieces of fixed lengths.
#[inline]
fn append(bytes: &mut Vec<u8>, value: &[u8]) {
    if value.len() >= 64 {
        bytes.extend_from_slice(value);
        return;
    }
    bytes.reserve(value.len());
    let (eights, rest) = value.as_chunks::<8>();
    for eight in eights {
        bytes.extend_from_slice(eight);
    }
    let rest = append_one_of::<4>(bytes, rest);
    let rest = append_one_of::<2>(bytes, rest);
    if let [last] = rest {
        bytes.push(*last);
    }
}

#[inline]
fn append_one_of<'v, const N: usize>(bytes: &mut Vec<u8>, value: &'v [u8]) -> &'v [u8] {
    match value.split_first_chunk::<N>() {
        Some((piece, rest)) => {
            bytes.extend_from_slice(piece);
            rest
        }
        None => value,
    }
}

/// Builds a column of texts.
#[derive(Debug, Clone)]
pub struct TextBuilder<O: OffsetSize> {
    inner: BytesBuilder<O>,
}

impl<O: OffsetSize> TextBuilder<O> {
    /// Room for `values` of `bytes` in all.
    pub fn with_capacity(values: usize, bytes: usize) -> Self {
        Self { inner: BytesBuilder::with_capacity(values, bytes) }
    }

    #[inline]
    pub fn push(&mut self, value: &str) {
        self.inner.push(value.as_bytes());
    }

    #[inline]
    pub fn push_option(&mut self, value: Option<&str>) {
        match value {
            Some(value) => self.push(value),
            None => self.push_null(),
        }
    }

    /// Adds one value of all that `write` writes, without a text of its own in between.
    #[inline]
    pub fn push_with(&mut self, write: impl FnOnce(&mut TextWriter<'_>)) {
        self.inner.push_with(|bytes| write(&mut TextWriter { bytes }));
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.inner.truncate(len);
    }
}

impl<O: OffsetSize> Builder for TextBuilder<O> {
    fn len(&self) -> usize {
        self.inner.len()
    }
    #[inline]
    fn push_null(&mut self) {
        self.inner.push_null();
    }
    fn finish(self) -> ArrayData {
        self.inner.finish()
    }
}

/// Writes one value of a text column, piece by piece. Also takes `write!`, which is slower.
#[derive(Debug)]
pub struct TextWriter<'a> {
    /// Ends at a character boundary at all times.
    bytes: &'a mut Vec<u8>,
}

impl TextWriter<'_> {
    #[inline]
    pub fn str(&mut self, text: &str) -> &mut Self {
        append(self.bytes, text.as_bytes());
        self
    }

    /// Panics unless the character is ASCII.
    #[inline]
    pub fn ascii(&mut self, character: u8) -> &mut Self {
        assert!(character.is_ascii(), "an ASCII character");
        self.bytes.push(character);
        self
    }

    #[inline]
    pub fn integer(&mut self, number: i64) -> &mut Self {
        self.padded(number, 1)
    }

    /// The number's digits, filled up with zeros to a width of at most 20; the minus does not count.
    #[inline]
    pub fn padded(&mut self, number: i64, width: usize) -> &mut Self {
        if number < 0 {
            self.bytes.push(b'-');
        }
        let magnitude = number.unsigned_abs();
        if magnitude < 100_000_000 && width <= 8 {
            let digits = crate::number::eight_digits(magnitude as u32);
            let significant = 8 - (u64::from_be_bytes(digits) & 0x0f0f_0f0f_0f0f_0f0f).leading_zeros() as usize / 8;
            append(self.bytes, &digits[8 - significant.max(width)..]);
        } else {
            self.padded_long(magnitude, width);
        }
        self
    }

    fn padded_long(&mut self, mut magnitude: u64, width: usize) {
        let mut digits = [b'0'; 20];
        let mut start = digits.len();
        while magnitude > 0 {
            start -= 1;
            digits[start] = b'0' + (magnitude % 10) as u8;
            magnitude /= 10;
        }
        append(self.bytes, &digits[start.min(digits.len() - width)..]);
    }
}

impl std::fmt::Write for TextWriter<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.str(text);
        Ok(())
    }
}

/// Builds a column of byte strings of one width.
#[derive(Debug, Clone)]
pub struct FixedSizeBinaryBuilder {
    width: usize,
    len: usize,
    bytes: Vec<u8>,
    nulls: Nulls,
}

impl FixedSizeBinaryBuilder {
    /// `width` in bytes.
    pub fn with_capacity(width: usize, capacity: usize) -> Self {
        Self { width, len: 0, bytes: Vec::with_capacity(width * capacity), nulls: Nulls::default() }
    }

    /// Bytes of one value.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Panics unless the value has the column's width.
    #[inline]
    pub fn push(&mut self, value: &[u8]) {
        assert_eq!(value.len(), self.width, "a value of this column has one width");
        self.bytes.extend_from_slice(value);
        self.len += 1;
    }

    pub fn push_option(&mut self, value: Option<&[u8]>) {
        match value {
            Some(value) => self.push(value),
            None => self.push_null(),
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.bytes.truncate(len * self.width);
        self.nulls.truncate(len);
    }
}

impl Builder for FixedSizeBinaryBuilder {
    fn len(&self) -> usize {
        self.len
    }
    fn push_null(&mut self) {
        self.nulls.push(self.len);
        self.bytes.resize(self.bytes.len() + self.width, 0);
        self.len += 1;
    }
    fn finish(self) -> ArrayData {
        let (validity, nulls) = self.nulls.finish(self.len);
        ArrayData::leaf(self.len, nulls, vec![validity, self.bytes])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    #[test]
    fn texts_are_written_in_pieces() {
        let mut builder = TextBuilder::<i32>::with_capacity(4, 0);
        builder.push_with(|text| {
            text.padded(7, 2).str("é").padded(0, 4).integer(-12).integer(0).padded(i64::MIN, 20);
        });
        builder.push_null();
        builder.push_with(|text| write!(text, "{:.1}", 1.25).unwrap());
        builder.push("");
        let data = builder.finish();
        assert_eq!(data.buffers[2], "07é0000-120-092233720368547758081.2".as_bytes());
        assert_eq!(data.buffers[0], [0b1101]);
        let ends: Vec<u8> = data.buffers[1].chunks(4).map(|offset| offset[0]).collect();
        assert_eq!(ends, [0, 33, 33, 36, 36]);
    }

    #[test]
    fn values_of_every_length_are_appended() {
        for len in 0..100u8 {
            let value: Vec<u8> = (0..len).collect();
            let mut bytes = vec![255];
            append(&mut bytes, &value);
            assert_eq!((bytes[0], &bytes[1..]), (255, value.as_slice()));
        }
    }

    #[test]
    fn numbers_of_every_length_are_padded() {
        for digits in 0..19 {
            for number in [10i64.pow(digits) - 1, 10i64.pow(digits), -10i64.pow(digits)] {
                for width in [0, 1, 2, 4, 8, 9, 20] {
                    let mut bytes = Vec::new();
                    TextWriter { bytes: &mut bytes }.padded(number, width);
                    let sign = if number < 0 { "-" } else { "" };
                    let expected = match (number, width) {
                        (0, 0) => String::new(),
                        _ => format!("{sign}{:0width$}", number.unsigned_abs()),
                    };
                    assert_eq!(String::from_utf8(bytes).unwrap(), expected, "{number} in {width}");
                }
            }
        }
    }

    #[test]
    fn truncating_gives_bytes_back() {
        let mut builder = BytesBuilder::<i64>::with_capacity(4, 0);
        builder.push(b"ab");
        builder.push(b"cde");
        builder.truncate(1);
        builder.push(b"f");
        let data = builder.finish();
        assert_eq!((data.len(), data.buffers[2].as_slice()), (2, b"abf".as_slice()));
    }
}
