//! What can go wrong, as distinct values: the runner, the component, the plan, the call.

use super::Stage;
use gristmill_core::digest::Digest;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The host could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("the WASM engine cannot start: {message}")]
    Engine { message: String },
    #[error("the cache of compiled components at {path}: {source}; it must be a directory that this user owns")]
    Cache { path: PathBuf, source: std::io::Error },
    #[error("{what}")]
    Limits { what: String },
}

/// A component that this host does not run. Nothing of it was run or stored.
#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    #[error("the component has {bytes} bytes, more than {max_bytes}")]
    TooLarge { bytes: usize, max_bytes: usize },
    #[error("not a WASM component: {what}")]
    NotAComponent { what: &'static str },
    #[error(
        "the component imports {}; a transform imports nothing, or WASI 0.2 without http, so that its output depends \
         only on its input. Build it without those imports", names.join(", ")
    )]
    Imports { names: Vec<String> },
    #[error(
        "the component does not export {wanted}; it exports {}",
        if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") }
    )]
    MissingExport { wanted: &'static str, exports: Vec<String> },
    #[error(
        "the component's export {wanted} does not fit the contract: {message}. Build it against this version's wit/"
    )]
    Contract { wanted: &'static str, message: String },
    #[error("the component cannot be compiled: {message}")]
    Compile { message: String },
}

/// A dictionary that cannot be joined on.
#[derive(Debug, thiserror::Error)]
pub enum DictionaryError {
    #[error("dictionary `{dictionary}` has no column `{key}`; it has {}", columns.join(", "))]
    MissingKey { dictionary: String, key: String, columns: Vec<String> },
    #[error("dictionary `{dictionary}`: key column `{key}` has type {data_type}; a key is text or an integer")]
    KeyType { dictionary: String, key: String, data_type: String },
    #[error("dictionary `{dictionary}`: row {row} has no key in column `{key}`")]
    NullKey { dictionary: String, key: String, row: usize },
    #[error("dictionary `{dictionary}`: rows {first} and {second} have the same key in column `{key}`")]
    DuplicateKey { dictionary: String, key: String, first: usize, second: usize },
    #[error("dictionary `{dictionary}`: two columns are named `{column}`")]
    DuplicateColumn { dictionary: String, column: String },
    #[error("dictionary `{dictionary}` has {rows} rows, more than {max_rows}")]
    TooLarge { dictionary: String, rows: usize, max_rows: usize },
    #[error("two dictionaries are named `{dictionary}`")]
    DuplicateDictionary { dictionary: String },
    #[error("dictionary `{dictionary}`: column `{column}` has type {data_type}, which transforms cannot read")]
    UnsupportedType { dictionary: String, column: String, data_type: String },
}

/// A component did not give a plan that can be carried out. No row was processed.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The transform cannot serve this stage, configuration or input.
    #[error("{stage}: component {} refuses: {code}: {message}", component.short())]
    Refused { stage: Stage, component: Digest, code: String, message: String },
    #[error("{stage}: component {} broke while planning: {fault}", component.short())]
    Fault { stage: Stage, component: Digest, fault: Fault },
    #[error("{stage}: the plan of component {} cannot be carried out: {rule}", component.short())]
    Invalid { stage: Stage, component: Digest, rule: String },
    #[error("{stage}: component {} gave two different plans for the same setup; a plan must be a pure function", component.short())]
    Impure { stage: Stage, component: Digest },
    #[error("{stage}: input column `{column}` has type {data_type}, which transforms cannot read")]
    UnsupportedType { stage: Stage, column: String, data_type: String },
    #[error("{stage}: the input {what}")]
    Input { stage: Stage, what: String },
}

/// Why one call of a guest failed. Texts of guests are cut to a bounded length.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The guest stopped itself: an assertion, a bounds check, a stack overflow.
    #[error("trap: {message}{}", Backtrace(backtrace))]
    Trap {
        message: String,
        /// Names of the innermost WASM functions, innermost first.
        backtrace: Vec<String>,
    },
    /// The language's exception or panic, which its SDK caught: all that can be said of the call.
    #[error("exception: {message}")]
    Exception { message: String },
    /// The guest ended itself, as a process does.
    #[error("ended itself with status {status}{}", written.as_ref().map(|text| format!("; it wrote: {text}")).unwrap_or_default())]
    Exit {
        status: u8,
        /// The end of what it wrote to standard output and error.
        written: Option<String>,
    },
    #[error("ran longer than the deadline of {} ms", deadline.as_millis())]
    Deadline { deadline: Duration },
    #[error("asked for more than {memory_max_bytes} bytes of memory")]
    MemoryCap { memory_max_bytes: usize },
    #[error("returned more than {output_max_bytes} bytes")]
    OutputCap { output_max_bytes: usize },
    /// What the guest returned breaks the named rule of the contract.
    #[error("returned an invalid result: {rule}")]
    InvalidOutput { rule: String },
    /// The guest said that the whole call cannot be done.
    #[error("refused: {code}: {message}")]
    Refused { code: String, message: String },
    /// The runner's own failure, not the guest's.
    #[error("the runner could not make the call: {message}")]
    Runner { message: String },
}

