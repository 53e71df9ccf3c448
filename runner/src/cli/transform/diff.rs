//! `gristmill transform diff`.

use super::super::live::show_progress;
use super::super::output::{Answer, Exit, Failure, grouped};
use super::super::setup::{self, Stores};
use super::super::{Common, status::known_task};
use crate::drive::Progress;
use crate::drive::compare::{
    CompareError, Comparison, Example, ExampleKind, OutputDifferences, Placed, Rejection, Report, Show, Side, Speed,
    compare_batches,
};
use crate::drive::replay::{Bound, Scope, check_chains};
use crate::publish::{Loader, Place, PlaceChoice, find_component};
use crate::store::content::ContentKind;
use crate::store::state::TaskVersionRow;
use bytes::Bytes;
use gristmill_core::digest::Digest;
use gristmill_core::id::{BatchId, TaskId};
use gristmill_core::manifest::BatchState;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Batches that are compared where none are named.
const LAST: usize = 10;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A label, a digest or a file ending in `.wasm`
    old: String,
    /// The component to compare it with
    new: String,
    /// On batches of this task, with what its version in force pins
    #[arg(long)]
    task: TaskId,
    /// At this stage: `normalize`, `map`, `migrate`, or `migrate:` and the schema that the link starts from [default: where the
    /// task runs a component of this name]
    #[arg(long, value_name = "STAGE")]
    stage: Option<PlaceChoice>,
    /// On the last K batches [default: 10]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["from", "to", "batches"])]
    last: Option<u32>,
    /// From this batch on: its number, its id, a day or a time
    #[arg(long, value_name = "BOUND")]
    from: Option<Bound>,
    /// Up to this batch
    #[arg(long, value_name = "BOUND")]
    to: Option<Bound>,
    /// Only on these batches
    #[arg(long, value_delimiter = ',', value_name = "ID", conflicts_with_all = ["from", "to"])]
    batches: Option<Vec<BatchId>>,
    /// Do not show values of these columns, besides those under `redact` in the pipeline
    #[arg(long, value_delimiter = ',', value_name = "COLUMN")]
    redact: Vec<String>,
    /// How many records of each kind to show, for each output
    #[arg(long, default_value_t = 5, value_name = "N")]
    examples: usize,
}

/// Runs two components on stored batches. Writes nothing.
pub async fn run(common: &Common, args: Args) -> Result<Answer, Failure> {
    let stores = Stores::existing(common).await?;
    let task = known_task(&stores.state.tasks().await?, args.task.clone())?;
    let loader = stores.loader(setup::host(common, None)?);
    let latest = stores.state.latest_version(&task).await?;
    let Some(latest) = latest else {
        return Err(Failure::usage(format!("task `{task}` has no version"), "run or publish its pipeline first"));
    };
    let version = loader.version(&task, latest).await?;
    let folders = folders(common, &version);
    let old = side(&loader, &args.old, &folders).await?;
    let new = side(&loader, &args.new, &folders).await?;
    let place = place(&version, args.stage.as_ref(), [&old, &new])?;
    let mut redact: BTreeSet<String> = args.redact.into_iter().collect();
    if version.pipeline.is_some() {
        redact.extend(loader.pipeline(&version)?.redact);
    }
    let bounded = args.from.is_some() || args.to.is_some() || args.batches.is_some();
    let scope = Scope {
        from: args.from,
        to: args.to,
        batches: args.batches,
        last: (!bounded).then_some(args.last.map_or(LAST, |last| last as usize)),
    };
    let rows = scope.batches(&stores.state, &task, &[BatchState::Ready, BatchState::Committed]).await?;
    if rows.is_empty() {
        let hint = format!("its batches are listed by `gristmill batches list {task}`");
        return Err(Failure::usage(format!("no stored batches of `{task}` to compare on"), hint));
    }
    if place == Place::Map {
        check_chains(&version, &rows)?;
    }
    let progress = Arc::new(Progress::default());
    let shown = show_progress(common, progress.clone());
    let show = Show { redact, examples: args.examples };
    let comparison = Comparison { loader, batches: stores.batches, version, place, old, new, rows, show };
    let report = compare_batches(&comparison, &progress).await;
    shown.finish();
    let report = report.map_err(refused)?;
    let exit = if report.is_equal() { Exit::Done } else { Exit::Failed };
    Ok(Answer { exit, text: text(&comparison, &report), json: answer(&comparison, &report) })
}

