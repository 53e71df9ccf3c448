//! The life cycle of batches, and receipts.

use super::dead_letter::{bind_letters, insert_dead_letters, settle};
use super::lease::fenced_unless;
use super::{StateStore, damaged, held, int, json, parsed, text, to_json, unsigned};
use crate::faults::{FaultPoint, reach};
use crate::sink::Receipt;
use crate::store::{ReadyBatch, StoreError, now};
use gristmill_core::dead_letter::DeadLetter;
use gristmill_core::digest::Digest;
use gristmill_core::id::{BatchId, Epoch, FencingToken, Micros, PartitionId, SchemaId, Sequence, TaskId, TaskVersion};
use gristmill_core::lease::Tenure;
use gristmill_core::manifest::{BatchState, Manifest};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use std::collections::BTreeMap;

/// A batch about to be written.
#[derive(Debug)]
pub struct NewBatch {
    pub batch_id: BatchId,
    pub task_version: TaskVersion,
    pub epoch: Epoch,
    pub sequence: Sequence,
    pub schema_id: SchemaId,
    /// The batch of an earlier epoch whose records these are.
    pub replay_of: Option<BatchId>,
    pub created_at: Micros,
}

/// What becomes known when a batch is READY.
#[derive(Debug)]
pub struct ReadyRow<'a> {
    pub manifest: &'a Manifest,
    pub manifest_digest: Digest,
    pub dead_letters: &'a [DeadLetter],
    /// The dead letter that each record is, in a replay of dead letters.
    pub letters: &'a [i64],
}

/// A batch as the state knows it.
#[derive(Debug, Clone)]
pub struct BatchRow {
    pub batch_id: BatchId,
    pub task_id: TaskId,
    pub task_version: TaskVersion,
    pub partition_id: PartitionId,
    pub epoch: Epoch,
    pub sequence: Sequence,
    pub schema_id: SchemaId,
    pub state: BatchState,
    pub fencing_token: FencingToken,
    pub created_at: Micros,
    /// None while WRITING.
    pub record_count: Option<u64>,
    pub dead_letter_count: Option<u64>,
    pub data_bytes: Option<u64>,
    pub manifest_digest: Option<Digest>,
    /// The batch of an earlier epoch whose records these are.
    pub replay_of: Option<BatchId>,
}

/// A recorded receipt.
#[derive(Debug, Clone)]
pub struct ReceiptRow {
    pub digest: Digest,
    pub body: serde_json::Value,
    pub recorded_at: Micros,
}

const COLUMNS: &str =
    "SELECT batch_id, task_id, task_version, partition_id, epoch, sequence, schema_id, state, fencing_token,
    created_at, record_count, dead_letter_count, data_bytes, manifest_digest, replay_of FROM batch";

impl StateStore {
    /// WRITING: announces a batch, so that files of one that never becomes READY are known.
    pub(in crate::store) async fn begin_batch(&self, tenure: &Tenure, new: &NewBatch) -> Result<(), StoreError> {
        const DOING: &str = "announcing a batch";
        let done = sqlx::query(concat!(
            "INSERT INTO batch (batch_id, task_id, task_version, partition_id, epoch, sequence, schema_id, state, fencing_token, created_at, replay_of)
             SELECT ?4, ?1, ?5, ?2, ?6, ?7, ?8, 'WRITING', ?3, ?9, ?10 WHERE ", held!()
        ))
        .bind(tenure.task_id.as_str())
        .bind(tenure.partition_id.as_str())
        .bind(tenure.fencing_token.get() as i64)
        .bind(new.batch_id.to_string())
        .bind(i64::from(new.task_version.get()))
        .bind(new.epoch.get() as i64)
        .bind(new.sequence.get() as i64)
        .bind(new.schema_id.as_str())
        .bind(new.created_at.0)
        .bind(new.replay_of.map(|id| id.to_string()))
        .execute(&self.pool)
        .await
        .map_err(StoreError::database(DOING))?;
        fenced_unless(done.rows_affected() == 1, tenure, DOING)
    }

