//! Arbitrary Arrow types and arrays of every kind that crosses the boundary, for property tests.

use arrow::array::types::*;
use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Int32Type, TimeUnit, i256};
use proptest::prelude::*;
use std::sync::Arc;

/// SplitMix64: arrays are drawn from a seed, so that a failure shrinks to a small type, length and seed.
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// In 0..end; 0 if there is nothing to choose.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
    pub(super) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

fn units() -> impl Strategy<Value = TimeUnit> {
    prop_oneof![
        Just(TimeUnit::Second),
        Just(TimeUnit::Millisecond),
        Just(TimeUnit::Microsecond),
        Just(TimeUnit::Nanosecond)
    ]
}

fn leaves() -> impl Strategy<Value = DataType> {
    use DataType as T;
    let plain = proptest::sample::select(vec![
        T::Null,
        T::Boolean,
        T::Int8,
        T::Int16,
        T::Int32,
        T::Int64,
        T::UInt8,
        T::UInt16,
        T::UInt32,
        T::UInt64,
        T::Float16,
        T::Float32,
        T::Float64,
        T::Utf8,
        T::LargeUtf8,
        T::Binary,
        T::LargeBinary,
        T::Date32,
        T::Date64,
        T::Time32(TimeUnit::Second),
        T::Time32(TimeUnit::Millisecond),
        T::Time64(TimeUnit::Microsecond),
        T::Time64(TimeUnit::Nanosecond),
        T::Utf8View,
        T::BinaryView,
        T::Dictionary(Box::new(T::Int8), Box::new(T::Utf8)),
        T::Dictionary(Box::new(T::UInt32), Box::new(T::Int64)),
        T::RunEndEncoded(
            Arc::new(Field::new("run_ends", T::Int32, false)),
            Arc::new(Field::new("values", T::Utf8, true)),
        ),
    ]);
    prop_oneof![
        6 => plain,
        1 => (1u8..=38, -3i8..=10).prop_map(|(p, s)| T::Decimal128(p, s.min(p as i8))),
        1 => (1u8..=76, -3i8..=10).prop_map(|(p, s)| T::Decimal256(p, s.min(p as i8))),
        1 => (1u8..=9).prop_map(|p| T::Decimal32(p, 1)),
        1 => (1u8..=18).prop_map(|p| T::Decimal64(p, 1)),
        1 => (0i32..5).prop_map(T::FixedSizeBinary),
        1 => (units(), proptest::option::of(proptest::sample::select(vec!["+00:00", "Europe/Paris"])))
            .prop_map(|(unit, zone)| T::Timestamp(unit, zone.map(Arc::from))),
        1 => units().prop_map(T::Duration),
    ]
}

fn item(data_type: DataType, nullable: bool) -> FieldRef {
    // Nulls in a column that has no other values cannot be declared away.
    let nullable = nullable || data_type == DataType::Null;
    Arc::new(Field::new("item", data_type, nullable))
}

/// Types of any nesting, with those that the runner unpacks.
pub(super) fn data_types() -> impl Strategy<Value = DataType> {
    leaves().prop_recursive(3, 12, 3, |inner| {
        let child = || (inner.clone(), any::<bool>()).prop_map(|(data_type, nullable)| item(data_type, nullable));
        let members = proptest::collection::vec(child(), 0..3).prop_map(|members| {
            let named = members.iter().enumerate();
            named.map(|(i, field)| Arc::new(field.as_ref().clone().with_name(format!("m{i}")))).collect::<Fields>()
        });
        let entries =
            (proptest::sample::select(vec![DataType::Utf8, DataType::Int32]), child()).prop_map(|(key, value)| {
                let value = value.as_ref().clone().with_name("values");
                let members = vec![Field::new("keys", key, false), value];
                Arc::new(Field::new("entries", DataType::Struct(members.into()), false))
            });
        prop_oneof![
            child().prop_map(DataType::List),
            child().prop_map(DataType::LargeList),
            (child(), 1i32..4).prop_map(|(item, size)| DataType::FixedSizeList(item, size)),
            members.prop_map(DataType::Struct),
            (entries, any::<bool>()).prop_map(|(entries, sorted)| DataType::Map(entries, sorted)),
        ]
    })
}

