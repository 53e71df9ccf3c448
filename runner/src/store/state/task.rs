//! Published snapshots: component labels, frozen schemas, task versions.

use super::{StateStore, int, json, optional, optional_json, parsed, text};
use crate::faults::{FaultPoint, reach};
use crate::store::{StoreError, now};
use gristmill_core::digest::{Digest, Hasher};
use gristmill_core::id::{Micros, SchemaId, TaskId, TaskVersion};
use gristmill_core::pins::Pins;
use gristmill_core::schema::Schema;
use gristmill_core::schema::rules::Rules;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use std::path::{Path, PathBuf};

/// A task version as stored: immutable.
#[derive(Debug, Clone)]
pub struct TaskVersionRow {
    pub task_id: TaskId,
    pub version: TaskVersion,
    pub schema_id: SchemaId,
    pub definition: serde_json::Value,
    pub pins: Pins,
    /// The pipeline file as it was written; none for versions of the first release.
    pub pipeline: Option<String>,
    /// Where the pipeline's relative paths start.
    pub base_dir: Option<PathBuf>,
    /// What the runner put in place of the file's own words when it adopted a changed source.
    pub adopted: Option<Adopted>,
    /// How it came about.
    pub origin: String,
    pub published_at: Micros,
}

/// What a version has in place of its pipeline file's own words: the runner adopted a changed source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Adopted {
    pub schema: SchemaId,
    /// Of the source.
    pub columns: Schema,
}

/// A snapshot about to be published.
#[derive(Debug)]
pub struct NewVersion<'a> {
    pub task_id: &'a TaskId,
    pub schema_id: &'a SchemaId,
    /// Canonical JSON.
    pub definition: &'a str,
    pub pins: &'a Pins,
    pub pipeline: &'a str,
    pub base_dir: &'a Path,
    pub adopted: Option<&'a Adopted>,
    pub origin: &'a str,
}

/// What a publication must not overtake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Base(
    /// The latest version when the snapshot was made; none: the task was new.
    pub Option<TaskVersion>,
);

impl NewVersion<'_> {
    /// Names the snapshot by its content: the same content is no new version.
    fn digest(&self) -> Result<String, StoreError> {
        let mut hasher = Hasher::new();
        for part in [self.schema_id.as_str(), self.definition, &super::to_json(self.pins)?] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Ok(hasher.finish().to_string())
    }
}

/// A label, for people.
#[derive(Debug, Clone)]
pub struct LabelRow {
    pub label: String,
    pub digest: Digest,
    pub stored_at: Micros,
}

/// A schema as it is frozen under its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrozenSchema {
    pub schema: Schema,
    pub rules: Rules,
}

/// A frozen schema, for people.
#[derive(Debug, Clone)]
pub struct SchemaRow {
    pub schema_id: SchemaId,
    pub schema: Schema,
    pub rules: Rules,
    pub frozen_at: Micros,
}

