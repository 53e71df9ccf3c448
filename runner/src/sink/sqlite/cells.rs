//! Arrow columns as SQLite values.
//!
//! | Arrow | SQLite |
//! |---|---|
//! | boolean, integers up to 63 bits, durations (in their unit) | INTEGER |
//! | uint64 | INTEGER; from 2^63 on TEXT of 20 digits, which sorts after every INTEGER and in order |
//! | floats | REAL; NaN becomes NULL, which is how SQLite stores it |
//! | text | TEXT |
//! | binary | BLOB |
//! | decimals | TEXT, exact, with all digits of their scale |
//! | dates | TEXT `YYYY-MM-DD` |
//! | times, timestamps | TEXT in ISO 8601 with the digits of their unit; timestamps with a zone in UTC with `Z` |
//! | lists, structs, maps | TEXT, JSON |

use super::text::{LastDay, push_decimal, push_time, push_timestamp};
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray,
    LargeBinaryArray, LargeStringArray, StringArray, StringViewArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::*;
use arrow::error::ArrowError;
use arrow::json::writer::{EncoderOptions, NullableEncoder, make_encoder};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::io::Write as _;

/// How SQLite keeps a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    Integer,
    /// INTEGER, or TEXT where 64 bits are not enough.
    WideInteger,
    Real,
    Text,
    /// Text that never looks like a number.
    Moment,
    Json,
    Blob,
    /// Nothing but NULL.
    Nothing,
}

impl Storage {
    /// None: a type that this sink does not store.
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
        use DataType as T;
        Some(match data_type {
            T::Null => Self::Nothing,
            T::Boolean | T::Int8 | T::Int16 | T::Int32 | T::Int64 => Self::Integer,
            T::UInt8 | T::UInt16 | T::UInt32 | T::Duration(_) => Self::Integer,
            T::UInt64 => Self::WideInteger,
            T::Float16 | T::Float32 | T::Float64 => Self::Real,
            T::Utf8 | T::LargeUtf8 | T::Utf8View => Self::Text,
            T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..) | T::Decimal256(..) => Self::Text,
            T::Date32 | T::Date64 | T::Time32(_) | T::Time64(_) | T::Timestamp(..) => Self::Moment,
            T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => Self::Blob,
            T::List(_) | T::LargeList(_) | T::FixedSizeList(..) | T::Struct(_) | T::Map(..) => Self::Json,
            T::Dictionary(_, value) => return Self::of(value),
            T::ListView(_) | T::LargeListView(_) | T::Interval(_) | T::Union(..) | T::RunEndEncoded(..) => return None,
        })
    }

    /// The type in CREATE TABLE. A column without a type keeps what it is given.
    pub(super) fn declared(self) -> &'static str {
        match self {
            Self::Integer => " INTEGER",
            Self::Real => " REAL",
            Self::Text | Self::Moment | Self::Json => " TEXT",
            Self::Blob => " BLOB",
            Self::WideInteger | Self::Nothing => "",
        }
    }

    /// Whether two values are equal exactly when SQLite says so.
    pub(super) fn can_identify(self) -> bool {
        !matches!(self, Self::Real | Self::Json | Self::Nothing)
    }
}

/// An array without dictionary encoding.
pub(super) fn plain(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Dictionary(_, value) => cast(array, value),
        _ => Ok(array.clone()),
    }
}

/// One column, downcast once.
pub(super) struct Cells<'a> {
    nulls: Option<&'a NullBuffer>,
    values: Values<'a>,
}

