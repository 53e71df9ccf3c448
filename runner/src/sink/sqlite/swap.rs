//! Tables built beside take the places of others, within the caller's transaction.
//!
//! The old table is kept under the name `…__previous` until the next rebuild replaces it: a rebuild can be compared with
//! what was there, and undone by hand, and its rows may hold columns of the user's own. It costs the room of one table.

use super::error::failed;
use super::registry;
use super::table::{object, quoted};
use crate::sink::support::check_owner;
use crate::sink::swap::{Swap, not_built, superseded};
use crate::sink::{SinkError, Tenure};
use gristmill_core::id::{Epoch, TaskId};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};
use std::cmp::Ordering;

/// An index or a trigger that the user has put on a table.
struct Attached {
    kind: String,
    name: String,
    /// As it was created.
    sql: String,
}

/// Makes renaming a table leave everything else alone. Takes no effect within a transaction.
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    // Views and triggers go on naming the table, as do references of other tables.
    connection.pragma_update(None, "legacy_alter_table", true)?;
    connection.pragma_update(None, "foreign_keys", false)?;
    // An index on a column that is gone must not become one on a text in double quotes.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false).map(drop)
}

/// Puts one table in its place, if it is not there yet.
pub(super) fn swap(connection: &Connection, tenure: &Tenure, epoch: Epoch, swap: &Swap) -> Result<(), SinkError> {
    let Swap { built, table, .. } = swap;
    let doing = || format!("swapping table `{table}`");
    match registry::table_epoch(connection, table)?.map_or(Ordering::Less, |reached| reached.cmp(&epoch)) {
        Ordering::Less => {}
        Ordering::Equal => return clear(connection, &tenure.task_id, built),
        Ordering::Greater => {
            let reached = registry::table_epoch(connection, table)?.unwrap_or(epoch);
            return Err(superseded(swap, epoch, reached));
        }
    }
    let is_ours =
        |name: &str| Ok::<_, SinkError>(registry::owner(connection, name)?.as_deref() == Some(tenure.task_id.as_str()));
    if !is_ours(built)? || object(connection, built)?.as_deref() != Some("table") {
        return Err(not_built(swap));
    }
    if let Some(owner) = registry::owner(connection, table)? {
        check_owner(table, &owner, &tenure.task_id)?;
    }
    let attached = match object(connection, table)?.as_deref() {
        None => Vec::new(),
        Some("table") if is_ours(table)? => {
            let attached = attached(connection, table).map_err(|error| failed(doing(), error))?;
            set_aside(connection, tenure, table)?;
            attached
        }
        Some(_) => {
            return Err(SinkError::Mismatch {
                what: format!("`{table}` in the target is not a table of this task; nothing was swapped"),
                hint: "give the output a table of its own, or rename what is there".into(),
            });
        }
    };
    rename(connection, built, table)?;
    registry::forget_table(connection, built)?;
    registry::take_table(connection, table, &tenure.task_id)?;
    registry::set_table_epoch(connection, table, epoch)?;
    attached.iter().try_for_each(|attached| attach(connection, table, attached))
}

/// After a swap, a sink that was opened to go on building has made the table once more. It holds nothing: all batches of
/// the rebuild are committed.
fn clear(connection: &Connection, task_id: &TaskId, built: &str) -> Result<(), SinkError> {
    if object(connection, built)?.as_deref() != Some("table")
        || registry::owner(connection, built)?.as_deref() != Some(task_id.as_str())
    {
        return Ok(());
    }
    let doing = || format!("clearing table `{built}`");
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT 1)", quoted(built));
    let rows: i64 = connection.query_row(&sql, [], |row| row.get(0)).map_err(|error| failed(doing(), error))?;
    if rows > 0 {
        return Err(SinkError::Permanent {
            what: format!("table `{built}` holds rows that came after it was swapped in; nothing was swapped"),
            hint: "rebuild under a new epoch".into(),
        });
    }
    connection.execute_batch(&format!("DROP TABLE {}", quoted(built))).map_err(|error| failed(doing(), error))?;
    registry::forget_table(connection, built)
}

