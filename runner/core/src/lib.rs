//! The decisions of Gristmill, as pure functions over facts.
//!
//! Nothing here does I/O, reads a clock, draws a random number or knows a runtime (`clippy.toml` enforces it): the
//! runner gathers facts, asks the core, and carries out the answer.

pub mod checkpoint;
pub mod commit;
pub mod cursor;
pub mod dead_letter;
pub mod digest;
pub mod garbage;
pub mod id;
pub mod lease;
pub mod manifest;
pub mod migrate;
pub mod pins;
pub mod record;
pub mod recover;
pub mod schema;
pub mod schema_change;
pub mod version;
