//! Arrow schemas from and to the logical schemas of the core.

use arrow::datatypes as arrow_types;
use arrow::datatypes::{DataType, SchemaRef};
use gristmill_core::schema::{Element, Field, InvalidSchema, LogicalType, Schema, TimeUnit};
use std::sync::Arc;

/// A column that no logical type stands for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedType {
    #[error(
        "column `{column}` has the type {arrow_type}, which pipelines do not carry: leave the column out or convert it before"
    )]
    Type { column: String, arrow_type: String },
    #[error(transparent)]
    Invalid(#[from] InvalidSchema),
}

/// The layout in which the runner carries columns of `schema`: never dictionaries, views or runs.
pub fn to_arrow(schema: &Schema) -> SchemaRef {
    let fields: arrow_types::Fields = schema.fields().iter().map(arrow_field).collect();
    Arc::new(arrow_types::Schema::new(fields))
}

/// What the columns of `schema` mean. Columns whose layout is not the one of [`to_arrow`] (dictionaries, views, runs,
/// narrow decimals) can be cast to it without loss.
pub fn from_arrow(schema: &arrow_types::Schema) -> Result<Schema, UnsupportedType> {
    let field = |field: &Arc<arrow_types::Field>| {
        let unsupported = |arrow_type: &DataType| UnsupportedType::Type {
            column: field.name().clone(),
            arrow_type: arrow_type.to_string(),
        };
        let logical_type = logical_type(field.data_type()).map_err(unsupported)?;
        Ok(Field::new(field.name(), logical_type, field.is_nullable()))
    };
    let fields = schema.fields().iter().map(field).collect::<Result<Vec<_>, UnsupportedType>>()?;
    Ok(Schema::new(fields)?)
}

/// The Arrow type of a logical type.
pub fn data_type(logical_type: &LogicalType) -> DataType {
    match logical_type {
        LogicalType::Null => DataType::Null,
        LogicalType::Boolean => DataType::Boolean,
        LogicalType::Int8 => DataType::Int8,
        LogicalType::Int16 => DataType::Int16,
        LogicalType::Int32 => DataType::Int32,
        LogicalType::Int64 => DataType::Int64,
        LogicalType::Uint8 => DataType::UInt8,
        LogicalType::Uint16 => DataType::UInt16,
        LogicalType::Uint32 => DataType::UInt32,
        LogicalType::Uint64 => DataType::UInt64,
        LogicalType::Float16 => DataType::Float16,
        LogicalType::Float32 => DataType::Float32,
        LogicalType::Float64 => DataType::Float64,
        LogicalType::Decimal128 { precision, scale } => DataType::Decimal128(*precision, *scale),
        LogicalType::Decimal256 { precision, scale } => DataType::Decimal256(*precision, *scale),
        LogicalType::Utf8 => DataType::Utf8,
        LogicalType::LargeUtf8 => DataType::LargeUtf8,
        LogicalType::Binary => DataType::Binary,
        LogicalType::LargeBinary => DataType::LargeBinary,
        LogicalType::FixedSizeBinary(width) => DataType::FixedSizeBinary(arrow_width(*width)),
        LogicalType::Date32 => DataType::Date32,
        LogicalType::Date64 => DataType::Date64,
        LogicalType::Time32(unit) => DataType::Time32(arrow_unit(*unit)),
        LogicalType::Time64(unit) => DataType::Time64(arrow_unit(*unit)),
        LogicalType::Timestamp(unit, zone) => DataType::Timestamp(arrow_unit(*unit), zone.as_deref().map(Arc::from)),
        LogicalType::Duration(unit) => DataType::Duration(arrow_unit(*unit)),
        LogicalType::List(item) => DataType::List(arrow_item(item)),
        LogicalType::LargeList(item) => DataType::LargeList(arrow_item(item)),
        LogicalType::FixedSizeList(item, items) => DataType::FixedSizeList(arrow_item(item), arrow_width(*items)),
        LogicalType::Struct(members) => DataType::Struct(members.iter().map(arrow_field).collect()),
        LogicalType::Map(key, value) => {
            let key = arrow_types::Field::new("key", data_type(key), false);
            let value = arrow_types::Field::new("value", data_type(&value.logical_type), value.nullable);
            let entries = DataType::Struct(vec![key, value].into());
            DataType::Map(Arc::new(arrow_types::Field::new("entries", entries, false)), false)
        }
    }
}

