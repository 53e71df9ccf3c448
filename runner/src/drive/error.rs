//! Why a run ended early, what became of the data, and what to do.

use crate::host::StageFault;
use crate::sink::SinkError;
use crate::source::SourceError;
use crate::store::StoreError;
use gristmill_core::commit::OutOfOrder;
use gristmill_core::dead_letter::DeadLetter;
use gristmill_core::id::{BatchId, Micros};
use gristmill_core::recover::Inconsistent;

/// The operator's question: whose move is it?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Trying again later may help; tries were made.
    Transient,
    /// The pipeline does not fit its surroundings. Nothing was written.
    Configuration,
    /// A person has to look: data, a component, the disk.
    Person,
    /// Another process works this partition.
    Fenced,
    /// Gristmill itself is wrong.
    Bug,
}

/// Why a run stopped. The text says what failed; [`RunError::fate`] what became of the data; [`RunError::hint`] what to do.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("{what}")]
    Configuration { what: String, hint: String },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("source: {0}")]
    Source(#[from] SourceError),
    #[error("sink: {error}")]
    Sink { error: SinkError, batch: Option<BatchId> },
    #[error("{fault}")]
    Normalize { fault: StageFault },
    #[error("{fault}")]
    Map { fault: StageFault, batch: BatchId },
    /// A replay of dead letters met a component that breaks on no row in particular.
    #[error("{fault}")]
    Replay { fault: StageFault },
    #[error("{reason}")]
    TooManyDeadLetters {
        reason: String,
        /// The first few, for the operator to start from.
        examples: Vec<DeadLetter>,
        /// Where they arose: none, before a batch was made of the page.
        batch: Option<BatchId>,
        /// They are recorded, and the batch is committed without them.
        recorded: bool,
    },
    /// Recorded as a schema change.
    #[error("{object} has other columns than the task reads: {}", changes.join("; "))]
    SchemaChanged { object: String, changes: Vec<String>, id: i64 },
    /// The task waits for a person to deal with a schema change.
    #[error("schema change {id} is {state}: {what}")]
    SchemaOpen { id: i64, state: gristmill_core::schema_change::State, what: String, hint: String },
    #[error("partition is worked by {by} until {}", crate::store::shown_time(*until))]
    LeaseHeld { by: String, until: Micros },
    #[error("the target holds batch {batch} of this task, which this state does not know")]
    TargetAhead { batch: BatchId },
    #[error("the target lacks batch {batch}, which this state has committed")]
    TargetBehind { batch: BatchId },
    #[error("the state contradicts itself: {0}")]
    Inconsistent(#[from] Inconsistent),
    #[error("refused to advance the checkpoint: {0}")]
    OutOfOrder(#[from] OutOfOrder),
    #[error("a worker ended unexpectedly: {0}")]
    Panicked(String),
}

impl RunError {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Configuration { .. } => Kind::Configuration,
            Self::Store(e) => match e {
                StoreError::Fenced { .. } => Kind::Fenced,
                StoreError::NoSpace { .. } | StoreError::Damaged { .. } | StoreError::Missing { .. } => Kind::Person,
                StoreError::Refused { .. } | StoreError::Overtaken { .. } => Kind::Person,
                StoreError::Io { .. } => Kind::Transient,
            },
            Self::Source(e) => match e {
                SourceError::Transient { .. } => Kind::Transient,
                SourceError::Permanent { .. }
                | SourceError::PositionLost { .. }
                | SourceError::Mismatch { .. }
                | SourceError::Changed(_) => Kind::Person,
            },
            Self::Sink { error, .. } => match error {
                SinkError::Transient { .. } => Kind::Transient,
                SinkError::Fenced { .. } => Kind::Fenced,
                SinkError::NoSpace { .. } | SinkError::Mismatch { .. } | SinkError::Permanent { .. } => Kind::Person,
            },
            Self::Normalize { .. }
            | Self::Map { .. }
            | Self::Replay { .. }
            | Self::TooManyDeadLetters { .. }
            | Self::SchemaChanged { .. }
            | Self::SchemaOpen { .. }
            | Self::TargetAhead { .. }
            | Self::TargetBehind { .. } => Kind::Person,
            Self::LeaseHeld { .. } => Kind::Fenced,
            Self::Inconsistent(_) | Self::OutOfOrder(_) | Self::Panicked(_) => Kind::Bug,
        }
    }

    /// What became of the data.
    pub fn fate(&self) -> String {
        const NOT_READ: &str = "nothing of the page in hand was stored; the next run reads it again";
        let stays_ready =
            |batch: &BatchId| format!("batch {batch} stays READY in the store; the next run delivers it from there");
        match self {
            Self::Configuration { .. } => "nothing was written".into(),
            Self::Normalize { .. } | Self::Source(_) => NOT_READ.into(),
            Self::Replay { .. } => "nothing of these letters was written; they stay open".into(),
            Self::TooManyDeadLetters { batch: None, .. } => NOT_READ.into(),
            Self::TooManyDeadLetters { batch: Some(batch), recorded: true, .. } => {
                format!("batch {batch} is committed without them, and they are recorded")
            }
            Self::TooManyDeadLetters { batch: Some(batch), .. }
            | Self::Map { batch, .. }
            | Self::Sink { batch: Some(batch), .. } => stays_ready(batch),
            Self::SchemaChanged { .. } => "everything before it is read and committed; of it, nothing is".into(),
            Self::SchemaOpen { .. } => "what was committed stays; what is READY waits in the store".into(),
            Self::LeaseHeld { .. }
            | Self::Sink { batch: None, .. }
            | Self::TargetAhead { .. }
            | Self::TargetBehind { .. } => "nothing was read or written".into(),
            Self::Store(_) | Self::Inconsistent(_) | Self::OutOfOrder(_) | Self::Panicked(_) => {
                "committed batches are safe; what is READY is delivered by the next run".into()
            }
        }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Configuration { hint, .. } => hint.clone(),
            Self::Store(e) => match e {
                StoreError::Damaged { hint, .. }
                | StoreError::Missing { hint, .. }
                | StoreError::Refused { hint, .. }
                | StoreError::Overtaken { hint, .. } => hint.clone(),
                StoreError::NoSpace { .. } => "make room, then run again: it goes on from the last checkpoint".into(),
                StoreError::Fenced { .. } => FENCED.into(),
                StoreError::Io { .. } => "check the state and storage folders, then run again".into(),
            },
            Self::Source(e) => match e {
                SourceError::Transient { .. } => "check that the source can be reached, then run again".into(),
                SourceError::Changed(_) => "see `gristmill schema list`".into(),
                SourceError::Permanent { hint, .. }
                | SourceError::PositionLost { hint, .. }
                | SourceError::Mismatch { hint, .. } => hint.clone(),
            },
            Self::Sink { error, .. } => match error {
                SinkError::Transient { .. } => "check that the target can be reached, then run again".into(),
                SinkError::NoSpace { .. } => "make room for the target, then run again".into(),
                SinkError::Fenced { .. } => FENCED.into(),
                SinkError::Mismatch { hint, .. } | SinkError::Permanent { hint, .. } => hint.clone(),
            },
            Self::Normalize { .. } => {
                "fix the component, give it a new version, name that in the pipeline and run again".into()
            }
            Self::Replay { .. } => "fix the component, publish it as a new version, and replay with that".into(),
            Self::Map { batch, .. } => format!(
                "a batch runs the code it is pinned to: fix the component, name its new version in the pipeline, set the batch aside \
                 with `gristmill batches quarantine {batch}` and run again; its range is then read again"
            ),
            Self::TooManyDeadLetters { recorded: true, .. } => {
                "look at them with `gristmill batches show`, fix their cause, or raise dead_letters in the pipeline"
                    .into()
            }
            Self::TooManyDeadLetters { .. } => {
                "fix the source or the component, or raise dead_letters in the pipeline".into()
            }
            Self::SchemaChanged { id, .. } => format!(
                "see `gristmill schema show {id}`; then change the pipeline and plan it with `gristmill schema plan`, or put the source right and dismiss the change with `gristmill schema dismiss {id}`"
            ),
            Self::SchemaOpen { hint, .. } => hint.clone(),
            Self::LeaseHeld { .. } => "stop the other process first; its lease ends with it (a run without --once hands over to a rebuild by itself)".into(),
            Self::TargetBehind { .. } => {
                "the target was restored from an older copy, emptied or replaced: bring it back, or fill a new target from the \
                 source with a new --state folder"
                    .into()
            }
            Self::TargetAhead { .. } => {
                "the state was restored from an older copy, or made anew: restore the newer state, or give the task a new target"
                    .into()
            }
            Self::Inconsistent(_) | Self::OutOfOrder(_) | Self::Panicked(_) => {
                "this is a bug in gristmill: please report it together with the output of `gristmill doctor --json`"
                    .into()
            }
        }
    }
}

const FENCED: &str = "another process has taken this partition over: let it work, or stop it before running again; if there is none, this \
                      state is older than its target: restore the newer state, or give the task a new target";
