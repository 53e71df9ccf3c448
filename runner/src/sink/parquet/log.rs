//! The log of a partition: fences and published batches, numbered from 1 without gaps.
//!
//! Whoever writes must create the entry *after the last one that it knows*. A newer owner's first act is to create a fence
//! entry; an older owner then finds its next number taken by a larger token and stops. Creating an object only where
//! there is none thus does what compare-and-swap would do.

use super::error::damaged;
use super::layout;
use super::objects::{self, Created};
use crate::sink::support::foreign_history;
use crate::sink::{Receipt, SinkError};
use bytes::Bytes;
use futures::TryStreamExt;
use gristmill_core::digest::Digest;
use gristmill_core::id::{BatchId, Epoch, FencingToken, SchemaId, Sequence};
use object_store::ObjectStore;
use object_store::path::Path;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One entry, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub(super) enum Entry {
    #[serde(rename = "fence/1", rename_all = "camelCase")]
    Fence { fencing_token: FencingToken },
    #[serde(rename = "publish/1")]
    Publish(PublishedBatch),
}

/// A batch whose rows count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PublishedBatch {
    pub epoch: Epoch,
    pub sequence: Sequence,
    pub schema_id: SchemaId,
    #[serde(deserialize_with = "Receipt::deserialize_stored")]
    pub receipt: Receipt,
    /// One for each output.
    pub files: Vec<PublishedFile>,
}

/// A data object of a published batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PublishedFile {
    pub output: String,
    /// Below the dataset's prefix.
    pub path: String,
    pub rows: u64,
    pub bytes: u64,
    /// Of the object's bytes.
    pub digest: Digest,
}

impl Entry {
    pub(super) fn fencing_token(&self) -> FencingToken {
        match self {
            Self::Fence { fencing_token } => *fencing_token,
            Self::Publish(batch) => batch.receipt.fencing_token(),
        }
    }

    /// The published batch of this id, if this is its entry.
    fn publishes(self, batch_id: BatchId) -> Option<PublishedBatch> {
        match self {
            Self::Publish(batch) if batch.receipt.batch_id() == batch_id => Some(batch),
            _ => None,
        }
    }
}

/// A log, as far as it is known.
#[derive(Debug)]
pub(super) struct Log {
    store: Arc<dyn ObjectStore>,
    folder: Path,
    /// The last entry that was seen; 0: none.
    head: u64,
    /// The largest token that was seen.
    seen: FencingToken,
    /// The batch of an append that was not answered: its entry may be there all the same.
    unanswered: Option<BatchId>,
}

impl Log {
    /// Finds the end of a log.
    pub(super) async fn open(store: Arc<dyn ObjectStore>, folder: Path) -> Result<Self, SinkError> {
        let numbers = store.list(Some(&folder)).map_ok(|object| layout::entry_number(&object.location));
        let head = numbers
            .try_fold(0, async |head: u64, number| Ok(head.max(number.unwrap_or(0))))
            .await
            .map_err(|error| super::error::failed(format!("listing {folder}"), error))?;
        let mut log = Self { store, folder, head, seen: FencingToken::new(0), unanswered: None };
        if head > 0 {
            let last = log.read(head).await?;
            let last = last.ok_or_else(|| damaged(format!("entry {head} of {} is gone", log.folder)))?;
            // Tokens never fall along the log, so the last one is the largest.
            log.seen = last.fencing_token();
        }
        Ok(log)
    }

    pub(super) fn head(&self) -> u64 {
        self.head
    }

    /// Refuses a smaller token than the log has.
    pub(super) fn admit(&self, held: FencingToken) -> Result<(), SinkError> {
        match self.seen > held {
            true => Err(SinkError::Fenced { seen: self.seen, held }),
            false => Ok(()),
        }
    }

    /// Adds an entry at the end. A batch that turns out to be published already keeps its first entry, which is returned.
    pub(super) async fn append(&mut self, entry: Entry) -> Result<Entry, SinkError> {
        let json = serde_json::to_vec(&entry).map(Bytes::from).map_err(|error| SinkError::Permanent {
            what: format!("a log entry cannot be written as JSON: {error}"),
            hint: "report this as a bug of gristmill".into(),
        })?;
        let ours = match &entry {
            Entry::Publish(batch) => Some(batch.receipt.batch_id()),
            Entry::Fence { .. } => None,
        };
        let unanswered = std::mem::replace(&mut self.unanswered, ours);
        loop {
            self.admit(entry.fencing_token())?;
            let path = layout::entry(&self.folder, self.head + 1);
            let met = match objects::create(&*self.store, &path, json.clone()).await? {
                Created::New => entry.clone(),
                Created::Existing(bytes) => parse(&path, &bytes)?,
            };
            self.pass(&met);
            let first = match (&entry, &met) {
                _ if entry == met => true,
                (Entry::Publish(ours), Entry::Publish(theirs)) => ours.receipt.batch_id() == theirs.receipt.batch_id(),
                _ => false,
            };
            if first {
                self.unanswered = None;
                return Ok(met);
            }
            if let Entry::Publish(theirs) = &met
                && met.fencing_token() == entry.fencing_token()
                && unanswered != Some(theirs.receipt.batch_id())
            {
                return Err(foreign_history(Some(theirs.receipt.batch_id())));
            }
        }
    }

    /// The entry of a batch, looked for after entry `after` and up to the log's true end.
    pub(super) async fn find(&mut self, batch_id: BatchId, after: u64) -> Result<Option<PublishedBatch>, SinkError> {
        let mut number = after;
        loop {
            number += 1;
            let Some(entry) = self.read(number).await? else {
                return match number <= self.head {
                    true => Err(damaged(format!("entry {number} of {} is gone", self.folder))),
                    false => Ok(None),
                };
            };
            if number > self.head {
                self.pass(&entry);
            }
            if let Some(batch) = entry.publishes(batch_id) {
                return Ok(Some(batch));
            }
        }
    }

    /// The batch that was published last. Reads back over the fences of starts that published nothing.
    pub(super) async fn last_batch(&self) -> Result<Option<BatchId>, SinkError> {
        for number in (1..=self.head).rev() {
            match self.read(number).await? {
                Some(Entry::Publish(batch)) => return Ok(Some(batch.receipt.batch_id())),
                Some(Entry::Fence { .. }) => {}
                None => return Err(damaged(format!("entry {number} of {} is gone", self.folder))),
            }
        }
        Ok(None)
    }

    async fn read(&self, number: u64) -> Result<Option<Entry>, SinkError> {
        let path = layout::entry(&self.folder, number);
        let bytes = objects::read(&*self.store, &path).await?;
        bytes.map(|bytes| parse(&path, &bytes)).transpose()
    }

    /// Takes note of the entry after the head.
    fn pass(&mut self, entry: &Entry) {
        self.head += 1;
        self.seen = self.seen.max(entry.fencing_token());
    }
}

pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Entry, SinkError> {
    serde_json::from_slice(bytes).map_err(|error| damaged(format!("the log entry {path} cannot be read: {error}")))
}
