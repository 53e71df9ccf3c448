//! Every rule of a source, over every format and compression.

use super::*;
use crate::source::conformance::{Open, Reopen, Subject, all, all_of_rereaders};
use crate::source::files::measure::row_bytes;

fn csv(ids: std::ops::Range<u32>) -> Vec<u8> {
    let mut text = "size,id,name\r\n".to_owned();
    for id in ids {
        match id % 9 {
            // One refused record for each ninth, of each kind in turn.
            8 => text += ["secret-x,1,a\n", "1,secret-x,a\n", "secret-x\n"][id as usize / 9 % 3],
            3 => text += &format!("1.5,{id},\"two\nlines, {id}\"\n"),
            _ => text += &format!("{}.5,{id},name {id}\n", id % 4),
        }
    }
    text.into_bytes()
}

fn json_lines(ids: std::ops::Range<u32>) -> Vec<u8> {
    let mut text = String::new();
    for id in ids {
        match id % 9 {
            8 => text += ["{\"id\":\"secret-x\"}\n", "{\"id\":1,\"secret-x\":2}\n", "secret-x\n"][id as usize / 9 % 3],
            3 => text += &format!("\n{{\"name\":null,\"id\":{id}}}\n"),
            _ => text += &format!("{{\"id\":{id},\"size\":{}.5,\"name\":\"name {id}\"}}\n", id % 4),
        }
    }
    text.into_bytes()
}

fn parquet_file(ids: std::ops::Range<u32>) -> Vec<u8> {
    // A null identity is what Parquet can have and the schema cannot.
    parquet_bytes(&batch(ids.map(|id| (id % 9 != 8).then_some(i64::from(id))).collect()))
}

async fn conforms(format: FileFormat, suffix: &'static str, content: impl Fn(std::ops::Range<u32>) -> Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let names = [format!("a.{suffix}"), format!("b.{suffix}"), format!("c.{suffix}")];
    for (name, ids) in names.iter().zip([0..12, 12..13, 13..46]) {
        write(dir.path(), name, content(ids));
    }
    let (root, opened) = (dir.path().to_owned(), format.clone());
    let cut_dir = tempfile::tempdir().unwrap();
    let cut = suffix.ends_with("gz") || suffix.ends_with("zst") || suffix.ends_with("parquet");
    let cut = cut.then(|| {
        write(cut_dir.path(), &names[0], content(0..12));
        let whole = content(13..46);
        write(cut_dir.path(), &names[2], &whole[..whole.len() - 3]);
        let (root, format) = (cut_dir.path().to_owned(), format.clone());
        let open: Open = Box::new(move || Box::new(source(&root, format.clone())));
        let name: &'static str = Box::leak(names[2].clone().into_boxed_str());
        (open, name)
    });
    let content_root = root.clone();
    all(&Subject {
        name: suffix.to_owned(),
        open: Box::new(move || Box::new(source(&root, opened.clone()))),
        content: Box::new(move || content_of(&content_root)),
        bytes: |rows| row_bytes(rows).iter().sum(),
        refused: 5,
        secrets: &["secret-x"],
        cut,
    })
    .await;
}

#[tokio::test]
async fn csv_plain() {
    conforms(FileFormat::Csv(CsvOptions::default()), "csv", csv).await;
}

#[tokio::test]
async fn csv_gzip() {
    conforms(FileFormat::Csv(CsvOptions::default()), "csv.gz", |ids| gzip(&csv(ids))).await;
}

#[tokio::test]
async fn csv_zstd() {
    conforms(FileFormat::Csv(CsvOptions::default()), "csv.zst", |ids| zstd(&csv(ids))).await;
}

#[tokio::test]
async fn json_lines_plain() {
    conforms(FileFormat::JsonLines, "jsonl", json_lines).await;
}

#[tokio::test]
async fn json_lines_gzip() {
    conforms(FileFormat::JsonLines, "jsonl.gz", |ids| gzip(&json_lines(ids))).await;
}

#[tokio::test]
async fn json_lines_zstd() {
    conforms(FileFormat::JsonLines, "jsonl.zst", |ids| zstd(&json_lines(ids))).await;
}

#[tokio::test]
async fn parquet_plain() {
    conforms(FileFormat::Parquet, "parquet", parquet_file).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_are_read_again() {
    type Content = fn(std::ops::Range<u32>) -> Vec<u8>;
    let formats: [(FileFormat, &str, Content); 4] = [
        (FileFormat::Csv(CsvOptions::default()), "csv", csv),
        (FileFormat::Csv(CsvOptions::default()), "csv.gz", |ids| gzip(&csv(ids))),
        (FileFormat::JsonLines, "jsonl.zst", |ids| zstd(&json_lines(ids))),
        (FileFormat::Parquet, "parquet", parquet_file),
    ];
    for (format, suffix, content) in formats {
        let dir = tempfile::tempdir().unwrap();
        for (name, ids) in ["a", "b", "c"].into_iter().zip([0..12, 12..13, 13..46]) {
            write(dir.path(), &format!("{name}.{suffix}"), content(ids));
        }
        let (root, content_root, options) =
            (dir.path().to_owned(), dir.path().to_owned(), options(dir.path(), format.clone()));
        let subject = Subject {
            name: suffix.to_owned(),
            open: Box::new(move || Box::new(source(&root, format.clone()))),
            content: Box::new(move || content_of(&content_root)),
            bytes: |rows| row_bytes(rows).iter().sum(),
            refused: 5,
            secrets: &["secret-x"],
            cut: None,
        };
        let reopen: Reopen =
            Box::new(move |read, state| Box::new(FilesRereader::new(options.clone(), read, state).unwrap()));
        all_of_rereaders(&subject, &reopen).await;
    }
}
