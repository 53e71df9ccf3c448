//! Rows made from a formula: the same everywhere and for ever, for speed and for bulk.
//!
//! `H(stream, i)` is the finalizer of SplitMix64 over `stream × 0x9E3779B97F4A7C15 + i × 0xD1B54A32D192ED03`, wrapping. The
//! stream of a column is `seed × 65536 + its place × 256`, and that of a child is its parent's plus its place plus 1, × 3.
//! Value `i` of a column that may be null is null where `H(stream + 1, i)` is divisible by 10; else `h = H(stream, i)` gives
//!
//! | type | value |
//! |---|---|
//! | boolean | the lowest bit |
//! | integer | `h` cut to the type where `h` is divisible by 4, else `h ≫ 8` modulo 2000, minus 1000 (unsigned: not minus) |
//! | float | one of NaN, ∞, −∞, −0 where `h` is divisible by 64, else (`h ≫ 8` modulo 2000001 − 1000000) / 64 |
//! | decimal | ±(`h ≫ 8` modulo 10^min(digits, 18)); times a power of ten that fills the digits where `h` is divisible by 5 |
//! | text | of the column's `values` the one at `h` modulo their number; else up to three words of a list |
//! | binary | `h` modulo 16 bytes of `H(stream + 2, …)`; of a fixed size so many |
//! | date, time, timestamp | within 1913…2081, with a fraction of the second |
//! | duration | `h ≫ 20` |
//! | list, map | `h` modulo 4 items, which are values of the child's stream in order; keys of a map are `k0`, `k1`, … |
//!
//! Operations are update where `H(seed, i)` modulo 10 is 1, delete where it is 2, else insert.

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::*;
use arrow::error::ArrowError;
use gristmill_core::record::Operation;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is generated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    pub rows: usize,
    #[serde(default)]
    pub seed: u64,
    /// Texts of a column, by its name.
    #[serde(default)]
    pub values: BTreeMap<String, Vec<String>>,
}

const WORDS: [&str; 12] =
    ["north", " South", "Grün", "7 ", "ZÜRICH", "mill", "", "a-b", "Ωmega", "WHEAT", "  ", "grist"];

/// Rows of these columns, and their operations.
pub fn rows(generate: &Generate, schema: &SchemaRef) -> Result<(RecordBatch, UInt8Array), ArrowError> {
    let column = |(place, field): (usize, &FieldRef)| {
        let stream = generate.seed.wrapping_mul(65_536).wrapping_add(place as u64 * 256);
        match (generate.values.get(field.name()), field.data_type()) {
            (Some(values), DataType::Utf8) if !values.is_empty() => Ok(texts(values, field, stream, generate.rows)),
            _ => array(field, stream, generate.rows),
        }
    };
    let columns = schema.fields().iter().enumerate().map(column).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(generate.rows));
    let rows = RecordBatch::try_new_with_options(schema.clone(), columns, &options)?;
    let operation = |row: usize| match hash(generate.seed, row) % 10 {
        1 => Operation::Update,
        2 => Operation::Delete,
        _ => Operation::Insert,
    };
    let operations = (0..generate.rows).map(|row| operation(row).code()).collect::<Vec<_>>();
    Ok((rows, operations.into()))
}

