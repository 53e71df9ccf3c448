//! From a READY batch to rows for the sink: the code that the batch is pinned to.

use super::normalize::{class_of, missing_key};
use crate::content::{digest_outputs, row_hashes};
use crate::host::{PlannedStage, Selection, StageFault, StageRows};
use crate::record::{ChangeRecords, MappedOutput, OutputSchema};
use arrow::array::{Array, AsArray, BinaryArray, BooleanArray};
use arrow::compute::{and, filter, filter_record_batch, is_not_null, take};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use gristmill_core::dead_letter::{DeadLetter, RecordPosition, RefusedAt};
use gristmill_core::digest::Digest;

/// The map stage of some pins, for one schema.
#[derive(Debug)]
pub struct Mapper {
    /// None: the records are the rows.
    pub stage: Option<PlannedStage>,
    /// Schema of the records that it takes.
    pub records: SchemaRef,
    /// The tables that it fills, in the stage's order, with their identities.
    pub outputs: Vec<OutputSchema>,
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
        let mut dead_letters = Vec::new();
        let (staged, messages) = match &self.stage {
            None => (vec![StageRows::unchanged(&records.rows, &records.operations)], Vec::new()),
            Some(stage) => {
                let output = stage.process(&records.rows, &records.operations)?;
                dead_letters.extend(output.rejects.into_iter().map(|reject| DeadLetter {
                    refused_at: RefusedAt::Map,
                    class: class_of(reject.kind),
                    code: reject.code,
                    field: reject.field,
                    output: None,
                    position: RecordPosition::Batch { row: reject.row },
                    message: reject.message,
                }));
                (output.outputs, output.messages)
            }
        };
        let versions = staged.iter().map(|rows| versions_of(records, rows)).collect::<Result<Vec<_>, _>>()?;
        let described = self.outputs.iter().zip(&staged).zip(&versions);
        let digest = digest_outputs(described.map(|((o, s), v)| (o.name.as_str(), &s.rows, &s.operations, v)));

        let mut outputs = Vec::with_capacity(staged.len());
        for ((schema, rows), versions) in self.outputs.iter().zip(staged).zip(versions) {
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
