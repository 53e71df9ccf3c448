//! Every type of the contract, read by its typed view and written by its typed builder, with nulls.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use gristmill_guest::testing::{Harness, Run, Table, Value};
use gristmill_guest::*;

/// Reads a column of a kind and writes it again.
struct Copied<K: Recopy> {
    column: In<K>,
    copy: Out<K>,
}

/// A kind whose values a test can move from a view to a builder.
trait Recopy: Kind {
    fn of(data_type: &DataType) -> Self;
    fn copy(column: Self::Column<'_>, builder: &mut Self::Builder);
}

impl<K: Recopy> Transform for Copied<K> {
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        let records = plan.output("records");
        let kind = K::of(&setup.input()[0].data_type);
        Ok(Self { column: plan.read("c")?, copy: plan.compute(records, "c", kind)? })
    }
    fn process(&self, batch: Batch, outputs: &mut Outputs) -> Result<(), Failure> {
        let mut copy = self.copy.builder(batch.rows());
        K::copy(batch.column(self.column), &mut copy);
        outputs.set(&self.copy, copy);
        Ok(())
    }
}

macro_rules! recopy {
    ($($kind:ty, |$of:pat_param| $make:expr);+ $(;)?) => {
        $(impl Recopy for $kind {
            fn of($of: &DataType) -> Self {
                $make
            }
            fn copy(column: Self::Column<'_>, builder: &mut Self::Builder) {
                column.iter().for_each(|value| builder.push_option(value));
            }
        })+
    };
}

fn unit(data_type: &DataType) -> TimeUnit {
    match data_type {
        DataType::Time32(unit) | DataType::Time64(unit) | DataType::Duration(unit) => *unit,
        other => panic!("{other} has no unit"),
    }
}

recopy! {
    Boolean, |_| Boolean;
    Int8, |_| Int8; Int16, |_| Int16; Int32, |_| Int32; Int64, |_| Int64;
    UInt8, |_| UInt8; UInt16, |_| UInt16; UInt32, |_| UInt32; UInt64, |_| UInt64;
    Float16, |_| Float16; Float32, |_| Float32; Float64, |_| Float64;
    Date32, |_| Date32; Date64, |_| Date64;
    Utf8, |_| Utf8; LargeUtf8, |_| LargeUtf8; Binary, |_| Binary; LargeBinary, |_| LargeBinary;
    FixedSizeBinary, |_| FixedSizeBinary(3);
    Decimal128, |_| Decimal128 { precision: 38, scale: 4 };
    Decimal256, |_| Decimal256 { precision: 76, scale: -2 };
    Time32, |of| Time32(unit(of));
    Time64, |of| Time64(unit(of));
    Duration, |of| Duration(unit(of));
    Timestamp, |of| match of {
        DataType::Timestamp { unit, zone } => Timestamp { unit: *unit, zone: zone.clone() },
        other => panic!("{other}"),
    };
}

impl Recopy for Null {
    fn of(_: &DataType) -> Self {
        Null
    }
    fn copy(column: Self::Column<'_>, builder: &mut Self::Builder) {
        (0..column.len()).filter(|i| column.is_null(*i)).for_each(|_| builder.push_null());
    }
}

impl Recopy for List<Utf8> {
    fn of(_: &DataType) -> Self {
        List(Utf8)
    }
    fn copy(column: Self::Column<'_>, builder: &mut Self::Builder) {
        for i in 0..column.len() {
            let Some(range) = column.get(i) else {
                builder.push_null();
                continue;
            };
            range.for_each(|item| builder.items().push_option(column.items().get(item)));
            builder.end_value();
        }
    }
}

impl Recopy for LargeList<List<Int16>> {
    fn of(_: &DataType) -> Self {
        LargeList(List(Int16))
    }
    fn copy(column: Self::Column<'_>, builder: &mut Self::Builder) {
        for i in 0..column.len() {
            let Some(lists) = column.get(i) else {
                builder.push_null();
                continue;
            };
            for list in lists {
                let items = builder.items();
                match column.items().get(list) {
                    Some(range) => {
                        range.for_each(|item| items.items().push_option(column.items().items().get(item)));
                        items.end_value();
                    }
                    None => items.push_null(),
                }
            }
            builder.end_value();
        }
    }
}

impl Recopy for FixedSizeList<Float64> {
    fn of(_: &DataType) -> Self {
        FixedSizeList(Float64, 2)
    }
    fn copy(column: Self::Column<'_>, builder: &mut Self::Builder) {
        assert_eq!(column.size(), 2);
        for i in 0..column.len() {
            let Some(range) = column.get(i) else {
                builder.push_null();
                continue;
            };
            range.for_each(|item| builder.items().push_option(column.items().get(item)));
            builder.end_value();
        }
    }
}

