//! The code of both sides, run on one stored batch after the other.

use super::{Report, Show, SideFailure, Speed, compare};
use crate::content::digest_outputs;
use crate::drive::mapping::{Mapped, Mapper};
use crate::drive::normalize::{Normalized, Normalizer};
use crate::drive::replay::page_of;
use crate::drive::{Progress, RunError};
use crate::host::{PlannedStage, Stage};
use crate::publish::{Keys, Loader, Place, Targets, Unfit};
use crate::record::{ChangeRecords, MappedOutput, OutputSchema, Page};
use crate::schema::to_arrow;
use crate::store::BatchStore;
use crate::store::state::{BatchRow, TaskVersionRow};
use arrow::array::{UInt32Array, UInt64Array};
use bytes::Bytes;
use gristmill_core::dead_letter::RefusedAt;
use gristmill_core::digest::Digest;
use gristmill_core::id::{BatchId, SchemaId, Sequence};
use gristmill_core::pins::{Pin, Pins};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

/// The one output of a stage that makes records.
const RECORDS: &str = "records";

/// A component to compare, stored or not.
#[derive(Debug, Clone)]
pub struct Side {
    /// What it is called in messages.
    pub named: String,
    pub bytes: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichSide {
    Old,
    New,
}

impl WhichSide {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
        }
    }
}

impl fmt::Display for WhichSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Two components on the batches of a task.
pub struct Comparison {
    pub loader: Loader,
    pub batches: BatchStore,
    /// Whose configuration, dictionaries, limits and migrations both sides get.
    pub version: TaskVersionRow,
    pub place: Place,
    pub old: Side,
    pub new: Side,
    pub rows: Vec<BatchRow>,
    pub show: Show,
}

/// Why nothing could be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("the {side} component ({named}) cannot serve {place} for {schema}: {error}")]
    Unfit { side: WhichSide, named: String, place: Place, schema: SchemaId, error: Unfit },
    /// Normalize takes pages, and they were not kept.
    #[error("{lacking} of {of} batches do not have the page that normalize made their records of")]
    NoPages { lacking: usize, of: usize },
    #[error("version {version} pins nothing at {place}")]
    NoPin { version: u32, place: Place },
}

impl From<crate::store::StoreError> for CompareError {
    fn from(error: crate::store::StoreError) -> Self {
        Self::Run(error.into())
    }
}

/// Runs both components on every batch. Whatever cannot be planned is told before the first.
pub async fn compare_batches(comparison: &Comparison, progress: &Progress) -> Result<Report, CompareError> {
    let Comparison { batches, rows, show, .. } = comparison;
    let ways = ways(comparison).await?;
    if comparison.place == Place::Normalize {
        check_pages(batches, rows).await?;
    }
    let mut report = Report::default();
    for (number, row) in rows.iter().enumerate() {
        let Some(Some(way)) = ways.get(&row.schema_id) else {
            report.left_out += 1;
            continue;
        };
        let batch = batches.open(row).await?;
        let records = batch.records();
        let page = match &way.old {
            Code::Normalize(_) => batches.raw(batch.manifest()).await?.map(page_of),
            Code::Rows { .. } => None,
        };
        let input = Input { records, page: page.as_ref(), sequence: row.sequence, batch: row.batch_id };
        // Whoever comes second finds caches warm: they take turns.
        let (old, new) = tokio::task::block_in_place(|| match number.is_multiple_of(2) {
            true => {
                let old = input.run(&way.old, &mut report.old);
                (old, input.run(&way.new, &mut report.new))
            }
            false => {
                let new = input.run(&way.new, &mut report.new);
                (input.run(&way.old, &mut report.old), new)
            }
        });
        report.batches += 1;
        report.records += batch.manifest().record_count;
        match (old, new) {
            (Ok(old), Ok(new)) => {
                let identity = |output: &str| way.identity(output);
                let found = tokio::task::block_in_place(|| compare(row.batch_id, &old, &new, identity, show))
                    .map_err(|e| RunError::Panicked(e.to_string()))?;
                report.add(found, show.examples);
            }
            (old, new) => {
                let failures = [(WhichSide::Old, old), (WhichSide::New, new)].into_iter();
                report.failures.extend(failures.filter_map(|(side, result)| {
                    let what = result.err()?;
                    Some(SideFailure { batch: row.batch_id, side: side.as_str(), what })
                }));
            }
        }
        Progress::add(&progress.records_read, batch.manifest().record_count);
        Progress::add(&progress.batches_committed, 1);
    }
    Ok(report)
}

