//! What a dataset records about an output, once.

use super::data;
use super::error::damaged;
use super::layout::Layout;
use super::objects::{self, Created};
use crate::content::type_text;
use crate::record::OutputSchema;
use crate::sink::SinkError;
use crate::sink::support::check_owner;
use arrow::datatypes::DataType;
use gristmill_core::id::TaskId;
use object_store::ObjectStore;
use serde::{Deserialize, Serialize};

/// Columns that names from outside may not start with.
const OWN_PREFIX: &str = "gristmill_";

/// File names of more than 255 bytes are refused by most systems, and escaping makes names longer.
const NAME_MAX_BYTES: usize = 80;

/// The record, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub(super) enum RecordedSchema {
    #[serde(rename = "schema/1")]
    V1(Recorded),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Recorded {
    /// The task that the folder belongs to.
    pub task_id: TaskId,
    pub output: String,
    pub identity: Vec<String>,
    pub columns: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Column {
    pub name: String,
    /// As in [`crate::content`].
    pub r#type: String,
}

/// Checks that a dataset can hold an output.
pub(super) fn check(output: &OutputSchema) -> Result<(), SinkError> {
    let mismatch = |what: String, hint: &str| Err(SinkError::Mismatch { what, hint: hint.into() });
    let (name, table) = (&output.name, &output.table);
    if table.is_empty() || table.len() > NAME_MAX_BYTES || Layout::is_reserved(table) {
        let what = format!("the table name `{}` cannot be a folder of the dataset", table.escape_debug());
        return mismatch(what, "use 1 to 80 bytes, and not `_gristmill`");
    }
    for field in output.schema.fields() {
        if field.name().to_ascii_lowercase().starts_with(OWN_PREFIX) {
            let what =
                format!("output `{name}`: the column `{}` starts with `{OWN_PREFIX}`", field.name().escape_debug());
            return mismatch(what, "the sink's own columns are named so: choose another name");
        }
    }
    if let Err(error) = data::try_schema(&output.schema) {
        return mismatch(format!("output `{name}` does not fit Parquet: {error}"), "map it to another type");
    }
    if output.identity.is_empty() {
        return mismatch(format!("output `{name}` has no identity"), "name the columns that identify a record");
    }
    for column in &output.identity {
        let Ok(field) = output.schema.field_with_name(column) else {
            let what = format!("output `{name}` has no column `{column}`, which its identity names");
            return mismatch(what, "add it in the mapper, or name other identity columns");
        };
        let data_type = field.data_type();
        if data_type.is_nested() && !matches!(data_type, DataType::Dictionary(..))
            || data_type.is_floating()
            || data_type.is_null()
        {
            let what = format!("output `{name}`: column `{column}` of type {data_type} cannot identify a record");
            return mismatch(what, "use integers, text, binary, decimals, dates or times");
        }
    }
    Ok(())
}

/// Records an output, or compares it with what is recorded.
pub(super) async fn record(
    store: &dyn ObjectStore,
    layout: &Layout,
    output: &OutputSchema,
    task_id: &TaskId,
) -> Result<(), SinkError> {
    let ours = Recorded {
        task_id: task_id.clone(),
        output: output.table.clone(),
        identity: output.identity.clone(),
        columns: output.schema.fields().iter().map(|field| column(field.name(), field.data_type())).collect(),
    };
    let path = layout.schema(&output.table);
    let json = serde_json::to_vec_pretty(&RecordedSchema::V1(ours.clone())).map_err(|error| SinkError::Permanent {
        what: format!("the schema of output `{}` cannot be written as JSON: {error}", output.name),
        hint: "report this as a bug of gristmill".into(),
    })?;
    match objects::create(store, &path, json.into()).await? {
        Created::New => Ok(()),
        Created::Existing(bytes) => compare(&ours, &parse(&path, &bytes)?),
    }
}

/// What is recorded about an output.
pub(super) async fn find(
    store: &dyn ObjectStore,
    layout: &Layout,
    output: &str,
) -> Result<Option<Recorded>, SinkError> {
    let path = layout.schema(output);
    let bytes = objects::read(store, &path).await?;
    bytes.map(|bytes| parse(&path, &bytes)).transpose()
}

fn parse(path: &object_store::path::Path, bytes: &[u8]) -> Result<Recorded, SinkError> {
    let RecordedSchema::V1(recorded) = serde_json::from_slice(bytes)
        .map_err(|error| damaged(format!("the recorded schema {path} cannot be read: {error}")))?;
    Ok(recorded)
}

fn column(name: &str, data_type: &DataType) -> Column {
    Column { name: name.to_owned(), r#type: type_text(data_type) }
}

fn compare(ours: &Recorded, theirs: &Recorded) -> Result<(), SinkError> {
    let output = &ours.output;
    check_owner(output, theirs.task_id.as_str(), &ours.task_id)?;
    let what = if ours.identity != theirs.identity {
        format!(
            "output `{output}` has the identity {}, the dataset was written with {}",
            ours.identity.join(", "),
            theirs.identity.join(", ")
        )
    } else if ours.output != theirs.output {
        format!("output `{output}` and the dataset's `{}` share a name", theirs.output)
    } else {
        let differs = |(a, b): (&Column, &Column)| a != b;
        let place = ours.columns.iter().zip(&theirs.columns).position(differs);
        let place = place.unwrap_or(ours.columns.len().min(theirs.columns.len()));
        let text = |columns: &[Column]| match columns.get(place) {
            Some(column) => format!("`{}` {}", column.name, column.r#type),
            None => "no such column".into(),
        };
        match ours.columns == theirs.columns {
            true => return Ok(()),
            false => format!(
                "output `{output}`, column {}: {}, the dataset was written with {}",
                place + 1,
                text(&ours.columns),
                text(&theirs.columns)
            ),
        }
    };
    Err(SinkError::Mismatch {
        what,
        hint: "write to another prefix, or map to the columns that the dataset has".into(),
    })
}
