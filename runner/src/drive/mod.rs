//! The loop: source → normalize → batch → map → sink → receipt → checkpoint.
//!
//! Two halves overlap: [`extract`] makes READY batches, [`deliver`] brings them to the target, in order. Each reads top
//! to bottom as the steps happen; between them [`map`] prepares the next batch while the sink writes. Bounded channels
//! keep few batches in memory. After a start, batches that were
//! READY are delivered from the store before the source is asked for more.

pub mod compare;
pub mod dead_letters;
mod deliver;
mod error;
mod extract;
pub mod handover;
mod lease;
mod map;
pub mod mapping;
pub mod normalize;
mod progress;
pub mod replay;
mod schema;
mod versions;

pub use crate::store::shown_time as time;
pub use error::{Kind, RunError};
pub use lease::LocalLease;
pub use map::{Destination, MapperCache};
pub use progress::{OutputTotals, Progress, Summary};

use crate::publish::{Loader, Published};
use crate::sink::Sink;
use crate::source::{Resumed, Source, SourceError};
use crate::store::state::{BatchRow, Recorded, Totals};
use crate::store::{BatchStore, ReadyBatch, StateStore, StoreError};
use deliver::Delivery;
use extract::{Ended, Extraction};
use gristmill_core::cursor::Cursor;
use gristmill_core::dead_letter::DeadLetterLimit;
use gristmill_core::id::{Epoch, PartitionId, Sequence, TaskId};
use gristmill_core::lease::Tenure;
use gristmill_core::manifest::BatchState;
use gristmill_core::schema_change::{Event, State};
use lease::Keeper;
use map::{MappedReady, Mapping};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, watch};
use versions::Versions;
pub use versions::is_held;

/// Batches that wait for the mapper, and that wait for the sink, while the next one is made. Each is held in memory.
const BATCHES_IN_FLIGHT: usize = 1;

/// Opens the source of a version.
pub type OpenSource = Box<dyn Fn(&Published) -> Result<Box<dyn Source>, SourceError> + Send + Sync>;

/// What a run works with.
pub struct Run {
    pub published: Arc<Published>,
    pub loader: Loader,
    pub batches: BatchStore,
    pub lease: LocalLease,
    pub open_source: OpenSource,
    /// For what must not last.
    pub spool: PathBuf,
    /// The target is not ready for the version: batches are stored and wait.
    pub held: bool,
    /// End when the source has nothing new, instead of waiting for more.
    pub once: bool,
    /// Count the target's live records at the end.
    pub count: bool,
    /// Set to true to finish the batch in hand and end.
    pub stop: watch::Receiver<bool>,
    pub progress: Arc<Progress>,
}

/// A run's end: what it did, and why it ended if not because it was done.
#[derive(Debug)]
pub struct Outcome {
    pub summary: Summary,
    pub ended: Result<(), RunError>,
}

/// Dead letters and records of the task, old and new, judged against the limit by both halves.
#[derive(Debug, Clone)]
struct DeadLetterBudget(Arc<Mutex<Budget>>);

#[derive(Debug)]
struct Budget {
    limit: DeadLetterLimit,
    totals: Totals,
}