/// Both sides, planned for the batches of one schema.
struct Way {
    old: Code,
    new: Code,
    /// Of records.
    identity: Vec<String>,
}

enum Code {
    Normalize(Normalizer),
    /// Migrations up to the place, then the stage there.
    Rows {
        mapper: Mapper,
        stage: Stage,
        /// By output, as the task says it, whatever the component gives.
        identities: BTreeMap<String, Vec<String>>,
    },
}

impl Way {
    fn identity(&self, output: &str) -> Vec<String> {
        let of = |code: &Code| match code {
            Code::Normalize(_) => None,
            Code::Rows { identities, .. } => identities.get(output).cloned(),
        };
        of(&self.new).or_else(|| of(&self.old)).unwrap_or_else(|| self.identity.clone())
    }
}

/// What a batch gives to the code.
struct Input<'a> {
    records: &'a ChangeRecords,
    page: Option<&'a Page>,
    sequence: Sequence,
    batch: BatchId,
}

impl Input<'_> {
    fn run(&self, code: &Code, speed: &mut Speed) -> Result<Mapped, String> {
        let started = Instant::now();
        let (records, made) = match (code, self.page) {
            (Code::Rows { mapper, stage, .. }, _) => {
                let made = mapper.run(self.records).map(|made| refused_at(*stage, made));
                (self.records.rows.num_rows(), made.map_err(|e| e.to_string()))
            }
            (Code::Normalize(normalizer), Some(page)) => {
                let made = normalizer.run(page, Vec::new(), self.sequence);
                (page.rows.num_rows(), made.map(as_mapped).map_err(|e| e.to_string()))
            }
            (Code::Normalize(_), None) => (0, Err(format!("the page of batch {} is not kept", self.batch))),
        };
        speed.took += started.elapsed();
        speed.records += records as u64;
        made
    }
}

/// Rejects under the name of the stage that is compared: a mapper takes its last stage for stage map.
fn refused_at(stage: Stage, mut made: Mapped) -> Mapped {
    if stage == Stage::Migrate {
        for letter in made.dead_letters.iter_mut().filter(|letter| letter.refused_at == RefusedAt::Map) {
            letter.refused_at = RefusedAt::Migrate;
        }
    }
    made
}

/// Records as the rows of one output.
fn as_mapped(normalized: Normalized) -> Mapped {
    let Normalized { records, dead_letters, messages, .. } = normalized;
    let ChangeRecords { rows, operations, versions } = records;
    let digest = digest_outputs([(RECORDS, &rows, &operations, &versions)].into_iter());
    let count = rows.num_rows();
    let output = MappedOutput {
        name: RECORDS.into(),
        rows,
        operations,
        versions,
        // No sink will see these rows.
        hashes: UInt64Array::from(vec![0; count]),
        source_rows: UInt32Array::from_iter_values(0..count as u32),
    };
    Mapped { outputs: vec![output], digest, dead_letters, messages }
}

async fn check_pages(batches: &BatchStore, rows: &[BatchRow]) -> Result<(), CompareError> {
    let mut lacking = 0;
    for row in rows {
        lacking += usize::from(batches.manifest(row).await?.raw.is_none());
    }
    match lacking {
        0 => Ok(()),
        _ => Err(CompareError::NoPages { lacking, of: rows.len() }),
    }
}

