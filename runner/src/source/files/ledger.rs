//! What the source knows of the files that it has read: its logical state.
//!
//! | key | value |
//! |---|---|
//! | `file:<path>` | the latest version of that file that was read, as JSON ([`Entry`]) |
//! | `next-sequence` | the place that the next file version takes in the order of reading |
//!
//! An entry stays when its file vanishes: should the file come back unchanged, it is not read again. Should its content and
//! modification time show up at another path, the file was renamed, and the entry moves there.

use crate::source::SourceError;
use gristmill_core::cursor::{FileVersion, FilesCursor};
use gristmill_core::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

const FILE_PREFIX: &str = "file:";
const NEXT_SEQUENCE: &str = "next-sequence";

/// A file version that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Entry {
    pub sequence: u64,
    pub bytes: u64,
    /// Modification time in microseconds since 1970.
    pub modified: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    pub digest: Digest,
    pub records: u64,
    /// The version changed before all of it was read: its content counts as unknown, its rows as known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

impl Entry {
    pub fn new(sequence: u64, version: &FileVersion, records: u64, partial: bool) -> Self {
        let FileVersion { bytes, modified, etag, digest, .. } = version.clone();
        Self { sequence, bytes, modified, etag, digest, records, partial }
    }

    /// Nothing says that the file has changed: it need not be opened.
    pub fn looks_like(&self, found: &super::listing::Found) -> bool {
        !self.partial && self.bytes == found.bytes && self.modified == found.modified && self.etag == found.etag
    }
}

/// All known file versions. Cheap to clone: a poll works on a clone, and gives it back only when it is complete.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    known: Arc<BTreeMap<String, Entry>>,
    /// None: moved away.
    changed: BTreeMap<String, Option<Entry>>,
    next_sequence: u64,
    /// Changes that no page has carried yet.
    unsent: BTreeMap<String, Option<String>>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { known: Arc::default(), changed: BTreeMap::new(), next_sequence: 1, unsent: BTreeMap::new() }
    }
}

impl Ledger {
    pub fn from_state(state: &BTreeMap<String, String>) -> Result<Self, SourceError> {
        let mut ledger = Self::default();
        let mut known = BTreeMap::new();
        for (key, value) in state {
            if let Some(path) = key.strip_prefix(FILE_PREFIX) {
                let entry: Entry = serde_json::from_str(value).map_err(|_| damaged(key))?;
                ledger.next_sequence = ledger.next_sequence.max(entry.sequence + 1);
                known.insert(path.to_owned(), entry);
            } else if key == NEXT_SEQUENCE {
                let next: u64 = value.parse().map_err(|_| damaged(key))?;
                ledger.next_sequence = ledger.next_sequence.max(next);
            } else {
                return Err(damaged(key));
            }
        }
        ledger.known = Arc::new(known);
        Ok(ledger)
    }

    pub fn get(&self, path: &str) -> Option<&Entry> {
        match self.changed.get(path) {
            Some(changed) => changed.as_ref(),
            None => self.known.get(path),
        }
    }

    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        let unchanged = self.known.iter().filter(|(path, _)| !self.changed.contains_key(*path));
        let changed = self.changed.iter().filter_map(|(path, entry)| Some((path, entry.as_ref()?)));
        unchanged.chain(changed).map(|(path, entry)| (path.as_str(), entry))
    }

    pub fn put(&mut self, path: &str, entry: Entry) {
        self.take_sequence(entry.sequence);
        // An entry is plain data: it always serializes.
        let value = serde_json::to_string(&entry).unwrap_or_default();
        self.unsent.insert(format!("{FILE_PREFIX}{path}"), Some(value));
        self.unsent.insert(NEXT_SEQUENCE.to_owned(), Some(self.next_sequence.to_string()));
        self.changed.insert(path.to_owned(), Some(entry));
    }

    /// Forgets the file at `from`, which is now the one at `to`.
    pub fn rename(&mut self, from: &str, to: &str, entry: Entry) {
        self.unsent.insert(format!("{FILE_PREFIX}{from}"), None);
        self.changed.insert(from.to_owned(), None);
        self.put(to, entry);
    }

    /// Keeps the version at `cursor` as one that was abandoned on the way.
    pub fn abandon(&mut self, cursor: &FilesCursor, records: u64) {
        self.put(&cursor.file.path, Entry::new(cursor.file_sequence, &cursor.file, records, true));
    }

    pub const fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// A sequence that is in use is never given again.
    pub fn take_sequence(&mut self, sequence: u64) {
        self.next_sequence = self.next_sequence.max(sequence + 1);
    }

    /// The changes that the page in hand carries.
    pub fn take_unsent(&mut self) -> BTreeMap<String, Option<String>> {
        std::mem::take(&mut self.unsent)
    }

    /// Folds the changes in, once no other clone needs the older state.
    pub fn merge(&mut self) {
        if self.changed.is_empty() {
            return;
        }
        let known = Arc::make_mut(&mut self.known);
        for (path, entry) in std::mem::take(&mut self.changed) {
            match entry {
                Some(entry) => known.insert(path, entry),
                None => known.remove(&path),
            };
        }
    }
}

