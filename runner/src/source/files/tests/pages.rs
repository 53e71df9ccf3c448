//! Pages may end anywhere: the records do not depend on it.

use super::*;
use proptest::prelude::*;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// CSV of any shape over the characters that matter to it.
fn csv_text() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        4 => "[0-9]{1,3}",
        2 => "[a-c]{0,6}",
        1 => "\"[a\n,]{0,4}\"",
        1 => "\"a\"\"b\"",
        1 => Just("é".to_owned()),
    ];
    let record = (prop::collection::vec(field, 2..5), prop_oneof![Just("\n"), Just("\r\n"), Just("\n\n")]);
    let record = record.prop_map(|(fields, end)| fields.join(",") + end);
    // Now and then a quote that is still open at the end.
    let tail = prop_oneof![3 => Just(""), 1 => Just("7,\"x\n8,y,1\n9,\"\",2\n")];
    (prop::collection::vec(record, 0..30), tail)
        .prop_map(|(records, tail)| format!("id,name,size\n{}{tail}", records.concat()))
}

fn json_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        5 => (0..99_u8, "[a-cé]{0,5}").prop_map(|(id, name)| format!("{{\"id\":{id},\"name\":\"{name}\"}}")),
        1 => Just(String::new()),
        1 => Just("{\"id\":1.5}".to_owned()),
        1 => Just("{\"id\":".to_owned()),
        1 => Just("{\"id\":1}{\"id\":2}".to_owned()),
        1 => Just("{\"id\":1,\"other\":2}".to_owned()),
    ];
    prop::collection::vec(line, 0..30).prop_map(|mut lines| {
        // A member that most records have would be a new column, at which the source stops.
        let others = lines.iter().filter(|line| line.contains("other")).count();
        if others * 2 > lines.iter().filter(|line| line.ends_with('}') && !line.contains("}{")).count() {
            lines.retain(|line| !line.contains("other"));
        }
        lines.join("\n")
    })
}

/// Reads with limits that change from page to page, restarting from the checkpoint after each page where `restart` says so.
async fn read_in_pieces(root: &Path, format: &FileFormat, limits: &[(usize, usize, bool)]) -> Vec<Page> {
    let mut source = source(root, format.clone());
    let mut pages: Vec<Page> = Vec::new();
    for (max_rows, max_bytes, restart) in limits.iter().cycle() {
        let limits = PageLimits { max_rows: *max_rows, max_bytes: *max_bytes, max_age: Duration::ZERO };
        let Poll::Page(page) = source.poll(limits).await.unwrap() else { break };
        pages.push(*page);
        if *restart {
            source = super::source(root, format.clone());
            let cursor = pages.last().unwrap().cursor_to.clone();
            assert_eq!(source.resume(&cursor, state_after(&pages)).await.unwrap(), Resumed::Valid);
        }
    }
    pages
}

fn check(format: FileFormat, files: &[(&str, Vec<u8>)], limits: &[(usize, usize, bool)]) {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        write(dir.path(), name, content);
    }
    block_on(async {
        let whole = records(&read_all(&mut source(dir.path(), format.clone())).await);
        let pieces = records(&read_in_pieces(dir.path(), &format, limits).await);
        assert_eq!(pieces, whole);
    });
}

fn limits() -> impl Strategy<Value = Vec<(usize, usize, bool)>> {
    prop::collection::vec((1_usize..9, prop_oneof![Just(1_usize << 30), 1_usize..200], any::<bool>()), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn csv_does_not_depend_on_page_ends(a in csv_text(), b in csv_text(), limits in limits()) {
        check(FileFormat::Csv(CsvOptions::default()), &[("a.csv", a.into_bytes()), ("b.csv.gz", gzip(b.as_bytes()))], &limits);
    }
    #[test]
    fn json_lines_do_not_depend_on_page_ends(a in json_text(), b in json_text(), limits in limits()) {
        check(FileFormat::JsonLines, &[("a.jsonl", a.into_bytes()), ("b.jsonl.zst", zstd(b.as_bytes()))], &limits);
    }
    #[test]
    fn parquet_does_not_depend_on_page_ends(
        ids in prop::collection::vec(prop::option::weighted(0.9, 0_i64..100), 0..40),
        limits in limits(),
    ) {
        check(FileFormat::Parquet, &[("a.parquet", parquet_bytes(&batch(ids.clone()))), ("b.parquet", parquet_bytes(&batch(ids)))], &limits);
    }
}

#[tokio::test]
async fn small_files_share_a_page_and_empty_ones_only_leave_state() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.csv", "id,name,size\n1,x,\n2,y,\n");
    write(dir.path(), "b.csv", "");
    write(dir.path(), "c.csv", "name,size,id\nz,0.5,3");
    let mut source = csv_source(dir.path());
    let pages = read_all(&mut source).await;
    assert_eq!(pages.len(), 1);
    assert_eq!(ids(&pages), ["a.csv@1 insert 1", "a.csv@1 insert 2", "c.csv@3 insert 3"]);
    let keys: Vec<&str> = pages[0].state.keys().map(String::as_str).collect();
    assert_eq!(keys, ["file:a.csv", "file:b.csv", "file:c.csv", "next-sequence"]);

    write(dir.path(), "d.csv", "id,name,size\n");
    let pages = read_all(&mut source).await;
    assert_eq!((pages.len(), pages[0].rows.num_rows()), (1, 0), "an empty page carries the ledger on");
    assert!(pages[0].state.contains_key("file:d.csv"));
    assert!(matches!(source.poll(WIDE).await.unwrap(), Poll::Idle));
}

#[tokio::test]
async fn a_page_that_ends_with_its_file_says_so() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.csv", "id,name,size\n1,x,\n2,y,\n\n");
    let mut source = csv_source(dir.path());
    let pages = drain(&mut source, PageLimits { max_rows: 2, ..WIDE }).await.unwrap();
    assert_eq!(pages.len(), 1);
}
