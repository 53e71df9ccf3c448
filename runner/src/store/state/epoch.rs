//! Generations of a partition's history: which one is in force, and which are being made.

use super::lease::fenced_unless;
use super::{StateStore, held, int, optional_json, parsed, text, to_json, unsigned};
use crate::faults::{FaultPoint, reach};
use crate::store::{StoreError, now};
use gristmill_core::id::{BatchId, Epoch, Micros, PartitionId, TaskId, TaskVersion};
use gristmill_core::lease::Tenure;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;

/// Why a generation was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EpochKind {
    /// Read from the source.
    Live,
    /// All of an earlier one mapped anew, to take its place.
    Rebuild,
    /// A part of an earlier one mapped anew, beside it.
    Repair,
}

/// How far a generation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EpochState {
    /// A replay that has not ended.
    Running,
    /// The history that runs go on with.
    InForce,
    /// Another one took its place.
    Superseded,
    /// A repair that has ended.
    Done,
    /// Given up; nothing of it counts.
    Abandoned,
}

impl EpochKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Rebuild => "rebuild",
            Self::Repair => "repair",
        }
    }
}

impl EpochState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::InForce => "IN_FORCE",
            Self::Superseded => "SUPERSEDED",
            Self::Done => "DONE",
            Self::Abandoned => "ABANDONED",
        }
    }
}

/// What a replay maps anew, and where to; kept so that a killed one goes on as it was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplayPlan {
    /// In order; none: every committed batch of the earlier epoch, and those that become so meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<Vec<BatchId>>,
    /// Tables are built beside those in use and swapped at the end.
    pub beside: bool,
}

/// A generation, as stored.
#[derive(Debug, Clone)]
pub struct EpochRow {
    pub task_id: TaskId,
    pub partition_id: PartitionId,
    pub epoch: Epoch,
    pub kind: EpochKind,
    pub state: EpochState,
    pub of_epoch: Option<Epoch>,
    pub task_version: Option<TaskVersion>,
    pub plan: Option<ReplayPlan>,
    pub started_at: Micros,
    pub ended_at: Option<Micros>,
}

const COLUMNS: &str =
    "SELECT task_id, partition_id, epoch, kind, state, of_epoch, task_version, plan, started_at, ended_at FROM epoch";

impl StateStore {
    /// The history that runs of a partition go on with.
    pub async fn epoch_in_force(&self, task: &TaskId, partition: &PartitionId) -> Result<Epoch, StoreError> {
        let epoch: Option<i64> = sqlx::query_scalar(
            "SELECT epoch FROM epoch WHERE task_id = ?1 AND partition_id = ?2 AND state = 'IN_FORCE'",
        )
        .bind(task.as_str())
        .bind(partition.as_str())
        .fetch_optional(&self.pool)
        .await
        .map_err(StoreError::database("reading the epoch in force"))?;
        Ok(Epoch::new(epoch.map_or(1, i64::unsigned_abs)))
    }

    /// The generations of a task.
    pub async fn epochs(&self, task: &TaskId) -> Result<Vec<EpochRow>, StoreError> {
        let rows =
            sqlx::query(sqlx::AssertSqlSafe(format!("{COLUMNS} WHERE task_id = ?1 ORDER BY partition_id, epoch")))
                .bind(task.as_str())
                .fetch_all(&self.pool)
                .await
                .map_err(StoreError::database("reading epochs"))?;
        rows.iter().map(epoch_row).collect()
    }

    /// The replay of a partition that has not ended, if there is one.
    pub async fn running_replay(&self, task: &TaskId, partition: &PartitionId) -> Result<Option<EpochRow>, StoreError> {
        let mut running = self.epochs(task).await?;
        running.retain(|row| row.partition_id == *partition && row.state == EpochState::Running);
        Ok(running.pop())
    }

    /// Begins the next generation: a replay of the one in force with the pins of a version.
    pub async fn begin_replay(
        &self,
        tenure: &Tenure,
        kind: EpochKind,
        task_version: TaskVersion,
        plan: &ReplayPlan,
    ) -> Result<EpochRow, StoreError> {
        const DOING: &str = "beginning a replay";
        let (task, partition) = (&tenure.task_id, &tenure.partition_id);
        let of_epoch = self.epoch_in_force(task, partition).await?;
        let mut tx = self.begin(DOING).await?;
        let done = sqlx::query(concat!(
            "INSERT INTO epoch (task_id, partition_id, epoch, kind, state, of_epoch, task_version, plan, started_at)
             SELECT ?1, ?2, 1 + max(?5, (SELECT coalesce(max(epoch), 0) FROM epoch WHERE task_id = ?1 AND partition_id = ?2)),
             ?4, 'RUNNING', ?5, ?6, ?7, ?8 WHERE ",
            held!()
        ))
        .bind(task.as_str())
        .bind(partition.as_str())
        .bind(tenure.fencing_token.get() as i64)
        .bind(kind.as_str())
        .bind(of_epoch.get() as i64)
        .bind(i64::from(task_version.get()))
        .bind(to_json(plan)?)
        .bind(now().0)
        .execute(&mut *tx)
        .await
        .map_err(StoreError::database(DOING))?;
        fenced_unless(done.rows_affected() == 1, tenure, DOING)?;
        reach(FaultPoint::ReplayBeginBefore);
        tx.commit().await.map_err(StoreError::database(DOING))?;
        reach(FaultPoint::ReplayBeginAfter);
        let row = self.running_replay(task, partition).await?;
        row.ok_or_else(|| StoreError::Damaged {
            what: "the epochs of the state".into(),
            detail: "a replay was begun and is not there".into(),
            hint: "the state was changed by another program: restore it from a backup".into(),
        })
    }

