//! Into another target, under the batches' own ids. The state is left as it is: the target's registry is all the progress
//! there is, and it answers a batch that it has with its first receipt.

use super::scope::{PinChoice, check_chains, repinned, version_of};
use crate::drive::mapping::{MapError, Mapper};
use crate::drive::{Destination, LocalLease, MapperCache, Progress, RunError, Summary, under_lease};
use crate::publish::Loader;
use crate::sink::{MappedBatch, Sink};
use crate::store::BatchStore;
use crate::store::state::BatchRow;
use std::sync::Arc;
use tokio::sync::watch;

/// What a replay into another target works with.
pub struct Elsewhere {
    pub loader: Loader,
    pub batches: BatchStore,
    /// Of a partition of its own: the task itself may run meanwhile.
    pub lease: LocalLease,
    pub sink: Box<dyn Sink>,
    pub pins: PinChoice,
    pub rows: Vec<BatchRow>,
    pub stop: watch::Receiver<bool>,
    pub progress: Arc<Progress>,
}

/// Maps batches and writes their rows.
pub async fn elsewhere(replay: Elsewhere) -> Result<Summary, RunError> {
    let keeper = replay.lease.keep_alive();
    under_lease(keeper, run(replay)).await
}

async fn run(replay: Elsewhere) -> Result<Summary, RunError> {
    let Elsewhere { loader, batches, lease, mut sink, pins, rows, stop, progress } = replay;
    let tenure = lease.tenure();
    let task = &tenure.task_id;
    let version = version_of(&loader, task, pins).await?;
    if let Some(version) = &version {
        check_chains(version, &rows)?;
    }
    let mut mappers = MapperCache::new(loader.clone(), task.clone(), Destination::InUse);
    let mut summary = Summary::default();
    let mut opened: Option<Arc<Mapper>> = None;
    for row in rows {
        if *stop.borrow() {
            summary.interrupted = true;
            break;
        }
        let manifest = batches.manifest(&row).await?;
        let mapper = match &version {
            None => mappers.for_manifest(&manifest).await?,
            Some(version) => {
                let pins = repinned(version, &manifest.pins);
                mappers.get(&manifest.schema_id, version.version, &pins).await?
            }
        };
        let failed = |error| RunError::Sink { error, batch: None };
        if opened.as_ref().is_none_or(|opened| opened.outputs != mapper.outputs) {
            sink.open(tenure, &mapper.outputs).await.map_err(failed)?;
            opened = Some(mapper.clone());
        }
        // Written before a kill: it need not be mapped again.
        if let Some(receipt) = sink.find_receipt(task, row.batch_id).await.map_err(failed)? {
            summary.count_receipt(&receipt);
            continue;
        }
        let batch = batches.open(&row).await?;
        let mapped = tokio::task::block_in_place(|| mapper.run(batch.records())).map_err(|e| match e {
            MapError::Stage(fault) => RunError::Map { fault, batch: row.batch_id },
            MapError::Broken(e) => RunError::Panicked(e.to_string()),
        })?;
        summary.records_read += manifest.record_count;
        summary.count_dead_letters(&mapped.dead_letters);
        let written = MappedBatch {
            task_id: task.clone(),
            partition_id: tenure.partition_id.clone(),
            epoch: manifest.epoch,
            sequence: manifest.sequence,
            batch_id: row.batch_id,
            schema_id: manifest.schema_id.clone(),
            fencing_token: tenure.fencing_token,
            created_at: manifest.created_at,
            digest: mapped.digest,
            outputs: mapped.outputs,
        };
        let receipt = sink.write(&written).await.map_err(failed)?;
        summary.count_receipt(&receipt);
        Progress::add(&progress.batches_committed, 1);
    }
    Ok(summary)
}