fn damaged(key: &str) -> SourceError {
    SourceError::Permanent {
        what: format!(
            "the state of the files source is not readable at `{}`",
            gristmill_core::dead_letter::bounded(key, 200)
        ),
        hint: "it was written by another version or changed by hand: restore the state store from a backup".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(sequence: u64) -> Entry {
        Entry { sequence, bytes: 3, modified: 4, etag: None, digest: Digest::of(b"x"), records: 2, partial: false }
    }

    #[test]
    fn state_round_trips() {
        let mut ledger = Ledger::default();
        ledger.put("a/b.csv", entry(7));
        let state = ledger.take_unsent();
        assert!(ledger.take_unsent().is_empty());
        let state: BTreeMap<_, _> = state.into_iter().filter_map(|(k, v)| Some((k, v?))).collect();
        let back = Ledger::from_state(&state).unwrap();
        assert_eq!(back.get("a/b.csv"), Some(&entry(7)));
        assert_eq!(back.next_sequence(), 8);
    }

    /// Stored in every state store: older entries must stay readable.
    #[test]
    fn the_stored_form_is_fixed() {
        let text = serde_json::to_string(&entry(1)).unwrap();
        assert_eq!(
            text,
            format!(r#"{{"sequence":1,"bytes":3,"modified":4,"digest":"{}","records":2}}"#, Digest::of(b"x"))
        );
    }

    #[test]
    fn a_merge_does_not_touch_clones() {
        let mut ledger = Ledger::default();
        ledger.put("a", entry(1));
        ledger.merge();
        let clone = ledger.clone();
        ledger.put("a", entry(2));
        ledger.merge();
        assert_eq!(clone.get("a"), Some(&entry(1)));
        assert_eq!(ledger.get("a"), Some(&entry(2)));
    }

    #[test]
    fn a_renamed_entry_is_at_its_new_path_alone() {
        let mut ledger = Ledger::default();
        ledger.put("a", entry(1));
        ledger.merge();
        ledger.put("b", entry(2));
        ledger.take_unsent();
        ledger.rename("a", "c", entry(1));
        for merged in [false, true] {
            if merged {
                ledger.merge();
            }
            assert_eq!((ledger.get("a"), ledger.get("c")), (None, Some(&entry(1))), "{merged}");
            let entries: Vec<_> = ledger.entries().map(|(path, entry)| (path, entry.sequence)).collect();
            assert_eq!(entries, [("b", 2), ("c", 1)], "{merged}");
        }
        let state = ledger.take_unsent();
        assert_eq!(state.keys().collect::<Vec<_>>(), ["file:a", "file:c", "next-sequence"]);
        assert_eq!((&state["file:a"], state["next-sequence"].as_deref()), (&None, Some("3")));
        // And back again, in one page.
        ledger.rename("c", "a", entry(1));
        assert_eq!((ledger.get("a"), ledger.get("c")), (Some(&entry(1)), None));
    }

    #[test]
    fn damaged_state_is_refused() {
        for (key, value) in [("file:a", "{}"), ("next-sequence", "-1"), ("other", "1")] {
            let state = BTreeMap::from([(key.to_owned(), value.to_owned())]);
            assert!(matches!(Ledger::from_state(&state), Err(SourceError::Permanent { .. })), "{key}");
        }
    }
}
