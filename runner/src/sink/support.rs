//! What every sink checks and needs.

use super::{MappedBatch, SinkError, Tenure};
use crate::record::MappedOutput;
use arrow::array::Array;
use arrow::datatypes::SchemaRef;
use gristmill_core::id::{BatchId, Micros, TaskId};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

fn bug(what: String) -> SinkError {
    SinkError::Permanent { what, hint: "report this as a bug of gristmill".into() }
}

/// Versions of two tasks need not compare: one would drop the other's rows as stale.
pub(super) fn check_owner(table: &str, owner: &str, task_id: &TaskId) -> Result<(), SinkError> {
    if owner == task_id.as_str() {
        return Ok(());
    }
    Err(SinkError::Mismatch {
        what: format!("`{table}` in the target belongs to task `{owner}`, and this is task `{task_id}`"),
        hint: "a table belongs to one task: give this one a table of its own, or keep the task's name".into(),
    })
}

/// Another owner has written to this partition's history. Tokens are drawn by a state, so two states may hold the same.
pub(super) fn foreign_history(last: Option<BatchId>) -> SinkError {
    let last = last.map_or_else(|| "nothing".into(), |batch| format!("batch {batch}"));
    SinkError::Permanent {
        what: format!(
            "another process has written to this task's target: its history ends with {last}, which is not ours"
        ),
        hint: "two states run the same task into one target: stop one of them for good".into(),
    }
}

/// A batch belongs to the tenure that the sink was opened for.
pub(super) fn check_batch(batch: &MappedBatch, tenure: &Tenure) -> Result<(), SinkError> {
    let of_tenure = batch.task_id == tenure.task_id
        && batch.partition_id == tenure.partition_id
        && batch.fencing_token == tenure.fencing_token;
    match of_tenure {
        true => Ok(()),
        false => {
            Err(bug(format!("batch {} was given to a sink of another tenure; nothing was written", batch.batch_id)))
        }
    }
}

/// An output has the columns that the sink was opened with, and as many operations, versions, hashes and source rows
/// as rows, none of them null.
pub(super) fn check_output(output: &MappedOutput, schema: &SchemaRef) -> Result<(), SinkError> {
    let columns = output.rows.schema_ref().fields();
    let same = |(a, b): (&arrow::datatypes::FieldRef, &arrow::datatypes::FieldRef)| {
        a.name() == b.name() && a.data_type() == b.data_type()
    };
    if columns.len() != schema.fields().len() || !columns.iter().zip(schema.fields()).all(same) {
        let what =
            format!("output `{}` has other columns than the sink was opened with; nothing was written", output.name);
        return Err(bug(what));
    }
    let bookkeeping: [&dyn Array; 4] = [&output.operations, &output.versions, &output.hashes, &output.source_rows];
    let rows = output.rows.num_rows();
    match bookkeeping.iter().all(|array| array.len() == rows && array.null_count() == 0) {
        true => Ok(()),
        false => Err(bug(format!("output `{}` lacks bookkeeping for a row; nothing was written", output.name))),
    }
}

pub(super) fn unknown_output(name: &str) -> SinkError {
    bug(format!("output `{name}` is not one that the sink was opened with; nothing was written"))
}

pub(super) fn not_open() -> SinkError {
    bug("the sink was used before it was opened".into())
}

pub(super) fn now() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Creates a folder and those above it, and makes their names durable: a target whose folder a crash can lose is no target.
pub(super) fn create_folder(folder: &Path) -> Result<(), SinkError> {
    let Some(first) = folder.ancestors().take_while(|folder| !folder.is_dir()).last() else { return Ok(()) };
    let synced = |folder: &Path| std::fs::File::open(folder)?.sync_all();
    let created = std::fs::create_dir_all(folder).and_then(|()| {
        let within = folder.ancestors().take_while(|folder| folder.starts_with(first));
        within.filter_map(Path::parent).try_for_each(synced)
    });
    created.map_err(|error| {
        let what = format!("creating the folder {}: {error}", folder.display());
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => SinkError::NoSpace { what },
            _ => SinkError::Permanent { what, hint: "name a folder that this user may create and write".into() },
        }
    })
}
