//! With the code of a task version, as batches of a new epoch in the task's own target.

use super::scope::{Scope, check_chains, repinned};
use super::vanished::with_vanished;
use super::verify::page_of;
use crate::drive::deliver::Delivery;
use crate::drive::map::{MappedReady, Mapping};
use crate::drive::normalize::NormalizeError;
use crate::drive::{
    AbortOnDrop, BATCHES_IN_FLIGHT, DeadLetterBudget, Destination, LocalLease, MapperCache, Progress, RunError,
    Summary, deliver_all, discard, under_lease,
};
use crate::publish::Loader;
use crate::sink::{Sink, Swap, built_beside};
use crate::store::batches::{BatchDraft, Content};
use crate::store::state::{BatchRow, EpochKind, EpochRow, ReplayPlan, TaskVersionRow, Totals};
use crate::store::{BatchStore, ReadyBatch, StoreError};
use gristmill_core::cursor::{Cursor, ReplayCursor};
use gristmill_core::dead_letter::DeadLetterLimit;
use gristmill_core::id::{BatchId, Epoch, PartitionId, Sequence, TaskId};
use gristmill_core::lease::Tenure;
use gristmill_core::manifest::BatchState;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// What a replay in a new epoch works with.
pub struct Anew {
    pub loader: Loader,
    pub batches: BatchStore,
    pub lease: LocalLease,
    /// Of the partition of dead letters, for a rebuild: what is replayed there meanwhile would be lost with the old tables.
    pub letters: Option<LocalLease>,
    pub sink: Box<dyn Sink>,
    pub dead_letters: DeadLetterLimit,
    /// Set to true to finish the batch in hand and end; started again, the replay goes on.
    pub stop: watch::Receiver<bool>,
    pub progress: Arc<Progress>,
}

/// What a replay did in this run.
#[derive(Debug)]
pub struct Rewritten {
    pub epoch: Epoch,
    pub kind: EpochKind,
    pub summary: Summary,
    /// Tables that took the place of others.
    pub swapped: Vec<String>,
    /// False: a stop was asked for.
    pub ended: bool,
}

/// Begins a replay with the code of a version: a rebuild of the whole history, or a repair of the batches of a scope.
/// Everything that could stand in its way is checked before.
pub async fn begin(anew: &Anew, version: &TaskVersionRow, scope: &Scope) -> Result<EpochRow, RunError> {
    let Anew { loader, lease, .. } = anew;
    let tenure = lease.tenure();
    let (task, partition) = (&tenure.task_id, &tenure.partition_id);
    if let Some(running) = loader.state.running_replay(task, partition).await? {
        return Err(RunError::Configuration {
            what: format!("a replay into epoch {} has not ended", running.epoch),
            hint: format!("go on with `gristmill replay {task} --resume`, or give it up with `--abandon`"),
        });
    }
    let (kind, states): (_, &[BatchState]) = match scope.is_whole() {
        true => (EpochKind::Rebuild, &[BatchState::Committed, BatchState::Ready]),
        false => (EpochKind::Repair, &[BatchState::Committed]),
    };
    let mut rows = scope.batches(&loader.state, task, states).await?;
    if kind == EpochKind::Rebuild {
        rows.extend(replayed_letters(loader, task).await?);
    }
    check_chains(version, &rows)?;
    let mappers = MapperCache::new(loader.clone(), task.clone(), Destination::InUse);
    mappers.check_complete([&version.pins]).await?;
    let named = (kind == EpochKind::Repair).then(|| rows.iter().map(|row| row.batch_id).collect());
    let plan = ReplayPlan { batches: named, beside: kind == EpochKind::Rebuild };
    Ok(loader.state.begin_replay(tenure, kind, version.version, &plan).await?)
}

/// The batches of replayed dead letters whose records no other batch has. None may be on its way: it would miss the tables.
async fn replayed_letters(loader: &Loader, task: &TaskId) -> Result<Vec<BatchRow>, RunError> {
    let letters = PartitionId::dead_letters();
    let on_its_way = |row: &BatchRow| row.partition_id == letters && row.state == BatchState::Ready;
    if loader.state.batches(task).await?.iter().any(on_its_way) {
        return Err(RunError::Configuration {
            what: "dead letters are on their way to the target in a stored batch".into(),
            hint: format!("finish their replay with `gristmill dlq replay {task}`, then begin again"),
        });
    }
    let epoch = loader.state.epoch_in_force(task, &PartitionId::whole()).await?;
    Ok(loader.state.replayed_letters(task, epoch, true).await?)
}

