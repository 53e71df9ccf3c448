//! Before the first record of a file is read: its digest, and whether it can be read to its end.

use super::compression::Compression;
use super::held::{HeldFile, Stamp};
use super::listing::{Found, local_path, object_paths};
use super::root::FilesRoot;
use super::trouble;
use crate::source::SourceError;
use futures::TryStreamExt;
use gristmill_core::digest::{Digest, Hasher};
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const BUFFER_BYTES: usize = 256 << 10;

/// Set once nobody waits for the answer any more.
#[derive(Debug, Clone, Default)]
pub(super) struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn check(&self) -> io::Result<()> {
        if self.is_set() { Err(io::Error::other("nobody waits for it any more")) } else { Ok(()) }
    }
}

/// A file that was opened, not yet known to be sound.
#[derive(Debug)]
pub(super) struct Opened {
    /// As it is now; the listing may be older.
    pub found: Found,
    pub file: HeldFile,
    /// Local files may change while they are read; the spool of an object does not.
    pub stamp: Option<Stamp>,
    /// Known already for an object: it was digested on its way here.
    digest: Option<Digest>,
}

/// What reading a file from end to end shows.
pub(super) struct Inspected {
    pub digest: Digest,
    /// Whether its compression, if any, is whole.
    pub container: Result<(), SourceError>,
    /// It did not change meanwhile.
    pub stable: bool,
}

/// Opens a file of the source, or fetches it into the spool folder. None: it is gone.
pub(super) async fn open(
    root: &FilesRoot,
    path: &str,
    spool_dir: &Path,
    cancelled: &Cancelled,
) -> Result<Option<Opened>, SourceError> {
    match root {
        FilesRoot::Local(root) => open_local(root, path),
        FilesRoot::Store { store, prefix } => {
            for key in object_paths(prefix, path)? {
                if let Some(opened) = fetch(store.as_ref(), &key, path, spool_dir, cancelled).await? {
                    return Ok(Some(opened));
                }
            }
            Ok(None)
        }
    }
}

fn open_local(root: &Path, path: &str) -> Result<Option<Opened>, SourceError> {
    let file = match File::open(local_path(root, path)?) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(trouble::unreadable(&path, error)),
    };
    let bytes = file.metadata().map_err(|error| trouble::unreadable(&path, error))?.len();
    let file = HeldFile::new(file, bytes);
    let stamp = file.stamp().map_err(|error| trouble::unreadable(&path, error))?;
    // Grown between the two looks: what is read is the length of the first, and the second tells that it changed.
    let found = Found::local(path, bytes, stamp.modified);
    Ok(Some(Opened { found, file, stamp: Some(Stamp { bytes, ..stamp }), digest: None }))
}

