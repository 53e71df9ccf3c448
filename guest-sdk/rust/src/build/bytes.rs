//! Builders for texts and byte strings.

use super::{ArrayData, Builder, ValidityBuilder};
use crate::column::{OffsetSize, RawBytes};

/// Builds a column of byte strings.
#[derive(Debug, Clone)]
pub struct BytesBuilder<O: OffsetSize> {
    offsets: Vec<O::Bytes>,
    bytes: Vec<u8>,
    validity: ValidityBuilder,
}

impl<O: OffsetSize> BytesBuilder<O> {
    /// Room for `values` of `bytes` in all.
    pub fn with_capacity(values: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(values + 1);
        offsets.push(O::from_index(0).to_bytes());
        Self { offsets, bytes: Vec::with_capacity(bytes), validity: ValidityBuilder::with_capacity(values) }
    }

    #[inline]
    pub fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
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
        self.validity.push_valid();
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if len < self.validity.len() {
            self.offsets.truncate(len + 1);
            self.bytes.truncate(O::from_bytes(self.offsets[len]).to_index());
            self.validity.truncate(len);
        }
    }
}

impl<O: OffsetSize> Builder for BytesBuilder<O> {
    fn len(&self) -> usize {
        self.validity.len()
    }
    #[inline]
    fn push_null(&mut self) {
        self.offsets.push(O::from_index(self.bytes.len()).to_bytes());
        self.validity.push_null();
    }
    fn finish(self) -> ArrayData {
        let len = self.validity.len();
        let (validity, nulls) = self.validity.finish();
        ArrayData::leaf(len, nulls, vec![validity, O::Bytes::into_buffer(self.offsets), self.bytes])
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
        self.bytes.extend_from_slice(text.as_bytes());
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
        let mut digits = [b'0'; 20];
        let mut rest = number.unsigned_abs();
        let mut start = digits.len();
        while rest > 0 {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.bytes.extend_from_slice(&digits[start.min(digits.len() - width)..]);
        self
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
    bytes: Vec<u8>,
    validity: ValidityBuilder,
}

impl FixedSizeBinaryBuilder {
    /// `width` in bytes.
    pub fn with_capacity(width: usize, capacity: usize) -> Self {
        Self {
            width,
            bytes: Vec::with_capacity(width * capacity),
            validity: ValidityBuilder::with_capacity(capacity),
        }
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
        self.validity.push_valid();
    }

    pub fn push_option(&mut self, value: Option<&[u8]>) {
        match value {
            Some(value) => self.push(value),
            None => self.push_null(),
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len * self.width);
        self.validity.truncate(len);
    }
}

impl Builder for FixedSizeBinaryBuilder {
    fn len(&self) -> usize {
        self.validity.len()
    }
    fn push_null(&mut self) {
        self.bytes.resize(self.bytes.len() + self.width, 0);
        self.validity.push_null();
    }
    fn finish(self) -> ArrayData {
        let len = self.validity.len();
        let (validity, nulls) = self.validity.finish();
        ArrayData::leaf(len, nulls, vec![validity, self.bytes])
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
