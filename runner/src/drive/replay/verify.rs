//! Does the pinned code still give the same rows?

use crate::content::digest_outputs;
use crate::drive::normalize::Normalizer;
use crate::drive::{MapperCache, Progress, RunError};
use crate::publish::Loader;
use crate::record::{ChangeRecords, Page};
use crate::store::state::BatchRow;
use crate::store::{BatchStore, RawRows, ReadyBatch, StoreError};
use gristmill_core::cursor::Cursor;
use gristmill_core::digest::Digest;
use gristmill_core::id::{BatchId, SchemaId, TaskVersion};
use gristmill_core::manifest::Manifest;
use gristmill_core::pins::Pins;
use std::sync::Arc;
use tokio::sync::mpsc;

/// What a verification found.
#[derive(Debug, Default)]
pub struct Verified {
    pub equal: u64,
    pub records: u64,
    /// Batches whose pages are kept, and whose records normalize made again.
    pub normalized: u64,
    pub different: Vec<Different>,
}

/// A batch that does not come out as it did.
#[derive(Debug)]
pub struct Different {
    pub batch_id: BatchId,
    pub what: String,
}

/// Maps committed batches again with the code of their manifests and compares digests with the receipts. Where the page is
/// kept, normalize runs again too. All code must be there before the first batch is touched.
pub async fn verify(
    loader: &Loader,
    batches: &BatchStore,
    mut mappers: MapperCache,
    rows: Vec<BatchRow>,
    progress: &Progress,
) -> Result<Verified, RunError> {
    let pins = pins_of(batches, &rows).await?;
    mappers.check_complete(&pins).await?;
    let mut found = Verified::default();
    let mut normalizers = Normalizers { loader: loader.clone(), loaded: Vec::new() };
    let (opened, mut incoming) = mpsc::channel(1);
    let reader = tokio::spawn(read_ahead(batches.clone(), rows, opened));
    while let Some((row, batch)) = incoming.recv().await {
        let verdict = match batch {
            Ok(batch) => one(loader, &mut mappers, &mut normalizers, &row, batch, &mut found).await?,
            Err(e @ (StoreError::Damaged { .. } | StoreError::Missing { .. })) => Some(e.to_string()),
            Err(e) => return Err(e.into()),
        };
        match verdict {
            None => found.equal += 1,
            Some(what) => found.different.push(Different { batch_id: row.batch_id, what }),
        }
        Progress::add(&progress.batches_committed, 1);
    }
    reader.await.map_err(|e| RunError::Panicked(e.to_string()))?;
    Ok(found)
}

/// A batch read back, with its page where that is kept.
struct Opened {
    batch: ReadyBatch,
    raw: Option<RawRows>,
}

/// Opens batches while the one before is mapped.
async fn read_ahead(
    batches: BatchStore,
    rows: Vec<BatchRow>,
    opened: mpsc::Sender<(BatchRow, Result<Opened, StoreError>)>,
) {
    for row in rows {
        let open = async {
            let batch = batches.open(&row).await?;
            let raw = batches.raw(batch.manifest()).await?;
            Ok(Opened { batch, raw })
        };
        let batch = open.await;
        if opened.send((row, batch)).await.is_err() {
            return;
        }
    }
}

/// None: equal.
async fn one(
    loader: &Loader,
    mappers: &mut MapperCache,
    normalizers: &mut Normalizers,
    row: &BatchRow,
    opened: Opened,
    found: &mut Verified,
) -> Result<Option<String>, RunError> {
    let Opened { batch, raw } = opened;
    let Some(receipt) = loader.state.receipt(row.batch_id).await? else {
        return Ok(Some("it is COMMITTED and has no receipt".into()));
    };
    // A batch that shares its data with an earlier one has nothing of its own to prove here.
    if let Some(raw) = raw.filter(|_| batch.manifest().owns_data()) {
        let normalizer = normalizers.get(batch.manifest()).await?;
        let again = match tokio::task::block_in_place(|| renormalize(&normalizer, raw, batch.manifest())) {
            Ok(again) => again,
            Err(what) => return Ok(Some(what)),
        };
        if records_digest(&again) != records_digest(batch.records()) {
            return Ok(Some("normalize gives other records from the page that is kept".into()));
        }
        found.normalized += 1;
    }
    let mapper = mappers.for_manifest(batch.manifest()).await?;
    Ok(match tokio::task::block_in_place(|| mapper.digest(batch.records())) {
        Ok(digest) if digest == receipt.digest => {
            found.records += batch.manifest().record_count;
            None
        }
        Ok(digest) => Some(format!("its rows have digest {digest}, the receipt says {}", receipt.digest)),
        Err(e) => Some(e.to_string()),
    })
}

/// Normalizers by what pages are pinned to.
pub(super) struct Normalizers {
    pub loader: Loader,
    pub loaded: Vec<(SchemaId, TaskVersion, Pins, Arc<Normalizer>)>,
}

impl Normalizers {
    /// The normalizer that made a batch's records of its page.
    pub async fn get(&mut self, manifest: &Manifest) -> Result<Arc<Normalizer>, RunError> {
        let (schema, version, pins) = (&manifest.schema_id, manifest.task_version, &manifest.pins);
        let same =
            |(s, v, p, _): &&(SchemaId, TaskVersion, Pins, Arc<Normalizer>)| (s, *v, p) == (schema, version, pins);
        if let Some((.., normalizer)) = self.loaded.iter().find(same) {
            return Ok(normalizer.clone());
        }
        let row = self.loader.version(&manifest.task_id, version).await?;
        let normalizer = Arc::new(self.loader.normalizer(&row, schema, pins).await?);
        self.loaded.push((schema.clone(), version, pins.clone(), normalizer.clone()));
        Ok(normalizer)
    }
}

/// The records that normalize makes of a page that was kept.
pub(super) fn renormalize(normalizer: &Normalizer, raw: RawRows, manifest: &Manifest) -> Result<ChangeRecords, String> {
    normalizer
        .run(&page_of(raw), Vec::new(), manifest.sequence)
        .map(|normalized| normalized.records)
        .map_err(|e| e.to_string())
}

/// A page as normalize takes it; where it stood in the source no longer matters.
pub(in crate::drive) fn page_of(raw: RawRows) -> Page {
    Page {
        rows: raw.rows,
        operations: raw.operations,
        origins: raw.origins,
        dead_letters: Vec::new(),
        cursor_from: Cursor::Start,
        cursor_to: Cursor::Start,
        state: Default::default(),
    }
}

fn records_digest(records: &ChangeRecords) -> Digest {
    digest_outputs([("records", &records.rows, &records.operations, &records.versions)].into_iter())
}

/// The distinct pins of batches. Damaged manifests are found again, and told, when their batch is opened.
async fn pins_of(batches: &BatchStore, rows: &[BatchRow]) -> Result<Vec<Pins>, StoreError> {
    let mut pins: Vec<Pins> = Vec::new();
    for row in rows {
        match batches.manifest(row).await {
            Ok(manifest) if !pins.contains(&manifest.pins) => pins.push(manifest.pins),
            Ok(_) | Err(StoreError::Damaged { .. } | StoreError::Missing { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(pins)
}
