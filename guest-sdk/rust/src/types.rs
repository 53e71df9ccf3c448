//! Column types and fields, as trees.

use crate::raw;
pub use crate::raw::{Stage, TimeUnit};
use std::fmt;

/// The type of a column. Physical layouts are those of the Arrow columnar format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    Null,
    Boolean,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    Float32,
    Float64,
    Decimal128 {
        precision: u8,
        scale: i8,
    },
    Decimal256 {
        precision: u8,
        scale: i8,
    },
    Utf8,
    LargeUtf8,
    Binary,
    LargeBinary,
    /// Width of a value in bytes.
    FixedSizeBinary(u32),
    /// Days since 1970-01-01.
    Date32,
    /// Milliseconds since 1970-01-01.
    Date64,
    /// Seconds or milliseconds since midnight.
    Time32(TimeUnit),
    /// Microseconds or nanoseconds since midnight.
    Time64(TimeUnit),
    /// Since 1970-01-01T00:00:00, in UTC where there is a zone, else local time.
    Timestamp {
        unit: TimeUnit,
        zone: Option<String>,
    },
    Duration(TimeUnit),
    List(Box<Field>),
    LargeList(Box<Field>),
    /// The items, and how many of them each value has.
    FixedSizeList(Box<Field>, u32),
    Struct(Vec<Field>),
    /// `entries` is a non-null struct of two members, the keys (never null) and the values.
    Map {
        entries: Box<Field>,
        /// The keys of each value are sorted.
        sorted: bool,
    },
}

/// A named column, or a member of a nested one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub data_type: DataType,
    pub nullable: bool,
}

impl Field {
    /// A field that may hold nulls.
    pub fn new(name: impl Into<String>, data_type: DataType) -> Self {
        Self { name: name.into(), data_type, nullable: true }
    }

    /// A field that never holds nulls.
    pub fn required(name: impl Into<String>, data_type: DataType) -> Self {
        Self { name: name.into(), data_type, nullable: false }
    }

    /// The field's tree, depth first, root first.
    pub fn to_tree(&self) -> Vec<raw::Field> {
        let mut tree = Vec::new();
        self.push_tree(&mut tree);
        tree
    }

    fn push_tree(&self, tree: &mut Vec<raw::Field>) {
        let children = self.data_type.children();
        tree.push(raw::Field {
            name: self.name.clone(),
            data_type: self.data_type.to_raw(),
            nullable: self.nullable,
            children: children.len() as u32,
        });
        children.iter().for_each(|child| child.push_tree(tree));
    }

    /// All the fields of a list of trees. None if the trees are not whole or a type has the wrong children.
    pub fn from_trees(mut trees: &[raw::Field]) -> Option<Vec<Self>> {
        let mut fields = Vec::new();
        while !trees.is_empty() {
            let (field, rest) = Self::from_tree(trees)?;
            fields.push(field);
            trees = rest;
        }
        Some(fields)
    }

    fn from_tree(tree: &[raw::Field]) -> Option<(Self, &[raw::Field])> {
        let (root, mut rest) = tree.split_first()?;
        let mut children = Vec::new();
        for _ in 0..root.children {
            let (child, after) = Self::from_tree(rest)?;
            children.push(child);
            rest = after;
        }
        let data_type = DataType::from_raw(&root.data_type, children)?;
        Some((Self { name: root.name.clone(), data_type, nullable: root.nullable }, rest))
    }
}

impl DataType {
    pub fn timestamp(unit: TimeUnit, zone: &str) -> Self {
        Self::Timestamp { unit, zone: Some(zone.to_owned()) }
    }

    /// A list of nullable items.
    pub fn list(items: DataType) -> Self {
        Self::List(Box::new(Field::new("item", items)))
    }

    /// A map with nullable values and unsorted keys.
    pub fn map(keys: DataType, values: DataType) -> Self {
        let entries = DataType::Struct(vec![Field::required("key", keys), Field::new("value", values)]);
        Self::Map { entries: Box::new(Field::required("entries", entries)), sorted: false }
    }

    /// The members of a nested type; empty for all others.
    pub fn children(&self) -> &[Field] {
        match self {
            Self::List(item) | Self::LargeList(item) | Self::FixedSizeList(item, _) => std::slice::from_ref(item),
            Self::Map { entries, .. } => std::slice::from_ref(entries),
            Self::Struct(members) => members,
            _ => &[],
        }
    }