fn hash(stream: u64, i: usize) -> u64 {
    let mut z = stream.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add((i as u64).wrapping_mul(0xd1b5_4a32_d192_ed03));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The values of one column, and which of them are null.
struct Column {
    stream: u64,
    nullable: bool,
    len: usize,
}

impl Column {
    fn is_null(&self, i: usize) -> bool {
        self.nullable && hash(self.stream + 1, i).is_multiple_of(10)
    }

    fn nulls(&self) -> Option<NullBuffer> {
        self.nullable.then(|| (0..self.len).map(|i| !self.is_null(i)).collect())
    }

    fn primitive<T: ArrowPrimitiveType>(&self, data_type: &DataType, value: impl Fn(u64) -> T::Native) -> ArrayRef {
        let values = (0..self.len).map(|i| (!self.is_null(i)).then(|| value(hash(self.stream, i))));
        let values: PrimitiveArray<T> = values.collect();
        Arc::new(values.with_data_type(data_type.clone()))
    }

    /// Up to 3 for each value, 0 for nulls.
    fn lengths(&self) -> Vec<usize> {
        (0..self.len).map(|i| if self.is_null(i) { 0 } else { (hash(self.stream, i) % 4) as usize }).collect()
    }

    fn bytes(&self, i: usize, len: usize) -> Vec<u8> {
        let pieces = (0..len.div_ceil(8)).flat_map(|piece| hash(self.stream + 2 + piece as u64, i).to_le_bytes());
        pieces.take(len).collect()
    }
}

fn signed(h: u64) -> i64 {
    if h.is_multiple_of(4) { h.cast_signed() } else { ((h >> 8) % 2000).cast_signed() - 1000 }
}

fn unsigned(h: u64) -> u64 {
    if h.is_multiple_of(4) { h } else { (h >> 8) % 2000 }
}

fn float(h: u64) -> f64 {
    match h % 64 {
        0 => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0][(h >> 8) as usize % 4],
        _ => (((h >> 8) % 2_000_001).cast_signed() - 1_000_000) as f64 / 64.0,
    }
}

/// Digits and a power of ten.
fn decimal(h: u64, precision: u8) -> (i64, u32) {
    let digits = u32::from(precision.min(18));
    let magnitude = ((h >> 8) % 10_u64.pow(digits)).cast_signed();
    let power = if h.is_multiple_of(5) { u32::from(precision) - digits } else { 0 };
    (if h & 2 == 0 { magnitude } else { -magnitude }, power)
}

/// Within 84 years of 1997.
fn seconds(h: u64) -> i64 {
    ((h >> 8) % 5_300_000_000).cast_signed() - 1_800_000_000
}

fn word_list(h: u64) -> String {
    (0..h % 4).map(|word| WORDS[(h >> (8 + 8 * word)) as usize % WORDS.len()]).collect::<Vec<_>>().join(" ")
}

fn texts(values: &[String], field: &Field, stream: u64, len: usize) -> ArrayRef {
    let column = Column { stream, nullable: field.is_nullable(), len };
    let value = |i| (!column.is_null(i)).then(|| values[(hash(stream, i) % values.len() as u64) as usize].as_str());
    Arc::new((0..len).map(value).collect::<StringArray>())
}

