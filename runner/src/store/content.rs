//! Components and dictionaries by digest.

use super::{Objects, StoreError};
use crate::faults::{FaultPoint, reach};
use bytes::Bytes;
use gristmill_core::digest::Digest;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Content-addressed bytes that task versions pin.
#[derive(Debug, Clone)]
pub struct ContentStore {
    objects: Objects,
    /// Bytes that are tried out and not stored.
    tried: Arc<BTreeMap<Digest, Bytes>>,
}

/// What kind of content, hence where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentKind {
    Component,
    /// As the file was, before any parsing.
    Dictionary,
}

impl ContentKind {
    const fn folder(self) -> &'static str {
        match self {
            Self::Component => "components",
            Self::Dictionary => "dictionaries",
        }
    }
}

/// Where a check of the store writes.
pub(crate) const PROBES: &str = "probe";

impl ContentStore {
    pub fn new(objects: Objects) -> Self {
        Self { objects, tried: Arc::default() }
    }

    /// The same store, in which these bytes are found too, although they are not stored.
    pub fn trying(&self, bytes: impl IntoIterator<Item = Bytes>) -> Self {
        let mut tried = BTreeMap::clone(&self.tried);
        tried.extend(bytes.into_iter().map(|bytes| (Digest::of(&bytes), bytes)));
        Self { objects: self.objects.clone(), tried: Arc::new(tried) }
    }

    fn key(kind: ContentKind, digest: Digest) -> String {
        format!("{}/sha256/{}", kind.folder(), digest.hex())
    }

    /// What an object of this key is.
    pub fn of_key(key: &str) -> Option<(ContentKind, Digest)> {
        let (folder, hex) = key.split_once("/sha256/")?;
        let kind =
            [ContentKind::Component, ContentKind::Dictionary].into_iter().find(|kind| kind.folder() == folder)?;
        Some((kind, format!("sha256:{hex}").parse().ok()?))
    }

    /// Removes bytes that nothing refers to.
    pub async fn remove(&self, kind: ContentKind, digest: Digest) -> Result<(), StoreError> {
        self.objects.remove(&Self::key(kind, digest)).await
    }

    /// Stores bytes under their digest. Storing them again is free.
    pub async fn put(&self, kind: ContentKind, bytes: Bytes) -> Result<Digest, StoreError> {
        let digest = Digest::of(&bytes);
        let key = Self::key(kind, digest);
        if !self.objects.exists(&key).await? {
            reach(FaultPoint::ComponentStoreBefore);
            self.objects.put(&key, bytes).await?;
            reach(FaultPoint::ComponentStoreAfter);
        }
        Ok(digest)
    }

    /// Writes an object, reads it back and removes it.
    pub async fn probe(&self) -> Result<(), StoreError> {
        let bytes = Bytes::from(ulid::Ulid::generate().to_string());
        let key = format!("{PROBES}/{}", Digest::of(&bytes).short());
        self.objects.put(&key, bytes.clone()).await?;
        self.objects.get_verified(&key, Digest::of(&bytes)).await?;
        self.objects.remove(&key).await
    }

    /// Reads bytes back and proves that they are what the pin says.
    pub async fn get(&self, kind: ContentKind, digest: Digest) -> Result<Bytes, StoreError> {
        match self.tried.get(&digest) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.objects.get_verified(&Self::key(kind, digest), digest).await,
        }
    }
}
