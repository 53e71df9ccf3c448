//! From a pipeline to an immutable task version.
//!
//! [`resolve()`] finds the bytes that the pipeline names and pins them; [`check()`] plans both stages against the schemas and
//! blames what does not fit at its place in the file, without writing anything; [`publish()`] freezes the schemas,
//! stores components and dictionaries and records the version. [`Loader`] goes the other way: from a version to the code
//! that it pins.

mod adopt;
mod check;
mod deploy;
pub mod dictionary;
mod difference;
mod find;
mod loader;
mod migration;
mod place;
mod resolve;
mod rollback;
mod targets;

pub use adopt::adopt;
pub use check::{Checked, History, check};
pub use deploy::{Candidate, Judgement, PlannedFor, Uses, deploy, judge_candidate};
pub use difference::{Difference, Subject, differences, shown_pin};
pub use find::find_component;
pub(crate) use loader::Keys;
pub use loader::{Loader, Unfit};
pub use migration::{MigrationPlan, NextPipeline, plan_migration};
pub use place::{Place, PlaceChoice};
pub use resolve::{ComponentFolders, Known, Resolved, resolve};
pub use rollback::{Aspect, Found, Judged, can_roll_back, held_by, roll_back};
pub use targets::Targets;

use crate::config::{At, Diagnoses, Pipeline, SchemaChanges, SourceConfig};
use crate::drive::normalize::Normalizer;
use crate::host::HostError;
use crate::source::{PageLimits, SourceError};
use crate::store::state::{Adopted, FrozenSource, NewVersion};
use crate::store::{ContentStore, StateStore, StoreError};
use arrow::datatypes::SchemaRef;
use gristmill_core::dead_letter::DeadLetterLimit;
use gristmill_core::id::{SchemaId, TaskId, TaskVersion};
use gristmill_core::pins::Pins;
use gristmill_core::schema::Schema;
use std::path::Path;

/// A task version in force: what the extracting half runs.
#[derive(Debug)]
pub struct Published {
    pub task_id: TaskId,
    pub version: TaskVersion,
    pub schema_id: SchemaId,
    /// Of the change records.
    pub schema: Schema,
    pub source_schema: SchemaRef,
    pub pins: Pins,
    pub targets: Targets,
    pub normalizer: Normalizer,
    pub settings: Settings,
}

/// What a pipeline says about a run, apart from its code.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub source: SourceConfig,
    pub page_limits: PageLimits,
    pub dead_letters: DeadLetterLimit,
    pub schema_changes: SchemaChanges,
    pub keep_raw: bool,
}

impl Settings {
    pub fn of(pipeline: &Pipeline) -> Self {
        let batch = pipeline.batch;
        Self {
            source: pipeline.source.clone(),
            page_limits: PageLimits { max_rows: batch.max_rows, max_bytes: batch.max_bytes, max_age: batch.max_age },
            dead_letters: pipeline.dead_letters,
            schema_changes: pipeline.schema_changes,
            keep_raw: pipeline.keep_raw,
        }
    }
}

/// Why a pipeline could not be checked or published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Mistakes in the pipeline file or in what it names. Nothing was written.
    #[error(transparent)]
    Pipeline(#[from] Diagnoses),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Host(#[from] HostError),
}

/// What to do where the pipeline is an older version of its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Leave the latest in force: a start again must not undo a later publication or a rollback.
    Run,
    /// Put it in force, as a new version.
    Publish,
}

/// Freezes, stores and records a checked pipeline. Publishing what is already in force gives the same version.
pub async fn publish(
    pipeline: &Pipeline,
    checked: Checked,
    state: &StateStore,
    content: &ContentStore,
    intent: Intent,
    origin: &str,
) -> Result<TaskVersion, PublishError> {
    let (base, adopted) = (checked.base, checked.adopted.clone());
    let pins = &checked.resolved.pins;
    let definition = pipeline.canonical_json();
    let base_dir = loader::absolute(&pipeline.base_dir);
    let adopted = adopted.as_ref();
    let new = snapshot(pipeline, pins, &definition, &base_dir, adopted, origin);
    if intent == Intent::Run
        && let Standing::Older { is, in_force } = standing_of(state, &new).await?
    {
        tracing::warn!(
            "the pipeline file is version {is} of task {}; version {in_force} is in force and stays so: put the file in force with `gristmill publish`",
            pipeline.task
        );
        return Ok(in_force);
    }
    store(pipeline, &checked, state, content).await?;
    let version = state.publish(&new, base).await?;
    // Until now nothing may have named them: what was there already may have been removed in between.
    for (kind, bytes) in checked.resolved.contents.values() {
        content.put(*kind, bytes.clone()).await?;
    }
    Ok(version)
}

fn snapshot<'a>(
    pipeline: &'a Pipeline,
    pins: &'a Pins,
    definition: &'a str,
    base_dir: &'a Path,
    adopted: Option<&'a Adopted>,
    origin: &'a str,
) -> NewVersion<'a> {
    NewVersion {
        task_id: &pipeline.task,
        schema_id: &pipeline.schema,
        definition,
        pins,
        pipeline: &pipeline.text,
        base_dir,
        adopted,
        origin,
    }
}

/// What a pipeline is among the versions of its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// None of them.
    New { in_force: Option<TaskVersion> },
    /// The latest one.
    InForce(TaskVersion),
    /// One that another has followed.
    Older { is: TaskVersion, in_force: TaskVersion },
}

/// Finds a checked pipeline among the versions of its task.
pub async fn standing(pipeline: &Pipeline, checked: &Checked, state: &StateStore) -> Result<Standing, StoreError> {
    let (definition, base_dir) = (pipeline.canonical_json(), loader::absolute(&pipeline.base_dir));
    standing_of(state, &snapshot(pipeline, &checked.resolved.pins, &definition, &base_dir, None, "")).await
}

async fn standing_of(state: &StateStore, new: &NewVersion<'_>) -> Result<Standing, StoreError> {
    let in_force = state.latest_version(new.task_id).await?;
    Ok(match (state.same_version(new).await?, in_force) {
        (Some(is), Some(in_force)) if is < in_force => Standing::Older { is, in_force },
        (Some(is), _) => Standing::InForce(is),
        (None, in_force) => Standing::New { in_force },
    })
}

/// Puts all that a version names where it is found, without making it a version: components and dictionaries by digest, labels,
/// frozen schemas. Returns the pins.
pub async fn store(
    pipeline: &Pipeline,
    checked: &Checked,
    state: &StateStore,
    content: &ContentStore,
) -> Result<Pins, PublishError> {
    let Checked { resolved, source_schema, source_inferred, schema, .. } = checked;
    for (kind, bytes) in resolved.contents.values() {
        content.put(*kind, bytes.clone()).await?;
    }
    for (_, pin) in resolved.pins.components() {
        state.label(&pin.label, pin.component).await?;
    }
    // Another process may have frozen the same id since the check.
    let source = FrozenSource { schema: source_schema.clone(), inferred: *source_inferred };
    let frozen = state.freeze_source(&pipeline.task, &pipeline.schema, &source).await?;
    check::same_schema(
        pipeline,
        At::SourceColumns,
        &pipeline.schema,
        "the source's columns",
        &frozen.schema,
        &source.schema,
    )?;
    let frozen = state.freeze_schema(&pipeline.schema, schema, &pipeline.rules()).await?;
    check::same_records(pipeline, &frozen, schema)?;
    Ok(resolved.pins.clone())
}
