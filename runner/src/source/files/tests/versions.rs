//! File versions: what is read, what is read again, and what happens to a file that changes at a bad moment.

use super::*;

const HEADER: &str = "id,name,size\n";

fn csv(ids: std::ops::Range<u32>) -> String {
    let rows: String = ids.map(|id| format!("{id},n,1\n")).collect();
    format!("{HEADER}{rows}")
}

fn two_rows() -> PageLimits {
    PageLimits { max_rows: 2, ..WIDE }
}

async fn page(source: &mut FilesSource, limits: PageLimits) -> Page {
    match source.poll(limits).await.unwrap() {
        Poll::Page(page) => *page,
        other => panic!("{other:?}"),
    }
}

async fn restarted(root: &Path, pages: &[Page]) -> (FilesSource, Resumed) {
    let mut source = csv_source(root);
    let cursor = pages.last().unwrap().cursor_to.clone();
    let resumed = source.resume(&cursor, state_after(pages)).await.unwrap();
    (source, resumed)
}

#[tokio::test]
async fn a_file_is_read_once_for_each_version() {
    let dir = tempfile::tempdir().unwrap();
    let b = write(dir.path(), "b.csv", csv(1..3));
    touch(&b, 1);
    let mut source = csv_source(dir.path());
    let mut pages = read_all(&mut source).await;
    assert_eq!(ids(&pages), ["b.csv@1 insert 1", "b.csv@1 insert 2"]);
    assert!(read_all(&mut source).await.is_empty(), "nothing new");

    // Touched: the same content is not read again, and the next page carries the new metadata.
    touch(&b, 2);
    assert!(read_all(&mut source).await.is_empty());
    // A new file that sorts before the others, and a changed one.
    write(dir.path(), "a.csv", csv(7..8));
    let more = read_all(&mut source).await;
    assert_eq!(ids(&more), ["a.csv@2 insert 7"]);
    assert!(more[0].state.contains_key("file:b.csv"), "the touch is in the ledger now");
    pages.extend(more);
    write(dir.path(), "b.csv", csv(1..4));
    let more = read_all(&mut source).await;
    assert_eq!(ids(&more), ["b.csv@3 update 1", "b.csv@3 update 2", "b.csv@3 update 3"]);
    pages.extend(more);

    // After a restart, and after the file went and came back, nothing is new.
    let (mut source, resumed) = restarted(dir.path(), &pages).await;
    assert_eq!(resumed, Resumed::Valid);
    assert!(read_all(&mut source).await.is_empty());
    let content = std::fs::read(&b).unwrap();
    std::fs::remove_file(&b).unwrap();
    assert!(read_all(&mut source).await.is_empty());
    write(dir.path(), "b.csv", content);
    assert!(read_all(&mut source).await.is_empty());
}

#[tokio::test]
async fn a_touch_is_digested_once_and_told_with_the_next_page() {
    let dir = tempfile::tempdir().unwrap();
    let a = write(dir.path(), "a.csv", csv(1..3));
    touch(&a, 1);
    let mut source = csv_source(dir.path());
    let first = read_all(&mut source).await;
    touch(&a, 2);
    assert!(read_all(&mut source).await.is_empty());
    // Content replaced behind the same size and time: not looked at, because the touch is known already.
    write(dir.path(), "a.csv", csv(5..7));
    touch(&a, 2);
    assert!(read_all(&mut source).await.is_empty());
    write(dir.path(), "b.csv", csv(9..10));
    let state = state_after(&[&first[..], &read_all(&mut source).await[..]].concat_pages());
    assert!(state["file:a.csv"].contains("\"modified\":1600000002000000"), "{state:?}");
}

trait ConcatPages {
    fn concat_pages(self) -> Vec<Page>;
}

impl ConcatPages for [&[Page]; 2] {
    /// Pages are not `Clone`: only what a checkpoint keeps is taken.
    fn concat_pages(self) -> Vec<Page> {
        self.into_iter()
            .flatten()
            .map(|page| Page {
                rows: page.rows.clone(),
                operations: page.operations.clone(),
                origins: page.origins.clone(),
                dead_letters: page.dead_letters.clone(),
                cursor_from: page.cursor_from.clone(),
                cursor_to: page.cursor_to.clone(),
                state: page.state.clone(),
            })
            .collect()
    }
}

