//! The second half: map a READY batch, write it, record the receipt, advance the checkpoint.

use super::extract::{EXAMPLES, retries};
use super::mapping::{MapError, Mapper};
use super::progress::{Progress, Summary};
use super::{DeadLetterBudget, RunError};
use crate::publish::{MapperLoader, Published};
use crate::sink::{MappedBatch, Receipt, Sink, SinkError};
use crate::store::{CommitPermit, ReadyBatch, StateStore};
use backon::BackoffBuilder;
use gristmill_core::checkpoint::Checkpoint;
use gristmill_core::dead_letter::{DeadLetter, DeadLetterClass, RecordPosition, RefusedAt};
use gristmill_core::id::SchemaId;
use gristmill_core::lease::Tenure;
use gristmill_core::manifest::Manifest;
use gristmill_core::pins::Pins;
use std::sync::Arc;
use tokio::sync::watch;

pub(super) struct Delivery {
    pub tenure: Tenure,
    pub state: StateStore,
    pub sink: Box<dyn Sink>,
    pub mappers: MapperCache,
    /// The mapper that the sink was opened for.
    pub opened: Option<Arc<Mapper>>,
    pub budget: DeadLetterBudget,
    pub checkpoint: Checkpoint,
    pub progress: Arc<Progress>,
    /// A stop does not wait for a target that does not answer.
    pub stop: watch::Receiver<bool>,
}

impl Delivery {
    /// Raises the fence in the target before anything is read: a zombie is stopped as early as can be.
    pub async fn open(&mut self, published: &Published) -> Result<(), RunError> {
        let mapper = self.mappers.get(&published.schema_id, &published.pins).await?;
        self.open_for(mapper).await
    }

    async fn open_for(&mut self, mapper: Arc<Mapper>) -> Result<(), RunError> {
        if self.opened.as_ref().is_some_and(|opened| Arc::ptr_eq(opened, &mapper)) {
            return Ok(());
        }
        let failed = |error| RunError::Sink { error, batch: None };
        self.sink.open(&self.tenure, &mapper.outputs).await.map_err(failed)?;
        // A fence stops owners, not histories: a state that was restored or made anew beside an older target would soon
        // hold a large enough token, and give out places and file numbers that the target already knows.
        if let Some(batch) = self.sink.last_batch().await.map_err(failed)?
            && self.state.batch(batch).await?.is_none()
        {
            return Err(RunError::TargetAhead { batch });
        }
        self.opened = Some(mapper);
        Ok(())
    }

    /// Steps 4 to 6 of the commit protocol for one batch. The order is forced by the types: only a sink makes a
    /// receipt, only a receipt makes a permit, only a permit advances the checkpoint.
    pub async fn deliver(&mut self, batch: &ReadyBatch, summary: &mut Summary) -> Result<(), RunError> {
        let manifest = batch.manifest();
        let batch_id = manifest.batch_id;
        let mapper = self.mappers.get(&manifest.schema_id, &manifest.pins).await?;
        self.open_for(mapper.clone()).await?;

        let mapped = tokio::task::block_in_place(|| mapper.run(batch.records())).map_err(|e| match e {
            MapError::Stage(fault) => RunError::Map { fault, batch: batch_id },
            MapError::Broken(e) => RunError::Panicked(e.to_string()),
        })?;
        for message in &mapped.messages {
            tracing::info!(stage = "map", batch = %batch_id, message);
        }
        let mut dead_letters = mapped.dead_letters;
        self.budget.admit(0, dead_letters.len() as u64).map_err(|reason| RunError::TooManyDeadLetters {
            reason,
            examples: dead_letters.iter().take(EXAMPLES).cloned().collect(),
            batch: Some(batch_id),
            recorded: false,
        })?;

        let rows = MappedBatch {
            task_id: self.tenure.task_id.clone(),
            partition_id: self.tenure.partition_id.clone(),
            epoch: manifest.epoch,
            sequence: manifest.sequence,
            batch_id,
            schema_id: manifest.schema_id.clone(),
            fencing_token: self.tenure.fencing_token,
            created_at: manifest.created_at,
            digest: mapped.digest,
            outputs: mapped.outputs,
        };
        let receipt = self.write(&rows).await.map_err(|error| RunError::Sink { error, batch: Some(batch_id) })?;
        let conflicts = conflicts(&receipt);
        dead_letters.extend_from_slice(&conflicts);

        // The receipt goes first: a crash between the two repeats work, never skips it.
        self.state.record_receipt(&self.tenure, batch, &receipt, &dead_letters).await?;
        let permit = CommitPermit::authorize(&self.checkpoint, batch, &receipt, self.tenure.fencing_token)?;
        self.checkpoint = self.state.advance(&self.tenure, permit).await?;

        summary.count_dead_letters(&dead_letters);
        summary.count_receipt(&receipt);
        Progress::add(&self.progress.batches_committed, 1);
        Progress::add(&self.progress.rows_committed, receipt.outputs().iter().map(|o| o.rows).sum());
        self.budget.admit(0, conflicts.len() as u64).map_err(|reason| RunError::TooManyDeadLetters {
            reason,
            examples: conflicts.iter().take(EXAMPLES).cloned().collect(),
            batch: Some(batch_id),
            recorded: true,
        })
    }

