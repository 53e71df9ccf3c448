//! Durable state.
//!
//! * [`batches`]: immutable batches; the only maker of a [`ReadyBatch`].
//! * [`commit`]: the permit that lets a checkpoint advance.
//! * [`content`]: components and dictionaries, by digest.
//! * [`state`]: the metadata store: life cycles, leases, receipts, checkpoints, dead letters.

pub mod batches;
pub mod commit;
pub mod content;
mod error;
mod objects;
pub mod state;

pub use batches::{BatchStore, ReadyBatch};
pub use commit::CommitPermit;
pub use content::ContentStore;
pub use error::StoreError;
pub use objects::Objects;
pub use state::StateStore;

use gristmill_core::id::Micros;

/// The wall clock. Everything below the command line takes times from here and hands them to the core as facts.
pub fn now() -> Micros {
    Micros(chrono::Utc::now().timestamp_micros())
}
