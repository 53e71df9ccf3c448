//! Receipts: the proof that a sink committed a batch.

use gristmill_core::digest::Digest;
use gristmill_core::id::{BatchId, FencingToken, Micros, TaskId};
use serde::{Deserialize, Serialize};

/// A sink's durable proof that it committed a batch. Only sinks make one: the constructor is visible to
/// `crate::sink` alone, and a checkpoint advances only with one in hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    task_id: TaskId,
    batch_id: BatchId,
    fencing_token: FencingToken,
    digest: Digest,
    committed_at: Micros,
    outputs: Vec<OutputReceipt>,
}

/// What happened to the rows of one output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct OutputReceipt {
    pub output: String,
    /// Rows given to the sink.
    pub rows: u64,
    pub inserted: u64,
    pub updated: u64,
    /// Tombstones written.
    pub deleted: u64,
    /// Same version and content as the target's.
    pub unchanged: u64,
    /// Older than the target's, or of the same version and a smaller epoch: not written.
    pub stale: u64,
    /// Same version and epoch, other content: not written.
    pub conflicts: u64,
    /// Batch rows of the conflicts.
    pub conflict_rows: Vec<u32>,
}

/// The stored form, read back from a target by the sink that wrote it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    task_id: TaskId,
    batch_id: BatchId,
    fencing_token: FencingToken,
    digest: Digest,
    committed_at: Micros,
    outputs: Vec<OutputReceipt>,
}

impl Receipt {
    pub(in crate::sink) fn new(batch: &super::MappedBatch, committed_at: Micros, outputs: Vec<OutputReceipt>) -> Self {
        Self {
            task_id: batch.task_id.clone(),
            batch_id: batch.batch_id,
            fencing_token: batch.fencing_token,
            digest: batch.digest,
            committed_at,
            outputs,
        }
    }

    /// The form that a sink stores in its target.
    pub(in crate::sink) fn to_json(&self) -> Result<String, super::SinkError> {
        serde_json::to_string(self).map_err(|error| super::SinkError::Permanent {
            what: format!("the receipt of batch {} cannot be written as JSON: {error}", self.batch_id),
            hint: "report this as a bug of gristmill".into(),
        })
    }

    /// Reads the JSON that a sink stored in its own target.
    pub(in crate::sink) fn from_json(json: &str) -> serde_json::Result<Self> {
        Self::deserialize_stored(&mut serde_json::Deserializer::from_str(json))
    }

    /// Not `Deserialize`: nobody but a sink may make a receipt, not even from text.
    pub(in crate::sink) fn deserialize_stored<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Stored { task_id, batch_id, fencing_token, digest, committed_at, outputs } = Stored::deserialize(from)?;
        Ok(Self { task_id, batch_id, fencing_token, digest, committed_at, outputs })
    }

    /// Refuses to pass off another batch's receipt under this batch's id.
    pub(in crate::sink) fn of_same_content(self, batch: &super::MappedBatch) -> Result<Self, super::SinkError> {
        match self.digest == batch.digest {
            true => Ok(self),
            false => Err(super::SinkError::Permanent {
                what: format!(
                    "batch {} is committed with content {}, but was delivered again with {}; nothing was written",
                    self.batch_id,
                    self.digest.short(),
                    batch.digest.short()
                ),
                hint: "the same code gave other rows: check the stored batch with `gristmill replay --verify`".into(),
            }),
        }
    }

    pub fn task_id(&self) -> &TaskId {
        &self.task_id
    }
    pub fn batch_id(&self) -> BatchId {
        self.batch_id
    }
    pub fn fencing_token(&self) -> FencingToken {
        self.fencing_token
    }
    /// Digest of the mapped rows that were committed.
    pub fn digest(&self) -> Digest {
        self.digest
    }
    pub fn committed_at(&self) -> Micros {
        self.committed_at
    }
    pub fn outputs(&self) -> &[OutputReceipt] {
        &self.outputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kept in every target.
    #[test]
    fn stored_json_is_fixed() {
        let json = concat!(
            r#"{"taskId":"flights","batchId":"01J2S0000000000000000000ZZ","fencingToken":3,"#,
            r#""digest":"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","#,
            r#""committedAt":1700000000000000,"outputs":[{"output":"flights","rows":21,"inserted":1,"updated":2,"#,
            r#""deleted":3,"unchanged":4,"stale":5,"conflicts":6,"conflictRows":[0,7,8,9,10,11]}]}"#
        );
        let receipt = Receipt::from_json(json).unwrap();
        assert_eq!(receipt.to_json().unwrap(), json);
        assert_eq!(receipt.committed_at(), Micros(1_700_000_000_000_000));
        assert_eq!((receipt.outputs()[0].stale, receipt.outputs()[0].conflict_rows.len()), (5, 6));
        for bad in [json.replace("taskId", "task"), json.replace("\"rows\":21,", ""), json.replace('3', "\"3\"")] {
            assert!(Receipt::from_json(&bad).is_err(), "{bad}");
        }
    }
}