    /// WRITING → READY, with the dead letters of its page.
    pub(in crate::store) async fn mark_ready(&self, tenure: &Tenure, ready: ReadyRow<'_>) -> Result<(), StoreError> {
        const DOING: &str = "marking a batch READY";
        let manifest = ready.manifest;
        let mut tx = self.begin(DOING).await?;
        let done = sqlx::query(concat!(
            "UPDATE batch SET state = 'READY', record_count = ?5, dead_letter_count = ?6, data_bytes = ?7,
             manifest_digest = ?8, ready_at = ?9
             WHERE batch_id = ?4 AND state = 'WRITING' AND ",
            held!()
        ))
        .bind(tenure.task_id.as_str())
        .bind(tenure.partition_id.as_str())
        .bind(tenure.fencing_token.get() as i64)
        .bind(manifest.batch_id.to_string())
        .bind(manifest.record_count as i64)
        .bind(manifest.dead_letter_count as i64)
        .bind(manifest.data_bytes as i64)
        .bind(ready.manifest_digest.to_string())
        .bind(now().0)
        .execute(&mut *tx)
        .await
        .map_err(StoreError::database(DOING))?;
        fenced_unless(done.rows_affected() == 1, tenure, DOING)?;
        insert_dead_letters(&mut tx, manifest, ready.dead_letters).await?;
        bind_letters(&mut tx, manifest.batch_id, ready.letters).await?;
        tx.commit().await.map_err(StoreError::database(DOING))
    }

    /// Forgets a batch that never became READY.
    pub(in crate::store) async fn discard_batch(&self, tenure: &Tenure, batch_id: BatchId) -> Result<(), StoreError> {
        const DOING: &str = "discarding an unfinished batch";
        let done = sqlx::query(concat!("DELETE FROM batch WHERE batch_id = ?4 AND state = 'WRITING' AND ", held!()))
            .bind(tenure.task_id.as_str())
            .bind(tenure.partition_id.as_str())
            .bind(tenure.fencing_token.get() as i64)
            .bind(batch_id.to_string())
            .execute(&self.pool)
            .await
            .map_err(StoreError::database(DOING))?;
        fenced_unless(done.rows_affected() == 1, tenure, DOING)
    }

