//! The first half: read a page, normalize it, make it a READY batch.

use super::normalize::NormalizeError;
use super::progress::Progress;
use super::versions::{Swap, Versions};
use super::{DeadLetterBudget, RunError, schema};
use crate::publish::Published;
use crate::source::{Changed, Poll, Source, SourceError};
use crate::store::batches::{BatchDraft, Content};
use crate::store::{BatchStore, ReadyBatch};
use backon::{BackoffBuilder, ExponentialBuilder};
use gristmill_core::dead_letter::DeadLetter;
use gristmill_core::id::{Epoch, Sequence};
use gristmill_core::lease::Tenure;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// How long to wait before asking an idle source again.
const IDLE_WAIT: Duration = Duration::from_secs(1);

/// How many dead letters an error shows.
pub(super) const EXAMPLES: usize = 5;

pub(super) struct Extraction {
    pub tenure: Tenure,
    pub published: Arc<Published>,
    pub versions: Arc<Versions>,
    pub batches: BatchStore,
    pub source: Box<dyn Source>,
    pub budget: DeadLetterBudget,
    pub once: bool,
    pub stop: watch::Receiver<bool>,
    /// Of the last batch; the next one follows it.
    pub sequence: Sequence,
    pub epoch: Epoch,
    pub progress: Arc<Progress>,
    pub spool: PathBuf,
    /// Of the last page, most records were refused.
    pub mostly_refused: bool,
    /// Read by the caller at the end, however that comes.
    pub done: Arc<Mutex<Extracted>>,
}

/// Why this half ended.
pub(super) enum Ended {
    /// The source is drained, or a stop was asked for.
    Done,
    /// A version is in force that reads another source.
    Source(Arc<Published>),
    /// The same, and the target is not ready for it.
    Held(Arc<Published>),
}

/// What this half did.
#[derive(Debug, Default)]
pub(super) struct Extracted {
    pub records_read: u64,
    pub batches_stored: u64,
    pub dead_letters: BTreeMap<String, u64>,
}

impl Extraction {
    /// Goes on until the source is drained, a stop is asked for, or the delivering half has ended.
    /// Without a delivering half batches are stored and wait.
    pub async fn run(mut self, ready: Option<mpsc::Sender<ReadyBatch>>) -> Result<Ended, RunError> {
        while !*self.stop.borrow() {
            match self.versions.later_than(&self.published).await? {
                Some(Swap::Source(next)) => return Ok(Ended::Source(next)),
                Some(Swap::Held(next)) => return Ok(Ended::Held(next)),
                Some(Swap::Code(next)) => {
                    self.budget.set_limit(next.settings.dead_letters);
                    self.published = next;
                }
                None => {}
            }
            let polled = match self.poll().await {
                Err(SourceError::Changed(changed)) => return self.adopted(*changed).await,
                polled => polled?,
            };
            let wait = match polled {
                Poll::Page(page) => {
                    // A place in the channel first: it bounds how many batches are in memory.
                    let place = match &ready {
                        None => None,
                        Some(ready) => match ready.reserve().await {
                            Ok(place) => Some(place),
                            Err(_) => return Ok(Ended::Done),
                        },
                    };
                    match self.store(*page).await {
                        Ok(batch) => {
                            if let Some(place) = place {
                                place.send(batch);
                            }
                        }
                        Err(e @ RunError::TooManyDeadLetters { .. }) => return Err(self.or_type_change(e).await?),
                        Err(e) => return Err(e),
                    }
                    continue;
                }
                Poll::Settling(wait) => {
                    tracing::debug!(?wait, "waiting for the source to come to rest");
                    wait
                }
                Poll::Idle if self.once => return Ok(Ended::Done),
                Poll::Idle => IDLE_WAIT,
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                _ = self.stop.wait_for(|stop| *stop) => {}
                () = closed(&ready) => return Ok(Ended::Done),
            }
        }
        Ok(Ended::Done)
    }

    /// Goes on with changed columns, if the task adopts them.
    async fn adopted(&mut self, changed: Changed) -> Result<Ended, RunError> {
        let loader = &self.versions.loader;
        if self.sequence == Sequence::new(0) {
            // Nothing was read under these columns yet: the pipeline is wrong, the source has not changed.
            return Err(schema::never_fitted(&self.published, &changed).into());
        }
        let version = schema::changed(loader, &self.published, changed, &self.spool).await?;
        let row = loader.version(&self.published.task_id, version).await?;
        let pipeline = loader.pipeline(&row)?;
        tracing::info!(version = %version, origin = row.origin, "adopting new columns of the source");
        Ok(Ended::Source(Arc::new(loader.published(&row, &pipeline).await?)))
    }

