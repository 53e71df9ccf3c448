//! The loop: source → normalize → batch → map → sink → receipt → checkpoint.
//!
//! Two halves overlap: [`extract`] makes READY batches, [`deliver`] brings them to the target, in order. Each reads top
//! to bottom as the steps happen; between them [`map`] prepares the next batch while the sink writes. Bounded channels
//! keep few batches in memory. After a start, batches that were
//! READY are delivered from the store before the source is asked for more.

mod deliver;
mod error;
mod extract;
mod lease;
mod map;
pub mod mapping;
pub mod normalize;
mod progress;

pub use error::{Kind, RunError, time};
pub use lease::LocalLease;
pub use map::MapperCache;
pub use progress::{OutputTotals, Progress, Summary};

use crate::publish::Published;
use crate::sink::Sink;
use crate::source::{PageLimits, Resumed, Source};
use crate::store::state::Totals;
use crate::store::{BatchStore, ReadyBatch, StateStore};
use deliver::Delivery;
use extract::Extraction;
use gristmill_core::dead_letter::DeadLetterLimit;
use map::{MappedReady, Mapping};
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, watch};

/// Batches that wait for the mapper, and that wait for the sink, while the next one is made. Each is held in memory.
const BATCHES_IN_FLIGHT: usize = 1;

/// What a run works with.
pub struct Run {
    pub published: Arc<Published>,
    pub state: StateStore,
    pub batches: BatchStore,
    pub lease: LocalLease,
    pub mappers: MapperCache,
    pub page_limits: PageLimits,
    pub dead_letter_limit: DeadLetterLimit,
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
struct DeadLetterBudget {
    limit: DeadLetterLimit,
    totals: Arc<Mutex<Totals>>,
}

impl DeadLetterBudget {
    /// As [`Self::admit`], for a page that is not stored yet.
    fn admit_page(&self, read: u64, dead: u64) -> Result<(), String> {
        match self.limit.page_refused(dead, read) {
            Some(reason) => Err(reason),
            None => self.admit(read, dead),
        }
    }

    /// Adds to the totals if the limit allows it, else says why not.
    fn admit(&self, read: u64, dead: u64) -> Result<(), String> {
        let mut totals = self.totals.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let next = Totals { read: totals.read + read, dead_letters: totals.dead_letters + dead };
        if dead > 0
            && let Some(reason) = self.limit.exceeded(next.dead_letters, next.read)
        {
            return Err(reason);
        }
        *totals = next;
        Ok(())
    }
}

/// Runs a task until its source is drained (`once`), a stop is asked for, or something is in the way.
pub async fn run(run: Run, source: Box<dyn Source>, sink: Box<dyn Sink>) -> Outcome {
    let mut summary = Summary::default();
    let keeper = run.lease.keep_alive();
    // A task of its own: work that blocks the loop must not let the lease run out.
    let mut lost = {
        let keeper = keeper.clone();
        AbortOnDrop(tokio::spawn(async move { keeper.lost().await }))
    };
    let ended = tokio::select! {
        ended = drive(run, source, sink, &mut summary) => ended,
        lost = &mut lost.0 => Err(lost.unwrap_or_else(|e| RunError::Panicked(e.to_string()))),
    };
    drop(lost);
    let released = keeper.release().await;
    Outcome { summary, ended: ended.and(released) }
}

async fn drive(
    run: Run,
    mut source: Box<dyn Source>,
    sink: Box<dyn Sink>,
    summary: &mut Summary,
) -> Result<(), RunError> {
    let Run { published, state, batches, lease, mappers, page_limits, dead_letter_limit, once, count, stop, progress } =
        run;
    let tenure = lease.tenure().clone();

    let resume = state.resume(&tenure).await??;
    for row in &resume.discard {
        tracing::info!(batch = %row.batch_id, "discarding a batch that never became READY");
        batches.discard(&tenure, row).await?;
    }
    let totals = Arc::new(Mutex::new(state.totals(&tenure.task_id).await?));
    let budget = DeadLetterBudget { limit: dead_letter_limit, totals };
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
    let mut mapping = Mapping { mappers };
    delivery.check_history().await?;
    // Before anything is read.
    delivery.open_for(mapping.mappers.get(&published.schema_id, &published.pins).await?).await?;

    for row in &resume.deliver {
        if *stop.borrow() {
            summary.interrupted = true;
            return Ok(());
        }
        tracing::info!(batch = %row.batch_id, sequence = %row.sequence, "delivering a stored batch");
        let batch = batches.open(row).await?;
        summary.batches_redelivered += 1;
        delivery.deliver(mapping.map(batch).await?, summary).await?;
    }

    // All that was READY is committed: the stored state and the checkpoint now agree.
    let at_checkpoint = state.resume(&tenure).await??;
    if let Resumed::Superseded { object } =
        source.resume(&delivery.checkpoint.cursor, at_checkpoint.source_state).await?
    {
        tracing::warn!(
            object,
            "it changed since the last run was in the middle of it: its new version is read from the start"
        );
    }
    let (ready, incoming) = mpsc::channel::<ReadyBatch>(BATCHES_IN_FLIGHT);
    let extraction = Extraction {
        tenure,
        published,
        batches,
        source,
        page_limits,
        budget,
        once,
        stop: stop.clone(),
        sequence: delivery.checkpoint.last_sequence,
        epoch: delivery.checkpoint.epoch,
        progress,
    };
    let (mapped, outgoing) = mpsc::channel::<MappedReady>(BATCHES_IN_FLIGHT);
    let extracting = AbortOnDrop(tokio::spawn(extraction.run(ready)));
    let mapping = AbortOnDrop(tokio::spawn(mapping.run(incoming, mapped)));
    let delivered = deliver_all(&mut delivery, outgoing, stop, summary).await;
    if delivered.is_err() && !extracting.0.is_finished() {
        return delivered;
    }
    // An extraction that ended before has failed first: it knows the cause that the delivery may have met second-hand.
    let mapped = mapping.join().await?;
    let (extracted, ended) = extracting.join().await?;
    summary.count_extracted(extracted);
    ended.and(mapped).and(delivered)?;
    if count {
        let counted = delivery.sink.count().await.map_err(|error| RunError::Sink { error, batch: None })?;
        summary.target_records = Some(counted);
    }
    Ok(())
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
