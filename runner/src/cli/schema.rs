//! `gristmill schema`: schemas, and what happens when one changes.

use super::Common;
use super::live::{show_progress, stop_signal};
use super::output::{Answer, Exit, Failure, table};
use super::setup::{self, Folders, Stores};
use super::status::known_task;
use crate::config::Pipeline;
use crate::connect;
use crate::drive::handover::{self, Wish};
use crate::drive::mapping::MapError;
use crate::drive::replay::{self, Anew, Scope};
use crate::drive::{Destination, LocalLease, MapperCache, Progress, RunError, time};
use crate::publish::{self, History, Intent, Known, MigrationPlan, NextPipeline, plan_migration};
use crate::store::state::{NewSchemaChange, Recorded, SchemaChangeRow, TaskVersionRow};
use clap::Subcommand;
use gristmill_core::id::{PartitionId, SchemaId, TaskId, TaskVersion};
use gristmill_core::manifest::BatchState;
use gristmill_core::schema_change::{Event, State};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// List frozen schemas and schema changes
    List {
        /// Changes of this task only
        task: Option<TaskId>,
    },
    /// Show a schema by its id, or a schema change by its number
    Show { what: String },
    /// Compare a pipeline's schema with the one in force; write nothing. Exit code 1: something has to be done
    Check { pipeline: PathBuf },
    /// Plan how to get from the version in force to a pipeline with another schema
    Plan { pipeline: PathBuf },
    /// Try the plan on stored batches; a plan that rebuilds publishes its version, and new data waits as READY batches
    Validate {
        task: TaskId,
        /// How many of the newest stored batches to try it on
        #[arg(long, default_value_t = 10, value_name = "N")]
        last: usize,
    },
    /// Carry the plan out and go on: publish, and rebuild the target where the plan says so
    Resume { task: TaskId },
    /// Decide that nothing is to be done about a change, such as when the source was put right
    Dismiss { change: i64 },
}

pub async fn schema(common: &Common, verb: Verb) -> Result<Answer, Failure> {
    let stores = Stores::existing(common).await?;
    match verb {
        Verb::List { task } => list(&stores, task).await,
        Verb::Show { what } => show(&stores, &what).await,
        Verb::Check { pipeline } => check(common, &stores, &pipeline).await,
        Verb::Plan { pipeline } => plan(common, &stores, &pipeline).await,
        Verb::Validate { task, last } => validate(common, &stores, task, last).await,
        Verb::Resume { task } => resume(common, stores, task).await,
        Verb::Dismiss { change } => dismiss(&stores, change).await,
    }
}

async fn list(stores: &Stores, task: Option<TaskId>) -> Result<Answer, Failure> {
    let known = stores.state.tasks().await?;
    let tasks = match task {
        Some(task) => vec![known_task(&known, task)?],
        None => known,
    };
    let schemas = stores.state.schemas().await?;
    let mut rows = vec![vec!["schema".into(), "columns".into(), "frozen".into()]];
    rows.extend(
        schemas
            .iter()
            .map(|row| vec![row.schema_id.to_string(), row.schema.fields().len().to_string(), time(row.frozen_at)]),
    );
    let mut text = table(&rows);
    let mut changes = Vec::new();
    for task in &tasks {
        changes.extend(stores.state.schema_changes(task).await?);
    }
    if !changes.is_empty() {
        let mut rows = vec![vec!["change".into(), "task".into(), "state".into(), "met in".into(), "detected".into()]];
        rows.extend(changes.iter().map(|change| {
            let object = change.object.clone().unwrap_or_else(|| "the pipeline".into());
            vec![
                change.id.to_string(),
                change.task_id.to_string(),
                change.state.to_string(),
                object,
                time(change.detected_at),
            ]
        }));
        text += &format!("\n{}", table(&rows));
    }
    let json = json!({
        "schemas": schemas.iter().map(|row| json!({
            "schemaId": row.schema_id, "fields": row.schema.fields(), "rules": row.rules, "frozenAt": row.frozen_at,
        })).collect::<Vec<_>>(),
        "changes": changes.iter().map(change_json).collect::<Vec<_>>(),
    });
    Ok(Answer::done(text, json))
}

fn change_json(change: &SchemaChangeRow) -> serde_json::Value {
    json!({
        "id": change.id, "task": change.task_id, "state": change.state, "object": change.object,
        "fromSchemaId": change.from_schema_id, "observed": change.observed, "changes": change.changes, "plan": change.plan,
        "taskVersion": change.task_version, "detectedAt": change.detected_at, "updatedAt": change.updated_at,
    })
}