    /// Too many records that are refused for one column are a sign that the column is of another type now.
    async fn or_type_change(&mut self, error: RunError) -> Result<RunError, RunError> {
        let RunError::TooManyDeadLetters { examples, .. } = &error else { return Ok(error) };
        let found = schema::unreadable_column(examples);
        let found = found.filter(|_| self.mostly_refused && self.sequence > Sequence::new(0));
        let Some((object, column)) = found else { return Ok(error) };
        let Ok(observed) = self.source.observe(&object).await else { return Ok(error) };
        match schema::with_column(&self.published.source_schema, &observed, &column) {
            None => Ok(error),
            Some(observed) => match self.adopted(Changed { object, observed }).await {
                Err(changed) => Ok(changed),
                Ok(_) => Ok(error),
            },
        }
    }

    /// One read, with bounded retries of what may pass.
    async fn poll(&mut self) -> Result<Poll, SourceError> {
        let mut delays = retries().build();
        loop {
            match self.source.poll(self.published.settings.page_limits).await {
                Err(SourceError::Transient { doing, source }) => match delays.next() {
                    Some(delay) => {
                        tracing::warn!(doing, error = %source, retry_in = ?delay, "the source did not answer");
                        tokio::select! {
                            () = tokio::time::sleep(delay) => {}
                            // The caller looks at the stop before it polls again.
                            _ = self.stop.wait_for(|stop| *stop) => return Ok(Poll::Settling(Duration::ZERO)),
                        }
                    }
                    None => return Err(SourceError::Transient { doing, source }),
                },
                answer => return answer,
            }
        }
    }

    /// normalize → dead-letter limit → batch store.
    async fn store(&mut self, mut page: crate::record::Page) -> Result<ReadyBatch, RunError> {
        let sequence = self.sequence.next();
        let refused = std::mem::take(&mut page.dead_letters);
        let read = (page.rows.num_rows() + refused.len()) as u64;

        let normalizer = &self.published.normalizer;
        let normalized =
            tokio::task::block_in_place(|| normalizer.run(&page, refused, sequence)).map_err(|e| match e {
                NormalizeError::Stage(fault) => RunError::Normalize { fault },
                NormalizeError::Broken(e) => RunError::Panicked(e.to_string()),
            })?;
        for message in &normalized.messages {
            tracing::info!(stage = "normalize", message);
        }
        let dead_letters = normalized.dead_letters;
        self.mostly_refused = dead_letters.len() as u64 * 2 > read;
        self.budget.admit_page(read, dead_letters.len() as u64).map_err(|reason| RunError::TooManyDeadLetters {
            reason,
            examples: dead_letters.iter().take(EXAMPLES).cloned().collect(),
            batch: None,
            recorded: false,
        })?;

        let counts = count(&dead_letters);
        let batch = self
            .batches
            .put(
                &self.tenure,
                BatchDraft {
                    task_version: self.published.version,
                    epoch: self.epoch,
                    sequence,
                    schema_id: self.published.schema_id.clone(),
                    schema_digest: self.published.schema.digest(),
                    pins: self.published.pins.clone(),
                    cursor_from: page.cursor_from.clone(),
                    cursor_to: page.cursor_to.clone(),
                    source_state: std::mem::take(&mut page.state),
                    content: Content::New {
                        records: normalized.records,
                        raw: self.published.settings.keep_raw.then_some(&page),
                    },
                    dead_letters,
                    letters: Vec::new(),
                },
            )
            .await?;
        self.sequence = sequence;
        let mut done = self.done.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        done.records_read += read;
        done.batches_stored += 1;
        for (class, n) in counts {
            *done.dead_letters.entry(class).or_default() += n;
        }
        Progress::add(&self.progress.records_read, read);
        Progress::add(&self.progress.batches_stored, 1);
        Ok(batch)
    }
}

async fn closed(ready: &Option<mpsc::Sender<ReadyBatch>>) {
    match ready {
        Some(ready) => ready.closed().await,
        None => std::future::pending().await,
    }
}

fn count(letters: &[DeadLetter]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for letter in letters {
        *counts.entry(letter.class.to_string()).or_default() += 1;
    }
    counts
}

/// Bounded: about a minute in all, then a person is told.
pub(super) fn retries() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(200))
        .with_max_delay(Duration::from_secs(15))
        .with_max_times(8)
        .with_jitter()
}
