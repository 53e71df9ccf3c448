//! Schemas that are inferred.

use super::*;
use arrow::datatypes::TimeUnit;

async fn infer(
    name: &str,
    content: impl AsRef<[u8]>,
    format: FileFormat,
) -> Result<Vec<(String, DataType)>, SourceError> {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), name, content);
    write(dir.path(), "zz", "the first file counts");
    let schema = infer_schema(&FilesRoot::Local(dir.path().to_owned()), None, &format, dir.path()).await?;
    assert!(schema.fields().iter().all(|field| field.is_nullable()));
    Ok(schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect())
}

#[tokio::test]
async fn csv_columns_take_the_narrowest_type_that_reads_back() {
    let text = "b,i,code,f,d,t,z,s,none\n\
                true,1,007,1.5,2013-01-01,2013-01-01T05:17:00,2013-01-01 05:17Z,x,\n\
                NA,-2,8,3,2013-12-31,2013-01-01 05:17:01.5,2013-01-01T05:17:00+01:00,1,NA\n\
                too,short\n";
    let csv = CsvOptions { null_values: vec!["NA".into()], ..CsvOptions::default() };
    let found = infer("a.csv.gz", gzip(text.as_bytes()), FileFormat::Csv(csv.clone())).await.unwrap();
    let local = DataType::Timestamp(TimeUnit::Microsecond, None);
    let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
    let expected = [
        ("b", DataType::Boolean),
        ("i", DataType::Int64),
        ("code", DataType::Utf8),
        ("f", DataType::Float64),
        ("d", DataType::Date32),
        ("t", local),
        ("z", zoned),
        ("s", DataType::Utf8),
        ("none", DataType::Utf8),
    ];
    assert_eq!(found, expected.map(|(name, data_type)| (name.to_owned(), data_type)));

    // What is inferred reads its own file without a dead letter, but for the short record.
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.csv", text);
    let root = FilesRoot::Local(dir.path().to_owned());
    let format = FileFormat::Csv(csv);
    let schema = infer_schema(&root, None, &format, dir.path()).await.unwrap();
    let options = FilesOptions { columns: Arc::new(schema), ..options(dir.path(), format) };
    let mut source = FilesSource::new(options).unwrap().with_clock(TestClock::later());
    let pages = read_all(&mut source).await;
    assert_eq!((pages[0].rows.num_rows(), pages[0].dead_letters.len()), (2, 1));
}

#[tokio::test]
async fn csv_without_header_numbers_its_columns() {
    let csv = CsvOptions { header: false, ..CsvOptions::default() };
    let found = infer("a.csv", "1,x\n2,y\n", FileFormat::Csv(csv)).await.unwrap();
    assert_eq!(found, [("column_1".into(), DataType::Int64), ("column_2".into(), DataType::Utf8)]);
}

#[tokio::test]
async fn json_and_parquet() {
    let text = "{\"b\":1,\"a\":{\"y\":1.5,\"x\":null}}\nnot json\n{\"b\":2,\"c\":[true]}\n";
    let found = infer("a.jsonl", text, FileFormat::JsonLines).await.unwrap();
    let members = vec![Field::new("x", DataType::Utf8, true), Field::new("y", DataType::Float64, true)];
    assert_eq!(
        found,
        [
            ("a".into(), DataType::Struct(members.into())),
            ("b".into(), DataType::Int64),
            ("c".into(), DataType::new_list(DataType::Boolean, true)),
        ]
    );
    let found = infer("a.parquet", parquet_bytes(&batch(vec![Some(1)])), FileFormat::Parquet).await.unwrap();
    let expected = [("size", DataType::Float64), ("id", DataType::Int64), ("name", DataType::Utf8)];
    assert_eq!(found, expected.map(|(name, data_type)| (name.to_owned(), data_type)));
}

#[tokio::test]
async fn nothing_to_infer_from_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let root = FilesRoot::Local(dir.path().to_owned());
    assert!(matches!(
        infer_schema(&root, None, &FileFormat::JsonLines, dir.path()).await,
        Err(SourceError::Mismatch { .. })
    ));
    for (name, format) in [("a.csv", FileFormat::Csv(CsvOptions::default())), ("a.jsonl", FileFormat::JsonLines)] {
        assert!(matches!(infer(name, "", format).await, Err(SourceError::Mismatch { .. })), "{name}");
    }
    let interval = arrow::array::IntervalYearMonthArray::from(vec![1]);
    let rows = RecordBatch::try_from_iter([("i", Arc::new(interval) as ArrayRef)]).unwrap();
    match infer("a.parquet", parquet_bytes(&rows), FileFormat::Parquet).await {
        Err(SourceError::Mismatch { what, .. }) => assert!(what.contains("`i`"), "{what}"),
        other => panic!("{other:?}"),
    }
}