/// An object in an unnamed file: it takes disk, not memory, and is gone when it is closed, however the process ends.
async fn fetch(
    store: &dyn ObjectStore,
    key: &ObjectPath,
    path: &str,
    spool_dir: &Path,
    cancelled: &Cancelled,
) -> Result<Option<Opened>, SourceError> {
    let failed = |error| trouble::store(&format!("fetching {path}"), key, error);
    let answer = match store.get(key).await {
        Ok(answer) => answer,
        Err(object_store::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let found = Found::object(path, &answer.meta);
    let mut spool = tempfile::tempfile_in(spool_dir).map_err(|error| trouble::spool(spool_dir, error))?;
    let mut hasher = Hasher::new();
    let mut bytes = 0;
    let mut stream = answer.into_stream();
    while let Some(piece) = stream.try_next().await.map_err(failed)? {
        cancelled.check().map_err(|error| trouble::reading(path, error))?;
        hasher.update(&piece);
        spool.write_all(&piece).map_err(|error| trouble::spool(spool_dir, error))?;
        bytes += piece.len() as u64;
    }
    if bytes != found.bytes {
        let error = io::Error::new(io::ErrorKind::UnexpectedEof, format!("{bytes} of {} bytes came", found.bytes));
        return Err(trouble::reading(path, error));
    }
    Ok(Some(Opened { found, file: HeldFile::new(spool, bytes), stamp: None, digest: Some(hasher.finish()) }))
}

impl Opened {
    /// Reads the file from end to end once, for its digest and the soundness of its compression.
    pub fn inspect(&self, cancelled: &Cancelled) -> Result<Inspected, SourceError> {
        let path = &self.found.path;
        let failed = |error| trouble::reading(path, error);
        let compression = Compression::of(path);
        let mut raw = Digesting { inner: self.file.reader(0), hasher: Hasher::new(), failed: false };
        let mut container = Ok(());
        if compression != Compression::None {
            let drained = match compression.decoder(&mut raw) {
                Ok(mut decoder) => drain(&mut decoder, cancelled),
                Err(error) => Err(error),
            };
            cancelled.check().map_err(failed)?;
            container = match drained {
                _ if self.file.bytes() == 0 => Err(trouble::corrupt(path, &"it is empty")),
                Ok(()) => Ok(()),
                Err(error) if raw.failed => return Err(failed(error)),
                Err(error) => Err(trouble::corrupt(path, &error)),
            };
        }
        if compression != Compression::None || self.digest.is_none() {
            // What is left: all of it without compression, what follows the damage otherwise.
            drain(&mut raw, cancelled).map_err(failed)?;
        }
        let digest = self.digest.unwrap_or_else(|| raw.hasher.finish());
        let stable = match self.stamp {
            Some(stamp) => self.file.stamp().map_err(failed)? == stamp,
            None => true,
        };
        Ok(Inspected { digest, container, stable })
    }
}

/// The digest of an open file's admitted bytes, as they are now.
pub(super) fn digest_now(file: &HeldFile, cancelled: &Cancelled) -> io::Result<Digest> {
    let mut raw = Digesting { inner: file.reader(0), hasher: Hasher::new(), failed: false };
    drain(&mut raw, cancelled)?;
    Ok(raw.hasher.finish())
}

fn drain(reader: &mut dyn Read, cancelled: &Cancelled) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        cancelled.check()?;
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Digests what passes through.
struct Digesting<R> {
    inner: R,
    hasher: Hasher,
    /// The file itself could not be read: no fault of its content.
    failed: bool,
}

impl<R: Read> Read for Digesting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer).inspect_err(|_| self.failed = true)?;
        self.hasher.update(&buffer[..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inspect(name: &str, content: &[u8]) -> Inspected {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(name), content).unwrap();
        open_local(dir.path(), name).unwrap().unwrap().inspect(&Cancelled::default()).unwrap()
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_byte_of_a_container_counts() {
        let text: Vec<u8> = (0..2000_u32).flat_map(|i| i.to_string().into_bytes()).collect();
        let zstd = {
            let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
            encoder.include_checksum(true).unwrap();
            encoder.write_all(&text).unwrap();
            encoder.finish().unwrap()
        };
        let twice = |frame: &[u8]| [frame, frame].concat();
        for (name, sound) in [("a.gz", twice(&gzip(&text))), ("a.zst", twice(&zstd))] {
            let inspected = inspect(name, &sound);
            assert!(inspected.container.is_ok() && inspected.stable);
            assert_eq!(inspected.digest, Digest::of(&sound));
            let cut = &sound[..sound.len() - 1];
            let garbage = [&sound[..], b"garbage"].concat();
            let mut flipped = sound.clone();
            *flipped.last_mut().unwrap() ^= 1;
            for broken in [cut, &garbage, &flipped, b"", &sound[..5], b"not compressed at all"] {
                let inspected = inspect(name, broken);
                assert!(
                    matches!(inspected.container, Err(SourceError::Permanent { ref what, ref hint })
                        if what.contains(name) && !hint.is_empty()),
                    "{name} of {} bytes",
                    broken.len()
                );
                assert_eq!(inspected.digest, Digest::of(broken), "the digest is of all bytes, damaged or not");
            }
        }
    }

    #[test]
    fn plain_files_are_digested() {
        assert_eq!(inspect("a.csv", b"").digest, Digest::of(b""));
        assert_eq!(inspect("a.csv", b"abc").digest, Digest::of(b"abc"));
    }
}
