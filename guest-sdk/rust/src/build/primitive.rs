//! Builders for values of one width.

use super::{ArrayData, Builder, Nulls};
use crate::column::{Native, RawBytes};

/// Builds a column of fixed-width values.
#[derive(Debug, Clone)]
pub struct PrimitiveBuilder<T: Native> {
    values: Vec<T::Bytes>,
    nulls: Nulls,
}

impl<T: Native> PrimitiveBuilder<T> {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { values: Vec::with_capacity(capacity), nulls: Nulls::default() }
    }

    #[inline]
    pub fn push(&mut self, value: T) {
        self.values.push(value.to_bytes());
    }

    #[inline]
    pub fn push_option(&mut self, value: Option<T>) {
        match value {
            Some(value) => self.push(value),
            None => self.push_null(),
        }
    }

    /// Adds values of which none is null.
    pub fn extend(&mut self, values: impl IntoIterator<Item = T>) {
        self.values.extend(values.into_iter().map(T::to_bytes));
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.nulls.truncate(len);
    }
}

impl<T: Native> Builder for PrimitiveBuilder<T> {
    fn len(&self) -> usize {
        self.values.len()
    }
    #[inline]
    fn push_null(&mut self) {
        self.nulls.push(self.values.len());
        self.values.push(T::zero().to_bytes());
    }
    fn finish(self) -> ArrayData {
        let len = self.values.len();
        let (validity, nulls) = self.nulls.finish(len);
        ArrayData::leaf(len, nulls, vec![validity, T::Bytes::into_buffer(self.values)])
    }
}

/// Builds a column of booleans.
#[derive(Debug, Clone, Default)]
pub struct BooleanBuilder {
    len: usize,
    bits: Vec<u8>,
    nulls: Nulls,
}

impl BooleanBuilder {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { len: 0, bits: Vec::with_capacity(capacity.div_ceil(8)), nulls: Nulls::default() }
    }

    #[inline]
    pub fn push(&mut self, value: bool) {
        let bit = self.len & 7;
        if bit == 0 {
            self.bits.push(u8::from(value));
        } else if let Some(last) = self.bits.last_mut() {
            *last |= u8::from(value) << bit;
        }
        self.len += 1;
    }

    #[inline]
    pub fn push_option(&mut self, value: Option<bool>) {
        match value {
            Some(value) => self.push(value),
            None => self.push_null(),
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.len = len;
        self.bits.truncate(len.div_ceil(8));
        if len & 7 != 0
            && let Some(last) = self.bits.last_mut()
        {
            *last &= (1 << (len & 7)) - 1;
        }
        self.nulls.truncate(len);
    }
}

impl Builder for BooleanBuilder {
    fn len(&self) -> usize {
        self.len
    }
    #[inline]
    fn push_null(&mut self) {
        self.nulls.push(self.len);
        self.push(false);
    }
    fn finish(self) -> ArrayData {
        let (validity, nulls) = self.nulls.finish(self.len);
        ArrayData::leaf(self.len, nulls, vec![validity, self.bits])
    }
}

/// Builds a column of nothing but nulls.
#[derive(Debug, Clone, Default)]
pub struct NullBuilder {
    len: usize,
}

impl NullBuilder {
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl Builder for NullBuilder {
    fn len(&self) -> usize {
        self.len
    }
    fn push_null(&mut self) {
        self.len += 1;
    }
    fn finish(self) -> ArrayData {
        ArrayData::leaf(self.len, self.len, Vec::new())
    }
}
