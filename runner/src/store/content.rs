//! Components and dictionaries by digest.

use super::{Objects, StoreError};
use crate::faults::{FaultPoint, reach};
use bytes::Bytes;
use gristmill_core::digest::Digest;

/// Content-addressed bytes that task versions pin.
#[derive(Debug, Clone)]
pub struct ContentStore {
    objects: Objects,
}

/// What kind of content, hence where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

impl ContentStore {
    pub fn new(objects: Objects) -> Self {
        Self { objects }
    }

    fn key(kind: ContentKind, digest: Digest) -> String {
        format!("{}/sha256/{}", kind.folder(), digest.hex())
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
        let key = format!("probe/{}", Digest::of(&bytes).short());
        self.objects.put(&key, bytes.clone()).await?;
        self.objects.get_verified(&key, Digest::of(&bytes)).await?;
        self.objects.remove(&key).await
    }

    /// Reads bytes back and proves that they are what the pin says.
    pub async fn get(&self, kind: ContentKind, digest: Digest) -> Result<Bytes, StoreError> {
        self.objects.get_verified(&Self::key(kind, digest), digest).await
    }
}