fn refused(error: CompareError) -> Failure {
    let hint = match &error {
        CompareError::Run(_) => String::new(),
        CompareError::Unfit { .. } => "check what it reads; batches of other schemas can be chosen with --from and --to".into(),
        CompareError::NoPages { .. } => {
            "normalize can be compared on batches that were made with `keep_raw: true` in the pipeline: choose such batches".into()
        }
        CompareError::NoPin { .. } => "choose another --stage, or publish a pipeline that has it".into(),
    };
    match error {
        CompareError::Run(error) => error.into(),
        error => Failure::usage(error.to_string(), hint),
    }
}

/// Where labels that are not stored are looked for.
fn folders(common: &Common, version: &TaskVersionRow) -> Vec<PathBuf> {
    if !common.components.is_empty() {
        return common.components.clone();
    }
    let beside = version.base_dir.as_ref().map(|folder| folder.join("components"));
    beside.into_iter().chain([PathBuf::from("components")]).collect()
}

async fn side(loader: &Loader, named: &str, folders: &[PathBuf]) -> Result<Side, Failure> {
    let read = |path: &Path| {
        std::fs::read(path).map(Bytes::from).map_err(|e| {
            Failure::usage(
                format!("{} cannot be read: {e}", path.display()),
                "name a component's file, label or digest",
            )
        })
    };
    if named.ends_with(".wasm") {
        let path = Path::new(named);
        let stem = path.file_stem().map_or_else(|| named.into(), |stem| stem.to_string_lossy());
        return Ok(Side { named: stem.into_owned(), bytes: read(path)? });
    }
    if let Some(digest) = find_component(&loader.state, named).await? {
        let bytes = loader.content.get(ContentKind::Component, digest).await?;
        return Ok(Side { named: named.to_owned(), bytes });
    }
    let file = format!("{named}.wasm");
    let is_label = named.contains('@') && !named.contains(['/', '\\']);
    if let Some(path) = folders.iter().map(|folder| folder.join(&file)).find(|path| is_label && path.is_file()) {
        return Ok(Side { named: named.to_owned(), bytes: read(&path)? });
    }
    Err(Failure::usage(
        format!("no component `{named}`"),
        "name a label (see `gristmill transform list`), a digest, or a file ending in `.wasm`",
    ))
}

/// Where the version runs one of the two, or another version of it.
fn place(version: &TaskVersionRow, choice: Option<&PlaceChoice>, sides: [&Side; 2]) -> Result<Place, Failure> {
    let all = Place::all(&version.pins);
    let name = |label: &str| label.split_once('@').map(|(name, _)| name.to_owned());
    let digests = sides.map(|side| Digest::of(&side.bytes));
    let names: Vec<String> = sides.iter().filter_map(|side| name(&side.named)).collect();
    let fitting: Vec<&Place> = all
        .iter()
        .filter(|(place, pin)| match choice {
            Some(choice) => choice.admits(place),
            None => digests.contains(&pin.component) || name(&pin.label).is_some_and(|name| names.contains(&name)),
        })
        .map(|(place, _)| place)
        .collect();
    let listed =
        |places: &mut dyn Iterator<Item = &Place>| places.map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let has = listed(&mut all.iter().map(|(place, _)| place));
    let named = format!("version {} of {}", version.version, version.task_id);
    match (fitting.as_slice(), choice) {
        ([place], _) => Ok((*place).clone()),
        ([], Some(choice)) => Err(Failure::usage(
            format!("{named} runs no component at {choice}"),
            if has.is_empty() { "it runs none at all".into() } else { format!("it runs components at {has}") },
        )),
        ([], None) => Err(Failure::usage(
            format!("{named} runs neither component, nor another version of one"),
            format!("say where to compare them: --stage with one of {has}"),
        )),
        (several, _) => Err(Failure::usage(
            format!("{named} could run them at {}", listed(&mut several.iter().copied())),
            "choose one with --stage",
        )),
    }
}

