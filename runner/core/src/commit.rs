//! The commit order: which batch may advance a checkpoint, and to what.
//!
//! A checkpoint advances over exactly one batch at a time, the next one in sequence, whose range starts where the
//! checkpoint stands, and only when the target has answered for that very batch.

use crate::checkpoint::Checkpoint;
use crate::id::{BatchId, FencingToken, Micros, Sequence};
use crate::manifest::Manifest;

/// What is known when a checkpoint is about to advance.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// As stored now.
    pub checkpoint: &'a Checkpoint,
    /// Of the batch to advance over.
    pub manifest: &'a Manifest,
    /// The batch that the target answered for.
    pub receipt_batch: BatchId,
    /// The token that this process holds.
    pub held: FencingToken,
    pub now: Micros,
}

/// Why a checkpoint must not advance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutOfOrder {
    #[error("the receipt is for batch {receipt}, not for batch {batch}")]
    OtherReceipt { receipt: BatchId, batch: BatchId },
    #[error("batch {batch} belongs to another task, partition or epoch than the checkpoint")]
    OtherHistory { batch: BatchId },
    #[error("batch {batch} is number {found}, the checkpoint waits for number {expected}")]
    Gap { batch: BatchId, found: Sequence, expected: Sequence },
    #[error("batch {batch} does not start where the checkpoint stands")]
    Disconnected { batch: BatchId },
    #[error("fenced: fencing token {seen} has been seen, this process holds {held}")]
    Fenced { seen: FencingToken, held: FencingToken },
}

/// The checkpoint after the batch. The order is checked here and nowhere else.
pub fn advance(facts: Facts<'_>) -> Result<Checkpoint, OutOfOrder> {
    let Facts { checkpoint, manifest, receipt_batch, held, now } = facts;
    let batch = manifest.batch_id;
    if receipt_batch != batch {
        return Err(OutOfOrder::OtherReceipt { receipt: receipt_batch, batch });
    }
    let same_history = manifest.task_id == checkpoint.task_id
        && manifest.partition_id == checkpoint.partition_id
        && manifest.epoch == checkpoint.epoch;
    if !same_history {
        return Err(OutOfOrder::OtherHistory { batch });
    }
    let seen = checkpoint.fencing_token.max(manifest.fencing_token);
    if held < seen {
        return Err(OutOfOrder::Fenced { seen, held });
    }
    let expected = checkpoint.last_sequence.next();
    if manifest.sequence != expected {
        return Err(OutOfOrder::Gap { batch, found: manifest.sequence, expected });
    }
    if manifest.cursor_from != checkpoint.cursor {
        return Err(OutOfOrder::Disconnected { batch });
    }
    Ok(Checkpoint {
        task_id: checkpoint.task_id.clone(),
        partition_id: checkpoint.partition_id.clone(),
        epoch: checkpoint.epoch,
        version: checkpoint.version.next(),
        cursor: manifest.cursor_to.clone(),
        last_sequence: manifest.sequence,
        last_batch_id: Some(batch),
        fencing_token: held,
        updated_at: now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::{Cursor, FilePosition, FileVersion, FilesCursor};
    use crate::digest::Digest;
    use crate::id::{Epoch, PartitionId, SchemaId, TaskId, TaskVersion};
    use crate::manifest::MANIFEST_FORMAT;
    use crate::pins::Pins;
    use std::collections::BTreeMap;

    fn cursor(record: u64) -> Cursor {
        if record == 0 {
            return Cursor::Start;
        }
        Cursor::Files(FilesCursor {
            file_sequence: 1,
            file: FileVersion { path: "a".into(), bytes: 1, modified: 1, etag: None, digest: Digest::of(b"") },
            position: FilePosition::At { record, byte: record, line: record },
        })
    }

    fn manifest(sequence: u64) -> Manifest {
        Manifest {
            format: MANIFEST_FORMAT,
            batch_id: BatchId::from_ulid(ulid::Ulid::from_parts(1, u128::from(sequence))),
            task_id: TaskId::new("t").unwrap(),
            task_version: TaskVersion::new(1),
            partition_id: PartitionId::whole(),
            epoch: Epoch::new(1),
            sequence: Sequence::new(sequence),
            schema_id: SchemaId::new("s").unwrap(),
            schema_digest: Digest::of(b""),
            cursor_from: cursor(sequence - 1),
            cursor_to: cursor(sequence),
            record_count: 1,
            insert_count: 1,
            update_count: 0,
            delete_count: 0,
            dead_letter_count: 0,
            data_uri: String::new(),
            data_bytes: 0,
            checksum: Digest::of(b""),
            created_at: Micros(0),
            fencing_token: FencingToken::new(3),
            pins: Pins::default(),
            replay_of: None,
            raw: None,
            source_state: BTreeMap::new(),
        }
    }

    fn start() -> Checkpoint {
        Checkpoint::start(TaskId::new("t").unwrap(), PartitionId::whole(), Epoch::new(1), FencingToken::new(3))
    }

    fn facts<'a>(checkpoint: &'a Checkpoint, manifest: &'a Manifest, held: u64) -> Facts<'a> {
        let receipt_batch = manifest.batch_id;
        Facts { checkpoint, manifest, receipt_batch, held: FencingToken::new(held), now: Micros(5) }
    }

    #[test]
    fn advances_batch_by_batch() {
        let (first, second) = (manifest(1), manifest(2));
        let one = advance(facts(&start(), &first, 3)).unwrap();
        assert_eq!((one.version.get(), one.last_batch_id), (1, Some(first.batch_id)));
        let two = advance(facts(&one, &second, 4)).unwrap();
        assert_eq!((two.cursor, two.fencing_token), (cursor(2), FencingToken::new(4)));
    }

    #[test]
    fn refuses_every_other_order() {
        let (first, second) = (manifest(1), manifest(2));
        let one = advance(facts(&start(), &first, 3)).unwrap();
        assert!(matches!(advance(facts(&start(), &second, 3)), Err(OutOfOrder::Gap { .. })), "skips a batch");
        assert!(matches!(advance(facts(&one, &first, 3)), Err(OutOfOrder::Gap { .. })), "repeats a batch");
        assert!(matches!(advance(facts(&one, &second, 2)), Err(OutOfOrder::Fenced { .. })), "holds an old token");

        let mut elsewhere = manifest(2);
        elsewhere.cursor_from = cursor(7);
        assert!(matches!(advance(facts(&one, &elsewhere, 3)), Err(OutOfOrder::Disconnected { .. })));

        let mut other_epoch = manifest(2);
        other_epoch.epoch = Epoch::new(2);
        assert!(matches!(advance(facts(&one, &other_epoch, 3)), Err(OutOfOrder::OtherHistory { .. })));

        let wrong = Facts { receipt_batch: first.batch_id, ..facts(&one, &second, 3) };
        assert!(matches!(advance(wrong), Err(OutOfOrder::OtherReceipt { .. })), "has another batch's receipt");
    }
}