/// Goes on with a replay until its end, or until a stop is asked for.
pub async fn resume(mut anew: Anew, replay: EpochRow) -> Result<Rewritten, RunError> {
    let keeper = anew.lease.keep_alive();
    let letters = anew.letters.take();
    let ended = under_lease(keeper, run(anew, replay)).await;
    if let Some(letters) = letters {
        letters.release().await?;
    }
    ended
}

async fn run(anew: Anew, replay: EpochRow) -> Result<Rewritten, RunError> {
    let Anew { loader, batches, lease, letters: _, sink, dead_letters, stop, progress } = anew;
    let state = loader.state.clone();
    let tenure = lease.tenure().clone();
    let task = tenure.task_id.clone();
    let broken = |detail: &str| StoreError::Damaged {
        what: format!("the replay into epoch {}", replay.epoch),
        detail: detail.into(),
        hint: "the state was changed by hand: restore it from a backup".into(),
    };
    let (of_epoch, version, plan) = match (replay.of_epoch, replay.task_version, replay.plan.clone()) {
        (Some(of_epoch), Some(version), Some(plan)) => (of_epoch, version, plan),
        _ => return Err(broken("it has no plan").into()),
    };
    let in_force = version;
    let version = loader.version(&task, in_force).await?;
    let mut originals = originals(&loader, &tenure, of_epoch, &plan).await?;
    check_chains(&version, &originals)?;

    let mut summary = Summary::default();
    let resume = state.resume(&tenure, replay.epoch).await??;
    discard(&batches, &tenure, &resume.discard).await?;
    let read = originals.iter().filter_map(|row| row.record_count).sum();
    let mut delivery = Delivery {
        tenure: tenure.clone(),
        state: state.clone(),
        sink,
        opened: None,
        budget: DeadLetterBudget::new(dead_letters, Totals { read, dead_letters: 0 }),
        checkpoint: resume.checkpoint,
        progress: progress.clone(),
        stop: stop.clone(),
    };
    delivery.check_history().await?;
    let destination = if plan.beside { Destination::Beside(replay.epoch) } else { Destination::InUse };
    let mappers = MapperCache::new(loader.clone(), task.clone(), destination);
    let mut mapping = Mapping { mappers };
    // Also for a history without batches: the tables are there, empty.
    let mapper = mapping.mappers.get(&version.schema_id, version.version, &version.pins).await?;
    delivery.open_for(mapper).await?;
    let vanished = (replay.kind == EpochKind::Repair).then(|| Vanished {
        mappers: MapperCache::new(loader.clone(), task.clone(), Destination::InUse),
        batches: batches.clone(),
    });
    let mut finishing = Finishing { mapping, vanished };
    for row in &resume.deliver {
        let batch = batches.open(row).await?;
        summary.batches_redelivered += 1;
        let ready = finishing.finish(batch).await?;
        delivery.deliver(ready, &mut summary).await?;
    }

    let done = replayed(&loader, &tenure, replay.epoch).await?;
    originals.retain(|row| !done.contains(&row.batch_id));
    let rereading = Rereading {
        tenure: tenure.clone(),
        loader: loader.clone(),
        batches: batches.clone(),
        version,
        replay: replay.clone(),
        partial: plan.batches.is_some(),
        checkpoint_cursor: delivery.checkpoint.cursor.clone(),
        sequence: delivery.checkpoint.last_sequence,
        originals,
        stop: stop.clone(),
        progress,
    };
    let (ready, mut incoming) = mpsc::channel::<ReadyBatch>(BATCHES_IN_FLIGHT);
    let (mapped, outgoing) = mpsc::channel::<MappedReady>(BATCHES_IN_FLIGHT);
    let reading = AbortOnDrop(tokio::spawn(rereading.run(ready)));
    let mapping = AbortOnDrop(tokio::spawn(async move {
        while let Ok(place) = mapped.reserve().await {
            let Some(batch) = incoming.recv().await else { break };
            place.send(finishing.finish(batch).await?);
        }
        Ok::<_, RunError>(())
    }));
    let delivered = deliver_all(&mut delivery, outgoing, stop.clone(), &mut summary).await;
    if delivered.is_ok() || reading.0.is_finished() {
        let mapped = mapping.join().await?;
        let stored = reading.join().await?;
        summary.batches_stored += stored?;
        mapped?;
    }
    delivered?;
    let (epoch, kind) = (replay.epoch, replay.kind);
    if summary.interrupted || *stop.borrow() {
        summary.interrupted = true;
        return Ok(Rewritten { epoch, kind, summary, swapped: Vec::new(), ended: false });
    }

    let mut swapped = Vec::new();
    if plan.beside {
        let targets = loader.targets(&task, in_force).await?;
        let tables: Vec<Swap> = delivery
            .opened
            .iter()
            .flat_map(|mapper| &mapper.outputs)
            .map(|output| {
                let table = targets.table(&output.name);
                Swap { output: output.name.clone(), built: built_beside(&table, epoch), table }
            })
            .collect();
        let failed = |error| RunError::Sink { error, batch: None };
        delivery.sink.swap(&tenure, epoch, &tables).await.map_err(failed)?;
        swapped.extend(tables.into_iter().map(|swap| swap.table));
    }
    state.end_replay(&tenure, &replay).await?;
    Ok(Rewritten { epoch, kind, summary, swapped, ended: true })
}

