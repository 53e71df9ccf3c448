//! From a pipeline to an immutable task version.
//!
//! [`resolve()`] finds the bytes that the pipeline names and pins them; [`check()`] plans both stages against the schemas and
//! blames what does not fit at its place in the file, without writing anything; [`publish()`] freezes the schemas,
//! stores components and dictionaries and records the version.

mod check;
pub mod dictionary;
mod loader;
mod resolve;

pub use check::{Checked, check};
pub use loader::{Identities, MapperLoader};
pub use resolve::{ComponentFolders, Known, Resolved, resolve};

use crate::config::{At, Diagnoses, Pipeline};
use crate::drive::normalize::Normalizer;
use crate::host::HostError;
use crate::source::SourceError;
use crate::store::state::FrozenSource;
use crate::store::{ContentStore, StateStore, StoreError};
use arrow::datatypes::SchemaRef;
use gristmill_core::id::{SchemaId, TaskId, TaskVersion};
use gristmill_core::pins::Pins;
use gristmill_core::schema::Schema;

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
    pub normalizer: Normalizer,
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

/// Freezes, stores and records a checked pipeline. Publishing what is already in force gives the same version.
pub async fn publish(
    pipeline: &Pipeline,
    checked: Checked,
    state: &StateStore,
    content: &ContentStore,
) -> Result<Published, PublishError> {
    let Checked { resolved, source_schema, source_inferred, schema, normalizer, .. } = checked;
    for (kind, bytes) in resolved.contents.into_values() {
        content.put(kind, bytes).await?;
    }
    for pin in [&resolved.pins.normalize, &resolved.pins.map].into_iter().flatten() {
        state.label(&pin.label, pin.component).await?;
    }
    // Another process may have frozen the same id since the check.
    let source = FrozenSource { schema: source_schema, inferred: source_inferred };
    let frozen = state.freeze_source(&pipeline.task, &pipeline.schema, &source).await?;
    check::same_schema(
        pipeline,
        At::SourceColumns,
        &pipeline.schema,
        "the source's columns",
        &frozen.schema,
        &source.schema,
    )?;
    let frozen = state.freeze_schema(&pipeline.schema, &schema).await?;
    check::same_schema(pipeline, At::Schema, &pipeline.schema, "the change records", &frozen, &schema)?;

    let definition = pipeline.canonical_json();
    let version = state.publish(&pipeline.task, &pipeline.schema, &definition, &resolved.pins).await?;
    Ok(Published {
        task_id: pipeline.task.clone(),
        version,
        schema_id: pipeline.schema.clone(),
        source_schema: crate::schema::to_arrow(&source.schema),
        schema,
        pins: resolved.pins,
        normalizer,
    })
}
