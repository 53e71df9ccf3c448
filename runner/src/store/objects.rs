//! Create-only objects with digests, over any object store.

use super::{StoreError, now};
use bytes::Bytes;
use futures::TryStreamExt;
use gristmill_core::digest::Digest;
use gristmill_core::id::Micros;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use std::path::PathBuf;
use std::sync::Arc;

/// The object store below the runner's storage root. Every object is immutable once put.
#[derive(Debug, Clone)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    shown: String,
    /// Of a store in a local folder.
    root: Option<PathBuf>,
}

/// An object, or what is left of one, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Below the root.
    pub key: String,
    pub bytes: u64,
    pub written_at: Micros,
}

impl Objects {
    /// A local folder, created when missing. Files and folders are fsynced before a put returns.
    pub fn local(root: &std::path::Path) -> Result<Self, StoreError> {
        let doing = || format!("opening the store at {}", root.display());
        let io = |source: std::io::Error| StoreError::Io { doing: doing(), transient: false, source: source.into() };
        std::fs::create_dir_all(root).map_err(io)?;
        let store = LocalFileSystem::new_with_prefix(root).map_err(StoreError::objects(doing()))?;
        // Folders go with their last object.
        let store = store.with_fsync(true).with_automatic_cleanup(true);
        let shown = root.display().to_string();
        Ok(Self { store: Arc::new(store), prefix: Path::default(), shown, root: Some(root.to_owned()) })
    }

    /// A bucket, below `prefix`.
    pub fn remote(store: Arc<dyn ObjectStore>, prefix: Path, shown: String) -> Self {
        Self { store, prefix, shown, root: None }
    }

    fn key(&self, key: &str) -> Result<Path, StoreError> {
        let refuse = |detail: String| {
            StoreError::Damaged {
            what: format!("the object key `{key}`"),
            detail,
            hint: "keys stay below the store's root; the manifest or state that names this one was not written by this tool".into(),
        }
        };
        // `Path::parse` refuses `..`, empty segments and absolute paths: a key from a manifest cannot leave the root.
        let parsed = Path::parse(key).map_err(|e| refuse(e.to_string()))?;
        Ok(self.prefix.parts().chain(parsed.parts()).collect())
    }

    /// Puts an object that must not exist with other bytes. Durable when this returns.
    pub async fn put(&self, key: &str, bytes: Bytes) -> Result<(), StoreError> {
        let path = self.key(key)?;
        let options = PutOptions { mode: PutMode::Create, ..Default::default() };
        match self.store.put_opts(&path, PutPayload::from_bytes(bytes.clone()), options).await {
            Ok(_) => Ok(()),
            // Perhaps our own put whose answer was lost: the bytes tell.
            Err(object_store::Error::AlreadyExists { .. }) => match self.get(key).await? {
                found if found == bytes => Ok(()),
                _ => Err(StoreError::Damaged {
                    what: self.describe(key),
                    detail: "it exists with other bytes, and objects are immutable".into(),
                    hint: "another writer uses this store, or the file was changed by hand".into(),
                }),
            },
            Err(e) => Err(StoreError::objects(format!("writing {}", self.describe(key)))(e)),
        }
    }