async fn show(stores: &Stores, what: &str) -> Result<Answer, Failure> {
    if let Ok(id) = what.parse::<i64>() {
        return show_change(&change(stores, id).await?);
    }
    let id =
        SchemaId::new(what).map_err(|e| Failure::usage(e.to_string(), "name a schema id or the number of a change"))?;
    let Some(frozen) = stores.state.frozen_schema(&id).await? else {
        return Err(Failure::usage(format!("no schema is frozen as `{id}`"), "see `gristmill schema list`"));
    };
    let mut text = format!("schema {id}\n");
    for field in frozen.schema.fields() {
        let null = if field.nullable { "" } else { " not null" };
        text += &format!("  {}: {}{null}\n", field.name, field.logical_type);
    }
    text += &format!("rules {}\n", frozen.rules.canonical_json());
    let mut ways = Vec::new();
    for task in stores.state.tasks().await? {
        let versions = stores.state.task_versions(&task).await?;
        for version in versions.iter().filter(|v| v.schema_id == id || v.pins.migrate.contains_key(&id)) {
            let chain = version.pins.chain(&id);
            let links: Vec<_> = chain.iter().map(|(_, link)| format!("{} → {}", link.pin.label, link.to)).collect();
            let way = match links.is_empty() {
                true => format!("{task} version {}: its own schema", version.version),
                false => format!("{task} version {}: {}", version.version, links.join(", ")),
            };
            text += &format!("  {way}\n");
            ways.push(json!({ "task": task, "version": version.version, "chain": links }));
        }
    }
    let json = json!({ "schemaId": id, "fields": frozen.schema.fields(), "rules": frozen.rules, "versions": ways });
    Ok(Answer::done(text, json))
}

async fn change(stores: &Stores, id: i64) -> Result<SchemaChangeRow, Failure> {
    for task in stores.state.tasks().await? {
        if let Some(found) = stores.state.schema_changes(&task).await?.into_iter().find(|change| change.id == id) {
            return Ok(found);
        }
    }
    Err(Failure::usage(format!("there is no schema change {id}"), "see `gristmill schema list`"))
}

fn show_change(change: &SchemaChangeRow) -> Result<Answer, Failure> {
    let mut text = format!("schema change {} of task {} is {}\n", change.id, change.task_id, change.state);
    match &change.object {
        Some(object) => text += &format!("met in {object}, which differs from `{}`:\n", change.from_schema_id),
        None => text += &format!("the pipeline asks for it, from `{}`:\n", change.from_schema_id),
    }
    for why in change.changes["why"].as_array().into_iter().flatten() {
        text += &format!("  {}\n", why.as_str().unwrap_or_default());
    }
    if let Some(plan) = &change.plan
        && let Ok(plan) = serde_json::from_value::<MigrationPlan>(plan.clone())
    {
        text += &plan_text(&plan);
    }
    text += &format!("next: {}\n", next_step(change));
    Ok(Answer::done(text, change_json(change)))
}

fn next_step(change: &SchemaChangeRow) -> String {
    match change.state {
        State::Detected => "wait until the task has paused, or run it".into(),
        State::Paused => "change the pipeline and plan it with `gristmill schema plan PIPELINE`, or put the source right and `gristmill schema dismiss`".into(),
        State::MigrationPlanned => format!("gristmill schema validate {}", change.task_id),
        State::Validated => format!("gristmill schema resume {}", change.task_id),
        State::Resumed | State::Dismissed => "nothing".into(),
    }
}

fn plan_text(plan: &MigrationPlan) -> String {
    let mut text =
        format!("plan: from `{}` (version {}) to `{}`\n", plan.from_schema, plan.from_version, plan.to_schema);
    for change in &plan.records {
        let breaking = if plan.breaking.contains(change) { "  [breaking]" } else { "" };
        text += &format!("  records: {change}{breaking}\n");
    }
    for (output, changes) in &plan.outputs {
        for change in changes {
            text += &format!("  output {output}: {change}\n");
        }
    }
    text += match plan.rebuild {
        true => "  the target is rebuilt: all stored batches are mapped anew beside it, then swapped in\n",
        false => "  the target takes the new rows as it is; history stays as it was made\n",
    };
    for (schema, links) in &plan.chains {
        let links = if links.is_empty() { "as they are".into() } else { links.join(" → ") };
        text += &format!("  batches of {schema}: {links}\n");
    }
    text
}

struct Planned {
    pipeline: Pipeline,
    plan: MigrationPlan,
}

