//! Where the records of dead letters are found again.
//!
//! One that map or the sink has refused is a row of its stored batch. One that the source or normalize has refused is in no
//! batch: it is read from the page that was kept, or from the object that it was in, if that is still the same version.

use super::OpenRereader;
use super::part::{Part, Rows, select_records};
use crate::drive::RunError;
use crate::drive::normalize::Arrival;
use crate::drive::replay::{check_chains, repinned};
use crate::publish::{Loader, Published};
use crate::record::Page;
use crate::source::Rereader;
use crate::store::state::{BatchRow, DeadLetterRow, TaskVersionRow};
use crate::store::{BatchStore, StoreError};
use gristmill_core::dead_letter::{DeadLetter, RecordPosition};
use gristmill_core::id::{BatchId, Epoch, PartitionId, SchemaId};
use gristmill_core::pins::Pins;
use gristmill_core::version::VersionSource;
use std::collections::HashMap;
use std::sync::Arc;

/// What records have in common that travel in one batch.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// Of the source, under the version's own schema and pins.
    Source(Arrival),
    /// Of stored batches.
    Stored { schema_id: SchemaId, pins: Pins },
}

/// What was found of some letters.
#[derive(Default)]
pub(super) struct Found {
    pub parts: Vec<(Kind, Part)>,
    /// Refused by the source once more.
    pub failed: Vec<(i64, DeadLetter)>,
    /// Not to be found, and why.
    pub gone: Vec<(i64, String)>,
}

/// Finds records for a version of a task.
pub(super) struct Recall {
    pub loader: Loader,
    pub batches: BatchStore,
    pub version: TaskVersionRow,
    pub published: Arc<Published>,
    pub open_rereader: OpenRereader,
    /// Opened for the first letter that needs it.
    pub rereader: Option<Box<dyn Rereader>>,
    /// Of the source's partition.
    pub epoch: Epoch,
    /// Where the records of batches stand among those that arrived.
    pub arrivals: HashMap<BatchId, Arrival>,
}

impl Recall {
    /// The records of letters of one batch. Those that have to be read from the source again are left in `again`.
    pub async fn from_batch(
        &mut self,
        batch_id: BatchId,
        letters: Vec<DeadLetterRow>,
        again: &mut Vec<DeadLetterRow>,
    ) -> Result<Found, RunError> {
        let mut found = Found::default();
        let Some(row) = self.loader.state.batch(batch_id).await? else {
            return Err(RunError::Store(lost(batch_id)));
        };
        let by_arrival = self.published.normalizer.version == VersionSource::Arrival;
        let arrival = if by_arrival { Arrival::just_before(row.sequence) } else { Arrival::default() };
        self.arrivals.insert(batch_id, arrival);
        let (stored, of_source): (Vec<_>, Vec<_>) =
            letters.into_iter().partition(|letter| matches!(letter.position, RecordPosition::Batch { .. }));
        if !stored.is_empty() {
            self.stored(&row, stored, &mut found).await?;
        }
        if !of_source.is_empty() {
            self.kept(&row, of_source, arrival, &mut found, again).await?;
        }
        Ok(found)
    }

    /// Rows of a stored batch.
    async fn stored(&self, row: &BatchRow, letters: Vec<DeadLetterRow>, found: &mut Found) -> Result<(), RunError> {
        let mut all_gone = |letters: Vec<DeadLetterRow>, why: String| {
            found.gone.extend(letters.into_iter().map(|letter| (letter.id, why.clone())));
            Ok(())
        };
        if let Err(why) = check_chains(&self.version, std::slice::from_ref(row)) {
            return all_gone(letters, why.to_string());
        }
        let batch = match self.batches.open(row).await {
            Ok(batch) => batch,
            Err(why) if is_of_the_file(&why) => return all_gone(letters, why.to_string()),
            Err(e) => return Err(e.into()),
        };
        let records = batch.records();
        let (mut rows, mut ids) = (Vec::new(), Vec::new());
        for letter in letters {
            match letter.position {
                RecordPosition::Batch { row } if (row as usize) < records.rows.num_rows() => {
                    rows.push(row);
                    ids.push(letter.id);
                }
                _ => found.gone.push((letter.id, format!("batch {} has no such row", row.batch_id))),
            }
        }
        let records = select_records(records, &rows).map_err(|e| RunError::Panicked(e.to_string()))?;
        let manifest = batch.manifest();
        let pins = repinned(&self.version, &manifest.pins);
        let kind = Kind::Stored { schema_id: manifest.schema_id.clone(), pins };
        found.parts.push((kind, Part { rows: Rows::Records(records), letters: ids }));
        Ok(())
    }

    /// Rows of the page that was kept beside a batch. It has none that the source itself has refused.
    async fn kept(
        &self,
        row: &BatchRow,
        letters: Vec<DeadLetterRow>,
        arrival: Arrival,
        found: &mut Found,
        again: &mut Vec<DeadLetterRow>,
    ) -> Result<(), RunError> {
        let Some(page) = self.page(row).await? else {
            again.extend(letters);
            return Ok(());
        };
        let place = |row: usize| (page.origins.run_of(row).object_sequence, page.origins.records.value(row));
        let at: HashMap<(u64, u64), u32> = (0..page.rows.num_rows()).map(|row| (place(row), row as u32)).collect();
        let (mut rows, mut ids) = (Vec::new(), Vec::new());
        for letter in letters {
            match at.get(&place_of(&letter.position)) {
                Some(row) => {
                    rows.push(*row);
                    ids.push(letter.id);
                }
                None => again.push(letter),
            }
        }
        let letters = (0..page.rows.num_rows() as i64).collect();
        let mut part = Part { rows: Rows::Page(page), letters };
        part = part.select(&rows).map_err(|e| RunError::Panicked(e.to_string()))?;
        part.letters = ids;
        found.parts.push((Kind::Source(arrival), part));
        Ok(())
    }