fn answer(comparison: &Comparison, report: &Report) -> serde_json::Value {
    let speed = |speed: Speed| json!({ "records": speed.records, "recordsPerSecond": speed.per_second() });
    json!({
        "equal": report.is_equal(),
        "task": comparison.version.task_id,
        "taskVersion": comparison.version.version,
        "stage": comparison.place,
        "old": { "named": comparison.old.named, "digest": Digest::of(&comparison.old.bytes), "speed": speed(report.old) },
        "new": { "named": comparison.new.named, "digest": Digest::of(&comparison.new.bytes), "speed": speed(report.new) },
        "batches": report.batches,
        "records": report.records,
        "leftOut": report.left_out,
        "outputs": report.outputs,
        "rejects": report.rejects,
        "failures": report.failures,
    })
}

fn text(comparison: &Comparison, report: &Report) -> String {
    let Comparison { version, place, old, new, .. } = comparison;
    let mut text = format!(
        "{} → {} at {place}, on {} batches of {} ({} records), with the pins of version {}\n",
        old.named,
        new.named,
        grouped(report.batches),
        version.task_id,
        grouped(report.records),
        version.version
    );
    if report.left_out > 0 {
        text += &format!("{} batches do not come to this place\n", grouped(report.left_out));
    }
    for (name, output) in &report.outputs {
        text += &output_text(name, output);
    }
    if !report.rejects.is_empty() {
        text += "\nrejects\n";
        report.rejects.iter().for_each(|rejection| text += &rejection_text(rejection));
    }
    if !report.failures.is_empty() {
        text += "\nfailures\n";
        for failure in &report.failures {
            text += &format!("  batch {}, {} version: {}\n", failure.batch, failure.side, failure.what);
        }
    }
    text += &format!(
        "\nspeed: {} → {} records/s\n{}\n",
        grouped(report.old.per_second()),
        grouped(report.new.per_second()),
        if report.is_equal() { "equal: no difference on these batches" } else { "different" }
    );
    text
}

fn output_text(name: &str, output: &OutputDifferences) -> String {
    let mut text = format!(
        "\n{name}: {} rows → {}\n  {} equal, {} changed, {} added, {} removed\n",
        grouped(output.old_rows),
        grouped(output.new_rows),
        grouped(output.equal),
        grouped(output.changed),
        grouped(output.added),
        grouped(output.removed)
    );
    if let Some(why) = &output.unpaired {
        text += &format!("  rows were only counted: {why}\n");
    }
    for difference in &output.schema {
        text += &format!("  {difference}\n");
    }
    for (column, count) in &output.columns {
        text += &format!("  {column} differs in {}\n", grouped(*count));
    }
    output.examples.iter().for_each(|example| text += &example_text(example));
    text
}

fn example_text(example: &Example) -> String {
    let identity: Vec<_> = example.identity.iter().map(|cell| format!("{} {}", cell.column, cell.value)).collect();
    let kind = match example.kind {
        ExampleKind::Changed => "~",
        ExampleKind::Added => "+",
        ExampleKind::Removed => "-",
    };
    let columns: Vec<_> =
        example.columns.iter().map(|cell| format!("{}: {} → {}", cell.column, cell.old, cell.new)).collect();
    let columns = if columns.is_empty() { String::new() } else { format!("  {}", columns.join("; ")) };
    format!("  {kind} {}{columns}\n", identity.join(", "))
}

fn rejection_text(rejection: &Rejection) -> String {
    let mut text = format!("  {} {}:", rejection.refused_at, rejection.code);
    let mut parts = Vec::new();
    for (count, verb, places) in
        [(rejection.appear, "more", &rejection.appear_at), (rejection.vanish, "fewer", &rejection.vanish_at)]
    {
        if count == 0 {
            continue;
        }
        let place =
            |placed: &Placed| format!("{} of {}", placed.position, placed.batch).replace("of the batch of", "of");
        let shown: Vec<_> = places.iter().map(place).collect();
        let dots = if (places.len() as u64) < count { ", …" } else { "" };
        parts.push(match shown.is_empty() {
            true => format!(" {} {verb}", grouped(count)),
            false => format!(" {} {verb} ({}{dots})", grouped(count), shown.join(", ")),
        });
    }
    text += &parts.join(",");
    text + "\n"
}
