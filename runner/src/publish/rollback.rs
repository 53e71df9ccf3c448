//! An earlier version, put in force again.
//!
//! A rollback is a publication: a new version with the snapshot of the old one, so that a running worker takes it at its
//! next batch boundary and history shows what happened. Before that, everything that the old version needs is proven to be
//! there still, and to fit what is there now.

use super::check::{History, moved};
use super::{Loader, Targets};
use crate::config::Pipeline;
use crate::connect;
use crate::drive::{RunError, is_held};
use crate::record::OutputSchema;
use crate::sink::SinkError;
use crate::store::state::{Base, NewVersion, TaskVersionRow};
use crate::store::{StateStore, StoreError};
use gristmill_core::id::TaskVersion;
use gristmill_core::schema_change::Policy;
use serde::Serialize;
use std::path::Path;

/// What a rollback looks at, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Aspect {
    /// Components and dictionaries are in the store, intact.
    Store,
    /// The pipeline file of the version can be read, and the variables that it names are set.
    Pipeline,
    /// Its components plan against its schemas.
    Code,
    /// It names records, and their places, as the task does now.
    Identity,
    /// The target takes its rows.
    Target,
    /// The source still has the columns that it reads.
    Source,
    /// No schema change holds the task at the version that is in force.
    Change,
}

impl Aspect {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Pipeline => "pipeline",
            Self::Code => "code",
            Self::Identity => "identity",
            Self::Target => "target",
            Self::Source => "source",
            Self::Change => "change",
        }
    }
}

/// What was found of one aspect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "result", content = "what")]
pub enum Found {
    Fits(String),
    /// Everything that is in the way.
    Fails(Vec<String>),
    /// It depends on an aspect that failed.
    Unknown(String),
}

/// The judgement of one aspect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judged {
    pub aspect: Aspect,
    #[serde(flatten)]
    pub found: Found,
}

/// Judges whether `to` can be in force again in place of `latest`. Writes nothing; the target is only read.
pub async fn can_roll_back(
    loader: &Loader,
    to: &TaskVersionRow,
    latest: &TaskVersionRow,
    spool: &Path,
) -> Result<Vec<Judged>, RunError> {
    let lacking = loader.lacking(&to.pins).await?;
    let stored = lacking.is_empty();
    let mut judged = vec![Judged {
        aspect: Aspect::Store,
        found: match stored {
            true => Found::Fits("its components and dictionaries are stored, intact".into()),
            false => Found::Fails(lacking),
        },
    }];
    let pipeline = loader.pipeline(to);
    judged.push(Judged {
        aspect: Aspect::Pipeline,
        found: match &pipeline {
            Ok(_) => Found::Fits("as it was published".into()),
            Err(e) => Found::Fails(vec![format!("{e}; {}", e.hint())]),
        },
    });
    let outputs = match stored {
        false => None,
        true => Some(plan(loader, to).await?),
    };
    judged.push(Judged {
        aspect: Aspect::Code,
        found: match &outputs {
            None => Found::Unknown("not all of it is in the store".into()),
            Some(Ok(_)) => Found::Fits(format!("plans against {}", to.schema_id)),
            Some(Err(what)) => Found::Fails(vec![what.clone()]),
        },
    });
    judged.push(Judged { aspect: Aspect::Identity, found: identity(to, latest) });
    judged.push(Judged {
        aspect: Aspect::Target,
        found: match (&pipeline, &outputs) {
            (Ok(pipeline), Some(Ok(outputs))) => target(pipeline, outputs).await?,
            (Err(_), _) => Found::Unknown("the pipeline cannot be read".into()),
            _ => Found::Unknown("its code could not be planned".into()),
        },
    });
    judged.push(Judged {
        aspect: Aspect::Source,
        found: match &pipeline {
            Ok(pipeline) => source(loader, to, latest, pipeline, spool).await?,
            Err(_) => Found::Unknown("the pipeline cannot be read".into()),
        },
    });
    let waits = held_by(&loader.state, latest).await?;
    judged.push(Judged {
        aspect: Aspect::Change,
        found: match waits {
            None => Found::Fits("no schema change waits for the target".into()),
            Some(why) => Found::Fails(vec![why]),
        },
    });
    Ok(judged)
}

/// Why no other version can be published now: batches wait for a target that is to be rebuilt for the latest one.
pub async fn held_by(state: &StateStore, latest: &TaskVersionRow) -> Result<Option<String>, StoreError> {
    if !is_held(state, &latest.task_id, latest.version).await? {
        return Ok(None);
    }
    let change = state.open_schema_change(&latest.task_id).await?;
    let id = change.map_or_else(String::new, |change| format!(" {}", change.id));
    Ok(Some(format!(
        "schema change{id} holds the task: the target is to be rebuilt for version {}, and batches may wait for it",
        latest.version
    )))
}