impl DeadLetterBudget {
    fn new(limit: DeadLetterLimit, totals: Totals) -> Self {
        Self(Arc::new(Mutex::new(Budget { limit, totals })))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Budget> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn set_limit(&self, limit: DeadLetterLimit) {
        self.lock().limit = limit;
    }

    /// As [`Self::admit`], for a page that is not stored yet.
    fn admit_page(&self, read: u64, dead: u64) -> Result<(), String> {
        let refused = self.lock().limit.page_refused(dead, read);
        match refused {
            Some(reason) => Err(reason),
            None => self.admit(read, dead),
        }
    }

    /// Adds to the totals if the limit allows it, else says why not.
    fn admit(&self, read: u64, dead: u64) -> Result<(), String> {
        let mut budget = self.lock();
        let Totals { read: had, dead_letters } = budget.totals;
        let next = Totals { read: had + read, dead_letters: dead_letters + dead };
        if dead > 0
            && let Some(reason) = budget.limit.exceeded(next.dead_letters, next.read)
        {
            return Err(reason);
        }
        budget.totals = next;
        Ok(())
    }
}

/// Runs a task until its source is drained (`once`), a stop is asked for, or something is in the way.
pub async fn run(run: Run, sink: Box<dyn Sink>) -> Outcome {
    let mut summary = Summary::default();
    let ended = under_lease(run.lease.keep_alive(), drive(run, sink, &mut summary)).await;
    Outcome { summary, ended }
}

/// Works while the lease is kept alive; the lease is given back at the end, and lost work ends at once.
async fn under_lease<T>(keeper: Keeper, work: impl Future<Output = Result<T, RunError>>) -> Result<T, RunError> {
    // A task of its own: work that blocks the loop must not let the lease run out.
    let mut lost = {
        let keeper = keeper.clone();
        AbortOnDrop(tokio::spawn(async move { keeper.lost().await }))
    };
    let ended = tokio::select! {
        ended = work => ended,
        lost = &mut lost.0 => Err(lost.unwrap_or_else(|e| RunError::Panicked(e.to_string()))),
    };
    drop(lost);
    let released = keeper.release().await;
    let done = ended?;
    released.map(|()| done)
}

async fn drive(run: Run, sink: Box<dyn Sink>, summary: &mut Summary) -> Result<(), RunError> {
    let Run { mut published, loader, batches, lease, open_source, spool, mut held, once, count, stop, progress } = run;
    let state = loader.state.clone();
    let tenure = lease.tenure().clone();
    let epoch = state.epoch_in_force(&tenure.task_id, &tenure.partition_id).await?;

    let resume = state.resume(&tenure, epoch).await??;
    discard(&batches, &tenure, &resume.discard).await?;
    let budget = DeadLetterBudget::new(published.settings.dead_letters, state.totals(&tenure.task_id).await?);
    let mut delivery = Delivery {
        tenure: tenure.clone(),
        state: state.clone(),
        sink,
        opened: None,
        budget: budget.clone(),
        checkpoint: resume.checkpoint,
        progress: progress.clone(),
        stop: stop.clone(),
    };
    let mappers = MapperCache::new(loader.clone(), tenure.task_id.clone(), Destination::InUse);
    let mut mapping = Mapping { mappers };
    if !held {
        delivery.check_history().await?;
        // Before anything is read.
        let mapper = mapping.mappers.get(&published.schema_id, published.version, &published.pins).await?;
        delivery.open_for(mapper).await?;
    }
    for row in resume.deliver.iter().filter(|_| !held) {
        if *stop.borrow() {
            summary.interrupted = true;
            return Ok(());
        }
        tracing::info!(batch = %row.batch_id, sequence = %row.sequence, "delivering a stored batch");
        let batch = batches.open(row).await?;
        summary.batches_redelivered += 1;
        delivery.deliver(mapping.map(batch).await?, summary).await?;
    }

    let versions = Arc::new(Versions { loader });
    loop {
        let mut source = open_source(&published)?;
        let read = read_so_far(&state, &batches, &tenure, epoch).await?;
        if let Resumed::Superseded { object } = source.resume(&read.cursor, read.source_state).await? {
            tracing::warn!(
                object,
                "it changed since the last run was in the middle of it: its new version is read from the start"
            );
        }
        let extraction = Extraction {
            tenure: tenure.clone(),
            published,
            versions: versions.clone(),
            batches: batches.clone(),
            source,
            budget: budget.clone(),
            once,
            stop: stop.clone(),
            sequence: read.sequence,
            epoch,
            progress: progress.clone(),
            spool: spool.clone(),
            mostly_refused: false,
            done: Arc::default(),
        };
        let ended = match held {
            true => store_only(extraction, summary).await,
            false => overlap(extraction, &mut mapping, &mut delivery, stop.clone(), summary).await,
        };
        match ended {
            Ok(Ended::Done) if held => return Err(waiting(&state, &tenure.task_id).await?),
            Ok(Ended::Held(next)) => (published, held) = (next, true),
            Ok(Ended::Done) => break,
            Ok(Ended::Source(next)) => published = next,
            Err(RunError::SchemaChanged { object, changes, id }) => {
                // All that was read before it is committed: this is the batch boundary.
                state.record_schema_event(id, Event::Paused, Recorded::default()).await?;
                return Err(RunError::SchemaChanged { object, changes, id });
            }
            Err(e) => return Err(e),
        }
    }
    if count {
        let counted = delivery.sink.count().await.map_err(|error| RunError::Sink { error, batch: None })?;
        summary.target_records = Some(counted);
    }
    Ok(())
}

/// How far the source is read: to the end of the last READY batch, delivered or not.
struct Read {
    cursor: Cursor,
    source_state: BTreeMap<String, String>,
    sequence: Sequence,
}

async fn read_so_far(
    state: &StateStore,
    batches: &BatchStore,
    tenure: &Tenure,
    epoch: Epoch,
) -> Result<Read, RunError> {
    let resume = state.resume(tenure, epoch).await??;
    let mut read = Read {
        cursor: resume.checkpoint.cursor,
        source_state: resume.source_state,
        sequence: resume.checkpoint.last_sequence,
    };
    for row in &resume.deliver {
        let manifest = batches.manifest(row).await?;
        for (key, value) in manifest.source_state {
            match value {
                Some(value) => read.source_state.insert(key, value),
                None => read.source_state.remove(&key),
            };
        }
        (read.cursor, read.sequence) = (manifest.cursor_to, manifest.sequence);
    }
    Ok(read)
}

/// Extraction alone: its batches wait in the store for a target that is not ready.
async fn store_only(extraction: Extraction, summary: &mut Summary) -> Result<Ended, RunError> {
    let extracted = extraction.done.clone();
    let ended = AbortOnDrop(tokio::spawn(extraction.run(None))).join().await?;
    summary.count_extracted(&extracted.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    ended
}

/// Why a run whose target is not ready has ended.
async fn waiting(state: &StateStore, task: &TaskId) -> Result<RunError, StoreError> {
    let epoch = state.epoch_in_force(task, &PartitionId::whole()).await?;
    let waits = |row: &BatchRow| row.state == BatchState::Ready && row.epoch == epoch;
    let ready = state.batches(task).await?.iter().filter(|row| waits(row)).count();
    let open = state.open_schema_change(task).await?;
    Ok(RunError::SchemaOpen {
        id: open.as_ref().map_or(0, |change| change.id),
        state: open.map_or(State::Validated, |change| change.state),
        what: match ready {
            1 => "1 batch waits READY for the target to be rebuilt".into(),
            n => format!("{n} batches wait READY for the target to be rebuilt"),
        },
        hint: format!("go on with `gristmill schema resume {task}`; they are delivered by it"),
    })
}

/// Throws away what never became READY.
async fn discard(batches: &BatchStore, tenure: &Tenure, rows: &[BatchRow]) -> Result<(), RunError> {
    for row in rows {
        tracing::info!(batch = %row.batch_id, "discarding a batch that never became READY");
        batches.discard(tenure, row).await?;
    }
    Ok(())
}

/// Extraction, mapping and delivery side by side, until extraction ends and all it made is delivered.
async fn overlap(
    extraction: Extraction,
    mapping: &mut Mapping,
    delivery: &mut Delivery,
    stop: watch::Receiver<bool>,
    summary: &mut Summary,
) -> Result<Ended, RunError> {
    let (ready, incoming) = mpsc::channel::<ReadyBatch>(BATCHES_IN_FLIGHT);
    let (mapped, outgoing) = mpsc::channel::<MappedReady>(BATCHES_IN_FLIGHT);
    let extracted = extraction.done.clone();
    let extracting = AbortOnDrop(tokio::spawn(extraction.run(Some(ready))));
    let mappers = mapping.mappers.clone();
    let mapping_task = AbortOnDrop(tokio::spawn(async move {
        let mut mapping = Mapping { mappers };
        mapping.run(incoming, mapped).await
    }));
    let delivered = deliver_all(delivery, outgoing, stop, summary).await;
    // An extraction that ended before has failed first: it knows the cause that the delivery may have met second-hand.
    let ended = match delivered {
        Err(error) if !extracting.0.is_finished() => Err(error),
        delivered => {
            let mapped = mapping_task.join().await?;
            let ended = extracting.join().await?;
            ended.and_then(|ended| mapped.and(delivered).map(|()| ended))
        }
    };
    summary.count_extracted(&extracted.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    ended
}

/// Delivers mapped batches in the order they were made. On a stop the batch in hand is finished; the rest stay READY.
async fn deliver_all(
    delivery: &mut Delivery,
    mut incoming: mpsc::Receiver<MappedReady>,
    mut stop: watch::Receiver<bool>,
    summary: &mut Summary,
) -> Result<(), RunError> {
    loop {
        let next = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => {
                summary.interrupted = true;
                return Ok(());
            }
            next = incoming.recv() => next,
        };
        let Some(batch) = next else { return Ok(()) };
        match delivery.deliver(batch, summary).await {
            Err(e) if *stop.borrow() && e.kind() == Kind::Transient => {
                tracing::warn!(error = %e, "stopped while the target did not answer; the batch stays READY");
                summary.interrupted = true;
                return Ok(());
            }
            delivered => delivered?,
        }
    }
}

/// A task beside the delivering half; aborted when that fails first.
struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> AbortOnDrop<T> {
    async fn join(mut self) -> Result<T, RunError> {
        (&mut self.0).await.map_err(|e| RunError::Panicked(e.to_string()))
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