/// The ways of all schemas of the batches; none for a schema whose batches never come to the place.
async fn ways(comparison: &Comparison) -> Result<BTreeMap<SchemaId, Option<Way>>, CompareError> {
    let Comparison { loader, version, place, old, new, rows, .. } = comparison;
    let loader = Loader { content: loader.content.trying([old.bytes.clone(), new.bytes.clone()]), ..loader.clone() };
    let no_pin = || CompareError::NoPin { version: version.version.get(), place: place.clone() };
    let pinned = place.pin(&version.pins).ok_or_else(no_pin)?;
    let mut ways = BTreeMap::new();
    for row in rows {
        let schema = &row.schema_id;
        if ways.contains_key(schema) {
            continue;
        }
        let mut codes = Vec::with_capacity(2);
        for (side, component) in [(WhichSide::Old, old), (WhichSide::New, new)] {
            let pin = Pin { label: component.named.clone(), component: Digest::of(&component.bytes), ..pinned.clone() };
            let pins = place.with(&version.pins, pin.clone());
            let planner = Planner { loader: &loader, version, place, pins: &pins, pin: &pin };
            codes.push(planner.plan(schema).await.map_err(|error| match error {
                Unfit::Store(e) => e.into(),
                error => CompareError::Unfit {
                    side,
                    named: component.named.clone(),
                    place: place.clone(),
                    schema: schema.clone(),
                    error,
                },
            })?);
        }
        let identity = Keys::of(version)?.identity;
        let way = match (codes.pop().flatten(), codes.pop().flatten()) {
            (Some(new), Some(old)) => Some(Way { old, new, identity }),
            _ => None,
        };
        ways.insert(schema.clone(), way);
    }
    Ok(ways)
}

struct Planner<'a> {
    loader: &'a Loader,
    version: &'a TaskVersionRow,
    place: &'a Place,
    /// Of the version, with the side's component at the place.
    pins: &'a Pins,
    pin: &'a Pin,
}

impl Planner<'_> {
    /// The code for batches of a schema; none where they do not come to the place.
    async fn plan(&self, schema: &SchemaId) -> Result<Option<Code>, Unfit> {
        let Self { loader, version, place, pins, pin } = *self;
        let dictionaries = loader.dictionaries(pins).await?;
        if *place == Place::Normalize {
            let source = loader.source_columns(&version.task_id, schema).await?;
            let stage = loader.plan(Stage::Normalize, pin, pins, &source, &dictionaries).await?;
            let keys = Keys::of(version)?;
            let normalizer = Normalizer { stage: Some(stage), identity: keys.identity, version: keys.source_version };
            return Ok(Some(Code::Normalize(normalizer)));
        }
        let chain = pins.chain(schema);
        let before = match place {
            Place::Migrate(from) => match chain.iter().position(|(at, _)| *at == from) {
                Some(place) => &chain[..place],
                None => return Ok(None),
            },
            _ => &chain[..],
        };
        let input = to_arrow(&loader.schema(schema).await?);
        let (links, records) = loader.links(before, pins, &input, &dictionaries).await?;
        let stage = loader.plan(place.stage(), pin, pins, &records, &dictionaries).await?;
        let mut outputs = self.outputs(&stage)?;
        let identities = outputs.iter().map(|output| (output.name.clone(), output.identity.clone())).collect();
        // A component that leaves an identity out could not be published; here it still has something to show.
        for output in &mut outputs {
            let schema = output.schema.clone();
            output.identity.retain(|column| schema.field_with_name(column).is_ok());
        }
        let mapper = Mapper { links, stage: Some(stage), outputs, input };
        Ok(Some(Code::Rows { mapper, stage: place.stage(), identities }))
    }

    fn outputs(&self, stage: &PlannedStage) -> Result<Vec<OutputSchema>, Unfit> {
        if *self.place == Place::Map {
            let targets = Targets::of(&self.version.task_id, &self.version.definition);
            return Ok(targets.outputs(Some(stage.outputs()), stage.input()));
        }
        let identity = Keys::of(self.version)?.identity;
        let outputs = stage.outputs().iter().map(|planned| OutputSchema {
            name: RECORDS.into(),
            table: RECORDS.into(),
            schema: planned.schema.clone(),
            identity: identity.clone(),
        });
        Ok(outputs.collect())
    }
}
