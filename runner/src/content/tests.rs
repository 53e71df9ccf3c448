use super::column::NULL_KEY;
use super::*;
use arrow::array::*;
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Fields, Int32Type, Schema};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<_> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

fn digest(rows: &RecordBatch) -> Digest {
    let operations = UInt8Array::from(vec![0; rows.num_rows()]);
    let versions = BinaryArray::from_iter_values((0..rows.num_rows()).map(|row| row.to_be_bytes()));
    digest_outputs(std::iter::once(("records", rows, &operations, &versions)))
}

fn same(a: &RecordBatch, b: &RecordBatch) {
    assert_eq!(row_hashes(a), row_hashes(b));
    assert_eq!(digest(a), digest(b));
}

fn hash_of(array: impl Array + 'static) -> u64 {
    row_hashes(&batch(vec![("c", Arc::new(array))])).value(0)
}

#[test]
fn row_hashes_follow_the_table() {
    assert_eq!(NULL_KEY, xxh3_64(b"null"));
    let start = xxh3_64(b"gristmill/row/1");
    let step = |hash: u64, type_text: &str, bytes: &[u8]| {
        xxh3_64_with_seed(bytes, hash.wrapping_add(xxh3_64(type_text.as_bytes())))
    };
    assert_eq!(hash_of(Int32Array::from(vec![7])), step(start, "int32", &7_i32.to_le_bytes()));
    assert_eq!(hash_of(Int32Array::from(vec![None])), step(start, "null", b""));
    assert_eq!(hash_of(NullArray::new(1)), step(start, "null", b""));
    assert_eq!(hash_of(BooleanArray::from(vec![true])), step(start, "boolean", &[1]));
    assert_eq!(hash_of(StringArray::from(vec!["ab"])), step(start, "utf8", b"ab"));

    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None])]);
    let items = step(start, "list(int32)", &2_u64.to_le_bytes());
    let expected = step(step(items, "int32", &1_i32.to_le_bytes()), "null", b"");
    assert_eq!(hash_of(list), expected);

    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("k");
    map.values().append_value(1);
    map.append(true).unwrap();
    let entry = step(step(start, "map(utf8,int32)", &1_u64.to_le_bytes()), "struct(3:key utf8,5:value int32)", &[1]);
    assert_eq!(hash_of(map.finish()), step(step(entry, "utf8", b"k"), "int32", &1_i32.to_le_bytes()));
}

#[test]
fn digests_follow_the_table() {
    let rows = batch(vec![
        ("n", Arc::new(Int16Array::from(vec![Some(1), None, Some(-1)]))),
        ("t", Arc::new(StringArray::from(vec![Some("ab"), Some(""), None]))),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), Some(true)]))),
        ("z", Arc::new(NullArray::new(3))),
    ]);
    let operations = UInt8Array::from(vec![0, 1, 2]);
    let versions = BinaryArray::from(vec![&b"v1"[..], b"v2", b"v"]);
    let mut bytes = Vec::new();
    let output = ("out", &rows, &operations, &versions);
    encode_outputs(std::iter::once(output), &mut |piece| bytes.extend_from_slice(piece));

    let mut expected = b"gristmill/rows/1\x01\x03out\x04".to_vec();
    expected.extend_from_slice(b"\x01n\x05int16\x01t\x04utf8\x01b\x07boolean\x01z\x04null");
    expected.push(3);
    expected.extend_from_slice(&[0, 0, 1, 2]);
    expected.extend_from_slice(b"\x00\x02\x02\x01v1v2v");
    expected.extend_from_slice(&[1, 0b101, 1, 0, 255, 255]);
    expected.extend_from_slice(&[1, 0b011, 2, 0, b'a', b'b']);
    expected.extend_from_slice(&[0, 0b101]);
    expected.push(0);
    assert_eq!(bytes, expected);
}

