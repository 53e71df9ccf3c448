//! Garbage collection: what in the store nothing refers to is found, shown, and removed when a person says so.
//!
//! ```text
//! list objects → read references → judge (core) → Survey ─shown→ sweep
//! ```
//!
//! The order is what makes it safe beside a running worker: see [`gristmill_core::garbage`]. Three things guard the rest:
//!
//! * files of a batch that was never READY go together with its row, under the lease of its partition: a worker that was
//!   only suspended is fenced;
//! * components and dictionaries go while the state is held against publications, which put them again once they are named;
//! * an object is young for an hour.

mod files;
mod references;
mod sweep;

pub use sweep::{Swept, sweep};

use crate::store::batches::batch_of_key;
use crate::store::content::{ContentKind, PROBES};
use crate::store::state::BatchRow;
use crate::store::{BatchStore, ContentStore, Listed, Objects, StateStore, StoreError, now};
use gristmill_core::garbage::{Facts, Kept, Object, Reason, judge};
use gristmill_core::id::{BatchId, Micros};
use references::References;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What garbage is looked for in.
#[derive(Debug, Clone)]
pub struct Places {
    pub state: StateStore,
    pub objects: Objects,
    pub batches: BatchStore,
    pub content: ContentStore,
    /// Locks of partitions.
    pub locks: PathBuf,
    /// Compiled components.
    pub compiled: PathBuf,
    /// No other state uses the folder of compiled components.
    pub compiled_is_private: bool,
    /// Folders whose entries must not outlast a run, with the beginnings of their names; an empty one means every name.
    pub scratch: Vec<(PathBuf, &'static str)>,
}

/// Where a leftover lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase", tag = "in", content = "at")]
pub enum At {
    /// An object of the store.
    Store(String),
    /// What a put left in the store's folder.
    Staged(String),
    /// A file or folder beside the state.
    File(PathBuf),
}

/// Something that can go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leftover {
    #[serde(flatten)]
    pub at: At,
    pub bytes: u64,
    pub reason: Reason,
}

/// How much of a kind there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    pub count: u64,
    pub bytes: u64,
}

impl Amount {
    pub fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Survey {
    pub leftovers: Vec<Leftover>,
    /// What stays, and why.
    pub kept: BTreeMap<Kept, Amount>,
    /// Batches whose manifests cannot be read: what they refer to is unknown.
    pub unreadable: Vec<(BatchId, String)>,
    /// Batches that were never READY and whose files are among the leftovers.
    abandoned: Vec<BatchRow>,
}

impl Survey {
    /// What can go, by reason.
    pub fn by_reason(&self) -> BTreeMap<Reason, Amount> {
        let mut amounts: BTreeMap<Reason, Amount> = BTreeMap::new();
        for leftover in &self.leftovers {
            amounts.entry(leftover.reason).or_default().add(leftover.bytes);
        }
        amounts
    }

    fn judged(&mut self, at: At, bytes: u64, judged: Result<Reason, Kept>) {
        match judged {
            Ok(reason) => self.leftovers.push(Leftover { at, bytes, reason }),
            Err(kept) => self.kept.entry(kept).or_default().add(bytes),
        }
    }
}

/// Looks for garbage. Removes nothing.
pub async fn survey(places: &Places) -> Result<Survey, StoreError> {
    // Objects first: what is written from here on is not among them.
    let listed = places.objects.list().await?;
    let staged = places.objects.staged()?;
    let files = files::list(places)?;
    let now = now();
    let references = References::read(places, now).await?;
    let mut survey = Survey { unreadable: references.unreadable.clone(), ..Survey::default() };
    let facts = |object, listed: &Listed| Facts {
        object,
        written_at: listed.written_at,
        referenced: references.names(&listed.key),
        references_known: references.unreadable.is_empty(),
    };
    for object in &listed {
        let judged = judge(facts(kind(&object.key, &references), object), now);
        survey.judged(At::Store(object.key.clone()), object.bytes, judged);
    }
    for object in &staged {
        let judged = judge(Facts { referenced: false, ..facts(Object::Staged, object) }, now);
        survey.judged(At::Staged(object.key.clone()), object.bytes, judged);
    }
    files::judge(places, files, &listed, &references, now, &mut survey);
    survey.abandoned = references.abandoned(&listed, now);
    survey.leftovers.sort_by(|a, b| (a.reason, &a.at).cmp(&(b.reason, &b.at)));
    Ok(survey)
}

/// What an object is, by its key.
fn kind(key: &str, references: &References) -> Object {
    if let Some(batch) = batch_of_key(key) {
        let (state, leased) = references.batch(batch);
        return Object::OfBatch { state, leased };
    }
    match ContentStore::of_key(key) {
        Some((ContentKind::Component, _)) => Object::Component,
        Some((ContentKind::Dictionary, _)) => Object::Dictionary,
        None if key.split_once('/').is_some_and(|(folder, _)| folder == PROBES) => Object::Probe,
        None => Object::Foreign,
    }
}

/// When a file was changed last; one that cannot be asked counts as young.
fn written_at(metadata: &std::fs::Metadata) -> Micros {
    let modified = metadata.modified().ok();
    modified.map_or_else(now, |at| Micros(chrono::DateTime::<chrono::Utc>::from(at).timestamp_micros()))
}