fn array(field: &Field, stream: u64, len: usize) -> Result<ArrayRef, ArrowError> {
    let t = field.data_type();
    let column = Column { stream, nullable: field.is_nullable(), len };
    let child = |place: u64| (stream + place + 1).wrapping_mul(3);
    let valid = |i: usize| !column.is_null(i);
    Ok(match t {
        DataType::Null => Arc::new(NullArray::new(len)),
        DataType::Boolean => {
            let values = (0..len).map(|i| valid(i).then(|| hash(stream, i) & 1 == 1));
            Arc::new(values.collect::<BooleanArray>())
        }
        DataType::Int8 => column.primitive::<Int8Type>(t, |h| signed(h) as i8),
        DataType::Int16 => column.primitive::<Int16Type>(t, |h| signed(h) as i16),
        DataType::Int32 => column.primitive::<Int32Type>(t, |h| signed(h) as i32),
        DataType::Int64 => column.primitive::<Int64Type>(t, signed),
        DataType::UInt8 => column.primitive::<UInt8Type>(t, |h| unsigned(h) as u8),
        DataType::UInt16 => column.primitive::<UInt16Type>(t, |h| unsigned(h) as u16),
        DataType::UInt32 => column.primitive::<UInt32Type>(t, |h| unsigned(h) as u32),
        DataType::UInt64 => column.primitive::<UInt64Type>(t, unsigned),
        DataType::Float16 => {
            type Half = <Float16Type as ArrowPrimitiveType>::Native;
            column.primitive::<Float16Type>(t, |h| Half::from_f64(float(h) / 256.0))
        }
        DataType::Float32 => column.primitive::<Float32Type>(t, |h| float(h) as f32),
        DataType::Float64 => column.primitive::<Float64Type>(t, float),
        DataType::Decimal128(precision, _) => column.primitive::<Decimal128Type>(t, |h| {
            let (digits, power) = decimal(h, *precision);
            i128::from(digits) * 10_i128.pow(power)
        }),
        DataType::Decimal256(precision, _) => column.primitive::<Decimal256Type>(t, |h| {
            let (digits, power) = decimal(h, *precision);
            (0..power).fold(i256::from_i128(digits.into()), |value, _| value.wrapping_mul(i256::from_i128(10)))
        }),
        DataType::Utf8 => {
            let values = (0..len).map(|i| valid(i).then(|| word_list(hash(stream, i))));
            Arc::new(values.collect::<StringArray>())
        }
        DataType::LargeUtf8 => {
            let values = (0..len).map(|i| valid(i).then(|| word_list(hash(stream, i))));
            Arc::new(values.collect::<LargeStringArray>())
        }
        DataType::Binary => {
            let values = (0..len).map(|i| valid(i).then(|| column.bytes(i, (hash(stream, i) % 16) as usize)));
            Arc::new(values.collect::<BinaryArray>())
        }
        DataType::LargeBinary => {
            let values = (0..len).map(|i| valid(i).then(|| column.bytes(i, (hash(stream, i) % 16) as usize)));
            Arc::new(values.collect::<LargeBinaryArray>())
        }
        DataType::FixedSizeBinary(width) => {
            let width_bytes = usize::try_from(*width).unwrap_or(0);
            let values = (0..len).map(|i| valid(i).then(|| column.bytes(i, width_bytes)));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, *width)?)
        }
        DataType::Date32 => column.primitive::<Date32Type>(t, |h| seconds(h).div_euclid(86_400) as i32),
        DataType::Date64 => column.primitive::<Date64Type>(t, |h| seconds(h).div_euclid(86_400) * 86_400_000),
        DataType::Time32(TimeUnit::Second) => column.primitive::<Time32SecondType>(t, |h| (h % 86_400) as i32),
        DataType::Time32(_) => column.primitive::<Time32MillisecondType>(t, |h| (h % 86_400_000) as i32),
        DataType::Time64(TimeUnit::Microsecond) => {
            column.primitive::<Time64MicrosecondType>(t, |h| (h % 86_400_000_000) as i64)
        }
        DataType::Time64(_) => column.primitive::<Time64NanosecondType>(t, |h| (h % 86_400_000_000_000) as i64),
        DataType::Timestamp(TimeUnit::Second, _) => column.primitive::<TimestampSecondType>(t, seconds),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            column.primitive::<TimestampMillisecondType>(t, |h| seconds(h) * 1_000 + (h % 1_000) as i64)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            column.primitive::<TimestampMicrosecondType>(t, |h| seconds(h) * 1_000_000 + (h % 1_000_000) as i64)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let nanos = |h: u64| seconds(h) * 1_000_000_000 + (h % 1_000_000_000) as i64;
            column.primitive::<TimestampNanosecondType>(t, nanos)
        }
        DataType::Duration(unit) => {
            let value = |h: u64| (h >> 20).cast_signed();
            match unit {
                TimeUnit::Second => column.primitive::<DurationSecondType>(t, value),
                TimeUnit::Millisecond => column.primitive::<DurationMillisecondType>(t, value),
                TimeUnit::Microsecond => column.primitive::<DurationMicrosecondType>(t, value),
                TimeUnit::Nanosecond => column.primitive::<DurationNanosecondType>(t, value),
            }
        }
        DataType::List(item) => {
            let lengths = column.lengths();
            let items = array(item, child(0), lengths.iter().sum())?;
            Arc::new(ListArray::try_new(item.clone(), OffsetBuffer::from_lengths(lengths), items, column.nulls())?)
        }
        DataType::LargeList(item) => {
            let lengths = column.lengths();
            let items = array(item, child(0), lengths.iter().sum())?;
            Arc::new(LargeListArray::try_new(item.clone(), OffsetBuffer::from_lengths(lengths), items, column.nulls())?)
        }
        DataType::FixedSizeList(item, size) => {
            let items = array(item, child(0), len * usize::try_from(*size).unwrap_or(0))?;
            Arc::new(FixedSizeListArray::try_new(item.clone(), *size, items, column.nulls())?)
        }
        DataType::Struct(fields) => {
            let members = fields.iter().zip(0..).map(|(member, place)| array(member, child(place), len));
            let members = members.collect::<Result<Vec<_>, _>>()?;
            Arc::new(StructArray::try_new_with_length(fields.clone(), members, column.nulls(), len)?)
        }
        DataType::Map(entries, sorted) => {
            let lengths = column.lengths();
            let total = lengths.iter().sum();
            let (DataType::Struct(fields), offsets) =
                (entries.data_type(), OffsetBuffer::from_lengths(lengths.clone()))
            else {
                return Err(ArrowError::SchemaError("the entries of a map are a struct".into()));
            };
            let keys = keys(fields[0].data_type(), &lengths)?;
            let values = array(&fields[1], child(1), total)?;
            let entries_array = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
            Arc::new(MapArray::try_new(entries.clone(), offsets, entries_array, column.nulls(), *sorted)?)
        }
        other => return Err(ArrowError::NotYetImplemented(format!("the contract has no type {other}"))),
    })
}

