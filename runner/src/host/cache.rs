//! Compiled components on disk. What lies here is machine code that the process will run, so the directory belongs to
//! this user alone and every file proves that it is whole before it is loaded.
//!
//! File: the compiled code as the engine maps it, then a trailer: component digest, engine key, XXH3-128 of the code, length of
//! the code (both little-endian), magic. The checksum finds damage; what keeps others from writing here is the directory.
//! Files are mapped, not read into memory, and never written in place.

use super::fault::HostError;
use gristmill_core::digest::{Digest, Hasher};
use std::fs;
use std::hash::Hash;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use wasmtime::Engine;
use wasmtime::component::Component;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

const MAGIC: &[u8; 16] = b"gristmill-aot-2\n";
const TRAILER_BYTES: usize = 32 + 32 + 16 + 8 + 16;
/// Bytes that are read at once to be checked.
const CHUNK_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Cache {
    directory: PathBuf,
    /// Digest of all that decides whether a file's code fits the engine: its format, the engine's version and settings, the
    /// processor.
    engine_key: Digest,
}

impl Cache {
    pub(super) fn open(directory: &Path, engine: &Engine) -> Result<Self, HostError> {
        make_private(directory).map_err(|source| HostError::Cache { path: directory.to_owned(), source })?;
        let mut key = KeyHasher(Hasher::new());
        // Files of another format have other names: they are not found, rather than taken for damaged ones.
        key.0.update(MAGIC);
        engine.precompile_compatibility_hash().hash(&mut key);
        Ok(Self { directory: directory.to_owned(), engine_key: key.0.finish() })
    }

    /// The compiled form of a component, if a whole one is stored. A damaged file is reported and removed.
    pub(super) fn find(&self, engine: &Engine, component: Digest) -> Option<Component> {
        let path = self.path(component);
        let checked = match fs::File::open(&path) {
            Ok(file) => self.check(file, component),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return None,
            Err(e) => Err(e),
        };
        let checked = match checked {
            Ok(checked) => checked,
            Err(e) => {
                tracing::warn!(path = %path.display(), error = %e, "a compiled component cannot be read; compiling again");
                return None;
            }
        };
        let found = checked.map_err(str::to_owned).and_then(|()| {
            // SAFETY: the file is what this user's process wrote after compiling: it was checked just now, only this user can
            // write to the directory, and files are replaced whole, never changed while they are mapped.
            #[expect(unsafe_code, reason = "loading compiled code is the purpose of this cache")]
            unsafe { Component::deserialize_file(engine, &path) }.map_err(|e| format!("{e:#}"))
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
    pub(super) fn put(&self, component: Digest, code: &[u8]) {
        let path = self.path(component);
        if let Err(e) = self.write(&path, component, code) {
            tracing::warn!(path = %path.display(), error = %e, "a compiled component cannot be stored");
        }
    }

    fn write(&self, path: &Path, component: Digest, code: &[u8]) -> io::Result<()> {
        // Renamed into place whole, so that a second process never reads half a file.
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(code)?;
        file.write_all(&self.trailer(component, xxh3_128(code), code.len() as u64))?;
        file.flush()?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    }

    fn path(&self, component: Digest) -> PathBuf {
        self.directory.join(format!("{}-{}.aot", component.hex(), self.engine_key.short()))
    }

    fn trailer(&self, component: Digest, checksum: u128, length: u64) -> [u8; TRAILER_BYTES] {
        let mut trailer = [0; TRAILER_BYTES];
        let parts: [&[u8]; 5] =
            [component.as_bytes(), self.engine_key.as_bytes(), &checksum.to_le_bytes(), &length.to_le_bytes(), MAGIC];
        let mut rest = trailer.as_mut_slice();
        for part in parts {
            let (to, after) = rest.split_at_mut(part.len());
            to.copy_from_slice(part);
            rest = after;
        }
        trailer
    }

    /// Whether a file is whole, and the code in it is for this component and engine. The outer error: it cannot be read.
    fn check(&self, mut file: fs::File, component: Digest) -> io::Result<Result<(), &'static str>> {
        let Some(length) = file.metadata()?.len().checked_sub(TRAILER_BYTES as u64) else {
            return Ok(Err("it is shorter than its trailer"));
        };
        let (mut sum, mut chunk) = (Xxh3::new(), vec![0; CHUNK_BYTES]);
        let mut left = length;
        while left > 0 {
            let part = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let part = &mut chunk[..part];
            file.read_exact(part)?;
            sum.update(part);
            left -= part.len() as u64;
        }
        let mut trailer = [0; TRAILER_BYTES];
        file.read_exact(&mut trailer)?;
        Ok(match trailer == self.trailer(component, sum.digest128(), length) {
            true => Ok(()),
            false => Err("it is damaged, or belongs to another component or engine"),
        })
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