    /// Ends a replay. A rebuild comes into force, in one step with the end of the one before; a repair is done.
    pub async fn end_replay(&self, tenure: &Tenure, replay: &EpochRow) -> Result<(), StoreError> {
        const DOING: &str = "ending a replay";
        let state = match replay.kind {
            EpochKind::Rebuild => EpochState::InForce,
            EpochKind::Live | EpochKind::Repair => EpochState::Done,
        };
        let mut tx = self.begin(DOING).await?;
        if state == EpochState::InForce {
            let of_epoch = replay.of_epoch.unwrap_or(Epoch::new(1));
            sqlx::query(
                "INSERT INTO epoch (task_id, partition_id, epoch, kind, state, started_at, ended_at)
                 VALUES (?1, ?2, ?3, 'live', 'SUPERSEDED', ?4, ?4)
                 ON CONFLICT DO UPDATE SET state = 'SUPERSEDED', ended_at = ?4",
            )
            .bind(tenure.task_id.as_str())
            .bind(tenure.partition_id.as_str())
            .bind(of_epoch.get() as i64)
            .bind(now().0)
            .execute(&mut *tx)
            .await
            .map_err(StoreError::database(DOING))?;
        }
        let done = sqlx::query(concat!(
            "UPDATE epoch SET state = ?5, ended_at = ?6 WHERE task_id = ?1 AND partition_id = ?2 AND epoch = ?4
             AND state = 'RUNNING' AND ",
            held!()
        ))
        .bind(tenure.task_id.as_str())
        .bind(tenure.partition_id.as_str())
        .bind(tenure.fencing_token.get() as i64)
        .bind(replay.epoch.get() as i64)
        .bind(state.as_str())
        .bind(now().0)
        .execute(&mut *tx)
        .await
        .map_err(StoreError::database(DOING))?;
        fenced_unless(done.rows_affected() == 1, tenure, DOING)?;
        reach(FaultPoint::ReplayEndBefore);
        tx.commit().await.map_err(StoreError::database(DOING))?;
        reach(FaultPoint::ReplayEndAfter);
        Ok(())
    }

    /// Gives a replay up: nothing of it counts.
    pub async fn abandon_replay(&self, tenure: &Tenure, replay: &EpochRow) -> Result<(), StoreError> {
        const DOING: &str = "giving a replay up";
        let done = sqlx::query(concat!(
            "UPDATE epoch SET state = 'ABANDONED', ended_at = ?5 WHERE task_id = ?1 AND partition_id = ?2 AND epoch = ?4
             AND state = 'RUNNING' AND ",
            held!()
        ))
        .bind(tenure.task_id.as_str())
        .bind(tenure.partition_id.as_str())
        .bind(tenure.fencing_token.get() as i64)
        .bind(replay.epoch.get() as i64)
        .bind(now().0)
        .execute(&self.pool)
        .await
        .map_err(StoreError::database(DOING))?;
        fenced_unless(done.rows_affected() == 1, tenure, DOING)
    }
}

fn epoch_row(row: &SqliteRow) -> Result<EpochRow, StoreError> {
    use EpochState::{Abandoned, Done, InForce, Running, Superseded};
    let unknown = |column: &str, text: &str| super::damaged(column, &format!("unknown {column} {text}"));
    let (kind, state) = (text(row, "kind")?, text(row, "state")?);
    let of_epoch: Option<i64> = sqlx::Row::try_get(row, "of_epoch").map_err(|e| super::damaged("of_epoch", &e))?;
    let version: Option<i64> =
        sqlx::Row::try_get(row, "task_version").map_err(|e| super::damaged("task_version", &e))?;
    let ended_at: Option<i64> = sqlx::Row::try_get(row, "ended_at").map_err(|e| super::damaged("ended_at", &e))?;
    let version =
        version.map(|v| u32::try_from(v).map(TaskVersion::new).map_err(|e| super::damaged("task_version", &e)));
    let kinds = [EpochKind::Live, EpochKind::Rebuild, EpochKind::Repair];
    let states = [Running, InForce, Superseded, Done, Abandoned];
    Ok(EpochRow {
        task_id: parsed(row, "task_id")?,
        partition_id: parsed(row, "partition_id")?,
        epoch: Epoch::new(unsigned(row, "epoch")?),
        kind: kinds.into_iter().find(|k| k.as_str() == kind).ok_or_else(|| unknown("kind", &kind))?,
        state: states.into_iter().find(|s| s.as_str() == state).ok_or_else(|| unknown("state", &state))?,
        of_epoch: of_epoch.map(|e| Epoch::new(e.unsigned_abs())),
        task_version: version.transpose()?,
        plan: optional_json(row, "plan")?,
        started_at: Micros(int(row, "started_at")?),
        ended_at: ended_at.map(Micros),
    })
}
