//! Bad records and bad files.

use super::*;

#[tokio::test]
async fn every_kind_of_bad_csv_record_is_told_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let long = "x".repeat(1001);
    let mut text = b"id,name,size\n1,\"quoted\n\nlines\",1\n2,short\n3,a,b,c\nx,a,1\n4,a,1.5.5\n,a,1\n".to_vec();
    text.extend_from_slice(b"5,\xff\xfe,1\n");
    text.extend_from_slice(format!("6,{long},1\n7,\"a\"b,1\r\n\n8,,\n").as_bytes());
    write(dir.path(), "a.csv", text);
    let pages = read_all(&mut csv_source(dir.path())).await;
    let expected = [
        ("a.csv:5", "field-count", None),
        ("a.csv:6", "field-count", None),
        ("a.csv:7", "unparsable-value", Some("id")),
        ("a.csv:8", "unparsable-value", Some("size")),
        ("a.csv:9", "unparsable-value", Some("id")),
        ("a.csv:10", "invalid-utf8", Some("name")),
        ("a.csv:11", "over-size", Some("name")),
        ("a.csv:12", "malformed", None),
    ];
    let expected = expected.map(|(at, class, field)| (at.to_owned(), class.to_owned(), field.map(str::to_owned)));
    assert_eq!(letters(&pages), expected);
    assert!(pages[0].dead_letters[6].message.contains("1001"), "the length is told");
    assert_eq!(ids(&pages), ["a.csv@1 insert 1", "a.csv@1 insert 8"]);
    let lines = pages[0].origins.lines.as_ref().unwrap();
    assert_eq!((lines.value(0), lines.value(1)), (2, 14));
    assert_eq!((pages[0].origins.records.value(0), pages[0].origins.records.value(1)), (0, 9));
}

#[tokio::test]
async fn a_quote_that_never_closes_costs_one_line() {
    let dir = tempfile::tempdir().unwrap();
    // Short enough to be held as a whole, and too long for it.
    for (name, rows) in [("short.csv", 1000), ("long.csv.gz", 1_500_000)] {
        let mut text = "id,name,size\n1,a,1\n2,\"never closed,1\n".to_owned();
        for id in 3..rows {
            text += &format!("{id},\"\",1\n");
        }
        let content = if name.ends_with("gz") { gzip(text.as_bytes()) } else { text.into_bytes() };
        write(dir.path(), name, content);
        let mut source = csv_source(&dir.path().join(name));
        let pages = read_all(&mut source).await;
        assert_eq!(letters(&pages), [(format!("{name}:3"), "malformed".to_owned(), None)]);
        let read: usize = pages.iter().map(|page| page.rows.num_rows()).sum();
        assert_eq!(read, rows - 2);
    }
}

#[tokio::test]
async fn a_record_too_long_to_hold_is_passed() {
    let dir = tempfile::tempdir().unwrap();
    let long = "x\n".repeat(10 << 20);
    write(dir.path(), "a.csv", format!("id,name,size\n1,\"{long}\",1\n2,b,1\n"));
    let pages = read_all(&mut csv_source(dir.path())).await;
    assert_eq!(letters(&pages), [("a.csv:2".to_owned(), "over-size".to_owned(), None)]);
    assert_eq!(ids(&pages), ["a.csv@1 insert 2"]);
    assert_eq!(pages[0].origins.lines.as_ref().unwrap().value(0), (10 << 20) + 3);
}

#[tokio::test]
async fn null_values_and_other_dialects() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.csv", "1;NA;NA\n2;'it''s';\n3;;1\n");
    let csv = CsvOptions { delimiter: b';', quote: Some(b'\''), header: false, null_values: vec!["NA".into()] };
    let mut source = source(dir.path(), FileFormat::Csv(csv));
    let rows: Vec<String> = records(&read_all(&mut source).await).into_values().collect();
    assert_eq!(rows, ["a.csv Some(1) 0 1|null|null", "a.csv Some(2) 0 2|it's|null", "a.csv Some(3) 0 3||1.0"]);
}

