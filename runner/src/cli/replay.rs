//! `gristmill replay`.

use super::Common;
use super::live::{show_progress, stop_signal, summary_text};
use super::output::{Answer, Exit, Failure, grouped};
use super::setup::{self, Folders, Stores};
use super::status::known_task;
use crate::connect;
use crate::drive::handover;
use crate::drive::replay::{self, Anew, Bound, Elsewhere, PinChoice, Rewritten, Scope, check_chains};
use crate::drive::{Destination, LocalLease, MapperCache, Progress, RunError, Summary};
use crate::publish::Loader;
use crate::store::state::{BatchRow, EpochKind, TaskVersionRow};
use gristmill_core::digest::Digest;
use gristmill_core::id::{BatchId, PartitionId, TaskId};
use gristmill_core::manifest::BatchState;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task
    task: TaskId,
    /// From this batch on: its number, its id, a day or a time
    #[arg(long, value_name = "BOUND")]
    from: Option<Bound>,
    /// Up to this batch
    #[arg(long, value_name = "BOUND")]
    to: Option<Bound>,
    /// Only these batches
    #[arg(long, value_delimiter = ',', value_name = "ID", conflicts_with_all = ["from", "to"])]
    batches: Option<Vec<BatchId>>,
    /// Whose code maps them: `original`, `current` or `version:N` [default: original]
    #[arg(long, value_name = "PINS")]
    pins: Option<PinChoice>,
    /// Compare with the receipts; write nothing
    #[arg(long, conflicts_with_all = ["into", "dry_run", "resume", "abandon"])]
    verify: bool,
    /// Write into another target of the same kind: `sqlite://other.db`, or a folder for a data set
    #[arg(long, value_name = "URL", conflicts_with_all = ["dry_run", "resume", "abandon"])]
    into: Option<String>,
    /// Say what would be mapped, with which code, and what stands in the way
    #[arg(long, conflicts_with_all = ["resume", "abandon"])]
    dry_run: bool,
    /// Go on with the replay that was interrupted
    #[arg(long, conflicts_with_all = ["from", "to", "batches", "pins", "abandon"])]
    resume: bool,
    /// Give the replay that was interrupted up
    #[arg(long, conflicts_with_all = ["from", "to", "batches", "pins"])]
    abandon: bool,
}

/// Maps stored batches again: to verify, into another target, or anew under other pins.
pub async fn replay(common: &Common, args: Args) -> Result<Answer, Failure> {
    let stores = Stores::existing(common).await?;
    let task = known_task(&stores.state.tasks().await?, args.task.clone())?;
    let scope = Scope { from: args.from, to: args.to, batches: args.batches.clone(), last: None };
    let pins = args.pins.unwrap_or(PinChoice::Original);
    let loader = stores.loader(setup::host(common, None)?);
    if args.abandon {
        return abandon(common, &stores, &task).await;
    }
    if args.verify {
        if pins != PinChoice::Original {
            return Err(Failure::usage(
                "only the original code can be compared with the receipts",
                "compare two versions with `gristmill transform diff`",
            ));
        }
        return verify(common, &stores, loader, task, &scope).await;
    }
    let mut committed = scope.batches(&stores.state, &task, &[BatchState::Committed]).await?;
    if scope.is_whole() {
        let epoch = stores.state.epoch_in_force(&task, &PartitionId::whole()).await?;
        committed.extend(stores.state.replayed_letters(&task, epoch, false).await?);
    }
    if args.dry_run {
        return dry_run(&stores, &loader, &task, &committed, pins).await;
    }
    if let Some(into) = &args.into {
        return elsewhere(common, stores, loader, task, committed, pins, into).await;
    }
    if pins == PinChoice::Original && !args.resume {
        return Err(Failure::usage(
            "the original code gives the rows that the target has",
            "prove it with --verify, write them elsewhere with --into, or choose other code with --pins",
        ));
    }
    anew(common, stores, loader, task, scope, pins, args.resume).await
}

