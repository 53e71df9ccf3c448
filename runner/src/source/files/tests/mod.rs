//! The promises of the files source, over real files.

mod again;
mod broken;
mod conformance;
mod inference;
mod pages;
#[cfg(feature = "s3")]
mod s3;
mod speed;
mod versions;

use super::*;
use crate::record::Page;
use crate::source::conformance::{drain, records, state_after};
use ::parquet::arrow::ArrowWriter;
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

pub(super) const WIDE: PageLimits =
    PageLimits { max_rows: 1_000_000, max_bytes: 1 << 30, max_age: Duration::from_secs(1) };

/// A clock that stands still until it is told to go on.
pub(super) struct TestClock(Mutex<SystemTime>);

impl TestClock {
    /// Late enough for everything that a test has written to have settled.
    pub fn later() -> Arc<Self> {
        Arc::new(Self(Mutex::new(SystemTime::now() + Duration::from_secs(3600))))
    }
    pub fn at(time: SystemTime) -> Arc<Self> {
        Arc::new(Self(Mutex::new(time)))
    }
    pub fn advance(&self, by: Duration) {
        *self.0.lock().unwrap() += by;
    }
}

impl Clock for TestClock {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap()
    }
}

pub(super) fn columns() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("name", DataType::Utf8, true),
        Field::new("size", DataType::Float64, true),
    ]))
}

pub(super) fn options(root: &Path, format: FileFormat) -> FilesOptions {
    FilesOptions {
        root: FilesRoot::Local(root.to_owned()),
        pattern: None,
        format,
        columns: columns(),
        ignore_columns: false,
        settle: SETTLE_DEFAULT,
        max_field_bytes: 1000,
        spool_dir: root.to_owned(),
    }
}

pub(super) fn source(root: &Path, format: FileFormat) -> FilesSource {
    FilesSource::new(options(root, format)).unwrap().with_clock(TestClock::later())
}

pub(super) fn csv_source(root: &Path) -> FilesSource {
    source(root, FileFormat::Csv(CsvOptions::default()))
}

/// All pages, and what they leave: a checkpoint.
pub(super) async fn read_all(source: &mut FilesSource) -> Vec<Page> {
    drain(source, WIDE).await.unwrap()
}

/// `object:line operation id` of each row.
pub(super) fn ids(pages: &[Page]) -> Vec<String> {
    let mut ids = Vec::new();
    for page in pages {
        let column = page.rows.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
        for row in 0..page.rows.num_rows() {
            let run = page.origins.objects.iter().rfind(|run| run.first_row <= row).unwrap();
            let operation = ["insert", "update", "delete"][usize::from(page.operations.value(row))];
            ids.push(format!("{}@{} {operation} {}", run.object, run.object_sequence, column.value(row)));
        }
    }
    ids
}

pub(super) fn letters(pages: &[Page]) -> Vec<(String, String, Option<String>)> {
    let letters = pages.iter().flat_map(|page| &page.dead_letters);
    letters.map(|l| (l.position.to_string(), l.class.to_string(), l.field.clone())).collect()
}

pub(super) fn gzip(content: &[u8]) -> Vec<u8> {
    // Two members: a file of one would not show that all are read.
    let member = |content: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    };
    let (first, second) = content.split_at(content.len() / 2);
    [member(first), member(second)].concat()
}

pub(super) fn zstd(content: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(content, 1).unwrap()
}

pub(super) fn parquet_bytes(batch: &RecordBatch) -> Vec<u8> {
    let properties = ::parquet::file::properties::WriterProperties::builder()
        .set_max_row_group_row_count(Some(7))
        .set_compression(::parquet::basic::Compression::SNAPPY)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// Sets a modification time that has long settled, different for each `tick`.
pub(super) fn touch(path: &Path, tick: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000 + tick);
    std::fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

pub(super) fn content_of(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect()
}

pub(super) fn write(dir: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

pub(super) fn batch(ids: Vec<Option<i64>>) -> RecordBatch {
    let names: StringArray = ids.iter().map(|id| id.map(|id| format!("n{id}"))).collect();
    let sizes: Float64Array = ids.iter().map(|id| id.map(|id| id as f64 / 2.0)).collect();
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("size", Arc::new(sizes), true),
        ("id", Arc::new(Int64Array::from(ids)), true),
        ("name", Arc::new(names), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}
