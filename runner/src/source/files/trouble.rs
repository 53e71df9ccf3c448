//! Errors of the files source that several modules raise, with hints.

use crate::source::SourceError;
use std::fmt::Display;
use std::io;
use std::path::Path;

/// A folder or file that cannot be read.
pub(super) fn unreadable(path: &dyn Display, error: io::Error) -> SourceError {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "check the source's `url`; a relative path starts at the pipeline file",
        io::ErrorKind::PermissionDenied => "let the user that runs this process read it",
        _ => return SourceError::Transient { doing: format!("reading {path}"), source: error.into() },
    };
    SourceError::Permanent { what: format!("cannot read {path}: {error}"), hint: hint.into() }
}

pub(super) fn not_utf8(path: &Path) -> SourceError {
    SourceError::Permanent {
        what: format!("the name of {} is not UTF-8", path.to_string_lossy()),
        hint: "rename the file: positions are kept as text".into(),
    }
}

/// An object store that did not do what it was asked.
pub(super) fn store(doing: &str, path: &object_store::path::Path, error: object_store::Error) -> SourceError {
    use object_store::Error;
    let (denied, missing) = match &error {
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => (true, false),
        Error::NotFound { .. } => (false, true),
        error => match status(error) {
            Some(401 | 403) => (true, false),
            Some(404) => (false, true),
            _ => (false, false),
        },
    };
    if denied {
        SourceError::Permanent {
            what: format!("{doing}: the object store denies access to `{path}`"),
            hint: "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what their owner may list and read".into(),
        }
    } else if missing {
        SourceError::Permanent {
            what: format!("{doing}: the bucket, or `{path}` in it, does not exist"),
            hint: "check bucket and key of the source's `url`, and AWS_ENDPOINT_URL".into(),
        }
    } else {
        SourceError::Transient { doing: doing.to_owned(), source: error.into() }
    }
}

/// The HTTP status behind an error. A failed listing is not told apart any further by the store's client, nor is the
/// type of its cause public: its text is all there is.
fn status(error: &object_store::Error) -> Option<u16> {
    let text = error.to_string();
    let (_, rest) = text.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

/// A file that cannot be read to its end.
pub(super) fn corrupt(path: &str, how: &dyn Display) -> SourceError {
    SourceError::Permanent {
        what: format!("{path} is truncated or corrupt: {how}; none of its records was read"),
        hint: "write or upload the file again, or move it out of the source".into(),
    }
}

/// A file that was admitted and then could not be read on: to try again admits it anew, and tells why.
pub(super) fn reading(path: &str, error: io::Error) -> SourceError {
    SourceError::Transient { doing: format!("reading {path}"), source: error.into() }
}

/// The spool folder cannot take an object.
pub(super) fn spool(dir: &Path, error: io::Error) -> SourceError {
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::ReadOnlyFilesystem => SourceError::Permanent {
            what: format!("cannot spool an object into {}: {error}", dir.display()),
            hint: "the folder must exist, be writable and have room for the largest object of the source".into(),
        },
        _ => {
            SourceError::Transient { doing: format!("spooling an object into {}", dir.display()), source: error.into() }
        }
    }
}
