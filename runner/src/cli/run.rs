//! `gristmill run`.

use super::Common;
use super::live::{show_progress, stop_signal, summary_text};
use super::output::{Answer, Exit, Failure};
use super::setup::{self, Folders, Stores};
use super::watch::Watch;
use crate::config::Pipeline;
use crate::connect;
use crate::drive::{self, LocalLease, Outcome, Progress, Run, RunError};
use crate::publish::{self, History, Intent, Loader, PublishError, Published};
use crate::sink::Guarantee;
use crate::store::StoreError;
use crate::store::state::{EpochKind, TaskVersionRow};
use gristmill_core::id::PartitionId;
use gristmill_core::schema_change::State;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The pipeline file
    pipeline: PathBuf,
    /// End when the source has nothing new
    #[arg(long)]
    once: bool,
    /// Publish the pipeline again whenever it, a component or a dictionary is edited
    #[arg(long, conflicts_with = "once")]
    watch: bool,
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
    let mut checked = publish::check(&pipeline, &host, &components, known, scratch.path(), History::Same).await?;
    let sink = connect::sink(&pipeline);

    // Opened again, now creating what is missing.
    drop(stores);
    let stores = Stores::create(common).await?;
    let partition = PartitionId::whole();
    let lease = LocalLease::claim(&stores.state, &folders.locks(), &pipeline.task, &partition).await?;
    let (state, content) = (&stores.state, &stores.content);
    let version = loop {
        match publish::publish(&pipeline, checked, state, content, Intent::Run, "published by a run").await {
            // Somebody published since the pipeline was checked: it is checked again, as by a run that starts now.
            Err(PublishError::Store(StoreError::Overtaken { .. })) => {
                let known = Some(publish::Known { state, content });
                checked = publish::check(&pipeline, &host, &components, known, scratch.path(), History::Same).await?;
            }
            published => break published?,
        }
    };
    let open = stores.state.open_schema_change(&pipeline.task).await?;
    let held = drive::is_held(&stores.state, &pipeline.task, version).await?;
    if let Some(open) = open.filter(|open| open.object.is_some() && !held && open.state != State::Detected) {
        lease.release().await?;
        return Err(RunError::SchemaOpen {
            id: open.id,
            state: open.state,
            what: format!("{} has other columns than the task reads", open.object.unwrap_or_default()),
            hint: format!("see `gristmill schema show {}`", open.id),
        }
        .into());
    }
    let running = stores.state.running_replay(&pipeline.task, &partition).await?;
    if let Some(running) = running.filter(|running| running.kind == EpochKind::Rebuild) {
        lease.release().await?;
        return Err(Failure::Message {
            exit: Exit::Person,
            what: format!("the rebuild into epoch {} has not ended", running.epoch),
            fate: Some("nothing was read or written".into()),
            hint: format!(
                "go on with `gristmill replay {0} --resume` (or `gristmill schema resume {0}`, where a schema change began it), or give it \
                 up with `gristmill replay {0} --abandon`",
                pipeline.task
            ),
        });
    }
    let loader = stores.loader(host);
    if args.watch {
        let path = args.pipeline.clone();
        Watch { path, folders: components, loader: loader.clone(), spool: folders.spool() }.start(pipeline.clone());
    }
    let row = loader.version(&pipeline.task, version).await?;
    let published = loader.published(&row, &in_force(&loader, &row, pipeline)?).await?;
    tracing::info!(task = %published.task_id, version = %published.version, schema = %published.schema_id, "running");

    let spool = folders.spool();
    let opened_in = spool.clone();
    let open_source = move |published: &Published| {
        connect::source(&published.settings.source, published.source_schema.clone(), &opened_in)
    };
    let sink = sink.map_err(|error| RunError::Sink { error, batch: None })?;
    let guarantee = sink.guarantee();
    let progress = Arc::new(Progress::default());
    let run = Run {
        published: Arc::new(published),
        loader,
        batches: stores.batches,
        lease,
        open_source: Box::new(open_source),
        spool,
        held,
        once: args.once,
        count: args.count,
        stop: stop_signal(),
        progress: progress.clone(),
    };
    let started = Instant::now();
    let shown = show_progress(common, progress);
    let outcome = drive::run(run, sink).await;
    shown.finish();
    answer(outcome, started.elapsed(), guarantee)
}

/// The pipeline of the version in force: the file's, unless that is an older version. Then the text that was published is
/// read, with paths from where the file stands now.
fn in_force(loader: &Loader, row: &TaskVersionRow, file: Pipeline) -> Result<Pipeline, RunError> {
    let definition = serde_json::from_str::<serde_json::Value>(&file.canonical_json()).ok();
    if definition.as_ref() == Some(&row.definition) && row.adopted.is_none() || row.pipeline.is_none() {
        return Ok(file);
    }
    loader.pipeline(&TaskVersionRow { base_dir: Some(file.base_dir), ..row.clone() })
}

/// A folder for what must not last, beside the state when there is one.
fn scratch(folders: &Folders) -> Result<tempfile::TempDir, Failure> {
    let made = match folders.root().exists() {
        true => tempfile::Builder::new().prefix(setup::SCRATCH).tempdir_in(folders.root()),
        false => tempfile::tempdir(),
    };
    made.map_err(|e| Failure::usage(format!("cannot make a scratch folder: {e}"), "check --state and TMPDIR"))
}

fn answer(outcome: Outcome, took: Duration, guarantee: Guarantee) -> Result<Answer, Failure> {
    let Outcome { summary, ended } = outcome;
    let rate = (summary.records_read as f64 / took.as_secs_f64().max(1e-9)) as u64;
    let text = summary_text(&summary, took, rate);
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
