//! Why the store could not do what it was asked.

use gristmill_core::id::FencingToken;
use std::error::Error as StdError;
use std::io;

/// A failure of the batch store or the state store. Whatever the variant, nothing half-written is ever visible.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "fenced while {doing}: this process held fencing token {held}, and the partition has been claimed again since"
    )]
    Fenced { doing: &'static str, held: FencingToken },
    #[error("no space left while {doing}")]
    NoSpace { doing: String },
    /// Bytes that do not match their digest, or cannot be read as what they are.
    #[error("{what} is damaged: {detail}")]
    Damaged { what: String, detail: String, hint: String },
    #[error("{what} is missing")]
    Missing { what: String, hint: String },
    /// The request contradicts what is stored, such as a frozen schema or a label that has other bytes.
    #[error("{what}")]
    Refused { what: String, hint: String },
    /// Another process published a version of the task since this one looked.
    #[error("{what}")]
    Overtaken { what: String, hint: String },
    #[error("{doing}: {source}")]
    Io { doing: String, transient: bool, source: Box<dyn StdError + Send + Sync> },
}

impl StoreError {
    pub(super) fn database(doing: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| {
            const SQLITE_FULL: &str = "13";
            // SQLITE_IOERR_SHMSIZE: the file system has no room for the shared memory of the WAL.
            const NO_ROOM_FOR_WAL_INDEX: &str = "4874";
            const BUSY_OR_LOCKED: [&str; 2] = ["5", "6"];
            let extended = source.as_database_error().and_then(|e| e.code());
            if extended.as_deref() == Some(NO_ROOM_FOR_WAL_INDEX) {
                return Self::NoSpace { doing: doing.into() };
            }
            let code = extended.map(|c| primary_code(&c));
            match code.as_deref() {
                Some(SQLITE_FULL) => Self::NoSpace { doing: doing.into() },
                code => {
                    let transient = code.is_some_and(|c| BUSY_OR_LOCKED.contains(&c));
                    Self::Io { doing: doing.into(), transient, source: source.into() }
                }
            }
        }
    }

    pub(super) fn objects(doing: impl Into<String>) -> impl FnOnce(object_store::Error) -> Self {
        move |source| {
            let doing = doing.into();
            if is_no_space(&source) {
                return Self::NoSpace { doing };
            }
            use object_store::Error as E;
            let transient = matches!(source, E::Generic { .. } | E::JoinError { .. });
            Self::Io { doing, transient, source: source.into() }
        }
    }
}

/// SQLite's extended codes carry the primary code in their low byte.
fn primary_code(code: &str) -> String {
    code.parse::<i64>().map_or_else(|_| code.to_owned(), |c| (c & 0xff).to_string())
}

/// Whether a full disk or quota is at the bottom of an error, however deeply wrapped.
pub fn is_no_space(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            use io::ErrorKind as K;
            if matches!(io.kind(), K::StorageFull | K::QuotaExceeded | K::FileTooLarge) {
                return true;
            }
            // `io::Error::source` skips the wrapped error itself and goes to *its* source.
            cause = io.get_ref().map(|e| e as &(dyn StdError + 'static));
            continue;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_found_below_other_errors() {
        let io = io::Error::from(io::ErrorKind::StorageFull);
        let wrapped = object_store::Error::Generic { store: "local", source: Box::new(io::Error::other(io)) };
        assert!(is_no_space(&wrapped));
        let other = object_store::Error::Generic { store: "local", source: "no".into() };
        assert!(!is_no_space(&other));
    }
}
