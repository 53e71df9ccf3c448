//! The batch store: data file, manifest, READY, in this order, each durable before the next.

use super::state::{NewBatch, ReadyRow};
use super::{Objects, StateStore, StoreError, now};
use crate::faults::{FaultPoint, reach};
use crate::record::{ChangeRecords, Page};
use crate::store::raw::{self, RawRows};
use crate::store::state::BatchRow;
use arrow::array::{Array, ArrayRef, BinaryArray, RecordBatch, UInt8Array};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use gristmill_core::cursor::Cursor;
use gristmill_core::dead_letter::DeadLetter;
use gristmill_core::digest::Digest;
use gristmill_core::id::{BatchId, Epoch, PartitionId, SchemaId, Sequence, TaskId, TaskVersion};
use gristmill_core::lease::Tenure;
use gristmill_core::manifest::{BatchState, MANIFEST_FORMAT, Manifest, RawPage};
use gristmill_core::pins::Pins;
use gristmill_core::record::OperationCounts;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bookkeeping columns of the data file, after the payload.
pub const OPERATION_COLUMN: &str = "gristmill_operation";
pub const VERSION_COLUMN: &str = "gristmill_version";

/// Distinct values of a column that are worth a dictionary in the data file.
const DICTIONARY_MAX_BYTES: usize = 64 * 1024;

/// A batch whose data file and manifest are durable and whose state is READY or later. Only the batch store makes
/// one: from a draft that it just wrote, or from files that it has verified.
#[derive(Debug)]
pub struct ReadyBatch {
    manifest: Manifest,
    records: ChangeRecords,
}

impl ReadyBatch {
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
    pub fn records(&self) -> &ChangeRecords {
        &self.records
    }
}

/// What a new batch holds.
#[derive(Debug)]
pub enum Content<'a> {
    /// Records that normalize just made, and the page that it made them of where the task keeps it.
    New { records: ChangeRecords, raw: Option<&'a Page> },
    /// The records of an earlier batch, to be mapped anew: its data file serves both.
    Of(Box<ReadyBatch>),
    /// What normalize makes anew of the page of an earlier batch.
    Renormalized { of: Box<Manifest>, records: ChangeRecords },
}

/// Everything about a batch but its bytes.
#[derive(Debug)]
pub struct BatchDraft<'a> {
    pub task_version: TaskVersion,
    pub epoch: Epoch,
    pub sequence: Sequence,
    pub schema_id: SchemaId,
    pub schema_digest: Digest,
    pub pins: Pins,
    pub cursor_from: Cursor,
    pub cursor_to: Cursor,
    pub source_state: BTreeMap<String, Option<String>>,
    pub content: Content<'a>,
    /// Records of the page that were refused; written with the READY mark, so that both are there or neither.
    pub dead_letters: Vec<DeadLetter>,
    /// The dead letter that each record is, in a replay of dead letters; after them those whose records gave none.
    pub letters: Vec<i64>,
}

/// A data file, written or shared.
struct Stored {
    uri: String,
    bytes: u64,
    checksum: Digest,
    raw: Option<RawPage>,
    records: ChangeRecords,
}

/// What a verification found for one batch.
#[derive(Debug)]
pub enum Verified {
    Intact { rows: u64 },
    Damaged(StoreError),
}

/// Immutable batches: files in the object store, life cycle in the state store.
#[derive(Debug, Clone)]
pub struct BatchStore {
    objects: Objects,
    state: StateStore,
}

impl BatchStore {
    pub fn new(objects: Objects, state: StateStore) -> Self {
        Self { objects, state }
    }

