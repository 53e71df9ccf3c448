//! `gristmill run`.

use super::Common;
use super::live::{show_progress, stop_signal, summary_text};
use super::output::{Answer, Exit, Failure};
use super::setup::{self, Folders, Stores};
use super::watch::Watch;
use crate::config::Pipeline;
use crate::connect;
use crate::drive::handover::Offer;
use crate::drive::{self, LocalLease, Outcome, Progress, Run, RunError, Summary};
use crate::host::Host;
use crate::publish::{self, Checked, ComponentFolders, History, Intent, Loader, PublishError, Published};
use crate::sink::Guarantee;
use crate::store::StoreError;
use crate::store::state::{EpochKind, TaskVersionRow};
use gristmill_core::id::{PartitionId, TaskVersion};
use gristmill_core::schema_change::State;
use serde_json::json;
use std::path::{Path, PathBuf};
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
    /// Publish the pipeline again whenever it, a component or a dictionary is edited
    #[arg(long, conflicts_with = "once")]
    watch: bool,
    /// Count the records of the target at the end; it may have to be read whole
    #[arg(long, requires = "once")]
    count: bool,
}

/// Publishes the pipeline if it changed, then runs it. A run that goes on hands the task over to whoever rebuilds its target, and
/// begins again afterwards.
pub async fn run(common: &Common, args: Args) -> Result<Answer, Failure> {
    let (stop, started) = (stop_signal(), Instant::now());
    let pipeline = setup::load(&args.pipeline)?;
    let mut total = Summary::default();
    let mut begins = true;
    loop {
        let leg = leg(common, &args, pipeline.clone(), std::mem::take(&mut begins), &stop).await?;
        let Leg { outcome, guarantee, offer } = leg;
        total.add(outcome.summary);
        let handed_over = offer.filter(|offer| offer.is_taken() && !*stop.borrow());
        // What waits for the rebuild is no reason to end.
        match (handed_over, outcome.ended) {
            (Some(offer), Ok(()) | Err(RunError::SchemaOpen { .. })) => {
                let mut stop = stop.clone();
                tokio::select! {
                    () = offer.returned() => {}
                    _ = stop.wait_for(|stop| *stop) => return answer(total, Ok(()), started.elapsed(), guarantee),
                }
                tracing::info!("the rebuild is done, or was given up: going on");
            }
            (_, ended) => return answer(total, ended, started.elapsed(), guarantee),
        }
    }
}

/// A run until it ended, or handed its task over.
struct Leg {
    outcome: Outcome,
    guarantee: Guarantee,
    /// Of a run that goes on.
    offer: Option<Offer>,
}

/// The first leg publishes the file; a later one goes on with the version in force, which may be another by then.
async fn leg(
    common: &Common,
    args: &Args,
    pipeline: Pipeline,
    begins: bool,
    stop: &watch::Receiver<bool>,
) -> Result<Leg, Failure> {
    let folders = Folders::of(common);
    let components = setup::component_folders(common, &pipeline);

    // Everything is checked before anything is written: a bad pipeline leaves no state behind.
    let scratch = scratch(&folders)?;
    let stores = Stores::if_any(common).await?;
    let known = stores.as_ref().map(|s| publish::Known { state: &s.state, content: &s.content });
    let host = setup::host(common, Some(&pipeline))?;
    let checked = match begins {
        true => Some(publish::check(&pipeline, &host, &components, known, scratch.path(), History::Same).await?),
        false => None,
    };
    let sink = connect::sink(&pipeline);

    // Opened again, now creating what is missing.
    drop(stores);
    let stores = Stores::create(common).await?;
    let partition = PartitionId::whole();
    let lease = LocalLease::claim(&stores.state, &folders.locks(), &pipeline.task, &partition).await?;
    let version = match checked {
        Some(checked) => publish_file(&pipeline, checked, &stores, &host, &components, scratch.path()).await?,
        None => stores
            .state
            .latest_version(&pipeline.task)
            .await?
            .ok_or_else(|| Failure::usage("the task has no version any more", "see `gristmill tasks list`"))?,
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
    if begins && args.watch {
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
    let offer = (!args.once).then(|| Offer::new(&folders.locks(), &published.task_id, &partition, stop.clone()));
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
        stop: offer.as_ref().map_or_else(|| stop.clone(), Offer::stop),
        progress: progress.clone(),
    };
    let shown = show_progress(common, progress);
    let outcome = drive::run(run, sink).await;
    shown.finish();
    Ok(Leg { outcome, guarantee, offer })
}

/// Publishes the run's own file, unless a later version of it is in force.
async fn publish_file(
    pipeline: &Pipeline,
    mut checked: Checked,
    stores: &Stores,
    host: &Host,
    components: &ComponentFolders,
    scratch: &Path,
) -> Result<TaskVersion, PublishError> {
    let (state, content) = (&stores.state, &stores.content);
    loop {
        match publish::publish(pipeline, checked, state, content, Intent::Run, "published by a run").await {
            // Somebody published since the pipeline was checked: it is checked again, as by a run that starts now.
            Err(PublishError::Store(StoreError::Overtaken { .. })) => {
                let known = Some(publish::Known { state, content });
                checked = publish::check(pipeline, host, components, known, scratch, History::Same).await?;
            }
            published => return published,
        }
    }
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

fn answer(
    summary: Summary,
    ended: Result<(), RunError>,
    took: Duration,
    guarantee: Guarantee,
) -> Result<Answer, Failure> {
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
