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

    /// Adds one value made of all that `write` appends to the bytes, which must be ASCII: other bytes panic.
    /// The fastest way to put texts together.
    #[inline]
    pub fn push_ascii_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.inner.bytes.len();
        self.inner.push_with(write);
        assert!(self.inner.bytes[before..].is_ascii(), "push_ascii_with takes ASCII only");
    }

    /// Adds one formatted value, without a text of its own in between.
    pub fn push_fmt(&mut self, value: std::fmt::Arguments<'_>) {
        use std::io::Write;
        self.inner.push_with(|bytes| {
            // Writing to memory cannot fail; a Display that returns an error leaves what it wrote, whole characters.
            let _ = bytes.write_fmt(value);
        });
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