    /// Reads an object whole.
    pub async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        let path = self.key(key)?;
        let doing = || format!("reading {}", self.describe(key));
        let result = match self.store.get(&path).await {
            Ok(found) => found.bytes().await,
            Err(e) => Err(e),
        };
        match result {
            Ok(bytes) => Ok(bytes),
            Err(object_store::Error::NotFound { .. }) => Err(StoreError::Missing {
                what: self.describe(key),
                hint: "restore it from a backup of the store".into(),
            }),
            Err(e) => Err(StoreError::objects(doing())(e)),
        }
    }

    /// Reads an object and proves that it is the one that was written.
    pub async fn get_verified(&self, key: &str, expected: Digest) -> Result<Bytes, StoreError> {
        let bytes = self.get(key).await?;
        let found = Digest::of(&bytes);
        if found == expected {
            return Ok(bytes);
        }
        Err(StoreError::Damaged {
            what: self.describe(key),
            detail: format!("its digest is {found}, {expected} was recorded when it was written"),
            hint: "restore it from a backup; see `gristmill batches verify`".into(),
        })
    }

    pub async fn exists(&self, key: &str) -> Result<bool, StoreError> {
        match self.store.head(&self.key(key)?).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(e) => Err(StoreError::objects(format!("looking for {}", self.describe(key)))(e)),
        }
    }

    /// Removes an object that nothing refers to. One that is gone already is fine.
    pub async fn remove(&self, key: &str) -> Result<(), StoreError> {
        match self.store.delete(&self.key(key)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(e) => Err(StoreError::objects(format!("removing {}", self.describe(key)))(e)),
        }
    }

    /// Every object, in no order.
    pub async fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let doing = || format!("listing {}", self.shown);
        let below = (self.prefix.parts_count() > 0).then_some(&self.prefix);
        let mut found = self.store.list(below);
        let mut objects = Vec::new();
        while let Some(object) = found.try_next().await.map_err(StoreError::objects(doing()))? {
            let Some(parts) = object.location.prefix_match(&self.prefix) else { continue };
            let key: Path = parts.collect();
            objects.push(Listed {
                key: key.to_string(),
                bytes: object.size,
                written_at: Micros(object.last_modified.timestamp_micros()),
            });
        }
        Ok(objects)
    }

    /// What puts that were never completed have left in a local folder: no listing of objects names these.
    pub fn staged(&self) -> Result<Vec<Listed>, StoreError> {
        let Some(root) = &self.root else { return Ok(Vec::new()) };
        let io = |source: std::io::Error| StoreError::Io {
            doing: format!("listing {}", self.shown),
            transient: false,
            source: source.into(),
        };
        let mut staged = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                // Removed since, with its last object.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => return Err(io(e)),
            };
            for entry in entries {
                let entry = entry.map_err(io)?;
                // Of the entry itself: a link is not followed out of the store.
                let kind = entry.file_type().map_err(io)?;
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() && is_staged(&entry.file_name().to_string_lossy()) {
                    let Ok(found) = entry.metadata() else { continue };
                    let Ok(below) = entry.path().strip_prefix(root).map(std::path::Path::to_path_buf) else { continue };
                    let written_at = found
                        .modified()
                        .map_or(now(), |at| Micros(chrono::DateTime::<chrono::Utc>::from(at).timestamp_micros()));
                    staged.push(Listed { key: below.to_string_lossy().into_owned(), bytes: found.len(), written_at });
                }
            }
        }
        Ok(staged)
    }

    /// Removes one of [`Self::staged`].
    pub fn remove_staged(&self, key: &str) -> Result<(), StoreError> {
        let Some(root) = &self.root else { return Ok(()) };
        // Its key is one of ours, but for the mark.
        self.key(key)?;
        match std::fs::remove_file(root.join(key)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(StoreError::Io {
                doing: format!("removing {}", self.describe(key)),
                transient: false,
                source: e.into(),
            }),
            _ => Ok(()),
        }
    }

    fn describe(&self, key: &str) -> String {
        format!("{}/{key}", self.shown.trim_end_matches('/'))
    }
}

/// The local store writes `name#n` and renames that to `name`.
fn is_staged(name: &str) -> bool {
    let suffix = name.split_once('#').map(|(_, suffix)| suffix);
    suffix.is_some_and(|suffix| !suffix.is_empty() && suffix.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn objects_are_immutable_and_verified() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::local(dir.path()).unwrap();
        objects.put("a/b", Bytes::from_static(b"one")).await.unwrap();
        objects.put("a/b", Bytes::from_static(b"one")).await.expect("the same bytes again are no harm");
        assert!(matches!(objects.put("a/b", Bytes::from_static(b"two")).await, Err(StoreError::Damaged { .. })));
        assert_eq!(objects.get_verified("a/b", Digest::of(b"one")).await.unwrap(), "one");

        std::fs::write(dir.path().join("a/b"), b"onf").unwrap();
        assert!(matches!(objects.get_verified("a/b", Digest::of(b"one")).await, Err(StoreError::Damaged { .. })));
        assert!(matches!(objects.get("a/c").await, Err(StoreError::Missing { .. })));
        assert!(!objects.exists("a/c").await.unwrap());
    }

    #[tokio::test]
    async fn objects_and_what_puts_left_are_listed_apart() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::local(dir.path()).unwrap();
        objects.put("a/b/c", Bytes::from_static(b"one")).await.unwrap();
        objects.put("a/d", Bytes::from_static(b"three")).await.unwrap();
        std::fs::write(dir.path().join("a/d#12"), b"cut").unwrap();
        std::fs::write(dir.path().join("a/d#x"), b"not ours").unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("e#1"), b"elsewhere").unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();

        let mut listed = objects.list().await.unwrap();
        listed.sort_by(|a, b| a.key.cmp(&b.key));
        let own = |listed: &Listed| !listed.key.starts_with("link") && !listed.key.contains('#');
        let shown: Vec<_> = listed.iter().filter(|l| own(l)).map(|l| (l.key.as_str(), l.bytes)).collect();
        assert_eq!(shown, [("a/b/c", 3), ("a/d", 5)]);
        let staged = objects.staged().unwrap();
        assert_eq!(staged.iter().map(|l| (l.key.as_str(), l.bytes)).collect::<Vec<_>>(), [("a/d#12", 3)]);
        objects.remove_staged("a/d#12").unwrap();
        objects.remove_staged("a/d#12").expect("one that is gone already is fine");
        assert!(objects.staged().unwrap().is_empty());
        assert!(objects.remove_staged("../outside#1").is_err());

        objects.remove("a/b/c").await.unwrap();
        assert!(!dir.path().join("a/b").exists(), "a folder goes with its last object");
        assert!(dir.path().join("a/d").exists());
    }

    #[tokio::test]
    async fn keys_cannot_leave_the_root() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("outside"), b"x").unwrap();
        let objects = Objects::local(&dir.path().join("root")).unwrap();
        for key in ["../outside", "a/../../outside", "/etc/passwd/..", "a//b"] {
            assert!(matches!(objects.get(key).await, Err(StoreError::Damaged { .. })), "{key}");
        }
    }
}
