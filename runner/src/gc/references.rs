//! What batches, versions and labels name.

use super::Places;
use crate::store::batches::batch_of_key;
use crate::store::content::ContentKind;
use crate::store::state::BatchRow;
use crate::store::{BatchStore, ContentStore, Listed, StoreError};
use futures::{StreamExt, stream};
use gristmill_core::digest::Digest;
use gristmill_core::garbage::YOUNG_MICROS;
use gristmill_core::id::{BatchId, Micros, PartitionId, TaskId};
use gristmill_core::manifest::BatchState;
use gristmill_core::pins::Pins;
use std::collections::{HashMap, HashSet};

/// Manifests that are read at the same time.
const MANIFESTS_AT_ONCE: usize = 8;

#[derive(Debug, Default)]
pub(super) struct References {
    /// Keys that READY and COMMITTED batches need.
    keys: HashSet<String>,
    components: HashSet<Digest>,
    dictionaries: HashSet<Digest>,
    batches: HashMap<BatchId, BatchRow>,
    /// Partitions with a live lease.
    leased: HashSet<(TaskId, PartitionId)>,
    pub unreadable: Vec<(BatchId, String)>,
}

impl References {
    pub async fn read(places: &Places, now: Micros) -> Result<Self, StoreError> {
        let mut found = Self::default();
        for task in places.state.tasks().await? {
            for row in places.state.leases(&task).await? {
                if row.lease.lease_until > now {
                    found.leased.insert((task.clone(), row.partition_id));
                }
            }
            let rows = places.state.batches(&task).await?;
            let stored = rows.iter().filter(|row| matches!(row.state, BatchState::Ready | BatchState::Committed));
            let mut reading = stream::iter(stored.cloned().collect::<Vec<_>>())
                .map(|row| needs(places.batches.clone(), row))
                .buffer_unordered(MANIFESTS_AT_ONCE);
            while let Some((row, read)) = reading.next().await {
                match read {
                    Ok((pins, keys)) => {
                        found.keys.extend(keys);
                        found.pins(&pins);
                    }
                    Err(e @ (StoreError::Damaged { .. } | StoreError::Missing { .. })) => {
                        found.unreadable.push((row.batch_id, e.to_string()));
                    }
                    Err(e) => return Err(e),
                }
            }
            found.batches.extend(rows.into_iter().map(|row| (row.batch_id, row)));
        }
        let named = places.state.hold_named().await?;
        found.components.extend(&named.components);
        found.dictionaries.extend(&named.dictionaries);
        Ok(found)
    }

    fn pins(&mut self, pins: &Pins) {
        self.components.extend(pins.components().map(|(_, pin)| pin.component));
        self.dictionaries.extend(pins.dictionaries.values().map(|pin| pin.content));
    }

    /// Whether something names an object of the store.
    pub fn names(&self, key: &str) -> bool {
        self.keys.contains(key)
            || match ContentStore::of_key(key) {
                Some((ContentKind::Component, digest)) => self.components.contains(&digest),
                Some((ContentKind::Dictionary, digest)) => self.dictionaries.contains(&digest),
                None => false,
            }
    }

    /// The state of a batch, and whether its partition has a live lease.
    pub fn batch(&self, batch: BatchId) -> (Option<BatchState>, bool) {
        let row = self.batches.get(&batch);
        let leased = row.is_some_and(|row| self.leased.contains(&(row.task_id.clone(), row.partition_id.clone())));
        (row.map(|row| row.state), leased)
    }

    /// Whether any worker is alive.
    pub fn worker_alive(&self) -> bool {
        !self.leased.is_empty()
    }

    /// Batches that were never READY, are not worked on, and have only old files, of those that have any.
    pub fn abandoned(&self, listed: &[Listed], now: Micros) -> Vec<BatchRow> {
        let mut newest: HashMap<BatchId, Micros> = HashMap::new();
        for object in listed {
            if let Some(batch) = batch_of_key(&object.key) {
                let at = newest.entry(batch).or_insert(object.written_at);
                *at = (*at).max(object.written_at);
            }
        }
        let old = |at: &Micros| now.0.saturating_sub(at.0) >= YOUNG_MICROS;
        let rows = newest.iter().filter(|(_, at)| old(at)).filter_map(|(batch, _)| self.batches.get(batch));
        let unworked = rows.filter(|row| row.state == BatchState::Writing && !self.batch(row.batch_id).1);
        let mut rows: Vec<BatchRow> = unworked.cloned().collect();
        rows.sort_by_key(|row| row.batch_id);
        rows
    }
}

async fn needs(batches: BatchStore, row: BatchRow) -> (BatchRow, Result<(Pins, Vec<String>), StoreError>) {
    let needs = batches.needs(&row).await.map(|(manifest, keys)| (manifest.pins, keys));
    (row, needs)
}
