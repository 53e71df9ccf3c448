//! Dead letters: recording, counting, and the totals that their limits are judged by. The queue of them is [`queue`].

mod queue;

pub(super) use queue::settle;
pub use queue::{DeadLetterRow, Failure, LetterFilter};

use super::{StateStore, text, to_json, unsigned};
use crate::store::{StoreError, now};
use gristmill_core::dead_letter::{DeadLetter, MESSAGE_MAX_BYTES, bounded};
use gristmill_core::id::{BatchId, PartitionId, TaskId};
use gristmill_core::manifest::Manifest;
use sqlx::{Sqlite, Transaction};

/// The longest code of a transform that is kept, in bytes.
const CODE_MAX_BYTES: usize = 64;
/// The longest column name that is kept, in bytes.
const FIELD_MAX_BYTES: usize = 128;

/// How much of a task's history there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Records that the source gave, in batches that are READY or COMMITTED.
    pub read: u64,
    pub dead_letters: u64,
}

pub(super) async fn insert_dead_letters(
    tx: &mut Transaction<'_, Sqlite>,
    manifest: &Manifest,
    letters: &[DeadLetter],
) -> Result<(), StoreError> {
    let at = now().0;
    for letter in letters {
        sqlx::query(
            "INSERT INTO dead_letter (task_id, task_version, schema_id, batch_id, refused_at, class, code, field, output, position,
             message, first_failed_at, last_failed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12)
             ON CONFLICT DO NOTHING",
        )
        .bind(manifest.task_id.as_str())
        .bind(i64::from(manifest.task_version.get()))
        .bind(manifest.schema_id.as_str())
        .bind(manifest.batch_id.to_string())
        .bind(letter.refused_at.to_string())
        .bind(letter.class.as_str())
        .bind(bounded(&letter.code, CODE_MAX_BYTES))
        .bind(letter.field.as_deref().map(|f| bounded(f, FIELD_MAX_BYTES)))
        .bind(letter.output.as_deref())
        .bind(to_json(&letter.position)?)
        .bind(bounded(&letter.message, MESSAGE_MAX_BYTES))
        .bind(at)
        .execute(&mut **tx)
        .await
        .map_err(StoreError::database("recording dead letters"))?;
    }
    Ok(())
}

/// Notes which dead letter each record of a replay's batch is. Places after the last record hold the letters whose records
/// gave none.
pub(super) async fn bind_letters(
    tx: &mut Transaction<'_, Sqlite>,
    batch_id: BatchId,
    letters: &[i64],
) -> Result<(), StoreError> {
    for (row, letter) in letters.iter().enumerate() {
        sqlx::query("INSERT INTO dead_letter_row (batch_id, row, dead_letter_id) VALUES (?1, ?2, ?3)")
            .bind(batch_id.to_string())
            .bind(row as i64)
            .bind(letter)
            .execute(&mut **tx)
            .await
            .map_err(StoreError::database("recording the letters of a replay"))?;
    }
    Ok(())
}

/// Where letters are looked for: with their batch, and the generation that it belongs to.
const LETTERS: &str = "FROM dead_letter d JOIN batch b USING (batch_id)
     LEFT JOIN epoch e ON (e.task_id, e.partition_id, e.epoch) = (b.task_id, b.partition_id, b.epoch)";

/// The condition that a letter counts: it is open, of a batch that counts, and no later epoch in force has judged its record
/// anew.
const COUNTS: &str = "(d.state = 'OPEN' AND b.state IN ('READY', 'COMMITTED')
     AND ifnull(e.state, 'IN_FORCE') IN ('IN_FORCE', 'SUPERSEDED', 'DONE')
     AND NOT (d.refused_at IN ('migrate', 'map', 'sink') AND EXISTS (
        SELECT 1 FROM batch r JOIN epoch n ON (n.task_id, n.partition_id, n.epoch) = (r.task_id, r.partition_id, r.epoch)
        WHERE r.replay_of = d.batch_id AND n.state IN ('IN_FORCE', 'DONE'))))";

impl StateStore {
    /// Records read and refused in the whole history of a task.
    pub async fn totals(&self, task_id: &TaskId) -> Result<Totals, StoreError> {
        const DOING: &str = "counting records";
        let read: i64 = sqlx::query_scalar(
            "SELECT ifnull(sum(record_count + dead_letter_count), 0) FROM batch
             WHERE task_id = ?1 AND state IN ('READY', 'COMMITTED') AND replay_of IS NULL AND partition_id <> ?2",
        )
        .bind(task_id.as_str())
        .bind(PartitionId::dead_letters().as_str())
        .fetch_one(&self.pool)
        .await
        .map_err(StoreError::database(DOING))?;
        let sql = format!("SELECT count(*) {LETTERS} WHERE d.task_id = ?1 AND {COUNTS}");
        let dead: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .bind(task_id.as_str())
            .fetch_one(&self.pool)
            .await
            .map_err(StoreError::database(DOING))?;
        Ok(Totals { read: read.unsigned_abs(), dead_letters: dead.unsigned_abs() })
    }

    /// Open dead letters of a task by the class and code of their last failure, most frequent first.
    pub async fn dead_letter_counts(&self, task_id: &TaskId) -> Result<Vec<(String, String, u64)>, StoreError> {
        let sql = format!(
            "SELECT ifnull(d.last_class, d.class) AS failed_class, ifnull(d.last_code, d.code) AS failed_code, count(*) AS n {LETTERS}
             WHERE d.task_id = ?1 AND {COUNTS} GROUP BY failed_class, failed_code ORDER BY n DESC, failed_class, failed_code"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(task_id.as_str())
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::database("counting dead letters"))?;
        rows.iter()
            .map(|row| Ok((text(row, "failed_class")?, text(row, "failed_code")?, unsigned(row, "n")?)))
            .collect()
    }
}
