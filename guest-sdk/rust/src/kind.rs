//! The kinds of columns: what ties a type of the contract to its view and its builder.
//!
//! `plan.read::<Utf8>("carrier")` asks for a column of that kind; `plan.compute(output, "flight", Int32)` promises one.

use crate::build::*;
use crate::column::*;
use crate::types::{DataType, Field, TimeUnit};
use crate::{F16, I256};

/// A kind of column.
pub trait Kind: Clone {
    type Column<'a>: Clone;
    type Builder: Builder;
    /// For messages.
    const NAME: &'static str;
    /// Whether a column of this type can be read as this kind.
    fn accepts(data_type: &DataType) -> bool;
    /// Called only with a type that [`Self::accepts`] takes.
    fn view(array: Array<'_>) -> Self::Column<'_>;
    /// The whole type of a computed column.
    fn data_type(&self) -> DataType;
    fn builder(&self, capacity: usize) -> Self::Builder;
}

/// A kind whose values fit one cell of a row.
macro_rules! primitive_kinds {
    ($($(#[$doc:meta])* $kind:ident, $name:literal, $native:ty);+ $(;)?) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $kind;
        impl Kind for $kind {
            type Column<'a> = PrimitiveColumn<'a, $native>;
            type Builder = PrimitiveBuilder<$native>;
            const NAME: &'static str = $name;
            fn accepts(data_type: &DataType) -> bool {
                matches!(data_type, DataType::$kind)
            }
            fn view(array: Array<'_>) -> Self::Column<'_> {
                PrimitiveColumn::new(array)
            }
            fn data_type(&self) -> DataType {
                DataType::$kind
            }
            fn builder(&self, capacity: usize) -> Self::Builder {
                PrimitiveBuilder::with_capacity(capacity)
            }
        })+
    };
}

primitive_kinds! {
    Int8, "int8", i8;
    Int16, "int16", i16;
    Int32, "int32", i32;
    Int64, "int64", i64;
    UInt8, "uint8", u8;
    UInt16, "uint16", u16;
    UInt32, "uint32", u32;
    UInt64, "uint64", u64;
    Float16, "float16", F16;
    Float32, "float32", f32;
    Float64, "float64", f64;
    /// Days since 1970-01-01.
    Date32, "date32", i32;
    /// Milliseconds since 1970-01-01.
    Date64, "date64", i64;
}

/// A kind of fixed-width values whose type has parameters.
macro_rules! parameterized_kinds {
    ($($kind:ident, $name:literal, $native:ty, $pattern:pat, |$of:ident| $data_type:expr);+ $(;)?) => {
        $(impl Kind for $kind {
            type Column<'a> = PrimitiveColumn<'a, $native>;
            type Builder = PrimitiveBuilder<$native>;
            const NAME: &'static str = $name;
            fn accepts(data_type: &DataType) -> bool {
                matches!(data_type, $pattern)
            }
            fn view(array: Array<'_>) -> Self::Column<'_> {
                PrimitiveColumn::new(array)
            }
            fn data_type(&self) -> DataType {
                let $of = self;
                $data_type
            }
            fn builder(&self, capacity: usize) -> Self::Builder {
                PrimitiveBuilder::with_capacity(capacity)
            }
        })+
    };
}

/// Unscaled 128-bit values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal128 {
    pub precision: u8,
    pub scale: i8,
}

/// Unscaled 256-bit values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal256 {
    pub precision: u8,
    pub scale: i8,
}

/// Seconds or milliseconds since midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time32(pub TimeUnit);

/// Microseconds or nanoseconds since midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time64(pub TimeUnit);

/// Since 1970-01-01T00:00:00, in UTC where there is a zone, else local time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timestamp {
    pub unit: TimeUnit,
    /// An IANA name or a fixed offset.
    pub zone: Option<String>,
}

impl Timestamp {
    pub fn new(unit: TimeUnit, zone: &str) -> Self {
        Self { unit, zone: Some(zone.to_owned()) }
    }
    /// Without a zone.
    pub fn local(unit: TimeUnit) -> Self {
        Self { unit, zone: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duration(pub TimeUnit);

parameterized_kinds! {
    Decimal128, "decimal128", i128, DataType::Decimal128 { .. },
        |of| DataType::Decimal128 { precision: of.precision, scale: of.scale };
    Decimal256, "decimal256", I256, DataType::Decimal256 { .. },
        |of| DataType::Decimal256 { precision: of.precision, scale: of.scale };
    Time32, "time32", i32, DataType::Time32(_), |of| DataType::Time32(of.0);
    Time64, "time64", i64, DataType::Time64(_), |of| DataType::Time64(of.0);
    Timestamp, "timestamp", i64, DataType::Timestamp { .. },
        |of| DataType::Timestamp { unit: of.unit, zone: of.zone.clone() };
    Duration, "duration", i64, DataType::Duration(_), |of| DataType::Duration(of.0);
}

macro_rules! plain_kinds {
    ($($kind:ident, $name:literal, $column:ty, $builder:ty, |$array:ident| $view:expr, |$capacity:ident| $build:expr);+ $(;)?) => {
        $(#[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $kind;
        impl Kind for $kind {
            type Column<'a> = $column;
            type Builder = $builder;
            const NAME: &'static str = $name;
            fn accepts(data_type: &DataType) -> bool {
                matches!(data_type, DataType::$kind)
            }
            fn view($array: Array<'_>) -> Self::Column<'_> {
                $view
            }
            fn data_type(&self) -> DataType {
                DataType::$kind
            }
            fn builder(&self, $capacity: usize) -> Self::Builder {
                $build
            }
        })+
    };
}

/// Texts and byte strings get room for this many bytes a value at first; they grow by doubling.
const EXPECTED_BYTES: usize = 16;

plain_kinds! {
    Null, "null", NullColumn, NullBuilder, |a| NullColumn::new(a), |_c| NullBuilder::default();
    Boolean, "boolean", BooleanColumn<'a>, BooleanBuilder, |a| BooleanColumn::new(a), |c| BooleanBuilder::with_capacity(c);
    Utf8, "utf8", TextColumn<'a, i32>, TextBuilder<i32>, |a| TextColumn::new(a), |c| TextBuilder::with_capacity(c, c * EXPECTED_BYTES);
    LargeUtf8, "large-utf8", TextColumn<'a, i64>, TextBuilder<i64>, |a| TextColumn::new(a), |c| TextBuilder::with_capacity(c, c * EXPECTED_BYTES);
    Binary, "binary", BytesColumn<'a, i32>, BytesBuilder<i32>, |a| BytesColumn::new(a), |c| BytesBuilder::with_capacity(c, c * EXPECTED_BYTES);
    LargeBinary, "large-binary", BytesColumn<'a, i64>, BytesBuilder<i64>, |a| BytesColumn::new(a), |c| BytesBuilder::with_capacity(c, c * EXPECTED_BYTES);
}

/// Byte strings of one width, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedSizeBinary(pub u32);

impl Kind for FixedSizeBinary {
    type Column<'a> = FixedSizeBinaryColumn<'a>;
    type Builder = FixedSizeBinaryBuilder;
    const NAME: &'static str = "fixed-size-binary";
    fn accepts(data_type: &DataType) -> bool {
        matches!(data_type, DataType::FixedSizeBinary(_))
    }
    fn view(array: Array<'_>) -> Self::Column<'_> {
        FixedSizeBinaryColumn::new(array)
    }
    fn data_type(&self) -> DataType {
        DataType::FixedSizeBinary(self.0)
    }
    fn builder(&self, capacity: usize) -> Self::Builder {
        FixedSizeBinaryBuilder::with_capacity(self.0 as usize, capacity)
    }
}

macro_rules! list_kinds {
    ($($(#[$doc:meta])* $kind:ident, $name:literal, $offset:ty);+) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $kind<K>(pub K);
        impl<K: Kind> Kind for $kind<K> {
            type Column<'a> = ListColumn<'a, K, $offset>;
            type Builder = ListBuilder<K::Builder, $offset>;
            const NAME: &'static str = $name;
            fn accepts(data_type: &DataType) -> bool {
                matches!(data_type, DataType::$kind(item) if K::accepts(&item.data_type))
            }
            fn view(array: Array<'_>) -> Self::Column<'_> {
                ListColumn::new(array)
            }
            fn data_type(&self) -> DataType {
                DataType::$kind(Box::new(Field::new("item", self.0.data_type())))
            }
            fn builder(&self, capacity: usize) -> Self::Builder {
                ListBuilder::with_capacity(capacity, self.0.builder(capacity))
            }
        })+
    };
}

list_kinds! {
    /// Lists of nullable items of a kind.
    List, "list", i32;
    /// Lists of nullable items of a kind, with 64-bit offsets.
    LargeList, "large-list", i64
}

/// Lists of nullable items of a kind, of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedSizeList<K>(pub K, pub u32);

impl<K: Kind> Kind for FixedSizeList<K> {
    type Column<'a> = FixedSizeListColumn<'a, K>;
    type Builder = FixedSizeListBuilder<K::Builder>;
    const NAME: &'static str = "fixed-size-list";
    fn accepts(data_type: &DataType) -> bool {
        matches!(data_type, DataType::FixedSizeList(item, _) if K::accepts(&item.data_type))
    }
    fn view(array: Array<'_>) -> Self::Column<'_> {
        FixedSizeListColumn::new(array)
    }
    fn data_type(&self) -> DataType {
        DataType::FixedSizeList(Box::new(Field::new("item", self.0.data_type())), self.1)
    }
    fn builder(&self, capacity: usize) -> Self::Builder {
        let size = self.1 as usize;
        FixedSizeListBuilder::new(size, self.0.builder(capacity * size))
    }
}

/// Structs of these members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Struct(pub Vec<Field>);

impl Kind for Struct {
    type Column<'a> = StructColumn<'a>;
    type Builder = StructBuilder;
    const NAME: &'static str = "struct";
    fn accepts(data_type: &DataType) -> bool {
        matches!(data_type, DataType::Struct(_))
    }
    fn view(array: Array<'_>) -> Self::Column<'_> {
        StructColumn::new(array)
    }
    fn data_type(&self) -> DataType {
        DataType::Struct(self.0.clone())
    }
    fn builder(&self, _: usize) -> Self::Builder {
        StructBuilder::with_members(self.0.len())
    }
}

/// Maps from keys, never null, to nullable values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Map<K, V>(pub K, pub V);

impl<K: Kind, V: Kind> Kind for Map<K, V> {
    type Column<'a> = MapColumn<'a, K, V>;
    type Builder = MapBuilder<K::Builder, V::Builder>;
    const NAME: &'static str = "map";
    fn accepts(data_type: &DataType) -> bool {
        match data_type {
            DataType::Map { entries, .. } => match entries.data_type.children() {
                [keys, values] => K::accepts(&keys.data_type) && V::accepts(&values.data_type),
                _ => false,
            },
            _ => false,
        }
    }
    fn view(array: Array<'_>) -> Self::Column<'_> {
        MapColumn::new(array)
    }
    fn data_type(&self) -> DataType {
        DataType::map(self.0.data_type(), self.1.data_type())
    }
    fn builder(&self, capacity: usize) -> Self::Builder {
        MapBuilder::with_capacity(capacity, self.0.builder(capacity), self.1.builder(capacity))
    }
}

/// Any type: an untyped view, and a finished column to compute it with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Any(pub DataType);

impl Kind for Any {
    type Column<'a> = Array<'a>;
    type Builder = ArrayData;
    const NAME: &'static str = "any type";
    fn accepts(_: &DataType) -> bool {
        true
    }
    fn view(array: Array<'_>) -> Array<'_> {
        array
    }
    fn data_type(&self) -> DataType {
        self.0.clone()
    }
    /// An empty column, whatever the capacity: take one from the batch or finish a builder instead.
    fn builder(&self, _: usize) -> ArrayData {
        ArrayData::empty(&self.0)
    }
}
