//! What an object store's error means for a batch.

use crate::sink::SinkError;
use object_store::Error;
use std::io;

/// Sorts an error by what can be done about it.
pub(super) fn failed(doing: impl Into<String>, error: Error) -> SinkError {
    let doing = doing.into();
    let io_kind = io_kind(&error);
    let permanent = |hint: &str| SinkError::Permanent { what: format!("{doing}: {error}"), hint: hint.into() };
    match (&error, io_kind) {
        (_, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)) => {
            SinkError::NoSpace { what: format!("{doing}: {error}") }
        }
        (_, Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem))
        | (Error::PermissionDenied { .. } | Error::Unauthenticated { .. }, _) => {
            permanent("give this user or these credentials read and write access to the dataset")
        }
        (_, Some(io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory | io::ErrorKind::InvalidFilename)) => {
            permanent("something else is in the way of the dataset's folders: use another prefix")
        }
        (Error::NotFound { .. }, _) => permanent("an object of the dataset was deleted: restore it"),
        (
            Error::InvalidPath { .. }
            | Error::NotSupported { .. }
            | Error::NotImplemented { .. }
            | Error::UnknownConfigurationKey { .. },
            _,
        ) => permanent("use a store that creates an object only where there is none, such as a local folder or S3"),
        _ => SinkError::Transient { doing, source: Box::new(error) },
    }
}

/// An object is not what this sink wrote.
pub(super) fn damaged(what: String) -> SinkError {
    SinkError::Permanent {
        what,
        hint: "the dataset was changed by something else: restore the object from a copy".into(),
    }
}

fn io_kind(error: &Error) -> Option<io::ErrorKind> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}