#[tokio::test]
async fn a_renamed_file_keeps_its_place_and_is_not_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b, archived] = ["a.csv", "b.csv", "c/a.csv"].map(|name| dir.path().join(name));
    std::fs::create_dir(dir.path().join("c")).unwrap();
    write(dir.path(), "a.csv", csv(1..3));
    write(dir.path(), "b.csv", csv(1..2));
    let mut pages = read_all(&mut csv_source(dir.path())).await;
    assert_eq!(ids(&pages), ["a.csv@1 insert 1", "a.csv@1 insert 2", "b.csv@2 insert 1"]);

    std::fs::rename(&a, &archived).unwrap();
    let (mut source, _) = restarted(dir.path(), &pages).await;
    assert!(read_all(&mut source).await.is_empty());
    // The next page tells of it, and the name is free for another file.
    write(dir.path(), "a.csv", csv(5..6));
    pages.extend(read_all(&mut source).await);
    assert_eq!(ids(&pages)[3..], ["a.csv@3 insert 5"]);
    let state = state_after(&pages);
    assert!(state["file:c/a.csv"].contains("\"sequence\":1,"), "{state:?}");
    assert!(state["file:a.csv"].contains("\"sequence\":3,"), "{state:?}");

    // Renamed again with nothing in its place: the old path is forgotten.
    std::fs::rename(&b, dir.path().join("b-old.csv")).unwrap();
    std::fs::rename(&archived, dir.path().join("d.csv")).unwrap();
    write(dir.path(), "e.csv", csv(6..7));
    let (mut source, _) = restarted(dir.path(), &pages).await;
    let more = read_all(&mut source).await;
    assert_eq!(ids(&more), ["e.csv@4 insert 6"]);
    assert_eq!((&more[0].state["file:b.csv"], &more[0].state["file:c/a.csv"]), (&None, &None));
    pages.extend(more);

    // At its new path it is a known file like any other.
    write(dir.path(), "d.csv", csv(1..2));
    let (mut source, _) = restarted(dir.path(), &pages).await;
    pages.extend(read_all(&mut source).await);
    assert_eq!(ids(&pages)[5..], ["d.csv@5 update 1"]);
}

#[tokio::test]
async fn what_is_no_mere_rename_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let a = write(dir.path(), "a.csv", csv(1..2));
    let mut source = csv_source(dir.path());
    let mut pages = read_all(&mut source).await;
    // A copy: the file that was read is still there.
    std::fs::copy(&a, dir.path().join("b.csv")).unwrap();
    pages.extend(read_all(&mut source).await);
    // Renamed and changed.
    std::fs::rename(&a, dir.path().join("c.csv")).unwrap();
    write(dir.path(), "c.csv", csv(1..3));
    pages.extend(read_all(&mut source).await);
    assert_eq!(ids(&pages), ["a.csv@1 insert 1", "b.csv@2 insert 1", "c.csv@3 insert 1", "c.csv@3 insert 2"]);
    // Renamed once and copied too: one of them is new.
    std::fs::rename(dir.path().join("c.csv"), dir.path().join("d.csv")).unwrap();
    std::fs::copy(dir.path().join("d.csv"), dir.path().join("e.csv")).unwrap();
    pages.extend(read_all(&mut source).await);
    assert_eq!(ids(&pages)[4..], ["e.csv@4 insert 1", "e.csv@4 insert 2"]);
}

#[tokio::test]
async fn a_new_file_with_the_content_of_a_removed_one_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let monday = write(dir.path(), "monday.csv", csv(1..2));
    touch(&monday, 1);
    let mut source = csv_source(dir.path());
    assert_eq!(ids(&read_all(&mut source).await), ["monday.csv@1 insert 1"]);
    std::fs::remove_file(monday).unwrap();
    touch(&write(dir.path(), "tuesday.csv", csv(1..2)), 2);
    assert_eq!(ids(&read_all(&mut source).await), ["tuesday.csv@2 insert 1"]);
}

#[tokio::test]
async fn a_rename_that_says_how_to_decompress_is_read() {
    let dir = tempfile::tempdir().unwrap();
    // Compressed, and its name does not say so: there is no header to be found in it without.
    let format = || FileFormat::Csv(CsvOptions { header: false, ..CsvOptions::default() });
    let a = write(dir.path(), "a.csv", gzip(b"1,n,1\n"));
    let mut source = source(dir.path(), format());
    assert!(ids(&read_all(&mut source).await).is_empty());
    std::fs::rename(a, dir.path().join("a.csv.gz")).unwrap();
    assert_eq!(ids(&read_all(&mut source).await), ["a.csv.gz@2 insert 1"]);
}

