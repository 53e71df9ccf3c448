//! Columns whose values all have one width.

use super::{Array, Validity};
use crate::types::{DataType, TimeUnit};
use crate::{F16, I256};
use std::fmt;

/// The little-endian bytes of one value.
pub trait RawBytes: Copy + AsRef<[u8]> + fmt::Debug + 'static {
    /// The whole values of a buffer.
    fn of(buffer: &[u8]) -> &[Self];
    /// The buffer that the values make; copies nothing.
    fn into_buffer(values: Vec<Self>) -> Vec<u8>;
}

impl<const N: usize> RawBytes for [u8; N] {
    #[inline]
    fn of(buffer: &[u8]) -> &[Self] {
        buffer.as_chunks::<N>().0
    }
    #[inline]
    fn into_buffer(values: Vec<Self>) -> Vec<u8> {
        values.into_flattened()
    }
}

/// A Rust type that is one value of a fixed-width column.
pub trait Native: Copy + fmt::Debug + PartialEq + 'static {
    type Bytes: RawBytes;
    fn from_bytes(bytes: Self::Bytes) -> Self;
    fn to_bytes(self) -> Self::Bytes;
    /// What builders put behind a null.
    fn zero() -> Self;
}

macro_rules! native {
    ($($type:ty, $width:literal, $zero:expr);+ $(;)?) => {
        $(impl Native for $type {
            type Bytes = [u8; $width];
            #[inline]
            fn from_bytes(bytes: Self::Bytes) -> Self {
                Self::from_le_bytes(bytes)
            }
            #[inline]
            fn to_bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }
            #[inline]
            fn zero() -> Self {
                $zero
            }
        })+
    };
}

native! {
    i8, 1, 0; i16, 2, 0; i32, 4, 0; i64, 8, 0; i128, 16, 0;
    u8, 1, 0; u16, 2, 0; u32, 4, 0; u64, 8, 0;
    f32, 4, 0.0; f64, 8, 0.0; F16, 2, F16::from_bits(0); I256, 32, I256::from(0);
}

/// A view of a column of fixed-width values.
#[derive(Debug, Clone, Copy)]
pub struct PrimitiveColumn<'a, T: Native> {
    values: &'a [T::Bytes],
    bytes: &'a [u8],
    validity: Validity<'a>,
    data_type: &'a DataType,
}

impl<'a, T: Native> PrimitiveColumn<'a, T> {
    pub(crate) fn new(array: Array<'a>) -> Self {
        let bytes = array.buffers()[1].as_slice();
        let values = T::Bytes::of(bytes);
        assert_eq!(values.len(), array.len(), "column {}: values and length differ", array.field().name);
        Self { values, bytes, validity: array.validity(), data_type: array.data_type() }
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
    pub fn validity(&self) -> Validity<'a> {
        self.validity
    }
    pub fn data_type(&self) -> &'a DataType {
        self.data_type
    }

    /// The unit of a time, timestamp or duration.
    pub fn unit(&self) -> Option<TimeUnit> {
        match self.data_type {
            DataType::Time32(unit) | DataType::Time64(unit) | DataType::Duration(unit) => Some(*unit),
            DataType::Timestamp { unit, .. } => Some(*unit),
            _ => None,
        }
    }

    /// Digits behind the point of a decimal.
    pub fn scale(&self) -> Option<i8> {
        match self.data_type {
            DataType::Decimal128 { scale, .. } | DataType::Decimal256 { scale, .. } => Some(*scale),
            _ => None,
        }
    }

    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        !self.validity.is_valid(i)
    }

    #[inline]
    pub fn value(&self, i: usize) -> T {
        T::from_bytes(self.values[i])
    }

    /// The value, or none where it is null.
    #[inline]
    pub fn get(&self, i: usize) -> Option<T> {
        self.validity.is_valid(i).then(|| self.value(i))
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<T>> + 'a {
        let column = *self;
        (0..column.len()).map(move |i| column.get(i))
    }

    /// All values, whatever lies behind nulls included: for bulk work beside [`Self::validity`].
    pub fn values(&self) -> impl ExactSizeIterator<Item = T> + 'a {
        self.values.iter().map(|bytes| T::from_bytes(*bytes))
    }

    /// The values as little-endian bytes, one array for each.
    pub fn raw(&self) -> &'a [T::Bytes] {
        self.values
    }

    /// The values' buffer.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// A view of a column of booleans.
#[derive(Debug, Clone, Copy)]
pub struct BooleanColumn<'a> {
    bits: &'a [u8],
    validity: Validity<'a>,
}

impl<'a> BooleanColumn<'a> {
    pub(crate) fn new(array: Array<'a>) -> Self {
        let bits = array.buffers()[1].as_slice();
        assert!(bits.len() * 8 >= array.len(), "column {}: values and length differ", array.field().name);
        Self { bits, validity: array.validity() }
    }

    pub fn len(&self) -> usize {
        self.validity.len()
    }
    pub fn is_empty(&self) -> bool {
        self.validity.is_empty()
    }
    pub fn validity(&self) -> Validity<'a> {
        self.validity
    }
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        !self.validity.is_valid(i)
    }
    #[inline]
    pub fn value(&self, i: usize) -> bool {
        self.bits[i >> 3] >> (i & 7) & 1 == 1
    }
    #[inline]
    pub fn get(&self, i: usize) -> Option<bool> {
        self.validity.is_valid(i).then(|| self.value(i))
    }
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<bool>> + 'a {
        let column = *self;
        (0..column.len()).map(move |i| column.get(i))
    }
    /// One bit for each value, from the least significant bit of byte 0.
    pub fn bits(&self) -> &'a [u8] {
        self.bits
    }
}

/// A column of nothing but nulls.
#[derive(Debug, Clone, Copy)]
pub struct NullColumn {
    len: usize,
}

impl NullColumn {
    pub(crate) fn new(array: Array<'_>) -> Self {
        Self { len: array.len() }
    }
    pub fn len(&self) -> usize {
        self.len
    }
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    pub fn is_null(&self, i: usize) -> bool {
        assert!(i < self.len, "index {i} of {}", self.len);
        true
    }
}
