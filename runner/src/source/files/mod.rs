//! Files, locally or in an object store: CSV, JSON Lines and Parquet; plain, gzip and zstd.
//!
//! Each scan takes the files in the order of their paths and reads every version that the source's ledger does not
//! know, to its end, before the next. A file still being written holds back those after it, so that the order does not depend
//! on who finishes first; give it a name that is skipped (`.tmp`, `.part`, `.x`, `_x`) while it grows.
//!
//! Before a file counts as read it is *admitted*: settled, digested, and its container checked to the end. What is read then
//! is exactly the admitted content; a version that changes under way is abandoned, and its successor is read whole, as
//! updates.

mod admit;
mod again;
mod chunk;
mod clock;
mod compression;
mod csv;
mod held;
mod infer;
mod json;
mod ledger;
mod listing;
mod measure;
mod options;
mod page;
mod parquet;
mod reading;
mod root;
mod shape;
#[cfg(test)]
mod tests;
mod text;
mod trouble;
mod types;
mod values;
mod whole;

pub use again::FilesRereader;
pub use clock::{Clock, SystemClock};
pub use infer::infer_schema;
pub use options::{CsvOptions, FileFormat, FilesOptions, MAX_FIELD_BYTES_DEFAULT, SETTLE_DEFAULT, parse_pattern};
pub use root::{FilesRoot, StoreUrlError, open_store, open_store_with};
pub use whole::{RefusedRecord, WholeFile, infer_file, read_file};

use crate::source::{PageLimits, Poll, Resumed, Source, SourceError};
use admit::Cancelled;
use arrow::datatypes::SchemaRef;
use gristmill_core::cursor::Cursor;
use ledger::Ledger;
use reading::{Place, Reading, Setup, Warm};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Reads the files below a root. See the module for the order of reading.
pub struct FilesSource {
    setup: Arc<Setup>,
    place: Place,
    warm: Warm,
}

impl FilesSource {
    /// Checks the options; nothing is read yet.
    pub fn new(options: FilesOptions) -> Result<Self, SourceError> {
        check(&options)?;
        let pattern = options.pattern.as_ref().map(globset::Glob::compile_matcher);
        Ok(Self {
            setup: Arc::new(Setup { options, pattern, clock: Arc::new(SystemClock) }),
            place: Place::at(Cursor::Start, Ledger::default()),
            warm: Warm::default(),
        })
    }

    /// Takes the time from `clock`.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        let Setup { options, pattern, .. } = self.setup.as_ref();
        self.setup = Arc::new(Setup { options: options.clone(), pattern: pattern.clone(), clock });
        self
    }

    /// Runs `call` on a thread where it may block. Its changes are kept when, and only when, it succeeds.
    async fn run<T: Send + 'static>(
        &mut self,
        place: Place,
        call: impl FnOnce(&mut Reading) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, SourceError> {
        let cancelled = Cancelled::default();
        let _guard = CancelOnDrop(cancelled.clone());
        let mut reading = Reading {
            setup: self.setup.clone(),
            place,
            cancelled,
            runtime: Handle::current(),
            warm: std::mem::take(&mut self.warm),
        };
        let task = tokio::task::spawn_blocking(move || call(&mut reading).map(|answer| (answer, reading)));
        let (answer, reading) = task.await.map_err(|error| SourceError::Permanent {
            what: format!(
                "reading stopped: {}",
                if error.is_panic() { "a fault in this program" } else { "shutting down" }
            ),
            hint: "start again; if it stops at the same file, move that file out and report it".into(),
        })??;
        self.place = reading.place;
        self.place.ledger.merge();
        self.warm = reading.warm;
        Ok(answer)
    }
}

/// Whether files can be read with these options at all.
fn check(options: &FilesOptions) -> Result<(), SourceError> {
    match &options.format {
        FileFormat::Csv(csv) => {
            csv.check()?;
            csv::check_types(&options.columns)?;
        }
        FileFormat::JsonLines => json::check_types(&options.columns)?,
        FileFormat::Parquet => {}
    }
    if options.columns.fields().is_empty() {
        return Err(SourceError::Mismatch {
            what: "the source's schema has no columns".into(),
            hint: "name at least one column, or leave the schema out to have it inferred".into(),
        });
    }
    Ok(())
}

/// Tells the blocking thread that nobody waits for it any more.
struct CancelOnDrop(Cancelled);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[async_trait::async_trait]
impl Source for FilesSource {
    fn schema(&self) -> SchemaRef {
        self.setup.options.columns.clone()
    }

    async fn resume(&mut self, from: &Cursor, state: BTreeMap<String, String>) -> Result<Resumed, SourceError> {
        let place = Place::at(from.clone(), Ledger::from_state(&state)?);
        self.warm = Warm::default();
        self.run(place, Reading::reopen).await
    }

    async fn observe(&mut self, object: &str) -> Result<arrow::datatypes::Schema, SourceError> {
        let path = object.to_owned();
        self.run(self.place.clone(), move |reading| reading.observe(&path)).await
    }

    async fn poll(&mut self, limits: PageLimits) -> Result<Poll, SourceError> {
        self.run(self.place.clone(), move |reading| reading.poll(limits)).await
    }
}
