//! From one version of a task to one with another schema: what changes, and what has to be done about it.

use super::{Checked, Loader, Targets};
use crate::drive::RunError;
use crate::record::OutputSchema;
use crate::schema::from_arrow;
use crate::store::state::{BatchRow, TaskVersionRow};
use gristmill_core::id::{SchemaId, TaskVersion};
use gristmill_core::migrate::{Link, chains};
use gristmill_core::schema::compatibility::{Change, Described, Mode, Remedy, Verdict, compare, judge, remedy};
use gristmill_core::schema::rules::Rules;
use gristmill_core::schema::{Field, Schema};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What a migration does, as stored with its schema change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigrationPlan {
    /// The pipeline file as it was when it was planned.
    pub pipeline: String,
    pub base_dir: PathBuf,
    pub from_version: TaskVersion,
    pub from_schema: SchemaId,
    pub to_schema: SchemaId,
    /// Changes of the records, one sentence each.
    pub records: Vec<String>,
    /// Of these, those that the task's compatibility mode does not allow.
    pub breaking: Vec<String>,
    /// Changes of the target, by output.
    pub outputs: BTreeMap<String, Vec<String>>,
    /// The target's tables cannot take the new rows beside the old: all history is mapped anew, in tables beside them.
    pub rebuild: bool,
    /// For each schema of stored batches the links that lead from it, where history is mapped anew.
    pub chains: BTreeMap<SchemaId, Vec<String>>,
}

/// Plans the way from the latest version to a checked pipeline. Batches of a schema that no chain leads from are an error here,
/// before anything runs.
pub async fn plan_migration(
    loader: &Loader,
    latest: &TaskVersionRow,
    checked: &Checked,
    next: &NextPipeline<'_>,
    batches: &[BatchRow],
) -> Result<MigrationPlan, RunError> {
    let before = loader.frozen(&latest.schema_id).await?;
    let old_identity = identity_of(&latest.definition);
    let old = Described { schema: &before.schema, rules: &before.rules, identity: &old_identity };
    let new = Described { schema: &checked.schema, rules: next.rules, identity: next.identity };
    let changes = compare(old, new);
    let breaking = match judge(&changes, next.mode) {
        Verdict::Compatible => Vec::new(),
        Verdict::Breaking(at_fault) => at_fault.into_iter().map(Change::to_string).collect(),
    };
    let targets = Targets::of(&latest.task_id, &latest.definition);
    let mapper = loader.mapper(&latest.schema_id, &latest.pins, &targets).await?;
    let (outputs, rebuild) = compare_outputs(&mapper.outputs, &checked.outputs)?;
    let pins = &checked.resolved.pins;
    let mut found = BTreeMap::new();
    if rebuild {
        let links: Vec<Link> =
            pins.migrate.iter().map(|(from, link)| Link { from: from.clone(), to: link.to.clone() }).collect();
        let stored: BTreeSet<&SchemaId> = batches.iter().map(|row| &row.schema_id).collect();
        chains(&links, stored.iter().copied(), next.schema).map_err(|missing| {
            let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
            RunError::Configuration {
                what: format!("stored batches cannot be brought to `{}`: {}", next.schema, missing.join("; ")),
                hint: "add the links under `transforms: { migrate: … }`".into(),
            }
        })?;
        for schema in stored {
            let labels = pins.chain(schema).into_iter().map(|(_, link)| link.pin.label.clone());
            found.insert(schema.clone(), labels.collect());
        }
    }
    Ok(MigrationPlan {
        pipeline: next.text.to_owned(),
        base_dir: super::loader::absolute(next.base_dir),
        from_version: latest.version,
        from_schema: latest.schema_id.clone(),
        to_schema: next.schema.clone(),
        records: changes.iter().map(Change::to_string).collect(),
        breaking,
        outputs,
        rebuild,
        chains: found,
    })
}

/// What a plan takes of the pipeline that it leads to.
#[derive(Debug)]
pub struct NextPipeline<'a> {
    pub text: &'a str,
    pub base_dir: &'a std::path::Path,
    pub schema: &'a SchemaId,
    pub identity: &'a [String],
    pub rules: &'a Rules,
    pub mode: Mode,
}

fn identity_of(definition: &serde_json::Value) -> Vec<String> {
    let names = definition["identity"].as_array().into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Changes by output, and whether any of them needs the tables rebuilt.
fn compare_outputs(
    old: &[OutputSchema],
    new: &[OutputSchema],
) -> Result<(BTreeMap<String, Vec<String>>, bool), RunError> {
    let unusable = |e: &dyn std::fmt::Display| RunError::Configuration {
        what: format!("an output cannot be compared: {e}"),
        hint: "map it to supported types".into(),
    };
    let rules = Rules::default();
    let (mut outputs, mut rebuild) = (BTreeMap::new(), false);
    for before in old {
        let Some(after) = new.iter().find(|after| after.name == before.name) else {
            let text = format!("it is no longer made; table `{}` stays as it is", before.table);
            outputs.insert(before.name.clone(), vec![text]);
            continue;
        };
        let described = |output: &OutputSchema| -> Result<Schema, RunError> {
            let schema = from_arrow(&output.schema).map_err(|e| unusable(&e))?;
            // A table lets every column but its identity be null: a tombstone keeps nothing else.
            let loosened = schema.fields().iter().map(|field| {
                let nullable = field.nullable || !output.identity.contains(&field.name);
                Field { nullable, ..field.clone() }
            });
            Schema::new(loosened.collect()).map_err(|e| unusable(&e))
        };
        let (a, b) = (described(before)?, described(after)?);
        let of = |schema, identity| Described { schema, rules: &rules, identity };
        let changes = compare(of(&a, &before.identity), of(&b, &after.identity));
        rebuild |= remedy(&changes) > Remedy::Adopt;
        if !changes.is_empty() {
            outputs.insert(before.name.clone(), changes.iter().map(Change::to_string).collect());
        }
    }
    for after in new.iter().filter(|after| old.iter().all(|before| before.name != after.name)) {
        outputs.insert(after.name.clone(), vec![format!("it is new, and goes to table `{}`", after.table)]);
    }
    Ok((outputs, rebuild))
}
