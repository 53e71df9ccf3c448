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
mod tables;

pub use log::{PublishedBatch, PublishedFile};
pub use read::{Published, published, read_current};

use super::{Guarantee, MappedBatch, OutputReceipt, Receipt, Sink, SinkError, Swap, Tenure};
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
use tables::RebuiltTable;

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
    outputs: Vec<OpenedOutput>,
    log: Log,
}

#[derive(Debug)]
struct OpenedOutput {
    output: OutputSchema,
    folder: String,
    /// The epoch under which the table was rebuilt.
    rebuilt: Option<Epoch>,
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
        let tables = log.tables().await?;
        let mut opened = Vec::with_capacity(outputs.len());
        for output in outputs {
            let rebuilt = tables::find(&tables, &output.table);
            let folder = rebuilt.map_or(&output.table, |table| &table.folder).clone();
            schema::record(&*self.store, &self.layout, &folder, output, &tenure.task_id).await?;
            opened.push(OpenedOutput { output: output.clone(), folder, rebuilt: rebuilt.map(|table| table.epoch) });
        }
        reach(FaultPoint::SinkFenceBefore);
        log.append(Entry::Fence { fencing_token: tenure.fencing_token }).await?;
        reach(FaultPoint::SinkFenceAfter);
        if log.tables().await? != tables {
            return Err(SinkError::Transient {
                doing: "opening the dataset".into(),
                source: "its tables were swapped at the same time".into(),
            });
        }
        self.opened = Some(Opened { tenure: tenure.clone(), outputs: opened, log });
        Ok(())
    }

    async fn swap_now(&mut self, tenure: &Tenure, epoch: Epoch, swaps: &[Swap]) -> Result<(), SinkError> {
        let mut log = match self.opened.take() {
            Some(opened) if opened.tenure == *tenure => opened.log,
            _ => Log::open(self.store.clone(), self.layout.log(&tenure.task_id, &tenure.partition_id)).await?,
        };
        // From here on nobody with a smaller token can add a swap: what the log says of tables is all there is.
        log.append(Entry::Fence { fencing_token: tenure.fencing_token }).await?;
        let before = log.tables().await?;
        let mut tables = before.clone();
        for swap in swaps {
            let known = tables.iter().position(|known| known.table == swap.table);
            match known.map(|place| tables[place].epoch) {
                Some(reached) if reached > epoch => return Err(super::swap::superseded(swap, epoch, reached)),
                Some(reached) if reached == epoch => continue,
                _ => {}
            }
            let built = schema::find(&*self.store, &self.layout, &swap.built).await?;
            let built = built.filter(|built| *built.task_id() == tenure.task_id);
            let built = built.ok_or_else(|| super::swap::not_built(swap))?;
            schema::reserve(&*self.store, &self.layout, &swap.table, &built).await?;
            if let Some(place) = known {
                tables.remove(place);
            }
            let Swap { output, built, table } = swap.clone();
            tables.push(RebuiltTable { output, table, folder: built, epoch });
        }
        if tables != before {
            reach(FaultPoint::SinkSwapBefore);
            log.append(Entry::Tables { fencing_token: tenure.fencing_token, tables }).await?;
            reach(FaultPoint::SinkSwapAfter);
        }
        Ok(())
    }

    async fn write_now(&mut self, batch: &MappedBatch) -> Result<Receipt, SinkError> {
        let opened = self.opened.as_mut().ok_or_else(super::not_open)?;
        opened.check(batch)?;
        let counts = batch.outputs.iter().map(count).collect::<Result<Vec<_>, _>>()?;
        if let Some((table, reached)) = opened.rebuilt_since(batch) {
            let from_before = super::swap::from_before(batch, table, reached);
            let receipt = self.find(&batch.task_id, batch.batch_id).await?;
            return receipt.ok_or(from_before)?.of_same_content(batch);
        }
        reach(FaultPoint::SinkDataBefore);
        if let Some(receipt) = attempt(&*self.store, &self.layout, &mut opened.log, batch).await? {
            return receipt.of_same_content(batch);
        }
        let mut files = Vec::with_capacity(batch.outputs.len());
        for (output, place) in batch.outputs.iter().zip(&opened.outputs) {
            let bytes = tokio::task::block_in_place(|| data::encode(output, batch.batch_id))?;
            let relative = Layout::data(&place.folder, batch.batch_id);
            let bytes = data::put(&*self.store, &self.layout.absolute(&relative), bytes, output).await?;
            files.push(PublishedFile {
                output: place.folder.clone(),
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
            _ => Err(damaged("the log answered a batch with another entry".into())),
        }
    }

    async fn find(&mut self, task_id: &TaskId, batch_id: BatchId) -> Result<Option<Receipt>, SinkError> {
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
    /// A table of the batch that was rebuilt under a larger epoch.
    fn rebuilt_since(&self, batch: &MappedBatch) -> Option<(&str, Epoch)> {
        let outputs = self.outputs.iter().filter_map(|opened| Some((opened.output.table.as_str(), opened.rebuilt?)));
        outputs.into_iter().find(|(_, rebuilt)| *rebuilt > batch.epoch)
    }

    fn check(&self, batch: &MappedBatch) -> Result<(), SinkError> {
        super::check_batch(batch, &self.tenure)?;
        for (place, output) in batch.outputs.iter().enumerate() {
            match self.outputs.get(place) {
                Some(place) if place.output.name == output.name => super::check_output(output, &place.output.schema)?,
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

    async fn fits(
        &mut self,
        task_id: &TaskId,
        partition_id: &PartitionId,
        outputs: &[OutputSchema],
    ) -> Result<(), SinkError> {
        check_outputs(outputs)?;
        let log = Log::open(self.store.clone(), self.layout.log(task_id, partition_id)).await?;
        let tables = log.tables().await?;
        for output in outputs {
            let folder = tables::find(&tables, &output.table).map_or(&output.table, |table| &table.folder);
            schema::fits(&*self.store, &self.layout, folder, output, task_id).await?;
        }
        Ok(())
    }

    async fn open(&mut self, tenure: &Tenure, outputs: &[OutputSchema]) -> Result<(), SinkError> {
        self.open_now(tenure, outputs).await
    }

    async fn find_receipt(&mut self, task_id: &TaskId, batch_id: BatchId) -> Result<Option<Receipt>, SinkError> {
        self.find(task_id, batch_id).await
    }

    async fn write(&mut self, batch: &MappedBatch) -> Result<Receipt, SinkError> {
        self.write_now(batch).await
    }

    async fn swap(&mut self, tenure: &Tenure, epoch: Epoch, tables: &[Swap]) -> Result<(), SinkError> {
        self.swap_now(tenure, epoch, tables).await
    }

    async fn last_batch(&mut self, tenure: &Tenure, epoch: Epoch) -> Result<Option<BatchId>, SinkError> {
        let folder = self.layout.log(&tenure.task_id, &tenure.partition_id);
        Log::open(self.store.clone(), folder).await?.last_batch(epoch).await
    }

    async fn count(&mut self) -> Result<BTreeMap<String, u64>, SinkError> {
        let opened = self.opened.as_ref().ok_or_else(super::not_open)?;
        let mut counts = BTreeMap::new();
        for output in &opened.outputs {
            let OutputSchema { name, table, .. } = &output.output;
            let current = read_current(&*self.store, self.layout.prefix(), table).await?;
            counts.insert(name.clone(), current.map_or(0, |rows| rows.num_rows() as u64));
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests;
