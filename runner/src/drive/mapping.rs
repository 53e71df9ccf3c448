//! From a READY batch to rows for the sink: the code that the batch is pinned to.

use super::normalize::{class_of, missing_key};
use crate::content::{digest_outputs, row_hashes};
use crate::host::{PlannedStage, Reject, Selection, StageFault, StageRows};
use crate::record::{ChangeRecords, MappedOutput, OutputSchema};
use arrow::array::{Array, AsArray, BinaryArray, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{and, filter, filter_record_batch, is_not_null, take};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use gristmill_core::dead_letter::{DeadLetter, RecordPosition, RefusedAt};
use gristmill_core::digest::Digest;

/// The map stage of some pins, for one schema.
#[derive(Debug)]
pub struct Mapper {
    /// Migrations from the batch's schema to the one that the stage takes.
    pub links: Vec<Link>,
    /// None: the records are the rows.
    pub stage: Option<PlannedStage>,
    /// Schema of the batches that it takes.
    pub input: SchemaRef,
    /// The tables that it fills, in the stage's order, with their identities.
    pub outputs: Vec<OutputSchema>,
}

/// A planned link of a migration chain.
#[derive(Debug)]
pub struct Link {
    pub stage: PlannedStage,
    /// The frozen schema of the records that it gives.
    pub records: SchemaRef,
    /// For each column of it, its place among those of the stage.
    pub places: Vec<usize>,
}

/// A mapped batch.
#[derive(Debug)]
pub struct Mapped {
    pub outputs: Vec<MappedOutput>,
    /// Of what the transform returned, before rows without a key were taken out: it depends on the pins alone.
    pub digest: Digest,
    pub dead_letters: Vec<DeadLetter>,
    pub messages: Vec<String>,
}

/// What the stage returned, before anything is taken out.
struct Staged {
    /// By output, with the rows of the batch that they come from.
    rows: Vec<StageRows>,
    versions: Vec<BinaryArray>,
    digest: Digest,
    dead_letters: Vec<DeadLetter>,
    messages: Vec<String>,
}

/// Why a batch could not be mapped.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    #[error(transparent)]
    Stage(#[from] StageFault),
    #[error("a checked schema does not hold: {0}")]
    Broken(#[from] ArrowError),
}

impl Mapper {
    /// Maps the records of one batch.
    pub fn run(&self, records: &ChangeRecords) -> Result<Mapped, MapError> {
        let Staged { rows, versions, digest, mut dead_letters, messages } = self.stage(records)?;
        let mut outputs = Vec::with_capacity(rows.len());
        for ((schema, rows), versions) in self.outputs.iter().zip(rows).zip(versions) {
            let output = MappedOutput {
                name: schema.name.clone(),
                hashes: row_hashes(&rows.rows),
                source_rows: rows.source_rows(),
                operations: rows.operations,
                rows: rows.rows,
                versions,
            };
            outputs.push(with_keys(schema, output, &mut dead_letters)?);
        }
        Ok(Mapped { outputs, digest, dead_letters, messages })
    }

    /// The digest of what one batch maps to: [`Mapped::digest`] without what only a sink needs.
    pub fn digest(&self, records: &ChangeRecords) -> Result<Digest, MapError> {
        self.stage(records).map(|staged| staged.digest)
    }

    /// Migrations and stage, with the digest of what they return.
    fn stage(&self, records: &ChangeRecords) -> Result<Staged, MapError> {
        let mut dead_letters = Vec::new();
        let mut messages = Vec::new();
        let migrated = self.migrate(records, &mut dead_letters, &mut messages)?;
        let (records, origin) = match &migrated {
            None => (records, None),
            Some((records, origin)) => (records, Some(origin)),
        };
        let batch_row = |row: u32| origin.map_or(row, |origin| origin.value(row as usize));
        let mut staged = match &self.stage {
            None => vec![StageRows::unchanged(&records.rows, &records.operations)],
            Some(stage) => {
                let output = stage.process(&records.rows, &records.operations)?;
                dead_letters.extend(refused(output.rejects, RefusedAt::Map, batch_row));
                messages.extend(output.messages);
                output.outputs
            }
        };
        let versions = staged.iter().map(|rows| versions_of(records, rows)).collect::<Result<Vec<_>, _>>()?;
        let described = self.outputs.iter().zip(&staged).zip(&versions);
        let digest = digest_outputs(described.map(|((o, s), v)| (o.name.as_str(), &s.rows, &s.operations, v)));
        if let Some(origin) = origin {
            for rows in &mut staged {
                rows.selection = Selection::Rows(take(origin, &rows.source_rows(), None)?.as_primitive().clone());
            }
        }
        Ok(Staged { rows: staged, versions, digest, dead_letters, messages })
    }

    /// Takes the records through the chain. None: there is no chain. Else the migrated records, and for each its row in the
    /// batch.
    fn migrate(
        &self,
        records: &ChangeRecords,
        dead_letters: &mut Vec<DeadLetter>,
        messages: &mut Vec<String>,
    ) -> Result<Option<(ChangeRecords, UInt32Array)>, MapError> {
        let mut migrated: Option<(ChangeRecords, UInt32Array)> = None;
        for link in &self.links {
            let input = migrated.as_ref().map_or(records, |(records, _)| records);
            let mut output = link.stage.process(&input.rows, &input.operations)?;
            let origin = migrated.as_ref().map(|(_, origin)| origin);
            let batch_row = |row: u32| origin.map_or(row, |origin| origin.value(row as usize));
            dead_letters.extend(refused(output.rejects, RefusedAt::Migrate, batch_row));
            messages.extend(output.messages);
            let rows = output.outputs.swap_remove(0);
            let versions = versions_of(input, &rows)?;
            let from = rows.source_rows();
            let origin = match origin {
                Some(origin) => take(origin, &from, None)?.as_primitive().clone(),
                None => from,
            };
            let fitted =
                RecordBatch::try_new(link.records.clone(), rows.rows.project(&link.places)?.columns().to_vec())?;
            migrated = Some((ChangeRecords { rows: fitted, operations: rows.operations, versions }, origin));
        }
        Ok(migrated)
    }
}

/// Rejects of a stage as dead letters, at their rows of the batch.
fn refused(rejects: Vec<Reject>, at: RefusedAt, batch_row: impl Fn(u32) -> u32) -> Vec<DeadLetter> {
    let letter = |reject: Reject| DeadLetter {
        refused_at: at,
        class: class_of(reject.kind),
        code: reject.code,
        field: reject.field,
        output: None,
        position: RecordPosition::Batch { row: batch_row(reject.row) },
        message: reject.message,
    };
    rejects.into_iter().map(letter).collect()
}

fn versions_of(records: &ChangeRecords, rows: &StageRows) -> Result<BinaryArray, ArrowError> {
    Ok(match &rows.selection {
        Selection::All => records.versions.clone(),
        Selection::Rows(selection) => take(&records.versions, selection, None)?.as_binary::<i32>().clone(),
    })
}

/// Takes out rows whose identity is null: no table could hold them.
fn with_keys(
    schema: &OutputSchema,
    output: MappedOutput,
    dead: &mut Vec<DeadLetter>,
) -> Result<MappedOutput, ArrowError> {
    let mut keep: Option<BooleanArray> = None;
    for name in &schema.identity {
        let column = output.rows.column(output.rows.schema().index_of(name)?);
        if column.null_count() == 0 {
            continue;
        }
        let present = is_not_null(column)?;
        for row in (0..present.len()).filter(|row| !present.value(*row)) {
            let position = RecordPosition::Batch { row: output.source_rows.value(row) };
            dead.push(missing_key(Some(name.clone()), "identity", position, RefusedAt::Map, Some(schema.name.clone())));
        }
        keep = Some(match keep {
            Some(keep) => and(&keep, &present)?,
            None => present,
        });
    }
    let Some(keep) = keep else { return Ok(output) };
    Ok(MappedOutput {
        rows: filter_record_batch(&output.rows, &keep)?,
        operations: filter(&output.operations, &keep)?.as_primitive().clone(),
        versions: filter(&output.versions, &keep)?.as_binary::<i32>().clone(),
        hashes: filter(&output.hashes, &keep)?.as_primitive().clone(),
        source_rows: filter(&output.source_rows, &keep)?.as_primitive().clone(),
        name: output.name,
    })
}
