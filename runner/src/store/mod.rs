//! Durable state.
//!
//! * [`batches`]: immutable batches; the only maker of a [`ReadyBatch`].
//! * [`commit`]: the permit that lets a checkpoint advance.
//! * [`content`]: components and dictionaries, by digest.
//! * `raw`: pages before normalize, for tasks that keep them.
//! * [`state`]: the metadata store: life cycles, leases, receipts, checkpoints, dead letters.

pub mod batches;
pub mod commit;
pub mod content;
mod error;
mod objects;
mod raw;
pub mod state;

pub use batches::{BatchStore, ReadyBatch};
pub use commit::CommitPermit;
pub use content::ContentStore;
pub use error::StoreError;
pub use objects::{Listed, Objects};
pub use raw::RawRows;
pub use state::StateStore;

use gristmill_core::id::Micros;

/// The wall clock. Everything below the command line takes times from here and hands them to the core as facts.
pub fn now() -> Micros {
    Micros(chrono::Utc::now().timestamp_micros())
}

/// A time for messages.
pub fn shown_time(at: Micros) -> String {
    chrono::DateTime::from_timestamp_micros(at.0)
        .map_or_else(|| at.0.to_string(), |t| t.format("%Y-%m-%d %H:%M:%S UTC").to_string())
}
