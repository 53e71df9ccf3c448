//! Schema changes of tasks. What may follow what is decided by [`gristmill_core::schema_change::next`].

use super::{StateStore, int, json, optional, optional_json, parsed, text, to_json};
use crate::faults::{FaultPoint, reach};
use crate::store::{StoreError, now};
use gristmill_core::id::{Micros, SchemaId, TaskId, TaskVersion};
use gristmill_core::schema::Schema;
use gristmill_core::schema_change::{Event, Refused, State, next};
use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

/// A schema change, as stored.
#[derive(Debug, Clone)]
pub struct SchemaChangeRow {
    pub id: i64,
    pub task_id: TaskId,
    pub state: State,
    /// Where the source showed it; none: the pipeline asks for it.
    pub object: Option<String>,
    pub from_schema_id: SchemaId,
    /// The source's columns by that object.
    pub observed: Option<Schema>,
    /// What differs, and what that means: JSON of [`gristmill_core::schema::compatibility::Change`]s.
    pub changes: Value,
    pub plan: Option<Value>,
    /// The version that the plan published.
    pub task_version: Option<TaskVersion>,
    pub detected_at: Micros,
    pub updated_at: Micros,
}

/// A change that was just met.
#[derive(Debug)]
pub struct NewSchemaChange<'a> {
    pub task_id: &'a TaskId,
    pub object: Option<&'a str>,
    pub from_schema_id: &'a SchemaId,
    pub observed: Option<&'a Schema>,
    pub changes: &'a Value,
}

/// What goes with an event.
#[derive(Debug, Default)]
pub struct Recorded<'a> {
    pub plan: Option<&'a Value>,
    pub task_version: Option<TaskVersion>,
}

const COLUMNS: &str =
    "SELECT id, task_id, state, object, from_schema_id, observed, changes, plan, task_version, detected_at, updated_at
    FROM schema_change";

impl StateStore {
    /// The changes of a task, oldest first.
    pub async fn schema_changes(&self, task: &TaskId) -> Result<Vec<SchemaChangeRow>, StoreError> {
        let rows = sqlx::query(sqlx::AssertSqlSafe(format!("{COLUMNS} WHERE task_id = ?1 ORDER BY id")))
            .bind(task.as_str())
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::database("reading schema changes"))?;
        rows.iter().map(change_row).collect()
    }

    /// The change that a task waits for, if any.
    pub async fn open_schema_change(&self, task: &TaskId) -> Result<Option<SchemaChangeRow>, StoreError> {
        Ok(self.schema_changes(task).await?.into_iter().find(|row| !row.state.is_final()))
    }

    /// Records that a change was met. A task has one open change: a change on top of it makes it start over, with what is
    /// known now.
    pub async fn detect_schema_change(&self, new: &NewSchemaChange<'_>) -> Result<i64, StoreError> {
        const DOING: &str = "recording a schema change";
        let observed = new.observed.map(to_json).transpose()?;
        let open = self.open_schema_change(new.task_id).await?;
        let mut tx = self.begin(DOING).await?;
        let id = match open {
            Some(open) => {
                let state = next(open.state, Event::ChangedAgain).map_err(refused)?;
                sqlx::query(
                    "UPDATE schema_change SET state = ?2, object = ?3, observed = ?4, changes = ?5, plan = NULL, updated_at = ?6 WHERE id = ?1",
                )
                .bind(open.id)
                .bind(state.as_str())
                .bind(new.object)
                .bind(observed)
                .bind(to_json(new.changes)?)
                .bind(now().0)
                .execute(&mut *tx)
                .await
                .map_err(StoreError::database(DOING))?;
                open.id
            }
            None => sqlx::query(
                "INSERT INTO schema_change (task_id, state, object, from_schema_id, observed, changes, detected_at, updated_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
            )
            .bind(new.task_id.as_str())
            .bind(State::Detected.as_str())
            .bind(new.object)
            .bind(new.from_schema_id.as_str())
            .bind(observed)
            .bind(to_json(new.changes)?)
            .bind(now().0)
            .execute(&mut *tx)
            .await
            .map_err(StoreError::database(DOING))?
            .last_insert_rowid(),
        };
        reach(FaultPoint::SchemaChangeBefore);
        tx.commit().await.map_err(StoreError::database(DOING))?;
        reach(FaultPoint::SchemaChangeAfter);
        Ok(id)
    }

    /// Records what has happened to a change.
    pub async fn record_schema_event(
        &self,
        id: i64,
        event: Event,
        recorded: Recorded<'_>,
    ) -> Result<State, StoreError> {
        const DOING: &str = "recording a schema change";
        let mut tx = self.begin(DOING).await?;
        let found: Option<String> = sqlx::query_scalar("SELECT state FROM schema_change WHERE id = ?1")
            .bind(id)
            .fetch_optional(&mut *tx)
            .await
            .map_err(StoreError::database(DOING))?;
        let found = found.ok_or_else(|| StoreError::Missing {
            what: format!("schema change {id}"),
            hint: "they are listed by `gristmill schema list`".into(),
        })?;
        let state = State::parse(&found).ok_or_else(|| super::damaged("state", &found))?;
        let state = next(state, event).map_err(refused)?;
        sqlx::query(
            "UPDATE schema_change SET state = ?2, plan = coalesce(?3, plan), task_version = coalesce(?4, task_version), updated_at = ?5
             WHERE id = ?1",
        )
        .bind(id)
        .bind(state.as_str())
        .bind(recorded.plan.map(to_json).transpose()?)
        .bind(recorded.task_version.map(|version| i64::from(version.get())))
        .bind(now().0)
        .execute(&mut *tx)
        .await
        .map_err(StoreError::database(DOING))?;
        reach(FaultPoint::SchemaChangeBefore);
        tx.commit().await.map_err(StoreError::database(DOING))?;
        reach(FaultPoint::SchemaChangeAfter);
        Ok(state)
    }
}

fn refused(refused: Refused) -> StoreError {
    let Refused { state, .. } = refused;
    StoreError::Refused {
        what: refused.to_string(),
        hint: format!("the change is {state}: see `gristmill schema show`"),
    }
}

fn change_row(row: &SqliteRow) -> Result<SchemaChangeRow, StoreError> {
    let state = text(row, "state")?;
    let version: Option<i64> = row.try_get("task_version").map_err(|e| super::damaged("task_version", &e))?;
    let version =
        version.map(|v| u32::try_from(v).map(TaskVersion::new).map_err(|e| super::damaged("task_version", &e)));
    Ok(SchemaChangeRow {
        id: int(row, "id")?,
        task_id: parsed(row, "task_id")?,
        state: State::parse(&state).ok_or_else(|| super::damaged("state", &state))?,
        object: optional(row, "object")?,
        from_schema_id: parsed(row, "from_schema_id")?,
        observed: optional_json(row, "observed")?,
        changes: json(row, "changes")?,
        plan: optional_json(row, "plan")?,
        task_version: version.transpose()?,
        detected_at: Micros(int(row, "detected_at")?),
        updated_at: Micros(int(row, "updated_at")?),
    })
}
