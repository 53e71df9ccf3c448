//! Sinks: connectors that write, owned by the runner.
//!
//! To add one: implement [`Sink`] in a module of its own, give it a key in `config::pipeline::SinkConfig`, and run the
//! suite of `conformance` on it.

#[cfg(test)]
mod conformance;
pub mod parquet;
mod receipt;
pub mod sqlite;
mod support;
mod swap;
mod verdict;

pub use gristmill_core::lease::Tenure;
pub use receipt::{OutputReceipt, Receipt};
pub use swap::{Swap, built_beside};

use crate::record::{MappedOutput, OutputSchema};
use gristmill_core::digest::Digest;
use gristmill_core::id::{BatchId, Epoch, FencingToken, Micros, PartitionId, SchemaId, Sequence, TaskId};
use std::collections::BTreeMap;
use support::{check_batch, check_output, create_folder, not_open, now, unknown_output};

/// A mapped batch on its way to a sink. `(task_id, batch_id)` is the dedupe key.
#[derive(Debug)]
pub struct MappedBatch {
    pub task_id: TaskId,
    pub partition_id: PartitionId,
    pub epoch: Epoch,
    pub sequence: Sequence,
    pub batch_id: BatchId,
    pub schema_id: SchemaId,
    pub fencing_token: FencingToken,
    /// When the batch was created (not when it is delivered), so that a re-delivery writes the same.
    pub created_at: Micros,
    /// Digest of all outputs' logical values.
    pub digest: Digest,
    /// One for each output of the mapper, in its order; some may have no rows.
    pub outputs: Vec<MappedOutput>,
}

/// What a sink promises for rows, stated for the operator by `validate`, `doctor` and `run --json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guarantee {
    /// Of a batch delivered more than once.
    pub batches: &'static str,
    /// Of records that arrive in more than one batch.
    pub records: &'static str,
}

/// Why a sink did not commit. No variant carries row content.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// Worth trying again: the target is busy, or did not answer.
    #[error("{doing}: {source}")]
    Transient { doing: String, source: Box<dyn std::error::Error + Send + Sync> },
    /// The disk or quota of the target is used up. Nothing of the batch was committed.
    #[error("{what}")]
    NoSpace { what: String },
    /// A newer owner of the partition has written: this process must stop.
    #[error("fenced: the target has seen fencing token {seen}, this process holds {held}")]
    Fenced { seen: FencingToken, held: FencingToken },
    /// The target does not fit the pipeline (a column of another type, a missing identity).
    #[error("{what}")]
    Mismatch { what: String, hint: String },
    /// Anything else that will not change by trying again.
    #[error("{what}")]
    Permanent { what: String, hint: String },
}

/// Writes mapped batches of one partition, idempotently.
///
/// # Rules
/// 1. `open` MUST record the tenure's fencing token in the target, durably, and fail with [`SinkError::Fenced`] when the target
///    has seen a larger one.
/// 2. `write` MUST be atomic: after it, all rows of all outputs, the batch's registration and the receipt are
///    durable, or none.
/// 3. `write` MUST check the fencing token in the same atomic step, and commit nothing under a smaller one.
/// 4. A batch that is already committed MUST be answered with its first receipt, and change nothing.
/// 5. `find_receipt` MUST return exactly the receipts of committed batches: it settles a `write` whose answer was lost.
/// 6. A row MUST NOT overwrite a row of the same identity with a newer version; it is counted as `stale`.
/// 7. Of rows of the same identity and version but other content the one of the larger epoch MUST stay, in any order of
///    arrival: a replay maps a record anew under a larger epoch. One of a smaller epoch is counted as `stale`; within
///    one epoch the first stays, and the other is reported in the receipt as a conflict. A row with the same content
///    changes nothing, and the record keeps the epoch that wrote it: a replay must not go on under a smaller epoch
///    than one that has begun since.
/// 8. A delete MUST leave a tombstone that older rows cannot pass; a newer row revives the record.
/// 9. The same batch id with another digest MUST be refused as [`SinkError::Permanent`].
/// 10. Names from outside MUST be quoted and values bound; paths MUST stay below the target's root.
/// 11. `swap` MUST be atomic, durable and fenced like `write`: readers see all old tables or all new ones. Repeated after a
///     crash, before or after that step, it MUST come to the same; one of a smaller epoch than a table has reached MUST
///     be refused. From then on a batch of a smaller epoch that is not committed yet MUST be refused for these tables.
/// 12. `open` MUST add columns that a table of the same task lacks, if they are nullable and no part of the identity, and
///     accept a table with more columns of that kind. All else that does not fit is a [`SinkError::Mismatch`].
/// 13. `fits` MUST refuse what `open` would refuse of the outputs, and MUST change nothing.
///
/// A sink whose target cannot look rows up by identity (a dataset of files) keeps 6 to 8 as a change log: it
/// stores identity, version, operation and hash with each row so that a reader can resolve them; its
/// [`Guarantee`] says so.
#[async_trait::async_trait]
pub trait Sink: Send {
    fn guarantee(&self) -> Guarantee;

    /// Whether these outputs can be written at all, as far as their columns tell. Looks at nothing outside.
    fn check(&self, outputs: &[OutputSchema]) -> Result<(), SinkError>;

    /// Whether the target, as it is now, would take these outputs of a task's partition: what `open` would refuse of them,
    /// found without a change of anything. A target, or a table of it, that is not there yet takes all that [`Self::check`] lets through.
    async fn fits(
        &mut self,
        task_id: &TaskId,
        partition_id: &PartitionId,
        outputs: &[OutputSchema],
    ) -> Result<(), SinkError>;

    /// The batch of an epoch that the target committed last for a task's partition; batches of several epochs may come in
    /// turns. Only reads, and needs no `open`: whether the target is the one that the state knows must be clear before
    /// anything in it is touched.
    async fn last_batch(&mut self, tenure: &Tenure, epoch: Epoch) -> Result<Option<BatchId>, SinkError>;

    /// Creates what is missing in the target and raises the fence.
    async fn open(&mut self, tenure: &Tenure, outputs: &[OutputSchema]) -> Result<(), SinkError>;

    /// The receipt of a batch that this target has committed.
    async fn find_receipt(&mut self, task_id: &TaskId, batch_id: BatchId) -> Result<Option<Receipt>, SinkError>;

    /// Commits a batch.
    async fn write(&mut self, batch: &MappedBatch) -> Result<Receipt, SinkError>;

    /// Puts tables that were built beside in their places: each `built` table becomes `table`, as of `epoch`. What was in the
    /// place before is no longer read, and batches of smaller epochs no longer count for these outputs; outputs that
    /// are not named keep their tables. Needs no `open`, and leaves the sink to be opened anew.
    async fn swap(&mut self, tenure: &Tenure, epoch: Epoch, tables: &[Swap]) -> Result<(), SinkError>;

    /// Live records of each output, as a reader of the target sees them now. May read the whole target.
    async fn count(&mut self) -> Result<BTreeMap<String, u64>, SinkError>;
}
