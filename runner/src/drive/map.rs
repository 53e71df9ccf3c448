//! Between the halves: map a READY batch with the code that it is pinned to, while the sink writes the one before it.

use super::RunError;
use super::mapping::{MapError, Mapped, Mapper};
use crate::publish::MapperLoader;
use crate::store::ReadyBatch;
use gristmill_core::id::SchemaId;
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
        mut self,
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

/// Mappers by what they are pinned to. A stored batch may be pinned to older code than the task now runs.
pub struct MapperCache {
    loader: MapperLoader,
    loaded: Vec<(SchemaId, Pins, Arc<Mapper>)>,
}

impl MapperCache {
    pub fn new(loader: MapperLoader) -> Self {
        Self { loader, loaded: Vec::new() }
    }

    /// The mapper that a manifest is pinned to.
    pub async fn for_manifest(&mut self, manifest: &Manifest) -> Result<Arc<Mapper>, RunError> {
        self.get(&manifest.schema_id, &manifest.pins).await
    }

    pub(super) async fn get(&mut self, schema_id: &SchemaId, pins: &Pins) -> Result<Arc<Mapper>, RunError> {
        if let Some((.., mapper)) = self.loaded.iter().find(|(s, p, _)| s == schema_id && p == pins) {
            return Ok(mapper.clone());
        }
        let mapper = Arc::new(self.loader.load(schema_id, pins).await?);
        self.loaded.push((schema_id.clone(), pins.clone(), mapper.clone()));
        Ok(mapper)
    }
}
