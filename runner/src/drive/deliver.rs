//! The second half: write a mapped batch, record the receipt, advance the checkpoint.

use super::extract::{EXAMPLES, retries};
use super::map::MappedReady;
use super::mapping::Mapper;
use super::progress::{Progress, Summary};
use super::{DeadLetterBudget, RunError};
use crate::sink::{MappedBatch, Receipt, Sink, SinkError};
use crate::store::state::BatchRow;
use crate::store::{CommitPermit, StateStore};
use backon::BackoffBuilder;
use gristmill_core::checkpoint::Checkpoint;
use gristmill_core::dead_letter::{DeadLetter, DeadLetterClass, RecordPosition, RefusedAt};
use gristmill_core::lease::Tenure;
use std::sync::Arc;
use tokio::sync::watch;

pub(super) struct Delivery {
    pub tenure: Tenure,
    pub state: StateStore,
    pub sink: Box<dyn Sink>,
    /// The mapper that the sink was opened for.
    pub opened: Option<Arc<Mapper>>,
    pub budget: DeadLetterBudget,
    pub checkpoint: Checkpoint,
    pub progress: Arc<Progress>,
    /// A stop does not wait for a target that does not answer.
    pub stop: watch::Receiver<bool>,
}

impl Delivery {
    /// Compares the target's history with the state's, before anything is touched. A fence stops owners, not histories: a
    /// state that was restored or made anew beside its target would soon hold a large enough token, and give out places
    /// and file numbers that the target already knows.
    pub async fn check_history(&mut self) -> Result<(), RunError> {
        let found = self.sink.last_batch(&self.tenure, self.checkpoint.epoch).await;
        let last = match found.map_err(|error| RunError::Sink { error, batch: None })? {
            Some(batch) => Some(self.state.batch(batch).await?.ok_or(RunError::TargetAhead { batch })?),
            None => None,
        };
        let place = |row: BatchRow| (row.epoch, row.sequence);
        let committed = (self.checkpoint.epoch, self.checkpoint.last_sequence);
        match self.checkpoint.last_batch_id {
            Some(batch) if last.map(place) < Some(committed) => Err(RunError::TargetBehind { batch }),
            _ => Ok(()),
        }
    }

    /// Raises the fence in the target, which stops a zombie as early as can be.
    pub async fn open_for(&mut self, mapper: Arc<Mapper>) -> Result<(), RunError> {
        if self.opened.as_ref().is_some_and(|opened| opened.outputs == mapper.outputs) {
            return Ok(());
        }
        let failed = |error| RunError::Sink { error, batch: None };
        self.sink.open(&self.tenure, &mapper.outputs).await.map_err(failed)?;
        self.opened = Some(mapper);
        Ok(())
    }

    /// Steps 4 to 6 of the commit protocol for one batch. The order is forced by the types: only a sink makes a
    /// receipt, only a receipt makes a permit, only a permit advances the checkpoint.
    pub async fn deliver(&mut self, ready: MappedReady, summary: &mut Summary) -> Result<(), RunError> {
        let MappedReady { batch, mapper, mapped } = ready;
        let manifest = batch.manifest();
        let batch_id = manifest.batch_id;
        self.open_for(mapper).await?;

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
        self.state.record_receipt(&self.tenure, &batch, &receipt, &dead_letters).await?;
        let permit = CommitPermit::authorize(&self.checkpoint, &batch, &receipt, self.tenure.fencing_token)?;
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