fn arrow_field(field: &Field) -> arrow_types::Field {
    arrow_types::Field::new(&field.name, data_type(&field.logical_type), field.nullable)
}

fn arrow_item(item: &Element) -> arrow_types::FieldRef {
    Arc::new(arrow_types::Field::new("item", data_type(&item.logical_type), item.nullable))
}

/// Widths of a checked schema fit; the fallback only keeps this total.
fn arrow_width(width: u32) -> i32 {
    i32::try_from(width).unwrap_or(i32::MAX)
}

fn arrow_unit(unit: TimeUnit) -> arrow_types::TimeUnit {
    match unit {
        TimeUnit::Second => arrow_types::TimeUnit::Second,
        TimeUnit::Millisecond => arrow_types::TimeUnit::Millisecond,
        TimeUnit::Microsecond => arrow_types::TimeUnit::Microsecond,
        TimeUnit::Nanosecond => arrow_types::TimeUnit::Nanosecond,
    }
}

/// The logical type of an Arrow type; the type at fault where there is none.
pub fn logical_type(data_type: &DataType) -> Result<LogicalType, &DataType> {
    Ok(match data_type {
        DataType::Null => LogicalType::Null,
        DataType::Boolean => LogicalType::Boolean,
        DataType::Int8 => LogicalType::Int8,
        DataType::Int16 => LogicalType::Int16,
        DataType::Int32 => LogicalType::Int32,
        DataType::Int64 => LogicalType::Int64,
        DataType::UInt8 => LogicalType::Uint8,
        DataType::UInt16 => LogicalType::Uint16,
        DataType::UInt32 => LogicalType::Uint32,
        DataType::UInt64 => LogicalType::Uint64,
        DataType::Float16 => LogicalType::Float16,
        DataType::Float32 => LogicalType::Float32,
        DataType::Float64 => LogicalType::Float64,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale) => LogicalType::Decimal128 { precision: *precision, scale: *scale },
        DataType::Decimal256(precision, scale) => LogicalType::Decimal256 { precision: *precision, scale: *scale },
        DataType::Utf8 | DataType::Utf8View => LogicalType::Utf8,
        DataType::LargeUtf8 => LogicalType::LargeUtf8,
        DataType::Binary | DataType::BinaryView => LogicalType::Binary,
        DataType::LargeBinary => LogicalType::LargeBinary,
        DataType::FixedSizeBinary(width) => LogicalType::FixedSizeBinary(u32::try_from(*width).map_err(|_| data_type)?),
        DataType::Date32 => LogicalType::Date32,
        DataType::Date64 => LogicalType::Date64,
        DataType::Time32(unit) => LogicalType::Time32(logical_unit(*unit)),
        DataType::Time64(unit) => LogicalType::Time64(logical_unit(*unit)),
        DataType::Timestamp(unit, zone) => {
            LogicalType::Timestamp(logical_unit(*unit), zone.as_deref().map(str::to_owned))
        }
        DataType::Duration(unit) => LogicalType::Duration(logical_unit(*unit)),
        DataType::List(item) | DataType::ListView(item) => LogicalType::List(element(item)?),
        DataType::LargeList(item) | DataType::LargeListView(item) => LogicalType::LargeList(element(item)?),
        DataType::FixedSizeList(item, items) => {
            LogicalType::FixedSizeList(element(item)?, u32::try_from(*items).map_err(|_| data_type)?)
        }
        DataType::Struct(members) => {
            let member = |m: &'_ Arc<arrow_types::Field>| (m.name().clone(), m.is_nullable());
            let mut fields = Vec::with_capacity(members.len());
            for m in members {
                let (name, nullable) = member(m);
                fields.push(Field { name, logical_type: logical_type(m.data_type())?, nullable });
            }
            LogicalType::Struct(fields)
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => {
                LogicalType::Map(Box::new(logical_type(pair[0].data_type())?), element(&pair[1])?)
            }
            _ => return Err(data_type),
        },
        DataType::Dictionary(_, values) => logical_type(values)?,
        DataType::RunEndEncoded(_, values) => logical_type(values.data_type())?,
        DataType::Interval(_) | DataType::Union(..) => return Err(data_type),
    })
}

