//! What a run has done so far, for people and machines.

use gristmill_core::dead_letter::DeadLetter;
use gristmill_core::id::BatchId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one run. Written by the two halves of the loop, read by the display.
#[derive(Debug, Default)]
pub struct Progress {
    pub records_read: AtomicU64,
    pub batches_stored: AtomicU64,
    pub batches_committed: AtomicU64,
    pub rows_committed: AtomicU64,
}

impl Progress {
    pub(super) fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }
    pub fn get(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}

/// What a run did.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Records that the source gave, accepted or not.
    pub records_read: u64,
    pub batches_stored: u64,
    /// Batches that were READY before this run and delivered from the store.
    pub batches_redelivered: u64,
    pub receipts: u64,
    /// Dead letters of this run by class.
    pub dead_letters: BTreeMap<String, u64>,
    pub outputs: BTreeMap<String, OutputTotals>,
    /// Live records of each output in the target, when they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_records: Option<BTreeMap<String, u64>>,
    pub last_batch: Option<BatchId>,
    pub interrupted: bool,
}

/// Rows of one output, over a run.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct OutputTotals {
    pub rows: u64,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
    pub unchanged: u64,
    pub stale: u64,
    pub conflicts: u64,
}

impl OutputTotals {
    fn add(&mut self, other: Self) {
        let Self { rows, inserted, updated, deleted, unchanged, stale, conflicts } = other;
        self.rows += rows;
        self.inserted += inserted;
        self.updated += updated;
        self.deleted += deleted;
        self.unchanged += unchanged;
        self.stale += stale;
        self.conflicts += conflicts;
    }
}

impl Summary {
    /// Adds what the same process did afterwards.
    pub fn add(&mut self, later: Self) {
        self.records_read += later.records_read;
        self.batches_stored += later.batches_stored;
        self.batches_redelivered += later.batches_redelivered;
        self.receipts += later.receipts;
        for (class, n) in later.dead_letters {
            *self.dead_letters.entry(class).or_default() += n;
        }
        for (output, totals) in later.outputs {
            self.outputs.entry(output).or_default().add(totals);
        }
        self.target_records = later.target_records.or(self.target_records.take());
        self.last_batch = later.last_batch.or(self.last_batch);
        self.interrupted = later.interrupted;
    }

    pub(super) fn count_extracted(&mut self, extracted: &super::extract::Extracted) {
        self.records_read += extracted.records_read;
        self.batches_stored += extracted.batches_stored;
        for (class, n) in &extracted.dead_letters {
            *self.dead_letters.entry(class.clone()).or_default() += n;
        }
    }

    pub(super) fn count_dead_letters(&mut self, letters: &[DeadLetter]) {
        for letter in letters {
            *self.dead_letters.entry(letter.class.to_string()).or_default() += 1;
        }
    }

    pub(super) fn count_receipt(&mut self, receipt: &crate::sink::Receipt) {
        self.receipts += 1;
        self.last_batch = Some(receipt.batch_id());
        for output in receipt.outputs() {
            let totals = self.outputs.entry(output.output.clone()).or_default();
            totals.rows += output.rows;
            totals.inserted += output.inserted;
            totals.updated += output.updated;
            totals.deleted += output.deleted;
            totals.unchanged += output.unchanged;
            totals.stale += output.stale;
            totals.conflicts += output.conflicts;
        }
    }
}
