//! The checkpoint: how far a partition is committed.

use crate::cursor::Cursor;
use crate::id::{BatchId, CheckpointVersion, Epoch, FencingToken, Micros, PartitionId, Sequence, TaskId};
use serde::{Deserialize, Serialize};

/// Durable progress of one partition in one epoch, advanced by compare-and-swap on `version`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    pub task_id: TaskId,
    pub partition_id: PartitionId,
    pub epoch: Epoch,
    pub version: CheckpointVersion,
    pub cursor: Cursor,
    /// The sequence of `last_batch_id`; 0 before the first batch.
    pub last_sequence: Sequence,
    pub last_batch_id: Option<BatchId>,
    /// The token of the writer that advanced it last.
    pub fencing_token: FencingToken,
    pub updated_at: Micros,
}

impl Checkpoint {
    /// Where a partition stands before its first batch. Not stored.
    pub fn start(task_id: TaskId, partition_id: PartitionId, epoch: Epoch, token: FencingToken) -> Self {
        Self {
            task_id,
            partition_id,
            epoch,
            version: CheckpointVersion::new(0),
            cursor: Cursor::Start,
            last_sequence: Sequence::new(0),
            last_batch_id: None,
            fencing_token: token,
            updated_at: Micros(0),
        }
    }
}
