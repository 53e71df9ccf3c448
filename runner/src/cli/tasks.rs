//! `gristmill tasks`: what is published, and which code runs for which schema.

use super::Common;
use super::output::{Answer, Failure, counted, grouped, sized, table};
use super::setup::Stores;
use super::status::known_task;
use crate::config::masked;
use crate::drive::time;
use crate::publish::{Difference, differences, shown_pin};
use crate::store::StateStore;
use crate::store::state::TaskVersionRow;
use clap::Subcommand;
use gristmill_core::id::{SchemaId, TaskId, TaskVersion};
use gristmill_core::pins::{LimitsPin, Pin};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// List tasks with the version in force
    #[command(after_help = "Example:\n  gristmill tasks list --json")]
    List,
    /// List the versions of a task, or say all about one: which code runs for which schema, and what changed
    #[command(after_help = "Examples:\n  gristmill tasks show flights\n  gristmill tasks show flights --version 3")]
    Show {
        task: TaskId,
        /// All about this version
        #[arg(long, value_name = "N")]
        version: Option<u32>,
    },
}

pub async fn tasks(common: &Common, verb: Verb) -> Result<Answer, Failure> {
    let stores = Stores::existing(common).await?;
    match verb {
        Verb::List => list(&stores.state).await,
        Verb::Show { task, version } => {
            let task = known_task(&stores.state.tasks().await?, task)?;
            match version {
                None => versions(&stores.state, &task).await,
                Some(version) => one(&stores.state, &task, TaskVersion::new(version)).await,
            }
        }
    }
}

async fn list(state: &StateStore) -> Result<Answer, Failure> {
    let mut rows = vec![["task", "version", "schema", "published", "how"].map(str::to_owned).to_vec()];
    let mut json = Vec::new();
    for task in state.tasks().await? {
        let Some(version) = state.latest_version(&task).await? else { continue };
        let Some(row) = state.task_version(&task, version).await? else { continue };
        rows.push(vec![
            task.to_string(),
            version.to_string(),
            row.schema_id.to_string(),
            time(row.published_at),
            row.origin.clone(),
        ]);
        json.push(summary(&row));
    }
    let text = if json.is_empty() { "no task is published here\n".into() } else { table(&rows) };
    Ok(Answer::done(text, json!({ "tasks": json })))
}

fn summary(row: &TaskVersionRow) -> Value {
    json!({
        "task": row.task_id, "version": row.version, "schemaId": row.schema_id, "origin": row.origin,
        "publishedAt": row.published_at,
    })
}

async fn versions(state: &StateStore, task: &TaskId) -> Result<Answer, Failure> {
    let versions = state.task_versions(task).await?;
    let mut text = String::new();
    let mut json = Vec::new();
    for (place, row) in versions.iter().enumerate() {
        let changed = place.checked_sub(1).map(|before| differences(&versions[before], row)).unwrap_or_default();
        text += &format!("{:<4}{}  {}  {}\n", row.version, time(row.published_at), row.schema_id, row.origin);
        for difference in &changed {
            text += &format!("      {difference}\n");
        }
        let mut of_row = summary(row);
        of_row["differences"] = json!(changed);
        json.push(of_row);
    }
    if let Some(latest) = versions.last() {
        text += &format!(
            "\nversion {0} is in force; all about it: gristmill tasks show {task} --version {0}\n",
            latest.version
        );
    }
    Ok(Answer::done(text, json!({ "task": task, "inForce": versions.last().map(|row| row.version), "versions": json })))
}

/// One version of a task out of those that there are.
pub fn find_version(
    versions: &[TaskVersionRow],
    task: &TaskId,
    wanted: TaskVersion,
) -> Result<TaskVersionRow, Failure> {
    let found = versions.iter().find(|row| row.version == wanted);
    found.cloned().ok_or_else(|| {
        let hint = match versions.last() {
            Some(last) => format!("its versions are 1 to {}: see `gristmill tasks show {task}`", last.version),
            None => "it has none".into(),
        };
        Failure::usage(format!("task `{task}` has no version {wanted}"), hint)
    })
}

async fn one(state: &StateStore, task: &TaskId, wanted: TaskVersion) -> Result<Answer, Failure> {
    let versions = state.task_versions(task).await?;
    let row = find_version(&versions, task, wanted)?;
    let before = versions.iter().rev().find(|earlier| earlier.version < wanted);
    let in_force = versions.last().map(|last| last.version);
    let ways = ways(&row, &state.stored_schemas(task).await?);
    let changed = before.map(|before| differences(before, &row));
    let text = text_of(&row, in_force, before.map(|row| row.version), changed.as_deref(), &ways);
    let mut json = summary(&row);
    json["inForce"] = json!(in_force == Some(row.version));
    json["identity"] = row.definition["identity"].clone();
    json["sourceVersion"] = row.definition["source_version"].clone();
    json["sink"] = row.definition["sink"].clone();
    json["normalize"] = json!(row.pins.normalize.as_ref().map(pin_json));
    json["map"] = json!(row.pins.map.as_ref().map(pin_json));
    json["schemas"] = ways.iter().map(Way::json).collect();
    json["dictionaries"] = json!(row.pins.dictionaries);
    json["limits"] = json!(row.pins.limits);
    json["differences"] = json!(changed);
    json["pipeline"] = json!(row.pipeline.as_deref().map(masked));
    json["baseDir"] = json!(row.base_dir);
    json["adopted"] = json!(row.adopted);
    Ok(Answer::done(text, json))
}

/// Without the configuration: its values may be secrets.
fn pin_json(pin: &Pin) -> Value {
    json!({ "label": pin.label, "component": pin.component })
}

