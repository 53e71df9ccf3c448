//! Gristmill: a transformation pipeline runner whose transforms are versioned WASM components.
//!
//! The data flows one way: [`source`] → [`host`] (normalize) → [`store`] (batch) → [`host`] (migrate, map) → [`sink`] →
//! [`store`] (receipt, checkpoint). [`drive`] holds that flow, top to bottom; decisions are in `gristmill_core`.

pub mod cases;
pub mod cli;
pub mod config;
pub mod connect;
pub mod content;
pub mod drive;
pub mod faults;
pub mod gc;
pub mod host;
pub mod publish;
pub mod record;
pub mod schema;
pub mod sink;
pub mod source;
pub mod store;
pub mod toolchain;
