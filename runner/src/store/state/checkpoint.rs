//! Checkpoints and the source's logical state, always together.

use super::lease::fenced_unless;
use super::{BatchRow, StateStore, held, int, json, parsed, text, to_json, unsigned};
use crate::faults::{FaultPoint, reach};
use crate::store::{CommitPermit, StoreError};
use gristmill_core::checkpoint::Checkpoint;
use gristmill_core::id::{CheckpointVersion, Epoch, FencingToken, Micros, PartitionId, Sequence, TaskId};
use gristmill_core::lease::Tenure;
use gristmill_core::recover::{self, Inconsistent, KnownBatch};
use sqlx::sqlite::SqliteRow;
use std::collections::BTreeMap;

/// Everything that a start needs to know.
#[derive(Debug)]
pub struct Resume {
    pub checkpoint: Checkpoint,
    pub source_state: BTreeMap<String, String>,
    /// Never became READY.
    pub discard: Vec<BatchRow>,
    /// To deliver from the store, in order.
    pub deliver: Vec<BatchRow>,
}

const COLUMNS: &str =
    "SELECT task_id, partition_id, epoch, version, cursor, last_sequence, last_batch_id, fencing_token, updated_at
    FROM checkpoint";

impl StateStore {
    /// The checkpoint of an epoch, and what has to be done before reading on.
    pub async fn resume(&self, tenure: &Tenure, epoch: Epoch) -> Result<Result<Resume, Inconsistent>, StoreError> {
        let (task, partition) = (&tenure.task_id, &tenure.partition_id);
        let checkpoint = self
            .checkpoint(task, partition, epoch)
            .await?
            .unwrap_or_else(|| Checkpoint::start(task.clone(), partition.clone(), epoch, FencingToken::new(0)));
        let after = self.batches_after(tenure, checkpoint.epoch, checkpoint.last_sequence).await?;
        let known: Vec<_> = after
            .iter()
            .map(|row| KnownBatch { batch_id: row.batch_id, sequence: row.sequence, state: row.state })
            .collect();
        let plan = match recover::plan(&checkpoint, &known) {
            Ok(plan) => plan,
            Err(e) => return Ok(Err(e)),
        };
        let rows = |ids: &[_]| -> Vec<BatchRow> {
            ids.iter().filter_map(|id| after.iter().find(|row| row.batch_id == *id)).cloned().collect()
        };
        let source_state = self.source_state(task, partition, checkpoint.epoch).await?;
        Ok(Ok(Resume { source_state, discard: rows(&plan.discard), deliver: rows(&plan.deliver), checkpoint }))
    }

