//! Builders for the columns that a transform computes.
//!
//! Give a builder its capacity and pushing allocates nothing. A column without nulls has no validity buffer.

mod bytes;
mod nested;
mod nulls;
mod primitive;
mod scalar;

pub use bytes::{BytesBuilder, FixedSizeBinaryBuilder, TextBuilder, TextWriter};
pub use nested::{FixedSizeListBuilder, ListBuilder, MapBuilder, StructBuilder};
pub(crate) use nulls::Nulls;
pub use primitive::{BooleanBuilder, NullBuilder, PrimitiveBuilder};
pub use scalar::Cell;
pub(crate) use scalar::{ScalarBuilder, Unfit};

use crate::raw::Node;
use crate::types::DataType;

pub type Int8Builder = PrimitiveBuilder<i8>;
pub type Int16Builder = PrimitiveBuilder<i16>;
pub type Int32Builder = PrimitiveBuilder<i32>;
pub type Int64Builder = PrimitiveBuilder<i64>;
pub type UInt8Builder = PrimitiveBuilder<u8>;
pub type UInt16Builder = PrimitiveBuilder<u16>;
pub type UInt32Builder = PrimitiveBuilder<u32>;
pub type UInt64Builder = PrimitiveBuilder<u64>;
pub type Float16Builder = PrimitiveBuilder<crate::F16>;
pub type Float32Builder = PrimitiveBuilder<f32>;
pub type Float64Builder = PrimitiveBuilder<f64>;
pub type Decimal128Builder = PrimitiveBuilder<i128>;
pub type Decimal256Builder = PrimitiveBuilder<crate::I256>;
pub type TimestampBuilder = PrimitiveBuilder<i64>;
pub type Utf8Builder = TextBuilder<i32>;
pub type LargeUtf8Builder = TextBuilder<i64>;
pub type BinaryBuilder = BytesBuilder<i32>;
pub type LargeBinaryBuilder = BytesBuilder<i64>;

/// A finished column: the nodes and buffers of its tree, depth first.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayData {
    pub nodes: Vec<Node>,
    pub buffers: Vec<Vec<u8>>,
}

impl ArrayData {
    /// A column without children.
    pub(crate) fn leaf(length: usize, null_count: usize, buffers: Vec<Vec<u8>>) -> Self {
        Self { nodes: vec![node(length, null_count)], buffers }
    }

    /// A column with children behind its own buffers.
    pub(crate) fn nested(length: usize, nulls: usize, own: Vec<Vec<u8>>, children: Vec<ArrayData>) -> Self {
        let mut whole = Self::leaf(length, nulls, own);
        for child in children {
            whole.nodes.extend(child.nodes);
            whole.buffers.extend(child.buffers);
        }
        whole
    }

    /// A column of no values.
    pub fn empty(data_type: &DataType) -> Self {
        let mut own = vec![Vec::new(); data_type.own_buffers()];
        match data_type {
            DataType::Utf8 | DataType::Binary | DataType::List(_) | DataType::Map { .. } => own[1] = vec![0; 4],
            DataType::LargeUtf8 | DataType::LargeBinary | DataType::LargeList(_) => own[1] = vec![0; 8],
            _ => {}
        }
        let children = data_type.children().iter().map(|child| Self::empty(&child.data_type)).collect();
        Self::nested(0, 0, own, children)
    }

    pub fn len(&self) -> usize {
        self.nodes.first().map_or(0, |root| root.length as usize)
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn null_count(&self) -> usize {
        self.nodes.first().map_or(0, |root| root.null_count as usize)
    }
}

fn node(length: usize, null_count: usize) -> Node {
    assert!(length <= u32::MAX as usize, "a column holds at most 2^32 values");
    Node { length: length as u32, null_count: null_count as u32 }
}

/// A column in the making.
pub trait Builder {
    /// Values pushed so far, nulls included.
    fn len(&self) -> usize;
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    fn push_null(&mut self);
    fn finish(self) -> ArrayData;
}

impl Builder for ArrayData {
    fn len(&self) -> usize {
        ArrayData::len(self)
    }
    /// A finished column takes no more values.
    fn push_null(&mut self) {
        panic!("the column is finished");
    }
    fn finish(self) -> ArrayData {
        self
    }
}
