//! Whether source, components, schemas and target fit together. Writes nothing.

use super::resolve::blame;
use super::{ComponentFolders, Known, PublishError, Resolved, Targets, dictionary, resolve};
use crate::config::{At, Pipeline, SourceConfig, Tables};
use crate::connect;
use crate::drive::normalize::can_version;
use crate::host::{Dictionaries, Host, PlannedStage, Stage};
use crate::record::OutputSchema;
use crate::schema::{from_arrow, to_arrow};
use crate::sink::{Guarantee, SinkError};
use crate::source::SourceError;
use crate::store::state::{Adopted, Base, FrozenSchema};
use arrow::datatypes::SchemaRef;
use gristmill_core::id::SchemaId;
use gristmill_core::pins::Pin;
use gristmill_core::schema::Schema;
use gristmill_core::version::VersionSource;
use std::path::Path;

/// A pipeline that fits.
#[derive(Debug)]
pub struct Checked {
    pub resolved: Resolved,
    pub source_schema: Schema,
    pub source_inferred: bool,
    /// Of the change records.
    pub schema: Schema,
    pub outputs: Vec<OutputSchema>,
    /// Of the sink.
    pub guarantee: Guarantee,
    /// The latest version when all this was looked at.
    pub base: Base,
    pub(super) adopted: Option<Adopted>,
}

/// Whether a pipeline may break with its task's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// Identities, versions and tables mean the same as before.
    Same,
    /// The identity may change: the target is rebuilt.
    Rebuilt,
}

/// Checks a pipeline against its source, its components and what the state has frozen.
pub async fn check(
    pipeline: &Pipeline,
    host: &Host,
    folders: &ComponentFolders,
    known: Option<Known<'_>>,
    spool: &Path,
    history: History,
) -> Result<Checked, PublishError> {
    let resolved = resolve(pipeline, folders, known).await?;
    judge(pipeline, host, resolved, known, spool, history).await
}

/// As [`check()`], with the components in hand.
pub(super) async fn judge(
    pipeline: &Pipeline,
    host: &Host,
    resolved: Resolved,
    known: Option<Known<'_>>,
    spool: &Path,
    history: History,
) -> Result<Checked, PublishError> {
    let base = match known {
        Some(known) => Base(known.state.latest_version(&pipeline.task).await?),
        None => Base(None),
    };
    let (source_schema, source_inferred) = source_columns(pipeline, known, spool).await?;
    let source = to_arrow(&source_schema);
    connect::source(&pipeline.source, source.clone(), spool).map_err(|e| source_mistake(pipeline, e))?;
    let dictionaries = dictionaries(pipeline, &resolved)?;

    let normalize = match &resolved.pins.normalize {
        Some(pin) => {
            Some(plan(pipeline, host, Stage::Normalize, At::Normalize, pin, &resolved, &source, &dictionaries)?)
        }
        None => None,
    };
    let records = normalize.as_ref().map_or(&source, |stage| &stage.outputs()[0].schema).clone();
    let schema = from_arrow(&records).map_err(|e| {
        blame(pipeline.diagnose(
            At::Normalize,
            format!("the change records cannot be stored: {e}"),
            "use a supported type",
        ))
    })?;
    if let Some(known) = known
        && let Some(frozen) = known.state.frozen_schema(&pipeline.schema).await?
    {
        same_records(pipeline, &frozen, &schema)?;
    }
    check_keys(pipeline, &records)?;
    if let Some(known) = known {
        check_history(pipeline, known, history).await?;
    }

    check_links(pipeline, host, known, &resolved, &schema, &dictionaries).await?;
    let map = match &resolved.pins.map {
        Some(pin) => Some(plan(pipeline, host, Stage::Map, At::Map, pin, &resolved, &records, &dictionaries)?),
        None => None,
    };
    let definition = serde_json::from_str(&pipeline.canonical_json()).unwrap_or_default();
    let targets = Targets::of(&pipeline.task, &definition);
    let outputs = targets.outputs(map.as_ref().map(|stage| stage.outputs()), &records);
    check_tables(pipeline, &outputs)?;
    let guarantee = connect::check_sink(pipeline, &outputs)
        .map_err(|e| blame(pipeline.diagnose(At::Sink, e.to_string(), sink_hint(&e))))?;
    Ok(Checked { resolved, source_schema, source_inferred, schema, outputs, guarantee, base, adopted: None })
}