    /// Makes a batch durable. After a crash anywhere in here the batch is either READY or it never was.
    pub async fn put(&self, tenure: &Tenure, draft: BatchDraft<'_>) -> Result<ReadyBatch, StoreError> {
        let batch_id = BatchId::from_ulid(ulid::Ulid::generate());
        let created_at = now();
        let folder = folder(&tenure.task_id, draft.epoch, &tenure.partition_id, batch_id);
        let original = match &draft.content {
            Content::Of(original) => Some(original.manifest.clone()),
            Content::Renormalized { of, .. } => Some(Manifest::clone(of)),
            Content::New { .. } => None,
        };
        let shares_data = matches!(draft.content, Content::Of(_));
        let new = NewBatch {
            batch_id,
            task_version: draft.task_version,
            epoch: draft.epoch,
            sequence: draft.sequence,
            schema_id: draft.schema_id.clone(),
            replay_of: original.as_ref().map(|manifest| manifest.batch_id),
            created_at,
        };
        self.state.begin_batch(tenure, &new).await?;

        let stored = self.store(&folder, draft.content).await?;
        let counts = OperationCounts::of(stored.records.operations.values().iter().copied()).ok_or_else(|| {
            StoreError::Refused { what: "a record has an unknown operation".into(), hint: BUG.into() }
        })?;
        let manifest = Manifest {
            format: MANIFEST_FORMAT,
            batch_id,
            task_id: tenure.task_id.clone(),
            task_version: draft.task_version,
            partition_id: tenure.partition_id.clone(),
            epoch: draft.epoch,
            sequence: draft.sequence,
            schema_id: draft.schema_id,
            schema_digest: draft.schema_digest,
            cursor_from: draft.cursor_from,
            cursor_to: draft.cursor_to,
            record_count: counts.total(),
            insert_count: counts.inserts,
            update_count: counts.updates,
            delete_count: counts.deletes,
            dead_letter_count: match &original {
                Some(original) if shares_data => original.dead_letter_count,
                _ => draft.dead_letters.len() as u64,
            },
            data_uri: stored.uri,
            data_bytes: stored.bytes,
            checksum: stored.checksum,
            created_at,
            fencing_token: tenure.fencing_token,
            pins: draft.pins,
            replay_of: original.map(|manifest| manifest.batch_id),
            raw: stored.raw,
            source_state: draft.source_state,
        };
        let json = serde_json::to_vec_pretty(&manifest).map_err(unreadable(&folder))?;
        let manifest_digest = Digest::of(&json);
        reach(FaultPoint::BatchManifestBefore);
        self.objects.put(&manifest_key(&folder), Bytes::from(json)).await?;
        reach(FaultPoint::BatchManifestAfter);

        reach(FaultPoint::BatchReadyBefore);
        let ready = ReadyRow {
            manifest: &manifest,
            manifest_digest,
            dead_letters: &draft.dead_letters,
            letters: &draft.letters,
        };
        self.state.mark_ready(tenure, ready).await?;
        reach(FaultPoint::BatchReadyAfter);
        Ok(ReadyBatch { manifest, records: stored.records })
    }

    /// Makes the data of a batch durable, or finds it where an earlier batch left it.
    async fn store(&self, folder: &str, content: Content<'_>) -> Result<Stored, StoreError> {
        let (records, raw, kept) = match content {
            Content::Of(original) => {
                let ReadyBatch { manifest, records } = *original;
                let Manifest { data_uri: uri, data_bytes: bytes, checksum, raw, .. } = manifest;
                return Ok(Stored { uri, bytes, checksum, raw, records });
            }
            Content::Renormalized { of, records } => (records, None, of.raw),
            Content::New { records, raw } => (records, raw, None),
        };
        let raw = match raw {
            None => kept,
            Some(page) => {
                let (data, checksum) = tokio::task::block_in_place(|| raw::encode(page).map(with_digest))?;
                let kept = RawPage { uri: raw_key(folder), bytes: data.len() as u64, checksum };
                self.objects.put(&kept.uri, data).await?;
                Some(kept)
            }
        };
        let uri = data_key(folder);
        let (data, checksum) = tokio::task::block_in_place(|| encode(&records).map(with_digest))?;
        let bytes = data.len() as u64;
        reach(FaultPoint::BatchDataBefore);
        self.objects.put(&uri, data).await?;
        reach(FaultPoint::BatchDataAfter);
        Ok(Stored { uri, bytes, checksum, raw, records })
    }

    /// The page of a batch as the source gave it, where the task kept it.
    pub async fn raw(&self, manifest: &Manifest) -> Result<Option<RawRows>, StoreError> {
        let Some(kept) = &manifest.raw else { return Ok(None) };
        let data = self.objects.get_verified(&kept.uri, kept.checksum).await?;
        tokio::task::block_in_place(|| raw::decode(&kept.uri, data)).map(Some)
    }