enum Values<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    UInt8(&'a [u8]),
    UInt16(&'a [u16]),
    UInt32(&'a [u32]),
    UInt64(&'a [u64]),
    Half(&'a [<Float16Type as ArrowPrimitiveType>::Native]),
    Single(&'a [f32]),
    Double(&'a [f64]),
    Text(&'a StringArray),
    LargeText(&'a LargeStringArray),
    TextView(&'a StringViewArray),
    Blob(&'a BinaryArray),
    LargeBlob(&'a LargeBinaryArray),
    BlobView(&'a BinaryViewArray),
    FixedBlob(&'a FixedSizeBinaryArray),
    Date32(&'a [i32], LastDay),
    Date64(&'a [i64], LastDay),
    Time32(&'a [i32], TimeUnit),
    Time64(&'a [i64], TimeUnit),
    Timestamp { values: &'a [i64], unit: TimeUnit, utc: bool, last: LastDay },
    Decimal32(&'a [i32], i8),
    Decimal64(&'a [i64], i8),
    Decimal128(&'a [i128], i8),
    Decimal256(&'a [arrow::datatypes::i256], i8),
    Json(NullableEncoder<'a>),
}

/// Buffers that texts are written into, kept from value to value.
#[derive(Default)]
pub(super) struct Scratch {
    text: Vec<u8>,
    digits: Vec<u8>,
}

impl<'a> Cells<'a> {
    /// `field` and `options` serve nested types. The array is [`plain`].
    pub(super) fn of(
        field: &'a FieldRef,
        array: &'a ArrayRef,
        options: &'a EncoderOptions,
    ) -> Result<Self, ArrowError> {
        Ok(Self { nulls: array.nulls(), values: Values::of(field, array, options)? })
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row)) || matches!(self.values, Values::Null)
    }

    /// The value of a row, borrowed from the array or written into `scratch`.
    pub(super) fn get<'s>(&'s mut self, row: usize, scratch: &'s mut Scratch) -> Bound<'s> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Bound(ValueRef::Null);
        }
        Bound(self.values.get(row, scratch))
    }
}

impl<'a> Values<'a> {
    fn of(field: &'a FieldRef, array: &'a ArrayRef, options: &'a EncoderOptions) -> Result<Self, ArrowError> {
        fn slice<T: ArrowPrimitiveType>(array: &ArrayRef) -> &[T::Native] {
            array.as_primitive::<T>().values()
        }
        Ok(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean(array.as_boolean()),
            DataType::Int8 => Self::Int8(slice::<Int8Type>(array)),
            DataType::Int16 => Self::Int16(slice::<Int16Type>(array)),
            DataType::Int32 => Self::Int32(slice::<Int32Type>(array)),
            DataType::Int64 => Self::Int64(slice::<Int64Type>(array)),
            DataType::UInt8 => Self::UInt8(slice::<UInt8Type>(array)),
            DataType::UInt16 => Self::UInt16(slice::<UInt16Type>(array)),
            DataType::UInt32 => Self::UInt32(slice::<UInt32Type>(array)),
            DataType::UInt64 => Self::UInt64(slice::<UInt64Type>(array)),
            DataType::Duration(TimeUnit::Second) => Self::Int64(slice::<DurationSecondType>(array)),
            DataType::Duration(TimeUnit::Millisecond) => Self::Int64(slice::<DurationMillisecondType>(array)),
            DataType::Duration(TimeUnit::Microsecond) => Self::Int64(slice::<DurationMicrosecondType>(array)),
            DataType::Duration(TimeUnit::Nanosecond) => Self::Int64(slice::<DurationNanosecondType>(array)),
            DataType::Float16 => Self::Half(slice::<Float16Type>(array)),
            DataType::Float32 => Self::Single(slice::<Float32Type>(array)),
            DataType::Float64 => Self::Double(slice::<Float64Type>(array)),
            DataType::Utf8 => Self::Text(array.as_string()),
            DataType::LargeUtf8 => Self::LargeText(array.as_string()),
            DataType::Utf8View => Self::TextView(array.as_string_view()),
            DataType::Binary => Self::Blob(array.as_binary()),
            DataType::LargeBinary => Self::LargeBlob(array.as_binary()),
            DataType::BinaryView => Self::BlobView(array.as_binary_view()),
            DataType::FixedSizeBinary(_) => Self::FixedBlob(array.as_fixed_size_binary()),
            DataType::Date32 => Self::Date32(slice::<Date32Type>(array), LastDay::default()),
            DataType::Date64 => Self::Date64(slice::<Date64Type>(array), LastDay::default()),
            DataType::Time32(TimeUnit::Second) => Self::Time32(slice::<Time32SecondType>(array), TimeUnit::Second),
            DataType::Time32(unit) => Self::Time32(slice::<Time32MillisecondType>(array), *unit),
            DataType::Time64(TimeUnit::Microsecond) => {
                Self::Time64(slice::<Time64MicrosecondType>(array), TimeUnit::Microsecond)
            }
            DataType::Time64(unit) => Self::Time64(slice::<Time64NanosecondType>(array), *unit),
            DataType::Timestamp(unit, zone) => {
                let values = match unit {
                    TimeUnit::Second => slice::<TimestampSecondType>(array),
                    TimeUnit::Millisecond => slice::<TimestampMillisecondType>(array),
                    TimeUnit::Microsecond => slice::<TimestampMicrosecondType>(array),
                    TimeUnit::Nanosecond => slice::<TimestampNanosecondType>(array),
                };
                Self::Timestamp { values, unit: *unit, utc: zone.is_some(), last: LastDay::default() }
            }
            DataType::Decimal32(_, scale) => Self::Decimal32(slice::<Decimal32Type>(array), *scale),
            DataType::Decimal64(_, scale) => Self::Decimal64(slice::<Decimal64Type>(array), *scale),
            DataType::Decimal128(_, scale) => Self::Decimal128(slice::<Decimal128Type>(array), *scale),
            DataType::Decimal256(_, scale) => Self::Decimal256(slice::<Decimal256Type>(array), *scale),
            _ => Self::Json(make_encoder(field, array, options)?),
        })
    }

    fn get<'s>(&'s mut self, row: usize, scratch: &'s mut Scratch) -> ValueRef<'s> {
        use ValueRef::{Blob, Integer, Null, Real};
        match self {
            Self::Null => Null,
            Self::Boolean(array) => Integer(i64::from(array.value(row))),
            Self::Int8(values) => Integer(values[row].into()),
            Self::Int16(values) => Integer(values[row].into()),
            Self::Int32(values) => Integer(values[row].into()),
            Self::Int64(values) => Integer(values[row]),
            Self::UInt8(values) => Integer(values[row].into()),
            Self::UInt16(values) => Integer(values[row].into()),
            Self::UInt32(values) => Integer(values[row].into()),
            Self::UInt64(values) => match i64::try_from(values[row]) {
                Ok(value) => Integer(value),
                Err(_) => scratch.text(|text| {
                    let _ = write!(text, "{:020}", values[row]);
                }),
            },
            Self::Half(values) => Real(values[row].to_f64()),
            Self::Single(values) => Real(values[row].into()),
            Self::Double(values) => Real(values[row]),
            Self::Text(array) => ValueRef::Text(array.value(row).as_bytes()),
            Self::LargeText(array) => ValueRef::Text(array.value(row).as_bytes()),
            Self::TextView(array) => ValueRef::Text(array.value(row).as_bytes()),
            Self::Blob(array) => Blob(array.value(row)),
            Self::LargeBlob(array) => Blob(array.value(row)),
            Self::BlobView(array) => Blob(array.value(row)),
            Self::FixedBlob(array) => Blob(array.value(row)),
            Self::Date32(values, last) => scratch.text(|text| last.push(values[row].into(), text)),
            Self::Date64(values, last) => scratch.text(|text| last.push(values[row].div_euclid(86_400_000), text)),
            Self::Time32(values, unit) => scratch.text(|text| push_time(values[row].into(), *unit, text)),
            Self::Time64(values, unit) => scratch.text(|text| push_time(values[row], *unit, text)),
            Self::Timestamp { values, unit, utc, last } => {
                scratch.text(|text| push_timestamp(values[row], *unit, *utc, last, text))
            }
            Self::Decimal32(values, scale) => scratch.decimal(&values[row], *scale),
            Self::Decimal64(values, scale) => scratch.decimal(&values[row], *scale),
            Self::Decimal128(values, scale) => scratch.decimal(&values[row], *scale),
            Self::Decimal256(values, scale) => scratch.decimal(&values[row], *scale),
            Self::Json(encoder) => scratch.text(|text| encoder.encode(row, text)),
        }
    }
}

impl Scratch {
    fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> ValueRef<'_> {
        self.text.clear();
        write(&mut self.text);
        ValueRef::Text(&self.text)
    }

    fn decimal(&mut self, unscaled: &impl std::fmt::Display, scale: i8) -> ValueRef<'_> {
        self.digits.clear();
        self.text.clear();
        let _ = write!(self.digits, "{unscaled}");
        push_decimal(str::from_utf8(&self.digits).unwrap_or_default(), scale, &mut self.text);
        ValueRef::Text(&self.text)
    }
}

/// A value that is bound without a copy on our side.
pub(super) struct Bound<'a>(pub ValueRef<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(self.0))
    }
}
