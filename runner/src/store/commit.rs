//! Where the commit order is enforced.
//!
//! A checkpoint advances only with a [`CommitPermit`]; a permit is made only from a [`ReadyBatch`], which only the
//! batch store makes, and a [`Receipt`], which only a sink makes. The decision itself is
//! [`gristmill_core::commit::advance`].

use super::{ReadyBatch, now};
use crate::sink::Receipt;
use gristmill_core::checkpoint::Checkpoint;
use gristmill_core::commit::{Facts, OutOfOrder, advance};
use gristmill_core::id::{CheckpointVersion, FencingToken};
use std::collections::BTreeMap;

/// The right to advance one checkpoint once. Not `Clone`: the state store takes it by value.
#[derive(Debug)]
pub struct CommitPermit {
    expected: CheckpointVersion,
    next: Checkpoint,
    source_state: BTreeMap<String, Option<String>>,
}

impl CommitPermit {
    /// Proves that the target holds `batch` and that it is the next one of this checkpoint.
    pub fn authorize(
        checkpoint: &Checkpoint,
        batch: &ReadyBatch,
        receipt: &Receipt,
        held: FencingToken,
    ) -> Result<Self, OutOfOrder> {
        let manifest = batch.manifest();
        let facts = Facts { checkpoint, manifest, receipt_batch: receipt.batch_id(), held, now: now() };
        let next = advance(facts)?;
        Ok(Self { expected: checkpoint.version, next, source_state: manifest.source_state.clone() })
    }

    pub(super) fn into_parts(self) -> (CheckpointVersion, Checkpoint, BTreeMap<String, Option<String>>) {
        (self.expected, self.next, self.source_state)
    }
}