    /// Reads a batch back, proving manifest and data against the digests recorded before READY.
    pub async fn open(&self, row: &BatchRow) -> Result<ReadyBatch, StoreError> {
        let manifest = self.manifest(row).await?;
        let data = self.objects.get_verified(&manifest.data_uri, manifest.checksum).await?;
        let records = tokio::task::block_in_place(|| decode(data)).map_err(unreadable(&manifest.data_uri))?;
        if records.rows.num_rows() as u64 != manifest.record_count {
            return Err(StoreError::Damaged {
                what: manifest.data_uri,
                detail: format!(
                    "it has {} records, its manifest says {}",
                    records.rows.num_rows(),
                    manifest.record_count
                ),
                hint: RESTORE.into(),
            });
        }
        Ok(ReadyBatch { manifest, records })
    }

    /// Reads a manifest, proving it against the state store.
    pub async fn manifest(&self, row: &BatchRow) -> Result<Manifest, StoreError> {
        let (BatchState::Ready | BatchState::Committed, Some(digest)) = (row.state, row.manifest_digest) else {
            return Err(StoreError::Refused {
                what: format!("batch {} is {}", row.batch_id, row.state.as_str()),
                hint: "only READY and COMMITTED batches may be read".into(),
            });
        };
        let folder = folder_of(row);
        let json = self.objects.get_verified(&manifest_key(&folder), digest).await?;
        let manifest: Manifest = serde_json::from_slice(&json).map_err(unreadable(&manifest_key(&folder)))?;
        if manifest.batch_id != row.batch_id || manifest.format != MANIFEST_FORMAT {
            return Err(StoreError::Damaged {
                what: manifest_key(&folder),
                detail: format!("it describes batch {} in format {}", manifest.batch_id, manifest.format),
                hint: RESTORE.into(),
            });
        }
        Ok(manifest)
    }

    /// Checks one batch to its last value.
    pub async fn verify(&self, row: &BatchRow) -> Result<Verified, StoreError> {
        match self.open(row).await {
            Ok(batch) => Ok(Verified::Intact { rows: batch.manifest.record_count }),
            Err(e @ (StoreError::Damaged { .. } | StoreError::Missing { .. })) => Ok(Verified::Damaged(e)),
            Err(e) => Err(e),
        }
    }

    /// The keys of all objects that a READY or COMMITTED batch needs. A replay's batch may need those of an earlier one.
    pub async fn needs(&self, row: &BatchRow) -> Result<(Manifest, Vec<String>), StoreError> {
        let manifest = self.manifest(row).await?;
        let mut keys = vec![manifest_key(&folder_of(row)), manifest.data_uri.clone()];
        keys.extend(manifest.raw.as_ref().map(|raw| raw.uri.clone()));
        Ok((manifest, keys))
    }

    /// Throws away a batch that never became READY: first its files, then its row, so that a crash in between leaves a
    /// row that is thrown away again.
    pub async fn discard(&self, tenure: &Tenure, row: &BatchRow) -> Result<(), StoreError> {
        let folder = folder_of(row);
        self.objects.remove(&manifest_key(&folder)).await?;
        self.objects.remove(&data_key(&folder)).await?;
        self.objects.remove(&raw_key(&folder)).await?;
        self.state.discard_batch(tenure, row.batch_id).await
    }
}

const RESTORE: &str = "restore the file from a backup, or set the batch aside with `gristmill batches quarantine`";
const BUG: &str = "this is a bug in gristmill: please report it";

/// Where the files of a batch lie, below the store's root.
fn folder(task: &TaskId, epoch: Epoch, partition: &PartitionId, batch_id: BatchId) -> String {
    format!("batches/{task}/{epoch}/{partition}/{batch_id}")
}

/// The batch that an object belongs to, if its key is that of a batch's file.
pub fn batch_of_key(key: &str) -> Option<BatchId> {
    let mut parts = key.split('/');
    if parts.next() != Some("batches") {
        return None;
    }
    let batch_id = parts.nth(3)?.parse().ok()?;
    parts.next().filter(|_| parts.next().is_none())?;
    Some(batch_id)
}

fn folder_of(row: &BatchRow) -> String {
    folder(&row.task_id, row.epoch, &row.partition_id, row.batch_id)
}

