//! Typed, versioned source positions.
//!
//! A cursor is stored as JSON with a `kind` that carries its version (`files/1`). A kind that this build does not
//! know is an error, never a guess.

use crate::digest::Digest;
use crate::id::{Epoch, Sequence};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where reading goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum Cursor {
    /// Before the first record of the source.
    #[serde(rename = "start/1")]
    Start,
    #[serde(rename = "files/1")]
    Files(FilesCursor),
    /// In a history that is replayed: the last batch of it that was.
    #[serde(rename = "replay/1")]
    Replay(ReplayCursor),
    /// In the queue of dead letters: how many batches of them were committed.
    #[serde(rename = "dead-letters/1")]
    DeadLetters(DeadLettersCursor),
}

/// A position in the stored batches of an earlier epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplayCursor {
    pub epoch: Epoch,
    pub sequence: Sequence,
}

/// A position in the queue of dead letters. It is no place in the source: records that are replayed have theirs already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeadLettersCursor {
    pub replays: u64,
}

/// A position in a sequence of file versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilesCursor {
    /// The place of this file version in the order of reading, from 1. It never falls, so that it can be a source version.
    pub file_sequence: u64,
    pub file: FileVersion,
    pub position: FilePosition,
}

/// One version of one file: what makes it *this* content and no other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileVersion {
    /// Path below the source's root, `/`-separated.
    pub path: String,
    pub bytes: u64,
    /// Modification time in microseconds since 1970.
    pub modified: i64,
    /// The object store's tag; none for local files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    pub digest: Digest,
}

/// How far a file version was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FilePosition {
    /// Records `..record` are read; the next one starts at `byte` of the uncompressed content, on `line` (from 1).
    At { record: u64, byte: u64, line: u64 },
    /// All of it is read.
    End { records: u64 },
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::Replay(c) => write!(f, "batch {} of epoch {}", c.sequence, c.epoch),
            Self::DeadLetters(c) if c.replays == 1 => f.write_str("1 batch replayed"),
            Self::DeadLetters(c) => write!(f, "{} batches replayed", c.replays),
            Self::Files(c) => match c.position {
                FilePosition::At { record, .. } => write!(f, "{}#{record}", c.file.path),
                FilePosition::End { .. } => write!(f, "{}#end", c.file.path),
            },
        }
    }
}