    /// One write, with bounded retries of what may pass. A lost answer is settled by asking for the receipt.
    async fn write(&mut self, rows: &MappedBatch) -> Result<Receipt, SinkError> {
        let mut delays = retries().build();
        loop {
            let (doing, source) = match self.sink.write(rows).await {
                Err(SinkError::Transient { doing, source }) => (doing, source),
                answer => return answer,
            };
            let Some(delay) = delays.next() else { return Err(SinkError::Transient { doing, source }) };
            tracing::warn!(batch = %rows.batch_id, doing, error = %source, retry_in = ?delay, "the target did not answer");
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                _ = self.stop.wait_for(|stop| *stop) => return Err(SinkError::Transient { doing, source }),
            }
            match self.sink.find_receipt(&rows.task_id, rows.batch_id).await {
                Ok(Some(receipt)) => return Ok(receipt),
                Ok(None) | Err(SinkError::Transient { .. }) => {}
                Err(e) => return Err(e),
            }
        }
    }
}

fn conflicts(receipt: &Receipt) -> Vec<DeadLetter> {
    let of = |output: &crate::sink::OutputReceipt| {
        let name = output.output.clone();
        let letter = move |row: &u32| DeadLetter {
            refused_at: RefusedAt::Sink,
            class: DeadLetterClass::VersionConflict,
            code: DeadLetterClass::VersionConflict.as_str().into(),
            field: None,
            output: Some(name.clone()),
            position: RecordPosition::Batch { row: *row },
            message: "the target holds other content under the same identity and version; it was kept".into(),
        };
        output.conflict_rows.iter().map(letter).collect::<Vec<_>>()
    };
    receipt.outputs().iter().flat_map(of).collect()
}

/// Mappers by what they are pinned to. A stored batch may be pinned to older code than the task now runs.
pub struct MapperCache {
    loader: MapperLoader,
    loaded: Vec<(SchemaId, Pins, Arc<Mapper>)>,
}

impl MapperCache {
    pub fn new(loader: MapperLoader) -> Self {
        Self { loader, loaded: Vec::new() }
    }

    /// The mapper that a manifest is pinned to.
    pub async fn for_manifest(&mut self, manifest: &Manifest) -> Result<Arc<Mapper>, RunError> {
        self.get(&manifest.schema_id, &manifest.pins).await
    }

    async fn get(&mut self, schema_id: &SchemaId, pins: &Pins) -> Result<Arc<Mapper>, RunError> {
        if let Some((.., mapper)) = self.loaded.iter().find(|(s, p, _)| s == schema_id && p == pins) {
            return Ok(mapper.clone());
        }
        let mapper = Arc::new(self.loader.load(schema_id, pins).await?);
        self.loaded.push((schema_id.clone(), pins.clone(), mapper.clone()));
        Ok(mapper)
    }
}