    /// The page of a batch, where it was kept, can be read, and is what the version would read.
    async fn page(&self, row: &BatchRow) -> Result<Option<Page>, RunError> {
        let kept = async {
            let manifest = self.batches.manifest(row).await?;
            match manifest.raw.is_some() {
                true => self.batches.raw(&manifest).await,
                false => Ok(None),
            }
        };
        let raw = match kept.await {
            Ok(Some(raw)) => raw,
            Ok(None) => return Ok(None),
            // The source may still have what the store has lost.
            Err(e) if is_of_the_file(&e) => {
                tracing::warn!(batch = %row.batch_id, error = %e, "its page cannot be read: trying the source");
                return Ok(None);
            }
            Err(e) => return Err(e.into()),
        };
        let columns = self.loader.source_columns(&row.task_id, &row.schema_id).await?;
        // Its values are as the version of its time read them.
        let then = self.loader.version(&row.task_id, row.task_version).await?;
        let format = |version: &TaskVersionRow| version.definition["source"]["files"]["format"].clone();
        let fits = columns == self.published.source_schema && format(&then) == format(&self.version);
        Ok(fits.then(|| super::part::page(raw.rows, raw.operations, raw.origins)))
    }

    /// The records of the first letters, as many as fit; sorted by their places in the source. Returns how many.
    pub async fn from_source(&mut self, letters: &[DeadLetterRow]) -> Result<(Found, usize), RunError> {
        let rereader = match self.rereader.take() {
            Some(rereader) => rereader,
            None => self.open().await?,
        };
        let rereader = self.rereader.insert(rereader);
        let positions: Vec<RecordPosition> = letters.iter().map(|letter| letter.position.clone()).collect();
        let reread = rereader.reread(&positions, self.published.settings.page_limits).await?;
        let mut found = Found::default();
        let answered = reread.answered.clamp(1, letters.len());
        let mut gone: HashMap<usize, String> = reread.gone.into_iter().collect();
        let refused = reread.page.dead_letters.iter().map(|failure| (place_of(&failure.position), failure));
        let refused: HashMap<(u64, u64), &DeadLetter> = refused.collect();
        // Which letter each row of the page is, and where it arrived.
        let mut rows: Vec<(i64, Arrival)> = Vec::new();
        for (place, letter) in letters[..answered].iter().enumerate() {
            if let Some(why) = gone.remove(&place) {
                found.gone.push((letter.id, why));
            } else if let Some(failure) = refused.get(&place_of(&letter.position)) {
                found.failed.push((letter.id, (*failure).clone()));
            } else {
                rows.push((letter.id, self.arrivals.get(&letter.batch_id).copied().unwrap_or_default()));
            }
        }
        if rows.len() != reread.page.rows.num_rows() {
            return Err(RunError::Panicked("the source gave other records than it was asked for".into()));
        }
        let part = Part { rows: Rows::Page(reread.page), letters: rows.iter().map(|(letter, _)| *letter).collect() };
        let mut from = 0;
        for run in rows.chunk_by(|a, b| a.1 == b.1) {
            let places: Vec<u32> = (from..from + run.len()).map(|row| row as u32).collect();
            from += run.len();
            let part = part.select(&places).map_err(|e| RunError::Panicked(e.to_string()))?;
            found.parts.push((Kind::Source(run[0].1), part));
        }
        Ok((found, answered))
    }

    async fn open(&self) -> Result<Box<dyn Rereader>, RunError> {
        let (state, task, partition) = (&self.loader.state, &self.version.task_id, PartitionId::whole());
        let checkpoint = state.checkpoint(task, &partition, self.epoch).await?;
        let read = checkpoint.map_or(gristmill_core::cursor::Cursor::Start, |checkpoint| checkpoint.cursor);
        let source_state = state.source_state(task, &partition, self.epoch).await?;
        Ok((self.open_rereader)(&self.published, &read, &source_state)?)
    }
}

/// The place of a position in the order of reading.
pub(super) fn place_of(position: &RecordPosition) -> (u64, u64) {
    match position {
        RecordPosition::Source { object_sequence, record, .. } => (*object_sequence, *record),
        RecordPosition::Batch { row } => (0, u64::from(*row)),
    }
}

/// Whether it is one stored file that cannot be read: other letters may still go through.
fn is_of_the_file(error: &StoreError) -> bool {
    matches!(error, StoreError::Damaged { .. } | StoreError::Missing { .. } | StoreError::Refused { .. })
}

fn lost(batch_id: BatchId) -> StoreError {
    StoreError::Damaged {
        what: format!("the state's row of batch {batch_id}"),
        detail: "it is gone".into(),
        hint: "the state was changed by hand: restore it from a backup".into(),
    }
}