/// An array of this type, often a slice of a longer one.
pub(super) fn array(draw: &mut Draw, data_type: &DataType, len: usize, nullable: bool) -> ArrayRef {
    if draw.chance(2) {
        return whole(draw, data_type, len, nullable);
    }
    let (before, after) = (draw.below(11), draw.below(5));
    whole(draw, data_type, before + len + after, nullable).slice(before, len)
}

fn validity(draw: &mut Draw, len: usize, nullable: bool) -> Option<NullBuffer> {
    let some = nullable && !draw.chance(3);
    some.then(|| (0..len).map(|_| !draw.chance(4)).collect::<Vec<bool>>().into())
}

fn offsets(draw: &mut Draw, len: usize) -> Vec<usize> {
    (0..len).map(|_| draw.below(4)).collect()
}

fn text(draw: &mut Draw) -> String {
    const PARTS: [&str; 6] = ["", "a", "zwölf", "日本", "🦀", "a text that is too long to be inlined in a view"];
    (0..draw.below(3)).map(|_| PARTS[draw.below(PARTS.len())]).collect()
}

fn blob(draw: &mut Draw) -> Vec<u8> {
    (0..draw.below(20)).map(|_| draw.next() as u8).collect()
}

fn primitive<T: ArrowPrimitiveType>(
    draw: &mut Draw,
    data_type: &DataType,
    len: usize,
    nullable: bool,
    value: impl Fn(u64) -> T::Native,
) -> ArrayRef {
    let values: Vec<T::Native> = (0..len).map(|_| value(draw.next())).collect();
    let nulls = validity(draw, len, nullable);
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls).with_data_type(data_type.clone()))
}

fn strings<O: OffsetSizeTrait>(draw: &mut Draw, len: usize, nullable: bool) -> ArrayRef {
    let nulls = validity(draw, len, nullable);
    let texts: Vec<String> = (0..len).map(|_| text(draw)).collect();
    let (offsets, values, _) = GenericStringArray::<O>::from_iter_values(texts).into_parts();
    // Texts stay behind the nulls.
    Arc::new(GenericStringArray::<O>::new(offsets, values, nulls))
}

fn binaries<O: OffsetSizeTrait>(draw: &mut Draw, len: usize, nullable: bool) -> ArrayRef {
    let nulls = validity(draw, len, nullable);
    let blobs: Vec<Vec<u8>> = (0..len).map(|_| blob(draw)).collect();
    let (offsets, values, _) = GenericBinaryArray::<O>::from_iter_values(blobs).into_parts();
    Arc::new(GenericBinaryArray::<O>::new(offsets, values, nulls))
}

fn list<O: OffsetSizeTrait>(draw: &mut Draw, item: &FieldRef, len: usize, nullable: bool) -> ArrayRef {
    let lengths = offsets(draw, len);
    let values = array(draw, item.data_type(), lengths.iter().sum(), item.is_nullable());
    let nulls = validity(draw, len, nullable);
    Arc::new(GenericListArray::<O>::new(item.clone(), OffsetBuffer::from_lengths(lengths), values, nulls))
}

fn map(draw: &mut Draw, entries: &FieldRef, sorted: bool, len: usize, nullable: bool) -> ArrayRef {
    let DataType::Struct(members) = entries.data_type() else { panic!("entries are a struct") };
    let lengths = offsets(draw, len);
    let total = lengths.iter().sum();
    let keys: ArrayRef = match members[0].data_type() {
        // Ascending over the whole array, hence within each map.
        DataType::Int32 if sorted => Arc::new(Int32Array::from_iter_values(0..total as i32)),
        _ if sorted => Arc::new(StringArray::from_iter_values((0..total).map(|i| format!("{i:06}")))),
        key => array(draw, key, total, false),
    };
    let values = array(draw, members[1].data_type(), total, members[1].is_nullable());
    let entry_rows = StructArray::new(members.clone(), vec![keys, values], None);
    let nulls = validity(draw, len, nullable);
    Arc::new(MapArray::new(entries.clone(), OffsetBuffer::from_lengths(lengths), entry_rows, nulls, sorted))
}

