//! Create-only objects with digests, over any object store.

use super::StoreError;
use bytes::Bytes;
use gristmill_core::digest::Digest;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use std::sync::Arc;

/// The object store below the runner's storage root. Every object is immutable once put.
#[derive(Debug, Clone)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    shown: String,
}

impl Objects {
    /// A local folder, created when missing. Files and folders are fsynced before a put returns.
    pub fn local(root: &std::path::Path) -> Result<Self, StoreError> {
        let doing = || format!("opening the store at {}", root.display());
        let io = |source: std::io::Error| StoreError::Io { doing: doing(), transient: false, source: source.into() };
        std::fs::create_dir_all(root).map_err(io)?;
        let store = LocalFileSystem::new_with_prefix(root).map_err(StoreError::objects(doing()))?.with_fsync(true);
        Ok(Self { store: Arc::new(store), prefix: Path::default(), shown: root.display().to_string() })
    }

    /// A bucket, below `prefix`.
    pub fn remote(store: Arc<dyn ObjectStore>, prefix: Path, shown: String) -> Self {
        Self { store, prefix, shown }
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

    fn describe(&self, key: &str) -> String {
        format!("{}/{key}", self.shown.trim_end_matches('/'))
    }
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
    async fn keys_cannot_leave_the_root() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("outside"), b"x").unwrap();
        let objects = Objects::local(&dir.path().join("root")).unwrap();
        for key in ["../outside", "a/../../outside", "/etc/passwd/..", "a//b"] {
            assert!(matches!(objects.get(key).await, Err(StoreError::Damaged { .. })), "{key}");
        }
    }
}
