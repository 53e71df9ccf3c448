//! The queue of dead letters: which ones wait, and what becomes of them.
//!
//! A letter keeps its first failure for ever; a replay that fails again writes the last one. It is settled in the
//! transaction that records the receipt of the batch that carried it.

use super::{CODE_MAX_BYTES, COUNTS, FIELD_MAX_BYTES, LETTERS};
use crate::faults::{FaultPoint, reach};
use crate::store::state::lease::fenced_unless;
use crate::store::state::{StateStore, damaged, held, int, json, optional, parsed, text, to_json, unsigned};
use crate::store::{StoreError, now};
use gristmill_core::dead_letter::{DeadLetter, LetterState, MESSAGE_MAX_BYTES, RecordPosition, bounded};
use gristmill_core::id::{BatchId, Micros, SchemaId, TaskId, TaskVersion};
use gristmill_core::lease::Tenure;
use gristmill_core::manifest::Manifest;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite, Transaction};

/// Why a record was refused, and by which version. Never its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub task_version: TaskVersion,
    pub refused_at: String,
    pub class: String,
    pub code: String,
    pub field: Option<String>,
    pub message: String,
    pub at: Micros,
}

/// A dead letter.
#[derive(Debug, Clone)]
pub struct DeadLetterRow {
    pub id: i64,
    pub task_id: TaskId,
    pub state: LetterState,
    /// It is open, and counts: its batch was not set aside, and no later epoch has judged its record anew.
    pub counts: bool,
    pub schema_id: SchemaId,
    /// The batch that it was refused from; its position is one of that batch's source or rows.
    pub batch_id: BatchId,
    pub output: Option<String>,
    pub position: RecordPosition,
    pub first: Failure,
    /// None: no replay has failed.
    pub last: Option<Failure>,
    pub replay_count: u64,
    /// The batch that carried it.
    pub settled_by: Option<BatchId>,
}

impl DeadLetterRow {
    /// Why it is a dead letter now.
    pub fn failure(&self) -> &Failure {
        self.last.as_ref().unwrap_or(&self.first)
    }
}

/// Some letters of a task.
#[derive(Debug, Clone, Default)]
pub struct LetterFilter {
    /// None: in any state. Open ones are those that count.
    pub state: Option<LetterState>,
    /// Of the last failure.
    pub class: Option<String>,
    /// Of the last failure.
    pub code: Option<String>,
    /// None: any.
    pub ids: Option<Vec<i64>>,
}

const COLUMNS: &str =
    "d.id, d.task_id, d.state, d.task_version, d.schema_id, d.batch_id, d.refused_at, d.class, d.code, d.field,
     d.output, d.position, d.message, d.first_failed_at, d.last_failed_at, d.replay_count, d.last_task_version,
     d.last_refused_at, d.last_class, d.last_code, d.last_field, d.last_message, d.settled_by";

/// ?1 task, ?2 class, ?3 code, ?4 ids.
const MATCHES: &str = "d.task_id = ?1 AND (?2 IS NULL OR ifnull(d.last_class, d.class) = ?2)
     AND (?3 IS NULL OR ifnull(d.last_code, d.code) = ?3) AND (?4 IS NULL OR d.id IN (SELECT value FROM json_each(?4)))";

/// Letters that READY batches carry: ?1 ids.
const ON_THEIR_WAY: &str = "SELECT w.dead_letter_id FROM dead_letter_row w JOIN batch b USING (batch_id)
     WHERE b.state = 'READY' AND w.dead_letter_id IN (SELECT value FROM json_each(?1))";

fn in_state(state: Option<LetterState>) -> String {
    match state {
        None => "TRUE".into(),
        Some(LetterState::Open) => COUNTS.into(),
        Some(state) => format!("d.state = '{}'", state.as_str()),
    }
}

