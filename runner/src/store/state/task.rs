//! Published snapshots: component labels, frozen schemas, task versions.

use super::{StateStore, int, json, parsed, text};
use crate::faults::{FaultPoint, reach};
use crate::store::{StoreError, now};
use gristmill_core::digest::{Digest, Hasher};
use gristmill_core::id::{Micros, SchemaId, TaskId, TaskVersion};
use gristmill_core::pins::Pins;
use gristmill_core::schema::Schema;
use sqlx::sqlite::SqliteRow;

/// A task version as stored: immutable.
#[derive(Debug, Clone)]
pub struct TaskVersionRow {
    pub task_id: TaskId,
    pub version: TaskVersion,
    pub schema_id: SchemaId,
    pub definition: serde_json::Value,
    pub pins: Pins,
    pub published_at: Micros,
}

/// The source columns of a task under a schema id.
#[derive(Debug, Clone)]
pub struct FrozenSource {
    pub schema: Schema,
    pub inferred: bool,
}

impl StateStore {
    /// Where a label points.
    pub async fn labelled(&self, label: &str) -> Result<Option<Digest>, StoreError> {
        let row = sqlx::query("SELECT digest FROM component WHERE label = ?1")
            .bind(label)
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::database("looking a label up"))?;
        row.map(|row| parsed(&row, "digest")).transpose()
    }

    /// Gives a label to bytes, for ever.
    pub async fn label(&self, label: &str, digest: Digest) -> Result<(), StoreError> {
        sqlx::query("INSERT INTO component (label, digest, stored_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
            .bind(label)
            .bind(digest.to_string())
            .bind(now().0)
            .execute(&self.pool)
            .await
            .map_err(StoreError::database("recording a label"))?;
        match self.labelled(label).await? {
            Some(found) if found != digest => Err(StoreError::Refused {
                what: format!(
                    "{label} is {} here, and a label never moves: these bytes are {}",
                    found.short(),
                    digest.short()
                ),
                hint: "give the changed component a new version".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Freezes the source columns of a task, once. Returns what is frozen.
    pub async fn freeze_source(
        &self,
        task_id: &TaskId,
        schema_id: &SchemaId,
        source: &FrozenSource,
    ) -> Result<FrozenSource, StoreError> {
        sqlx::query(
            "INSERT INTO source_schema (task_id, schema_id, definition, inferred, frozen_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO NOTHING",
        )
        .bind(task_id.as_str())
        .bind(schema_id.as_str())
        .bind(super::to_json(&source.schema)?)
        .bind(source.inferred)
        .bind(now().0)
        .execute(&self.pool)
        .await
        .map_err(StoreError::database("freezing the source's columns"))?;
        Ok(self.frozen_source(task_id, schema_id).await?.unwrap_or_else(|| source.clone()))
    }

    /// The source columns of a task under a schema id.
    pub async fn frozen_source(
        &self,
        task_id: &TaskId,
        schema_id: &SchemaId,
    ) -> Result<Option<FrozenSource>, StoreError> {
        let row = sqlx::query("SELECT definition, inferred FROM source_schema WHERE task_id = ?1 AND schema_id = ?2")
            .bind(task_id.as_str())
            .bind(schema_id.as_str())
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::database("reading the source's columns"))?;
        row.map(|row| Ok(FrozenSource { schema: json(&row, "definition")?, inferred: int(&row, "inferred")? != 0 }))
            .transpose()
    }

    /// Freezes a schema under its id. Returns what is frozen there, which is `schema` unless the id was taken.
    pub async fn freeze_schema(&self, schema_id: &SchemaId, schema: &Schema) -> Result<Schema, StoreError> {
        reach(FaultPoint::SchemaFreezeBefore);
        sqlx::query("INSERT INTO schema (schema_id, definition, digest, frozen_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")
            .bind(schema_id.as_str())
            .bind(super::to_json(schema)?)
            .bind(schema.digest().to_string())
            .bind(now().0)
            .execute(&self.pool)
            .await
            .map_err(StoreError::database("freezing a schema"))?;
        reach(FaultPoint::SchemaFreezeAfter);
        Ok(self.schema(schema_id).await?.unwrap_or_else(|| schema.clone()))
    }

    /// The schema frozen under an id.
    pub async fn schema(&self, schema_id: &SchemaId) -> Result<Option<Schema>, StoreError> {
        let row = sqlx::query("SELECT definition FROM schema WHERE schema_id = ?1")
            .bind(schema_id.as_str())
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::database("reading a schema"))?;
        row.map(|row| json(&row, "definition")).transpose()
    }

    /// Publishes a snapshot: the latest version when nothing changed, else the next one.
    pub async fn publish(
        &self,
        task_id: &TaskId,
        schema_id: &SchemaId,
        definition: &str,
        pins: &Pins,
    ) -> Result<TaskVersion, StoreError> {
        const DOING: &str = "publishing a task version";
        let pins = super::to_json(pins)?;
        let mut hasher = Hasher::new();
        for part in [schema_id.as_str(), definition, &pins] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let digest = hasher.finish().to_string();

        let mut tx = self.begin(DOING).await?;
        let latest =
            sqlx::query("SELECT version, digest FROM task_version WHERE task_id = ?1 ORDER BY version DESC LIMIT 1")
                .bind(task_id.as_str())
                .fetch_optional(&mut *tx)
                .await
                .map_err(StoreError::database(DOING))?;
        let latest =
            latest.map(|row| Ok::<_, StoreError>((int(&row, "version")?, text(&row, "digest")?))).transpose()?;
        let version = match latest {
            Some((version, found)) if found == digest => return version_of(version),
            Some((version, _)) => version + 1,
            None => 1,
        };
        sqlx::query(
            "INSERT INTO task_version (task_id, version, digest, definition, schema_id, pins, published_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )
        .bind(task_id.as_str())
        .bind(version)
        .bind(digest)
        .bind(definition)
        .bind(schema_id.as_str())
        .bind(pins)
        .bind(now().0)
        .execute(&mut *tx)
        .await
        .map_err(StoreError::database(DOING))?;
        reach(FaultPoint::TaskVersionBefore);
        tx.commit().await.map_err(StoreError::database(DOING))?;
        reach(FaultPoint::TaskVersionAfter);
        version_of(version)
    }

    /// The published versions of a task, oldest first.
    pub async fn task_versions(&self, task_id: &TaskId) -> Result<Vec<TaskVersionRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT task_id, version, schema_id, definition, pins, published_at FROM task_version WHERE task_id = ?1 ORDER BY version",
        )
        .bind(task_id.as_str())
        .fetch_all(&self.pool)
        .await
        .map_err(StoreError::database("reading task versions"))?;
        rows.iter().map(task_version).collect()
    }

    /// The tasks that this state knows.
    pub async fn tasks(&self) -> Result<Vec<TaskId>, StoreError> {
        let rows = sqlx::query("SELECT DISTINCT task_id FROM task_version ORDER BY task_id")
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::database("reading tasks"))?;
        rows.iter().map(|row| parsed(row, "task_id")).collect()
    }
}

fn task_version(row: &SqliteRow) -> Result<TaskVersionRow, StoreError> {
    Ok(TaskVersionRow {
        task_id: parsed(row, "task_id")?,
        version: version_of(int(row, "version")?)?,
        schema_id: parsed(row, "schema_id")?,
        definition: json(row, "definition")?,
        pins: json(row, "pins")?,
        published_at: Micros(int(row, "published_at")?),
    })
}

fn version_of(version: i64) -> Result<TaskVersion, StoreError> {
    u32::try_from(version).map(TaskVersion::new).map_err(|e| super::damaged("version", &e))
}
