//! Typed, borrowed views of the columns that a batch brings.
//!
//! A view copies nothing: it reads the buffers as they were received. Every view has `len`, `is_null(i)` and
//! `value(i)`; what `value(i)` gives behind a null is unspecified but never undefined. Indexes past the end panic.

mod bytes;
mod nested;
mod primitive;

pub use bytes::{BytesColumn, FixedSizeBinaryColumn, OffsetSize, TextColumn};
pub use nested::{FixedSizeListColumn, ListColumn, MapColumn, StructColumn};
pub use primitive::{BooleanColumn, Native, NullColumn, PrimitiveColumn, RawBytes};

use crate::raw::Node;
use crate::types::{DataType, Field};

pub type Int8Column<'a> = PrimitiveColumn<'a, i8>;
pub type Int16Column<'a> = PrimitiveColumn<'a, i16>;
pub type Int32Column<'a> = PrimitiveColumn<'a, i32>;
pub type Int64Column<'a> = PrimitiveColumn<'a, i64>;
pub type UInt8Column<'a> = PrimitiveColumn<'a, u8>;
pub type UInt16Column<'a> = PrimitiveColumn<'a, u16>;
pub type UInt32Column<'a> = PrimitiveColumn<'a, u32>;
pub type UInt64Column<'a> = PrimitiveColumn<'a, u64>;
pub type Float16Column<'a> = PrimitiveColumn<'a, crate::F16>;
pub type Float32Column<'a> = PrimitiveColumn<'a, f32>;
pub type Float64Column<'a> = PrimitiveColumn<'a, f64>;
/// Unscaled values; the scale is in [`PrimitiveColumn::data_type`].
pub type Decimal128Column<'a> = PrimitiveColumn<'a, i128>;
/// Unscaled values; the scale is in [`PrimitiveColumn::data_type`].
pub type Decimal256Column<'a> = PrimitiveColumn<'a, crate::I256>;
/// Timestamps, 64-bit times and durations; the unit is in [`PrimitiveColumn::data_type`].
pub type TimestampColumn<'a> = PrimitiveColumn<'a, i64>;
pub type Utf8Column<'a> = TextColumn<'a, i32>;
pub type LargeUtf8Column<'a> = TextColumn<'a, i64>;
pub type BinaryColumn<'a> = BytesColumn<'a, i32>;
pub type LargeBinaryColumn<'a> = BytesColumn<'a, i64>;

/// A column of any type, untyped: its field, nodes and buffers as received.
#[derive(Debug, Clone, Copy)]
pub struct Array<'a> {
    field: &'a Field,
    nodes: &'a [Node],
    buffers: &'a [Vec<u8>],
}

impl<'a> Array<'a> {
    /// `nodes` and `buffers` start at the column's own and may go on past its end.
    pub(crate) fn new(field: &'a Field, nodes: &'a [Node], buffers: &'a [Vec<u8>]) -> Self {
        let layout = field.data_type.layout();
        assert!(nodes.len() >= layout.nodes && buffers.len() >= layout.buffers, "column {} is not whole", field.name);
        Self { field, nodes: &nodes[..layout.nodes], buffers: &buffers[..layout.buffers] }
    }

    pub fn field(&self) -> &'a Field {
        self.field
    }
    pub fn data_type(&self) -> &'a DataType {
        &self.field.data_type
    }
    pub fn len(&self) -> usize {
        self.nodes[0].length as usize
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn null_count(&self) -> usize {
        self.nodes[0].null_count as usize
    }

    /// The column's own buffers, without its children's: see the contract's table.
    pub fn buffers(&self) -> &'a [Vec<u8>] {
        &self.buffers[..self.field.data_type.own_buffers()]
    }

    pub fn validity(&self) -> Validity<'a> {
        match self.data_type() {
            DataType::Null => Validity { bits: None, len: self.len(), null_count: self.len() },
            _ => Validity {
                bits: self.buffers().first().map(Vec::as_slice).filter(|bits| !bits.is_empty()),
                len: self.len(),
                null_count: self.null_count(),
            },
        }
    }

    /// The column's members, in order; none unless it is nested.
    pub fn children(&self) -> impl Iterator<Item = Array<'a>> {
        let mut nodes = &self.nodes[1..];
        let mut buffers = &self.buffers[self.field.data_type.own_buffers()..];
        self.field.data_type.children().iter().map(move |field| {
            let child = Array::new(field, nodes, buffers);
            nodes = &nodes[child.nodes.len()..];
            buffers = &buffers[child.buffers.len()..];
            child
        })
    }

    /// A copy that owns its buffers.
    pub fn to_data(&self) -> crate::ArrayData {
        crate::ArrayData { nodes: self.nodes.to_vec(), buffers: self.buffers.to_vec() }
    }
}

/// Which values of a column are not null.
#[derive(Debug, Clone, Copy)]
pub struct Validity<'a> {
    /// None: no value is null, or all of a null column are.
    bits: Option<&'a [u8]>,
    len: usize,
    null_count: usize,
}

impl<'a> Validity<'a> {
    pub fn len(&self) -> usize {
        self.len
    }
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    pub fn null_count(&self) -> usize {
        self.null_count
    }

    /// One bit for each value, from the least significant bit of byte 0. None where no value is null.
    pub fn bits(&self) -> Option<&'a [u8]> {
        self.bits
    }

    #[inline]
    pub fn is_valid(&self, i: usize) -> bool {
        match self.bits {
            Some(bits) => bits[i >> 3] >> (i & 7) & 1 == 1,
            None => self.null_count == 0,
        }
    }
}
