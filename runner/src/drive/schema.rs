//! What a run does when its source shows other columns.

use super::RunError;
use crate::publish::{self, Loader, PublishError, Published};
use crate::schema::from_arrow;
use crate::source::{Changed, SourceError};
use crate::store::StoreError;
use crate::store::state::NewSchemaChange;
use futures::future::BoxFuture;
use gristmill_core::dead_letter::{DeadLetter, DeadLetterClass, RecordPosition, RefusedAt};
use gristmill_core::id::TaskVersion;
use gristmill_core::schema::Schema;
use gristmill_core::schema::compatibility::{Change, Described, compare};
use gristmill_core::schema::rules::Rules;
use gristmill_core::schema_change::{Decision, decide};
use std::path::Path;

/// What is wrong with a pipeline whose first object has other columns.
pub(super) fn never_fitted(published: &Published, changed: &Changed) -> SourceError {
    let names = |schema: &arrow::datatypes::Schema| {
        let names: Vec<_> = schema.fields().iter().map(|f| format!("{}: {}", f.name(), f.data_type())).collect();
        names.join(", ")
    };
    SourceError::Mismatch {
        what: format!("{} has other columns than the pipeline names: {}", changed.object, names(&changed.observed)),
        hint: format!(
            "the columns frozen as `{}` are {}: correct `columns` under a new schema id, or the file",
            published.schema_id,
            names(&published.source_schema)
        ),
    }
}

/// Decides about changed columns. A version: they were adopted, and it reads them. An error: the task waits for a person, and
/// the change is recorded.
///
/// Boxed: it leads through all of publishing, which the loop's own futures need not hold.
pub(super) fn changed<'a>(
    loader: &'a Loader,
    published: &'a Published,
    changed: Changed,
    spool: &'a Path,
) -> BoxFuture<'a, Result<TaskVersion, RunError>> {
    Box::pin(decide_on(loader, published, changed, spool))
}

async fn decide_on(
    loader: &Loader,
    published: &Published,
    changed: Changed,
    spool: &Path,
) -> Result<TaskVersion, RunError> {
    let unusable = |e: &dyn std::fmt::Display| RunError::Configuration {
        what: format!("the columns of {} cannot be used: {e}", changed.object),
        hint: "name the source's columns and types in the pipeline".into(),
    };
    let before = from_arrow(&published.source_schema).map_err(|e| unusable(&e))?;
    let observed = from_arrow(&changed.observed).map_err(|e| unusable(&e))?;
    let rules = Rules::default();
    // Of source columns: whether a record keeps its identity shows in what normalize makes of them.
    let described = |schema| Described { schema, rules: &rules, identity: &[] };
    let changes = compare(described(&before), described(&observed));
    let asked = published.settings.schema_changes;
    let mut why: Vec<String> = changes.iter().map(Change::to_string).collect();
    if let Decision::Adopt { added } = decide(asked.policy, asked.compatibility, &changes) {
        let added: Vec<_> = added.iter().map(ToString::to_string).collect();
        let origin = format!("adopted {} from {}", added.join(", "), changed.object);
        let row = loader.version(&published.task_id, published.version).await?;
        match publish::adopt(loader, &row, observed.clone(), &origin, spool).await {
            Ok(version) => return Ok(version),
            Err(PublishError::Pipeline(diagnoses)) => why.push(format!("they cannot be adopted: {diagnoses}")),
            Err(PublishError::Store(e)) => return Err(e.into()),
            Err(PublishError::Source(e)) => return Err(e.into()),
            Err(e @ PublishError::Host(_)) => why.push(format!("they cannot be adopted: {e}")),
        }
    }
    Err(record(loader, published, &changed.object, &observed, &changes, why).await?)
}

async fn record(
    loader: &Loader,
    published: &Published,
    object: &str,
    observed: &Schema,
    changes: &[Change],
    why: Vec<String>,
) -> Result<RunError, StoreError> {
    let new = NewSchemaChange {
        task_id: &published.task_id,
        object: Some(object),
        from_schema_id: &published.schema_id,
        observed: Some(observed),
        changes: &serde_json::json!({ "source": changes, "why": why }),
    };
    let id = loader.state.detect_schema_change(&new).await?;
    Ok(RunError::SchemaChanged { object: object.to_owned(), changes: why, id })
}

/// The object and column at fault where a page was refused because most of its values are not of one column's type.
pub(super) fn unreadable_column(letters: &[DeadLetter]) -> Option<(String, String)> {
    let at = |letter: &DeadLetter| match (&letter.position, &letter.field) {
        (RecordPosition::Source { object, .. }, Some(field))
            if letter.refused_at == RefusedAt::Source && letter.class == DeadLetterClass::UnparsableValue =>
        {
            Some((object.clone(), field.clone()))
        }
        _ => None,
    };
    let found = letters.iter().find_map(at)?;
    let same = letters.iter().filter(|letter| at(letter).as_ref() == Some(&found)).count();
    (same * 2 > letters.len()).then_some(found)
}

/// The source's columns with one of them as an object shows it; none where it is of the declared type after all.
pub(super) fn with_column(
    declared: &arrow::datatypes::Schema,
    observed: &arrow::datatypes::Schema,
    column: &str,
) -> Option<arrow::datatypes::Schema> {
    let found = observed.field_with_name(column).ok()?;
    if declared.field_with_name(column).ok()?.data_type() == found.data_type() {
        return None;
    }
    let fields = declared.fields().iter().map(|field| match field.name() == column {
        true => found.clone().with_nullable(field.is_nullable()).into(),
        false => field.clone(),
    });
    Some(arrow::datatypes::Schema::new(fields.collect::<Vec<_>>()))
}