impl StateStore {
    /// Letters of a task in the order of their ids, after one of them, up to a limit.
    pub async fn dead_letters(
        &self,
        task: &TaskId,
        filter: &LetterFilter,
        after: i64,
        limit: usize,
    ) -> Result<Vec<DeadLetterRow>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {COUNTS} AS counts {LETTERS} WHERE {MATCHES} AND {} AND d.id > ?5 ORDER BY d.id LIMIT ?6",
            in_state(filter.state)
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(task.as_str())
            .bind(filter.class.as_deref())
            .bind(filter.code.as_deref())
            .bind(filter.ids.as_ref().map(to_json).transpose()?)
            .bind(after)
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::database("reading dead letters"))?;
        rows.iter().map(letter).collect()
    }

    /// How many letters of a task there are.
    pub async fn dead_letter_count(&self, task: &TaskId, filter: &LetterFilter) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) {LETTERS} WHERE {MATCHES} AND {}", in_state(filter.state));
        let count: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .bind(task.as_str())
            .bind(filter.class.as_deref())
            .bind(filter.code.as_deref())
            .bind(filter.ids.as_ref().map(to_json).transpose()?)
            .fetch_one(&self.pool)
            .await
            .map_err(StoreError::database("counting dead letters"))?;
        Ok(count.unsigned_abs())
    }

    /// One letter, of any task.
    pub async fn dead_letter(&self, id: i64) -> Result<Option<DeadLetterRow>, StoreError> {
        let sql = format!("SELECT {COLUMNS}, {COUNTS} AS counts {LETTERS} WHERE d.id = ?1");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id)
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::database("reading a dead letter"))?;
        row.as_ref().map(letter).transpose()
    }

    /// The letters that were refused from a batch, in the order of recording.
    pub async fn dead_letters_of(&self, batch_id: BatchId) -> Result<Vec<DeadLetterRow>, StoreError> {
        self.letters_where("d.batch_id = ?1", batch_id).await
    }

    /// The letters that a batch of a replay carries.
    pub async fn letters_in(&self, batch_id: BatchId) -> Result<Vec<DeadLetterRow>, StoreError> {
        self.letters_where("d.id IN (SELECT dead_letter_id FROM dead_letter_row WHERE batch_id = ?1)", batch_id).await
    }

    async fn letters_where(&self, condition: &str, batch_id: BatchId) -> Result<Vec<DeadLetterRow>, StoreError> {
        let sql = format!("SELECT {COLUMNS}, {COUNTS} AS counts {LETTERS} WHERE {condition} ORDER BY d.id");
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(batch_id.to_string())
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::database("reading dead letters"))?;
        rows.iter().map(letter).collect()
    }

    /// Those of some letters that a READY batch carries: what it holds is written whatever is decided now.
    pub async fn letters_on_their_way(&self, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
        sqlx::query_scalar(ON_THEIR_WAY)
            .bind(to_json(&ids)?)
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::database("looking for letters on their way"))
    }

    /// OPEN → DISCARDED. Returns how many.
    pub async fn discard_letters(&self, tenure: &Tenure, ids: &[i64]) -> Result<u64, StoreError> {
        const DOING: &str = "discarding dead letters";
        let mut tx = self.begin(DOING).await?;
        hold(&mut tx, tenure, DOING).await?;
        let done = sqlx::query(
            "UPDATE dead_letter SET state = 'DISCARDED'
             WHERE task_id = ?1 AND state = 'OPEN' AND id IN (SELECT value FROM json_each(?2))",
        )
        .bind(tenure.task_id.as_str())
        .bind(to_json(&ids)?)
        .execute(&mut *tx)
        .await
        .map_err(StoreError::database(DOING))?;
        reach(FaultPoint::DeadLettersBefore);
        tx.commit().await.map_err(StoreError::database(DOING))?;
        reach(FaultPoint::DeadLettersAfter);
        Ok(done.rows_affected())
    }

    /// Letters whose records a version has refused again, before they came into a batch.
    pub async fn letters_failed_again(
        &self,
        tenure: &Tenure,
        version: TaskVersion,
        failures: &[(i64, DeadLetter)],
    ) -> Result<(), StoreError> {
        const DOING: &str = "recording dead letters that failed again";
        if failures.is_empty() {
            return Ok(());
        }
        let mut tx = self.begin(DOING).await?;
        hold(&mut tx, tenure, DOING).await?;
        for (id, failure) in failures {
            failed_again(&mut tx, *id, version, failure).await?;
        }
        reach(FaultPoint::DeadLettersBefore);
        tx.commit().await.map_err(StoreError::database(DOING))?;
        reach(FaultPoint::DeadLettersAfter);
        Ok(())
    }
}

