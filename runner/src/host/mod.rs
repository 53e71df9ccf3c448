//! The WASM host: engine, limits, the columnar boundary, stages.
//!
//! ```text
//! bytes → Host::load → Component ─┐
//!                                 ├→ Host::plan → PlannedStage → process(rows) → StageOutput | StageFault
//! config, schema, dictionaries ───┘
//! ```
//!
//! Invariants:
//! - A component imports nothing, or what [`wasi`] answers from the batch alone, so its output depends only on its input
//!   ([`component`]).
//! - Every call runs in an instance of its own, which no other call ever sees ([`call`]).
//! - Nothing that a guest returns reaches Arrow unchecked ([`decode`], [`plan`], [`stage`]).
//! - A guest can cost its call, never the process: time, memory and output are capped ([`limits`], [`call`]).
//! - One bad row costs that row: the batch is bisected until the rows at fault stand alone ([`isolate`]).

mod bindings;
mod budget;
mod cache;
mod call;
mod component;
mod decode;
mod encode;
mod engine;
mod fault;
mod forward;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod isolate;
mod limits;
mod lookup;
#[doc(hidden)]
pub mod measure;
mod plan;
mod setup;
mod stage;
mod types;
mod wasi;

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod wasi_tests;

pub use cache::component_of_compiled;
pub use component::{Component, Host};
pub use fault::{ComponentError, DictionaryError, Fault, HostError, Isolation, IsolationEnd, PlanError, StageFault};
pub use limits::HostLimits;
pub use lookup::{Dictionaries, Dictionary};
pub use plan::PlannedOutput;
pub use stage::{PlannedStage, Reject, RejectKind, Selection, StageOutput, StageRows};
pub use wasi::{Moment, is_virtual};

use std::fmt;

/// What a transform is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Source columns to change records. Exactly one output.
    Normalize,
    /// Change records of one schema to the next. Exactly one output.
    Migrate,
    /// Change records to rows of the target. One output for each target table.
    Map,
}

impl Stage {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normalize => "normalize",
            Self::Migrate => "migrate",
            Self::Map => "map",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
