//! Between the halves: map a READY batch with the code that it is pinned to, while the sink writes the one before it.

use super::RunError;
use super::mapping::{MapError, Mapped, Mapper};
use crate::publish::{Loader, Targets};
use crate::store::{ReadyBatch, StateStore, StoreError};
use gristmill_core::id::{Epoch, SchemaId, TaskId, TaskVersion};
use gristmill_core::manifest::Manifest;
use gristmill_core::pins::Pins;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A batch and its rows for the sink.
pub(super) struct MappedReady {
    pub batch: ReadyBatch,
    pub mapper: Arc<Mapper>,
    pub mapped: Mapped,
}

pub(super) struct Mapping {
    pub mappers: MapperCache,
}

impl Mapping {
    pub async fn map(&mut self, batch: ReadyBatch) -> Result<MappedReady, RunError> {
        let manifest = batch.manifest();
        let batch_id = manifest.batch_id;
        let mapper = self.mappers.for_manifest(manifest).await?;
        let mapped = tokio::task::block_in_place(|| mapper.run(batch.records())).map_err(|e| match e {
            MapError::Stage(fault) => RunError::Map { fault, batch: batch_id },
            MapError::Broken(e) => RunError::Panicked(e.to_string()),
        })?;
        for message in &mapped.messages {
            tracing::info!(stage = "map", batch = %batch_id, message);
        }
        Ok(MappedReady { batch, mapper, mapped })
    }

    /// Goes on until no batch is left or nobody takes them. After an error the batches before it are still delivered.
    pub async fn run(
        &mut self,
        mut ready: mpsc::Receiver<ReadyBatch>,
        mapped: mpsc::Sender<MappedReady>,
    ) -> Result<(), RunError> {
        // A place in the channel first: it bounds how many batches are in memory.
        while let Ok(place) = mapped.reserve().await {
            let Some(batch) = ready.recv().await else { break };
            place.send(self.map(batch).await?);
        }
        Ok(())
    }
}

/// Which tables mapped rows go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// Those of the version that a batch belongs to.
    InUse,
    /// Beside them, for a rebuild under this epoch.
    Beside(Epoch),
    /// None: the rows are only looked at.
    Nowhere,
}

/// Mappers by what they are pinned to. A stored batch may be pinned to older code than the task now runs.
#[derive(Clone)]
pub struct MapperCache {
    loader: Loader,
    task: TaskId,
    destination: Destination,
    loaded: Vec<(SchemaId, TaskVersion, Pins, Arc<Mapper>)>,
}

impl MapperCache {
    pub fn new(loader: Loader, task: TaskId, destination: Destination) -> Self {
        Self { loader, task, destination, loaded: Vec::new() }
    }

    pub(super) fn state(&self) -> &StateStore {
        &self.loader.state
    }

    /// The mapper that a manifest is pinned to.
    pub async fn for_manifest(&mut self, manifest: &Manifest) -> Result<Arc<Mapper>, RunError> {
        self.get(&manifest.schema_id, manifest.task_version, &manifest.pins).await
    }

    /// The mapper of some pins, with the tables of a version.
    pub async fn get(
        &mut self,
        schema_id: &SchemaId,
        version: TaskVersion,
        pins: &Pins,
    ) -> Result<Arc<Mapper>, RunError> {
        let same =
            |(s, v, p, _): &&(SchemaId, TaskVersion, Pins, Arc<Mapper>)| s == schema_id && *v == version && p == pins;
        if let Some((.., mapper)) = self.loaded.iter().find(same) {
            return Ok(mapper.clone());
        }
        let targets = match self.destination {
            // Tables choose where rows go, not what they are: digests do not depend on them.
            Destination::Nowhere => Targets::none(&self.task),
            Destination::InUse => self.loader.targets(&self.task, version).await?,
            Destination::Beside(epoch) => self.loader.targets(&self.task, version).await?.beside(epoch),
        };
        let mapper = Arc::new(self.loader.mapper(schema_id, pins, &targets).await?);
        self.loaded.push((schema_id.clone(), version, pins.clone(), mapper.clone()));
        Ok(mapper)
    }

    /// Refuses pins whose code or dictionaries are not all there, naming each: before the first batch, not at the one that
    /// needs it.
    pub async fn check_complete<'a>(&self, pins: impl IntoIterator<Item = &'a Pins>) -> Result<(), RunError> {
        let mut lacking: Vec<String> = Vec::new();
        for pins in pins {
            lacking.extend(self.loader.lacking(pins).await?);
        }
        lacking.sort();
        lacking.dedup();
        match lacking.is_empty() {
            true => Ok(()),
            false => Err(StoreError::Missing {
                what: format!("some of what batches are pinned to: {}", lacking.join("; ")),
                hint: "restore it from a backup of the store".into(),
            }
            .into()),
        }
    }
}