/// Refuses to go on without the lease. The transaction is a writer: nobody can claim it before the commit.
async fn hold(tx: &mut Transaction<'_, Sqlite>, tenure: &Tenure, doing: &'static str) -> Result<(), StoreError> {
    let is_held: bool = sqlx::query_scalar(concat!("SELECT ", held!()))
        .bind(tenure.task_id.as_str())
        .bind(tenure.partition_id.as_str())
        .bind(tenure.fencing_token.get() as i64)
        .fetch_one(&mut **tx)
        .await
        .map_err(StoreError::database(doing))?;
    fenced_unless(is_held, tenure, doing)
}

/// Settles the letters that a batch carries, within the transaction of its receipt: those of `refused` rows have failed
/// again, the others are done with.
pub(in crate::store::state) async fn settle(
    tx: &mut Transaction<'_, Sqlite>,
    manifest: &Manifest,
    refused: &[DeadLetter],
) -> Result<(), StoreError> {
    let mut failed: Vec<i64> = Vec::new();
    for failure in refused {
        let RecordPosition::Batch { row } = failure.position else { continue };
        let letter: Option<i64> =
            sqlx::query_scalar("SELECT dead_letter_id FROM dead_letter_row WHERE batch_id = ?1 AND row = ?2")
                .bind(manifest.batch_id.to_string())
                .bind(i64::from(row))
                .fetch_optional(&mut **tx)
                .await
                .map_err(StoreError::database("settling dead letters"))?;
        let letter = letter
            .ok_or_else(|| damaged("row", &format!("no dead letter is row {row} of batch {}", manifest.batch_id)))?;
        // A letter that several rows were made of has failed once.
        if !failed.contains(&letter) {
            failed_again(tx, letter, manifest.task_version, failure).await?;
            failed.push(letter);
        }
    }
    sqlx::query(
        "UPDATE dead_letter SET state = 'REPLAYED', settled_by = ?1, replay_count = replay_count + 1
         WHERE state = 'OPEN' AND id IN (SELECT dead_letter_id FROM dead_letter_row WHERE batch_id = ?1)
         AND id NOT IN (SELECT value FROM json_each(?2))",
    )
    .bind(manifest.batch_id.to_string())
    .bind(to_json(&failed)?)
    .execute(&mut **tx)
    .await
    .map_err(StoreError::database("settling dead letters"))?;
    Ok(())
}

async fn failed_again(
    tx: &mut Transaction<'_, Sqlite>,
    id: i64,
    version: TaskVersion,
    failure: &DeadLetter,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE dead_letter SET last_task_version = ?2, last_refused_at = ?3, last_class = ?4, last_code = ?5, last_field = ?6,
         last_message = ?7, last_failed_at = ?8, replay_count = replay_count + 1 WHERE id = ?1 AND state = 'OPEN'",
    )
    .bind(id)
    .bind(i64::from(version.get()))
    .bind(failure.refused_at.to_string())
    .bind(failure.class.as_str())
    .bind(bounded(&failure.code, CODE_MAX_BYTES))
    .bind(failure.field.as_deref().map(|f| bounded(f, FIELD_MAX_BYTES)))
    .bind(bounded(&failure.message, MESSAGE_MAX_BYTES))
    .bind(now().0)
    .execute(&mut **tx)
    .await
    .map_err(StoreError::database("recording a dead letter that failed again"))?;
    Ok(())
}

