//! Columns of texts and byte strings.

use super::primitive::RawBytes;
use super::{Array, Native, Validity};
use crate::types::DataType;
use std::cell::OnceCell;
use std::ops::Range;

/// The width of offsets: `i32`, or `i64` in large types.
pub trait OffsetSize: Native {
    fn to_index(self) -> usize;
    /// Panics where the column holds more than its offsets can say.
    fn from_index(index: usize) -> Self;
}

impl OffsetSize for i32 {
    #[inline]
    fn to_index(self) -> usize {
        self as usize
    }
    #[inline]
    fn from_index(index: usize) -> Self {
        assert!(index <= i32::MAX as usize, "a column holds at most 2 GiB: use a large type");
        index as i32
    }
}

impl OffsetSize for i64 {
    #[inline]
    fn to_index(self) -> usize {
        self as usize
    }
    #[inline]
    fn from_index(index: usize) -> Self {
        index as i64
    }
}

/// Where each value of a column with offsets starts and ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offsets<'a, O: OffsetSize> {
    raw: &'a [O::Bytes],
}

impl<'a, O: OffsetSize> Offsets<'a, O> {
    pub(super) fn new(array: Array<'a>) -> Self {
        let raw = O::Bytes::of(&array.buffers()[1]);
        assert_eq!(raw.len(), array.len() + 1, "column {}: offsets and length differ", array.field().name);
        Self { raw }
    }
    pub(super) fn len(&self) -> usize {
        self.raw.len() - 1
    }
    #[inline]
    pub(super) fn range(&self, i: usize) -> Range<usize> {
        let pair = &self.raw[i..i + 2];
        O::from_bytes(pair[0]).to_index()..O::from_bytes(pair[1]).to_index()
    }
}

/// A view of a column of byte strings.
#[derive(Debug, Clone, Copy)]
pub struct BytesColumn<'a, O: OffsetSize> {
    offsets: Offsets<'a, O>,
    bytes: &'a [u8],
    validity: Validity<'a>,
}

impl<'a, O: OffsetSize> BytesColumn<'a, O> {
    pub(crate) fn new(array: Array<'a>) -> Self {
        Self { offsets: Offsets::new(array), bytes: &array.buffers()[2], validity: array.validity() }
    }

    pub fn len(&self) -> usize {
        self.offsets.len()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn validity(&self) -> Validity<'a> {
        self.validity
    }
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        !self.validity.is_valid(i)
    }
    #[inline]
    pub fn value(&self, i: usize) -> &'a [u8] {
        &self.bytes[self.offsets.range(i)]
    }
    #[inline]
    pub fn get(&self, i: usize) -> Option<&'a [u8]> {
        self.validity.is_valid(i).then(|| self.value(i))
    }
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&'a [u8]>> + 'a {
        let column = *self;
        (0..column.len()).map(move |i| column.get(i))
    }
    /// The value as a decimal integer: digits, with or without a minus. None if it is not one or does not fit.
    #[inline]
    pub fn parse_integer(&self, i: usize) -> Option<i64> {
        let range = self.offsets.range(i);
        crate::number::parse_integer(&self.bytes[range.start..], range.len())
    }
    /// Where value `i` lies in [`Self::data`].
    #[inline]
    pub fn range(&self, i: usize) -> Range<usize> {
        self.offsets.range(i)
    }
    /// All values, one after the other.
    pub fn data(&self) -> &'a [u8] {
        self.bytes
    }
}

/// A view of a column of texts.
#[derive(Debug, Clone)]
pub struct TextColumn<'a, O: OffsetSize> {
    column: BytesColumn<'a, O>,
    /// The whole buffer as text, checked once when the first value is asked for. None where what lies behind a
    /// null is not UTF-8: then each value is checked by itself.
    text: OnceCell<Option<&'a str>>,
}

impl<'a, O: OffsetSize> TextColumn<'a, O> {
    pub(crate) fn new(array: Array<'a>) -> Self {
        Self { column: BytesColumn::new(array), text: OnceCell::new() }
    }

    pub fn len(&self) -> usize {
        self.column.len()
    }
    pub fn is_empty(&self) -> bool {
        self.column.is_empty()
    }
    pub fn validity(&self) -> Validity<'a> {
        self.column.validity
    }
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.column.is_null(i)
    }

    /// The text; empty where it is null.
    #[inline]
    pub fn value(&self, i: usize) -> &'a str {
        match self.text.get_or_init(|| std::str::from_utf8(self.column.bytes).ok()) {
            Some(text) => text.get(self.column.range(i)).unwrap_or_default(),
            None => self.value_checked(i),
        }
    }

    #[cold]
    fn value_checked(&self, i: usize) -> &'a str {
        std::str::from_utf8(self.column.value(i)).unwrap_or_default()
    }

    #[inline]
    pub fn get(&self, i: usize) -> Option<&'a str> {
        self.column.validity.is_valid(i).then(|| self.value(i))
    }

    /// The bytes of the text: needs no check for UTF-8, so parsing from it is faster.
    #[inline]
    pub fn bytes(&self, i: usize) -> &'a [u8] {
        self.column.value(i)
    }

    /// The text as a decimal integer: digits, with or without a minus. None if it is not one or does not fit.
    #[inline]
    pub fn parse_integer(&self, i: usize) -> Option<i64> {
        self.column.parse_integer(i)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&'a str>> + '_ {
        (0..self.len()).map(move |i| self.get(i))
    }

    /// The same column as byte strings, for bulk work.
    pub fn as_bytes(&self) -> BytesColumn<'a, O> {
        self.column
    }
}

/// A view of a column of byte strings of one width.
#[derive(Debug, Clone, Copy)]
pub struct FixedSizeBinaryColumn<'a> {
    bytes: &'a [u8],
    width: usize,
    validity: Validity<'a>,
}

impl<'a> FixedSizeBinaryColumn<'a> {
    pub(crate) fn new(array: Array<'a>) -> Self {
        let width = match array.data_type() {
            DataType::FixedSizeBinary(width) => *width as usize,
            other => unreachable!("fixed-size binary, not {other}"),
        };
        let bytes = array.buffers()[1].as_slice();
        assert_eq!(bytes.len(), array.len() * width, "column {}: values and length differ", array.field().name);
        Self { bytes, width, validity: array.validity() }
    }

    pub fn len(&self) -> usize {
        self.validity.len()
    }
    pub fn is_empty(&self) -> bool {
        self.validity.is_empty()
    }
    /// Bytes of one value.
    pub fn width(&self) -> usize {
        self.width
    }
    pub fn validity(&self) -> Validity<'a> {
        self.validity
    }
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        !self.validity.is_valid(i)
    }
    #[inline]
    pub fn value(&self, i: usize) -> &'a [u8] {
        &self.bytes[i * self.width..][..self.width]
    }
    #[inline]
    pub fn get(&self, i: usize) -> Option<&'a [u8]> {
        self.validity.is_valid(i).then(|| self.value(i))
    }
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&'a [u8]>> + 'a {
        let column = *self;
        (0..column.len()).map(move |i| column.get(i))
    }
    pub fn data(&self) -> &'a [u8] {
        self.bytes
    }
}