/// One column of every type that a contract may carry.
pub(crate) fn wide() -> RecordBatch {
    let ints: ArrayRef = Arc::new(Int64Array::from(vec![Some(0), Some(1), None, Some(86_399)]));
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    let mut add = |array: ArrayRef| columns.push((format!("c{}", columns.len()), array));
    use arrow::datatypes::TimeUnit::*;
    for data_type in [
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::UInt64,
        DataType::Float16,
        DataType::Float32,
        DataType::Float64,
        DataType::Decimal128(20, 2),
        DataType::Decimal256(40, 3),
        DataType::Date32,
        DataType::Date64,
        DataType::Time32(Second),
        DataType::Time32(Millisecond),
        DataType::Time64(Microsecond),
        DataType::Time64(Nanosecond),
        DataType::Timestamp(Second, None),
        DataType::Timestamp(Millisecond, None),
        DataType::Timestamp(Microsecond, Some("UTC".into())),
        DataType::Timestamp(Nanosecond, Some("+01:00".into())),
        DataType::Duration(Microsecond),
        DataType::Boolean,
        DataType::Utf8,
    ] {
        // A step through int32 serves the types that Arrow does not cast from 64 bits; too large becomes null.
        let from = if cast(&ints, &data_type).is_ok() { ints.clone() } else { cast(&ints, &DataType::Int32).unwrap() };
        add(cast(&from, &data_type).unwrap());
    }
    add(Arc::new(NullArray::new(4)));
    add(Arc::new(BinaryArray::from(vec![Some(&b"\x00\xff"[..]), Some(b""), None, Some(b"x")])));
    let pairs = [Some([1_u8, 2]), None, Some([3, 4]), Some([0, 0])];
    add(Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(pairs.into_iter(), 2).unwrap()));
    let list = [Some(vec![Some(1), None]), None, Some(vec![]), Some(vec![Some(3)])];
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(list);
    add(Arc::new(StructArray::from(vec![
        (Arc::new(Field::new("l", list.data_type().clone(), true)), Arc::new(list.clone()) as ArrayRef),
        (Arc::new(Field::new("t", DataType::Utf8, true)), cast(&ints, &DataType::Utf8).unwrap()),
    ])));
    add(Arc::new(list));
    let pairs = vec![Some(vec![Some(1), None]), None, Some(vec![Some(5), Some(6)]), Some(vec![None, None])];
    add(Arc::new(FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(pairs, 2)));
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for (key, value) in [("a", Some(1)), ("b", None)] {
        map.keys().append_value(key);
        map.values().append_option(value);
        map.append(true).unwrap();
    }
    map.append(false).unwrap();
    map.append(true).unwrap();
    add(Arc::new(map.finish()));
    batch(columns.iter().map(|(name, array)| (name.as_str(), array.clone())).collect())
}

/// Kept in every receipt and target row: a change of these values would make every stored one incomparable.
#[test]
fn golden() {
    let rows = wide();
    let hashes: Vec<String> = row_hashes(&rows).values().iter().map(|hash| format!("{hash:016x}")).collect();
    assert_eq!(hashes.join(" "), "0f086445424dac84 9ff71574b0d62c5a 3d5839d0300afefe 7a0f728d9b744221");
    let expected = "sha256:aca1c02a885807e174e0897b9bc57e239e3ac002b1f7ba34da35048d11f60c20";
    assert_eq!(digest(&rows).to_string(), expected);
}

#[test]
fn slices_and_concatenations_do_not_matter() {
    let rows = wide();
    let doubled = concat_batches(rows.schema_ref(), [&rows, &rows]).unwrap();
    same(&doubled.slice(4, 4), &rows);
    for from in 0..4 {
        for len in 0..=4 - from {
            let slice = rows.slice(from, len);
            let copied = concat_batches(rows.schema_ref(), [&slice]).unwrap();
            same(&slice, &copied);
            same(&slice, &doubled.slice(from + 4, len));
            assert_eq!(row_hashes(&slice).values()[..], row_hashes(&rows).values()[from..from + len]);
        }
    }
}

