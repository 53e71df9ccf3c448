//! The Parquet sink: a dataset of one object for each batch and output, in any object store.
//!
//! An object counts only once the log of its partition names it ([`published`]): publishing is the creation of one log
//! entry. A dataset is a **change log**: it cannot look records up, so it keeps every row with its operation, version,
//! hash and batch, and readers resolve them ([`read_current`] does).
//!
//! Before its data, a batch leaves an *attempt*: its digest and the end of the log at that time. Its entry can only come
//! after that end, so whether a batch is published is answered by reading a few entries, however long the log is.

mod data;
mod error;
mod layout;
mod log;
mod objects;
mod read;
mod schema;

pub use log::{PublishedBatch, PublishedFile};
pub use read::{Published, published, read_current};

use super::{Guarantee, MappedBatch, OutputReceipt, Receipt, Sink, SinkError, Tenure};
use crate::faults::{FaultPoint, reach};
use crate::record::{MappedOutput, OutputSchema};
use error::{damaged, failed};
use gristmill_core::digest::Digest;
use gristmill_core::id::{BatchId, Epoch, PartitionId, TaskId};
use gristmill_core::record::OperationCounts;
use layout::Layout;
use log::{Entry, Log};
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use objects::Created;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a dataset is.
#[derive(Debug, Clone)]
pub struct ParquetSinkOptions {
    /// A store whose puts are durable when they return, and which can create an object only where there is none.
    pub store: Arc<dyn ObjectStore>,
    /// The dataset's place in the store.
    pub prefix: Path,
}

impl ParquetSinkOptions {
    /// A dataset in a local folder, which is created when it is not there. Files and folders are synced.
    pub fn local(folder: &std::path::Path) -> Result<Self, SinkError> {
        super::create_folder(folder)?;
        let store = LocalFileSystem::new_with_prefix(folder)
            .map_err(|error| failed(format!("opening the folder {}", folder.display()), error))?;
        Ok(Self { store: Arc::new(store.with_fsync(true)), prefix: Path::default() })
    }
}

/// What a batch leaves before its data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Attempt {
    #[serde(rename = "attempt/1", rename_all = "camelCase")]
    V1 {
        /// Whose log may have the batch.
        partition_id: PartitionId,
        digest: Digest,
        /// The end of the log before the first attempt.
        log_head: u64,
    },
}

/// Writes a dataset of Parquet files.
#[derive(Debug)]
pub struct ParquetSink {
    store: Arc<dyn ObjectStore>,
    layout: Layout,
    opened: Option<Opened>,
}

#[derive(Debug)]
struct Opened {
    tenure: Tenure,
    /// In the mapper's order.
    outputs: Vec<OutputSchema>,
    log: Log,
}

impl ParquetSink {
    pub fn new(options: ParquetSinkOptions) -> Self {
        Self { store: options.store, layout: Layout::new(options.prefix), opened: None }
    }

    async fn open_now(&mut self, tenure: &Tenure, outputs: &[OutputSchema]) -> Result<(), SinkError> {
        self.opened = None;
        check_outputs(outputs)?;
        let folder = self.layout.log(&tenure.task_id, &tenure.partition_id);
        let mut log = Log::open(self.store.clone(), folder).await?;
        log.admit(tenure.fencing_token)?;
        for output in outputs {
            schema::record(&*self.store, &self.layout, output, &tenure.task_id).await?;
        }
        reach(FaultPoint::SinkFenceBefore);
        log.append(Entry::Fence { fencing_token: tenure.fencing_token }).await?;
        reach(FaultPoint::SinkFenceAfter);
        self.opened = Some(Opened { tenure: tenure.clone(), outputs: outputs.to_vec(), log });
        Ok(())
    }

    async fn write_now(&mut self, batch: &MappedBatch) -> Result<Receipt, SinkError> {
        let opened = self.opened.as_mut().ok_or_else(super::not_open)?;
        opened.check(batch)?;
        let counts = batch.outputs.iter().map(count).collect::<Result<Vec<_>, _>>()?;
        reach(FaultPoint::SinkDataBefore);
        if let Some(receipt) = attempt(&*self.store, &self.layout, &mut opened.log, batch).await? {
            return receipt.of_same_content(batch);
        }
        let mut files = Vec::with_capacity(batch.outputs.len());
        for (output, place) in batch.outputs.iter().zip(&opened.outputs) {
            let bytes = tokio::task::block_in_place(|| data::encode(output, batch.batch_id))?;
            let relative = Layout::data(&place.table, batch.batch_id);
            let bytes = data::put(&*self.store, &self.layout.absolute(&relative), bytes, output).await?;
            files.push(PublishedFile {
                output: place.table.clone(),
                path: relative.to_string(),
                rows: output.rows.num_rows() as u64,
                bytes: bytes.len() as u64,
                digest: Digest::of(&bytes),
            });
        }
        reach(FaultPoint::SinkDataAfter);
        let entry = Entry::Publish(PublishedBatch {
            epoch: batch.epoch,
            sequence: batch.sequence,
            schema_id: batch.schema_id.clone(),
            receipt: Receipt::new(batch, super::now(), counts),
            files,
        });
        reach(FaultPoint::SinkCommitBefore);
        let entry = opened.log.append(entry).await?;
        reach(FaultPoint::SinkCommitAfter);
        match entry {
            Entry::Publish(published) => published.receipt.of_same_content(batch),
            Entry::Fence { .. } => Err(damaged("the log answered a batch with a fence".into())),
        }
    }
}

