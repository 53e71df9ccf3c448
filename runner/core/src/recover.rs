//! What to do after a start: which batches to throw away, which to deliver, where to read on.

use crate::checkpoint::Checkpoint;
use crate::id::{BatchId, Sequence};
use crate::manifest::BatchState;

/// One batch after the checkpoint, as the state store has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownBatch {
    pub batch_id: BatchId,
    pub sequence: Sequence,
    pub state: BatchState,
}

/// What a start has to do before it reads the source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recovery {
    /// Never became READY: nothing has consumed them; their files go.
    pub discard: Vec<BatchId>,
    /// Deliver from the store, in this order. The source is not asked for them again. Those that are already
    /// COMMITTED only lack their checkpoint: the sink answers with the first receipt.
    pub deliver: Vec<BatchId>,
}

/// A state that no crash can leave behind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistent {
    #[error("batch number {expected} is missing: the next one stored is number {found} ({batch})")]
    Gap { expected: Sequence, found: Sequence, batch: BatchId },
    #[error("batch {committed} is committed although batch {open} before it is not")]
    CommittedTooEarly { committed: BatchId, open: BatchId },
}

/// Plans a recovery from the batches whose sequence is after the checkpoint's, in any order; quarantined ones excluded.
pub fn plan(checkpoint: &Checkpoint, after: &[KnownBatch]) -> Result<Recovery, Inconsistent> {
    let mut batches = after.to_vec();
    batches.sort_by_key(|b| b.sequence);
    let mut recovery = Recovery::default();
    let mut expected = checkpoint.last_sequence.next();
    let mut open = None;
    for batch in batches {
        match batch.state {
            BatchState::Writing => {
                recovery.discard.push(batch.batch_id);
                continue;
            }
            BatchState::Quarantined => continue,
            BatchState::Committed => {
                if let Some(open) = open {
                    return Err(Inconsistent::CommittedTooEarly { committed: batch.batch_id, open });
                }
            }
            BatchState::Ready => open = open.or(Some(batch.batch_id)),
        }
        if batch.sequence != expected {
            return Err(Inconsistent::Gap { expected, found: batch.sequence, batch: batch.batch_id });
        }
        expected = expected.next();
        recovery.deliver.push(batch.batch_id);
    }
    Ok(recovery)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Epoch, FencingToken, PartitionId, TaskId};

    fn batch(sequence: u64, state: BatchState) -> KnownBatch {
        let batch_id = BatchId::from_ulid(ulid::Ulid::from_parts(0, u128::from(sequence)));
        KnownBatch { batch_id, sequence: Sequence::new(sequence), state }
    }

    fn checkpoint(last: u64) -> Checkpoint {
        let mut start =
            Checkpoint::start(TaskId::new("t").unwrap(), PartitionId::whole(), Epoch::new(1), FencingToken::new(1));
        start.last_sequence = Sequence::new(last);
        start
    }

    #[test]
    fn delivers_what_is_ready_and_discards_what_is_not() {
        use BatchState::{Committed, Ready, Writing};
        let batches = [batch(5, Writing), batch(4, Ready), batch(3, Committed)];
        let recovery = plan(&checkpoint(2), &batches).unwrap();
        assert_eq!(recovery.deliver, [batches[2].batch_id, batches[1].batch_id]);
        assert_eq!(recovery.discard, [batches[0].batch_id]);
        assert_eq!(plan(&checkpoint(2), &[]), Ok(Recovery::default()));
    }

    #[test]
    fn impossible_states_are_named() {
        use BatchState::{Committed, Quarantined, Ready};
        assert!(matches!(plan(&checkpoint(0), &[batch(2, Ready)]), Err(Inconsistent::Gap { .. })));
        assert!(matches!(
            plan(&checkpoint(0), &[batch(1, Ready), batch(2, Committed)]),
            Err(Inconsistent::CommittedTooEarly { .. })
        ));
        let quarantined = plan(&checkpoint(0), &[batch(1, Quarantined), batch(1, Ready)]).unwrap();
        assert_eq!(quarantined.deliver.len(), 1, "the range was read again under a new id");
    }
}