#[tokio::test]
async fn a_file_that_grows_while_it_is_read_is_read_to_its_admitted_end() {
    let dir = tempfile::tempdir().unwrap();
    let a = write(dir.path(), "a.csv", csv(1..6));
    touch(&a, 1);
    let mut source = csv_source(dir.path());
    let mut pages = vec![page(&mut source, two_rows()).await];
    let mut file = std::fs::File::options().append(true).open(&a).unwrap();
    file.write_all(b"6,n,1\n").unwrap();
    pages.push(page(&mut source, two_rows()).await);
    pages.push(page(&mut source, WIDE).await);
    let read = ids(&pages);
    assert_eq!(
        read[..5],
        ["a.csv@1 insert 1", "a.csv@1 insert 2", "a.csv@1 insert 3", "a.csv@1 insert 4", "a.csv@1 insert 5"]
    );
    // The same poll may go on to the next version, read whole.
    assert_eq!(read[5..], (1..7).map(|id| format!("a.csv@2 update {id}")).collect::<Vec<_>>()[..]);
}

#[tokio::test]
async fn a_file_that_is_overwritten_while_it_is_read_is_abandoned() {
    let dir = tempfile::tempdir().unwrap();
    let a = write(dir.path(), "a.csv", csv(1..6));
    touch(&a, 1);
    let mut source = csv_source(dir.path());
    let first = page(&mut source, two_rows()).await;
    // In place: what is held open changes, too.
    let mut file = std::fs::File::options().write(true).open(&a).unwrap();
    file.write_all(csv(7..9).as_bytes()).unwrap();
    file.set_len(csv(7..9).len() as u64).unwrap();
    let second = page(&mut source, two_rows()).await;
    assert_eq!(second.cursor_from, first.cursor_to);
    let mut pages = vec![first, second];
    assert_eq!(ids(&pages), ["a.csv@1 insert 1", "a.csv@1 insert 2", "a.csv@2 update 7", "a.csv@2 update 8"]);

    // Back to what was read in part only: that is not known content.
    write(dir.path(), "a.csv", csv(1..6));
    touch(&a, 1);
    let (mut source, resumed) = restarted(dir.path(), &pages).await;
    assert_eq!(resumed, Resumed::Valid, "the version at the cursor was read to its end");
    pages.extend(read_all(&mut source).await);
    assert_eq!(ids(&pages)[4..], (1..6).map(|id| format!("a.csv@3 update {id}")).collect::<Vec<_>>()[..]);
}

#[tokio::test]
async fn replaced_by_a_rename_the_version_in_hand_is_read_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.csv", csv(1..5));
    let mut source = csv_source(dir.path());
    let mut pages = vec![page(&mut source, two_rows()).await];
    let new = write(dir.path(), ".new", csv(8..9));
    std::fs::rename(new, dir.path().join("a.csv")).unwrap();
    pages.extend(read_all(&mut source).await);
    let expected = ["a.csv@1 insert 1", "a.csv@1 insert 2", "a.csv@1 insert 3", "a.csv@1 insert 4", "a.csv@2 update 8"];
    assert_eq!(ids(&pages), expected);
}

#[tokio::test]
async fn a_checkpoint_in_a_file_that_changed_is_superseded() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.csv", csv(1..6));
    let mut pages = vec![page(&mut csv_source(dir.path()), two_rows()).await];
    write(dir.path(), "a.csv", csv(1..7));
    for _ in 0..2 {
        let (mut source, resumed) = restarted(dir.path(), &pages).await;
        assert_eq!(resumed, Resumed::Superseded { object: "a.csv".into() }, "as often as it is asked");
        let next = page(&mut source, two_rows()).await;
        assert_eq!(next.cursor_from, pages[0].cursor_to);
        assert_eq!(ids(&[next]), ["a.csv@2 update 1", "a.csv@2 update 2"]);
    }
    // Another restart, now within the new version: its rows still are updates.
    let (mut source, _) = restarted(dir.path(), &pages).await;
    pages.push(page(&mut source, two_rows()).await);
    let (mut source, resumed) = restarted(dir.path(), &pages).await;
    assert_eq!(resumed, Resumed::Valid);
    pages.push(page(&mut source, WIDE).await);
    assert_eq!(ids(&pages)[4..], ["a.csv@2 update 3", "a.csv@2 update 4", "a.csv@2 update 5", "a.csv@2 update 6"]);
}