    /// READY → COMMITTED: the target's answer, and the rows that map and sink refused; where the batch carries dead letters,
    /// what became of those. The same receipt again changes nothing; another digest for the same batch is refused.
    pub async fn record_receipt(
        &self,
        tenure: &Tenure,
        batch: &ReadyBatch,
        receipt: &Receipt,
        dead_letters: &[DeadLetter],
    ) -> Result<(), StoreError> {
        const DOING: &str = "recording a receipt";
        let batch_id = receipt.batch_id();
        let mut tx = self.begin(DOING).await?;
        let done = sqlx::query(concat!(
            "UPDATE batch SET state = 'COMMITTED' WHERE batch_id = ?4 AND state IN ('READY', 'COMMITTED') AND ",
            held!()
        ))
        .bind(tenure.task_id.as_str())
        .bind(tenure.partition_id.as_str())
        .bind(tenure.fencing_token.get() as i64)
        .bind(batch_id.to_string())
        .execute(&mut *tx)
        .await
        .map_err(StoreError::database(DOING))?;
        fenced_unless(done.rows_affected() == 1, tenure, DOING)?;
        let first: Option<String> = sqlx::query_scalar("SELECT digest FROM receipt WHERE batch_id = ?1")
            .bind(batch_id.to_string())
            .fetch_optional(&mut *tx)
            .await
            .map_err(StoreError::database(DOING))?;
        match first {
            Some(first) if first == receipt.digest().to_string() => return Ok(()),
            Some(first) => {
                return Err(StoreError::Refused {
                    what: format!("the target's receipt for batch {batch_id} has digest {}, {first} was recorded", receipt.digest()),
                    hint: "the target was restored or changed by another writer: compare it with `gristmill replay --verify`".into(),
                });
            }
            None => {}
        }
        sqlx::query(
            "INSERT INTO receipt (batch_id, task_id, digest, fencing_token, body, recorded_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .bind(batch_id.to_string())
        .bind(receipt.task_id().as_str())
        .bind(receipt.digest().to_string())
        .bind(receipt.fencing_token().get() as i64)
        .bind(to_json(receipt)?)
        .bind(now().0)
        .execute(&mut *tx)
        .await
        .map_err(StoreError::database(DOING))?;
        match batch.manifest().partition_id == PartitionId::dead_letters() {
            true => settle(&mut tx, batch.manifest(), dead_letters).await?,
            false => insert_dead_letters(&mut tx, batch.manifest(), dead_letters).await?,
        }
        reach(FaultPoint::ReceiptBefore);
        tx.commit().await.map_err(StoreError::database(DOING))?;
        reach(FaultPoint::ReceiptAfter);
        Ok(())
    }

    /// READY → QUARANTINED, for a batch and those after it: their ranges are read again under new ids. Returns how many.
    pub async fn quarantine(&self, tenure: &Tenure, first: &BatchRow) -> Result<u64, StoreError> {
        const DOING: &str = "quarantining a batch";
        let done = sqlx::query(concat!(
            "UPDATE batch SET state = 'QUARANTINED'
             WHERE task_id = ?1 AND partition_id = ?2 AND epoch = ?4 AND sequence >= ?5 AND state = 'READY' AND ",
            held!()
        ))
        .bind(tenure.task_id.as_str())
        .bind(tenure.partition_id.as_str())
        .bind(tenure.fencing_token.get() as i64)
        .bind(first.epoch.get() as i64)
        .bind(first.sequence.get() as i64)
        .execute(&self.pool)
        .await
        .map_err(StoreError::database(DOING))?;
        fenced_unless(done.rows_affected() >= 1, tenure, DOING)?;
        Ok(done.rows_affected())
    }

    /// The batches of a task, oldest first.
    pub async fn batches(&self, task_id: &TaskId) -> Result<Vec<BatchRow>, StoreError> {
        self.select(
            &format!("{COLUMNS} WHERE task_id = ?1 ORDER BY epoch, partition_id, sequence, batch_id"),
            task_id.as_str(),
        )
        .await
    }

    /// The schemas of a task's READY and COMMITTED batches, with the number of batches of each.
    pub async fn stored_schemas(&self, task_id: &TaskId) -> Result<BTreeMap<SchemaId, u64>, StoreError> {
        let rows = sqlx::query(
            "SELECT schema_id, count(*) AS batches FROM batch
             WHERE task_id = ?1 AND state IN ('READY', 'COMMITTED') GROUP BY schema_id",
        )
        .bind(task_id.as_str())
        .fetch_all(&self.pool)
        .await
        .map_err(StoreError::database("counting batches by schema"))?;
        rows.iter().map(|row| Ok((parsed(row, "schema_id")?, unsigned(row, "batches")?))).collect()
    }

    /// The version of the batch that was announced last for a task's whole partition.
    pub async fn last_batch_version(&self, task_id: &TaskId) -> Result<Option<TaskVersion>, StoreError> {
        let version: Option<i64> = sqlx::query_scalar(
            "SELECT task_version FROM batch WHERE task_id = ?1 AND replay_of IS NULL ORDER BY created_at DESC LIMIT 1",
        )
        .bind(task_id.as_str())
        .fetch_optional(&self.pool)
        .await
        .map_err(StoreError::database("looking for the last batch"))?;
        version.map(super::task::version_of).transpose()
    }

    /// The committed batches of an epoch in which dead letters were replayed, in order; `from_source`: only those whose records
    /// no other batch of the history holds.
    pub async fn replayed_letters(
        &self,
        task_id: &TaskId,
        epoch: Epoch,
        from_source: bool,
    ) -> Result<Vec<BatchRow>, StoreError> {
        let sql = format!(
            "{COLUMNS} WHERE task_id = ?1 AND partition_id = ?2 AND epoch = ?3 AND state = 'COMMITTED' AND (NOT ?4 OR EXISTS (
                SELECT 1 FROM dead_letter_row w JOIN dead_letter d ON d.id = w.dead_letter_id
                WHERE w.batch_id = batch.batch_id AND d.refused_at IN ('source', 'normalize'))) ORDER BY sequence"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(task_id.as_str())
            .bind(PartitionId::dead_letters().as_str())
            .bind(epoch.get() as i64)
            .bind(from_source)
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::database("reading batches"))?;
        rows.iter().map(batch_row).collect()
    }

    /// The committed batches that map a batch anew, oldest first.
    pub async fn replays_of(&self, batch_id: BatchId) -> Result<Vec<BatchRow>, StoreError> {
        self.select(
            &format!("{COLUMNS} WHERE replay_of = ?1 AND state = 'COMMITTED' ORDER BY epoch, sequence"),
            &batch_id.to_string(),
        )
        .await
    }

    /// One batch.
    pub async fn batch(&self, batch_id: BatchId) -> Result<Option<BatchRow>, StoreError> {
        Ok(self.select(&format!("{COLUMNS} WHERE batch_id = ?1"), &batch_id.to_string()).await?.pop())
    }

    async fn select(&self, sql: &str, bind: &str) -> Result<Vec<BatchRow>, StoreError> {
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql.to_owned()))
            .bind(bind)
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::database("reading batches"))?;
        rows.iter().map(batch_row).collect()
    }

    /// The batches of one history after a checkpoint, for recovery.
    pub(super) async fn batches_after(
        &self,
        tenure: &Tenure,
        epoch: Epoch,
        last: Sequence,
    ) -> Result<Vec<BatchRow>, StoreError> {
        let sql = format!(
            "{COLUMNS} WHERE task_id = ?1 AND partition_id = ?2 AND epoch = ?3 AND sequence > ?4 AND state <> 'QUARANTINED'"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(tenure.task_id.as_str())
            .bind(tenure.partition_id.as_str())
            .bind(epoch.get() as i64)
            .bind(last.get() as i64)
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::database("reading batches"))?;
        rows.iter().map(batch_row).collect()
    }

    /// The receipt of a batch.
    pub async fn receipt(&self, batch_id: BatchId) -> Result<Option<ReceiptRow>, StoreError> {
        let row = sqlx::query("SELECT digest, body, recorded_at FROM receipt WHERE batch_id = ?1")
            .bind(batch_id.to_string())
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::database("reading a receipt"))?;
        row.map(|row| {
            Ok(ReceiptRow {
                digest: parsed(&row, "digest")?,
                body: json(&row, "body")?,
                recorded_at: Micros(int(&row, "recorded_at")?),
            })
        })
        .transpose()
    }
}

