//! Compiled components on disk. What lies here is machine code that the process will run, so the directory belongs to
//! this user alone and every file proves that it is whole before it is loaded.
//!
//! File: magic, component digest, engine key, SHA-256 of the payload, length of the payload (u64 little-endian), payload.

use super::fault::HostError;
use gristmill_core::digest::{Digest, Hasher};
use std::fs;
use std::hash::Hash;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wasmtime::Engine;
use wasmtime::component::Component;

const MAGIC: &[u8; 16] = b"gristmill-aot-1\n";
const HEADER_BYTES: usize = 16 + 32 + 32 + 32 + 8;

#[derive(Debug)]
pub(super) struct Cache {
    directory: PathBuf,
    /// Digest of all that decides whether compiled code fits the engine: version, settings, processor.
    engine_key: Digest,
}

impl Cache {
    pub(super) fn open(directory: &Path, engine: &Engine) -> Result<Self, HostError> {
        make_private(directory).map_err(|source| HostError::Cache { path: directory.to_owned(), source })?;
        let mut key = KeyHasher(Hasher::new());
        engine.precompile_compatibility_hash().hash(&mut key);
        Ok(Self { directory: directory.to_owned(), engine_key: key.0.finish() })
    }

    /// The compiled form of a component, if a whole one is stored. A damaged file is reported and removed.
    pub(super) fn find(&self, engine: &Engine, component: Digest) -> Option<Component> {
        let path = self.path(component);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return None,
            Err(e) => {
                tracing::warn!(path = %path.display(), error = %e, "a compiled component cannot be read; compiling again");
                return None;
            }
        };
        let found = self.payload(component, &bytes).map_err(str::to_owned).and_then(|payload| {
            // SAFETY: the payload is what this user's process wrote after compiling: its SHA-256 was checked just now,
            // and only this user can write to the directory.
            #[expect(unsafe_code, reason = "loading compiled code is the purpose of this cache")]
            unsafe { Component::deserialize(engine, payload) }.map_err(|e| format!("{e:#}"))
        });
        match found {
            Ok(component) => Some(component),
            Err(why) => {
                tracing::warn!(path = %path.display(), why, "a compiled component is damaged; removing it and compiling again");
                if let Err(e) = fs::remove_file(&path) {
                    tracing::warn!(path = %path.display(), error = %e, "the damaged file cannot be removed");
                }
                None
            }
        }
    }

    /// Stores a compiled component. A failure costs only time at the next start, so it is reported and no more.
    pub(super) fn put(&self, component: Digest, payload: &[u8]) {
        let path = self.path(component);
        if let Err(e) = self.write(&path, component, payload) {
            tracing::warn!(path = %path.display(), error = %e, "a compiled component cannot be stored");
        }
    }

    fn write(&self, path: &Path, component: Digest, payload: &[u8]) -> io::Result<()> {
        // Renamed into place whole, so that a second process never reads half a file.
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(MAGIC)?;
        file.write_all(component.as_bytes())?;
        file.write_all(self.engine_key.as_bytes())?;
        file.write_all(Digest::of(payload).as_bytes())?;
        file.write_all(&(payload.len() as u64).to_le_bytes())?;
        file.write_all(payload)?;
        file.flush()?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    }

    fn path(&self, component: Digest) -> PathBuf {
        self.directory.join(format!("{}-{}.aot", component.hex(), self.engine_key.short()))
    }

    fn payload<'a>(&self, component: Digest, bytes: &'a [u8]) -> Result<&'a [u8], &'static str> {
        let (header, payload) = bytes.split_at_checked(HEADER_BYTES).ok_or("it is shorter than its header")?;
        let (magic, header) = header.split_at(16);
        let (of_component, header) = header.split_at(32);
        let (of_engine, header) = header.split_at(32);
        let (of_payload, length) = header.split_at(32);
        if magic != MAGIC {
            return Err("it is not a compiled component");
        }
        if of_component != component.as_bytes() || of_engine != self.engine_key.as_bytes() {
            return Err("it belongs to another component or engine");
        }
        if length != (payload.len() as u64).to_le_bytes() {
            return Err("its length is wrong");
        }
        if of_payload != Digest::of(payload).as_bytes() {
            return Err("its digest is wrong");
        }
        Ok(payload)
    }
}

/// The component that a file of a cache was compiled from, by the file's name.
pub fn component_of_compiled(name: &str) -> Option<Digest> {
    let (hex, _) = name.strip_suffix(".aot")?.split_once('-')?;
    format!("sha256:{hex}").parse().ok()
}

/// Creates the directory, closed to everyone else. Closing fails unless this user owns it.
fn make_private(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Turns what the engine hashes into a digest that is the same in every process.
struct KeyHasher(Hasher);

impl std::hash::Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    fn finish(&self) -> u64 {
        0
    }
}