/// Makes the plan for a pipeline, against the latest version or, again, against the one that it was made against before.
async fn make_plan(
    common: &Common,
    stores: &Stores,
    pipeline: Pipeline,
    before: Option<&MigrationPlan>,
) -> Result<Planned, Failure> {
    let task = known_task(&stores.state.tasks().await?, pipeline.task.clone())?;
    let scratch = scratch()?;
    let host = setup::host(common, Some(&pipeline))?;
    let known = Known { state: &stores.state, content: &stores.content };
    let folders = setup::component_folders(common, &pipeline);
    let checked = publish::check(&pipeline, &host, &folders, Some(known), scratch.path(), History::Rebuilt).await?;
    let loader = stores.loader(host);
    let latest = planned_from(stores, &task, before).await?;
    let rows = Scope::default().batches(&stores.state, &task, &[BatchState::Committed, BatchState::Ready]).await?;
    let rules = pipeline.rules();
    let next = NextPipeline {
        text: &pipeline.text,
        base_dir: &pipeline.base_dir,
        schema: &pipeline.schema,
        identity: &pipeline.identity,
        rules: &rules,
        mode: pipeline.schema_changes.compatibility,
    };
    let plan = plan_migration(&loader, &latest, &checked, &next, &rows).await?;
    Ok(Planned { pipeline, plan })
}

fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir().map_err(|e| Failure::usage(format!("cannot make a scratch folder: {e}"), "check TMPDIR"))
}

/// The version that a plan leads from. One that was killed may have published the version that it leads to already.
async fn planned_from(
    stores: &Stores,
    task: &TaskId,
    before: Option<&MigrationPlan>,
) -> Result<TaskVersionRow, Failure> {
    let latest = latest(stores, task).await?;
    let Some(before) = before.filter(|before| before.from_version != latest.version) else { return Ok(latest) };
    let is_ours = latest.schema_id == before.to_schema && latest.pipeline.as_ref() == Some(&before.pipeline);
    match stores.state.task_version(task, before.from_version).await?.filter(|_| is_ours) {
        Some(row) => Ok(row),
        None => Err(Failure::usage(
            format!("version {} was published since the plan was made", latest.version),
            "plan again with `gristmill schema plan`",
        )),
    }
}

async fn latest(stores: &Stores, task: &TaskId) -> Result<TaskVersionRow, Failure> {
    let version = stores.state.latest_version(task).await?.unwrap_or(TaskVersion::new(1));
    let row = stores.state.task_version(task, version).await?;
    row.ok_or_else(|| Failure::usage(format!("task `{task}` has no version"), "run or publish its pipeline first"))
}

async fn check(common: &Common, stores: &Stores, path: &std::path::Path) -> Result<Answer, Failure> {
    let Planned { plan, .. } = make_plan(common, stores, setup::load(path)?, None).await?;
    let same = plan.records.is_empty() && plan.outputs.is_empty();
    let text = match same {
        true => format!("`{}` is what is in force\n", plan.to_schema),
        false => plan_text(&plan),
    };
    let exit = if same { Exit::Done } else { Exit::Failed };
    Ok(Answer { exit, text, json: json!({ "plan": plan }) })
}

async fn plan(common: &Common, stores: &Stores, path: &std::path::Path) -> Result<Answer, Failure> {
    let Planned { pipeline, plan } = make_plan(common, stores, setup::load(path)?, None).await?;
    let open = stores.state.open_schema_change(&pipeline.task).await?;
    let id = match open {
        Some(open) => {
            if open.state == State::Detected && open.object.is_none() {
                // A plan that was killed before it said so: nothing is read under the new schema.
                stores.state.record_schema_event(open.id, Event::Paused, Recorded::default()).await?;
            }
            open.id
        }
        None => {
            let new = NewSchemaChange {
                task_id: &pipeline.task,
                object: None,
                from_schema_id: &plan.from_schema,
                observed: None,
                changes: &json!({ "why": plan.records }),
            };
            let id = stores.state.detect_schema_change(&new).await?;
            // Nothing is read under the new schema yet: the task stands at a boundary already.
            stores.state.record_schema_event(id, Event::Paused, Recorded::default()).await?;
            id
        }
    };
    let stored = serde_json::to_value(&plan).map_err(|e| Failure::usage(e.to_string(), "report this as a bug"))?;
    let state = stores
        .state
        .record_schema_event(id, Event::Planned, Recorded { plan: Some(&stored), task_version: None })
        .await?;
    let text = format!(
        "schema change {id} is {state}\n{}next: gristmill schema validate {}\n",
        plan_text(&plan),
        pipeline.task
    );
    Ok(Answer::done(text, json!({ "change": id, "state": state, "plan": plan })))
}