async fn verify(
    common: &Common,
    stores: &Stores,
    loader: Loader,
    task: TaskId,
    scope: &Scope,
) -> Result<Answer, Failure> {
    let started = Instant::now();
    // Without bounds everything that was ever committed: superseded histories, repairs and replayed dead letters too.
    let rows = match scope.is_whole() {
        true => {
            let mut rows = stores.state.batches(&task).await?;
            rows.retain(|row| row.state == BatchState::Committed);
            rows
        }
        false => scope.batches(&stores.state, &task, &[BatchState::Committed]).await?,
    };
    let mappers = MapperCache::new(loader.clone(), task, Destination::Nowhere);
    let progress = Arc::new(Progress::default());
    let shown = show_progress(common, progress.clone());
    let found = replay::verify(&loader, &stores.batches, mappers, rows, &progress).await;
    shown.finish();
    let found = found?;
    let took = started.elapsed();
    let mut text = format!(
        "{} batches equal ({} records), {} different, in {:.2} s\n",
        grouped(found.equal),
        grouped(found.records),
        found.different.len(),
        took.as_secs_f64()
    );
    if found.normalized > 0 {
        text += &format!("{} of them normalized again from their pages\n", grouped(found.normalized));
    }
    for different in &found.different {
        text += &format!("  {}: {}\n", different.batch_id, different.what);
    }
    let json = json!({
        "equal": found.equal,
        "records": found.records,
        "normalized": found.normalized,
        "different": found.different.iter().map(|d| json!({ "batchId": d.batch_id, "what": d.what })).collect::<Vec<_>>(),
        "elapsedMs": took.as_millis() as u64,
    });
    let exit = if found.different.is_empty() { Exit::Done } else { Exit::Person };
    Ok(Answer { exit, text, json })
}

async fn dry_run(
    stores: &Stores,
    loader: &Loader,
    task: &TaskId,
    rows: &[BatchRow],
    pins: PinChoice,
) -> Result<Answer, Failure> {
    let version = version(loader, task, pins).await?;
    let records: u64 = rows.iter().filter_map(|row| row.record_count).sum();
    let mut by_schema: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
    let mut all = Vec::new();
    for row in rows {
        let pins = match &version {
            Some(version) => version.pins.clone(),
            None => stores.batches.manifest(row).await?.pins,
        };
        let (count, code) = by_schema.entry(row.schema_id.to_string()).or_default();
        *count += 1;
        let chain = pins.chain(&row.schema_id);
        let labels = chain.iter().map(|(_, link)| &link.pin).chain(&pins.map).map(|pin| pin.label.clone());
        let labels: Vec<_> = labels.collect();
        let labels = if labels.is_empty() { "none".to_owned() } else { labels.join(" → ") };
        if !code.contains(&labels) {
            code.push(labels);
        }
        if !all.contains(&pins) {
            all.push(pins);
        }
    }
    if let Some(version) = &version {
        check_chains(version, rows)?;
    }
    MapperCache::new(loader.clone(), task.clone(), Destination::Nowhere).check_complete(&all).await?;
    let mut text = format!("{} batches, {} records, with pins {pins}\n", grouped(rows.len() as u64), grouped(records));
    for (schema, (count, code)) in &by_schema {
        text += &format!("  {schema}: {} batches through {}\n", grouped(*count), code.join("; "));
    }
    text += "nothing stands in the way, and nothing was written\n";
    let schemas: Vec<_> = by_schema
        .iter()
        .map(|(schema, (count, code))| json!({ "schemaId": schema, "batches": count, "through": code }))
        .collect();
    Ok(Answer::done(
        text,
        json!({ "batches": rows.len(), "records": records, "pins": pins.to_string(), "schemas": schemas }),
    ))
}

async fn version(loader: &Loader, task: &TaskId, pins: PinChoice) -> Result<Option<TaskVersionRow>, Failure> {
    let number = match pins {
        PinChoice::Original => return Ok(None),
        PinChoice::Version(number) => number,
        PinChoice::Current => {
            loader.state.latest_version(task).await?.unwrap_or(gristmill_core::id::TaskVersion::new(1))
        }
    };
    Ok(Some(loader.version(task, number).await?))
}

async fn elsewhere(
    common: &Common,
    stores: Stores,
    loader: Loader,
    task: TaskId,
    rows: Vec<BatchRow>,
    pins: PinChoice,
    into: &str,
) -> Result<Answer, Failure> {
    let latest = version(&loader, &task, PinChoice::Current).await?;
    let Some(latest) = latest else {
        return Err(Failure::usage("the task has no version", "publish its pipeline"));
    };
    let pipeline = loader.pipeline(&latest)?;
    let sink = connect::sink_elsewhere(&pipeline, into)
        .map_err(|error| Failure::from(RunError::Sink { error, batch: None }))?;
    // A partition of its own for each target, so that its tokens rise whoever replays, and the task may run meanwhile.
    let name = format!("into-{}", Digest::of(into.as_bytes()).hex().chars().take(16).collect::<String>());
    let partition = PartitionId::new(name).map_err(|e| Failure::usage(e.to_string(), "choose another --into"))?;
    let lease = LocalLease::claim(&stores.state, &Folders::of(common).locks(), &task, &partition).await?;
    let progress = Arc::new(Progress::default());
    let shown = show_progress(common, progress.clone());
    let started = Instant::now();
    let work = Elsewhere { loader, batches: stores.batches, lease, sink, pins, rows, stop: stop_signal(), progress };
    let summary = replay::elsewhere(work).await;
    shown.finish();
    let summary = summary?;
    let took = started.elapsed();
    let text = format!("{} is written from stored batches\n{}", into, text_of(&summary, took));
    let exit = if summary.interrupted { Exit::Interrupted } else { Exit::Done };
    let json = json!({ "into": into, "summary": summary, "elapsedMs": took.as_millis() as u64 });
    Ok(Answer { exit, text, json })
}