#[test]
fn content_behind_a_null_does_not_matter() {
    let nulls = NullBuffer::from(vec![true, false, true, false]);
    let list = |values: Vec<i32>, offsets: Vec<i32>| {
        let field = Arc::new(Field::new("any name", DataType::Int32, true));
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        ListArray::new(field, offsets, Arc::new(Int32Array::from(values)), Some(nulls.clone()))
    };
    let text = |bytes: &[u8], offsets: Vec<i32>| {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        StringArray::new(offsets, Buffer::from(bytes), Some(nulls.clone()))
    };
    let members = |garbage: i32| {
        let fields = Fields::from(vec![Field::new("m", DataType::Int32, true)]);
        let array = Int32Array::from(vec![Some(1), Some(garbage), None, None]);
        StructArray::new(fields, vec![Arc::new(array)], Some(nulls.clone()))
    };
    let rows = |array: [ArrayRef; 5]| batch(["a", "b", "c", "d", "e"].into_iter().zip(array).collect());
    let clean = rows([
        Arc::new(Int32Array::new(vec![1, 0, 2, 0].into(), Some(nulls.clone()))),
        Arc::new(text(b"xy", vec![0, 1, 1, 2, 2])),
        Arc::new(list(vec![7, 8], vec![0, 1, 1, 2, 2])),
        Arc::new(members(0)),
        Arc::new(Float64Array::from(vec![f64::NAN, 1.0, 0.0, -0.0])),
    ]);
    let dirty = rows([
        Arc::new(Int32Array::new(vec![1, 99, 2, -99].into(), Some(nulls.clone()))),
        Arc::new(text(b"x???y!", vec![0, 1, 4, 5, 6])),
        Arc::new(list(vec![7, 5, 5, 8, 5], vec![0, 1, 3, 4, 5])),
        Arc::new(members(99)),
        Arc::new(Float64Array::from(vec![f64::from_bits(0xfff8_0000_0000_0123), 1.0, 0.0, -0.0])),
    ]);
    same(&clean, &dirty);
}

#[test]
fn the_layout_does_not_matter() {
    let text: ArrayRef =
        Arc::new(StringArray::from(vec![Some("a"), None, Some("a longer text, not inlined"), Some("")]));
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
        Some(vec![Some(2)]),
    ]));
    let item = || Arc::new(Field::new("element", DataType::Int32, true));
    let dictionary = |key| DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
    let bytes = cast(&text, &DataType::Binary).unwrap();
    let cases = [
        (
            &text,
            vec![DataType::LargeUtf8, DataType::Utf8View, dictionary(DataType::Int8), dictionary(DataType::UInt64)],
        ),
        (&bytes, vec![DataType::LargeBinary, DataType::BinaryView]),
        (&list, vec![DataType::LargeList(item()), DataType::ListView(item()), DataType::LargeListView(item())]),
    ];
    for (plain, layouts) in cases {
        for layout in layouts {
            let other = cast(plain, &layout).unwrap();
            same(&batch(vec![("c", plain.clone())]), &batch(vec![("c", other.clone())]));
            same(&batch(vec![("c", plain.slice(1, 3))]), &batch(vec![("c", other.slice(1, 3))]));
        }
    }
    let runs =
        RunArray::<Int32Type>::try_new(&Int32Array::from(vec![2, 3]), &StringArray::from(vec!["x", "y"])).unwrap();
    let plain: ArrayRef = Arc::new(StringArray::from(vec!["x", "x", "y"]));
    let runs: ArrayRef = Arc::new(runs);
    same(&batch(vec![("c", plain.slice(1, 2))]), &batch(vec![("c", runs.slice(1, 2))]));
}

#[test]
fn unions_tell_their_members_apart() {
    let union = |type_ids: Vec<i8>| {
        let fields = [
            (3, Arc::new(Field::new("i", DataType::Int32, true))),
            (5, Arc::new(Field::new("j", DataType::Int32, true))),
        ];
        let children: Vec<ArrayRef> =
            vec![Arc::new(Int32Array::from(vec![1, 1])), Arc::new(Int32Array::from(vec![1, 1]))];
        let array = UnionArray::try_new(fields.into_iter().collect(), type_ids.into(), None, children).unwrap();
        batch(vec![("u", Arc::new(array))])
    };
    same(&union(vec![3, 5]), &union(vec![3, 5]));
    assert_ne!(digest(&union(vec![3, 5])), digest(&union(vec![5, 3])));
    assert_ne!(row_hashes(&union(vec![3, 5])), row_hashes(&union(vec![5, 3])));
}