#[tokio::test]
async fn a_checkpoint_in_a_touched_file_goes_on_and_in_a_vanished_one_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let a = write(dir.path(), "a.csv", csv(1..6));
    let mut pages = vec![page(&mut csv_source(dir.path()), two_rows()).await];
    touch(&a, 5);
    let (mut source, resumed) = restarted(dir.path(), &pages).await;
    assert_eq!(resumed, Resumed::Valid);
    let rest = page(&mut source, WIDE).await;
    assert!(rest.state["file:a.csv"].as_ref().unwrap().contains("\"modified\":1600000005000000"));
    assert_eq!(ids(&[rest]), ["a.csv@1 insert 3", "a.csv@1 insert 4", "a.csv@1 insert 5"]);

    std::fs::remove_file(&a).unwrap();
    let mut source = csv_source(dir.path());
    let cursor = pages.pop().unwrap().cursor_to;
    match source.resume(&cursor, BTreeMap::new()).await {
        Err(SourceError::PositionLost { what, hint }) => assert!(what.contains("a.csv") && !hint.is_empty()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_file_still_being_written_is_waited_for_and_holds_back_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    for (name, age) in [("a.csv", 10), ("b.csv", 0), ("c.csv", 10)] {
        let path = write(dir.path(), name, csv(1..2));
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(start - Duration::from_secs(age)).unwrap();
    }
    let clock = TestClock::at(start + Duration::from_millis(500));
    let format = FileFormat::Csv(CsvOptions::default());
    let mut source = FilesSource::new(options(dir.path(), format)).unwrap().with_clock(clock.clone());
    assert_eq!(ids(&[page(&mut source, WIDE).await]), ["a.csv@1 insert 1"]);
    match source.poll(WIDE).await.unwrap() {
        Poll::Settling(wait) => assert_eq!(wait, Duration::from_millis(1500)),
        other => panic!("{other:?}"),
    }
    clock.advance(Duration::from_millis(1500));
    assert_eq!(ids(&[page(&mut source, WIDE).await]), ["b.csv@2 insert 1", "c.csv@3 insert 1"]);
    assert!(matches!(source.poll(WIDE).await.unwrap(), Poll::Idle));
}

#[tokio::test]
async fn a_modification_time_in_the_future_settles_by_being_watched() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "a.csv", csv(1..2));
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let file = std::fs::File::options().append(true).open(path).unwrap();
    file.set_modified(start + Duration::from_secs(1_000_000)).unwrap();
    let clock = TestClock::at(start);
    let format = FileFormat::Csv(CsvOptions::default());
    let mut source = FilesSource::new(options(dir.path(), format)).unwrap().with_clock(clock.clone());
    for wait in [2, 1] {
        match source.poll(WIDE).await.unwrap() {
            Poll::Settling(found) => assert_eq!(found, Duration::from_secs(wait)),
            other => panic!("{other:?}"),
        }
        clock.advance(Duration::from_secs(1));
    }
    assert_eq!(ids(&[page(&mut source, WIDE).await]), ["a.csv@1 insert 1"]);
}

#[tokio::test]
async fn a_file_that_vanishes_before_it_is_read_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.csv", csv(1..3));
    let b = write(dir.path(), "b.csv", csv(4..5));
    let mut source = csv_source(dir.path());
    let first = page(&mut source, PageLimits { max_rows: 1, ..WIDE }).await;
    std::fs::remove_file(b).unwrap();
    assert_eq!(ids(&[first, page(&mut source, WIDE).await]), ["a.csv@1 insert 1", "a.csv@1 insert 2"]);
    assert!(matches!(source.poll(WIDE).await.unwrap(), Poll::Idle));
}

/// New columns are let through where the source leaves them out; a column that is gone never is.
#[tokio::test]
async fn columns_that_are_left_out_do_not_stop_the_source() {
    for (name, text, format) in [
        ("b.csv", "extra,id,name,size\nx,2,b,1\n", FileFormat::Csv(CsvOptions::default())),
        ("b.jsonl", "{\"id\":2,\"name\":\"b\",\"size\":1,\"extra\":true}\n", FileFormat::JsonLines),
    ] {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), name, text);
        let mut strict = source(dir.path(), format.clone());
        let Err(SourceError::Changed(changed)) = strict.poll(WIDE).await else { panic!("{name} has a column more") };
        let extra = changed.observed.field_with_name("extra").unwrap();
        assert!(extra.is_nullable() && changed.observed.fields().len() == columns().fields().len() + 1);

        let options = FilesOptions { ignore_columns: true, ..options(dir.path(), format) };
        let mut lenient = FilesSource::new(options).unwrap().with_clock(TestClock::later());
        assert_eq!(ids(&read_all(&mut lenient).await), [format!("{name}@1 insert 2")]);
    }
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "b.csv", "id,size,extra\n1,1,1\n");
    let csv = FileFormat::Csv(CsvOptions::default());
    let options = FilesOptions { ignore_columns: true, ..options(dir.path(), csv) };
    let mut lenient = FilesSource::new(options).unwrap().with_clock(TestClock::later());
    assert!(matches!(lenient.poll(WIDE).await, Err(SourceError::Changed(_))), "a column is gone");
}