/// The batches that a replay maps, in order.
async fn originals(
    loader: &Loader,
    tenure: &Tenure,
    of_epoch: Epoch,
    plan: &ReplayPlan,
) -> Result<Vec<BatchRow>, RunError> {
    // A rebuild takes the waiting batches along: the history that it makes goes on after them.
    let states: &[BatchState] = match plan.batches.is_some() {
        true => &[BatchState::Committed],
        false => &[BatchState::Committed, BatchState::Ready],
    };
    let (state, task) = (&loader.state, &tenure.task_id);
    let scope = Scope { batches: plan.batches.clone(), ..Scope::default() };
    let mut originals = scope.of_epoch(state, task, of_epoch, states).await?;
    if plan.batches.is_none() {
        originals.extend(state.replayed_letters(task, of_epoch, true).await?);
    }
    Ok(originals)
}

/// The batches that the new epoch has already.
async fn replayed(loader: &Loader, tenure: &Tenure, epoch: Epoch) -> Result<HashSet<BatchId>, RunError> {
    let mut rows = loader.state.batches(&tenure.task_id).await?;
    rows.retain(|row| {
        row.partition_id == tenure.partition_id && row.epoch == epoch && row.state != BatchState::Quarantined
    });
    Ok(rows.into_iter().filter_map(|row| row.replay_of).collect())
}

/// Reads stored batches back and stores them again under the new epoch: the records are shared, unless their page was kept
/// and the version normalizes it otherwise.
struct Rereading {
    tenure: Tenure,
    loader: Loader,
    batches: BatchStore,
    version: TaskVersionRow,
    replay: EpochRow,
    partial: bool,
    checkpoint_cursor: Cursor,
    /// Of the last batch of the new epoch.
    sequence: Sequence,
    /// Those that are still to be done.
    originals: Vec<BatchRow>,
    stop: watch::Receiver<bool>,
    progress: Arc<Progress>,
}

impl Rereading {
    /// Batches stored.
    async fn run(mut self, ready: mpsc::Sender<ReadyBatch>) -> Result<u64, RunError> {
        let mut stored = 0;
        for row in std::mem::take(&mut self.originals) {
            if *self.stop.borrow() {
                break;
            }
            let Ok(place) = ready.reserve().await else { break };
            place.send(self.store(&row).await?);
            stored += 1;
            Progress::add(&self.progress.batches_stored, 1);
        }
        Ok(stored)
    }