/// The open change of a task with its plan.
async fn open_plan(stores: &Stores, task: &TaskId) -> Result<(SchemaChangeRow, MigrationPlan), Failure> {
    let none = || {
        Failure::usage(format!("task `{task}` has no planned schema change"), "plan one with `gristmill schema plan`")
    };
    let open = stores.state.open_schema_change(task).await?.ok_or_else(none)?;
    let plan = open.plan.clone().ok_or_else(none)?;
    let plan = serde_json::from_value(plan)
        .map_err(|e| Failure::usage(format!("the plan cannot be read: {e}"), "plan it again"))?;
    Ok((open, plan))
}

fn planned_pipeline(plan: &MigrationPlan, change: i64) -> Result<Pipeline, Failure> {
    let env = |name: &str| std::env::var(name).ok();
    Ok(Pipeline::published(&plan.pipeline, &format!("plan of schema change {change}"), &plan.base_dir, &env)?)
}

async fn validate(common: &Common, stores: &Stores, task: TaskId, last: usize) -> Result<Answer, Failure> {
    let task = known_task(&stores.state.tasks().await?, task)?;
    let (change, before) = open_plan(stores, &task).await?;
    if change.state != State::MigrationPlanned {
        return Err(Failure::usage(
            format!("schema change {} is {}", change.id, change.state),
            format!("next: {}", next_step(&change)),
        ));
    }
    let Planned { pipeline, plan } =
        make_plan(common, stores, planned_pipeline(&before, change.id)?, Some(&before)).await?;
    let scratch = scratch()?;
    let host = setup::host(common, Some(&pipeline))?;
    let known = Known { state: &stores.state, content: &stores.content };
    let folders = setup::component_folders(common, &pipeline);
    let checked = publish::check(&pipeline, &host, &folders, Some(known), scratch.path(), History::Rebuilt).await?;
    let loader = stores.loader(host);
    let pins = publish::store(&pipeline, &checked, &stores.state, &stores.content).await?;

    // The trial: stored batches through the whole chain.
    let scope = Scope { last: Some(last), ..Scope::default() };
    let rows = match plan.rebuild {
        true => scope.batches(&stores.state, &task, &[BatchState::Committed, BatchState::Ready]).await?,
        false => Vec::new(),
    };
    let (mut records, mut refused) = (0_u64, 0_u64);
    let mut mappers = MapperCache::new(loader.clone(), task.clone(), Destination::Nowhere);
    for row in &rows {
        let batch = stores.batches.open(row).await?;
        let mapper = mappers.get(&row.schema_id, plan.from_version, &pins).await?;
        let mapped = tokio::task::block_in_place(|| mapper.run(batch.records())).map_err(|e| match e {
            MapError::Stage(fault) => RunError::Map { fault, batch: row.batch_id },
            MapError::Broken(e) => RunError::Panicked(e.to_string()),
        })?;
        records += batch.manifest().record_count;
        refused += mapped.dead_letters.len() as u64;
    }
    if let Some(reason) = pipeline.dead_letters.exceeded(refused, records) {
        return Err(Failure::Message {
            exit: Exit::Person,
            what: format!("the plan does not hold on the last {} batches: {reason}", rows.len()),
            fate: Some("nothing was published; the change stays MIGRATION_PLANNED".into()),
            hint: "fix the migration or the mapper, and plan again".into(),
        });
    }
    // A rebuild's version is published now, so that new data can be stored under it while the target is not ready.
    let version = match plan.rebuild {
        false => None,
        true => {
            let (state, content) = (&stores.state, &stores.content);
            let origin = format!("planned by schema change {}", change.id);
            Some(publish::publish(&pipeline, checked, state, content, Intent::Publish, &origin).await?)
        }
    };
    let stored = serde_json::to_value(&plan).map_err(|e| Failure::usage(e.to_string(), "report this as a bug"))?;
    let recorded = Recorded { plan: Some(&stored), task_version: version };
    let state = stores.state.record_schema_event(change.id, Event::Validated, recorded).await?;
    let text = format!(
        "schema change {} is {state}: {} batches with {records} records tried, {refused} refused\nnext: gristmill schema resume {task}\n",
        change.id,
        rows.len()
    );
    let json = json!({
        "change": change.id, "state": state, "batches": rows.len(), "records": records, "refused": refused, "taskVersion": version,
    });
    Ok(Answer::done(text, json))
}

