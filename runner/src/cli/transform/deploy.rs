//! `gristmill transform deploy`.

use super::super::output::{Answer, Exit, Failure, counted, grouped};
use super::super::setup::{self, Stores};
use super::super::{Common, status::known_task};
use crate::cases::{self, CasesError, Report};
use crate::host::{Host, Stage};
use crate::publish::{Candidate, Judgement, Loader, PlaceChoice, Uses, deploy, judge_candidate};
use bytes::Bytes;
use gristmill_core::id::TaskId;
use serde_json::json;
use std::path::{Path, PathBuf};
use tokio::task::block_in_place;

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
    /// Folder with the component's cases [default: those beside it]
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// Do not plan for this task, such as when the component is for a schema that the task does not have yet
    #[arg(long, value_name = "TASK")]
    without: Vec<TaskId>,
}

/// Judges a component by its cases and as a publication would, and stores it under its label if nothing is wrong.
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
    let mut judgement = judge_candidate(&candidate, &host, loader.as_ref(), &uses).await?;
    let report = match args.cases.or_else(|| super::cases_beside(&args.file)) {
        Some(dir) => run_cases(&candidate, &host, &dir, &mut judgement)?,
        None => {
            judgement.notes.push("it has no cases: none lie beside it, and --cases names none".into());
            None
        }
    };
    if !judgement.problems.is_empty() {
        return Err(refused(&candidate, &judgement, report.as_ref()));
    }
    // Opened again, now creating what is missing.
    drop((loader, stores));
    let stores = Stores::create(common).await?;
    let loader = Loader { host, state: stores.state, content: stores.content };
    deploy(&candidate, &loader).await?;
    Ok(Answer::done(
        text(&candidate, &judgement, report.as_ref()),
        answer(&candidate, &judgement, report.as_ref(), true),
    ))
}

/// Runs the component's cases; those that fail are among what is wrong. None where it cannot even be loaded.
fn run_cases(
    candidate: &Candidate,
    host: &Host,
    dir: &Path,
    judgement: &mut Judgement,
) -> Result<Option<Report>, Failure> {
    let report = match block_in_place(|| cases::run(host, &candidate.bytes, Stage::Normalize, dir)) {
        Ok(report) => report,
        // Said already.
        Err(CasesError::Component(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    for case in report.cases.iter().filter(|case| !case.outcome.passed()) {
        let differences: String = case
            .outcome
            .differences
            .iter()
            .flat_map(|difference| difference.lines())
            .fold(String::new(), |text, line| text + "\n        " + line);
        judgement.problems.push(format!("case `{}` fails:{differences}", case.name));
    }
    Ok(Some(report))
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

fn answer(candidate: &Candidate, judgement: &Judgement, cases: Option<&Report>, stored: bool) -> serde_json::Value {
    json!({
        "label": candidate.label(),
        "digest": candidate.digest(),
        "bytes": candidate.bytes.len(),
        "compileMs": judgement.compiled_in.as_millis() as u64,
        "planned": judgement.planned,
        "cases": cases.map(|report| report.json()["cases"].take()),
        "notes": judgement.notes,
        "problems": judgement.problems,
        "stored": stored,
    })
}

fn refused(candidate: &Candidate, judgement: &Judgement, cases: Option<&Report>) -> Failure {
    let listed: String = judgement.problems.iter().map(|problem| format!("\n    {problem}")).collect();
    let failure = Failure::Message {
        exit: Exit::Configuration,
        what: format!("{} is not deployed:{listed}", candidate.label()),
        fate: Some("nothing was stored".into()),
        hint: "put right what is listed and give the new bytes a new version; `--without TASK` leaves a task out"
            .into(),
    };
    let answer =
        Answer { exit: Exit::Configuration, text: String::new(), json: answer(candidate, judgement, cases, false) };
    Failure::WithAnswer { failure: Box::new(failure), answer }
}

fn text(candidate: &Candidate, judgement: &Judgement, cases: Option<&Report>) -> String {
    let mut text = format!(
        "{} is deployed\n\ndigest    {}\nsize      {} bytes\ncompiled  in {} ms\n",
        candidate.label(),
        candidate.digest(),
        grouped(candidate.bytes.len() as u64),
        judgement.compiled_in.as_millis()
    );
    if let Some(report) = cases {
        let passing = counted(report.cases.len() as u64, "passes", "pass");
        text += &format!("cases     {passing}\n");
    }
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