const VERSION: &str =
    "SELECT task_id, version, schema_id, definition, pins, pipeline, base_dir, adopted, origin, published_at
    FROM task_version";

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
    pub async fn freeze_schema(
        &self,
        schema_id: &SchemaId,
        schema: &Schema,
        rules: &Rules,
    ) -> Result<FrozenSchema, StoreError> {
        reach(FaultPoint::SchemaFreezeBefore);
        sqlx::query(
            "INSERT INTO schema (schema_id, definition, digest, frozen_at, rules) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        )
            .bind(schema_id.as_str())
            .bind(super::to_json(schema)?)
            .bind(schema.digest().to_string())
            .bind(now().0)
            .bind(rules.canonical_json())
            .execute(&self.pool)
            .await
            .map_err(StoreError::database("freezing a schema"))?;
        reach(FaultPoint::SchemaFreezeAfter);
        let frozen = self.frozen_schema(schema_id).await?;
        Ok(frozen.unwrap_or_else(|| FrozenSchema { schema: schema.clone(), rules: rules.clone() }))
    }

    /// The schema frozen under an id, with its rules.
    pub async fn frozen_schema(&self, schema_id: &SchemaId) -> Result<Option<FrozenSchema>, StoreError> {
        let row = sqlx::query("SELECT definition, rules FROM schema WHERE schema_id = ?1")
            .bind(schema_id.as_str())
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::database("reading a schema"))?;
        row.map(|row| {
            let rules = optional_json(&row, "rules")?.unwrap_or_default();
            Ok(FrozenSchema { schema: json(&row, "definition")?, rules })
        })
        .transpose()
    }

    /// The schema frozen under an id.
    pub async fn schema(&self, schema_id: &SchemaId) -> Result<Option<Schema>, StoreError> {
        Ok(self.frozen_schema(schema_id).await?.map(|frozen| frozen.schema))
    }

    /// Publishes a snapshot: the latest version when nothing changed, else the next one. Refused when another version than
    /// `base` is the latest by now: two publishers do not overwrite each other unseen.
    pub async fn publish(&self, new: &NewVersion<'_>, base: Base) -> Result<TaskVersion, StoreError> {
        const DOING: &str = "publishing a task version";
        let (pins, digest) = (super::to_json(new.pins)?, new.digest()?);
        let adopted = new.adopted.map(super::to_json).transpose()?;
        let mut tx = self.begin(DOING).await?;
        let latest = sqlx::query(
            "SELECT version, digest, origin, published_at FROM task_version WHERE task_id = ?1 ORDER BY version DESC LIMIT 1",
        )
        .bind(new.task_id.as_str())
        .fetch_optional(&mut *tx)
        .await
        .map_err(StoreError::database(DOING))?;
        let mut version = TaskVersion::new(1);
        if let Some(row) = latest {
            let latest = version_of(int(&row, "version")?)?;
            if text(&row, "digest")? == digest {
                return Ok(latest);
            }
            if base.0 != Some(latest) {
                let at = crate::store::shown_time(Micros(int(&row, "published_at")?));
                return Err(StoreError::Overtaken {
                    what: format!(
                        "version {latest} of task `{}` was published meanwhile ({}, {at}), and this one is lost to it",
                        new.task_id,
                        text(&row, "origin")?
                    ),
                    hint: format!("look at it with `gristmill tasks show {}`, then publish again", new.task_id),
                });
            }
            version = latest.next();
        }
        sqlx::query(
            "INSERT INTO task_version (task_id, version, digest, definition, schema_id, pins, published_at, pipeline, base_dir, adopted, origin)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )
        .bind(new.task_id.as_str())
        .bind(i64::from(version.get()))
        .bind(digest)
        .bind(new.definition)
        .bind(new.schema_id.as_str())
        .bind(pins)
        .bind(now().0)
        .bind(new.pipeline)
        .bind(new.base_dir.to_string_lossy())
        .bind(adopted)
        .bind(new.origin)
        .execute(&mut *tx)
        .await
        .map_err(StoreError::database(DOING))?;
        reach(FaultPoint::TaskVersionBefore);
        tx.commit().await.map_err(StoreError::database(DOING))?;
        reach(FaultPoint::TaskVersionAfter);
        Ok(version)
    }

    /// The version that is this very snapshot, the newest if there are several.
    pub async fn same_version(&self, new: &NewVersion<'_>) -> Result<Option<TaskVersion>, StoreError> {
        let row = sqlx::query(
            "SELECT version FROM task_version WHERE task_id = ?1 AND digest = ?2 ORDER BY version DESC LIMIT 1",
        )
        .bind(new.task_id.as_str())
        .bind(new.digest()?)
        .fetch_optional(&self.pool)
        .await
        .map_err(StoreError::database("looking for a task version"))?;
        row.map(|row| version_of(int(&row, "version")?)).transpose()
    }

    /// The number of a task's latest version.
    pub async fn latest_version(&self, task_id: &TaskId) -> Result<Option<TaskVersion>, StoreError> {
        let version: Option<i64> = sqlx::query_scalar("SELECT max(version) FROM task_version WHERE task_id = ?1")
            .bind(task_id.as_str())
            .fetch_one(&self.pool)
            .await
            .map_err(StoreError::database("looking for the latest version"))?;
        version.map(version_of).transpose()
    }

    /// One version of a task.
    pub async fn task_version(
        &self,
        task_id: &TaskId,
        version: TaskVersion,
    ) -> Result<Option<TaskVersionRow>, StoreError> {
        let row = sqlx::query(sqlx::AssertSqlSafe(format!("{VERSION} WHERE task_id = ?1 AND version = ?2")))
            .bind(task_id.as_str())
            .bind(i64::from(version.get()))
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::database("reading a task version"))?;
        row.as_ref().map(task_version).transpose()
    }

    /// Every label and what it names.
    pub async fn labels(&self) -> Result<Vec<LabelRow>, StoreError> {
        let rows = sqlx::query("SELECT label, digest, stored_at FROM component ORDER BY label")
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::database("reading labels"))?;
        rows.iter()
            .map(|row| {
                Ok(LabelRow {
                    label: text(row, "label")?,
                    digest: parsed(row, "digest")?,
                    stored_at: Micros(int(row, "stored_at")?),
                })
            })
            .collect()
    }

    /// Every frozen schema.
    pub async fn schemas(&self) -> Result<Vec<SchemaRow>, StoreError> {
        let rows =
            sqlx::query("SELECT schema_id, definition, rules, frozen_at FROM schema ORDER BY frozen_at, schema_id")
                .fetch_all(&self.pool)
                .await
                .map_err(StoreError::database("reading schemas"))?;
        rows.iter()
            .map(|row| {
                Ok(SchemaRow {
                    schema_id: parsed(row, "schema_id")?,
                    schema: json(row, "definition")?,
                    rules: optional_json(row, "rules")?.unwrap_or_default(),
                    frozen_at: Micros(int(row, "frozen_at")?),
                })
            })
            .collect()
    }

    /// The published versions of a task, oldest first.
    pub async fn task_versions(&self, task_id: &TaskId) -> Result<Vec<TaskVersionRow>, StoreError> {
        let rows = sqlx::query(sqlx::AssertSqlSafe(format!("{VERSION} WHERE task_id = ?1 ORDER BY version")))
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
        pipeline: optional(row, "pipeline")?,
        base_dir: optional(row, "base_dir")?.map(PathBuf::from),
        adopted: optional_json(row, "adopted")?,
        origin: text(row, "origin")?,
        published_at: Micros(int(row, "published_at")?),
    })
}

pub(super) fn version_of(version: i64) -> Result<TaskVersion, StoreError> {
    u32::try_from(version).map(TaskVersion::new).map_err(|e| super::damaged("version", &e))
}
