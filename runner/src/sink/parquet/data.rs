//! Data objects: the rows of one output of one batch, as Parquet.

use super::error::damaged;
use super::objects::{self, Created};
use crate::content::digest_outputs;
use crate::record::MappedOutput;
use crate::sink::SinkError;
use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use arrow::array::{
    ArrayRef, AsArray, BinaryArray, DictionaryArray, Int32Array, RecordBatch, StringArray, UInt8Array, UInt64Array,
    new_null_array,
};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, UInt8Type, UInt64Type};
use arrow::error::ArrowError;
use bytes::Bytes;
use gristmill_core::digest::Digest;
use gristmill_core::id::BatchId;
use object_store::ObjectStore;
use object_store::path::Path;
use std::sync::Arc;

pub(super) const OPERATION: &str = "gristmill_operation";
pub(super) const VERSION: &str = "gristmill_version";
pub(super) const HASH: &str = "gristmill_hash";
pub(super) const BATCH: &str = "gristmill_batch";
const BOOKKEEPING: usize = 4;

/// The rows of a data object.
pub(super) struct DataRows {
    pub rows: RecordBatch,
    pub operations: UInt8Array,
    pub versions: BinaryArray,
    pub hashes: UInt64Array,
}

/// The rows of an output as the bytes of a Parquet file.
pub(super) fn encode(output: &MappedOutput, batch_id: BatchId) -> Result<Bytes, SinkError> {
    encoded(output, batch_id).map(Bytes::from).map_err(|error| SinkError::Permanent {
        what: format!("output `{}` cannot be written as Parquet: {error}", output.name),
        hint: "report this as a bug of gristmill".into(),
    })
}

fn encoded(output: &MappedOutput, batch_id: BatchId) -> Result<Vec<u8>, ParquetError> {
    let rows = output.rows.num_rows();
    let batch_id = StringArray::from_iter_values([batch_id.to_string()]);
    let batch_ids = DictionaryArray::try_new(Int32Array::from(vec![0; rows]), Arc::new(batch_id))?;
    let bookkeeping: [(&str, ArrayRef); BOOKKEEPING] = [
        (OPERATION, Arc::new(output.operations.clone())),
        (VERSION, Arc::new(output.versions.clone())),
        (HASH, Arc::new(output.hashes.clone())),
        (BATCH, Arc::new(batch_ids)),
    ];
    let mut fields = output.rows.schema_ref().fields().to_vec();
    let mut columns = output.rows.columns().to_vec();
    for (name, array) in bookkeeping {
        fields.push(Arc::new(Field::new(name, array.data_type().clone(), false)));
        columns.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), columns)?;
    let level = ZstdLevel::try_new(1)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties))?;
    writer.write(&batch)?;
    writer.into_inner()
}

/// Whether rows of a schema can be written. Not all types that have a Parquet schema have a writer, so a row of nulls is
/// written on trial.
pub(super) fn try_schema(schema: &Schema) -> Result<(), ParquetError> {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let nulls = schema.fields().iter().map(|field| new_null_array(field.data_type(), 1)).collect();
    let mut writer = ArrowWriter::try_new(std::io::sink(), schema.clone(), None)?;
    writer.write(&RecordBatch::try_new(schema, nulls)?)?;
    writer.close()?;
    Ok(())
}

/// Reads the bytes of a data object.
pub(super) fn decode(path: &Path, bytes: Bytes) -> Result<DataRows, SinkError> {
    let unreadable = |error: &dyn std::fmt::Display| damaged(format!("the data object {path} cannot be read: {error}"));
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|error| unreadable(&error))?;
    let schema = builder.schema().clone();
    let reader = builder.with_batch_size(64 * 1024).build().map_err(|error| unreadable(&error))?;
    let batches: Vec<RecordBatch> = reader.collect::<Result<_, ArrowError>>().map_err(|error| unreadable(&error))?;
    let all = concat_batches(&schema, &batches).map_err(|error| unreadable(&error))?;
    split(&all).ok_or_else(|| unreadable(&"it lacks the sink's columns"))
}

fn split(all: &RecordBatch) -> Option<DataRows> {
    let payload: Vec<usize> = (0..all.num_columns().checked_sub(BOOKKEEPING)?).collect();
    let own =
        |name: &str, data_type: DataType| all.column_by_name(name).filter(|array| *array.data_type() == data_type);
    Some(DataRows {
        rows: all.project(&payload).ok()?,
        operations: own(OPERATION, DataType::UInt8)?.as_primitive::<UInt8Type>().clone(),
        versions: own(VERSION, DataType::Binary)?.as_binary().clone(),
        hashes: own(HASH, DataType::UInt64)?.as_primitive::<UInt64Type>().clone(),
    })
}

/// Stores the bytes of an output; returns the bytes that are there in the end. Another build may have written the same rows as
/// other bytes: what counts is that they say the same.
pub(super) async fn put(
    store: &dyn ObjectStore,
    path: &Path,
    bytes: Bytes,
    output: &MappedOutput,
) -> Result<Bytes, SinkError> {
    let existing = match objects::create(store, path, bytes.clone()).await? {
        Created::New => return Ok(bytes),
        Created::Existing(existing) if existing == bytes => return Ok(bytes),
        Created::Existing(existing) => existing,
    };
    let there = tokio::task::block_in_place(|| decode(path, existing.clone()))?;
    let ours = content(&output.name, &output.rows, &output.operations, &output.versions);
    match ours == content(&output.name, &there.rows, &there.operations, &there.versions) {
        true => Ok(existing),
        false => Err(damaged(format!(
            "the data object {path} exists with other rows than the batch has; nothing was published"
        ))),
    }
}

fn content(name: &str, rows: &RecordBatch, operations: &UInt8Array, versions: &BinaryArray) -> Digest {
    digest_outputs(std::iter::once((name, rows, operations, versions)))
}
