//! Dead letters and the totals that their limits are judged by.

use super::{StateStore, int, json, parsed, text, to_json, unsigned};
use crate::store::{StoreError, now};
use gristmill_core::dead_letter::{DeadLetter, MESSAGE_MAX_BYTES, RecordPosition, bounded};
use gristmill_core::id::{BatchId, Micros, PartitionId, TaskId};
use gristmill_core::manifest::Manifest;
use sqlx::{Row, Sqlite, Transaction};

/// How much of a task's history there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Records that the source gave, in batches that are READY or COMMITTED.
    pub read: u64,
    pub dead_letters: u64,
}

/// A dead letter, for people.
#[derive(Debug, Clone)]
pub struct DeadLetterRow {
    pub id: i64,
    pub batch_id: BatchId,
    pub refused_at: String,
    pub class: String,
    pub code: String,
    pub field: Option<String>,
    pub output: Option<String>,
    pub position: RecordPosition,
    pub message: String,
    pub first_failed_at: Micros,
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
        .bind(bounded(&letter.code, 64))
        .bind(letter.field.as_deref().map(|f| bounded(f, 128)))
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

/// Notes which dead letter each record of a replay's batch is.
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

/// Letters that count: open ones, of batches that do, without those that a later epoch in force has judged anew.
const COUNTED: &str = "FROM dead_letter d JOIN batch b USING (batch_id)
     LEFT JOIN epoch e ON (e.task_id, e.partition_id, e.epoch) = (b.task_id, b.partition_id, b.epoch)
     WHERE d.task_id = ?1 AND d.state = 'OPEN' AND b.state IN ('READY', 'COMMITTED')
     AND ifnull(e.state, 'IN_FORCE') IN ('IN_FORCE', 'SUPERSEDED', 'DONE')
     AND NOT (d.refused_at IN ('migrate', 'map', 'sink') AND EXISTS (
        SELECT 1 FROM batch r JOIN epoch n ON (n.task_id, n.partition_id, n.epoch) = (r.task_id, r.partition_id, r.epoch)
        WHERE r.replay_of = d.batch_id AND n.state IN ('IN_FORCE', 'DONE')))";

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
        let dead: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("SELECT count(*) {COUNTED}")))
        .bind(task_id.as_str())
        .fetch_one(&self.pool)
        .await
        .map_err(StoreError::database(DOING))?;
        Ok(Totals { read: read.unsigned_abs(), dead_letters: dead.unsigned_abs() })
    }

    /// Dead letters of a task by class and code, most frequent first.
    pub async fn dead_letter_counts(&self, task_id: &TaskId) -> Result<Vec<(String, String, u64)>, StoreError> {
        let sql = format!("SELECT class, code, count(*) AS n {COUNTED} GROUP BY class, code ORDER BY n DESC, class, code");
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(task_id.as_str())
        .fetch_all(&self.pool)
        .await
        .map_err(StoreError::database("counting dead letters"))?;
        rows.iter().map(|row| Ok((text(row, "class")?, text(row, "code")?, unsigned(row, "n")?))).collect()
    }

    /// Dead letters of one batch, in the order of recording.
    pub async fn dead_letters_of(&self, batch_id: BatchId) -> Result<Vec<DeadLetterRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, batch_id, refused_at, class, code, field, output, position, message, first_failed_at
             FROM dead_letter WHERE batch_id = ?1 ORDER BY id",
        )
        .bind(batch_id.to_string())
        .fetch_all(&self.pool)
        .await
        .map_err(StoreError::database("reading dead letters"))?;
        rows.iter()
            .map(|row| {
                Ok(DeadLetterRow {
                    id: int(row, "id")?,
                    batch_id: parsed(row, "batch_id")?,
                    refused_at: text(row, "refused_at")?,
                    class: text(row, "class")?,
                    code: text(row, "code")?,
                    field: row.try_get("field").map_err(|e| super::damaged("field", &e))?,
                    output: row.try_get("output").map_err(|e| super::damaged("output", &e))?,
                    position: json(row, "position")?,
                    message: text(row, "message")?,
                    first_failed_at: Micros(int(row, "first_failed_at")?),
                })
            })
            .collect()
    }
}
