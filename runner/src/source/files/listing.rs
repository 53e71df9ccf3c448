//! Which files there are, in the order of reading.

use super::root::FilesRoot;
use super::trouble;
use crate::source::SourceError;
use futures::TryStreamExt;
use globset::GlobMatcher;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A file as the listing shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Path below the root, `/`-separated.
    pub path: String,
    pub bytes: u64,
    /// Modification time in microseconds since 1970.
    pub modified: i64,
    pub etag: Option<String>,
}

impl Found {
    pub fn local(path: &str, bytes: u64, modified: SystemTime) -> Self {
        Self { path: path.to_owned(), bytes, modified: micros(modified), etag: None }
    }

    pub fn object(path: &str, meta: &ObjectMeta) -> Self {
        Self {
            path: path.to_owned(),
            bytes: meta.size,
            // A listing tells fractions of a second, an answer to GET does not: both must give one version.
            modified: meta.last_modified.timestamp() * 1_000_000,
            etag: meta.e_tag.clone(),
        }
    }
}

fn micros(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
    }
}

/// All files to read, sorted by path. Hidden names (`.x`, `_x`, files and folders) and unfinished ones (`.tmp`, `.part`) are left out.
pub(super) async fn list(root: &FilesRoot, pattern: Option<&GlobMatcher>) -> Result<Vec<Found>, SourceError> {
    let mut found = match root {
        FilesRoot::Local(root) => list_local(root, pattern)?,
        FilesRoot::Store { store, prefix } => list_store(store.as_ref(), prefix, pattern).await?,
    };
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn is_wanted(path: &str, pattern: Option<&GlobMatcher>) -> bool {
    let unfinished = [".tmp", ".part"].iter().any(|suffix| path.ends_with(suffix));
    !unfinished && !path.split('/').any(is_hidden) && pattern.is_none_or(|pattern| pattern.is_match(path))
}

fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}

fn list_local(root: &Path, pattern: Option<&GlobMatcher>) -> Result<Vec<Found>, SourceError> {
    let metadata = std::fs::metadata(root).map_err(|error| trouble::unreadable(&root.display(), error))?;
    if !metadata.is_dir() {
        return Ok(vec![found_local(file_name(root)?, &root.display(), &metadata)?]);
    }
    let real_root = root.canonicalize().map_err(|error| trouble::unreadable(&root.display(), error))?;
    let mut found = Vec::new();
    let mut folders = vec![(root.to_owned(), String::new())];
    while let Some((folder, below)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| trouble::unreadable(&folder.display(), error))? {
            let entry = entry.map_err(|error| trouble::unreadable(&folder.display(), error))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err(trouble::not_utf8(&entry.path()));
            };
            let path = format!("{below}{name}");
            let kind = entry.file_type().map_err(|error| trouble::unreadable(&path, error))?;
            if is_hidden(name) {
                continue;
            } else if kind.is_dir() {
                folders.push((entry.path(), format!("{path}/")));
                continue;
            } else if !is_wanted(&path, pattern) {
                continue;
            }
            let metadata = if kind.is_symlink() {
                follow(&real_root, &entry.path(), &path)?
            } else {
                match entry.metadata() {
                    Ok(metadata) => metadata,
                    // Removed since the folder was read: as if it had never been there.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(trouble::unreadable(&path, error)),
                }
            };
            if !metadata.is_file() {
                return Err(SourceError::Permanent {
                    what: format!("{path} is not a regular file"),
                    hint: "a source reads regular files, and symbolic links to files below its root; move it out or set a pattern".into(),
                });
            }
            found.push(found_local(&path, &path, &metadata)?);
        }
    }
    Ok(found)
}

fn file_name(path: &Path) -> Result<&str, SourceError> {
    path.file_name().and_then(|name| name.to_str()).ok_or_else(|| trouble::not_utf8(path))
}

fn found_local(path: &str, shown: &dyn std::fmt::Display, metadata: &Metadata) -> Result<Found, SourceError> {
    let modified = metadata.modified().map_err(|error| trouble::unreadable(shown, error))?;
    Ok(Found::local(path, metadata.len(), modified))
}

/// A link may point anywhere below the root and nowhere else: a source must not become a way to read other files.
fn follow(real_root: &Path, link: &Path, path: &str) -> Result<Metadata, SourceError> {
    let target = link.canonicalize().map_err(|error| trouble::unreadable(&path, error))?;
    if !target.starts_with(real_root) {
        return Err(SourceError::Permanent {
            what: format!("{path} is a symbolic link out of the source's folder"),
            hint: "copy the file into the folder, or give the folder that it points to as the source".into(),
        });
    }
    std::fs::metadata(&target).map_err(|error| trouble::unreadable(&path, error))
}

