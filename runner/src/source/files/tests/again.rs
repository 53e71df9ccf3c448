//! Records that are asked for again when their file is no longer what it was.

use super::*;
use crate::source::{Reread, Rereader};
use gristmill_core::dead_letter::RecordPosition;

fn line(object: &str, object_sequence: u64, record: u64, line: u64) -> RecordPosition {
    RecordPosition::Source { object: object.into(), object_sequence, record, line: Some(line) }
}

fn rereader(root: &Path, pages: &[Page]) -> FilesRereader {
    let options = options(root, FileFormat::Csv(CsvOptions::default()));
    FilesRereader::new(options, &pages.last().unwrap().cursor_to, &state_after(pages)).unwrap()
}

async fn one(root: &Path, pages: &[Page], place: RecordPosition) -> Reread {
    rereader(root, pages).reread(&[place], WIDE).await.unwrap()
}

#[track_caller]
fn is_gone(reread: &Reread, why: &str) {
    assert_eq!((reread.answered, reread.page.rows.num_rows()), (1, 0));
    assert!(matches!(&reread.gone[..], [(0, reason)] if reason.contains(why)), "{:?}", reread.gone);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_very_version_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let first = "id,name,size\n1,a,1\nx,b,2\n";
    let path = write(dir.path(), "a.csv", first);
    touch(&path, 1);
    let mut source = csv_source(dir.path());
    let mut pages = read_all(&mut source).await;
    let bad = || line("a.csv", 1, 1, 3);
    let again = one(dir.path(), &pages, bad()).await;
    assert_eq!(again.page.dead_letters, pages[0].dead_letters, "refused as before");

    // Changed, and its successor not read yet; then read; then gone.
    write(dir.path(), "a.csv", "id,name,size\n1,a,1\n2,b,2\n");
    touch(&path, 2);
    is_gone(&one(dir.path(), &pages, bad()).await, "a.csv has changed since");
    pages.extend(read_all(&mut source).await);
    is_gone(&one(dir.path(), &pages, bad()).await, "a later version of a.csv was read whole");
    let successor = one(dir.path(), &pages, line("a.csv", 2, 1, 3)).await;
    assert_eq!(ids(std::slice::from_ref(&successor.page)), ["a.csv@2 insert 2"]);
    std::fs::remove_file(&path).unwrap();
    is_gone(&one(dir.path(), &pages, line("a.csv", 2, 1, 3)).await, "a.csv is gone");
    // The first content under the old name is not the version that the position is of.
    write(dir.path(), "a.csv", first);
    is_gone(&one(dir.path(), &pages, bad()).await, "a later version");
    is_gone(&one(dir.path(), &pages, line("b.csv", 9, 0, 2)).await, "no longer knows");
    is_gone(&one(dir.path(), &pages, RecordPosition::Batch { row: 0 }).await, "no place in the source");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renamed_file_is_found_under_its_new_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "a.csv", "id,name,size\n1,a,1\n2,b,2\n");
    touch(&path, 1);
    let mut source = csv_source(dir.path());
    let mut pages = read_all(&mut source).await;
    std::fs::rename(&path, dir.path().join("b.csv")).unwrap();
    write(dir.path(), "c.csv", "id,name,size\n3,c,3\n");
    pages.extend(read_all(&mut source).await);
    let again = one(dir.path(), &pages, line("a.csv", 1, 1, 3)).await;
    assert_eq!(ids(std::slice::from_ref(&again.page)), ["a.csv@1 insert 2"], "with its first place");
}

/// A version that reads the same bytes as other records must not take one for another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_header_makes_other_records() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.csv", "id,name,size\n1,a,1\n2,b,2\n");
    let pages = read_all(&mut csv_source(dir.path())).await;
    let headless = CsvOptions { header: false, ..CsvOptions::default() };
    let options = options(dir.path(), FileFormat::Csv(headless));
    let mut other = FilesRereader::new(options, &pages[0].cursor_to, &state_after(&pages)).unwrap();
    is_gone(&other.reread(&[line("a.csv", 1, 1, 3)], WIDE).await.unwrap(), "another record");
    is_gone(&other.reread(&[line("a.csv", 1, 7, 9)], WIDE).await.unwrap(), "no record 7");
}
