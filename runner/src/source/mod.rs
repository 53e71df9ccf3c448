//! Sources: connectors that read, owned by the runner.
//!
//! To add one: implement [`Source`] in a module of its own, give it a key in `config::pipeline::SourceConfig`, and add
//! run `conformance.rs` on it.

#[cfg(test)]
pub(crate) mod conformance;
pub mod files;

use crate::record::Page;
use arrow::datatypes::SchemaRef;
use gristmill_core::cursor::Cursor;
use gristmill_core::dead_letter::RecordPosition;
use std::collections::BTreeMap;
use std::time::Duration;

/// How much one page may hold. A page closes at the first limit that it reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    pub max_rows: usize,
    /// Size of the values in memory. A page holds at least one record, however large.
    pub max_bytes: usize,
    /// How long a page may stay open while the source has no more to give.
    pub max_age: Duration,
}

/// What a read found.
#[derive(Debug)]
pub enum Poll {
    Page(Box<Page>),
    /// More is on its way (a file still being written): ask again no sooner than this. `run --once` waits for it.
    Settling(Duration),
    /// Nothing new. `run --once` ends here.
    Idle,
}

/// What the source thinks of the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resumed {
    /// The position is still there.
    Valid,
    /// The object at the position is a newer version of itself: it is read again from its start, as an update.
    Superseded { object: String },
}

/// Why a source could not go on. No variant carries row content.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Worth trying again: a network time-out, a throttle.
    #[error("{doing}: {source}")]
    Transient { doing: String, source: Box<dyn std::error::Error + Send + Sync> },
    /// Reading again will not help; `hint` says what a person can do.
    #[error("{what}")]
    Permanent { what: String, hint: String },
    /// The checkpoint's position is no longer in the source.
    #[error("{what}")]
    PositionLost { what: String, hint: String },
    /// The source does not match the pipeline's configuration.
    #[error("{what}")]
    Mismatch { what: String, hint: String },
    /// An object has other columns than the source reads. Nothing of it was read; what comes before it was.
    #[error("{} has other columns than the task reads", .0.object)]
    Changed(Box<Changed>),
}

/// Columns that have changed.
#[derive(Debug)]
pub struct Changed {
    /// Where they were met.
    pub object: String,
    /// The source's columns by that object.
    pub observed: arrow::datatypes::Schema,
}

/// Reads one partition of something, page by page, from a cursor.
///
/// # Rules
/// 1. `poll` MUST be repeatable: from the same cursor and an unchanged source, the same records in the same order, though
///    page boundaries may differ.
/// 2. A page's `cursor_from` MUST equal the `cursor_to` of the page before (or the cursor of `resume`), and polling
///    from `cursor_to` MUST give exactly the records after the page: none twice, none left out.
/// 3. A record that cannot be accepted MUST become a dead letter of its page, with its position and never its content.
/// 4. `poll` MUST NOT change the source, and MUST NOT make anything durable: pages may be thrown away.
/// 5. Every row of a page MUST have a position version that orders it among all versions of the same record.
/// 6. A page MUST keep to the limits, except that one record alone may exceed `max_bytes`.
/// 7. An object that cannot be read to its end MUST fail before any of its records is in a page.
/// 8. `poll` MUST be cancel-safe: when its future is dropped, the next `poll` gives what it would have given.
#[async_trait::async_trait]
pub trait Source: Send {
    /// The columns of every page. Frozen for the life of the task version.
    fn schema(&self) -> SchemaRef;

    /// Checks `from` against the source and goes there. `state` is the logical state written with that cursor.
    async fn resume(&mut self, from: &Cursor, state: BTreeMap<String, String>) -> Result<Resumed, SourceError>;

    /// What an object shows by itself: for a person who asks why none of its records could be read.
    async fn observe(&mut self, object: &str) -> Result<arrow::datatypes::Schema, SourceError>;

    /// Reads the next page.
    async fn poll(&mut self, limits: PageLimits) -> Result<Poll, SourceError>;
}

/// What became of records that were asked for by their positions.
#[derive(Debug)]
pub struct Reread {
    /// How many of the positions are answered, from the first on; at least one.
    pub answered: usize,
    /// The records that were read, in the order of the positions, with those as their origins. Its dead letters are records
    /// that the source refuses again. It stands nowhere: its cursors mean nothing.
    pub page: Page,
    /// Which of the positions have no record any more, and why.
    pub gone: Vec<(usize, String)>,
}

/// Reads single records again that a source has given before, or refused.
///
/// # Rules
/// 1. A record MUST be the very one that was at its position: of the same version of its object. What can no longer be read
///    is `gone`, with the reason.
/// 2. A record MUST keep its origin, so that it stands where it stood in the order of reading.
/// 3. A record that is refused again MUST become a dead letter at its position, never with its content.
/// 4. A page MUST keep to the limits as those of a source do.
#[async_trait::async_trait]
pub trait Rereader: Send {
    /// Reads the records at the first of the positions, as many as fit. Positions in one object come together, ascending.
    async fn reread(&mut self, positions: &[RecordPosition], limits: PageLimits) -> Result<Reread, SourceError>;
}
