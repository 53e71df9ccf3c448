//! From pins back to running code: every byte comes from the store and is proven against its digest.

use super::{Published, Settings, Targets, dictionary};
use crate::config::Pipeline;
use crate::drive::RunError;
use crate::drive::mapping::{Link, Mapper};
use crate::drive::normalize::Normalizer;
use crate::host::{ComponentError, Dictionaries, Host, HostError, HostLimits, PlanError, PlannedStage, Stage};
use crate::schema::to_arrow;
use crate::store::content::ContentKind;
use crate::store::state::{FrozenSchema, TaskVersionRow};
use crate::store::{ContentStore, StateStore, StoreError};
use arrow::datatypes::SchemaRef;
use gristmill_core::digest::Digest;
use gristmill_core::id::{SchemaId, TaskId, TaskVersion};
use gristmill_core::pins::{LimitsPin, MigratePin, Pin, Pins};
use gristmill_core::schema::Schema;
use gristmill_core::version::VersionSource;
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;

/// Why a component cannot serve as a pin.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Component(#[from] ComponentError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Host(#[from] HostError),
}

/// Loads the code of any task version. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Loader {
    pub host: Host,
    pub state: StateStore,
    pub content: ContentStore,
}

impl Loader {
    /// One version of a task, which must exist.
    pub async fn version(&self, task: &TaskId, version: TaskVersion) -> Result<TaskVersionRow, StoreError> {
        let row = self.state.task_version(task, version).await?;
        row.ok_or_else(|| StoreError::Missing {
            what: format!("version {version} of task `{task}`"),
            hint: format!("its versions are listed by `gristmill tasks show {task}`"),
        })
    }

    /// Where the outputs of a version go.
    pub async fn targets(&self, task: &TaskId, version: TaskVersion) -> Result<Targets, StoreError> {
        Ok(Targets::of(task, &self.version(task, version).await?.definition))
    }

    /// The pipeline of a version, from the text that was published with it.
    pub fn pipeline(&self, row: &TaskVersionRow) -> Result<Pipeline, RunError> {
        let named = format!("version {} of task {}", row.version, row.task_id);
        let (Some(text), Some(base_dir)) = (&row.pipeline, &row.base_dir) else {
            return Err(RunError::Configuration {
                what: format!("{named} was published without its pipeline file"),
                hint: "publish the pipeline again".into(),
            });
        };
        let env = |name: &str| std::env::var(name).ok();
        let mut pipeline = Pipeline::published(text, &named, base_dir, &env).map_err(|e| RunError::Configuration {
            what: e.to_string(),
            hint: "set the variables that it names".into(),
        })?;
        if let Some(adopted) = &row.adopted {
            pipeline.adopt(adopted.schema.clone(), adopted.columns.clone());
        }
        Ok(pipeline)
    }

    /// What the extracting half runs for a version, and the settings of its pipeline.
    pub async fn published(&self, row: &TaskVersionRow, pipeline: &Pipeline) -> Result<Published, RunError> {
        let schema = self.schema(&row.schema_id).await?;
        let source_schema = self.source_columns(&row.task_id, &row.schema_id).await?;
        let normalizer = self.normalizer(row, &row.schema_id, &row.pins).await?;
        Ok(Published {
            task_id: row.task_id.clone(),
            version: row.version,
            schema_id: row.schema_id.clone(),
            schema,
            source_schema,
            pins: row.pins.clone(),
            targets: Targets::of(&row.task_id, &row.definition),
            normalizer,
            settings: Settings::of(pipeline),
        })
    }

    /// The way of a batch's records to rows: migrations, then map.
    pub async fn mapper(&self, schema_id: &SchemaId, pins: &Pins, targets: &Targets) -> Result<Mapper, RunError> {
        let input = to_arrow(&self.schema(schema_id).await?);
        let chain = pins.chain(schema_id);
        if chain.is_empty() && pins.map.is_none() {
            let outputs = targets.outputs(None, &input);
            return Ok(Mapper { links: Vec::new(), stage: None, outputs, input });
        }
        let dictionaries = self.dictionaries(pins).await?;
        let (links, records) = self.links(&chain, pins, &input, &dictionaries).await?;
        let stage = match &pins.map {
            None => None,
            Some(pin) => Some(self.stage(Stage::Map, pin, pins, &records, &dictionaries).await?),
        };
        let outputs = targets.outputs(stage.as_ref().map(PlannedStage::outputs), &records);
        Ok(Mapper { links, stage, outputs, input })
    }

    /// Links of a migration chain, and the records that the last of them gives.
    pub(crate) async fn links(
        &self,
        chain: &[(&SchemaId, &MigratePin)],
        pins: &Pins,
        input: &SchemaRef,
        dictionaries: &Dictionaries,
    ) -> Result<(Vec<Link>, SchemaRef), StoreError> {
        let mut records = input.clone();
        let mut links = Vec::with_capacity(chain.len());
        for (_, link) in chain {
            let stage = self.stage(Stage::Migrate, &link.pin, pins, &records, dictionaries).await?;
            records = to_arrow(&self.schema(&link.to).await?);
            let given = &stage.outputs()[0].schema;
            let places = records.fields().iter().map(|field| given.index_of(field.name())).collect::<Result<_, _>>();
            let places = places.map_err(|e| StoreError::Damaged {
                what: format!("the link to {} ({})", link.to, link.pin.label),
                detail: e.to_string(),
                hint: "it worked when it was published: was gristmill changed since?".into(),
            })?;
            links.push(Link { stage, records: records.clone(), places });
        }
        Ok((links, records))
    }

