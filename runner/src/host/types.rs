//! Column types across the boundary: WIT `data-type` trees and Arrow data types, in both directions.

use super::bindings::wit::{
    DataTypeParam, DataTypeResult, DecimalType, FieldParam, FieldResult, TimeUnit as WitUnit, TimestampTypeParam,
};
use super::limits::{DEPTH_MAX, FIELDS_MAX, NAME_MAX_BYTES};
use arrow::array::types::{Decimal128Type, Decimal256Type, validate_decimal_precision_and_scale};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};
use std::collections::HashSet;
use std::sync::Arc;

/// A type of the runner's that a guest cannot read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unsupported(pub(super) String);

/// The type as which a column crosses: dictionaries, runs, views and narrow decimals are unpacked, at every level.
pub(super) fn unpacked(data_type: &DataType) -> Result<DataType, Unsupported> {
    unpacked_at(data_type, 1)
}

fn unpacked_at(data_type: &DataType, depth: usize) -> Result<DataType, Unsupported> {
    use DataType as T;
    if depth > DEPTH_MAX {
        return Err(Unsupported(format!("one of more than {DEPTH_MAX} levels")));
    }
    let child = |field: &FieldRef| unpacked_field(field, depth + 1);
    Ok(match data_type {
        // Lists of no items have a length that nothing in them tells; Arrow's casts lose it.
        T::Interval(_) | T::Union(..) | T::FixedSizeList(_, 0) => return Err(Unsupported(data_type.to_string())),
        T::Dictionary(_, values) => unpacked_at(values, depth)?,
        T::RunEndEncoded(_, values) => unpacked_at(values.data_type(), depth)?,
        T::Utf8View => T::Utf8,
        T::BinaryView => T::Binary,
        T::Decimal32(precision, scale) | T::Decimal64(precision, scale) => T::Decimal128(*precision, *scale),
        T::List(item) | T::ListView(item) => T::List(child(item)?),
        T::LargeList(item) | T::LargeListView(item) => T::LargeList(child(item)?),
        T::FixedSizeList(item, size) => T::FixedSizeList(child(item)?, *size),
        T::Struct(members) => T::Struct(members.iter().map(child).collect::<Result<_, _>>()?),
        T::Map(entries, sorted) => T::Map(child(entries)?, *sorted),
        other => other.clone(),
    })
}

fn unpacked_field(field: &FieldRef, depth: usize) -> Result<FieldRef, Unsupported> {
    let data_type = unpacked_at(field.data_type(), depth)?;
    if data_type == *field.data_type() {
        return Ok(field.clone());
    }
    Ok(Arc::new(field.as_ref().clone().with_data_type(data_type)))
}

/// The fields of a table as they cross.
pub(super) fn unpacked_fields(fields: &Fields) -> Result<Fields, (String, Unsupported)> {
    fields.iter().map(|field| unpacked_field(field, 1).map_err(|e| (field.name().clone(), e))).collect()
}

/// Fields as the guest gets them, depth first. They must be unpacked.
pub(super) fn to_wit(fields: &Fields) -> Result<Vec<FieldParam<'_>>, (String, Unsupported)> {
    let mut trees = Vec::with_capacity(fields.len());
    for field in fields {
        push(field, &mut trees).map_err(|e| (field.name().clone(), e))?;
    }
    if trees.len() > FIELDS_MAX {
        let first = fields.first().map(|field| field.name().clone()).unwrap_or_default();
        return Err((first, Unsupported(format!("one of more than {FIELDS_MAX} fields, with all columns together"))));
    }
    Ok(trees)
}

