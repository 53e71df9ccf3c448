//! `gristmill transform deploy`.

use super::super::output::{Answer, Exit, Failure, grouped};
use super::super::setup::{self, Stores};
use super::super::{Common, status::known_task};
use crate::publish::{Candidate, Judgement, Loader, PlaceChoice, Uses, deploy, judge_candidate};
use bytes::Bytes;
use gristmill_core::id::TaskId;
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The component; `name@version.wasm` says its label
    file: PathBuf,
    /// Its name, if the file is not called so
    #[arg(long, requires = "version")]
    name: Option<String>,
    /// Its version, three numbers such as 1.2.0
    #[arg(long, requires = "name", value_name = "V")]
    version: Option<String>,
    /// Plan for this task too, although it does not run a component of this name
    #[arg(long, requires = "stage", value_name = "TASK")]
    task: Option<TaskId>,
    /// At this stage of the task: `normalize`, `map`, `migrate`, or `migrate:` and the schema that the link starts from
    #[arg(long, requires = "task", value_name = "STAGE")]
    stage: Option<PlaceChoice>,
    /// Do not plan for this task, such as when the component is for a schema that the task does not have yet
    #[arg(long, value_name = "TASK")]
    without: Vec<TaskId>,
}

/// Judges a component as a publication would, and stores it under its label if nothing is wrong.
pub async fn run(common: &Common, args: Args) -> Result<Answer, Failure> {
    let (name, version) = label(&args)?;
    let candidate = Candidate { name, version, bytes: read(&args.file)? };
    let host = setup::host(common, None)?;
    let stores = Stores::if_any(common).await?;
    let known = match &stores {
        Some(stores) => stores.state.tasks().await?,
        None => Vec::new(),
    };
    let mut uses = Uses { also: None, without: Vec::new() };
    if let (Some(task), Some(stage)) = (args.task, args.stage) {
        uses.also = Some((known_task(&known, task)?, stage));
    }
    for task in args.without {
        uses.without.push(known_task(&known, task)?);
    }
    let loader = stores.as_ref().map(|stores| stores.loader(host.clone()));
    let judgement = judge_candidate(&candidate, &host, loader.as_ref(), &uses).await?;
    if !judgement.problems.is_empty() {
        return Err(refused(&candidate, &judgement));
    }
    // Opened again, now creating what is missing.
    drop((loader, stores));
    let stores = Stores::create(common).await?;
    let loader = Loader { host, state: stores.state, content: stores.content };
    deploy(&candidate, &loader).await?;
    Ok(Answer::done(text(&candidate, &judgement), answer(&candidate, &judgement, true)))
}

fn label(args: &Args) -> Result<(String, String), Failure> {
    if let (Some(name), Some(version)) = (&args.name, &args.version) {
        return Ok((name.clone(), version.clone()));
    }
    let stem = args.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match stem.split_once('@') {
        Some((name, version)) => Ok((name.to_owned(), version.to_owned())),
        None => Err(Failure::usage(
            format!("{} does not say name and version", args.file.display()),
            "give them: --name flights-map --version 1.2.0",
        )),
    }
}

fn read(path: &Path) -> Result<Bytes, Failure> {
    std::fs::read(path).map(Bytes::from).map_err(|e| {
        Failure::usage(
            format!("{} cannot be read: {e}", path.display()),
            "name a component, such as `gristmill transform build` makes",
        )
    })
}

fn answer(candidate: &Candidate, judgement: &Judgement, stored: bool) -> serde_json::Value {
    json!({
        "label": candidate.label(),
        "digest": candidate.digest(),
        "bytes": candidate.bytes.len(),
        "compileMs": judgement.compiled_in.as_millis() as u64,
        "planned": judgement.planned,
        "notes": judgement.notes,
        "problems": judgement.problems,
        "stored": stored,
    })
}

fn refused(candidate: &Candidate, judgement: &Judgement) -> Failure {
    let listed: String = judgement.problems.iter().map(|problem| format!("\n    {problem}")).collect();
    let failure = Failure::Message {
        exit: Exit::Configuration,
        what: format!("{} is not deployed:{listed}", candidate.label()),
        fate: Some("nothing was stored".into()),
        hint: "put right what is listed and give the new bytes a new version; `--without TASK` leaves a task out"
            .into(),
    };
    let answer = Answer { exit: Exit::Configuration, text: String::new(), json: answer(candidate, judgement, false) };
    Failure::WithAnswer { failure: Box::new(failure), answer }
}

fn text(candidate: &Candidate, judgement: &Judgement) -> String {
    let mut text = format!(
        "{} is deployed\n\ndigest    {}\nsize      {} bytes\ncompiled  in {} ms\n",
        candidate.label(),
        candidate.digest(),
        grouped(candidate.bytes.len() as u64),
        judgement.compiled_in.as_millis()
    );
    for use_ in &judgement.planned {
        text += &format!(
            "planned   for {} version {}, {} ({}): {}\n",
            use_.task,
            use_.version,
            use_.place,
            use_.schema,
            use_.outputs.join(", ")
        );
    }
    if judgement.planned.is_empty() {
        text += "planned   for no task: none runs a component of this name; see --task\n";
    }
    for note in &judgement.notes {
        text += &format!("note      {note}\n");
    }
    text + "\nno task runs it yet: name it in a pipeline, then `gristmill publish`\n"
}
