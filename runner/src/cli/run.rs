//! `gristmill run`.

use super::Common;
use super::output::{Answer, Exit, Failure, grouped};
use super::setup::{self, Folders, Stores};
use crate::connect;
use crate::drive::{self, LocalLease, MapperCache, Outcome, Progress, Run, RunError, Summary};
use crate::publish::{self, MapperLoader, PublishError};
use crate::sink::Guarantee;
use crate::source::PageLimits;
use gristmill_core::id::PartitionId;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The pipeline file
    pipeline: PathBuf,
    /// End when the source has nothing new
    #[arg(long)]
    once: bool,
    /// Count the records of the target at the end; it may have to be read whole
    #[arg(long, requires = "once")]
    count: bool,
}

/// Publishes the pipeline if it changed, then runs it.
pub async fn run(common: &Common, args: Args) -> Result<Answer, Failure> {
    let pipeline = setup::load(&args.pipeline)?;
    let folders = Folders::of(common);
    let components = setup::component_folders(common, &pipeline);

    // Everything is checked before anything is written: a bad pipeline leaves no state behind.
    let scratch = scratch(&folders)?;
    let stores = Stores::if_any(common).await?;
    let known = stores.as_ref().map(|s| publish::Known { state: &s.state, content: &s.content });
    let host = setup::host(common, Some(&pipeline))?;
    let checked = publish::check(&pipeline, &host, &components, known, scratch.path()).await?;

    // Opened again, now creating what is missing.
    drop(stores);
    let stores = Stores::create(common).await?;
    let partition = PartitionId::whole();
    let lease = LocalLease::claim(&stores.state, &folders.locks(), &pipeline.task, &partition).await?;
    let published = publish::publish(&pipeline, checked, &stores.state, &stores.content).await?;
    tracing::info!(task = %published.task_id, version = %published.version, schema = %published.schema_id, "running");

    let source = connect::source(&pipeline.source, published.source_schema.clone(), &folders.spool())
        .map_err(PublishError::from)?;
    let sink = connect::sink(&pipeline).map_err(|error| RunError::Sink { error, batch: None })?;
    let guarantee = sink.guarantee();
    let loader = MapperLoader {
        host,
        state: stores.state.clone(),
        content: stores.content.clone(),
        identities: publish::Identities::of(&pipeline),
    };
    let progress = Arc::new(Progress::default());
    let run = Run {
        published: Arc::new(published),
        state: stores.state.clone(),
        batches: stores.batches,
        lease,
        mappers: MapperCache::new(loader),
        page_limits: PageLimits {
            max_rows: pipeline.batch.max_rows,
            max_bytes: pipeline.batch.max_bytes,
            max_age: pipeline.batch.max_age,
        },
        dead_letter_limit: pipeline.dead_letters,
        once: args.once,
        count: args.count,
        stop: stop_signal(),
        progress: progress.clone(),
    };
    let started = Instant::now();
    let shown = show_progress(common, progress);
    let outcome = drive::run(run, source, sink).await;
    shown.finish();
    answer(outcome, started.elapsed(), guarantee)
}

/// A folder for what must not last, beside the state when there is one.
fn scratch(folders: &Folders) -> Result<tempfile::TempDir, Failure> {
    let made = match folders.root().exists() {
        true => tempfile::Builder::new().prefix("scratch-").tempdir_in(folders.root()),
        false => tempfile::tempdir(),
    };
    made.map_err(|e| Failure::usage(format!("cannot make a scratch folder: {e}"), "check --state and TMPDIR"))
}

/// The first Ctrl-C (or SIGTERM) finishes the batch in hand; the second ends the process where it stands, which a
/// later run recovers from as from any crash.
fn stop_signal() -> watch::Receiver<bool> {
    let (stop, receiver) = watch::channel(false);
    tokio::spawn(async move {
        signal().await;
        tracing::info!("finishing the batch in hand; press Ctrl-C again to end at once");
        stop.send_replace(true);
        signal().await;
        std::process::exit(Exit::Interrupted as i32);
    });
    receiver
}

async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        },
        Err(_) => {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}

struct Shown(Option<(ProgressBar, tokio::task::JoinHandle<()>)>);

impl Shown {
    fn finish(self) {
        if let Some((bar, task)) = self.0 {
            task.abort();
            bar.finish_and_clear();
        }
    }
}

fn show_progress(common: &Common, progress: Arc<Progress>) -> Shown {
    if common.quiet || common.json || !std::io::stderr().is_terminal() {
        return Shown(None);
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise}  {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    let drawn = bar.clone();
    let task = tokio::spawn(async move {
        let started = Instant::now();
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let read = Progress::get(&progress.records_read);
            let rate = (read as f64 / started.elapsed().as_secs_f64()) as u64;
            drawn.set_message(format!(
                "{} records read, {} batches stored, {} committed, {} rows/s",
                grouped(read),
                grouped(Progress::get(&progress.batches_stored)),
                grouped(Progress::get(&progress.batches_committed)),
                grouped(rate),
            ));
        }
    });
    Shown(Some((bar, task)))
}

fn answer(outcome: Outcome, took: Duration, guarantee: Guarantee) -> Result<Answer, Failure> {
    let Outcome { summary, ended } = outcome;
    let rate = (summary.records_read as f64 / took.as_secs_f64().max(1e-9)) as u64;
    let text = text(&summary, took, rate);
    let json = json!({
        "summary": summary,
        "elapsedMs": took.as_millis() as u64,
        "recordsPerSecond": rate,
        "guarantee": { "batches": guarantee.batches, "records": guarantee.records },
    });
    let exit = if summary.interrupted { Exit::Interrupted } else { Exit::Done };
    let answer = Answer { exit, text, json };
    match ended {
        Ok(()) => Ok(answer),
        Err(error) => Err(Failure::WithAnswer { failure: Box::new(error.into()), answer }),
    }
}

fn text(summary: &Summary, took: Duration, rate: u64) -> String {
    let mut text = format!(
        "records read   {}\nbatches        {} stored, {} delivered again from the store\nreceipts       {}\n",
        grouped(summary.records_read),
        grouped(summary.batches_stored),
        grouped(summary.batches_redelivered),
        grouped(summary.receipts),
    );
    let dead: Vec<_> = summary.dead_letters.iter().map(|(class, n)| format!("{} {class}", grouped(*n))).collect();
    text += &format!("dead letters   {}\n", if dead.is_empty() { "none".into() } else { dead.join(", ") });
    for (name, t) in &summary.outputs {
        text += &format!(
            "{name:<15}{} inserted, {} updated, {} deleted",
            grouped(t.inserted),
            grouped(t.updated),
            grouped(t.deleted)
        );
        text += &format!(
            ", {} unchanged, {} stale, {} conflicts\n",
            grouped(t.unchanged),
            grouped(t.stale),
            grouped(t.conflicts)
        );
    }
    for (name, records) in summary.target_records.iter().flatten() {
        text += &format!("in the target  {} records of {name}\n", grouped(*records));
    }
    text + &format!("elapsed        {:.2} s, {} records/s\n", took.as_secs_f64(), grouped(rate))
}