#[tokio::test]
async fn a_header_that_does_not_fit_stops_before_its_rows() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.csv", "id,name,size\n1,x,1\n");
    write(dir.path(), "b.csv", "id,nom,size\n2,x,1\n");
    let mut source = csv_source(dir.path());
    let Poll::Page(page) = source.poll(WIDE).await.unwrap() else { panic!("the sound file comes first") };
    assert_eq!(ids(&[*page]), ["a.csv@1 insert 1"]);
    for _ in 0..2 {
        match source.poll(WIDE).await {
            Err(SourceError::Changed(changed)) => {
                assert_eq!(changed.object, "b.csv");
                let columns: Vec<_> = changed.observed.fields().iter().map(|field| field.name().as_str()).collect();
                assert_eq!(columns, ["id", "size", "nom"], "those that stay in their order, then the new ones");
            }
            other => panic!("{other:?}"),
        }
    }
    write(dir.path(), "b.csv", "id,name,size\n2,x,1\n");
    assert_eq!(ids(&read_all(&mut source).await), ["b.csv@2 insert 2"], "once it is mended, it is read");
}

#[tokio::test]
async fn parquet_that_does_not_fit_or_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let sound = parquet_bytes(&batch((0..40).map(Some).collect()));
    let renamed = {
        let rows = batch(vec![Some(1)]);
        let columns =
            [("size", rows.column(0).clone()), ("id", rows.column(2).clone()), ("extra", rows.column(1).clone())];
        parquet_bytes(&RecordBatch::try_from_iter(columns).unwrap())
    };
    let mut refused = 0;
    write(dir.path(), "a.parquet", renamed);
    match parquet_source(dir.path()).poll(WIDE).await {
        Err(SourceError::Changed(changed)) => {
            let columns: Vec<_> = changed
                .observed
                .fields()
                .iter()
                .map(|field| format!("{}: {}", field.name(), field.data_type()))
                .collect();
            assert_eq!(columns, ["id: Utf8", "size: Float64", "extra: Int64"]);
        }
        other => panic!("{other:?}"),
    }
    // Whatever byte is damaged, nothing is read before it is found out; or the damage changes no value's form.
    for place in (0..sound.len()).step_by(7) {
        let mut damaged = sound.clone();
        damaged[place] ^= 0xff;
        write(dir.path(), "a.parquet", damaged);
        match parquet_source(dir.path()).poll(PageLimits { max_rows: 1, ..WIDE }).await {
            // The damage may lie in the names of the columns.
            Err(SourceError::Changed(changed)) if changed.object == "a.parquet" => refused += 1,
            Err(SourceError::Permanent { what, .. } | SourceError::Mismatch { what, .. }) => {
                assert!(what.contains("a.parquet"), "{what}");
                refused += 1;
            }
            Ok(Poll::Page(_)) => {
                let mut source = parquet_source(dir.path());
                drain(&mut source, WIDE).await.expect("what was admitted can be read to its end");
            }
            other => panic!("byte {place}: {other:?}"),
        }
    }
    assert!(refused > 10, "only {refused}");
    write(dir.path(), "a.parquet.gz", gzip(&sound));
    std::fs::remove_file(dir.path().join("a.parquet")).unwrap();
    assert!(matches!(parquet_source(dir.path()).poll(WIDE).await, Err(SourceError::Permanent { .. })));
}

fn parquet_source(root: &Path) -> FilesSource {
    source(root, FileFormat::Parquet)
}

#[test]
fn types_and_dialects_that_cannot_be_read_are_refused_at_once() {
    let list = Arc::new(Schema::new(vec![Field::new("a", DataType::new_list(DataType::Int8, true), true)]));
    let with =
        |columns: SchemaRef, format| FilesSource::new(FilesOptions { columns, ..options(Path::new("x"), format) });
    let csv = || FileFormat::Csv(CsvOptions::default());
    assert!(matches!(with(list.clone(), csv()), Err(SourceError::Mismatch { what, .. }) if what.contains("`a`")));
    assert!(with(list, FileFormat::JsonLines).is_ok());
    assert!(matches!(with(Arc::new(Schema::empty()), csv()), Err(SourceError::Mismatch { .. })));
    let same = CsvOptions { delimiter: b'"', ..CsvOptions::default() };
    assert!(matches!(with(columns(), FileFormat::Csv(same)), Err(SourceError::Mismatch { .. })));
    assert!(parse_pattern("a[").is_err());
}

#[tokio::test]
async fn a_missing_folder_has_a_hint() {
    match csv_source(Path::new("/no/such/place")).poll(WIDE).await {
        Err(SourceError::Permanent { what, hint }) => assert!(what.contains("/no/such/place") && !hint.is_empty()),
        other => panic!("{other:?}"),
    }
}
