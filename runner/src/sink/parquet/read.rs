//! Reading a dataset: which batches count, and what the records are by now.

use super::data::{self, DataRows};
use super::error::{damaged, failed};
use super::layout::{self, Layout};
use super::log::{self, Entry, PublishedBatch};
use super::tables::Tables;
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

/// A log, read through.
struct History {
    task_id: TaskId,
    partition_id: PartitionId,
    /// With the numbers of their entries.
    batches: Vec<(u64, PublishedBatch)>,
    tables: Tables,
}

/// The published batches, by task, partition and order of publishing, each with the files that count and the tables that
/// they count for. Objects that no log names do not count, nor what was in the place of a table that was rebuilt since.
pub async fn published(store: &dyn ObjectStore, prefix: &Path) -> Result<Vec<Published>, SinkError> {
    let mut published = Vec::new();
    for History { task_id, partition_id, batches, tables } in histories(store, prefix).await? {
        for (number, mut batch) in batches {
            let epoch = batch.epoch;
            batch.files.retain_mut(|file| {
                let table = tables.of(&file.output, epoch);
                table.map(|table| file.output = table).is_some()
            });
            published.push(Published { task_id: task_id.clone(), partition_id: partition_id.clone(), number, batch });
        }
    }
    Ok(published)
}

async fn histories(store: &dyn ObjectStore, prefix: &Path) -> Result<Vec<History>, SinkError> {
    let logs = Layout::new(prefix.clone()).logs();
    let mut paths: Vec<Path> = store
        .list(Some(&logs))
        .map_ok(|object| object.location)
        .try_collect()
        .await
        .map_err(|error| failed(format!("listing {logs}"), error))?;
    paths.sort_unstable();
    let mut entries = stream::iter(paths).map(|path| read_entry(store, &logs, path)).buffered(READS);
    let mut histories: Vec<History> = Vec::new();
    let mut before = 0;
    while let Some((task_id, partition_id, number, entry)) = entries.try_next().await? {
        let same_log = |last: &History| (&last.task_id, &last.partition_id) == (&task_id, &partition_id);
        if !histories.last().is_some_and(same_log) {
            let (task_id, partition_id) = (task_id.clone(), partition_id.clone());
            histories.push(History { task_id, partition_id, batches: Vec::new(), tables: Tables::default() });
            before = 0;
        }
        if number != before + 1 {
            return Err(damaged(format!("entry {} of the log of {task_id}/{partition_id} is gone", before + 1)));
        }
        before = number;
        let Some(history) = histories.last_mut() else { continue };
        match entry {
            Entry::Publish(batch) => history.batches.push((number, batch)),
            Entry::Tables { tables, .. } => history.tables.swap(tables),
            Entry::Fence { .. } => {}
        }
    }
    Ok(histories)
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

/// The records of a table as they are by now: of each identity the newest version, without deleted records, in the
/// order of the identity. None when no batch with this table is published. Of equal versions the one of the largest epoch
/// counts, and in one epoch the one that was committed first. Reads all files of the table into memory.
pub async fn read_current(
    store: &dyn ObjectStore,
    prefix: &Path,
    table: &str,
) -> Result<Option<RecordBatch>, SinkError> {
    let layout = Layout::new(prefix.clone());
    let histories = histories(store, prefix).await?;
    // Partitions swap one after the other: what the last rebuild has recorded fits them all in the end.
    let rebuilt = histories.iter().filter_map(|history| history.tables.find(table)).max_by_key(|table| table.epoch);
    let folder = rebuilt.map_or(table, |table| &table.folder);
    let Some(known) = schema::find(store, &layout, folder).await? else { return Ok(None) };
    let batches = histories.iter().flat_map(|history| history.batches.iter().map(move |(_, batch)| (history, batch)));
    let mut batches: Vec<_> = batches.collect();
    batches.sort_by_key(|(_, batch)| batch.receipt.committed_at());
    let mut parts = Vec::new();
    for (history, batch) in batches {
        for file in &batch.files {
            if history.tables.of(&file.output, batch.epoch).as_deref() != Some(table) {
                continue;
            }
            let relative = Path::parse(&file.path).map_err(|error| damaged(format!("{}: {error}", file.path)))?;
            let path = layout.absolute(&relative);
            let bytes =
                objects::read(store, &path).await?.ok_or_else(|| damaged(format!("the data object {path} is gone")))?;
            if Digest::of(&bytes) != file.digest {
                return Err(damaged(format!("the data object {path} is not the one that was published")));
            }
            parts.push((batch.epoch, data::decode(&path, bytes)?));
        }
    }
    if parts.is_empty() {
        return Ok(None);
    }
    aligned(&mut parts, &known)
        .and_then(|()| newest(&parts, known.identity()))
        .map(Some)
        .map_err(|error| damaged(format!("the data objects of table `{table}` do not fit together: {error}")))
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
                .and_modify(|(stored, at)| match judge(*stored, arriving) {
                    Verdict::Newer => (*stored, *at) = (arriving, (place, row)),
                    Verdict::Unchanged => stored.epoch = stored.epoch.max(arriving.epoch),
                    Verdict::Stale | Verdict::Conflict => {}
                })
                .or_insert((arriving, (place, row)));
        }
    }
    let live: Vec<_> = newest.into_values().filter(|(state, _)| !state.deleted).map(|(_, at)| at).collect();
    let rows: Vec<&RecordBatch> = parts.iter().map(|(_, part)| &part.rows).collect();
    interleave_record_batch(&rows, &live)
}