fn text_of(summary: &Summary, took: Duration) -> String {
    let rate = (summary.records_read as f64 / took.as_secs_f64().max(1e-9)) as u64;
    summary_text(summary, took, rate)
}

async fn anew(
    common: &Common,
    stores: Stores,
    loader: Loader,
    task: TaskId,
    scope: Scope,
    pins: PinChoice,
    resume: bool,
) -> Result<Answer, Failure> {
    let partition = PartitionId::whole();
    let running = stores.state.running_replay(&task, &partition).await?;
    let version = match (&running, resume) {
        (None, true) => {
            return Err(Failure::usage("no replay of this task was interrupted", "begin one with --pins"));
        }
        (Some(running), true) => running.task_version.map(PinChoice::Version).unwrap_or(PinChoice::Current),
        (_, false) => pins,
    };
    let Some(version) = self::version(&loader, &task, version).await? else {
        return Err(Failure::usage("a replay needs a version", "name it with --pins"));
    };
    let pipeline = loader.pipeline(&version)?;
    let sink = connect::sink(&pipeline).map_err(|error| Failure::from(RunError::Sink { error, batch: None }))?;
    let locks = Folders::of(common).locks();
    let (lease, _wish) = handover::claim_from_run(&stores.state, &locks, &task, &partition).await?;
    let is_rebuild = match running.as_ref().filter(|_| resume) {
        Some(running) => running.kind == EpochKind::Rebuild,
        None => scope.is_whole(),
    };
    let letters = match is_rebuild {
        true => Some(LocalLease::claim(&stores.state, &locks, &task, &PartitionId::dead_letters()).await?),
        false => None,
    };
    let progress = Arc::new(Progress::default());
    let started = Instant::now();
    let work = Anew {
        loader,
        batches: stores.batches,
        lease,
        letters,
        sink,
        dead_letters: pipeline.dead_letters,
        stop: stop_signal(),
        progress: progress.clone(),
    };
    let epoch = match running.filter(|_| resume) {
        Some(running) => running,
        None => replay::begin(&work, &version, &scope).await?,
    };
    let shown = show_progress(common, progress);
    let done = replay::resume(work, epoch).await;
    shown.finish();
    answer(&task, version, done?, started.elapsed())
}

fn answer(task: &TaskId, version: TaskVersionRow, done: Rewritten, took: Duration) -> Result<Answer, Failure> {
    let Rewritten { epoch, kind, summary, swapped, ended } = done;
    let what = match (kind, ended) {
        (EpochKind::Rebuild, true) => {
            format!("epoch {epoch} of {task} is in force, made by version {}\n", version.version)
        }
        (_, true) => format!("batches of {task} are mapped anew by version {}, under epoch {epoch}\n", version.version),
        (_, false) => {
            format!("the replay into epoch {epoch} is interrupted: go on with `gristmill replay {task} --resume`\n")
        }
    };
    let mut text = what + &text_of(&summary, took);
    if !swapped.is_empty() {
        text += &format!("swapped        {}\n", swapped.join(", "));
    }
    let json = json!({
        "epoch": epoch, "kind": kind, "taskVersion": version.version, "ended": ended, "swapped": swapped,
        "summary": summary, "elapsedMs": took.as_millis() as u64,
    });
    let exit = if ended { Exit::Done } else { Exit::Interrupted };
    Ok(Answer { exit, text, json })
}

async fn abandon(common: &Common, stores: &Stores, task: &TaskId) -> Result<Answer, Failure> {
    let partition = PartitionId::whole();
    let Some(running) = stores.state.running_replay(task, &partition).await? else {
        return Err(Failure::usage("no replay of this task was interrupted", "there is nothing to give up"));
    };
    let lease = LocalLease::claim(&stores.state, &Folders::of(common).locks(), task, &partition).await?;
    stores.state.abandon_replay(lease.tenure(), &running).await?;
    lease.release().await?;
    let text = format!(
        "the replay into epoch {} is given up; its batches stay in the store{}\n",
        running.epoch,
        match running.kind {
            EpochKind::Repair => ", and what it wrote to the target stays there",
            _ => ", and the tables that it built beside those in use can be dropped",
        }
    );
    Ok(Answer::done(text, json!({ "abandoned": running.epoch })))
}