/// Publishes the snapshot of `to` again, unless another version than `latest` is in force by now.
pub async fn roll_back(loader: &Loader, to: &TaskVersionRow, latest: TaskVersion) -> Result<TaskVersion, StoreError> {
    let gone = |what: &str| StoreError::Missing {
        what: format!("the {what} of version {}", to.version),
        hint: "publish the pipeline file again".into(),
    };
    let definition = to.definition.to_string();
    let origin = format!("rolled back to {}", to.version);
    let new = NewVersion {
        task_id: &to.task_id,
        schema_id: &to.schema_id,
        definition: &definition,
        pins: &to.pins,
        pipeline: to.pipeline.as_deref().ok_or_else(|| gone("pipeline file"))?,
        base_dir: to.base_dir.as_deref().ok_or_else(|| gone("folder"))?,
        adopted: to.adopted.as_ref(),
        origin: &origin,
    };
    loader.state.publish(&new, Base(Some(latest))).await
}

/// The outputs of a version's code, or why it cannot be planned.
async fn plan(loader: &Loader, to: &TaskVersionRow) -> Result<Result<Vec<OutputSchema>, String>, RunError> {
    let told = |e: RunError| match e {
        // What was frozen or stored, and does not hold any more.
        RunError::Store(StoreError::Damaged { .. } | StoreError::Missing { .. }) => Ok(e.to_string()),
        e => Err(e),
    };
    if let Err(e) = loader.normalizer(to, &to.schema_id, &to.pins).await {
        return told(e).map(Err);
    }
    let targets = Targets::of(&to.task_id, &to.definition);
    match loader.mapper(&to.schema_id, &to.pins, &targets).await {
        Ok(mapper) => Ok(Ok(mapper.outputs)),
        Err(e) => told(e).map(Err),
    }
}

/// Rows that the target holds under another identity could neither be found nor compared.
fn identity(to: &TaskVersionRow, latest: &TaskVersionRow) -> Found {
    let mut failed = Vec::new();
    for key in ["identity", "source_version"] {
        let (then, now) = (&to.definition[key], &latest.definition[key]);
        if then != now {
            failed.push(format!("`{key}` was {then} then and is {now} now"));
        }
    }
    if let Some(what) = moved(&to.definition["sink"], &latest.definition["sink"], History::Same) {
        failed.push(format!("{what} since version {}", to.version));
    }
    match failed.is_empty() {
        true => Found::Fits(format!("the same as in version {}", latest.version)),
        false => Found::Fails(failed),
    }
}

async fn target(pipeline: &Pipeline, outputs: &[OutputSchema]) -> Result<Found, RunError> {
    let fits = match connect::check_sink(pipeline, outputs) {
        Ok(_) => connect::check_target(pipeline, outputs).await,
        Err(e) => Err(e),
    };
    let tables = || outputs.iter().map(|output| output.table.as_str()).collect::<Vec<_>>().join(", ");
    match fits {
        Ok(()) => Ok(Found::Fits(format!("takes its rows, in {}", tables()))),
        Err(SinkError::Mismatch { what, hint } | SinkError::Permanent { what, hint }) => {
            Ok(Found::Fails(vec![format!("{what}; {hint}")]))
        }
        Err(error) => Err(RunError::Sink { error, batch: None }),
    }
}

/// The columns that the latest version reads are those that the source has now.
async fn source(
    loader: &Loader,
    to: &TaskVersionRow,
    latest: &TaskVersionRow,
    pipeline: &Pipeline,
    spool: &Path,
) -> Result<Found, RunError> {
    let then = loader.source_columns(&to.task_id, &to.schema_id).await?;
    let now = loader.source_columns(&latest.task_id, &latest.schema_id).await?;
    let mut failed = Vec::new();
    for column in then.fields() {
        match now.field_with_name(column.name()) {
            Err(_) => failed.push(format!("it has no column `{}` any more", column.name())),
            Ok(found) if found.data_type() != column.data_type() => failed.push(format!(
                "its column `{}` is {} now, and was {}",
                column.name(),
                found.data_type(),
                column.data_type()
            )),
            Ok(_) => {}
        }
    }
    // Under another policy a file's further columns are taken in, or left out.
    if pipeline.schema_changes.policy == Policy::Stop {
        let unread = now.fields().iter().filter(|column| then.field_with_name(column.name()).is_err());
        failed
            .extend(unread.map(|column| format!("it has a column `{}` now, which would stop the task", column.name())));
    }
    if let Err(e) = connect::source(&pipeline.source, then.clone(), spool) {
        failed.push(e.to_string());
    }
    Ok(match failed.is_empty() {
        true => Found::Fits(format!("has the {} columns that it reads", then.fields().len())),
        false => Found::Fails(failed),
    })
}