    /// Compare-and-swap, with the source's logical state in the same transaction. Returns the new checkpoint.
    pub async fn advance(&self, tenure: &Tenure, permit: CommitPermit) -> Result<Checkpoint, StoreError> {
        const DOING: &str = "advancing the checkpoint";
        let (expected, next, source_state) = permit.into_parts();
        let mut tx = self.begin(DOING).await?;
        let sql = if expected == CheckpointVersion::new(0) {
            concat!(
                "INSERT INTO checkpoint (task_id, partition_id, epoch, version, cursor, last_sequence, last_batch_id, fencing_token, updated_at)
                 SELECT ?1, ?2, ?4, ?6, ?7, ?8, ?9, ?3, ?10 WHERE ?5 = 0 AND ", held!(), " ON CONFLICT DO NOTHING"
            )
        } else {
            concat!(
                "UPDATE checkpoint SET version = ?6, cursor = ?7, last_sequence = ?8, last_batch_id = ?9, fencing_token = ?3, updated_at = ?10
                 WHERE task_id = ?1 AND partition_id = ?2 AND epoch = ?4 AND version = ?5 AND fencing_token <= ?3 AND ", held!()
            )
        };
        let done = sqlx::query(sql)
            .bind(tenure.task_id.as_str())
            .bind(tenure.partition_id.as_str())
            .bind(tenure.fencing_token.get() as i64)
            .bind(next.epoch.get() as i64)
            .bind(expected.get() as i64)
            .bind(next.version.get() as i64)
            .bind(to_json(&next.cursor)?)
            .bind(next.last_sequence.get() as i64)
            .bind(next.last_batch_id.map(|id| id.to_string()))
            .bind(next.updated_at.0)
            .execute(&mut *tx)
            .await
            .map_err(StoreError::database(DOING))?;
        fenced_unless(done.rows_affected() == 1, tenure, DOING)?;
        for (key, value) in source_state {
            let query = match &value {
                Some(value) => sqlx::query(
                    "INSERT INTO source_state (task_id, partition_id, epoch, key, value) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT DO UPDATE SET value = ?5",
                )
                .bind(tenure.task_id.as_str())
                .bind(tenure.partition_id.as_str())
                .bind(next.epoch.get() as i64)
                .bind(key)
                .bind(value),
                None => sqlx::query(
                    "DELETE FROM source_state WHERE task_id = ?1 AND partition_id = ?2 AND epoch = ?3 AND key = ?4",
                )
                .bind(tenure.task_id.as_str())
                .bind(tenure.partition_id.as_str())
                .bind(next.epoch.get() as i64)
                .bind(key),
            };
            query.execute(&mut *tx).await.map_err(StoreError::database(DOING))?;
        }
        reach(FaultPoint::CheckpointBefore);
        tx.commit().await.map_err(StoreError::database(DOING))?;
        reach(FaultPoint::CheckpointAfter);
        Ok(next)
    }

    /// The checkpoint of a partition in an epoch.
    pub async fn checkpoint(
        &self,
        task: &TaskId,
        partition: &PartitionId,
        epoch: Epoch,
    ) -> Result<Option<Checkpoint>, StoreError> {
        let sql = format!("{COLUMNS} WHERE task_id = ?1 AND partition_id = ?2 AND epoch = ?3");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(task.as_str())
            .bind(partition.as_str())
            .bind(epoch.get() as i64)
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::database("reading a checkpoint"))?;
        row.map(|row| checkpoint(&row)).transpose()
    }

    /// All checkpoints of a task.
    pub async fn checkpoints(&self, task: &TaskId) -> Result<Vec<Checkpoint>, StoreError> {
        let sql = format!("{COLUMNS} WHERE task_id = ?1 ORDER BY partition_id, epoch");
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(task.as_str())
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::database("reading checkpoints"))?;
        rows.iter().map(checkpoint).collect()
    }

    /// The source's logical state as of the checkpoint of a partition in an epoch.
    pub async fn source_state(
        &self,
        task: &TaskId,
        partition: &PartitionId,
        epoch: Epoch,
    ) -> Result<BTreeMap<String, String>, StoreError> {
        let rows =
            sqlx::query("SELECT key, value FROM source_state WHERE task_id = ?1 AND partition_id = ?2 AND epoch = ?3")
                .bind(task.as_str())
                .bind(partition.as_str())
                .bind(epoch.get() as i64)
                .fetch_all(&self.pool)
                .await
                .map_err(StoreError::database("reading the source's state"))?;
        rows.iter().map(|row| Ok((text(row, "key")?, text(row, "value")?))).collect()
    }
}

fn checkpoint(row: &SqliteRow) -> Result<Checkpoint, StoreError> {
    Ok(Checkpoint {
        task_id: parsed(row, "task_id")?,
        partition_id: parsed(row, "partition_id")?,
        epoch: Epoch::new(unsigned(row, "epoch")?),
        version: CheckpointVersion::new(unsigned(row, "version")?),
        cursor: json(row, "cursor")?,
        last_sequence: Sequence::new(unsigned(row, "last_sequence")?),
        last_batch_id: Some(parsed(row, "last_batch_id")?),
        fencing_token: FencingToken::new(unsigned(row, "fencing_token")?),
        updated_at: Micros(int(row, "updated_at")?),
    })
}