/// Every link of migrate starts at a schema that is known, gives exactly the next one, and leads to the pipeline's.
async fn check_links(
    pipeline: &Pipeline,
    host: &Host,
    known: Option<Known<'_>>,
    resolved: &Resolved,
    schema: &Schema,
    dictionaries: &Dictionaries,
) -> Result<(), PublishError> {
    let pins = &resolved.pins;
    for (from, link) in &pins.migrate {
        let at = At::Migrate(from.to_string());
        let refused = |message: String, hint: &str| blame(pipeline.diagnose(at.clone(), message, hint));
        let mut ends = Vec::with_capacity(2);
        for id in [from, &link.to] {
            let frozen = match known {
                _ if *id == pipeline.schema => Some(schema.clone()),
                Some(known) => known.state.schema(id).await?,
                None => None,
            };
            ends.push(frozen.ok_or_else(|| {
                refused(
                    format!("no schema is frozen as `{id}`"),
                    "a link starts at, and leads to, a schema that this state knows: see `gristmill schema list`",
                )
            })?);
        }
        let (input, wanted) = (to_arrow(&ends[0]), &ends[1]);
        let stage = plan(pipeline, host, Stage::Migrate, at.clone(), &link.pin, resolved, &input, dictionaries)?;
        let gives = from_arrow(&stage.outputs()[0].schema)
            .map_err(|e| refused(format!("its records cannot be stored: {e}"), "use supported types"))?;
        // By name: the order in which a link gives its columns does not matter.
        let differences = wanted.differences(&gives.ordered_as(wanted));
        if !differences.is_empty() {
            let message =
                format!("{} does not give the records of `{}`: {}", link.pin.label, link.to, differences.join("; "));
            return Err(refused(message, "a link gives exactly the columns of the schema that it leads to"));
        }
        let end = pins.chain(from).last().map_or(from, |(_, link)| &link.to);
        if *end != pipeline.schema {
            let message = format!("the links from `{from}` end at `{end}`, not at `{}`", pipeline.schema);
            return Err(refused(message, "add the link that is missing, or correct `to`"));
        }
    }
    Ok(())
}

/// What the source cannot do with its configuration, at its place in the file.
fn source_mistake(pipeline: &Pipeline, error: SourceError) -> PublishError {
    match error {
        SourceError::Mismatch { what, hint } | SourceError::Permanent { what, hint } => {
            blame(pipeline.diagnose(At::SourceColumns, what, hint))
        }
        error => error.into(),
    }
}

fn sink_hint(error: &SinkError) -> String {
    match error {
        SinkError::Mismatch { hint, .. } | SinkError::Permanent { hint, .. } => hint.clone(),
        _ => "check the sink's url".into(),
    }
}

/// The source's columns: those frozen for this task and schema id, which must be those of the file where it names any;
/// else those of the file; else inferred from the first object.
async fn source_columns(
    pipeline: &Pipeline,
    known: Option<Known<'_>>,
    spool: &Path,
) -> Result<(Schema, bool), PublishError> {
    let SourceConfig::Files(files) = &pipeline.source;
    let frozen = match known {
        Some(known) => known.state.frozen_source(&pipeline.task, &pipeline.schema).await?,
        None => None,
    };
    match (frozen, &files.columns) {
        (Some(frozen), None) => Ok((frozen.schema, frozen.inferred)),
        (Some(frozen), Some(columns)) => {
            same_schema(
                pipeline,
                At::SourceColumns,
                &pipeline.schema,
                "the source's columns",
                &frozen.schema,
                columns,
            )?;
            Ok((frozen.schema, frozen.inferred))
        }
        (None, Some(columns)) => Ok((columns.clone(), false)),
        (None, None) => Ok((connect::infer_source(&pipeline.source, spool).await?, true)),
    }
}

