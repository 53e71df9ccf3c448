//! A component on its way into the store: everything that a version would refuse it for, found before any version names it.

use super::{Loader, Place, PlaceChoice, Targets, Unfit};
use crate::config::label_rule;
use crate::connect;
use crate::drive::RunError;
use crate::host::{Host, PlannedOutput, Stage};
use crate::schema::{from_arrow, to_arrow};
use crate::store::StoreError;
use crate::store::content::ContentKind;
use crate::store::state::TaskVersionRow;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use gristmill_core::digest::Digest;
use gristmill_core::id::{SchemaId, TaskId, TaskVersion};
use gristmill_core::pins::Pin;
use serde::Serialize;
use std::time::{Duration, Instant};

/// A component with the label that it shall have.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub name: String,
    pub version: String,
    pub bytes: Bytes,
}

impl Candidate {
    pub fn label(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }
}

/// What a component is planned for.
#[derive(Debug, Clone, Default)]
pub struct Uses {
    /// A place of a task besides those where the task already runs the component of this name.
    pub also: Option<(TaskId, PlaceChoice)>,
    /// Tasks that it shall not be planned for.
    pub without: Vec<TaskId>,
}

/// A place that the component would serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedFor {
    pub task: TaskId,
    /// Whose configuration, dictionaries, limits and schemas it was planned with.
    pub version: TaskVersion,
    pub place: Place,
    /// Of its input.
    pub schema: SchemaId,
    pub outputs: Vec<String>,
}

/// What was found about a candidate.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    pub planned: Vec<PlannedFor>,
    /// Everything that is wrong: it is not stored while there is anything.
    pub problems: Vec<String>,
    /// What a publication will ask for.
    pub notes: Vec<String>,
    #[serde(skip)]
    pub compiled_in: Duration,
}

/// Judges a candidate. Its compiled form is kept, so that its first use costs no time; nothing else is written.
pub async fn judge_candidate(
    candidate: &Candidate,
    host: &Host,
    loader: Option<&Loader>,
    uses: &Uses,
) -> Result<Judgement, RunError> {
    let mut judgement =
        Judgement { planned: Vec::new(), problems: Vec::new(), notes: Vec::new(), compiled_in: Duration::ZERO };
    if let Err(rule) = label_rule(&candidate.name, &candidate.version) {
        judgement.problems.push(format!("`{}` is no label: {rule}", candidate.label()));
    }
    let started = Instant::now();
    let loaded = tokio::task::block_in_place(|| host.load(&candidate.bytes));
    judgement.compiled_in = started.elapsed();
    if let Err(e) = &loaded {
        judgement.problems.push(e.to_string());
    }
    let Some(loader) = loader else { return Ok(judgement) };
    if let Some(found) = loader.state.labelled(&candidate.label()).await?
        && found != candidate.digest()
    {
        judgement.problems.push(format!(
            "{} is {} here, and a label never moves: these bytes are {}",
            candidate.label(),
            found.short(),
            candidate.digest().short()
        ));
    }
    if loaded.is_ok() {
        let trial = Trial {
            loader: Loader { content: loader.content.trying([candidate.bytes.clone()]), ..loader.clone() },
            candidate,
        };
        for (row, place) in places(loader, candidate, uses).await? {
            trial.place(&row, place, &mut judgement).await?;
        }
    }
    Ok(judgement)
}

/// Stores a candidate under its label.
pub async fn deploy(candidate: &Candidate, loader: &Loader) -> Result<(), StoreError> {
    let label = candidate.label();
    loader.content.put(ContentKind::Component, candidate.bytes.clone()).await?;
    loader.state.label(&label, candidate.digest()).await?;
    // Nothing referred to it until now: it may have been removed in between.
    loader.content.put(ContentKind::Component, candidate.bytes.clone()).await.map(drop)
}