fn push<'a>(field: &'a Field, trees: &mut Vec<FieldParam<'a>>) -> Result<(), Unsupported> {
    use DataType as T;
    use DataTypeParam as W;
    let none: &[FieldRef] = &[];
    let size = |size: &i32| u32::try_from(*size).map_err(|_| Unsupported(field.data_type().to_string()));
    let (data_type, children) = match field.data_type() {
        T::Null => (W::Null, none),
        T::Boolean => (W::Boolean, none),
        T::Int8 => (W::Int8, none),
        T::Int16 => (W::Int16, none),
        T::Int32 => (W::Int32, none),
        T::Int64 => (W::Int64, none),
        T::UInt8 => (W::Uint8, none),
        T::UInt16 => (W::Uint16, none),
        T::UInt32 => (W::Uint32, none),
        T::UInt64 => (W::Uint64, none),
        T::Float16 => (W::Float16, none),
        T::Float32 => (W::Float32, none),
        T::Float64 => (W::Float64, none),
        T::Decimal128(precision, scale) => (W::Decimal128(DecimalType { precision: *precision, scale: *scale }), none),
        T::Decimal256(precision, scale) => (W::Decimal256(DecimalType { precision: *precision, scale: *scale }), none),
        T::Utf8 => (W::Utf8, none),
        T::LargeUtf8 => (W::LargeUtf8, none),
        T::Binary => (W::Binary, none),
        T::LargeBinary => (W::LargeBinary, none),
        T::FixedSizeBinary(width) => (W::FixedSizeBinary(size(width)?), none),
        T::Date32 => (W::Date32, none),
        T::Date64 => (W::Date64, none),
        T::Time32(unit) => (W::Time32(unit_to_wit(*unit)), none),
        T::Time64(unit) => (W::Time64(unit_to_wit(*unit)), none),
        T::Timestamp(unit, zone) => {
            (W::Timestamp(TimestampTypeParam { unit: unit_to_wit(*unit), zone: zone.as_deref() }), none)
        }
        T::Duration(unit) => (W::Duration(unit_to_wit(*unit)), none),
        T::List(item) => (W::List, std::slice::from_ref(item)),
        T::LargeList(item) => (W::LargeList, std::slice::from_ref(item)),
        T::FixedSizeList(item, items) => (W::FixedSizeList(size(items)?), std::slice::from_ref(item)),
        T::Struct(members) => (W::Struct, &members[..]),
        T::Map(entries, sorted) => (W::Map(*sorted), std::slice::from_ref(entries)),
        other => return Err(Unsupported(other.to_string())),
    };
    trees.push(FieldParam {
        name: field.name(),
        data_type,
        nullable: field.is_nullable(),
        children: u32::try_from(children.len()).map_err(|_| Unsupported(field.data_type().to_string()))?,
    });
    children.iter().try_for_each(|child| push(child, trees))
}

const fn unit_to_wit(unit: TimeUnit) -> WitUnit {
    match unit {
        TimeUnit::Second => WitUnit::Second,
        TimeUnit::Millisecond => WitUnit::Millisecond,
        TimeUnit::Microsecond => WitUnit::Microsecond,
        TimeUnit::Nanosecond => WitUnit::Nanosecond,
    }
}

const fn unit_from_wit(unit: WitUnit) -> TimeUnit {
    match unit {
        WitUnit::Second => TimeUnit::Second,
        WitUnit::Millisecond => TimeUnit::Millisecond,
        WitUnit::Microsecond => TimeUnit::Microsecond,
        WitUnit::Nanosecond => TimeUnit::Nanosecond,
    }
}

/// The one column that a guest describes as a schema tree, root first. An error names the broken rule.
pub(super) fn from_wit(tree: &[FieldResult]) -> Result<FieldRef, String> {
    if tree.len() > FIELDS_MAX {
        return Err(format!("a schema tree has more than {FIELDS_MAX} fields"));
    }
    let mut rest = tree.iter();
    let field = take_field(&mut rest, 1)?;
    match rest.len() {
        0 => Ok(field),
        more => Err(format!("a schema tree ends {more} fields before its list does")),
    }
}

fn take_field(rest: &mut std::slice::Iter<'_, FieldResult>, depth: usize) -> Result<FieldRef, String> {
    use DataType as T;
    use DataTypeResult as W;
    let wit = rest.next().ok_or("a schema tree lacks fields that a parent counts")?;
    check_name(&wit.name)?;
    if depth > DEPTH_MAX {
        return Err(format!("a schema tree has more than {DEPTH_MAX} levels"));
    }
    let mut children = Vec::new();
    for _ in 0..wit.children {
        children.push(take_field(rest, depth + 1)?);
    }
    let data_type = match (&wit.data_type, children.as_slice()) {
        (W::List, [item]) => T::List(item.clone()),
        (W::LargeList, [item]) => T::LargeList(item.clone()),
        (W::FixedSizeList(0), _) => return Err("a fixed-size list has no items".into()),
        (W::FixedSizeList(size), [item]) => T::FixedSizeList(item.clone(), width(*size)?),
        (W::Map(sorted), [entries]) => {
            check_entries(entries)?;
            T::Map(entries.clone(), *sorted)
        }
        (W::List | W::LargeList | W::FixedSizeList(_) | W::Map(_), children) => {
            return Err(format!("a list or map has {} children, not 1", children.len()));
        }
        (W::Struct, members) => {
            let mut names = HashSet::new();
            if let Some(twice) = members.iter().find(|member| !names.insert(member.name())) {
                return Err(format!("a struct has two members named `{}`", twice.name()));
            }
            T::Struct(members.into())
        }
        (leaf, []) => leaf_from_wit(leaf)?,
        (_, children) => return Err(format!("a type without children has {}", children.len())),
    };
    Ok(Arc::new(Field::new(&wit.name, data_type, wit.nullable)))
}