fn dictionaries(pipeline: &Pipeline, resolved: &Resolved) -> Result<Dictionaries, PublishError> {
    let mut dictionaries = Dictionaries::new();
    for (name, pin) in &resolved.pins.dictionaries {
        let Some((_, bytes)) = resolved.contents.get(&pin.content) else { continue };
        let refused = |e: String| {
            let message = format!("dictionary `{name}`: {e}");
            blame(pipeline.diagnose(
                At::Dictionary(name.clone()),
                message,
                "a dictionary is a CSV file with a header and unique keys",
            ))
        };
        let loaded = dictionary::load(name, bytes, pin).map_err(|e| refused(e.to_string()))?;
        dictionaries.insert(loaded).map_err(|e| refused(e.to_string()))?;
    }
    Ok(dictionaries)
}

#[expect(clippy::too_many_arguments, reason = "one call for each stage, and all of it matters to each")]
fn plan(
    pipeline: &Pipeline,
    host: &Host,
    stage: Stage,
    at: At,
    pin: &Pin,
    resolved: &Resolved,
    input: &SchemaRef,
    dictionaries: &Dictionaries,
) -> Result<PlannedStage, PublishError> {
    let refused = |message: String, hint: &str| blame(pipeline.diagnose(at.clone(), message, hint));
    let Some((_, bytes)) = resolved.contents.get(&pin.component) else {
        return Err(refused(format!("the bytes of {} are gone", pin.label), "run again"));
    };
    let component = host.load(bytes).map_err(|e| {
        refused(format!("{} cannot be used: {e}", pin.label), "build it with `gristmill transform build`")
    })?;
    let planned = host.plan(&component, stage, &pin.config, input, dictionaries).map_err(|e| {
        refused(format!("{}: {e}", pin.label), "check its configuration, the columns it reads and its dictionaries")
    })?;
    Ok(planned)
}

/// Identity and version columns are there, and the version's type has an order.
fn check_keys(pipeline: &Pipeline, records: &SchemaRef) -> Result<(), PublishError> {
    let names = || records.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>().join(", ");
    for name in &pipeline.identity {
        if records.field_with_name(name).is_err() {
            let message = format!("identity column `{name}` is not a column of the change records");
            let at = At::IdentityColumn(name.clone());
            return Err(blame(pipeline.diagnose(at, message, format!("their columns are {}", names()))));
        }
    }
    let VersionSource::Column(name) = &pipeline.source_version else { return Ok(()) };
    let name = name.as_str();
    let hint = format!("the change records' columns are {}", names());
    match records.field_with_name(name) {
        Err(_) => {
            let message = format!("source_version column `{name}` is not a column of the change records");
            Err(blame(pipeline.diagnose(At::SourceVersion, message, hint)))
        }
        Ok(field) if !can_version(field.data_type()) => {
            let message = format!(
                "source_version column `{name}` has type {}, which has no order of versions",
                field.data_type()
            );
            Err(blame(pipeline.diagnose(At::SourceVersion, message, "use a number, a time or text")))
        }
        Ok(_) => Ok(()),
    }
}

/// Identities and versions mean the same for the whole life of a task: rows that the target holds under others could
/// neither be found nor compared.
async fn check_history(pipeline: &Pipeline, known: Known<'_>, history: History) -> Result<(), PublishError> {
    let versions = known.state.task_versions(&pipeline.task).await?;
    let Some(latest) = versions.last() else { return Ok(()) };
    let definition: serde_json::Value = serde_json::from_str(&pipeline.canonical_json()).unwrap_or_default();
    for (key, at) in [("identity", At::Identity), ("source_version", At::SourceVersion)] {
        if definition[key] != latest.definition[key] && !(key == "identity" && history == History::Rebuilt) {
            let message =
                format!("`{key}` was {} when task `{}` wrote its target", latest.definition[key], pipeline.task);
            let hint = match key {
                "identity" => "another identity needs the target rebuilt: plan it with `gristmill schema plan`",
                _ => "it cannot change within a task: give the pipeline a new task id and a new target",
            };
            return Err(blame(pipeline.diagnose(at, message, hint)));
        }
    }
    if let Some(what) = moved(&latest.definition["sink"], &definition["sink"], history) {
        let message = format!("{what} since task `{}` wrote its target", pipeline.task);
        let hint =
            "the rows that it has committed stay where they are: give the pipeline a new task id for a new target";
        return Err(blame(pipeline.diagnose(At::Sink, message, hint)));
    }
    Ok(())
}