#[test]
fn what_a_row_says_matters() {
    let one = |array: ArrayRef| batch(vec![("c", array)]);
    let pairs: [(ArrayRef, ArrayRef); 6] = [
        (Arc::new(StringArray::from(vec![Some("")])), Arc::new(StringArray::from(vec![None::<&str>]))),
        (Arc::new(Float64Array::from(vec![0.0])), Arc::new(Float64Array::from(vec![-0.0]))),
        (Arc::new(Int32Array::from(vec![1])), Arc::new(Int64Array::from(vec![1]))),
        (Arc::new(StringArray::from(vec!["1"])), Arc::new(BinaryArray::from(vec![&b"1"[..]]))),
        (
            Arc::new(Decimal128Array::from(vec![1]).with_precision_and_scale(10, 1).unwrap()),
            Arc::new(Decimal128Array::from(vec![1]).with_precision_and_scale(10, 2).unwrap()),
        ),
        (
            Arc::new(TimestampSecondArray::from(vec![1])),
            Arc::new(TimestampSecondArray::from(vec![1]).with_timezone("UTC")),
        ),
    ];
    for (a, b) in pairs {
        assert_ne!(row_hashes(&one(a.clone())), row_hashes(&one(b.clone())), "{a:?} {b:?}");
        assert_ne!(digest(&one(a)), digest(&one(b)));
    }
    let rows = one(Arc::new(Int32Array::from(vec![1])));
    let (insert, delete) = (UInt8Array::from(vec![0]), UInt8Array::from(vec![2]));
    let (first, second) = (BinaryArray::from(vec![&b"1"[..]]), BinaryArray::from(vec![&b"2"[..]]));
    let of = |name, operations, versions| digest_outputs(std::iter::once((name, &rows, operations, versions)));
    let base = of("a", &insert, &first);
    assert_ne!(base, of("b", &insert, &first));
    assert_ne!(base, of("a", &delete, &first));
    assert_ne!(base, of("a", &insert, &second));
    assert_ne!(base, digest_outputs([("a", &rows, &insert, &first), ("a", &rows, &insert, &first)].into_iter()));
}

type Row = (Option<i64>, Option<String>, Option<f32>, Option<bool>, Option<Vec<Option<i32>>>);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (
        any::<Option<i64>>(),
        any::<Option<String>>(),
        any::<Option<f32>>(),
        any::<Option<bool>>(),
        any::<Option<Vec<Option<i32>>>>(),
    );
    prop::collection::vec(row, 0..40)
}

fn built(rows: &[Row]) -> RecordBatch {
    batch(vec![
        ("i", Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>())),
        ("t", Arc::new(rows.iter().map(|row| row.1.as_deref()).collect::<StringArray>())),
        ("f", Arc::new(rows.iter().map(|row| row.2).collect::<Float32Array>())),
        ("b", Arc::new(rows.iter().map(|row| row.3).collect::<BooleanArray>())),
        ("l", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows.iter().map(|row| row.4.clone())))),
    ])
}

proptest! {
    #[test]
    fn any_cut_says_the_same(rows in rows(), from in 0_usize..40, to in 0_usize..40) {
        let (from, to) = (from.min(rows.len()), to.min(rows.len()));
        let range = from.min(to)..from.max(to);
        let (cut, fresh) = (built(&rows).slice(range.start, range.len()), built(&rows[range]));
        prop_assert_eq!(row_hashes(&cut), row_hashes(&fresh));
        prop_assert_eq!(digest(&cut), digest(&fresh));
    }

    #[test]
    fn equal_only_when_the_rows_are(a in rows(), b in rows()) {
        let text = |rows: &[Row]| format!("{rows:?}").replace("-NaN", "NaN");
        prop_assert_eq!(text(&a) == text(&b), digest(&built(&a)) == digest(&built(&b)));
    }
}

/// Prints values a second; run with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn speed() {
    let n = 1_000_000;
    let columns: [(&str, ArrayRef); 4] = [
        ("int64", Arc::new(Int64Array::from_iter_values(0..n))),
        ("int64 with nulls", Arc::new((0..n).map(|v| (v % 7 != 0).then_some(v)).collect::<Int64Array>())),
        ("float64", Arc::new(Float64Array::from_iter_values((0..n).map(|v| v as f64)))),
        ("short text", Arc::new(StringArray::from_iter_values((0..n).map(|v| format!("N{v}"))))),
    ];
    for (name, array) in columns {
        let rows = batch(vec![(name, array)]);
        let clock = std::time::Instant::now();
        std::hint::black_box(row_hashes(&rows));
        let hashing = clock.elapsed();
        let clock = std::time::Instant::now();
        let column = Column::of(rows.column(0));
        let mut hasher = Hasher::new();
        column.encode(std::slice::from_ref(&(0..rows.num_rows())), &mut |bytes| hasher.update(bytes));
        std::hint::black_box(hasher.finish());
        let rate = |time: std::time::Duration| n as f64 / time.as_secs_f64() / 1e6;
        eprintln!("{name}: hash {:.0} M values/s, digest {:.0} M values/s", rate(hashing), rate(clock.elapsed()));
    }
}