fn leaf_from_wit(leaf: &DataTypeResult) -> Result<DataType, String> {
    use DataType as T;
    use DataTypeResult as W;
    let message = |e: arrow::error::ArrowError| e.to_string();
    Ok(match leaf {
        W::Null => T::Null,
        W::Boolean => T::Boolean,
        W::Int8 => T::Int8,
        W::Int16 => T::Int16,
        W::Int32 => T::Int32,
        W::Int64 => T::Int64,
        W::Uint8 => T::UInt8,
        W::Uint16 => T::UInt16,
        W::Uint32 => T::UInt32,
        W::Uint64 => T::UInt64,
        W::Float16 => T::Float16,
        W::Float32 => T::Float32,
        W::Float64 => T::Float64,
        W::Decimal128(d) => {
            validate_decimal_precision_and_scale::<Decimal128Type>(d.precision, d.scale).map_err(message)?;
            T::Decimal128(d.precision, d.scale)
        }
        W::Decimal256(d) => {
            validate_decimal_precision_and_scale::<Decimal256Type>(d.precision, d.scale).map_err(message)?;
            T::Decimal256(d.precision, d.scale)
        }
        W::Utf8 => T::Utf8,
        W::LargeUtf8 => T::LargeUtf8,
        W::Binary => T::Binary,
        W::LargeBinary => T::LargeBinary,
        W::FixedSizeBinary(bytes) => T::FixedSizeBinary(width(*bytes)?),
        W::Date32 => T::Date32,
        W::Date64 => T::Date64,
        W::Time32(unit @ (WitUnit::Second | WitUnit::Millisecond)) => T::Time32(unit_from_wit(*unit)),
        W::Time64(unit @ (WitUnit::Microsecond | WitUnit::Nanosecond)) => T::Time64(unit_from_wit(*unit)),
        W::Time32(_) | W::Time64(_) => return Err("time32 is in s or ms, time64 in us or ns".into()),
        W::Timestamp(timestamp) => {
            let zone = timestamp.zone.as_deref().map(check_zone).transpose()?;
            T::Timestamp(unit_from_wit(timestamp.unit), zone.map(Arc::from))
        }
        W::Duration(unit) => T::Duration(unit_from_wit(*unit)),
        W::List | W::LargeList | W::FixedSizeList(_) | W::Struct | W::Map(_) => {
            return Err("a nested type stands where a leaf must".into());
        }
    })
}

fn width(size: u32) -> Result<i32, String> {
    i32::try_from(size).map_err(|_| format!("a fixed size of {size} is too large"))
}

/// Names end up in schemas, SQL and messages.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > NAME_MAX_BYTES {
        return Err(format!("a name has {} bytes, not 1 to {NAME_MAX_BYTES}", name.len()));
    }
    if name.contains(char::is_control) {
        return Err("a name has a control character".into());
    }
    Ok(())
}

/// Whether the zone is known is the sink's business; that it can be shown is ours.
fn check_zone(zone: &str) -> Result<&str, String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"+-:_/".contains(&b);
    if zone.is_empty() || zone.len() > 64 || !zone.bytes().all(plain) {
        return Err("a time zone is not an IANA name or a fixed offset".into());
    }
    Ok(zone)
}

fn check_entries(entries: &Field) -> Result<(), String> {
    let DataType::Struct(members) = entries.data_type() else {
        return Err("the child of a map is not a struct".into());
    };
    match &members[..] {
        _ if entries.is_nullable() => Err("the entries of a map are nullable".into()),
        [keys, _] if keys.is_nullable() => Err("the keys of a map are nullable".into()),
        [_, _] => Ok(()),
        _ => Err(format!("the entries of a map have {} members, not 2", members.len())),
    }
}