/// How the target of a task has moved. New outputs may come and old ones go; those that stay keep their tables.
pub(super) fn moved(before: &serde_json::Value, now: &serde_json::Value, history: History) -> Option<String> {
    let (before, now) = (before.as_object()?, now.as_object()?);
    for (kind, old) in before {
        let Some(new) = now.get(kind) else { return Some(format!("the sink is no longer {kind}")) };
        for key in ["url", "table"] {
            if old[key] != new[key] {
                return Some(format!("the sink's {key} has changed"));
            }
        }
        for (output, was) in old["tables"].as_object().into_iter().flatten() {
            let table = |config: &serde_json::Value| config["table"].as_str().unwrap_or(output).to_owned();
            let is = &new["tables"][output];
            if table(was) != table(is) || history == History::Same && was["identity"] != is["identity"] {
                return Some(format!("the table or identity of output {output} has changed"));
            }
        }
    }
    None
}

/// Every table that the pipeline names is an output, and every output holds its identity.
fn check_tables(pipeline: &Pipeline, outputs: &[OutputSchema]) -> Result<(), PublishError> {
    let names = || outputs.iter().map(|o| o.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Tables::Single(table) = pipeline.sink.tables()
        && outputs.len() != 1
    {
        let message = format!("one table `{table}` for {} outputs", outputs.len());
        return Err(blame(pipeline.diagnose(At::Tables, message, format!("list them under `tables`: {}", names()))));
    }
    for name in pipeline.sink.tables().named() {
        if !outputs.iter().any(|o| o.name == name) {
            let message = format!("the mapper has no output `{name}`");
            return Err(blame(pipeline.diagnose(
                At::Table(name.into()),
                message,
                format!("its outputs are {}", names()),
            )));
        }
    }
    for output in outputs {
        for column in &output.identity {
            if output.schema.field_with_name(column).is_err() {
                let message = format!("output `{}` has no identity column `{column}`", output.name);
                let hint = "let the mapper emit it, or set the table's own `identity`";
                return Err(blame(pipeline.diagnose(At::Table(output.name.clone()), message, hint)));
            }
        }
    }
    Ok(())
}

/// As [`same_schema`], for the change records and the rules by which their values came about.
pub(super) fn same_records(pipeline: &Pipeline, frozen: &FrozenSchema, now: &Schema) -> Result<(), PublishError> {
    let (at, id) = (At::Schema, &pipeline.schema);
    same_schema(pipeline, at.clone(), id, "the change records", &frozen.schema, now)?;
    let differences = frozen.rules.differences(&pipeline.rules());
    if differences.is_empty() {
        return Ok(());
    }
    let message = format!("the rules for values are not those frozen as `{id}`: {}", differences.join("; "));
    Err(blame(pipeline.diagnose(at, message, "a schema id never changes: choose a new one for the new rules")))
}

/// A schema id is frozen with its first use.
pub(super) fn same_schema(
    pipeline: &Pipeline,
    at: At,
    schema_id: &SchemaId,
    what: &str,
    frozen: &Schema,
    now: &Schema,
) -> Result<(), PublishError> {
    let differences = frozen.differences(now);
    if differences.is_empty() {
        return Ok(());
    }
    let message = format!("{what} are not those frozen as `{schema_id}`: {}", differences.join("; "));
    Err(blame(pipeline.diagnose(at, message, "a schema id never changes: choose a new one for the new columns")))
}