/// Keys of maps: distinct within each value.
fn keys(data_type: &DataType, lengths: &[usize]) -> Result<ArrayRef, ArrowError> {
    let places: Vec<usize> = lengths.iter().flat_map(|len| 0..*len).collect();
    let texts = StringArray::from_iter_values(places.iter().map(|place| format!("k{place}")));
    match data_type {
        DataType::Utf8 => Ok(Arc::new(texts)),
        other => {
            let numbers = Int64Array::new(ScalarBuffer::from_iter(places.iter().map(|place| *place as i64)), None);
            arrow::compute::cast(&numbers, other).or_else(|_| arrow::compute::cast(&texts, other))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::digest_outputs;
    use crate::schema::to_arrow;

    /// Stored digests stand on these rows.
    #[test]
    fn the_formula_is_fixed() {
        assert_eq!(hash(1, 2), 0x3c5b_6687_4b9e_8a84);
    }

    #[test]
    fn every_type_is_generated_and_the_same_each_time() {
        let schema = include_str!("../../../tests/conformance/cases/every-type.schema.json");
        let schema = to_arrow(&serde_json::from_str(schema).unwrap());
        let digest = |seed: u64| {
            let generate = Generate { rows: 300, seed, values: BTreeMap::new() };
            let (rows, operations) = rows(&generate, &schema).unwrap();
            let versions = BinaryArray::from_iter_values((0..300).map(|_| b""));
            digest_outputs([("a", &rows, &operations, &versions)].into_iter())
        };
        assert_eq!(digest(1), digest(1));
        assert_ne!(digest(1), digest(2));
    }

    #[test]
    fn texts_come_from_the_list_that_is_given() {
        let schema = Arc::new(Schema::new(vec![Field::new("t", DataType::Utf8, false)]));
        let values = BTreeMap::from([("t".to_owned(), vec!["x".to_owned(), "y".to_owned()])]);
        let (rows, operations) = rows(&Generate { rows: 100, seed: 1, values }, &schema).unwrap();
        let texts = rows.column(0).as_string::<i32>();
        assert!(texts.iter().all(|text| matches!(text, Some("x" | "y"))));
        assert!(operations.values().iter().any(|code| *code == Operation::Delete.code()));
    }
}
