//! A builder whose type is known only when it runs: what the row view writes to.

use super::*;
use crate::types::DataType;
use crate::{F16, I256};

/// A value for one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    Null,
    Boolean(bool),
    /// An integer, a date, a time, or the unscaled value of a decimal.
    Integer(i128),
    Float(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

macro_rules! cells_from {
    ($($type:ty => |$value:ident| $cell:expr);+ $(;)?) => {
        $(impl<'a> From<$type> for Cell<'a> {
            fn from($value: $type) -> Self {
                $cell
            }
        })+
    };
}

cells_from! {
    bool => |v| Cell::Boolean(v);
    i8 => |v| Cell::Integer(v.into());
    i16 => |v| Cell::Integer(v.into());
    i32 => |v| Cell::Integer(v.into());
    i64 => |v| Cell::Integer(v.into());
    i128 => |v| Cell::Integer(v);
    u8 => |v| Cell::Integer(v.into());
    u16 => |v| Cell::Integer(v.into());
    u32 => |v| Cell::Integer(v.into());
    u64 => |v| Cell::Integer(v.into());
    f32 => |v| Cell::Float(v.into());
    f64 => |v| Cell::Float(v);
    &'a str => |v| Cell::Text(v);
    &'a String => |v| Cell::Text(v);
    &'a [u8] => |v| Cell::Bytes(v);
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

/// Why a cell does not take a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The value is of another sort than the column.
    Type,
    /// The column's type cannot hold a value so large or of this length.
    Range,
}

macro_rules! scalar_builders {
    ($($variant:ident($builder:ty)),+ $(,)?) => {
        #[derive(Debug)]
        pub(crate) enum ScalarBuilder { $($variant($builder)),+ }

        impl ScalarBuilder {
            pub fn truncate(&mut self, len: usize) {
                match self { $(Self::$variant(builder) => builder.truncate(len)),+ }
            }
        }

        impl Builder for ScalarBuilder {
            fn len(&self) -> usize {
                match self { $(Self::$variant(builder) => builder.len()),+ }
            }
            fn push_null(&mut self) {
                match self { $(Self::$variant(builder) => builder.push_null()),+ }
            }
            fn finish(self) -> ArrayData {
                match self { $(Self::$variant(builder) => builder.finish()),+ }
            }
        }
    };
}

scalar_builders! {
    Null(NullBuilder), Boolean(BooleanBuilder), Int8(Int8Builder), Int16(Int16Builder), Int32(Int32Builder),
    Int64(Int64Builder), UInt8(UInt8Builder), UInt16(UInt16Builder), UInt32(UInt32Builder), UInt64(UInt64Builder),
    Float16(Float16Builder), Float32(Float32Builder), Float64(Float64Builder), Decimal128(Decimal128Builder),
    Decimal256(Decimal256Builder), Utf8(Utf8Builder), LargeUtf8(LargeUtf8Builder), Binary(BinaryBuilder),
    LargeBinary(LargeBinaryBuilder), FixedSizeBinary(FixedSizeBinaryBuilder),
}

impl ScalarBuilder {
    /// None for nested types.
    pub fn of(data_type: &DataType, capacity: usize) -> Option<Self> {
        let bytes = capacity * 16;
        Some(match data_type {
            DataType::Null => Self::Null(NullBuilder::default()),
            DataType::Boolean => Self::Boolean(BooleanBuilder::with_capacity(capacity)),
            DataType::Int8 => Self::Int8(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Int16 => Self::Int16(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Int32 | DataType::Date32 | DataType::Time32(_) => {
                Self::Int32(PrimitiveBuilder::with_capacity(capacity))
            }
            DataType::Int64
            | DataType::Date64
            | DataType::Time64(_)
            | DataType::Timestamp { .. }
            | DataType::Duration(_) => Self::Int64(PrimitiveBuilder::with_capacity(capacity)),
            DataType::UInt8 => Self::UInt8(PrimitiveBuilder::with_capacity(capacity)),
            DataType::UInt16 => Self::UInt16(PrimitiveBuilder::with_capacity(capacity)),
            DataType::UInt32 => Self::UInt32(PrimitiveBuilder::with_capacity(capacity)),
            DataType::UInt64 => Self::UInt64(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Float16 => Self::Float16(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Float32 => Self::Float32(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Float64 => Self::Float64(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Decimal128 { .. } => Self::Decimal128(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Decimal256 { .. } => Self::Decimal256(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Utf8 => Self::Utf8(TextBuilder::with_capacity(capacity, bytes)),
            DataType::LargeUtf8 => Self::LargeUtf8(TextBuilder::with_capacity(capacity, bytes)),
            DataType::Binary => Self::Binary(BytesBuilder::with_capacity(capacity, bytes)),
            DataType::LargeBinary => Self::LargeBinary(BytesBuilder::with_capacity(capacity, bytes)),
            DataType::FixedSizeBinary(width) => {
                Self::FixedSizeBinary(FixedSizeBinaryBuilder::with_capacity(*width as usize, capacity))
            }
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::Struct(_)
            | DataType::Map { .. } => return None,
        })
    }

    pub fn push(&mut self, cell: Cell<'_>) -> Result<(), Unfit> {
        fn fit<T: TryFrom<i128>>(value: i128) -> Result<T, Unfit> {
            T::try_from(value).map_err(|_| Unfit::Range)
        }
        match (self, cell) {
            (builder, Cell::Null) => builder.push_null(),
            (Self::Boolean(b), Cell::Boolean(v)) => b.push(v),
            (Self::Int8(b), Cell::Integer(v)) => b.push(fit(v)?),
            (Self::Int16(b), Cell::Integer(v)) => b.push(fit(v)?),
            (Self::Int32(b), Cell::Integer(v)) => b.push(fit(v)?),
            (Self::Int64(b), Cell::Integer(v)) => b.push(fit(v)?),
            (Self::UInt8(b), Cell::Integer(v)) => b.push(fit(v)?),
            (Self::UInt16(b), Cell::Integer(v)) => b.push(fit(v)?),
            (Self::UInt32(b), Cell::Integer(v)) => b.push(fit(v)?),
            (Self::UInt64(b), Cell::Integer(v)) => b.push(fit(v)?),
            (Self::Decimal128(b), Cell::Integer(v)) => b.push(v),
            (Self::Decimal256(b), Cell::Integer(v)) => b.push(I256::from(v)),
            (Self::Float16(b), Cell::Float(v)) => b.push(F16::from_f32(v as f32)),
            (Self::Float32(b), Cell::Float(v)) => b.push(v as f32),
            (Self::Float64(b), Cell::Float(v)) => b.push(v),
            (Self::Utf8(b), Cell::Text(v)) => b.push(v),
            (Self::LargeUtf8(b), Cell::Text(v)) => b.push(v),
            (Self::Binary(b), Cell::Bytes(v)) => b.push(v),
            (Self::LargeBinary(b), Cell::Bytes(v)) => b.push(v),
            (Self::FixedSizeBinary(b), Cell::Bytes(v)) if b.width() == v.len() => b.push(v),
            (Self::FixedSizeBinary(_), Cell::Bytes(_)) => return Err(Unfit::Range),
            _ => return Err(Unfit::Type),
        }
        Ok(())
    }
}