impl Recopy for Struct {
    fn of(data_type: &DataType) -> Self {
        Struct(data_type.children().to_vec())
    }
    fn copy(column: Self::Column<'_>, builder: &mut Self::Builder) {
        let (a, b) = (column.member::<Int32>("a").unwrap(), column.member::<Utf8>("b").unwrap());
        assert!(column.member::<Int64>("a").is_none() && column.member::<Int32>("z").is_none());
        let (mut copy_a, mut copy_b) = (Int32.builder(column.len()), Utf8.builder(column.len()));
        for i in 0..column.len() {
            copy_a.push_option(a.get(i));
            copy_b.push_option(b.get(i));
            if column.is_null(i) { builder.push_null() } else { builder.push_valid() }
        }
        builder.set_member(0, copy_a);
        builder.set_member(1, copy_b);
    }
}

impl Recopy for Map<Utf8, Int64> {
    fn of(_: &DataType) -> Self {
        Map(Utf8, Int64)
    }
    fn copy(column: Self::Column<'_>, builder: &mut Self::Builder) {
        for i in 0..column.len() {
            let Some(range) = column.get(i) else {
                builder.push_null();
                continue;
            };
            let (keys, values) = builder.entries();
            for entry in range {
                keys.push_option(column.keys().get(entry));
                values.push_option(column.values().get(entry));
            }
            builder.end_value();
        }
    }
}

fn run<T: Transform>(table: &Table) -> Run {
    Harness::new(Stage::Normalize).run::<T>(table).unwrap()
}

/// 23 rows of the values in turn, nulls at places that cross bytes of validity; then the same without any null.
fn check<K: Recopy>(data_type: DataType, values: Vec<Value>) {
    let name = data_type.to_string();
    assert!(values.len() > 1, "{name}: one value shows no order");
    for with_nulls in [true, false] {
        let cells = (0..23).map(|i| match with_nulls && i % 5 == 3 {
            true => Value::Null,
            false => values[i % values.len()].clone(),
        });
        let table = Table::new().field(Field::new("c", data_type.clone()), cells.collect::<Vec<_>>());
        assert_eq!(run::<Copied<K>>(&table).output("records"), &table, "{name}");
        let empty = table.take(&[]);
        assert_eq!(run::<Copied<K>>(&empty).output("records"), &empty, "{name} without rows");
    }
}

fn integers(values: &[i128]) -> Vec<Value> {
    values.iter().map(|value| Value::Integer(*value)).collect()
}
fn floats(values: &[f64]) -> Vec<Value> {
    values.iter().map(|value| Value::Float(*value)).collect()
}
fn texts() -> Vec<Value> {
    ["", "a", "été", "a long text that no small buffer holds"].map(Value::from).to_vec()
}
fn bytes() -> Vec<Value> {
    vec![Value::Bytes(vec![]), Value::Bytes(vec![0xff, 0]), Value::Bytes(vec![7; 40])]
}

#[test]
fn numbers() {
    check::<Int8>(DataType::Int8, integers(&[-128, 0, 127]));
    check::<Int16>(DataType::Int16, integers(&[i16::MIN.into(), 1, i16::MAX.into()]));
    check::<Int32>(DataType::Int32, integers(&[i32::MIN.into(), 1, i32::MAX.into()]));
    check::<Int64>(DataType::Int64, integers(&[i64::MIN.into(), 1, i64::MAX.into()]));
    check::<UInt8>(DataType::UInt8, integers(&[0, 255]));
    check::<UInt16>(DataType::UInt16, integers(&[0, u16::MAX.into()]));
    check::<UInt32>(DataType::UInt32, integers(&[0, u32::MAX.into()]));
    check::<UInt64>(DataType::UInt64, integers(&[0, u64::MAX.into()]));
    check::<Float16>(DataType::Float16, floats(&[-2.5, 0.0, 65504.0]));
    check::<Float32>(DataType::Float32, floats(&[-2.5, 0.0, f64::INFINITY]));
    check::<Float64>(DataType::Float64, floats(&[f64::MIN, 0.1, f64::MAX]));
    check::<Decimal128>(DataType::Decimal128 { precision: 38, scale: 4 }, integers(&[i128::MIN, 12_345, i128::MAX]));
    let mut wide = [0x11; 32];
    wide[31] = 0x7f;
    let wide = [Value::Wide(I256::from_le_bytes(wide)), Value::Integer(-5)];
    check::<Decimal256>(DataType::Decimal256 { precision: 76, scale: -2 }, wide.to_vec());
}

