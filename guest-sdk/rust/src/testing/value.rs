//! Values of any type, to compare and to print.

use crate::build::*;
use crate::column::*;
use crate::types::DataType;
use crate::{F16, I256};
use std::fmt;

/// One value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Boolean(bool),
    /// An integer, a date, a time, a timestamp, a duration, or the unscaled value of a decimal.
    Integer(i128),
    /// The unscaled value of a decimal that needs more than 128 bits.
    Wide(I256),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    /// Members in the order of the type.
    Struct(Vec<Value>),
    Map(Vec<(Value, Value)>),
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}
impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value.into())
    }
}
impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}
impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}
impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn all<'v>(f: &mut fmt::Formatter<'_>, values: impl Iterator<Item = &'v Value>) -> fmt::Result {
            for (i, value) in values.enumerate() {
                write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
            }
            Ok(())
        }
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Wide(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
            Self::Bytes(value) => value.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::List(values) => {
                f.write_str("[")?;
                all(f, values.iter())?;
                f.write_str("]")
            }
            Self::Struct(values) => {
                f.write_str("{")?;
                all(f, values.iter())?;
                f.write_str("}")
            }
            Self::Map(entries) => {
                f.write_str("{")?;
                for (i, (key, value)) in entries.iter().enumerate() {
                    write!(f, "{}{key}: {value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Reads all values of a column.
pub(super) fn read(array: Array<'_>) -> Vec<Value> {
    fn primitive<T: Native>(array: Array<'_>, value: impl Fn(T) -> Value) -> Vec<Value> {
        PrimitiveColumn::<T>::new(array).iter().map(|v| v.map_or(Value::Null, &value)).collect()
    }
    fn integer<T: Native + Into<i128>>(array: Array<'_>) -> Vec<Value> {
        primitive(array, |v: T| Value::Integer(v.into()))
    }
    fn text<O: OffsetSize>(array: Array<'_>) -> Vec<Value> {
        let column = TextColumn::<O>::new(array);
        column.iter().map(Value::from).collect()
    }
    fn bytes<O: OffsetSize>(array: Array<'_>) -> Vec<Value> {
        let column = BytesColumn::<O>::new(array);
        column.iter().map(|v| v.map_or(Value::Null, |v| Value::Bytes(v.to_vec()))).collect()
    }
    fn list<O: OffsetSize>(array: Array<'_>) -> Vec<Value> {
        let items = array.children().next().map(read).unwrap_or_default();
        let ranges = BytesOffsets::<O>::of(array);
        let validity = array.validity();
        let value = |i| match validity.is_valid(i) {
            true => Value::List(items[ranges.range(i)].to_vec()),
            false => Value::Null,
        };
        (0..array.len()).map(value).collect()
    }
    let children = |array: Array<'_>| array.children().map(read).collect::<Vec<_>>();
    match array.data_type() {
        DataType::Null => vec![Value::Null; array.len()],
        DataType::Boolean => BooleanColumn::new(array).iter().map(Value::from).collect(),
        DataType::Int8 => integer::<i8>(array),
        DataType::Int16 => integer::<i16>(array),
        DataType::Int32 | DataType::Date32 | DataType::Time32(_) => integer::<i32>(array),
        DataType::Int64
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp { .. }
        | DataType::Duration(_) => integer::<i64>(array),
        DataType::UInt8 => integer::<u8>(array),
        DataType::UInt16 => integer::<u16>(array),
        DataType::UInt32 => integer::<u32>(array),
        DataType::UInt64 => integer::<u64>(array),
        DataType::Float16 => primitive(array, |v: F16| Value::Float(v.to_f32().into())),
        DataType::Float32 => primitive(array, |v: f32| Value::Float(v.into())),
        DataType::Float64 => primitive(array, Value::Float),
        DataType::Decimal128 { .. } => integer::<i128>(array),
        DataType::Decimal256 { .. } => primitive(array, |v: I256| v.to_i128().map_or(Value::Wide(v), Value::Integer)),
        DataType::Utf8 => text::<i32>(array),
        DataType::LargeUtf8 => text::<i64>(array),
        DataType::Binary => bytes::<i32>(array),
        DataType::LargeBinary => bytes::<i64>(array),
        DataType::FixedSizeBinary(_) => {
            let column = FixedSizeBinaryColumn::new(array);
            column.iter().map(|v| v.map_or(Value::Null, |v| Value::Bytes(v.to_vec()))).collect()
        }
        DataType::List(_) => list::<i32>(array),
        DataType::LargeList(_) => list::<i64>(array),
        DataType::FixedSizeList(_, size) => {
            let (items, size) = (children(array).remove(0), *size as usize);
            let validity = array.validity();
            let value = |i| match validity.is_valid(i) {
                true => Value::List(items[i * size..(i + 1) * size].to_vec()),
                false => Value::Null,
            };
            (0..array.len()).map(value).collect()
        }
        DataType::Struct(_) => {
            let members = children(array);
            let validity = array.validity();
            let value = |i| match validity.is_valid(i) {
                true => Value::Struct(members.iter().map(|member| member[i].clone()).collect()),
                false => Value::Null,
            };
            (0..array.len()).map(value).collect()
        }
        DataType::Map { .. } => list::<i32>(array).into_iter().map(entries).collect(),
    }
}

/// A list of structs of two members, as a map.
fn entries(list: Value) -> Value {
    let Value::List(items) = list else { return list };
    let entry = |item| match item {
        Value::Struct(mut pair) if pair.len() == 2 => {
            let value = pair.remove(1);
            (pair.remove(0), value)
        }
        other => (other, Value::Null),
    };
    Value::Map(items.into_iter().map(entry).collect())
}

/// Makes a column of values. Panics where a value is not of the type: a test's own mistake.
pub(super) fn build(data_type: &DataType, values: &[Value]) -> ArrayData {
    let wrong = |value: &Value| -> ! { panic!("{value:?} is no value of {data_type}") };
    if let Some(mut builder) = ScalarBuilder::of(data_type, values.len()) {
        for value in values {
            let cell = match value {
                Value::Null => Cell::Null,
                Value::Boolean(v) => Cell::Boolean(*v),
                Value::Integer(v) => Cell::Integer(*v),
                Value::Float(v) => Cell::Float(*v),
                Value::Text(v) => Cell::Text(v),
                Value::Bytes(v) => Cell::Bytes(v),
                Value::Wide(v) => match &mut builder {
                    ScalarBuilder::Decimal256(builder) => {
                        builder.push(*v);
                        continue;
                    }
                    _ => wrong(value),
                },
                _ => wrong(value),
            };
            if builder.push(cell).is_err() {
                wrong(value);
            }
        }
        return builder.finish();
    }
    let mut nulls = Nulls::default();
    values.iter().enumerate().filter(|(_, value)| **value == Value::Null).for_each(|(i, _)| nulls.push(i));
    let (bits, nulls) = nulls.finish(values.len());
    let nested = |own, children| ArrayData::nested(values.len(), nulls, own, children);
    let child = |place: usize, values: &[Value]| build(&data_type.children()[place].data_type, values);
    match data_type {
        DataType::Struct(members) => {
            let column = |place: usize| {
                let member = |value: &Value| match value {
                    Value::Null => Value::Null,
                    Value::Struct(cells) if cells.len() == members.len() => cells[place].clone(),
                    other => wrong(other),
                };
                child(place, &values.iter().map(member).collect::<Vec<_>>())
            };
            nested(vec![bits], (0..members.len()).map(column).collect())
        }
        DataType::FixedSizeList(_, size) => {
            let items = values.iter().flat_map(|value| match value {
                Value::Null => vec![Value::Null; *size as usize],
                Value::List(items) if items.len() == *size as usize => items.clone(),
                other => wrong(other),
            });
            nested(vec![bits], vec![child(0, &items.collect::<Vec<_>>())])
        }
        _ => {
            let (mut items, mut ends) = (Vec::new(), vec![0]);
            for value in values {
                match value {
                    Value::Null => {}
                    Value::List(list) => items.extend_from_slice(list),
                    Value::Map(entries) => {
                        items.extend(entries.iter().map(|(k, v)| Value::Struct(vec![k.clone(), v.clone()])));
                    }
                    other => wrong(other),
                }
                ends.push(items.len());
            }
            let offsets = match data_type {
                DataType::LargeList(_) => ends.iter().flat_map(|end| i64::from_index(*end).to_le_bytes()).collect(),
                _ => ends.iter().flat_map(|end| i32::from_index(*end).to_le_bytes()).collect(),
            };
            nested(vec![bits, offsets], vec![child(0, &items)])
        }
    }
}

/// The ranges of a list column, without a view of its items.
struct BytesOffsets<'a, O: OffsetSize>(&'a [O::Bytes]);

impl<'a, O: OffsetSize> BytesOffsets<'a, O> {
    fn of(array: Array<'a>) -> Self {
        Self(O::Bytes::of(&array.buffers()[1]))
    }
    fn range(&self, i: usize) -> std::ops::Range<usize> {
        O::from_bytes(self.0[i]).to_index()..O::from_bytes(self.0[i + 1]).to_index()
    }
}