    /// The normalize stage of some pins for pages of a schema id's source columns, with the keys of a version.
    pub async fn normalizer(
        &self,
        row: &TaskVersionRow,
        schema_id: &SchemaId,
        pins: &Pins,
    ) -> Result<Normalizer, RunError> {
        let source = self.source_columns(&row.task_id, schema_id).await?;
        let stage = match &pins.normalize {
            None => None,
            Some(pin) => {
                let dictionaries = self.dictionaries(pins).await?;
                Some(self.stage(Stage::Normalize, pin, pins, &source, &dictionaries).await?)
            }
        };
        let keys = Keys::of(row)?;
        Ok(Normalizer { stage, identity: keys.identity, version: keys.source_version })
    }

    /// The source's columns that are frozen for a task under a schema id.
    pub async fn source_columns(&self, task: &TaskId, schema_id: &SchemaId) -> Result<SchemaRef, StoreError> {
        let source = self.state.frozen_source(task, schema_id).await?;
        Ok(to_arrow(&source.ok_or_else(|| missing(format!("the source's columns under {schema_id}")))?.schema))
    }

    /// A frozen schema with its rules, which must exist.
    pub async fn frozen(&self, schema_id: &SchemaId) -> Result<FrozenSchema, StoreError> {
        let frozen = self.state.frozen_schema(schema_id).await?;
        frozen.ok_or_else(|| missing(format!("schema {schema_id}")))
    }

    /// A frozen schema, which must exist.
    pub async fn schema(&self, schema_id: &SchemaId) -> Result<Schema, StoreError> {
        self.state.schema(schema_id).await?.ok_or_else(|| missing(format!("schema {schema_id}")))
    }

    /// Everything that pins name and the store lacks or has damaged, each with its reason.
    pub async fn lacking(&self, pins: &Pins) -> Result<Vec<String>, StoreError> {
        let mut lacking = Vec::new();
        let components = pins.components().map(|(stage, pin)| {
            (ContentKind::Component, pin.component, format!("{} ({stage}, {})", pin.label, pin.component.short()))
        });
        let dictionaries = pins.dictionaries.iter().map(|(name, pin)| {
            (ContentKind::Dictionary, pin.content, format!("dictionary `{name}` ({})", pin.content.short()))
        });
        let named: Vec<(ContentKind, Digest, String)> = components.chain(dictionaries).collect();
        for (kind, digest, what) in named {
            match self.content.get(kind, digest).await {
                Ok(_) => {}
                Err(StoreError::Missing { .. }) => lacking.push(format!("{what} is missing")),
                Err(StoreError::Damaged { .. }) => lacking.push(format!("{what} is damaged")),
                Err(e) => return Err(e),
            }
        }
        Ok(lacking)
    }

    /// A stage of pins that were checked when they were published.
    async fn stage(
        &self,
        stage: Stage,
        pin: &Pin,
        pins: &Pins,
        input: &SchemaRef,
        dictionaries: &Dictionaries,
    ) -> Result<PlannedStage, StoreError> {
        self.plan(stage, pin, pins, input, dictionaries).await.map_err(|e| match e {
            Unfit::Store(e) => e,
            e => StoreError::Damaged {
                what: format!("the stored component {} ({})", pin.label, pin.component.short()),
                detail: e.to_string(),
                hint: "it worked when it was published: was gristmill changed since?".into(),
            },
        })
    }

    /// Asks the component of a pin for its plan, under the limits of its pins.
    pub async fn plan(
        &self,
        stage: Stage,
        pin: &Pin,
        pins: &Pins,
        input: &SchemaRef,
        dictionaries: &Dictionaries,
    ) -> Result<PlannedStage, Unfit> {
        let bytes = self.content.get(ContentKind::Component, pin.component).await?;
        let host = match pins.limits {
            None => self.host.clone(),
            Some(limits) => self.host.with_limits(host_limits(limits))?,
        };
        tokio::task::block_in_place(|| {
            let component = host.load(&bytes)?;
            Ok(host.plan(&component, stage, &pin.config, input, dictionaries)?)
        })
    }

    /// The dictionaries of some pins.
    pub async fn dictionaries(&self, pins: &Pins) -> Result<Dictionaries, StoreError> {
        let mut dictionaries = Dictionaries::new();
        for (name, pin) in &pins.dictionaries {
            let damaged = |detail: String| StoreError::Damaged {
                what: format!("dictionary `{name}` ({})", pin.content.short()),
                detail,
                hint: "restore it from a backup of the store".into(),
            };
            let bytes = self.content.get(ContentKind::Dictionary, pin.content).await?;
            let dictionary = dictionary::load(name, &bytes, pin).map_err(|e| damaged(e.to_string()))?;
            dictionaries.insert(dictionary).map_err(|e| damaged(e.to_string()))?;
        }
        Ok(dictionaries)
    }
}

/// What a version's definition says of keys.
#[derive(Debug, Deserialize)]
pub(crate) struct Keys {
    pub identity: Vec<String>,
    pub source_version: VersionSource,
}

impl Keys {
    pub fn of(row: &TaskVersionRow) -> Result<Self, StoreError> {
        serde_json::from_value(row.definition.clone()).map_err(|e| StoreError::Damaged {
            what: format!("version {} of task {}", row.version, row.task_id),
            detail: e.to_string(),
            hint: "the state was changed by hand: restore it from a backup".into(),
        })
    }
}

/// Absolute, so that a version can be loaded from anywhere.
pub(super) fn absolute(path: &Path) -> std::path::PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn missing(what: String) -> StoreError {
    StoreError::Missing { what, hint: "the state was changed by hand: restore it from a backup".into() }
}

fn host_limits(pin: LimitsPin) -> HostLimits {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    HostLimits {
        deadline: Duration::from_millis(pin.deadline_ms),
        memory_max_bytes: size(pin.memory_max_bytes),
        output_max_bytes: size(pin.output_max_bytes),
    }
}
