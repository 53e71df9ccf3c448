//! The sink's own tables: format, fences, batches.

use super::error::failed;
use super::text::{LastDay, push_timestamp};
use crate::sink::{MappedBatch, Receipt, SinkError};
use arrow::datatypes::TimeUnit;
use gristmill_core::id::{BatchId, Epoch, FencingToken, Micros, PartitionId, TaskId};
use rusqlite::{Connection, OptionalExtension, params};

/// The layout of the tables below and of the bookkeeping columns.
const FORMAT: &str = "1";

const CREATE: &str = "
CREATE TABLE IF NOT EXISTS gristmill_meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gristmill_fence (
  task_id TEXT NOT NULL,
  partition_id TEXT NOT NULL,
  fencing_token INTEGER NOT NULL,
  PRIMARY KEY (task_id, partition_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gristmill_batch (
  no INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL,
  batch_id TEXT NOT NULL,
  partition_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  schema_id TEXT NOT NULL,
  state TEXT NOT NULL,
  fencing_token INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  digest TEXT NOT NULL,
  committed_at TEXT NOT NULL,
  receipt TEXT NOT NULL,
  UNIQUE (task_id, batch_id)
);
INSERT INTO gristmill_meta (key, value) VALUES ('format', '1') ON CONFLICT (key) DO NOTHING;
";

/// Creates the tables, or checks that this build knows those that are there.
pub(super) fn ensure(connection: &Connection) -> Result<(), SinkError> {
    let doing = "preparing the batch registry";
    connection.execute_batch(CREATE).map_err(|error| failed(doing, error))?;
    let format: String = connection
        .query_row("SELECT value FROM gristmill_meta WHERE key = 'format'", [], |row| row.get(0))
        .map_err(|error| failed(doing, error))?;
    match format == FORMAT {
        true => Ok(()),
        false => Err(SinkError::Permanent {
            what: format!("the target's bookkeeping has format {format}, this build knows format {FORMAT}"),
            hint: "use the version of gristmill that wrote the target, or a newer one".into(),
        }),
    }
}

/// Refuses a smaller token than the partition has seen, and records a larger one.
pub(super) fn raise_fence(
    connection: &Connection,
    task_id: &TaskId,
    partition_id: &PartitionId,
    held: FencingToken,
) -> Result<(), SinkError> {
    let doing = "checking the fence";
    let key = [task_id.as_str(), partition_id.as_str()];
    let sql = "SELECT fencing_token FROM gristmill_fence WHERE task_id = ?1 AND partition_id = ?2";
    let seen: Option<i64> =
        connection.query_row(sql, key, |row| row.get(0)).optional().map_err(|error| failed(doing, error))?;
    let seen = seen.map(|seen| FencingToken::new(seen.unsigned_abs()));
    match seen {
        Some(seen) if seen > held => return Err(SinkError::Fenced { seen, held }),
        Some(seen) if seen == held => return Ok(()),
        _ => {}
    }
    let sql = "INSERT INTO gristmill_fence (task_id, partition_id, fencing_token) VALUES (?1, ?2, ?3)
               ON CONFLICT (task_id, partition_id) DO UPDATE SET fencing_token = excluded.fencing_token";
    let params = params![task_id.as_str(), partition_id.as_str(), integer("fencing token", held.get())?];
    connection.execute(sql, params).map_err(|error| failed("raising the fence", error))?;
    Ok(())
}

/// The receipt of a committed batch.
pub(super) fn find(connection: &Connection, task_id: &TaskId, batch_id: BatchId) -> Result<Option<Receipt>, SinkError> {
    let sql = "SELECT receipt FROM gristmill_batch WHERE task_id = ?1 AND batch_id = ?2";
    let json: Option<String> = connection
        .query_row(sql, params![task_id.as_str(), batch_id.to_string()], |row| row.get(0))
        .optional()
        .map_err(|error| failed(format!("looking for the receipt of batch {batch_id}"), error))?;
    json.map(|json| Receipt::from_json(&json)).transpose().map_err(|error| SinkError::Permanent {
        what: format!("the receipt of batch {batch_id} in the target cannot be read: {error}"),
        hint: "the table gristmill_batch was changed by something else: restore the target".into(),
    })
}

/// Takes a table for a task, or refuses it: versions of two tasks need not compare, and one would drop the other's rows.
/// Whether it was the task's before.
pub(super) fn take_table(connection: &Connection, table: &str, task_id: &TaskId) -> Result<bool, SinkError> {
    match owner(connection, table)? {
        Some(owner) => crate::sink::support::check_owner(table, &owner, task_id).map(|()| true),
        None => set_note(connection, OWNER, table, task_id.as_str()).map(|()| false),
    }
}

/// The task that a table belongs to.
pub(super) fn owner(connection: &Connection, table: &str) -> Result<Option<String>, SinkError> {
    note(connection, OWNER, table)
}

/// A table that is no more.
pub(super) fn forget_table(connection: &Connection, table: &str) -> Result<(), SinkError> {
    let sql = "DELETE FROM gristmill_meta WHERE key = ?1";
    connection.execute(sql, [key(OWNER, table)]).map(drop).map_err(|error| failed("taking note of a table", error))
}

/// The epoch under which a table was rebuilt; none when it never was.
pub(super) fn table_epoch(connection: &Connection, table: &str) -> Result<Option<Epoch>, SinkError> {
    let Some(epoch) = note(connection, EPOCH, table)? else { return Ok(None) };
    epoch.parse().map(|epoch| Some(Epoch::new(epoch))).map_err(|error| SinkError::Permanent {
        what: format!("the epoch of table `{table}` in the target cannot be read: {error}"),
        hint: "the table gristmill_meta was changed by something else: restore the target".into(),
    })
}

pub(super) fn set_table_epoch(connection: &Connection, table: &str, epoch: Epoch) -> Result<(), SinkError> {
    set_note(connection, EPOCH, table, &epoch.to_string())
}

/// The table that was in this one's place before it was rebuilt.
pub(super) fn kept(connection: &Connection, table: &str) -> Result<Option<String>, SinkError> {
    note(connection, KEPT, table)
}

pub(super) fn set_kept(connection: &Connection, table: &str, kept: &str) -> Result<(), SinkError> {
    set_note(connection, KEPT, table, kept)
}

/// What the sink notes of tables: SQLite ignores case in their names.
const OWNER: &str = "table";
const EPOCH: &str = "epoch";
const KEPT: &str = "kept";

fn key(what: &str, table: &str) -> String {
    format!("{what}:{}", table.to_ascii_lowercase())
}

fn note(connection: &Connection, what: &str, table: &str) -> Result<Option<String>, SinkError> {
    connection
        .query_row("SELECT value FROM gristmill_meta WHERE key = ?1", [key(what, table)], |row| row.get(0))
        .optional()
        .map_err(|error| failed("reading the notes of a table", error))
}

fn set_note(connection: &Connection, what: &str, table: &str, value: &str) -> Result<(), SinkError> {
    let sql = "INSERT INTO gristmill_meta (key, value) VALUES (?1, ?2)
               ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    connection
        .execute(sql, params![key(what, table), value])
        .map(drop)
        .map_err(|error| failed("taking note of a table", error))
}

/// Whether a table is the task's own already; another task's is refused, as [`take_table`] does.
pub(super) fn owns_table(connection: &Connection, table: &str, task_id: &TaskId) -> Result<bool, SinkError> {
    if !exists(connection)? {
        return Ok(false);
    }
    let key = format!("table:{}", table.to_ascii_lowercase());
    let owner: Option<String> = connection
        .query_row("SELECT value FROM gristmill_meta WHERE key = ?1", [&key], |row| row.get(0))
        .optional()
        .map_err(|error| failed("looking for a table's owner", error))?;
    match owner {
        Some(owner) => crate::sink::support::check_owner(table, &owner, task_id).map(|()| true),
        None => Ok(false),
    }
}

/// Whether the target has a registry.
pub(super) fn exists(connection: &Connection) -> Result<bool, SinkError> {
    let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'gristmill_batch'";
    let tables: i64 =
        connection.query_row(sql, [], |row| row.get(0)).map_err(|error| failed("looking for the registry", error))?;
    Ok(tables == 1)
}

/// The batch that was committed last for a task's partition, in one epoch or in any.
pub(super) fn last(
    connection: &Connection,
    task_id: &TaskId,
    partition_id: &PartitionId,
    epoch: Option<Epoch>,
) -> Result<Option<BatchId>, SinkError> {
    let sql = "SELECT batch_id FROM gristmill_batch
               WHERE task_id = ?1 AND partition_id = ?2 AND (?3 IS NULL OR epoch = ?3) ORDER BY no DESC LIMIT 1";
    let epoch = epoch.map(|epoch| integer("epoch", epoch.get())).transpose()?;
    let id: Option<String> = connection
        .query_row(sql, params![task_id.as_str(), partition_id.as_str(), epoch], |row| row.get(0))
        .optional()
        .map_err(|error| failed("looking for the last batch", error))?;
    id.map(|id| id.parse()).transpose().map_err(|error| SinkError::Permanent {
        what: format!("the target's registry cannot be read: {error}"),
        hint: "the table gristmill_batch was changed by something else: restore the target".into(),
    })
}

/// The epoch of a registered batch.
pub(super) fn epoch(connection: &Connection, no: i64) -> rusqlite::Result<Option<Epoch>> {
    let sql = "SELECT epoch FROM gristmill_batch WHERE no = ?1";
    let epoch: Option<i64> = connection.query_row(sql, [no], |row| row.get(0)).optional()?;
    Ok(epoch.map(|epoch| Epoch::new(epoch.unsigned_abs())))
}

/// The number that the next batch gets: small, so that it costs little in every row.
pub(super) fn next_no(connection: &Connection) -> Result<i64, SinkError> {
    connection
        .query_row("SELECT coalesce(max(no), 0) + 1 FROM gristmill_batch", [], |row| row.get(0))
        .map_err(|error| failed("numbering the batch", error))
}

/// Registers a batch as committed; holds once the transaction is.
pub(super) fn record(
    connection: &Connection,
    no: i64,
    batch: &MappedBatch,
    receipt: &Receipt,
) -> Result<(), SinkError> {
    let sql = "INSERT INTO gristmill_batch (no, task_id, batch_id, partition_id, epoch, sequence, schema_id, state,
                 fencing_token, rows, digest, committed_at, receipt)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'COMMITTED', ?8, ?9, ?10, ?11, ?12)";
    let rows: u64 = receipt.outputs().iter().map(|output| output.rows).sum();
    let params = params![
        no,
        batch.task_id.as_str(),
        batch.batch_id.to_string(),
        batch.partition_id.as_str(),
        integer("epoch", batch.epoch.get())?,
        integer("sequence", batch.sequence.get())?,
        batch.schema_id.as_str(),
        integer("fencing token", batch.fencing_token.get())?,
        integer("row count", rows)?,
        batch.digest.to_string(),
        moment(receipt.committed_at()),
        receipt.to_json()?,
    ];
    connection.execute(sql, params).map_err(|error| failed("registering the batch", error))?;
    Ok(())
}

/// A moment as the target shows it: ISO 8601 in UTC.
pub(super) fn moment(at: Micros) -> String {
    let mut text = Vec::with_capacity(27);
    push_timestamp(at.0, TimeUnit::Microsecond, true, &mut LastDay::default(), &mut text);
    String::from_utf8(text).unwrap_or_default()
}

fn integer(what: &str, value: u64) -> Result<i64, SinkError> {
    i64::try_from(value).map_err(|_| SinkError::Permanent {
        what: format!("the {what} {value} does not fit SQLite's 63 bits"),
        hint: "report this as a bug of gristmill".into(),
    })
}
