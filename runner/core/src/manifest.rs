//! The manifest of a batch: what it holds, where it came from, which code made it.

use crate::cursor::Cursor;
use crate::digest::Digest;
use crate::id::{BatchId, Epoch, FencingToken, Micros, PartitionId, SchemaId, Sequence, TaskId, TaskVersion};
use crate::pins::Pins;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The manifest format that this build writes.
pub const MANIFEST_FORMAT: u32 = 1;

/// Describes one immutable batch. Written once, after the data file; its own digest is kept in the state store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    pub format: u32,
    pub batch_id: BatchId,
    pub task_id: TaskId,
    pub task_version: TaskVersion,
    pub partition_id: PartitionId,
    pub epoch: Epoch,
    pub sequence: Sequence,
    pub schema_id: SchemaId,
    pub schema_digest: Digest,
    pub cursor_from: Cursor,
    pub cursor_to: Cursor,
    pub record_count: u64,
    pub insert_count: u64,
    pub update_count: u64,
    pub delete_count: u64,
    /// Records of the page that became dead letters before this batch.
    pub dead_letter_count: u64,
    /// Where the data file is, below the store's root.
    pub data_uri: String,
    pub data_bytes: u64,
    /// Of the data file.
    pub checksum: Digest,
    pub created_at: Micros,
    pub fencing_token: FencingToken,
    pub pins: Pins,
    /// The batch of an earlier epoch whose records these are, mapped anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_of: Option<BatchId>,
    /// The source's page before normalize, where the task keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawPage>,
    /// Changes of the source's logical state that hold once this batch is committed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_state: BTreeMap<String, Option<String>>,
}

/// The file that holds what the source gave for a batch, so that normalize can run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawPage {
    /// Below the store's root.
    pub uri: String,
    pub bytes: u64,
    pub checksum: Digest,
}

impl Manifest {
    /// Records that the source gave for this batch, accepted or not.
    pub const fn read_count(&self) -> u64 {
        self.record_count + self.dead_letter_count
    }

    /// Whether the data file was written for this batch: a replay may share that of an earlier one.
    pub fn owns_data(&self) -> bool {
        self.data_uri.split('/').any(|part| part == self.batch_id.to_string())
    }
}

/// The life of a batch. Only the state changes; the files never do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum BatchState {
    /// Its files are being written. Set by the batch store; nothing may read it.
    Writing,
    /// Data file, manifest and checksums are durable. Set by the batch store.
    Ready,
    /// The target holds it and its receipt is recorded. Set together with the receipt.
    Committed,
    /// Set aside by a person because its files are damaged; its range is read again under a new id.
    Quarantined,
}

impl BatchState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Writing => "WRITING",
            Self::Ready => "READY",
            Self::Committed => "COMMITTED",
            Self::Quarantined => "QUARANTINED",
        }
    }
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Writing, Self::Ready, Self::Committed, Self::Quarantined].into_iter().find(|s| s.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A persisted format: a manifest of this form must be readable for ever.
    const GOLDEN: &str = r#"{
  "format": 1,
  "batchId": "01J2S0000000000000000000ZZ",
  "taskId": "flights",
  "taskVersion": 1,
  "partitionId": "all",
  "epoch": 1,
  "sequence": 2,
  "schemaId": "flights-v1",
  "schemaDigest": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  "cursorFrom": {
    "kind": "start/1"
  },
  "cursorTo": {
    "kind": "files/1",
    "fileSequence": 1,
    "file": {
      "path": "a.csv",
      "bytes": 10,
      "modified": 5,
      "digest": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    },
    "position": {
      "end": {
        "records": 4
      }
    }
  },
  "recordCount": 3,
  "insertCount": 1,
  "updateCount": 1,
  "deleteCount": 1,
  "deadLetterCount": 1,
  "dataUri": "batches/flights/1/all/01J2S0000000000000000000ZZ/data.parquet",
  "dataBytes": 77,
  "checksum": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  "createdAt": 9,
  "fencingToken": 7,
  "pins": {
    "map": {
      "label": "flights-map@1.0.0",
      "component": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      "config": "{}"
    },
    "limits": {
      "deadlineMs": 10000,
      "memoryMaxBytes": 536870912,
      "outputMaxBytes": 100663296
    }
  },
  "sourceState": {
    "file:a.csv": "{}"
  }
}"#;

    #[test]
    fn golden_manifest_round_trips() {
        let manifest: Manifest = serde_json::from_str(GOLDEN).unwrap();
        assert_eq!(serde_json::to_string_pretty(&manifest).unwrap(), GOLDEN);
        assert_eq!(manifest.read_count(), 4);
    }

    #[test]
    fn unknown_fields_and_cursor_kinds_are_refused() {
        let newer = GOLDEN.replacen("\"format\"", "\"extra\": 1, \"format\"", 1);
        assert!(serde_json::from_str::<Manifest>(&newer).is_err());
        let cursor = GOLDEN.replace("files/1", "files/2");
        assert!(serde_json::from_str::<Manifest>(&cursor).is_err());
    }
}