fn whole(draw: &mut Draw, data_type: &DataType, len: usize, nullable: bool) -> ArrayRef {
    use DataType as T;
    let digits = |precision: u8, max: u8| 10i128.pow(u32::from(precision.min(max)));
    match data_type {
        T::Null => Arc::new(NullArray::new(len)),
        T::Boolean => {
            let values: Vec<bool> = (0..len).map(|_| draw.chance(2)).collect();
            Arc::new(BooleanArray::new(values.into(), validity(draw, len, nullable)))
        }
        T::Int8 => primitive::<Int8Type>(draw, data_type, len, nullable, |v| v as i8),
        T::Int16 => primitive::<Int16Type>(draw, data_type, len, nullable, |v| v as i16),
        T::Int32 => primitive::<Int32Type>(draw, data_type, len, nullable, |v| v as i32),
        T::Int64 => primitive::<Int64Type>(draw, data_type, len, nullable, |v| v as i64),
        T::UInt8 => primitive::<UInt8Type>(draw, data_type, len, nullable, |v| v as u8),
        T::UInt16 => primitive::<UInt16Type>(draw, data_type, len, nullable, |v| v as u16),
        T::UInt32 => primitive::<UInt32Type>(draw, data_type, len, nullable, |v| v as u32),
        T::UInt64 => primitive::<UInt64Type>(draw, data_type, len, nullable, |v| v),
        T::Float16 => {
            let halves = array(draw, &T::Float32, len, nullable);
            cast(&halves, &T::Float16).expect("float32 to float16")
        }
        T::Float32 => primitive::<Float32Type>(draw, data_type, len, nullable, |v| f32::from_bits(v as u32)),
        T::Float64 => primitive::<Float64Type>(draw, data_type, len, nullable, f64::from_bits),
        T::Decimal32(p, _) => {
            let end = digits(*p, 9);
            primitive::<Decimal32Type>(draw, data_type, len, nullable, |v| (v as i128 % end) as i32)
        }
        T::Decimal64(p, _) => {
            let end = digits(*p, 18);
            primitive::<Decimal64Type>(draw, data_type, len, nullable, |v| -(v as i128 % end) as i64)
        }
        T::Decimal128(p, _) => {
            let end = digits(*p, 38);
            primitive::<Decimal128Type>(draw, data_type, len, nullable, |v| -(i128::from(v) * i128::from(v >> 2) % end))
        }
        T::Decimal256(p, _) => {
            let end = digits(*p, 38);
            primitive::<Decimal256Type>(draw, data_type, len, nullable, |v| i256::from_i128(i128::from(v) % end))
        }
        T::Date32 => primitive::<Date32Type>(draw, data_type, len, nullable, |v| v as i32),
        T::Date64 => primitive::<Date64Type>(draw, data_type, len, nullable, |v| v as i64),
        T::Time32(TimeUnit::Second) => primitive::<Time32SecondType>(draw, data_type, len, nullable, |v| v as i32),
        T::Time32(_) => primitive::<Time32MillisecondType>(draw, data_type, len, nullable, |v| v as i32),
        T::Time64(TimeUnit::Microsecond) => {
            primitive::<Time64MicrosecondType>(draw, data_type, len, nullable, |v| v as i64)
        }
        T::Time64(_) => primitive::<Time64NanosecondType>(draw, data_type, len, nullable, |v| v as i64),
        T::Timestamp(unit, _) => match unit {
            TimeUnit::Second => primitive::<TimestampSecondType>(draw, data_type, len, nullable, |v| v as i64),
            TimeUnit::Millisecond => {
                primitive::<TimestampMillisecondType>(draw, data_type, len, nullable, |v| v as i64)
            }
            TimeUnit::Microsecond => {
                primitive::<TimestampMicrosecondType>(draw, data_type, len, nullable, |v| v as i64)
            }
            TimeUnit::Nanosecond => primitive::<TimestampNanosecondType>(draw, data_type, len, nullable, |v| v as i64),
        },
        T::Duration(unit) => match unit {
            TimeUnit::Second => primitive::<DurationSecondType>(draw, data_type, len, nullable, |v| v as i64),
            TimeUnit::Millisecond => primitive::<DurationMillisecondType>(draw, data_type, len, nullable, |v| v as i64),
            TimeUnit::Microsecond => primitive::<DurationMicrosecondType>(draw, data_type, len, nullable, |v| v as i64),
            TimeUnit::Nanosecond => primitive::<DurationNanosecondType>(draw, data_type, len, nullable, |v| v as i64),
        },
        T::Utf8 => strings::<i32>(draw, len, nullable),
        T::LargeUtf8 => strings::<i64>(draw, len, nullable),
        T::Binary => binaries::<i32>(draw, len, nullable),
        T::LargeBinary => binaries::<i64>(draw, len, nullable),
        T::FixedSizeBinary(width) => {
            let values: Vec<u8> = (0..len * *width as usize).map(|_| draw.next() as u8).collect();
            let nulls = validity(draw, len, nullable);
            Arc::new(FixedSizeBinaryArray::try_new_with_len(*width, values.into(), nulls, len).expect("fixed width"))
        }
        T::Utf8View | T::Dictionary(..) | T::RunEndEncoded(..) | T::BinaryView => {
            let plain = super::types::unpacked(data_type).expect("a type that is unpacked");
            let plain = array(draw, &plain, len, nullable);
            // A dictionary of few keys cannot hold many values.
            match (data_type, cast(&plain, data_type)) {
                (_, Ok(packed)) => packed,
                (T::Dictionary(..), Err(_)) => cast(&NullArray::new(len), data_type).expect("nulls"),
                (_, Err(e)) => panic!("{data_type}: {e}"),
            }
        }
        T::List(item) => list::<i32>(draw, item, len, nullable),
        T::LargeList(item) => list::<i64>(draw, item, len, nullable),
        T::FixedSizeList(item, size) => {
            let values = array(draw, item.data_type(), len * *size as usize, item.is_nullable());
            let nulls = validity(draw, len, nullable);
            let array = FixedSizeListArray::try_new_with_length(item.clone(), *size, values, nulls, len);
            Arc::new(array.expect("fixed-size list"))
        }
        T::Struct(members) => {
            let columns = members.iter().map(|member| array(draw, member.data_type(), len, member.is_nullable()));
            let columns = columns.collect();
            let nulls = validity(draw, len, nullable);
            Arc::new(StructArray::try_new_with_length(members.clone(), columns, nulls, len).expect("struct"))
        }
        T::Map(entries, sorted) => map(draw, entries, *sorted, len, nullable),
        other => panic!("{other} is not drawn"),
    }
}

/// A batch of arbitrary columns named `c0`, `c1`, …
pub(super) fn batches(max_columns: usize, max_rows: usize) -> impl Strategy<Value = RecordBatch> {
    let columns = proptest::collection::vec((data_types(), any::<bool>()), 1..=max_columns);
    (columns, 0..=max_rows, any::<u64>()).prop_map(|(columns, rows, seed)| {
        let draw = &mut Draw::new(seed);
        let named = columns.into_iter().enumerate().map(|(i, (data_type, nullable))| {
            let nullable = nullable || data_type == DataType::Null;
            let column = array(draw, &data_type, rows, nullable);
            (Field::new(format!("c{i}"), data_type, nullable), column)
        });
        let (fields, columns): (Vec<_>, Vec<_>) = named.unzip();
        let schema = Arc::new(arrow::datatypes::Schema::new(fields));
        RecordBatch::try_new(schema, columns).expect("drawn columns make a batch")
    })
}