async fn resume(common: &Common, stores: Stores, task: TaskId) -> Result<Answer, Failure> {
    let task = known_task(&stores.state.tasks().await?, task)?;
    let (change, plan) = open_plan(&stores, &task).await?;
    if change.state != State::Validated {
        return Err(Failure::usage(
            format!("schema change {} is {}", change.id, change.state),
            format!("next: {}", next_step(&change)),
        ));
    }
    let pipeline = planned_pipeline(&plan, change.id)?;
    // A run that has handed the task over goes on when this is done.
    let mut wish = None;
    let (version, text) = match (plan.rebuild, change.task_version) {
        (true, Some(version)) => (version, rebuild(common, &stores, &pipeline, version, &mut wish).await?),
        _ => {
            let scratch = scratch()?;
            let host = setup::host(common, Some(&pipeline))?;
            let known = Known { state: &stores.state, content: &stores.content };
            let folders = setup::component_folders(common, &pipeline);
            let checked =
                publish::check(&pipeline, &host, &folders, Some(known), scratch.path(), History::Same).await?;
            let origin = format!("schema change {}", change.id);
            let version =
                publish::publish(&pipeline, checked, &stores.state, &stores.content, Intent::Publish, &origin).await?;
            (version, String::new())
        }
    };
    let recorded = Recorded { plan: None, task_version: Some(version) };
    let state = stores.state.record_schema_event(change.id, Event::Resumed, recorded).await?;
    drop(wish);
    let text = format!("{text}schema change {} is {state}: version {version} is in force\n", change.id);
    Ok(Answer::done(
        text,
        json!({ "change": change.id, "state": state, "taskVersion": version, "rebuilt": plan.rebuild }),
    ))
}

/// Maps all history anew with the planned version, beside the target, and swaps. Goes on where a killed one was.
async fn rebuild(
    common: &Common,
    stores: &Stores,
    pipeline: &Pipeline,
    version: TaskVersion,
    wish: &mut Option<Wish>,
) -> Result<String, Failure> {
    let (task, partition) = (&pipeline.task, PartitionId::whole());
    let loader = stores.loader(setup::host(common, Some(pipeline))?);
    let row = loader.version(task, version).await?;
    let in_force = stores.state.epoch_in_force(task, &partition).await?;
    let done = stores.state.epochs(task).await?;
    if done.iter().any(|e| e.partition_id == partition && e.epoch == in_force && e.task_version == Some(version)) {
        return Ok(String::new());
    }
    let locks = Folders::of(common).locks();
    let (lease, from_run) = handover::claim_from_run(&stores.state, &locks, task, &partition).await?;
    *wish = from_run;
    // What is replayed there meanwhile would be lost with the old tables.
    let letters = Some(LocalLease::claim(&stores.state, &locks, task, &PartitionId::dead_letters()).await?);
    let sink = connect::sink(pipeline).map_err(|error| Failure::from(RunError::Sink { error, batch: None }))?;
    let progress = Arc::new(Progress::default());
    let work = Anew {
        loader,
        batches: stores.batches.clone(),
        lease,
        letters,
        sink,
        dead_letters: pipeline.dead_letters,
        stop: stop_signal(),
        progress: progress.clone(),
    };
    let running = stores.state.running_replay(task, &partition).await?;
    let replay = match running {
        Some(running) if running.task_version == Some(version) => running,
        _ => replay::begin(&work, &row, &Scope::default()).await?,
    };
    let shown = show_progress(common, progress);
    let done = replay::resume(work, replay).await;
    shown.finish();
    let done = done?;
    if !done.ended {
        return Err(Failure::Message {
            exit: Exit::Interrupted,
            what: "the rebuild is interrupted".into(),
            fate: Some("the old target is untouched; what was rebuilt stays".into()),
            hint: format!("go on with `gristmill schema resume {task}`"),
        });
    }
    Ok(format!(
        "rebuilt under epoch {}: {} batches; swapped {}\n",
        done.epoch,
        done.summary.receipts,
        done.swapped.join(", ")
    ))
}

async fn dismiss(stores: &Stores, id: i64) -> Result<Answer, Failure> {
    let found = change(stores, id).await?;
    if let Some(version) = found.task_version.filter(|_| !found.state.is_final()) {
        return Err(Failure::usage(
            format!("schema change {id} has published version {version}, whose target is not rebuilt yet"),
            format!("carry it out with `gristmill schema resume {}`, or plan another way", found.task_id),
        ));
    }
    let state = stores.state.record_schema_event(id, Event::Dismissed, Recorded::default()).await?;
    Ok(Answer::done(format!("schema change {id} is {state}\n"), json!({ "change": id, "state": state })))
}
