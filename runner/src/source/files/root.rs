//! Where files are: a local path or a bucket of an object store.

use crate::source::SourceError;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use url::Url;

/// The folder, file or bucket prefix that a source reads.
#[derive(Clone)]
pub enum FilesRoot {
    /// A folder, or a single file.
    Local(PathBuf),
    /// All objects below the prefix, or the one object of that key.
    Store { store: Arc<dyn ObjectStore>, prefix: ObjectPath },
}

impl FilesRoot {
    /// Understands plain paths, `file://` and `s3://`.
    pub fn parse(url: &str) -> Result<Self, StoreUrlError> {
        match Location::parse(url)? {
            Location::Local(path) => Ok(Self::Local(path)),
            Location::S3(url) => s3_store(&url, []).map(|(store, prefix)| Self::Store { store, prefix }),
        }
    }
}

impl fmt::Debug for FilesRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => f.debug_tuple("Local").field(path).finish(),
            Self::Store { prefix, .. } => f.debug_tuple("Store").field(&prefix.as_ref()).finish(),
        }
    }
}

/// A storage URL that cannot be used. It may hold credentials, so that no text of it is repeated beyond its scheme.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct StoreUrlError {
    pub what: String,
    pub hint: String,
}

impl From<StoreUrlError> for SourceError {
    fn from(error: StoreUrlError) -> Self {
        Self::Permanent { what: error.what, hint: error.hint }
    }
}

/// Opens the store that a URL names, and the prefix in it.
///
/// A local folder (a plain path or `file://`) is created when missing and written with fsync; its prefix is empty.
/// `s3://bucket/prefix` takes region, endpoint and credentials from the environment (`AWS_REGION`,
/// `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`, `AWS_ACCESS_KEY_ID`, …), as the AWS tools do.
pub fn open_store(url: &str) -> Result<(Arc<dyn ObjectStore>, ObjectPath), StoreUrlError> {
    open_store_with(url, [])
}

/// [`open_store`] with settings that go before those of the environment, by the same names in lower case
/// (`aws_endpoint_url`).
pub fn open_store_with<const N: usize>(
    url: &str,
    settings: [(&str, &str); N],
) -> Result<(Arc<dyn ObjectStore>, ObjectPath), StoreUrlError> {
    match Location::parse(url)? {
        Location::Local(path) => local_store(&path),
        Location::S3(url) => s3_store(&url, settings),
    }
}

enum Location {
    Local(PathBuf),
    S3(Url),
}

impl Location {
    fn parse(text: &str) -> Result<Self, StoreUrlError> {
        if text.is_empty() {
            return Err(refused("the location is empty", "give a path, `file:///…` or `s3://bucket/prefix`"));
        }
        if !text.contains("://") {
            return Ok(Self::Local(PathBuf::from(text)));
        }
        let url = Url::parse(text)
            .map_err(|error| refused(&format!("not a URL: {error}"), "write it like `s3://bucket/prefix`"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused(
                "the URL holds credentials",
                "take them out of the URL and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refused("the URL has a query or a fragment", "write `?` as %3F and `#` as %23 in object keys"));
        }
        match url.scheme() {
            "file" => url.to_file_path().map(Self::Local).map_err(|()| {
                refused("the file URL is not an absolute local path", "write `file:///absolute/path` or a plain path")
            }),
            "s3" => Ok(Self::S3(url)),
            scheme => {
                Err(refused(&format!("storage of kind `{scheme}` is not known"), "use a path, `file://` or `s3://`"))
            }
        }
    }
}

fn refused(what: &str, hint: &str) -> StoreUrlError {
    StoreUrlError { what: what.into(), hint: hint.into() }
}

fn local_store(path: &Path) -> Result<(Arc<dyn ObjectStore>, ObjectPath), StoreUrlError> {
    std::fs::create_dir_all(path).map_err(|error| {
        refused(&format!("cannot create the folder {}: {error}", path.display()), "check the path and its permissions")
    })?;
    let store = LocalFileSystem::new_with_prefix(path).map_err(|error| {
        refused(&format!("cannot open the folder {}: {error}", path.display()), "check the path and its permissions")
    })?;
    Ok((Arc::new(store.with_fsync(true)), ObjectPath::default()))
}

#[cfg(feature = "s3")]
fn s3_store<const N: usize>(
    url: &Url,
    settings: [(&str, &str); N],
) -> Result<(Arc<dyn ObjectStore>, ObjectPath), StoreUrlError> {
    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

    let bucket = url
        .host_str()
        .filter(|host| !host.is_empty())
        .ok_or_else(|| refused("the S3 URL names no bucket", "write `s3://bucket/prefix`"))?;
    let prefix = ObjectPath::from_url_path(url.path())
        .map_err(|_| refused("the S3 URL's path is not a valid object key", "leave out empty and `..` parts"))?;
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    for (name, value) in settings {
        let key: AmazonS3ConfigKey = name.parse().map_err(|_| {
            refused(&format!("`{name}` is not a setting of S3 storage"), "use names such as `aws_region`")
        })?;
        builder = builder.with_config(key, value);
    }
    let store = builder.build().map_err(|error| {
        refused(
            &format!("cannot set up S3 storage: {error}"),
            "set AWS_REGION, AWS_ENDPOINT_URL and credentials in the environment",
        )
    })?;
    Ok((Arc::new(store), prefix))
}

#[cfg(not(feature = "s3"))]
fn s3_store<const N: usize>(
    _url: &Url,
    _settings: [(&str, &str); N],
) -> Result<(Arc<dyn ObjectStore>, ObjectPath), StoreUrlError> {
    Err(refused("this build has no S3 support", "build it with the feature `s3`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_locations() {
        for (text, path) in [("data/in", "data/in"), ("file:///data/in", "/data/in"), ("/a b", "/a b")] {
            match FilesRoot::parse(text) {
                Ok(FilesRoot::Local(found)) => assert_eq!(found, PathBuf::from(path)),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[cfg(feature = "s3")]
    #[test]
    fn s3_locations_have_a_prefix() {
        let (_, prefix) = open_store_with("s3://bucket/a/b%20c/", [("aws_region", "us-east-1")]).unwrap();
        assert_eq!(prefix.as_ref(), "a/b c");
    }

    #[test]
    fn unusable_urls_are_refused_without_repeating_secrets() {
        for bad in
            ["", "ftp://host/x", "s3://key:hunter2@bucket/x", "s3://bucket/x?y=hunter2", "s3://", "file://relative"]
        {
            let error = open_store(bad).map(|(_, prefix)| prefix).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
            assert!(!error.hint.is_empty());
        }
    }

    #[test]
    fn a_local_store_is_created() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/store");
        let (_, prefix) = open_store(path.to_str().unwrap()).unwrap();
        assert_eq!(prefix.as_ref(), "");
        assert!(path.is_dir());
    }
}
