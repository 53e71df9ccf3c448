//! The metadata store, in SQLite: one writer, WAL, every commit on disk before it returns.
//!
//! Every write that a lease protects carries the fencing token and is refused in the same statement when the lease has
//! been claimed again since (see [`held`]).

mod batch;
mod checkpoint;
mod dead_letter;
mod epoch;
mod lease;
mod references;
mod schema_change;
mod task;

pub use batch::{BatchRow, NewBatch, ReadyRow, ReceiptRow};
pub use checkpoint::Resume;
pub use dead_letter::{DeadLetterRow, Failure, LetterFilter, Totals};
pub use epoch::{EpochKind, EpochRow, EpochState, ReplayPlan};
pub use lease::{LeaseRow, Refusal};
pub use references::Named;
pub use schema_change::{NewSchemaChange, Recorded, SchemaChangeRow};
pub use task::{Adopted, Base, FrozenSchema, FrozenSource, LabelRow, NewVersion, SchemaRow, TaskVersionRow};

use super::StoreError;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{Row, Sqlite, Transaction};
use std::path::Path;
use std::time::Duration;

/// How long one half of the loop waits for the other's use of the state.
const CONNECTION_WAIT_MAX: Duration = Duration::from_mins(5);
/// From here on such a wait is worth a warning.
const CONNECTION_WAIT_SLOW: Duration = Duration::from_secs(30);

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// The condition that the lease of (?1 task, ?2 partition) still carries token ?3. Part of every protected write.
macro_rules! held {
    () => {
        "EXISTS (SELECT 1 FROM lease WHERE task_id = ?1 AND partition_id = ?2 AND fencing_token = ?3)"
    };
}
use held;

/// The runner's metadata. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StateStore {
    pool: SqlitePool,
}

impl StateStore {
    /// Opens the state at `path`, creating and migrating it as needed.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        Self::connect(path, true).await
    }

    /// Opens a state that must exist: a question about a task never creates one.
    pub async fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing {
                what: format!("the state {}", path.display()),
                hint: "run a pipeline first, or name its state with --state".into(),
            });
        }
        Self::connect(path, false).await
    }

    async fn connect(path: &Path, create: bool) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(create)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(30))
            .foreign_keys(true);
        // One connection: the state has one writer anyway, and SQLite would only make a second one wait. The halves of the
        // loop wait for each other's commits here, and a busy disk may take long over one: that must not end a run.
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(CONNECTION_WAIT_MAX)
            .acquire_slow_threshold(CONNECTION_WAIT_SLOW)
            // Neither has a use for a local file. Without them the pool starts no maintenance task, whose count of idle
            // connections can be read in the moment when it is below zero: it then takes the connection for ever.
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_with(options)
            .await
            .map_err(StoreError::database("opening the state"))?;
        MIGRATIONS.run(&pool).await.map_err(|e| match e {
            sqlx::migrate::MigrateError::VersionMissing(_) => StoreError::Refused {
                what: format!("the state {} was written by a newer gristmill", path.display()),
                hint: "run it with that version or a later one".into(),
            },
            sqlx::migrate::MigrateError::Execute(e) | sqlx::migrate::MigrateError::ExecuteMigration(e, _) => {
                StoreError::database("migrating the state")(e)
            }
            e => StoreError::Io { doing: "migrating the state".into(), transient: false, source: e.into() },
        })?;
        Ok(Self { pool })
    }

    /// Checks the database's own consistency.
    pub async fn integrity(&self) -> Result<(), StoreError> {
        let verdict: String = sqlx::query_scalar("PRAGMA integrity_check")
            .fetch_one(&self.pool)
            .await
            .map_err(StoreError::database("checking the state"))?;
        if verdict == "ok" {
            return Ok(());
        }
        let detail = gristmill_core::dead_letter::bounded(&verdict, 200);
        Err(StoreError::Damaged { what: "the state".into(), detail, hint: "restore it from a backup".into() })
    }

    /// A transaction that is a writer from its start: one that becomes a writer later can fail at once (SQLITE_BUSY).
    async fn begin(&self, doing: &'static str) -> Result<Transaction<'_, Sqlite>, StoreError> {
        self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(StoreError::database(doing))
    }
}

/// Reads a text column through its type's own parser: the state is data from outside, too.
fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(row: &SqliteRow, column: &str) -> Result<T, StoreError> {
    text(row, column)?.parse().map_err(|e| damaged(column, &e))
}

fn json<T: serde::de::DeserializeOwned>(row: &SqliteRow, column: &str) -> Result<T, StoreError> {
    serde_json::from_str(&text(row, column)?).map_err(|e| damaged(column, &e))
}

fn optional(row: &SqliteRow, column: &str) -> Result<Option<String>, StoreError> {
    row.try_get(column).map_err(|e| damaged(column, &e))
}

fn optional_json<T: serde::de::DeserializeOwned>(row: &SqliteRow, column: &str) -> Result<Option<T>, StoreError> {
    let text = optional(row, column)?;
    text.map(|text| serde_json::from_str(&text).map_err(|e| damaged(column, &e))).transpose()
}

fn text(row: &SqliteRow, column: &str) -> Result<String, StoreError> {
    row.try_get(column).map_err(|e| damaged(column, &e))
}

fn int(row: &SqliteRow, column: &str) -> Result<i64, StoreError> {
    row.try_get(column).map_err(|e| damaged(column, &e))
}

fn unsigned(row: &SqliteRow, column: &str) -> Result<u64, StoreError> {
    u64::try_from(int(row, column)?).map_err(|e| damaged(column, &e))
}

fn damaged(column: &str, detail: &dyn std::fmt::Display) -> StoreError {
    StoreError::Damaged {
        what: format!("column `{column}` of the state"),
        detail: detail.to_string(),
        hint: "the state was changed by hand or by another program: restore it from a backup".into(),
    }
}

fn to_json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::Io {
        doing: "encoding state".into(),
        transient: false,
        source: e.into(),
    })
}