    async fn store(&mut self, row: &BatchRow) -> Result<ReadyBatch, RunError> {
        let original = self.batches.open(row).await?;
        let manifest = original.manifest().clone();
        Progress::add(&self.progress.records_read, manifest.record_count);
        self.sequence = self.sequence.next();
        // A whole history keeps its positions, so that runs go on from its end; a part of one has its own. Replayed dead
        // letters have none: they were passed before.
        let of_letters = manifest.partition_id == PartitionId::dead_letters();
        let (cursor_to, source_state) = match (self.partial, of_letters) {
            (false, false) => (manifest.cursor_to.clone(), manifest.source_state.clone()),
            (false, true) => (self.checkpoint_cursor.clone(), BTreeMap::new()),
            (true, _) => {
                let to = Cursor::Replay(ReplayCursor { epoch: manifest.epoch, sequence: manifest.sequence });
                (to, BTreeMap::new())
            }
        };
        let cursor_from = std::mem::replace(&mut self.checkpoint_cursor, cursor_to.clone());
        let (content, schema_id, pins, dead_letters) = match self.renormalized(&original).await? {
            Some((records, dead_letters)) => {
                let content = Content::Renormalized { of: Box::new(manifest), records };
                (content, self.version.schema_id.clone(), self.version.pins.clone(), dead_letters)
            }
            None => {
                let pins = repinned(&self.version, &manifest.pins);
                (Content::Of(Box::new(original)), manifest.schema_id, pins, Vec::new())
            }
        };
        let schema_digest = self.loader.schema(&schema_id).await?.digest();
        let draft = BatchDraft {
            task_version: self.version.version,
            epoch: self.replay.epoch,
            sequence: self.sequence,
            schema_id,
            schema_digest,
            pins,
            cursor_from,
            cursor_to,
            source_state,
            content,
            dead_letters,
            letters: Vec::new(),
        };
        Ok(self.batches.put(&self.tenure, draft).await?)
    }

    /// What the version's normalize makes of the page, where that was kept, has the columns that the version reads, and was
    /// normalized by other code.
    async fn renormalized(
        &self,
        original: &ReadyBatch,
    ) -> Result<Option<(crate::record::ChangeRecords, Vec<gristmill_core::dead_letter::DeadLetter>)>, RunError> {
        let (manifest, version) = (original.manifest(), &self.version);
        if manifest.raw.is_none() || manifest.pins.normalize == version.pins.normalize {
            return Ok(None);
        }
        let (loader, task) = (&self.loader, &version.task_id);
        let (then, now) = (
            loader.source_columns(task, &manifest.schema_id).await?,
            loader.source_columns(task, &version.schema_id).await?,
        );
        if then != now {
            return Ok(None);
        }
        let Some(raw) = self.batches.raw(manifest).await? else { return Ok(None) };
        let normalizer = self.loader.normalizer(version, &version.schema_id, &version.pins).await?;
        let page = page_of(raw);
        let normalized = tokio::task::block_in_place(|| normalizer.run(&page, Vec::new(), manifest.sequence));
        let normalized = normalized.map_err(|e| match e {
            NormalizeError::Stage(fault) => RunError::Normalize { fault },
            NormalizeError::Broken(e) => RunError::Panicked(e.to_string()),
        })?;
        Ok(Some((normalized.records, normalized.dead_letters)))
    }
}

/// Maps the batches of the new epoch; a repair also deletes rows that are no longer made.
struct Finishing {
    mapping: Mapping,
    vanished: Option<Vanished>,
}

struct Vanished {
    mappers: MapperCache,
    batches: BatchStore,
}

impl Finishing {
    async fn finish(&mut self, batch: ReadyBatch) -> Result<MappedReady, RunError> {
        let replay_of = batch.manifest().replay_of;
        let mut ready = self.mapping.map(batch).await?;
        let (Some(vanished), Some(original)) = (&mut self.vanished, replay_of) else { return Ok(ready) };
        let Some(row) = self.mapping.mappers.state().batch(original).await? else { return Ok(ready) };
        // What the batch gave at first, and what earlier repairs made of it.
        let mut given = vec![row];
        given.extend(self.mapping.mappers.state().replays_of(original).await?);
        given.retain(|row| row.batch_id != ready.batch.manifest().batch_id);
        for row in given {
            let earlier = vanished.batches.open(&row).await?;
            let mapper = vanished.mappers.for_manifest(earlier.manifest()).await?;
            let before =
                tokio::task::block_in_place(|| mapper.run(earlier.records())).map_err(|e| RunError::Configuration {
                    what: format!("the rows that batch {} gave cannot be made again: {e}", row.batch_id),
                    hint: "compare with `gristmill replay --verify`".into(),
                })?;
            let with = || with_vanished(&before, &ready.mapper.outputs, std::mem::take(&mut ready.mapped.outputs));
            ready.mapped.outputs = tokio::task::block_in_place(with).map_err(|e| RunError::Panicked(e.to_string()))?;
        }
        Ok(ready)
    }
}
