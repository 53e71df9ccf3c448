//! `gristmill publish`.

use super::Common;
use super::output::{Answer, Exit, Failure};
use super::setup::{self, Stores};
use crate::config::Pipeline;
use crate::connect;
use crate::drive::RunError;
use crate::publish::{self, Checked, Difference, History, Intent, Known, Standing, differences};
use crate::store::state::TaskVersionRow;
use gristmill_core::id::{TaskId, TaskVersion};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The pipeline file
    pipeline: PathBuf,
}

/// Checks a pipeline and puts it in force, without running it.
pub async fn publish(common: &Common, args: Args) -> Result<Answer, Failure> {
    let pipeline = setup::load(&args.pipeline)?;
    let components = setup::component_folders(common, &pipeline);
    let scratch = setup::scratch()?;
    let stores = Stores::if_any(common).await?;
    let known = stores.as_ref().map(|s| Known { state: &s.state, content: &s.content });
    let host = setup::host(common, Some(&pipeline))?;
    let checked = publish::check(&pipeline, &host, &components, known, scratch.path(), History::Same).await?;

    let standing = match &stores {
        Some(stores) => publish::standing(&pipeline, &checked, &stores.state).await?,
        None => Standing::New { in_force: None },
    };
    if !matches!(standing, Standing::InForce(_)) {
        check_surroundings(&pipeline, &checked, stores.as_ref()).await?;
    }

    // Opened again, now creating what is missing.
    drop(stores);
    let stores = Stores::create(common).await?;
    let (state, content) = (&stores.state, &stores.content);
    let before = match checked.base.0 {
        Some(version) => state.task_version(&pipeline.task, version).await?,
        None => None,
    };
    let version = publish::publish(&pipeline, checked, state, content, Intent::Publish, "published").await?;
    let row = stores.loader(host).version(&pipeline.task, version).await?;
    Ok(answer(&pipeline.task, before.as_ref(), &row))
}

/// A running worker takes a version as it is: what would stop it there is said here.
async fn check_surroundings(pipeline: &Pipeline, checked: &Checked, stores: Option<&Stores>) -> Result<(), Failure> {
    if let (Some(stores), Some(latest)) = (stores, checked.base.0)
        && let Some(row) = stores.state.task_version(&pipeline.task, latest).await?
        && let Some(why) = publish::held_by(&stores.state, &row).await?
    {
        return Err(Failure::Message {
            exit: Exit::Person,
            what: why,
            fate: Some("nothing was published".into()),
            hint: format!(
                "carry it out with `gristmill schema resume {}`, or plan another way with `gristmill schema plan`",
                pipeline.task
            ),
        });
    }
    connect::check_target(pipeline, &checked.outputs)
        .await
        .map_err(|error| RunError::Sink { error, batch: None }.into())
}

fn answer(task: &TaskId, before: Option<&TaskVersionRow>, now: &TaskVersionRow) -> Answer {
    let was: Option<TaskVersion> = before.map(|row| row.version);
    let is_new = was != Some(now.version);
    let changed: Vec<Difference> = before.map(|before| differences(before, now)).unwrap_or_default();
    let text = match is_new {
        false => format!("nothing that rows depend on has changed: version {} of {task} stays in force\n", now.version),
        true => published_text(task, was, now.version, &changed),
    };
    let json = json!({
        "task": task, "version": now.version, "before": was, "published": is_new, "schemaId": now.schema_id,
        "origin": now.origin, "differences": changed,
    });
    Answer::done(text, json)
}

/// What a publication says for itself.
pub fn published_text(
    task: &TaskId,
    before: Option<TaskVersion>,
    version: TaskVersion,
    changed: &[Difference],
) -> String {
    let mut text = match before {
        Some(before) => format!("version {version} of {task} is in force, after version {before}\n"),
        None => format!("version {version} of {task} is in force\n"),
    };
    for difference in changed {
        text += &format!("  {difference}\n");
    }
    text + "a running worker takes it at its next batch boundary; batches that are stored keep their code\n"
}