/// Renames a table away, in the place of the one that the last swap has kept.
fn set_aside(connection: &Connection, tenure: &Tenure, table: &str) -> Result<(), SinkError> {
    let previous = format!("{table}__previous");
    if object(connection, &previous)?.is_some() {
        if registry::kept(connection, table)?.as_deref() != Some(previous.as_str()) {
            return Err(SinkError::Mismatch {
                what: format!(
                    "the target has a `{previous}` already, the name under which `{table}` is to be kept; nothing was swapped"
                ),
                hint: "rename it".into(),
            });
        }
        connection
            .execute_batch(&format!("DROP TABLE {}", quoted(&previous)))
            .map_err(|error| failed(format!("dropping table `{previous}`"), error))?;
    }
    rename(connection, table, &previous)?;
    registry::take_table(connection, &previous, &tenure.task_id)?;
    registry::set_kept(connection, table, &previous)
}

fn rename(connection: &Connection, from: &str, to: &str) -> Result<(), SinkError> {
    connection
        .execute_batch(&format!("ALTER TABLE {} RENAME TO {}", quoted(from), quoted(to)))
        .map_err(|error| failed(format!("renaming table `{from}` to `{to}`"), error))
}

/// Indexes first: a trigger may need them.
fn attached(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Attached>> {
    let sql = "SELECT type, name, sql FROM sqlite_schema
               WHERE tbl_name = ?1 COLLATE NOCASE AND type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY type, rowid";
    let attached = |row: &rusqlite::Row<'_>| Ok(Attached { kind: row.get(0)?, name: row.get(1)?, sql: row.get(2)? });
    connection.prepare(sql)?.query_map([table], attached)?.collect()
}

/// Moves what the user has put on the old table to the new one. What needs a column that is gone stays with the old table.
fn attach(connection: &Connection, table: &str, attached: &Attached) -> Result<(), SinkError> {
    let Attached { kind, name, sql } = attached;
    let doing = || format!("moving the {kind} `{name}` to the rebuilt table `{table}`");
    let savepoint = |sql: &str| connection.execute_batch(sql).map_err(|error| failed(doing(), error));
    savepoint("SAVEPOINT attach")?;
    let moved = connection
        .execute_batch(&format!("DROP {kind} {}", quoted(name)))
        .and_then(|()| connection.execute_batch(sql))
        .and_then(|()| compiles(connection, table));
    match moved {
        Ok(()) => savepoint("RELEASE attach"),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::Unknown) => {
            tracing::warn!(table, kind, name, %error, "left with the table from before the rebuild");
            savepoint("ROLLBACK TO attach; RELEASE attach")
        }
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => Err(SinkError::Mismatch {
            what: format!(
                "the rebuilt rows of table `{table}` do not satisfy its unique index `{name}`; nothing was swapped"
            ),
            hint: format!("drop the index (`DROP INDEX {}`), or map rows that satisfy it", quoted(name)),
        }),
        Err(error) => Err(failed(doing(), error)),
    }
}

/// A trigger is not looked at when it is created: one that names a column that is gone would fail every write.
fn compiles(connection: &Connection, table: &str) -> rusqlite::Result<()> {
    let table = quoted(table);
    let columns: Vec<String> = connection
        .prepare(&format!("SELECT * FROM {table}"))?
        .column_names()
        .into_iter()
        .map(|name| format!("{0} = {0}", quoted(name)))
        .collect();
    for sql in [
        format!("INSERT INTO {table} DEFAULT VALUES"),
        format!("UPDATE {table} SET {}", columns.join(", ")),
        format!("DELETE FROM {table}"),
    ] {
        connection.prepare(&sql)?;
    }
    Ok(())
}