    /// How many buffers a column of this type has itself, without its children.
    pub(crate) fn own_buffers(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::FixedSizeList(..) | Self::Struct(_) => 1,
            Self::Utf8 | Self::LargeUtf8 | Self::Binary | Self::LargeBinary => 3,
            _ => 2,
        }
    }

    /// Nodes and buffers of a column of this type, its children included.
    pub(crate) fn layout(&self) -> Layout {
        let mut whole = Layout { nodes: 1, buffers: self.own_buffers() };
        for child in self.children() {
            let child = child.data_type.layout();
            whole.nodes += child.nodes;
            whole.buffers += child.buffers;
        }
        whole
    }

    /// Bytes of one value of a type of fixed width; none for all others, booleans included.
    pub fn width(&self) -> Option<usize> {
        Some(match self {
            Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 | Self::Float16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 | Self::Date32 | Self::Time32(_) => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::Date64 | Self::Time64(_) => 8,
            Self::Timestamp { .. } | Self::Duration(_) => 8,
            Self::Decimal128 { .. } => 16,
            Self::Decimal256 { .. } => 32,
            Self::FixedSizeBinary(width) => *width as usize,
            _ => return None,
        })
    }

    fn to_raw(&self) -> raw::DataType {
        use raw::DataType as Raw;
        match self {
            Self::Null => Raw::Null,
            Self::Boolean => Raw::Boolean,
            Self::Int8 => Raw::Int8,
            Self::Int16 => Raw::Int16,
            Self::Int32 => Raw::Int32,
            Self::Int64 => Raw::Int64,
            Self::UInt8 => Raw::Uint8,
            Self::UInt16 => Raw::Uint16,
            Self::UInt32 => Raw::Uint32,
            Self::UInt64 => Raw::Uint64,
            Self::Float16 => Raw::Float16,
            Self::Float32 => Raw::Float32,
            Self::Float64 => Raw::Float64,
            Self::Decimal128 { precision, scale } => {
                Raw::Decimal128(raw::DecimalType { precision: *precision, scale: *scale })
            }
            Self::Decimal256 { precision, scale } => {
                Raw::Decimal256(raw::DecimalType { precision: *precision, scale: *scale })
            }
            Self::Utf8 => Raw::Utf8,
            Self::LargeUtf8 => Raw::LargeUtf8,
            Self::Binary => Raw::Binary,
            Self::LargeBinary => Raw::LargeBinary,
            Self::FixedSizeBinary(width) => Raw::FixedSizeBinary(*width),
            Self::Date32 => Raw::Date32,
            Self::Date64 => Raw::Date64,
            Self::Time32(unit) => Raw::Time32(*unit),
            Self::Time64(unit) => Raw::Time64(*unit),
            Self::Timestamp { unit, zone } => Raw::Timestamp(raw::TimestampType { unit: *unit, zone: zone.clone() }),
            Self::Duration(unit) => Raw::Duration(*unit),
            Self::List(_) => Raw::List,
            Self::LargeList(_) => Raw::LargeList,
            Self::FixedSizeList(_, size) => Raw::FixedSizeList(*size),
            Self::Struct(_) => Raw::Struct,
            Self::Map { sorted, .. } => Raw::Map(*sorted),
        }
    }

    fn from_raw(raw: &raw::DataType, children: Vec<Field>) -> Option<Self> {
        use raw::DataType as Raw;
        let only_child = |mut children: Vec<Field>| {
            let child = children.pop()?;
            children.is_empty().then(|| Box::new(child))
        };
        Some(match raw {
            Raw::List => Self::List(only_child(children)?),
            Raw::LargeList => Self::LargeList(only_child(children)?),
            Raw::FixedSizeList(size) => Self::FixedSizeList(only_child(children)?, *size),
            Raw::Map(sorted) => {
                let entries = only_child(children)?;
                if entries.data_type.children().len() != 2 {
                    return None;
                }
                Self::Map { entries, sorted: *sorted }
            }
            Raw::Struct => Self::Struct(children),
            _ if !children.is_empty() => return None,
            Raw::Null => Self::Null,
            Raw::Boolean => Self::Boolean,
            Raw::Int8 => Self::Int8,
            Raw::Int16 => Self::Int16,
            Raw::Int32 => Self::Int32,
            Raw::Int64 => Self::Int64,
            Raw::Uint8 => Self::UInt8,
            Raw::Uint16 => Self::UInt16,
            Raw::Uint32 => Self::UInt32,
            Raw::Uint64 => Self::UInt64,
            Raw::Float16 => Self::Float16,
            Raw::Float32 => Self::Float32,
            Raw::Float64 => Self::Float64,
            Raw::Decimal128(of) => Self::Decimal128 { precision: of.precision, scale: of.scale },
            Raw::Decimal256(of) => Self::Decimal256 { precision: of.precision, scale: of.scale },
            Raw::Utf8 => Self::Utf8,
            Raw::LargeUtf8 => Self::LargeUtf8,
            Raw::Binary => Self::Binary,
            Raw::LargeBinary => Self::LargeBinary,
            Raw::FixedSizeBinary(width) => Self::FixedSizeBinary(*width),
            Raw::Date32 => Self::Date32,
            Raw::Date64 => Self::Date64,
            Raw::Time32(unit) => Self::Time32(*unit),
            Raw::Time64(unit) => Self::Time64(*unit),
            Raw::Timestamp(of) => Self::Timestamp { unit: of.unit, zone: of.zone.clone() },
            Raw::Duration(unit) => Self::Duration(*unit),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub nodes: usize,
    pub buffers: usize,
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decimal128 { precision, scale } => write!(f, "decimal128({precision}, {scale})"),
            Self::Decimal256 { precision, scale } => write!(f, "decimal256({precision}, {scale})"),
            Self::FixedSizeBinary(width) => write!(f, "fixed-size-binary({width})"),
            Self::Time32(unit) => write!(f, "time32({})", unit_name(*unit)),
            Self::Time64(unit) => write!(f, "time64({})", unit_name(*unit)),
            Self::Timestamp { unit, zone: Some(zone) } => write!(f, "timestamp({}, {zone})", unit_name(*unit)),
            Self::Timestamp { unit, zone: None } => write!(f, "timestamp({})", unit_name(*unit)),
            Self::Duration(unit) => write!(f, "duration({})", unit_name(*unit)),
            Self::List(item) => write!(f, "list({})", item.data_type),
            Self::LargeList(item) => write!(f, "large-list({})", item.data_type),
            Self::FixedSizeList(item, size) => write!(f, "fixed-size-list({}, {size})", item.data_type),
            Self::Struct(members) => {
                f.write_str("struct(")?;
                for (i, member) in members.iter().enumerate() {
                    write!(f, "{}{}: {}", if i > 0 { ", " } else { "" }, member.name, member.data_type)?;
                }
                f.write_str(")")
            }
            Self::Map { entries, .. } => match entries.data_type.children() {
                [keys, values] => write!(f, "map({}, {})", keys.data_type, values.data_type),
                _ => f.write_str("map"),
            },
            Self::Null => f.write_str("null"),
            Self::Boolean => f.write_str("boolean"),
            Self::Int8 => f.write_str("int8"),
            Self::Int16 => f.write_str("int16"),
            Self::Int32 => f.write_str("int32"),
            Self::Int64 => f.write_str("int64"),
            Self::UInt8 => f.write_str("uint8"),
            Self::UInt16 => f.write_str("uint16"),
            Self::UInt32 => f.write_str("uint32"),
            Self::UInt64 => f.write_str("uint64"),
            Self::Float16 => f.write_str("float16"),
            Self::Float32 => f.write_str("float32"),
            Self::Float64 => f.write_str("float64"),
            Self::Utf8 => f.write_str("utf8"),
            Self::LargeUtf8 => f.write_str("large-utf8"),
            Self::Binary => f.write_str("binary"),
            Self::LargeBinary => f.write_str("large-binary"),
            Self::Date32 => f.write_str("date32"),
            Self::Date64 => f.write_str("date64"),
        }
    }
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "second",
        TimeUnit::Millisecond => "millisecond",
        TimeUnit::Microsecond => "microsecond",
        TimeUnit::Nanosecond => "nanosecond",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested() -> Field {
        Field::required(
            "flights",
            DataType::list(DataType::Struct(vec![
                Field::required("legs", DataType::FixedSizeList(Box::new(Field::new("item", DataType::Date32)), 2)),
                Field::new("notes", DataType::map(DataType::Utf8, DataType::LargeBinary)),
            ])),
        )
    }

    #[test]
    fn trees_round_trip() {
        let fields = vec![nested(), Field::new("at", DataType::timestamp(TimeUnit::Microsecond, "UTC"))];
        let trees: Vec<_> = fields.iter().flat_map(Field::to_tree).collect();
        assert_eq!(Field::from_trees(&trees), Some(fields));
    }

    #[test]
    fn broken_trees_are_refused() {
        let tree = nested().to_tree();
        assert_eq!(Field::from_trees(&tree[..tree.len() - 1]), None, "a child is missing");
        let mut childless = tree;
        childless[0].children = 0;
        assert_eq!(Field::from_trees(&childless), None, "a list without items");
    }

    #[test]
    fn layout_counts_children() {
        // list 2, struct 1, fixed-size list 1, date 2, map 2, entries 1, keys 3, values 3
        assert_eq!(nested().data_type.layout(), Layout { nodes: 8, buffers: 15 });
        assert_eq!(DataType::Null.layout(), Layout { nodes: 1, buffers: 0 });
    }

    #[test]
    fn names_people_can_read() {
        let text = nested().data_type.to_string();
        assert_eq!(text, "list(struct(legs: fixed-size-list(date32, 2), notes: map(utf8, large-binary)))");
    }
}