fn element(field: &arrow_types::Field) -> Result<Box<Element>, &DataType> {
    Ok(Box::new(Element { logical_type: logical_type(field.data_type())?, nullable: field.is_nullable() }))
}

fn logical_unit(unit: arrow_types::TimeUnit) -> TimeUnit {
    match unit {
        arrow_types::TimeUnit::Second => TimeUnit::Second,
        arrow_types::TimeUnit::Millisecond => TimeUnit::Millisecond,
        arrow_types::TimeUnit::Microsecond => TimeUnit::Microsecond,
        arrow_types::TimeUnit::Nanosecond => TimeUnit::Nanosecond,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_logical_type_goes_to_arrow_and_back() {
        let mut types: Vec<String> = gristmill_core::schema::text::type_names()
            .filter(|name| name.parse::<LogicalType>().is_ok())
            .map(str::to_owned)
            .collect();
        let parametric = [
            "decimal128(18, 2)",
            "decimal256(40, -2)",
            "fixed_size_binary(16)",
            "time32(s)",
            "time32(ms)",
            "time64(us)",
            "time64(ns)",
            "timestamp(s)",
            "timestamp(ns, Europe/Berlin)",
            "duration(ms)",
            "list<int8 not null>",
            "large_list<utf8>",
            "fixed_size_list<float32, 3>",
            "struct<a: int32 not null, b: list<utf8>>",
            "map<utf8, struct<a: date32> not null>",
        ];
        types.extend(parametric.map(str::to_owned));
        let field =
            |(index, text): (usize, &String)| Field::new(format!("c{index}"), text.parse().unwrap(), index % 2 == 0);
        let schema = Schema::new(types.iter().enumerate().map(field).collect()).unwrap();
        assert_eq!(from_arrow(&to_arrow(&schema)).unwrap(), schema);
    }

    #[test]
    fn encodings_have_the_type_of_their_values() {
        let field = |data_type| Arc::new(arrow_types::Field::new("f", data_type, true));
        let dictionary = |values| DataType::Dictionary(Box::new(DataType::Int8), Box::new(values));
        for (arrow_type, text) in [
            (dictionary(DataType::Utf8), "utf8"),
            (dictionary(DataType::Utf8View), "utf8"),
            (DataType::BinaryView, "binary"),
            (DataType::RunEndEncoded(field(DataType::Int32), field(dictionary(DataType::Int64))), "int64"),
            (DataType::ListView(field(DataType::Utf8View)), "list<utf8>"),
            (DataType::LargeListView(field(DataType::Int8)), "large_list<int8>"),
            (DataType::Decimal32(5, 2), "decimal128(5, 2)"),
        ] {
            assert_eq!(logical_type(&arrow_type).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_pipelines_do_not_carry_is_named() {
        let interval = DataType::Interval(arrow_types::IntervalUnit::DayTime);
        let item = Arc::new(arrow_types::Field::new("item", interval, true));
        let schema = arrow_types::Schema::new(vec![arrow_types::Field::new("gap", DataType::List(item), true)]);
        let message = from_arrow(&schema).unwrap_err().to_string();
        assert!(message.contains("`gap`") && message.contains("Interval"), "{message}");
        let twice = vec![arrow_types::Field::new("a", DataType::Int8, true); 2];
        assert!(matches!(from_arrow(&arrow_types::Schema::new(twice)), Err(UnsupportedType::Invalid(_))));
    }
}