fn data_key(folder: &str) -> String {
    format!("{folder}/data.parquet")
}

fn raw_key(folder: &str) -> String {
    format!("{folder}/raw.parquet")
}

fn with_digest(data: Bytes) -> (Bytes, Digest) {
    let digest = Digest::of(&data);
    (data, digest)
}

fn manifest_key(folder: &str) -> String {
    format!("{folder}/manifest.json")
}

pub(super) fn unreadable<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> StoreError {
    let what = what.to_owned();
    move |e| StoreError::Damaged { what, detail: e.to_string(), hint: RESTORE.into() }
}

/// Change records as Parquet: payload columns, then operation and version.
fn encode(records: &ChangeRecords) -> Result<Bytes, StoreError> {
    let schema = stored_schema(&records.rows.schema());
    let mut columns = records.rows.columns().to_vec();
    columns.push(Arc::new(records.operations.clone()) as ArrayRef);
    columns.push(Arc::new(records.versions.clone()) as ArrayRef);
    let rows = RecordBatch::try_new(schema, columns).map_err(|e| not_encoded(e.into()))?;
    // Versions differ in each row, mostly at their end.
    encode_rows(&rows, &[VERSION_COLUMN])
}

fn not_encoded(e: parquet::errors::ParquetError) -> StoreError {
    StoreError::Io { doing: "encoding a batch".into(), transient: false, source: e.into() }
}

/// Rows as Parquet. `rising` names columns whose values share their beginnings and never repeat.
pub(super) fn encode_rows(rows: &RecordBatch, rising: &[&str]) -> Result<Bytes, StoreError> {
    // Level 1: the disk is rarely the bottleneck, the CPU often is. No statistics: a batch is always read whole. A
    // dictionary of values that never repeat is pure cost; so is one of any other column that has outgrown its page.
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(None)
        .set_dictionary_page_size_limit(DICTIONARY_MAX_BYTES);
    for column in rising.iter().map(|name| ColumnPath::from(*name)) {
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BYTE_ARRAY);
    }
    let mut file = Vec::with_capacity(rows.get_array_memory_size() / 4);
    let mut writer = ArrowWriter::try_new(&mut file, rows.schema(), Some(properties.build())).map_err(not_encoded)?;
    writer.write(rows).map_err(not_encoded)?;
    writer.close().map_err(not_encoded)?;
    Ok(file.into())
}

fn stored_schema(payload: &SchemaRef) -> SchemaRef {
    let mut fields = payload.fields().to_vec();
    fields.push(Arc::new(Field::new(OPERATION_COLUMN, DataType::UInt8, false)));
    fields.push(Arc::new(Field::new(VERSION_COLUMN, DataType::Binary, false)));
    Arc::new(Schema::new(fields))
}

/// All rows of a Parquet file.
pub(super) fn whole(data: Bytes) -> Result<RecordBatch, String> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(data).map_err(|e| e.to_string())?;
    let schema = builder.schema().clone();
    let rows = usize::try_from(builder.metadata().file_metadata().num_rows()).map_err(|e| e.to_string())?;
    let reader = builder.with_batch_size(rows.max(1)).build().map_err(|e| e.to_string())?;
    let parts = reader.collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
    match parts.as_slice() {
        [one] => Ok(one.clone()),
        parts => concat_batches(&schema, parts).map_err(|e| e.to_string()),
    }
}

fn decode(data: Bytes) -> Result<ChangeRecords, String> {
    let whole = whole(data)?;
    let payload_columns = whole.num_columns().checked_sub(2).ok_or("it has no bookkeeping columns")?;
    let bookkeeping = |name: &str| whole.column_by_name(name).ok_or(format!("it has no column {name}"));
    let operations = bookkeeping(OPERATION_COLUMN)?.as_any().downcast_ref::<UInt8Array>();
    let versions = bookkeeping(VERSION_COLUMN)?.as_any().downcast_ref::<BinaryArray>();
    let (Some(operations), Some(versions)) = (operations.cloned(), versions.cloned()) else {
        return Err("its bookkeeping columns have other types".into());
    };
    let indices: Vec<usize> = (0..payload_columns).collect();
    let rows = whole.project(&indices).map_err(|e| e.to_string())?;
    Ok(ChangeRecords { rows, operations, versions })
}
