//! New task versions while a run goes on.
//!
//! A run looks for a later version before each page, so that a version takes effect at a batch boundary and never inside a
//! batch. Whatever it needs is loaded and planned before the page is read.

use super::RunError;
use crate::publish::{Loader, Published};
use crate::store::{StateStore, StoreError};
use gristmill_core::id::{TaskId, TaskVersion};
use std::sync::Arc;

pub(super) struct Versions {
    pub loader: Loader,
}

/// What a later version asks of a run.
pub(super) enum Swap {
    /// The same source, read on by other code.
    Code(Arc<Published>),
    /// A source that has to be opened anew, once all that was read so far is committed.
    Source(Arc<Published>),
    /// As [`Self::Source`], for a target that is not ready: a schema change waits to be resumed.
    Held(Arc<Published>),
}

/// Whether a version waits for its target to be rebuilt.
pub async fn is_held(state: &StateStore, task: &TaskId, version: TaskVersion) -> Result<bool, StoreError> {
    let open = state.open_schema_change(task).await?;
    // Whatever became of the plan since: the version is published, and its target is not rebuilt.
    Ok(open.is_some_and(|change| change.task_version == Some(version)))
}

impl Versions {
    /// The latest version, if it is later than `current`.
    pub async fn later_than(&self, current: &Published) -> Result<Option<Swap>, RunError> {
        let task = &current.task_id;
        let Some(latest) = self.loader.state.latest_version(task).await?.filter(|latest| *latest > current.version)
        else {
            return Ok(None);
        };
        let row = self.loader.version(task, latest).await?;
        let pipeline = self.loader.pipeline(&row)?;
        let next = Arc::new(self.loader.published(&row, &pipeline).await?);
        // Not planned here for use, but so that its first batch does not wait for its code.
        self.loader.mapper(&next.schema_id, &next.pins, &next.targets).await?;
        tracing::info!(from = %current.version, to = %latest, origin = row.origin, "taking over a new version at the batch boundary");
        if is_held(&self.loader.state, task, latest).await? {
            return Ok(Some(Swap::Held(next)));
        }
        let same_source =
            next.settings.source == current.settings.source && next.source_schema == current.source_schema;
        Ok(Some(if same_source { Swap::Code(next) } else { Swap::Source(next) }))
    }
}