fn batch_row(row: &SqliteRow) -> Result<BatchRow, StoreError> {
    let known = |column: &str| -> Result<Option<u64>, StoreError> {
        let value: Option<i64> = row.try_get(column).map_err(|e| damaged(column, &e))?;
        value.map(|v| u64::try_from(v).map_err(|e| damaged(column, &e))).transpose()
    };
    let state = text(row, "state")?;
    let digest: Option<String> = row.try_get("manifest_digest").map_err(|e| damaged("manifest_digest", &e))?;
    Ok(BatchRow {
        batch_id: parsed(row, "batch_id")?,
        task_id: parsed(row, "task_id")?,
        task_version: TaskVersion::new(
            u32::try_from(int(row, "task_version")?).map_err(|e| damaged("task_version", &e))?,
        ),
        partition_id: parsed(row, "partition_id")?,
        epoch: Epoch::new(unsigned(row, "epoch")?),
        sequence: Sequence::new(unsigned(row, "sequence")?),
        schema_id: parsed(row, "schema_id")?,
        state: BatchState::parse(&state).ok_or_else(|| damaged("state", &format!("unknown state {state}")))?,
        fencing_token: FencingToken::new(unsigned(row, "fencing_token")?),
        created_at: Micros(int(row, "created_at")?),
        record_count: known("record_count")?,
        dead_letter_count: known("dead_letter_count")?,
        data_bytes: known("data_bytes")?,
        replay_of: super::optional(row, "replay_of")?
            .map(|id| id.parse().map_err(|e| damaged("replay_of", &e)))
            .transpose()?,
        manifest_digest: digest.map(|d| d.parse().map_err(|e| damaged("manifest_digest", &e))).transpose()?,
    })
}
