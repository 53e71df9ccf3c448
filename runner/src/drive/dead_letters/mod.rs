//! Dead letters, put through a task version once more.
//!
//! ```text
//! queue ─letters→ recall ─records→ attempt ─those that get through→ READY batch → sink → receipt, letters settled → checkpoint
//!                    └─ gone: they stay open      └─ the others have failed again
//! ```
//!
//! The batches lie in a partition of their own, with its own lease and checkpoint: the source's checkpoint is left alone, and
//! the task may run meanwhile. They belong to the epoch in force of the source's partition, and their rows keep the
//! versions of their places in the source, so that a later correction in the target stands. What is READY after a kill is
//! delivered before anything else.

mod attempt;
mod part;
mod recall;

use super::deliver::Delivery;
use super::map::{MappedReady, Mapping};
use super::{
    DeadLetterBudget, Destination, Kind, LocalLease, MapperCache, Progress, RunError, Summary, discard, under_lease,
};
use crate::publish::{Loader, Published};
use crate::sink::Sink;
use crate::source::{Rereader, SourceError};
use crate::store::BatchStore;
use crate::store::batches::{BatchDraft, Content};
use crate::store::state::{DeadLetterRow, EpochKind, LetterFilter, TaskVersionRow, Totals};
use attempt::{Attempt, Outcome, Passed};
use gristmill_core::cursor::{Cursor, DeadLettersCursor};
use gristmill_core::dead_letter::{DeadLetter, DeadLetterLimit, LetterState};
use gristmill_core::id::{BatchId, Epoch, PartitionId, SchemaId};
use gristmill_core::lease::Tenure;
use gristmill_core::manifest::BatchState;
use gristmill_core::pins::Pins;
use gristmill_core::version::VersionSource;
use part::Part;
use recall::{Found, Recall};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use tokio::sync::watch;

/// Opens the source of a version for records that are read again, at the cursor and logical state of its checkpoint.
pub type OpenRereader =
    Box<dyn Fn(&Published, &Cursor, &BTreeMap<String, String>) -> Result<Box<dyn Rereader>, SourceError> + Send + Sync>;

/// What a replay of dead letters works with.
pub struct Replay {
    pub loader: Loader,
    pub batches: BatchStore,
    /// Of the partition of dead letters.
    pub lease: LocalLease,
    pub sink: Box<dyn Sink>,
    /// Whose code they go through.
    pub version: TaskVersionRow,
    pub published: Arc<Published>,
    pub open_rereader: OpenRereader,
    /// Set to true to finish the batch in hand and end.
    pub stop: watch::Receiver<bool>,
    pub progress: Arc<Progress>,
}

/// What became of dead letters.
#[derive(Debug, Default)]
pub struct Replayed {
    pub replayed: u64,
    /// Refused once more, by class and code.
    pub failed_again: BTreeMap<(String, String), u64>,
    /// Not tried, because their records cannot be had: by the reason.
    pub not_tried: BTreeMap<String, Vec<i64>>,
    pub summary: Summary,
}

/// Puts the open letters that a filter names through a version. Each is tried once.
pub async fn replay(replay: Replay, filter: &LetterFilter) -> Result<Replayed, RunError> {
    let keeper = replay.lease.keep_alive();
    under_lease(keeper, run(replay, filter)).await
}

