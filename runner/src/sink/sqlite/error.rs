//! What an SQLite error means for a batch.

use crate::sink::SinkError;
use rusqlite::{ErrorCode, ffi};

/// Sorts an error by what can be done about it. SQLite's messages name tables and columns, never values.
pub(super) fn failed(doing: impl Into<String>, error: rusqlite::Error) -> SinkError {
    let doing = doing.into();
    let permanent = |hint: &str| SinkError::Permanent { what: format!("{doing}: {error}"), hint: hint.into() };
    let extended = error.sqlite_error().map(|error| error.extended_code);
    // Room for the shared memory of the WAL is claimed at once: SQLite reports a full disk there as an I/O error.
    if extended == Some(ffi::SQLITE_IOERR_SHMSIZE) {
        return SinkError::NoSpace { what: format!("{doing}: {error}") };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => SinkError::NoSpace { what: format!("{doing}: {error}") },
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::SchemaChanged
            | ErrorCode::OperationInterrupted
            | ErrorCode::OutOfMemory
            | ErrorCode::SystemIoFailure,
        ) => SinkError::Transient { doing, source: Box::new(error) },
        Some(ErrorCode::DatabaseCorrupt) => permanent(
            "the database file is damaged: check the disk, then restore the file or let the sink build a new one",
        ),
        Some(ErrorCode::NotADatabase) => permanent("the file is not an SQLite database: name another file"),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
            permanent("allow this user to write the file and its folder")
        }
        Some(ErrorCode::CannotOpen) => permanent("check that the path names a file that this user may open and create"),
        Some(ErrorCode::ConstraintViolation) => {
            permanent("a constraint of the table refuses a row: drop the constraint, or map rows that satisfy it")
        }
        Some(ErrorCode::TooBig) => {
            permanent("a value is longer than SQLite can hold: cut or leave it out in the mapper")
        }
        _ => permanent("the table may have changed while the task ran: start the task again, which checks it"),
    }
}
