//! Reading a dataset: which batches count, and what the records are by now.

use super::data::{self, DataRows};
use super::error::{damaged, failed};
use super::layout::{self, Layout};
use super::log::{self, Entry, PublishedBatch};
use super::{objects, schema};
use crate::sink::SinkError;
use crate::sink::verdict::{RecordState, Verdict, judge};
use arrow::array::{RecordBatch, new_null_array};
use arrow::compute::{cast, interleave_record_batch};
use arrow::datatypes::{FieldRef, Schema};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};
use futures::{StreamExt, TryStreamExt, stream};
use gristmill_core::digest::Digest;
use gristmill_core::id::{Epoch, PartitionId, TaskId};
use gristmill_core::record::Operation;
use object_store::ObjectStore;
use object_store::path::Path;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Log entries that are read at a time.
const READS: usize = 16;

/// A published batch and its place in its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub task_id: TaskId,
    pub partition_id: PartitionId,
    /// The number of its log entry.
    pub number: u64,
    pub batch: PublishedBatch,
}

/// The batches that count, by task, partition and order of publishing. Objects that no log names do not count.
pub async fn published(store: &dyn ObjectStore, prefix: &Path) -> Result<Vec<Published>, SinkError> {
    let logs = Layout::new(prefix.clone()).logs();
    let mut paths: Vec<Path> = store
        .list(Some(&logs))
        .map_ok(|object| object.location)
        .try_collect()
        .await
        .map_err(|error| failed(format!("listing {logs}"), error))?;
    paths.sort_unstable();
    let mut entries = stream::iter(paths).map(|path| read_entry(store, &logs, path)).buffered(READS);
    let mut published = Vec::new();
    let mut before: Option<(TaskId, PartitionId, u64)> = None;
    while let Some((task_id, partition_id, number, entry)) = entries.try_next().await? {
        let expected = match &before {
            Some((task, partition, number)) if (task, partition) == (&task_id, &partition_id) => number + 1,
            _ => 1,
        };
        if number != expected {
            return Err(damaged(format!("entry {expected} of the log of {task_id}/{partition_id} is gone")));
        }
        before = Some((task_id.clone(), partition_id.clone(), number));
        if let Entry::Publish(batch) = entry {
            published.push(Published { task_id, partition_id, number, batch });
        }
    }
    Ok(published)
}

async fn read_entry(
    store: &dyn ObjectStore,
    logs: &Path,
    path: Path,
) -> Result<(TaskId, PartitionId, u64, Entry), SinkError> {
    let place = || {
        let parts: Vec<_> = path.prefix_match(logs)?.collect();
        let [task, partition, _] = &parts[..] else { return None };
        let (task_id, partition_id) = (TaskId::new(task.as_ref()).ok()?, PartitionId::new(partition.as_ref()).ok()?);
        Some((task_id, partition_id, layout::entry_number(&path)?))
    };
    let (task_id, partition_id, number) = place().ok_or_else(|| damaged(format!("{path} is not a log entry")))?;
    let bytes = objects::read(store, &path).await?.ok_or_else(|| damaged(format!("{path} is gone")))?;
    Ok((task_id, partition_id, number, log::parse(&path, &bytes)?))
}

/// The records of an output as they are by now: of each identity the newest version, without deleted records, in the
/// order of the identity. None when no batch with this output is published. Of equal versions the one of the largest epoch
/// counts, and in one epoch the one that was committed first. Reads all files of the output into memory.
pub async fn read_current(
    store: &dyn ObjectStore,
    prefix: &Path,
    output: &str,
) -> Result<Option<RecordBatch>, SinkError> {
    let layout = Layout::new(prefix.clone());
    let Some(known) = schema::find(store, &layout, output).await? else { return Ok(None) };
    let mut batches = published(store, prefix).await?;
    batches.sort_by_key(|published| published.batch.receipt.committed_at());
    let mut parts = Vec::new();
    for published in &batches {
        for file in published.batch.files.iter().filter(|file| file.output == output) {
            let relative = Path::parse(&file.path).map_err(|error| damaged(format!("{}: {error}", file.path)))?;
            let path = layout.absolute(&relative);
            let bytes =
                objects::read(store, &path).await?.ok_or_else(|| damaged(format!("the data object {path} is gone")))?;
            if Digest::of(&bytes) != file.digest {
                return Err(damaged(format!("the data object {path} is not the one that was published")));
            }
            parts.push((published.batch.epoch, data::decode(&path, bytes)?));
        }
    }
    if parts.is_empty() {
        return Ok(None);
    }
    aligned(&mut parts, &known)
        .and_then(|()| newest(&parts, known.identity()))
        .map(Some)
        .map_err(|error| damaged(format!("the data objects of output `{output}` do not fit together: {error}")))
}

/// Gives all parts the same columns: those that a part has not got are null.
fn aligned(parts: &mut [(Epoch, DataRows)], known: &schema::Known) -> Result<(), ArrowError> {
    let field = |name: &str| parts.iter().find_map(|(_, part)| part.rows.schema_ref().field_with_name(name).ok());
    let fields =
        known.columns().filter_map(|column| field(&column.name)).map(|field| field.clone().with_nullable(true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    for (_, part) in parts {
        let column = |field: &FieldRef| match part.rows.column_by_name(field.name()) {
            // Text of one length type or the other is the same type of the dataset.
            Some(array) => cast(array, field.data_type()),
            None => Ok(new_null_array(field.data_type(), part.rows.num_rows())),
        };
        let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>, _>>()?;
        part.rows = RecordBatch::try_new(schema.clone(), columns)?;
    }
    Ok(())
}

fn newest(parts: &[(Epoch, DataRows)], identity: &[String]) -> Result<RecordBatch, ArrowError> {
    let keys = |rows: &RecordBatch| {
        identity.iter().map(|name| rows.schema_ref().index_of(name)).collect::<Result<Vec<_>, ArrowError>>()
    };
    let mut newest: BTreeMap<Vec<u8>, (RecordState<'_>, (usize, usize))> = BTreeMap::new();
    for (place, (epoch, part)) in parts.iter().enumerate() {
        let columns = part.rows.project(&keys(&part.rows)?)?;
        let fields = columns.columns().iter().map(|array| SortField::new(array.data_type().clone())).collect();
        let identities = RowConverter::new(fields)?.convert_columns(columns.columns())?;
        for (row, identity) in identities.iter().enumerate() {
            let arriving = RecordState {
                version: part.versions.value(row),
                epoch: *epoch,
                hash: part.hashes.value(row),
                deleted: part.operations.value(row) == Operation::Delete.code(),
            };
            newest
                .entry(identity.as_ref().to_vec())
                .and_modify(|(stored, at)| {
                    if judge(*stored, arriving) == Verdict::Newer {
                        (*stored, *at) = (arriving, (place, row));
                    }
                })
                .or_insert((arriving, (place, row)));
        }
    }
    let live: Vec<_> = newest.into_values().filter(|(state, _)| !state.deleted).map(|(_, at)| at).collect();
    let rows: Vec<&RecordBatch> = parts.iter().map(|(_, part)| &part.rows).collect();
    interleave_record_batch(&rows, &live)
}
