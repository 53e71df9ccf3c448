//! Mappers for stored batches: from pins back to running code.

use super::dictionary;
use crate::config::{Pipeline, Tables, Target};
use crate::drive::RunError;
use crate::drive::mapping::Mapper;
use crate::host::{Dictionaries, Host, HostLimits, PlannedOutput, Stage};
use crate::record::OutputSchema;
use crate::schema::to_arrow;
use crate::store::content::ContentKind;
use crate::store::{ContentStore, StateStore, StoreError};
use arrow::datatypes::SchemaRef;
use gristmill_core::id::{SchemaId, TaskId};
use gristmill_core::pins::{LimitsPin, Pins};
use std::collections::BTreeMap;
use std::time::Duration;

/// The table and the identity of each output, from the pipeline.
#[derive(Debug, Clone)]
pub struct Identities {
    default: Vec<String>,
    by_output: BTreeMap<String, Target>,
    /// The table of the only output, where the pipeline does not name outputs.
    single: Option<String>,
    task: String,
}

impl Identities {
    pub fn of(pipeline: &Pipeline) -> Self {
        let outputs = pipeline.sink.tables().named();
        let by_output = outputs.map(|name| (name.to_owned(), pipeline.table(name))).collect();
        let single = match pipeline.sink.tables() {
            Tables::Single(table) => Some(table.clone()),
            Tables::PerOutput(_) => None,
        };
        Self { default: pipeline.identity.clone(), by_output, single, task: pipeline.task.to_string() }
    }

    /// Where a replay that writes nothing stands: it has no pipeline.
    pub fn none(task: &TaskId) -> Self {
        Self { default: Vec::new(), by_output: BTreeMap::new(), single: None, task: task.to_string() }
    }

    /// The outputs of a mapper with their identities; without a mapper, one output of the task's name.
    pub fn outputs(&self, planned: Option<&[PlannedOutput]>, records: &SchemaRef) -> Vec<OutputSchema> {
        let output = |name: &str, schema: &SchemaRef| {
            let target = self.by_output.get(name);
            let table = target.map(|target| &target.table).or(self.single.as_ref());
            OutputSchema {
                name: name.to_owned(),
                table: table.map_or(name, String::as_str).to_owned(),
                schema: schema.clone(),
                identity: target.map_or(&self.default, |target| &target.identity).clone(),
            }
        };
        match planned {
            Some(planned) => planned.iter().map(|p| output(&p.name, &p.schema)).collect(),
            None => vec![output(&self.task, records)],
        }
    }
}

/// Loads the map stage of any pins from the store, proving every byte against its digest.
pub struct MapperLoader {
    pub host: Host,
    pub state: StateStore,
    pub content: ContentStore,
    pub identities: Identities,
}

impl MapperLoader {
    pub async fn load(&self, schema_id: &SchemaId, pins: &Pins) -> Result<Mapper, RunError> {
        let schema = self.state.schema(schema_id).await?.ok_or_else(|| StoreError::Missing {
            what: format!("schema {schema_id}"),
            hint: "the state was changed by hand: restore it from a backup".into(),
        })?;
        let records = to_arrow(&schema);
        let Some(pin) = &pins.map else {
            return Ok(Mapper { stage: None, outputs: self.identities.outputs(None, &records), records });
        };
        let dictionaries = self.dictionaries(pins).await?;
        let bytes = self.content.get(ContentKind::Component, pin.component).await?;
        let unusable = |detail: String| StoreError::Damaged {
            what: format!("the stored component {} ({})", pin.label, pin.component.short()),
            detail,
            hint: "it worked when it was published: was gristmill changed since?".into(),
        };
        let host = match pins.limits {
            None => self.host.clone(),
            Some(limits) => self.host.with_limits(host_limits(limits)).map_err(|e| unusable(e.to_string()))?,
        };
        let component = host.load(&bytes).map_err(|e| unusable(e.to_string()))?;
        let stage = host
            .plan(&component, Stage::Map, &pin.config, &records, &dictionaries)
            .map_err(|e| unusable(e.to_string()))?;
        Ok(Mapper { outputs: self.identities.outputs(Some(stage.outputs()), &records), stage: Some(stage), records })
    }

    async fn dictionaries(&self, pins: &Pins) -> Result<Dictionaries, StoreError> {
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

fn host_limits(pin: LimitsPin) -> HostLimits {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    HostLimits {
        deadline: Duration::from_millis(pin.deadline_ms),
        memory_max_bytes: size(pin.memory_max_bytes),
        output_max_bytes: size(pin.output_max_bytes),
    }
}