fn check_outputs(outputs: &[OutputSchema]) -> Result<(), SinkError> {
    for (place, output) in outputs.iter().enumerate() {
        schema::check(output)?;
        if let Some(other) = outputs[..place].iter().find(|other| other.table.eq_ignore_ascii_case(&output.table)) {
            return Err(SinkError::Mismatch {
                what: format!("the outputs `{}` and `{}` go to one folder `{}`", other.name, output.name, output.table),
                hint: "give each output a table of its own; some stores ignore case in names".into(),
            });
        }
    }
    Ok(())
}

impl Opened {
    fn check(&self, batch: &MappedBatch) -> Result<(), SinkError> {
        super::check_batch(batch, &self.tenure)?;
        for (place, output) in batch.outputs.iter().enumerate() {
            match self.outputs.get(place) {
                Some(place) if place.name == output.name => super::check_output(output, &place.schema)?,
                _ => return Err(super::unknown_output(&output.name)),
            }
        }
        Ok(())
    }
}

/// Leaves the attempt of a batch. When there was an earlier one, looks for its receipt.
async fn attempt(
    store: &dyn ObjectStore,
    layout: &Layout,
    log: &mut Log,
    batch: &MappedBatch,
) -> Result<Option<Receipt>, SinkError> {
    let path = layout.attempt(&batch.task_id, batch.batch_id);
    let ours = Attempt::V1 { partition_id: batch.partition_id.clone(), digest: batch.digest, log_head: log.head() };
    let json = serde_json::to_vec(&ours).map_err(|error| SinkError::Permanent {
        what: format!("the attempt of batch {} cannot be written as JSON: {error}", batch.batch_id),
        hint: "report this as a bug of gristmill".into(),
    })?;
    let Created::Existing(bytes) = objects::create(store, &path, json.into()).await? else { return Ok(None) };
    let Attempt::V1 { partition_id, digest, log_head } = parse_attempt(&path, &bytes)?;
    if (digest, &partition_id) != (batch.digest, &batch.partition_id) {
        return Err(SinkError::Permanent {
            what: format!(
                "batch {} was first delivered with content {} to partition {partition_id}, now with {} to {}; \
                 nothing was written",
                batch.batch_id,
                digest.short(),
                batch.digest.short(),
                batch.partition_id
            ),
            hint: "the same code gave other rows: check the stored batch with `gristmill replay --verify`".into(),
        });
    }
    Ok(log.find(batch.batch_id, log_head).await?.map(|published| published.receipt))
}

fn parse_attempt(path: &Path, bytes: &[u8]) -> Result<Attempt, SinkError> {
    serde_json::from_slice(bytes).map_err(|error| damaged(format!("the attempt {path} cannot be read: {error}")))
}

/// A change log takes every row: the counts are of operations.
fn count(output: &MappedOutput) -> Result<OutputReceipt, SinkError> {
    let counts =
        OperationCounts::of(output.operations.values().iter().copied()).ok_or_else(|| SinkError::Permanent {
            what: format!("output `{}`: an operation is not known; nothing was written", output.name),
            hint: "every row needs an operation of insert, update or delete".into(),
        })?;
    Ok(OutputReceipt {
        output: output.name.clone(),
        rows: counts.total(),
        inserted: counts.inserts,
        updated: counts.updates,
        deleted: counts.deletes,
        ..OutputReceipt::default()
    })
}

#[async_trait::async_trait]
impl Sink for ParquetSink {
    fn guarantee(&self) -> Guarantee {
        Guarantee {
            batches: "effectively once: a batch is published by one log entry, however often it is delivered",
            records: "a change log: every version is kept, and readers take the newest of each record",
        }
    }

    fn check(&self, outputs: &[OutputSchema]) -> Result<(), SinkError> {
        check_outputs(outputs)
    }

    async fn open(&mut self, tenure: &Tenure, outputs: &[OutputSchema]) -> Result<(), SinkError> {
        self.open_now(tenure, outputs).await
    }

    async fn find_receipt(&mut self, task_id: &TaskId, batch_id: BatchId) -> Result<Option<Receipt>, SinkError> {
        let opened = self.opened.as_mut().ok_or_else(super::not_open)?;
        let path = self.layout.attempt(task_id, batch_id);
        let Some(bytes) = objects::read(&*self.store, &path).await? else { return Ok(None) };
        let Attempt::V1 { partition_id, log_head, .. } = parse_attempt(&path, &bytes)?;
        let published = if (task_id, &partition_id) == (&opened.tenure.task_id, &opened.tenure.partition_id) {
            opened.log.find(batch_id, log_head).await?
        } else {
            Log::open(self.store.clone(), self.layout.log(task_id, &partition_id))
                .await?
                .find(batch_id, log_head)
                .await?
        };
        Ok(published.map(|published| published.receipt))
    }

    async fn write(&mut self, batch: &MappedBatch) -> Result<Receipt, SinkError> {
        self.write_now(batch).await
    }

    async fn last_batch(&mut self, tenure: &Tenure, epoch: Epoch) -> Result<Option<BatchId>, SinkError> {
        let folder = self.layout.log(&tenure.task_id, &tenure.partition_id);
        Log::open(self.store.clone(), folder).await?.last_batch(epoch).await
    }

    async fn count(&mut self) -> Result<BTreeMap<String, u64>, SinkError> {
        let opened = self.opened.as_ref().ok_or_else(super::not_open)?;
        let mut counts = BTreeMap::new();
        for output in &opened.outputs {
            let current = read_current(&*self.store, self.layout.prefix(), &output.table).await?;
            counts.insert(output.name.clone(), current.map_or(0, |rows| rows.num_rows() as u64));
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests;