async fn run(replay: Replay, filter: &LetterFilter) -> Result<Replayed, RunError> {
    let Replay { loader, batches, lease, sink, version, published, open_rereader, stop, progress } = replay;
    let state = loader.state.clone();
    let tenure = lease.tenure().clone();
    let task = tenure.task_id.clone();
    let source = PartitionId::whole();
    if let Some(running) = state.running_replay(&task, &source).await?.filter(|row| row.kind == EpochKind::Rebuild) {
        return Err(RunError::Configuration {
            what: format!("a rebuild into epoch {} has not ended, and would not have these letters", running.epoch),
            hint: format!(
                "go on with `gristmill replay {task} --resume`, or give it up with `--abandon`; then replay the letters"
            ),
        });
    }
    let epoch = state.epoch_in_force(&task, &source).await?;
    set_aside_superseded(&batches, &loader, &tenure, epoch).await?;
    let resume = state.resume(&tenure, epoch).await??;
    discard(&batches, &tenure, &resume.discard).await?;
    let unlimited = DeadLetterLimit { max_ratio: None, max_records: None };
    let delivery = Delivery {
        tenure: tenure.clone(),
        state: state.clone(),
        sink,
        opened: None,
        // They are counted already.
        budget: DeadLetterBudget::new(unlimited, Totals::default()),
        checkpoint: resume.checkpoint,
        progress: progress.clone(),
        stop: stop.clone(),
    };
    let mappers = MapperCache::new(loader.clone(), task.clone(), Destination::InUse);
    let mut line = Line {
        loader: loader.clone(),
        batches: batches.clone(),
        mapping: Mapping { mappers },
        delivery,
        version: version.clone(),
        published: published.clone(),
        epoch,
        waiting: Vec::new(),
        done: Replayed::default(),
    };
    line.delivery.check_history().await?;
    let mut tried: HashSet<i64> = HashSet::new();
    for row in &resume.deliver {
        if *stop.borrow() {
            line.done.summary.interrupted = true;
            return Ok(line.done);
        }
        tracing::info!(batch = %row.batch_id, "delivering a stored batch of dead letters");
        let ready = line.mapping.map(batches.open(row).await?).await?;
        line.done.summary.batches_redelivered += 1;
        line.deliver(ready).await?;
        tried.extend(state.letters_in(row.batch_id).await?.into_iter().map(|letter| letter.id));
    }

    let mut recall = Recall {
        loader,
        batches,
        version,
        published: published.clone(),
        open_rereader,
        rereader: None,
        epoch,
        arrivals: HashMap::new(),
    };
    let open = LetterFilter { state: Some(LetterState::Open), ..filter.clone() };
    let together = published.settings.page_limits.max_rows.max(1);
    let mut after = 0;
    loop {
        let mut letters = state.dead_letters(&task, &open, after, together).await?;
        let Some(last) = letters.last() else { break };
        after = last.id;
        letters.retain(|letter| !tried.contains(&letter.id));
        Progress::add(&progress.records_read, letters.len() as u64);
        let mut again = Vec::new();
        for (batch_id, letters) in by_batch(letters) {
            let found = recall.from_batch(batch_id, letters, &mut again).await?;
            if !line.take(found).await? {
                return Ok(line.done);
            }
        }
        again.sort_by_key(|letter| recall::place_of(&letter.position));
        let mut rest = &again[..];
        while !rest.is_empty() {
            let (found, answered) = recall.from_source(rest).await?;
            rest = &rest[answered..];
            if !line.take(found).await? {
                return Ok(line.done);
            }
        }
        if !line.flush().await? {
            return Ok(line.done);
        }
    }
    Ok(line.done)
}

/// Sets batches aside that were READY when another epoch came into force: the target no longer takes them. Their letters
/// are open, and are tried anew.
async fn set_aside_superseded(
    batches: &BatchStore,
    loader: &Loader,
    tenure: &Tenure,
    epoch: Epoch,
) -> Result<(), RunError> {
    let mut rows = loader.state.batches(&tenure.task_id).await?;
    rows.retain(|row| row.partition_id == tenure.partition_id && row.epoch != epoch);
    rows.sort_by_key(|row| row.sequence);
    let mut set_aside: Vec<Epoch> = Vec::new();
    for row in rows {
        match row.state {
            BatchState::Writing => batches.discard(tenure, &row).await?,
            BatchState::Ready if !set_aside.contains(&row.epoch) => {
                tracing::warn!(batch = %row.batch_id, epoch = %row.epoch, "setting batches of a superseded epoch aside; their letters stay open");
                loader.state.quarantine(tenure, &row).await?;
                set_aside.push(row.epoch);
            }
            BatchState::Ready | BatchState::Committed | BatchState::Quarantined => {}
        }
    }
    Ok(())
}

/// Letters by their batches, both in order.
fn by_batch(letters: Vec<DeadLetterRow>) -> BTreeMap<BatchId, Vec<DeadLetterRow>> {
    let mut batches = BTreeMap::<BatchId, Vec<DeadLetterRow>>::new();
    for letter in letters {
        batches.entry(letter.batch_id).or_default().push(letter);
    }
    batches
}

/// Records on their way from the queue to the target.
struct Line {
    loader: Loader,
    batches: BatchStore,
    mapping: Mapping,
    delivery: Delivery,
    version: TaskVersionRow,
    published: Arc<Published>,
    epoch: Epoch,
    /// Found, and not yet tried: one batch or more of each kind.
    waiting: Vec<(recall::Kind, Vec<Part>)>,
    done: Replayed,
}