/// The places of latest versions that run a component of the candidate's name, and the one that was asked for.
async fn places(loader: &Loader, candidate: &Candidate, uses: &Uses) -> Result<Vec<(TaskVersionRow, Place)>, RunError> {
    let mut found = Vec::new();
    for task in loader.state.tasks().await? {
        let Some(version) = loader.state.latest_version(&task).await? else { continue };
        let row = loader.version(&task, version).await?;
        let asked = uses.also.as_ref().filter(|(also, _)| *also == task).map(|(_, choice)| choice);
        if uses.without.contains(&task) && asked.is_none() {
            continue;
        }
        let named = |pin: &Pin| pin.label.split_once('@').is_some_and(|(name, _)| name == candidate.name);
        let mut places: Vec<Place> = Place::all(&row.pins)
            .into_iter()
            .filter(|(place, pin)| named(pin) || asked.is_some_and(|choice| choice.admits(place)))
            .map(|(place, _)| place)
            .collect();
        // A stage that the task does not have yet.
        match asked {
            Some(PlaceChoice::Stage(Stage::Normalize)) if row.pins.normalize.is_none() => places.push(Place::Normalize),
            Some(PlaceChoice::Stage(Stage::Map)) if row.pins.map.is_none() => places.push(Place::Map),
            Some(choice) if !places.iter().any(|place| choice.admits(place)) => {
                return Err(RunError::Configuration {
                    what: format!("version {version} of task `{task}` has no link of migrate to plan for at {choice}"),
                    hint: "a link says where it leads: name the component in the pipeline, and `gristmill validate` it"
                        .into(),
                });
            }
            _ => {}
        }
        found.extend(places.into_iter().map(|place| (row.clone(), place)));
    }
    Ok(found)
}

struct Trial<'a> {
    /// Finds the candidate by its digest.
    loader: Loader,
    candidate: &'a Candidate,
}

impl Trial<'_> {
    async fn place(&self, row: &TaskVersionRow, place: Place, judgement: &mut Judgement) -> Result<(), RunError> {
        let loader = &self.loader;
        let named = format!("{} version {}, {place}", row.task_id, row.version);
        let schema = match &place {
            Place::Normalize | Place::Map => row.schema_id.clone(),
            Place::Migrate(from) => from.clone(),
        };
        let input = match &place {
            Place::Normalize => loader.source_columns(&row.task_id, &schema).await?,
            Place::Migrate(_) | Place::Map => to_arrow(&loader.schema(&schema).await?),
        };
        let config = place.pin(&row.pins).map_or_else(|| "{}".to_owned(), |pin| pin.config.clone());
        let pin = Pin { label: self.candidate.label(), component: self.candidate.digest(), config };
        let pins = place.with(&row.pins, pin.clone());
        let dictionaries = loader.dictionaries(&pins).await?;
        let stage = match loader.plan(place.stage(), &pin, &pins, &input, &dictionaries).await {
            Ok(stage) => stage,
            Err(Unfit::Store(e)) => return Err(e.into()),
            Err(e) => {
                judgement.problems.push(format!("for {named} ({schema}): {e}"));
                return Ok(());
            }
        };
        judgement.planned.push(PlannedFor {
            task: row.task_id.clone(),
            version: row.version,
            place: place.clone(),
            schema,
            outputs: stage.outputs().iter().map(|output| output.name.clone()).collect(),
        });
        let records = &stage.outputs()[0].schema;
        match &place {
            Place::Normalize => {
                let frozen = loader.schema(&row.schema_id).await?;
                let note = match from_arrow(records) {
                    Ok(gives) => frozen.differences(&gives).join("; "),
                    Err(e) => format!("they cannot be stored: {e}"),
                };
                if !note.is_empty() {
                    let asks = format!("a pipeline that names it needs another `schema` than {}", row.schema_id);
                    judgement.notes.push(format!("for {named}: it gives other records: {note}; {asks}"));
                }
            }
            Place::Migrate(from) => {
                let Some(link) = row.pins.migrate.get(from) else { return Ok(()) };
                let wanted = loader.schema(&link.to).await?;
                let problem = match from_arrow(records) {
                    Ok(gives) => wanted.differences(&gives.ordered_as(&wanted)).join("; "),
                    Err(e) => format!("they cannot be stored: {e}"),
                };
                if !problem.is_empty() {
                    let problem = format!("for {named}: it does not give the records of {}: {problem}", link.to);
                    judgement.problems.push(problem);
                }
            }
            Place::Map => self.outputs(row, &named, stage.outputs(), &input, judgement),
        }
        Ok(())
    }

    /// Whether the target could hold what the mapper emits.
    fn outputs(
        &self,
        row: &TaskVersionRow,
        named: &str,
        planned: &[PlannedOutput],
        records: &SchemaRef,
        judgement: &mut Judgement,
    ) {
        let outputs = Targets::of(&row.task_id, &row.definition).outputs(Some(planned), records);
        for output in &outputs {
            for column in output.identity.iter().filter(|column| output.schema.field_with_name(column).is_err()) {
                let what = format!("for {named}: its output `{}` has no identity column `{column}`", output.name);
                judgement.problems.push(what);
            }
        }
        match self.loader.pipeline(row) {
            Ok(pipeline) => {
                if let Err(e) = connect::check_sink(&pipeline, &outputs) {
                    judgement.problems.push(format!("for {named}: {e}"));
                }
            }
            Err(e) => judgement.notes.push(format!("for {named}: not compared with the sink: {e}")),
        }
    }
}
