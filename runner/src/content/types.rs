//! Types as text.

use arrow::datatypes::{DataType, FieldRef, IntervalUnit, TimeUnit};

/// A type as text: see the module's head.
pub(crate) fn type_text(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "null".into(),
        DataType::Boolean => "boolean".into(),
        DataType::Int8 => "int8".into(),
        DataType::Int16 => "int16".into(),
        DataType::Int32 => "int32".into(),
        DataType::Int64 => "int64".into(),
        DataType::UInt8 => "uint8".into(),
        DataType::UInt16 => "uint16".into(),
        DataType::UInt32 => "uint32".into(),
        DataType::UInt64 => "uint64".into(),
        DataType::Float16 => "float16".into(),
        DataType::Float32 => "float32".into(),
        DataType::Float64 => "float64".into(),
        DataType::Decimal32(precision, scale) => format!("decimal32({precision},{scale})"),
        DataType::Decimal64(precision, scale) => format!("decimal64({precision},{scale})"),
        DataType::Decimal128(precision, scale) => format!("decimal128({precision},{scale})"),
        DataType::Decimal256(precision, scale) => format!("decimal256({precision},{scale})"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "utf8".into(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "binary".into(),
        DataType::FixedSizeBinary(width) => format!("fixed-size-binary({width})"),
        DataType::Date32 => "date32".into(),
        DataType::Date64 => "date64".into(),
        DataType::Time32(unit) => format!("time32({})", unit_text(*unit)),
        DataType::Time64(unit) => format!("time64({})", unit_text(*unit)),
        DataType::Timestamp(unit, None) => format!("timestamp({})", unit_text(*unit)),
        DataType::Timestamp(unit, Some(zone)) => format!("timestamp({},{zone})", unit_text(*unit)),
        DataType::Duration(unit) => format!("duration({})", unit_text(*unit)),
        DataType::Interval(IntervalUnit::YearMonth) => "interval(year-month)".into(),
        DataType::Interval(IntervalUnit::DayTime) => "interval(day-time)".into(),
        DataType::Interval(IntervalUnit::MonthDayNano) => "interval(month-day-nano)".into(),
        DataType::List(item) | DataType::LargeList(item) | DataType::ListView(item) | DataType::LargeListView(item) => {
            format!("list({})", type_text(item.data_type()))
        }
        DataType::FixedSizeList(item, size) => format!("fixed-size-list({size},{})", type_text(item.data_type())),
        DataType::Struct(fields) => {
            let fields: Vec<_> = fields.iter().map(|field| named(field.name(), field.data_type())).collect();
            format!("struct({})", fields.join(","))
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else { return "map()".into() };
            let members: Vec<_> = fields.iter().map(|field| type_text(field.data_type())).collect();
            format!("map({})", members.join(","))
        }
        DataType::Union(fields, _) => {
            let member = |(id, field): (i8, &FieldRef)| format!("{id} {}", named(field.name(), field.data_type()));
            format!("union({})", fields.iter().map(member).collect::<Vec<_>>().join(","))
        }
        DataType::Dictionary(_, value) => type_text(value),
        DataType::RunEndEncoded(_, values) => type_text(values.data_type()),
    }
}

fn named(name: &str, data_type: &DataType) -> String {
    format!("{}:{name} {}", name.len(), type_text(data_type))
}

/// The type of a map's items.
pub(super) fn entries_text(key: &DataType, value: &DataType) -> String {
    format!("struct({},{})", named("key", key), named("value", value))
}

fn unit_text(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}
