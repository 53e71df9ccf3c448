//! Files beside the state: compiled components, and what must not outlast a run.

use super::references::References;
use super::{At, Leftover, Places, Survey, written_at};
use crate::host::component_of_compiled;
use crate::store::content::ContentKind;
use crate::store::{ContentStore, Listed, StoreError};
use gristmill_core::digest::Digest;
use gristmill_core::garbage::{Kept, Reason, YOUNG_MICROS};
use gristmill_core::id::Micros;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What lies beside the state.
#[derive(Debug, Default)]
pub(super) struct Files {
    compiled: Vec<(File, Option<Digest>)>,
    scratch: Vec<File>,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    bytes: u64,
    written_at: Micros,
}

pub(super) fn list(places: &Places) -> Result<Files, StoreError> {
    let mut files = Files::default();
    for file in entries(&places.compiled, "")? {
        let digest = file.path.file_name().and_then(|name| component_of_compiled(&name.to_string_lossy()));
        files.compiled.push((file, digest));
    }
    for (folder, beginning) in &places.scratch {
        files.scratch.extend(entries(folder, beginning)?);
    }
    Ok(files)
}

/// The entries of a folder whose names begin so.
fn entries(folder: &Path, beginning: &str) -> Result<Vec<File>, StoreError> {
    let io = |source: std::io::Error| StoreError::Io {
        doing: format!("listing {}", folder.display()),
        transient: false,
        source: source.into(),
    };
    let listed = match std::fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(io(e)),
    };
    let mut found = Vec::new();
    for entry in listed {
        let entry = entry.map_err(io)?;
        if !entry.file_name().to_string_lossy().starts_with(beginning) {
            continue;
        }
        // Of the entry itself; one that is gone by now is nobody's.
        let Ok(metadata) = std::fs::symlink_metadata(entry.path()) else { continue };
        let bytes = if metadata.is_dir() { folder_bytes(&entry.path()) } else { metadata.len() };
        found.push(File { path: entry.path(), bytes, written_at: written_at(&metadata) });
    }
    Ok(found)
}

fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let metadata = std::fs::symlink_metadata(entry.path()).ok()?;
        Some(if metadata.is_dir() { folder_bytes(&entry.path()) } else { metadata.len() })
    });
    sizes.sum()
}

pub(super) fn judge(
    places: &Places,
    files: Files,
    listed: &[Listed],
    references: &References,
    now: Micros,
    survey: &mut Survey,
) {
    let going: HashSet<Digest> = survey.leftovers.iter().filter_map(component).collect();
    let component_of = |object: &Listed| match ContentStore::of_key(&object.key) {
        Some((ContentKind::Component, digest)) => Some(digest),
        _ => None,
    };
    let stored: HashSet<Digest> = listed.iter().filter_map(component_of).collect();
    let young = |file: &File| now.0.saturating_sub(file.written_at.0) < YOUNG_MICROS;
    for (file, digest) in files.compiled {
        let judged = match digest {
            Some(digest) if going.contains(&digest) => Ok(Reason::Compiled),
            // A folder that several states share holds what others compiled.
            Some(digest) if !places.compiled_is_private || stored.contains(&digest) => Err(Kept::Referenced),
            _ if young(&file) => Err(Kept::Young),
            Some(_) => Ok(Reason::Compiled),
            None if places.compiled_is_private => Ok(Reason::Scratch),
            None => Err(Kept::Foreign),
        };
        survey.judged(At::File(file.path), file.bytes, judged);
    }
    for file in files.scratch {
        let judged = match () {
            () if young(&file) => Err(Kept::Young),
            () if references.worker_alive() => Err(Kept::BeingWritten),
            () => Ok(Reason::Scratch),
        };
        survey.judged(At::File(file.path), file.bytes, judged);
    }
}

/// The component that a leftover is.
fn component(leftover: &Leftover) -> Option<Digest> {
    match &leftover.at {
        At::Store(key) if leftover.reason == Reason::UnusedComponent => {
            ContentStore::of_key(key).map(|(_, digest)| digest)
        }
        _ => None,
    }
}