impl Line {
    /// Takes what was found, and tries it once there is enough for a batch. False: a stop was asked for.
    async fn take(&mut self, found: Found) -> Result<bool, RunError> {
        for (letter, why) in found.gone {
            self.done.not_tried.entry(why).or_default().push(letter);
        }
        self.fail(&found.failed).await?;
        for (kind, part) in found.parts.into_iter().filter(|(_, part)| part.len() > 0) {
            match self.waiting.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, parts)) => parts.push(part),
                None => self.waiting.push((kind, vec![part])),
            }
        }
        let bytes: usize = self.waiting.iter().flat_map(|(_, parts)| parts).map(Part::bytes).sum();
        let limits = self.published.settings.page_limits;
        let rows = |parts: &[Part]| parts.iter().map(Part::len).sum::<usize>();
        if bytes >= limits.max_bytes || self.waiting.iter().any(|(_, parts)| rows(parts) >= limits.max_rows) {
            return self.flush().await;
        }
        Ok(!self.is_stopped())
    }

    /// Tries all that waits. False: a stop was asked for.
    async fn flush(&mut self) -> Result<bool, RunError> {
        for (kind, parts) in std::mem::take(&mut self.waiting) {
            let joined = Part::concat(parts, &self.published.source_schema);
            let Some(whole) = joined.map_err(|e| RunError::Panicked(e.to_string()))? else { continue };
            let rows: Vec<u32> = (0..whole.len() as u32).collect();
            for rows in rows.chunks(self.published.settings.page_limits.max_rows.max(1)) {
                if self.is_stopped() {
                    return Ok(false);
                }
                let part = whole.select(rows).map_err(|e| RunError::Panicked(e.to_string()))?;
                self.attempt(&kind, part).await?;
            }
        }
        Ok(!self.is_stopped())
    }

    fn is_stopped(&mut self) -> bool {
        self.done.summary.interrupted |= *self.delivery.stop.borrow();
        self.done.summary.interrupted
    }

    async fn attempt(&mut self, kind: &recall::Kind, part: Part) -> Result<(), RunError> {
        let (arrival, schema_id, pins) = match kind {
            recall::Kind::Source(arrival) => (*arrival, &self.version.schema_id, &self.version.pins),
            recall::Kind::Stored { schema_id, pins } => (Default::default(), schema_id, pins),
        };
        let (schema_id, pins) = (schema_id.clone(), pins.clone());
        let mapper = self.mapping.mappers.get(&schema_id, self.version.version, &pins).await?;
        let attempt = Attempt { normalizer: &self.published.normalizer, arrival, mapper: &mapper };
        let mut outcome = Outcome::default();
        tokio::task::block_in_place(|| attempt.run(part, &mut outcome))?;
        self.fail(&outcome.failed).await?;
        for passed in outcome.passed {
            // A batch that waits for its target holds the next place: the rest stays in the queue.
            if self.is_stopped() {
                break;
            }
            for message in &passed.mapped.messages {
                tracing::info!(stage = "map", message);
            }
            let (batch, mapped) = self.store(&schema_id, &pins, passed).await?;
            self.deliver(MappedReady { batch, mapper: mapper.clone(), mapped }).await?;
        }
        Ok(())
    }

    /// Makes a READY batch of records that got through.
    async fn store(
        &mut self,
        schema_id: &SchemaId,
        pins: &Pins,
        passed: Passed,
    ) -> Result<(crate::store::ReadyBatch, super::mapping::Mapped), RunError> {
        let checkpoint = &self.delivery.checkpoint;
        let replays = match &checkpoint.cursor {
            Cursor::DeadLetters(cursor) => cursor.replays,
            _ => 0,
        };
        // Versions of arrival do not follow from the page: normalize could not be verified on it.
        let by_arrival = self.published.normalizer.version == VersionSource::Arrival;
        let raw = passed.page.as_ref().filter(|_| self.published.settings.keep_raw && !by_arrival);
        let draft = BatchDraft {
            task_version: self.version.version,
            epoch: self.epoch,
            sequence: checkpoint.last_sequence.next(),
            schema_id: schema_id.clone(),
            schema_digest: self.loader.schema(schema_id).await?.digest(),
            pins: pins.clone(),
            cursor_from: checkpoint.cursor.clone(),
            cursor_to: Cursor::DeadLetters(DeadLettersCursor { replays: replays + 1 }),
            source_state: BTreeMap::new(),
            content: Content::New { records: passed.records, raw },
            dead_letters: Vec::new(),
            letters: passed.letters,
        };
        let batch = self.batches.put(&self.delivery.tenure, draft).await?;
        self.done.summary.batches_stored += 1;
        Progress::add(&self.delivery.progress.batches_stored, 1);
        Ok((batch, passed.mapped))
    }

    /// Brings a batch to the target; its letters are settled with its receipt.
    async fn deliver(&mut self, ready: MappedReady) -> Result<(), RunError> {
        let batch_id = ready.batch.manifest().batch_id;
        match self.delivery.deliver(ready, &mut self.done.summary).await {
            Err(e) if *self.delivery.stop.borrow() && e.kind() == Kind::Transient => {
                tracing::warn!(error = %e, "stopped while the target did not answer; the batch stays READY");
                self.done.summary.interrupted = true;
                return Ok(());
            }
            delivered => delivered?,
        }
        for letter in self.loader.state.letters_in(batch_id).await? {
            if letter.settled_by == Some(batch_id) {
                self.done.replayed += 1;
            } else if letter.state == LetterState::Open {
                let failure = letter.failure();
                self.count_failed(&failure.class, &failure.code);
            }
        }
        Ok(())
    }

    /// Records letters that failed again before they came into a batch.
    async fn fail(&mut self, failed: &[(i64, DeadLetter)]) -> Result<(), RunError> {
        self.loader.state.letters_failed_again(&self.delivery.tenure, self.version.version, failed).await?;
        for (_, failure) in failed {
            self.count_failed(failure.class.as_str(), &failure.code);
        }
        Ok(())
    }

    fn count_failed(&mut self, class: &str, code: &str) {
        *self.done.failed_again.entry((class.to_owned(), code.to_owned())).or_default() += 1;
    }
}
