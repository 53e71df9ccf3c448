//! Inputs: the flights of the repository, as Arrow batches and as large CSV files.

use crate::Failure;
use crate::places::Places;
use arrow::array::RecordBatch;
use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Format;
use arrow::datatypes::{DataType, Field, Schema};
use gristmill::host::{Dictionaries, Dictionary};
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

const COLUMNS: [(&str, DataType); 19] = [
    ("year", DataType::Int32),
    ("month", DataType::Int32),
    ("day", DataType::Int32),
    ("dep_time", DataType::Utf8),
    ("sched_dep_time", DataType::Int32),
    ("dep_delay", DataType::Utf8),
    ("arr_time", DataType::Utf8),
    ("sched_arr_time", DataType::Int32),
    ("arr_delay", DataType::Utf8),
    ("carrier", DataType::Utf8),
    ("flight", DataType::Int32),
    ("tailnum", DataType::Utf8),
    ("origin", DataType::Utf8),
    ("dest", DataType::Utf8),
    ("air_time", DataType::Utf8),
    ("distance", DataType::Int32),
    ("hour", DataType::Int32),
    ("minute", DataType::Int32),
    ("time_hour", DataType::Utf8),
];

/// The columns as the pipeline declares them.
pub fn columns_yaml() -> String {
    let kind = |data_type: &DataType| if *data_type == DataType::Utf8 { "utf8" } else { "int32" };
    COLUMNS.iter().map(|(name, data_type)| format!("      {name}: {}\n", kind(data_type))).collect()
}

/// Three months as CSV: the header once, then some 81,000 rows.
fn months(places: &Places) -> Result<Vec<u8>, Failure> {
    let mut all = Vec::new();
    for month in 1..=3 {
        let name = places.flights.join(format!("data/flights/flights-2013-{month:02}.csv"));
        let mut text = Vec::new();
        let packed = |suffix: &str| PathBuf::from(format!("{}{suffix}", name.display()));
        if packed(".gz").exists() {
            flate2::read::GzDecoder::new(File::open(packed(".gz"))?).read_to_end(&mut text)?;
        } else {
            zstd::stream::copy_decode(File::open(packed(".zst"))?, &mut text)?;
        }
        let header_end = text.iter().position(|byte| *byte == b'\n').ok_or("a file without a header")? + 1;
        all.extend_from_slice(&text[if month == 1 { 0 } else { header_end }..]);
    }
    Ok(all)
}

/// The first rows, typed as the pipeline's source types them.
pub fn batch(places: &Places, rows: usize) -> Result<RecordBatch, Failure> {
    let fields = COLUMNS.map(|(name, data_type)| Field::new(name, data_type, true));
    let text = months(places)?;
    let reader = ReaderBuilder::new(Arc::new(Schema::new(fields.to_vec()))).with_header(true).with_batch_size(rows);
    let batch = reader.build(text.as_slice())?.next().ok_or("no flights")??;
    match batch.num_rows() == rows {
        true => Ok(batch),
        false => Err(format!("the repository has {} flights, not {rows}", batch.num_rows()).into()),
    }
}

/// The dictionaries of the pipeline.
pub fn dictionaries(places: &Places) -> Result<Dictionaries, Failure> {
    let mut dictionaries = Dictionaries::new();
    for (name, key) in [("airlines", "carrier"), ("airports", "faa")] {
        let path = places.flights.join(format!("data/{name}.csv"));
        let (schema, _) = Format::default().with_header(true).infer_schema(File::open(&path)?, None)?;
        let schema = Arc::new(schema);
        let reader = ReaderBuilder::new(schema.clone()).with_header(true).build(File::open(&path)?)?;
        let parts = reader.collect::<Result<Vec<_>, _>>()?;
        dictionaries.insert(Dictionary::new(name, key, arrow::compute::concat_batches(&schema, &parts)?)?)?;
    }
    Ok(dictionaries)
}

/// A CSV file of so many flights, repeated, each with a unique integer `id` in front: 20 columns. Made once, and kept.
pub fn csv(places: &Places, rows: usize) -> Result<PathBuf, Failure> {
    let folder = places.bench.join(format!("flights-{rows}"));
    let path = folder.join("flights.csv");
    if path.exists() {
        return Ok(folder);
    }
    fs::create_dir_all(&folder)?;
    let text = months(places)?;
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    let header = lines.next().ok_or("no header")?;
    let unfinished = folder.join("unfinished");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&unfinished)?);
    write!(file, "id,")?;
    file.write_all(header)?;
    for (id, line) in lines.cycle().take(rows).enumerate() {
        write!(file, "{id},")?;
        file.write_all(line)?;
    }
    file.into_inner()?.sync_all()?;
    // Its name says that it is whole.
    fs::rename(unfinished, &path)?;
    Ok(folder)
}