impl Fault {
    /// A short, stable word for it.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Trap { .. } => "trap",
            Self::Exception { .. } => "exception",
            Self::Exit { .. } => "exit",
            Self::Deadline { .. } => "deadline",
            Self::MemoryCap { .. } => "memory",
            Self::OutputCap { .. } => "output",
            Self::InvalidOutput { .. } => "invalid-output",
            Self::Refused { .. } => "refused",
            Self::Runner { .. } => "runner",
        }
    }

    /// Whether a row may have caused it, so that leaving the row out helps.
    pub(super) const fn may_be_a_row(&self) -> bool {
        !matches!(self, Self::Refused { .. } | Self::Runner { .. })
    }

    pub(super) fn invalid(rule: impl Into<String>) -> Self {
        Self::InvalidOutput { rule: rule.into() }
    }
}

struct Backtrace<'a>(&'a [String]);

impl fmt::Display for Backtrace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " (in {})", self.0.join(" < ")) }
    }
}

/// A batch that a stage could not process. Nothing of it was emitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{stage}: component {} {fault}{}", component.short(), Suffix(isolation))]
pub struct StageFault {
    pub stage: Stage,
    pub component: Digest,
    /// The fault of the last call that failed.
    pub fault: Fault,
    /// How far the search for rows at fault got; none if the fault cannot be a row's.
    pub isolation: Option<Box<Isolation>>,
}

impl StageFault {
    /// Whether some of the rows may have caused it, so that smaller parts of the batch may pass.
    pub fn may_be_a_row(&self) -> bool {
        self.isolation.as_ref().is_some_and(|isolation| isolation.end != IsolationEnd::OtherFault)
    }
}

/// How far the search for the rows at fault got before it was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Isolation {
    /// Rows of the batch.
    pub rows: u32,
    /// Rows that passed in some part of the batch.
    pub passed: u32,
    /// Rows that failed alone, ascending.
    pub poison: Vec<u32>,
    pub end: IsolationEnd,
}

/// Why the search for the rows at fault was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationEnd {
    /// No row passed: it is the guest, not a row.
    NoRowPassed,
    /// More rows failed than a healthy guest would fail on.
    TooManyRows,
    OutOfTime,
    /// The parts that passed return together more than a batch may.
    TooMuchOutput,
    /// A part of the batch failed in a way that is no row's.
    OtherFault,
}

struct Suffix<'a>(&'a Option<Box<Isolation>>);

impl fmt::Display for Suffix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(isolation) = self.0 else { return Ok(()) };
        let Isolation { rows, passed, poison, end } = &**isolation;
        let why = match end {
            IsolationEnd::NoRowPassed => "no row passes, so the component is at fault",
            IsolationEnd::TooManyRows => "too many rows fail alone",
            IsolationEnd::OutOfTime => "the time for isolating rows is used up",
            IsolationEnd::TooMuchOutput => "the parts of the batch return too much together",
            IsolationEnd::OtherFault => "the search for rows at fault was stopped by it",
        };
        write!(
            f,
            "; {why} ({passed} of {rows} rows passed, {} failed alone). Nothing of the batch was emitted",
            poison.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_fault_says_stage_component_class_and_progress() {
        let fault = StageFault {
            stage: Stage::Map,
            component: Digest::of(b"c"),
            fault: Fault::Trap { message: "unreachable".into(), backtrace: vec!["inner".into(), "outer".into()] },
            isolation: Some(Box::new(Isolation {
                rows: 9,
                passed: 4,
                poison: vec![1, 2],
                end: IsolationEnd::OutOfTime,
            })),
        };
        let text = fault.to_string();
        assert!(text.starts_with("map: component "), "{text}");
        assert!(text.contains("trap: unreachable (in inner < outer)"), "{text}");
        assert!(text.contains("4 of 9 rows passed, 2 failed alone"), "{text}");
    }
}