fn letter(row: &SqliteRow) -> Result<DeadLetterRow, StoreError> {
    let version =
        |column: &str, value: i64| u32::try_from(value).map(TaskVersion::new).map_err(|e| damaged(column, &e));
    let state = text(row, "state")?;
    let first = Failure {
        task_version: version("task_version", int(row, "task_version")?)?,
        refused_at: text(row, "refused_at")?,
        class: text(row, "class")?,
        code: text(row, "code")?,
        field: optional(row, "field")?,
        message: text(row, "message")?,
        at: Micros(int(row, "first_failed_at")?),
    };
    let last = match optional(row, "last_class")? {
        None => None,
        Some(class) => Some(Failure {
            task_version: version("last_task_version", int(row, "last_task_version")?)?,
            refused_at: text(row, "last_refused_at")?,
            class,
            code: text(row, "last_code")?,
            field: optional(row, "last_field")?,
            message: text(row, "last_message")?,
            at: Micros(int(row, "last_failed_at")?),
        }),
    };
    Ok(DeadLetterRow {
        id: int(row, "id")?,
        task_id: parsed(row, "task_id")?,
        state: LetterState::parse(&state).ok_or_else(|| damaged("state", &format!("unknown state {state}")))?,
        counts: row.try_get("counts").map_err(|e| damaged("counts", &e))?,
        schema_id: parsed(row, "schema_id")?,
        batch_id: parsed(row, "batch_id")?,
        output: optional(row, "output")?,
        position: json(row, "position")?,
        first,
        last,
        replay_count: unsigned(row, "replay_count")?,
        settled_by: optional(row, "settled_by")?
            .map(|id| id.parse().map_err(|e| damaged("settled_by", &e)))
            .transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::cursor::Cursor;
    use gristmill_core::dead_letter::{DeadLetterClass, RefusedAt};
    use gristmill_core::digest::Digest;
    use gristmill_core::id::{Epoch, FencingToken, PartitionId, Sequence};
    use gristmill_core::manifest::MANIFEST_FORMAT;
    use gristmill_core::pins::Pins;

    const SOURCE_BATCH: &str = "01J2S000000000000000000001";
    const REPLAY_BATCH: &str = "01J2S000000000000000000002";

    fn manifest() -> Manifest {
        Manifest {
            format: MANIFEST_FORMAT,
            batch_id: REPLAY_BATCH.parse().unwrap(),
            task_id: TaskId::new("t").unwrap(),
            task_version: TaskVersion::new(2),
            partition_id: PartitionId::dead_letters(),
            epoch: Epoch::new(1),
            sequence: Sequence::new(1),
            schema_id: SchemaId::new("s").unwrap(),
            schema_digest: Digest::of(b""),
            cursor_from: Cursor::Start,
            cursor_to: Cursor::Start,
            record_count: 4,
            insert_count: 4,
            update_count: 0,
            delete_count: 0,
            dead_letter_count: 0,
            data_uri: String::new(),
            data_bytes: 0,
            checksum: Digest::of(b""),
            created_at: Micros(0),
            fencing_token: FencingToken::new(1),
            pins: Pins::default(),
            replay_of: None,
            raw: None,
            source_state: Default::default(),
        }
    }

    fn refused(row: u32, code: &str) -> DeadLetter {
        DeadLetter {
            refused_at: RefusedAt::Sink,
            class: DeadLetterClass::VersionConflict,
            code: code.into(),
            field: None,
            output: None,
            position: RecordPosition::Batch { row },
            message: "m".into(),
        }
    }

    /// Letters 1 to 4, one source record each.
    async fn store(folder: &std::path::Path) -> StateStore {
        let store = StateStore::open(&folder.join("state.db")).await.unwrap();
        for (batch, partition) in [(SOURCE_BATCH, "all"), (REPLAY_BATCH, "dead-letters")] {
            sqlx::query(
                "INSERT INTO batch (batch_id, task_id, task_version, partition_id, epoch, sequence, schema_id, state, fencing_token,
                 created_at, manifest_digest) VALUES (?1, 't', 1, ?2, 1, 1, 's', 'READY', 1, 0, 'd')",
            )
            .bind(batch)
            .bind(partition)
            .execute(&store.pool)
            .await
            .unwrap();
        }
        for id in 1..=4 {
            sqlx::query(
                "INSERT INTO dead_letter (id, task_id, task_version, schema_id, batch_id, refused_at, class, code, position, message,
                 first_failed_at, last_failed_at) VALUES (?1, 't', 1, 's', ?2, 'normalize', 'rejected', 'c', ?3, 'm', 5, 5)",
            )
            .bind(id)
            .bind(SOURCE_BATCH)
            .bind(format!(r#"{{"in":"source","object":"a","objectSequence":1,"record":{id}}}"#))
            .execute(&store.pool)
            .await
            .unwrap();
        }
        store
    }

    /// A letter of several rows is settled once, or fails once; so is one whose record gave no row.
    #[tokio::test]
    async fn letters_of_several_rows_are_settled_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        let mut tx = store.begin("testing").await.unwrap();
        // Rows 0 to 3 are letters 1, 1, 2, 2; letter 3 gave none; letter 4 is in no batch.
        super::super::bind_letters(&mut tx, manifest().batch_id, &[1, 1, 2, 2, 3]).await.unwrap();
        settle(&mut tx, &manifest(), &[refused(2, "first"), refused(3, "second")]).await.unwrap();
        tx.commit().await.unwrap();
        let task = TaskId::new("t").unwrap();
        let letters = store.dead_letters(&task, &LetterFilter::default(), 0, 10).await.unwrap();
        let shown: Vec<_> = letters.iter().map(|l| (l.id, l.state, l.replay_count, l.settled_by.is_some())).collect();
        use LetterState::{Open, Replayed};
        assert_eq!(shown, [(1, Replayed, 1, true), (2, Open, 1, false), (3, Replayed, 1, true), (4, Open, 0, false)]);
        let last = letters[1].last.as_ref().unwrap();
        assert_eq!(
            (last.code.as_str(), last.class.as_str(), last.task_version.get()),
            ("first", "version-conflict", 2)
        );
        assert_eq!((letters[1].first.code.as_str(), letters[1].first.at), ("c", Micros(5)), "the first failure stays");
        assert!(letters[3].last.is_none());
        // A refused row that no letter stands for is a state that nothing can have left behind.
        let mut tx = store.begin("testing").await.unwrap();
        let error = settle(&mut tx, &manifest(), &[refused(9, "x")]).await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }

    #[tokio::test]
    async fn the_queue_is_passed_in_windows_and_filtered_by_the_last_failure() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        let task = TaskId::new("t").unwrap();
        let tenure = store
            .claim_lease(
                &task,
                &PartitionId::dead_letters(),
                &gristmill_core::lease::Owner::new("me"),
                true,
                Micros(0),
                Micros(9),
            )
            .await
            .unwrap()
            .unwrap();
        store.letters_failed_again(&tenure, TaskVersion::new(3), &[(2, refused(0, "new"))]).await.unwrap();
        let ids = async |filter: &LetterFilter, after, limit| -> Vec<i64> {
            store.dead_letters(&task, filter, after, limit).await.unwrap().iter().map(|letter| letter.id).collect()
        };
        let open = LetterFilter { state: Some(LetterState::Open), ..LetterFilter::default() };
        assert_eq!((ids(&open, 0, 2).await, ids(&open, 2, 2).await), (vec![1, 2], vec![3, 4]));
        let class = |class: &str| LetterFilter { class: Some(class.into()), ..open.clone() };
        assert_eq!(ids(&class("version-conflict"), 0, 10).await, [2]);
        assert_eq!(ids(&class("rejected"), 0, 10).await, [1, 3, 4]);
        let some = LetterFilter { ids: Some(vec![4, 2, 77]), ..open.clone() };
        assert_eq!((ids(&some, 0, 10).await, store.dead_letter_count(&task, &some).await.unwrap()), (vec![2, 4], 2));
        assert_eq!(store.discard_letters(&tenure, &[2, 3]).await.unwrap(), 2);
        assert_eq!(store.discard_letters(&tenure, &[2, 3]).await.unwrap(), 0);
        assert_eq!(ids(&open, 0, 10).await, [1, 4]);
        assert_eq!(store.totals(&task).await.unwrap().dead_letters, 2, "discarded ones no longer count");

        // Whoever has lost the lease changes nothing.
        let late = Tenure { fencing_token: FencingToken::new(tenure.fencing_token.get() + 1), ..tenure };
        assert!(matches!(store.discard_letters(&late, &[1]).await, Err(StoreError::Fenced { .. })));
        let again = store.letters_failed_again(&late, TaskVersion::new(3), &[(1, refused(0, "new"))]).await;
        assert!(matches!(again, Err(StoreError::Fenced { .. })));
    }
}