#[test]
fn booleans_and_nulls() {
    check::<Boolean>(DataType::Boolean, vec![true.into(), false.into(), true.into()]);
    check::<Null>(DataType::Null, vec![Value::Null, Value::Null]);
}

#[test]
fn times() {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let values = || integers(&[-1, 0, 1_000_000]);
    check::<Date32>(DataType::Date32, values());
    check::<Date64>(DataType::Date64, values());
    for unit in [Second, Millisecond] {
        check::<Time32>(DataType::Time32(unit), values());
    }
    for unit in [Microsecond, Nanosecond] {
        check::<Time64>(DataType::Time64(unit), values());
    }
    for unit in [Second, Millisecond, Microsecond, Nanosecond] {
        check::<Duration>(DataType::Duration(unit), values());
        check::<Timestamp>(DataType::Timestamp { unit, zone: None }, values());
        check::<Timestamp>(DataType::timestamp(unit, "Europe/Paris"), values());
    }
}

#[test]
fn texts_and_bytes() {
    check::<Utf8>(DataType::Utf8, texts());
    check::<LargeUtf8>(DataType::LargeUtf8, texts());
    check::<Binary>(DataType::Binary, bytes());
    check::<LargeBinary>(DataType::LargeBinary, bytes());
    check::<FixedSizeBinary>(DataType::FixedSizeBinary(3), vec![Value::Bytes(vec![1, 2, 3]), Value::Bytes(vec![0; 3])]);
}

#[test]
fn nested() {
    let list = |values: &[Value]| Value::List(values.to_vec());
    check::<List<Utf8>>(
        DataType::list(DataType::Utf8),
        vec![list(&texts()), list(&[]), list(&[Value::Null, "b".into()])],
    );
    let inner = DataType::list(DataType::Int16);
    let large = DataType::LargeList(Box::new(Field::new("item", inner)));
    let lists = [list(&[list(&integers(&[1, 2])), Value::Null, list(&[])]), list(&[]), list(&[list(&[Value::Null])])];
    check::<LargeList<List<Int16>>>(large, lists.to_vec());
    let pairs = DataType::FixedSizeList(Box::new(Field::new("item", DataType::Float64)), 2);
    check::<FixedSizeList<Float64>>(pairs, vec![list(&floats(&[1.0, 2.0])), list(&[Value::Null, 3.0.into()])]);
    let members = vec![Field::new("a", DataType::Int32), Field::new("b", DataType::Utf8)];
    let structs = [Value::Struct(vec![1.into(), "x".into()]), Value::Struct(vec![Value::Null, "y".into()])];
    check::<Struct>(DataType::Struct(members), structs.to_vec());
    let maps = [Value::Map(vec![("k".into(), 1.into()), ("l".into(), Value::Null)]), Value::Map(vec![])];
    check::<Map<Utf8, Int64>>(DataType::map(DataType::Utf8, DataType::Int64), maps.to_vec());
}

/// Moves every column through, untyped.
struct Moved(Vec<(In<Any>, Out<Any>)>);

impl Transform for Moved {
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        let records = plan.output("records");
        let column = |field: &Field| {
            let kind = Any(field.data_type.clone());
            Ok((plan.read(&field.name)?, plan.compute(records, &field.name, kind)?))
        };
        Ok(Self(setup.input().iter().map(column).collect::<Result<_, Failure>>()?))
    }
    fn process(&self, mut batch: Batch, outputs: &mut Outputs) -> Result<(), Failure> {
        for (read, column) in &self.0 {
            outputs.set_data(column, batch.take(*read));
        }
        Ok(())
    }
}

#[test]
fn columns_are_moved_through() {
    let table = Table::new()
        .column("t", DataType::Utf8, [Some("a"), None])
        .column("l", DataType::list(DataType::Int32), [Value::List(integers(&[1])), Value::Null])
        .column("n", DataType::Null, [Value::Null, Value::Null]);
    assert_eq!(run::<Moved>(&table).output("records"), &table);
}

#[test]
fn a_text_behind_a_null_need_not_be_utf8() {
    let mut table = Table::new().column("c", DataType::Utf8, ["ab", "cd"]);
    let mut data = table.array("c").to_data();
    data.buffers[0] = vec![0b10];
    data.buffers[2][..2].copy_from_slice(&[0xff, 0xfe]);
    data.nodes[0].null_count = 1;
    table = Table::new().data(Field::new("c", DataType::Utf8), data);
    assert_eq!(run::<Copied<Utf8>>(&table).output("records").values("c"), [Value::Null, "cd".into()]);
}
