//! The log of a partition: fences, published batches and swapped tables, numbered from 1 without gaps.
//!
//! Whoever writes must create the entry *after the last one that it knows*. A newer owner's first act is to create a fence
//! entry; an older owner then finds its next number taken by a larger token and stops. Creating an object only where
//! there is none thus does what compare-and-swap would do.
//!
//! Where a log holds more than one epoch's batches, its entries say where the last one of each is: whoever opens the log
//! at its end need not read it through.

use super::error::damaged;
use super::layout;
use super::objects::{self, Created};
use super::tables::RebuiltTable;
use crate::sink::support::foreign_history;
use crate::sink::{Receipt, SinkError};
use bytes::Bytes;
use futures::TryStreamExt;
use gristmill_core::digest::Digest;
use gristmill_core::id::{BatchId, Epoch, FencingToken, SchemaId, Sequence};
use object_store::ObjectStore;
use object_store::path::Path;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One entry, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub(super) enum Entry {
    #[serde(rename = "fence/1", rename_all = "camelCase")]
    Fence { fencing_token: FencingToken },
    #[serde(rename = "publish/1")]
    Publish(PublishedBatch),
    /// Where all tables are that were ever rebuilt; the last such entry counts.
    #[serde(rename = "tables/1", rename_all = "camelCase")]
    Tables { fencing_token: FencingToken, tables: Vec<RebuiltTable> },
}

/// An object of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    entry: Entry,
    /// Absent where it is empty, and where it holds nothing but the entry's own epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Before>,
}

/// What the entries before one hold, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Before {
    /// The last published batch of each epoch.
    epochs: BTreeMap<Epoch, u64>,
    /// The last swap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tables: Option<u64>,
}

impl Line {
    fn new(entry: Entry, before: &Before) -> Self {
        let own = match &entry {
            Entry::Publish(batch) => Some(batch.epoch),
            Entry::Fence { .. } | Entry::Tables { .. } => None,
        };
        let says_more = before.tables.is_some() || before.epochs.keys().any(|epoch| Some(*epoch) != own);
        Self { entry, before: says_more.then(|| before.clone()) }
    }

    fn to_json(&self) -> Result<Bytes, SinkError> {
        serde_json::to_vec(self).map(Bytes::from).map_err(|error| SinkError::Permanent {
            what: format!("a log entry cannot be written as JSON: {error}"),
            hint: "report this as a bug of gristmill".into(),
        })
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, SinkError> {
        serde_json::from_slice(bytes).map_err(|error| damaged(format!("the log entry {path} cannot be read: {error}")))
    }
}

impl Before {
    fn and(mut self, number: u64, entry: &Entry) -> Self {
        match entry {
            Entry::Publish(batch) => drop(self.epochs.insert(batch.epoch, number)),
            Entry::Tables { .. } => self.tables = Some(number),
            Entry::Fence { .. } => {}
        }
        self
    }
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
    /// The folder of the table; where [`super::published`] gives it, the table.
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
            Self::Fence { fencing_token } | Self::Tables { fencing_token, .. } => *fencing_token,
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
    /// What the entries up to the head hold.
    before: Before,
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
        let before = Before::default();
        let mut log = Self { store, folder, head, seen: FencingToken::new(0), before, unanswered: None };
        let mut number = head;
        while number > 0 {
            let Line { entry, before } = log.line(number).await?;
            // Tokens never fall along the log, so the last one is the largest.
            log.seen = log.seen.max(entry.fencing_token());
            if before.is_none() && matches!(entry, Entry::Fence { .. }) {
                number -= 1;
                continue;
            }
            log.before = before.unwrap_or_default().and(number, &entry);
            break;
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
        let ours = match &entry {
            Entry::Publish(batch) => Some(batch.receipt.batch_id()),
            Entry::Fence { .. } | Entry::Tables { .. } => None,
        };
        let unanswered = std::mem::replace(&mut self.unanswered, ours);
        loop {
            self.admit(entry.fencing_token())?;
            let path = layout::entry(&self.folder, self.head + 1);
            let json = Line::new(entry.clone(), &self.before).to_json()?;
            let met = match objects::create(&*self.store, &path, json).await? {
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
            let theirs = match &met {
                Entry::Publish(theirs) => Some(theirs.receipt.batch_id()),
                Entry::Tables { .. } => None,
                Entry::Fence { .. } => continue,
            };
            let ours = theirs.is_some() && theirs == unanswered;
            if met.fencing_token() == entry.fencing_token() && !ours {
                return Err(foreign_history(theirs));
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

    /// The batch of an epoch that was published last.
    pub(super) async fn last_batch(&self, epoch: Epoch) -> Result<Option<BatchId>, SinkError> {
        let Some(number) = self.before.epochs.get(&epoch) else { return Ok(None) };
        match self.line(*number).await?.entry {
            Entry::Publish(batch) if batch.epoch == epoch => Ok(Some(batch.receipt.batch_id())),
            _ => Err(damaged(format!("entry {number} of {} is no batch of epoch {epoch}", self.folder))),
        }
    }

    /// The tables that were rebuilt.
    pub(super) async fn tables(&self) -> Result<Vec<RebuiltTable>, SinkError> {
        let Some(number) = self.before.tables else { return Ok(Vec::new()) };
        match self.line(number).await?.entry {
            Entry::Tables { tables, .. } => Ok(tables),
            _ => Err(damaged(format!("entry {number} of {} swaps no tables", self.folder))),
        }
    }

    /// An entry up to the head.
    async fn line(&self, number: u64) -> Result<Line, SinkError> {
        let path = layout::entry(&self.folder, number);
        match objects::read(&*self.store, &path).await? {
            Some(bytes) => Line::parse(&path, &bytes),
            None => Err(damaged(format!("entry {number} of {} is gone", self.folder))),
        }
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
        self.before = std::mem::take(&mut self.before).and(self.head, entry);
    }
}

pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Entry, SinkError> {
    Line::parse(path, bytes).map(|line| line.entry)
}
