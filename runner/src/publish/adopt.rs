//! A changed source, taken into a new version of its task without a person.

use super::resolve::Resolved;
use super::{Intent, Known, Loader, PublishError, check, publish};
use crate::store::StoreError;
use crate::store::content::ContentKind;
use crate::store::state::{Adopted, TaskVersionRow};
use gristmill_core::id::{SchemaId, TaskId, TaskVersion};
use gristmill_core::schema::Schema;
use std::collections::BTreeMap;
use std::path::Path;

/// Publishes the version after `row`: the same code, on a source with the columns that were observed. The code is planned
/// against them first; code that does not take them is told as a mistake of the pipeline.
pub async fn adopt(
    loader: &Loader,
    row: &TaskVersionRow,
    observed: Schema,
    origin: &str,
    spool: &Path,
) -> Result<TaskVersion, PublishError> {
    let mut pipeline = loader.pipeline(row).map_err(|e| StoreError::Refused { what: e.to_string(), hint: e.hint() })?;
    let schema = free_id(loader, &row.task_id, &pipeline.schema, &observed).await?;
    pipeline.adopt(schema.clone(), observed.clone());
    let mut contents = BTreeMap::new();
    for (_, pin) in row.pins.components() {
        let bytes = loader.content.get(ContentKind::Component, pin.component).await?;
        contents.insert(pin.component, (ContentKind::Component, bytes));
    }
    for pin in row.pins.dictionaries.values() {
        let bytes = loader.content.get(ContentKind::Dictionary, pin.content).await?;
        contents.insert(pin.content, (ContentKind::Dictionary, bytes));
    }
    let resolved = Resolved { pins: row.pins.clone(), contents };
    let known = Known { state: &loader.state, content: &loader.content };
    let mut checked = check::judge(&pipeline, &loader.host, resolved, Some(known), spool, check::History::Same).await?;
    checked.adopted = Some(Adopted { schema, columns: observed });
    publish(&pipeline, checked, &loader.state, &loader.content, Intent::Publish, origin).await
}

/// An id after `base` that is free, or frozen as just these columns by an attempt that was killed.
async fn free_id(loader: &Loader, task: &TaskId, base: &SchemaId, observed: &Schema) -> Result<SchemaId, StoreError> {
    const LENGTH_MAX: usize = 56;
    let stem = base.as_str();
    // An adopted id is itself the base of the next: `orders-v1.2`… would grow, so its number is counted up.
    let stem = match stem.rsplit_once("-a") {
        Some((stem, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => stem,
    };
    let stem = &stem[..stem.len().min(LENGTH_MAX)];
    for number in 1_u32.. {
        let Ok(id) = SchemaId::new(format!("{stem}-a{number}")) else { break };
        match loader.state.frozen_source(task, &id).await? {
            Some(frozen) if frozen.schema != *observed => {}
            Some(_) => return Ok(id),
            None if loader.state.schema(&id).await?.is_none() => return Ok(id),
            None => {}
        }
    }
    Err(StoreError::Refused {
        what: format!("no schema id after `{base}` is free"),
        hint: "give the pipeline a new `schema` by hand".into(),
    })
}