/// Where a listed file lies. The same rules as for listing apply: a name that became a link out of the root meanwhile is refused.
pub(super) fn local_path(root: &Path, path: &str) -> Result<PathBuf, SourceError> {
    if !root.is_dir() {
        return Ok(root.to_owned());
    }
    let full = root.join(path);
    if full.is_symlink() {
        let real_root = root.canonicalize().map_err(|error| trouble::unreadable(&root.display(), error))?;
        follow(&real_root, &full, path)?;
    }
    Ok(full)
}

async fn list_store(
    store: &dyn ObjectStore,
    prefix: &ObjectPath,
    pattern: Option<&GlobMatcher>,
) -> Result<Vec<Found>, SourceError> {
    let listed: Vec<ObjectMeta> = store
        .list(Some(prefix))
        .try_collect()
        .await
        .map_err(|error| trouble::store("listing the source's objects", prefix, error))?;
    if listed.is_empty() && !prefix.as_ref().is_empty() {
        return match store.head(prefix).await {
            Ok(meta) => Ok(vec![Found::object(prefix.filename().unwrap_or_default(), &meta)]),
            Err(object_store::Error::NotFound { .. }) => Ok(Vec::new()),
            Err(error) => Err(trouble::store("looking the source's object up", prefix, error)),
        };
    }
    let below = |meta: &ObjectMeta| {
        let key = meta.location.as_ref();
        let path =
            if prefix.as_ref().is_empty() { Some(key) } else { key.strip_prefix(prefix.as_ref())?.strip_prefix('/') };
        path.filter(|path| is_wanted(path, pattern)).map(|path| Found::object(path, meta))
    };
    Ok(listed.iter().filter_map(below).collect())
}

/// The keys that a listed path can stand for, likeliest first: below the prefix, or the prefix itself where the root is one object.
pub(super) fn object_paths(prefix: &ObjectPath, path: &str) -> Result<Vec<ObjectPath>, SourceError> {
    let key = if prefix.as_ref().is_empty() { path.to_owned() } else { format!("{prefix}/{path}") };
    let key = ObjectPath::parse(&key).map_err(|_| SourceError::Permanent {
        what: format!("{path} is not a valid object key"),
        hint: "rename the object: empty, `.` and `..` parts are not supported".into(),
    })?;
    let itself = (prefix.filename() == Some(path)).then(|| prefix.clone());
    Ok(std::iter::once(key).chain(itself).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use globset::Glob;
    use std::fs;

    fn paths(root: &Path, pattern: Option<&str>) -> Result<Vec<String>, SourceError> {
        let pattern = pattern.map(|p| Glob::new(p).unwrap().compile_matcher());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let found = runtime.block_on(list(&FilesRoot::Local(root.to_owned()), pattern.as_ref()))?;
        Ok(found.into_iter().map(|f| f.path).collect())
    }

    #[test]
    fn sorted_without_hidden_and_unfinished() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["b", "_staging", ".git"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        for name in
            ["b.csv", "b/1.csv", "a.csv", ".x.csv", "_y.csv", "c.csv.tmp", "c.part", "_staging/d.csv", ".git/e.csv"]
        {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        assert_eq!(paths(dir.path(), None).unwrap(), ["a.csv", "b.csv", "b/1.csv"]);
        assert_eq!(paths(dir.path(), Some("b/*")).unwrap(), ["b/1.csv"]);
        assert_eq!(paths(&dir.path().join("_y.csv"), None).unwrap(), ["_y.csv"], "named, so wanted");
    }

    #[test]
    fn a_missing_root_has_a_hint() {
        let error = paths(Path::new("/no/such/folder"), None).unwrap_err();
        assert!(
            matches!(error, SourceError::Permanent { what, hint } if what.contains("/no/such/folder") && !hint.is_empty())
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_below_the_root() {
        use std::os::unix::fs::symlink;
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.csv"), "x").unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.csv"), "x").unwrap();
        symlink(dir.path().join("a.csv"), dir.path().join("b.csv")).unwrap();
        assert_eq!(paths(dir.path(), None).unwrap(), ["a.csv", "b.csv"]);
        let link = dir.path().join("c.csv");
        for target in [outside.path().join("secret.csv"), outside.path().to_owned(), dir.path().join("gone.csv")] {
            symlink(&target, &link).unwrap();
            let error = paths(dir.path(), None).unwrap_err();
            assert!(matches!(error, SourceError::Permanent { what, .. } if what.contains("c.csv")), "{target:?}");
            fs::remove_file(&link).unwrap();
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_that_is_not_text_is_named() {
        use std::os::unix::ffi::OsStrExt;
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(std::ffi::OsStr::from_bytes(b"a\xff.csv")), "x").unwrap();
        let error = paths(dir.path(), None).unwrap_err();
        assert!(matches!(error, SourceError::Permanent { what, .. } if what.contains("a\u{fffd}.csv")));
    }
}
