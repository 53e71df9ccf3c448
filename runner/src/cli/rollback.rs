//! `gristmill rollback`.

use super::Common;
use super::output::{Answer, Exit, Failure};
use super::publish::published_text;
use super::setup::{self, Stores};
use super::status::known_task;
use super::tasks::find_version;
use crate::publish::{Found, Judged, can_roll_back, differences, roll_back};
use gristmill_core::id::{TaskId, TaskVersion};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task
    task: TaskId,
    /// The version to put in force again
    #[arg(long, value_name = "N")]
    to: u32,
    /// Check only
    #[arg(long)]
    dry_run: bool,
}

/// Publishes an earlier version again, after everything that it needs is proven to be there and to fit.
pub async fn rollback(common: &Common, args: Args) -> Result<Answer, Failure> {
    let stores = Stores::existing(common).await?;
    let task = known_task(&stores.state.tasks().await?, args.task)?;
    let versions = stores.state.task_versions(&task).await?;
    let to = find_version(&versions, &task, TaskVersion::new(args.to))?;
    let latest = versions.last().cloned().unwrap_or_else(|| to.clone());
    let changed = differences(&latest, &to);
    if changed.is_empty() {
        let text =
            format!("version {} of {task}, which is in force, is what version {} was\n", latest.version, to.version);
        let json = json!({ "task": task, "to": to.version, "version": latest.version, "published": false });
        return Ok(Answer::done(text, json));
    }
    let loader = stores.loader(setup::host(common, None)?);
    let scratch = setup::scratch()?;
    let judged = can_roll_back(&loader, &to, &latest, scratch.path()).await?;
    let fits = judged.iter().all(|judged| matches!(judged.found, Found::Fits(_)));
    let checks = checks_text(&judged);
    let json = |version: Option<TaskVersion>| {
        json!({
            "task": task, "to": to.version, "before": latest.version, "version": version, "published": version.is_some(),
            "checks": judged, "differences": changed,
        })
    };
    if !fits {
        let failure = Failure::Message {
            exit: Exit::Person,
            what: format!("version {} of {task} cannot be in force again: {}", to.version, failed(&judged)),
            fate: Some(format!("nothing was published; version {} stays in force", latest.version)),
            hint: "put right what fails, or publish a pipeline that fits".into(),
        };
        let answer = Answer { exit: Exit::Person, text: checks, json: json(None) };
        return Err(Failure::WithAnswer { failure: Box::new(failure), answer });
    }
    if args.dry_run {
        let text = format!("{checks}version {} can be in force again; nothing was published\n", to.version);
        return Ok(Answer::done(text, json(None)));
    }
    let version = roll_back(&loader, &to, latest.version).await?;
    let text = checks + &published_text(&task, Some(latest.version), version, &changed);
    Ok(Answer::done(text, json(Some(version))))
}

fn checks_text(judged: &[Judged]) -> String {
    let mut text = String::new();
    for Judged { aspect, found } in judged {
        let aspect = aspect.as_str();
        match found {
            Found::Fits(what) => text += &format!("ok    {aspect:<9} {what}\n"),
            Found::Unknown(why) => text += &format!("?     {aspect:<9} not checked: {why}\n"),
            Found::Fails(all) => all.iter().for_each(|what| text += &format!("FAIL  {aspect:<9} {what}\n")),
        }
    }
    text
}

fn failed(judged: &[Judged]) -> String {
    let failed = judged.iter().filter(|judged| matches!(judged.found, Found::Fails(_)));
    failed.map(|judged| judged.aspect.as_str()).collect::<Vec<_>>().join(", ")
}