/// How records of a schema become rows under a version.
struct Way {
    schema: SchemaId,
    /// Records are made under this schema now.
    own: bool,
    /// Stored batches of it.
    batches: u64,
    links: Vec<(SchemaId, Pin)>,
    /// The links lead to the schema that the version maps.
    arrives: bool,
}

/// For the version's own schema, and for each that has stored batches or that a link starts from.
fn ways(row: &TaskVersionRow, stored: &BTreeMap<SchemaId, u64>) -> Vec<Way> {
    let schemas: BTreeSet<&SchemaId> = stored.keys().chain(row.pins.migrate.keys()).collect();
    let others = schemas.into_iter().filter(|schema| **schema != row.schema_id);
    let way = |schema: &SchemaId| {
        let links: Vec<_> =
            row.pins.chain(schema).into_iter().map(|(_, link)| (link.to.clone(), link.pin.clone())).collect();
        Way {
            own: *schema == row.schema_id,
            batches: stored.get(schema).copied().unwrap_or(0),
            arrives: links.last().map_or(schema, |(to, _)| to) == &row.schema_id,
            schema: schema.clone(),
            links,
        }
    };
    std::iter::once(&row.schema_id).chain(others).map(way).collect()
}

impl Way {
    fn json(&self) -> Value {
        let links = self.links.iter().map(|(to, pin)| json!({ "to": to, "pin": pin_json(pin) }));
        json!({
            "schemaId": self.schema, "own": self.own, "batches": self.batches, "arrives": self.arrives,
            "migrate": links.collect::<Vec<_>>(),
        })
    }

    fn text(&self, map: Option<&Pin>) -> String {
        let batches = counted(self.batches, "stored batch", "stored batches");
        let mut steps: Vec<String> = Vec::new();
        for (to, pin) in &self.links {
            steps.push(format!("migrate with {} to {to}", shown_pin(pin)));
        }
        steps.push(match map {
            Some(pin) => format!("map with {}", shown_pin(pin)),
            None => "records are the rows".into(),
        });
        let way = match self.arrives {
            true => steps.join(", then "),
            false => "no way on: the version has no link of migrate from it, and cannot replay these batches".into(),
        };
        format!("  {} ({batches}): {way}\n", self.schema)
    }
}

fn text_of(
    row: &TaskVersionRow,
    in_force: Option<TaskVersion>,
    before: Option<TaskVersion>,
    changed: Option<&[Difference]>,
    ways: &[Way],
) -> String {
    let standing = match in_force {
        Some(latest) if latest == row.version => "in force".to_owned(),
        Some(latest) => format!("no longer in force: version {latest} is"),
        None => String::new(),
    };
    let mut rows = vec![
        vec!["task".into(), row.task_id.to_string()],
        vec!["version".into(), format!("{}, {standing}", row.version)],
        vec!["published".into(), format!("{}, {}", time(row.published_at), row.origin)],
        vec!["schema".into(), row.schema_id.to_string()],
        vec!["identity".into(), words(&row.definition["identity"])],
        vec!["source version".into(), words(&row.definition["source_version"])],
    ];
    if let Some((kind, sink)) = row.definition["sink"].as_object().and_then(|sink| sink.iter().next()) {
        rows.push(vec!["sink".into(), format!("{kind} {}", words(&sink["url"]))]);
        rows.extend(tables(sink).into_iter().map(|table| vec!["table".into(), table]));
    }
    if let Some(limits) = &row.pins.limits {
        rows.push(vec!["limits".into(), limits_text(limits)]);
    }
    let mut text = table(&rows);

    text += "\nfrom the source's pages to records:\n";
    text += &match &row.pins.normalize {
        Some(pin) => format!("  normalize with {}, into {}\n", shown_pin(pin), row.schema_id),
        None => format!("  the source's columns are the records, as {}\n", row.schema_id),
    };
    text += "from records to rows, by schema:\n";
    for way in ways {
        text += &way.text(row.pins.map.as_ref());
    }
    if !row.pins.dictionaries.is_empty() {
        text += "dictionaries:\n";
        for (name, pin) in &row.pins.dictionaries {
            text += &format!("  {name} ({}), looked up by {}\n", pin.content.short(), pin.key);
        }
    }
    if let (Some(before), Some(changed)) = (before, changed) {
        text += &format!("changed against version {before}:\n");
        for difference in changed {
            text += &format!("  {difference}\n");
        }
        if changed.is_empty() {
            text += "  nothing\n";
        }
    }
    if row.adopted.is_some() {
        text += "the source's columns are those that were adopted, not those of the file below\n";
    }
    if let Some(pipeline) = &row.pipeline {
        text += "pipeline:\n";
        for line in masked(pipeline).lines() {
            text += format!("  {line}").trim_end();
            text.push('\n');
        }
    }
    text
}

fn limits_text(limits: &LimitsPin) -> String {
    format!(
        "{} ms, {} of memory and {} of output a call",
        grouped(limits.deadline_ms),
        sized(limits.memory_max_bytes),
        sized(limits.output_max_bytes)
    )
}

/// Tables that the definition names; others are named as their outputs.
fn tables(sink: &Value) -> Vec<String> {
    if let Some(table) = sink["table"].as_str() {
        return vec![table.to_owned()];
    }
    let named = sink["tables"].as_object().into_iter().flatten();
    named
        .map(|(output, config)| {
            let table = config["table"].as_str().unwrap_or(output);
            match &config["identity"] {
                Value::Null => format!("{table} for output {output}"),
                identity => format!("{table} for output {output}, identity {}", words(identity)),
            }
        })
        .collect()
}

/// A value of a definition in words.
fn words(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| format!("{key} {}", words(value))).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
