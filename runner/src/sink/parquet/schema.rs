//! What a dataset records about an output: once when it is new, and once more for each addition of columns.

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
use object_store::path::Path;
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

/// Columns that were added to an output, as stored. Rows from before are null in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum RecordedColumns {
    #[serde(rename = "columns/1")]
    V1 { columns: Vec<Column> },
}

/// All that is recorded about an output.
#[derive(Debug)]
pub(super) struct Known {
    first: Recorded,
    /// In the order of their addition. An output may lack them: those of older mappers do.
    added: Vec<Column>,
    additions: u64,
}

/// Checks that a dataset can hold an output.
pub(super) fn check(output: &OutputSchema) -> Result<(), SinkError> {
    let refused = |what: String, hint: &str| Err(SinkError::Mismatch { what, hint: hint.into() });
    let (name, table) = (&output.name, &output.table);
    if table.is_empty() || table.len() > NAME_MAX_BYTES || Layout::is_reserved(table) {
        let what = format!("the table name `{}` cannot be a folder of the dataset", table.escape_debug());
        return refused(what, "use 1 to 80 bytes, and not `_gristmill`");
    }
    for field in output.schema.fields() {
        if field.name().to_ascii_lowercase().starts_with(OWN_PREFIX) {
            let what =
                format!("output `{name}`: the column `{}` starts with `{OWN_PREFIX}`", field.name().escape_debug());
            return refused(what, "the sink's own columns are named so: choose another name");
        }
    }
    if let Err(error) = data::try_schema(&output.schema) {
        return refused(format!("output `{name}` does not fit Parquet: {error}"), "map it to another type");
    }
    if output.identity.is_empty() {
        return refused(format!("output `{name}` has no identity"), "name the columns that identify a record");
    }
    for column in &output.identity {
        let Ok(field) = output.schema.field_with_name(column) else {
            let what = format!("output `{name}` has no column `{column}`, which its identity names");
            return refused(what, "add it in the mapper, or name other identity columns");
        };
        let data_type = field.data_type();
        if data_type.is_nested() && !matches!(data_type, DataType::Dictionary(..))
            || data_type.is_floating()
            || data_type.is_null()
        {
            let what = format!("output `{name}`: column `{column}` of type {data_type} cannot identify a record");
            return refused(what, "use integers, text, binary, decimals, dates or times");
        }
    }
    Ok(())
}

fn recorded(folder: &str, output: &OutputSchema, task_id: &TaskId) -> Recorded {
    Recorded {
        task_id: task_id.clone(),
        output: folder.to_owned(),
        identity: output.identity.clone(),
        columns: output.schema.fields().iter().map(|field| column(field.name(), field.data_type())).collect(),
    }
}

/// What [`record`] would refuse, found without a change of anything.
pub(super) async fn fits(
    store: &dyn ObjectStore,
    layout: &Layout,
    folder: &str,
    output: &OutputSchema,
    task_id: &TaskId,
) -> Result<(), SinkError> {
    match find(store, layout, folder).await? {
        Some(known) => known.lacks(&recorded(folder, output, task_id), output).map(drop),
        None => Ok(()),
    }
}

/// Records an output, or compares it with what is recorded and records the columns that are new.
pub(super) async fn record(
    store: &dyn ObjectStore,
    layout: &Layout,
    folder: &str,
    output: &OutputSchema,
    task_id: &TaskId,
) -> Result<(), SinkError> {
    let ours = recorded(folder, output, task_id);
    let json = |error| SinkError::Permanent {
        what: format!("the schema of output `{}` cannot be written as JSON: {error}", output.name),
        hint: "report this as a bug of gristmill".into(),
    };
    let path = layout.schema(folder);
    let first = serde_json::to_vec_pretty(&RecordedSchema::V1(ours.clone())).map_err(json)?;
    let Created::Existing(bytes) = objects::create(store, &path, first.into()).await? else { return Ok(()) };
    let mut known = Known::read(store, layout, folder, parse(&path, &bytes)?).await?;
    loop {
        let columns = known.lacks(&ours, output)?;
        if columns.is_empty() {
            return Ok(());
        }
        let path = layout.columns(folder, known.additions + 1);
        let addition = serde_json::to_vec_pretty(&RecordedColumns::V1 { columns }).map_err(json)?;
        match objects::create(store, &path, addition.into()).await? {
            Created::New => return Ok(()),
            // Another owner was here first: what it added is judged like all that was there before.
            Created::Existing(bytes) => known.add(&path, &bytes)?,
        }
    }
}

/// Makes a folder's name a task's, for a table that is in another folder: no other task may take it.
pub(super) async fn reserve(
    store: &dyn ObjectStore,
    layout: &Layout,
    table: &str,
    built: &Known,
) -> Result<(), SinkError> {
    let ours = Recorded { output: table.to_owned(), ..built.first.clone() };
    let path = layout.schema(table);
    let json = serde_json::to_vec_pretty(&RecordedSchema::V1(ours)).map_err(|error| SinkError::Permanent {
        what: format!("the schema of table `{table}` cannot be written as JSON: {error}"),
        hint: "report this as a bug of gristmill".into(),
    })?;
    match objects::create(store, &path, json.into()).await? {
        Created::New => Ok(()),
        Created::Existing(bytes) => check_owner(table, parse(&path, &bytes)?.task_id.as_str(), built.task_id()),
    }
}

/// What is recorded about an output.
pub(super) async fn find(store: &dyn ObjectStore, layout: &Layout, output: &str) -> Result<Option<Known>, SinkError> {
    let path = layout.schema(output);
    match objects::read(store, &path).await? {
        Some(bytes) => Known::read(store, layout, output, parse(&path, &bytes)?).await.map(Some),
        None => Ok(None),
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Recorded, SinkError> {
    let RecordedSchema::V1(recorded) = serde_json::from_slice(bytes)
        .map_err(|error| damaged(format!("the recorded schema {path} cannot be read: {error}")))?;
    Ok(recorded)
}

fn column(name: &str, data_type: &DataType) -> Column {
    Column { name: name.to_owned(), r#type: type_text(data_type) }
}

impl Known {
    async fn read(store: &dyn ObjectStore, layout: &Layout, output: &str, first: Recorded) -> Result<Self, SinkError> {
        let mut known = Self { first, added: Vec::new(), additions: 0 };
        loop {
            let path = layout.columns(output, known.additions + 1);
            match objects::read(store, &path).await? {
                Some(bytes) => known.add(&path, &bytes)?,
                None => return Ok(known),
            }
        }
    }

    fn add(&mut self, path: &Path, bytes: &[u8]) -> Result<(), SinkError> {
        let RecordedColumns::V1 { columns } = serde_json::from_slice(bytes)
            .map_err(|error| damaged(format!("the recorded columns {path} cannot be read: {error}")))?;
        self.added.extend(columns);
        self.additions += 1;
        Ok(())
    }

    pub(super) fn task_id(&self) -> &TaskId {
        &self.first.task_id
    }

    pub(super) fn identity(&self) -> &[String] {
        &self.first.identity
    }

    /// The first columns, then those that were added.
    pub(super) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.first.columns.iter().chain(&self.added)
    }

    /// The columns of an output that are not recorded yet, if it fits otherwise: it has the first columns in their order,
    /// and all others can be null.
    fn lacks(&self, ours: &Recorded, output: &OutputSchema) -> Result<Vec<Column>, SinkError> {
        let (OutputSchema { name: output, table, schema, .. }, theirs) = (output, &self.first);
        check_owner(table, theirs.task_id.as_str(), &ours.task_id)?;
        if ours.identity != theirs.identity {
            return Err(mismatch(format!(
                "output `{output}` has the identity {}, the dataset was written with {}",
                ours.identity.join(", "),
                theirs.identity.join(", ")
            )));
        }
        if ours.output != theirs.output {
            return Err(mismatch(format!("table `{table}` and the dataset's `{}` share a name", theirs.output)));
        }
        let named = |columns: &[Column], name: &str| columns.iter().any(|column| column.name == name);
        let (first, others): (Vec<&Column>, Vec<&Column>) =
            ours.columns.iter().partition(|column| named(&theirs.columns, &column.name));
        let (known, new): (Vec<&Column>, Vec<&Column>) =
            others.into_iter().partition(|column| named(&self.added, &column.name));
        if !first.into_iter().eq(&theirs.columns) || !known.into_iter().all(|column| self.added.contains(column)) {
            return Err(mismatch(self.first_difference(output, ours)));
        }
        let required = |column: &&&Column| schema.field_with_name(&column.name).is_ok_and(|field| !field.is_nullable());
        if let Some(column) = new.iter().find(required) {
            let what = format!("output `{output}`: the rows in the dataset lack the column `{}`", column.name);
            return Err(mismatch(format!("{what}, which is new and not nullable")));
        }
        Ok(new.into_iter().cloned().collect())
    }

    fn first_difference(&self, output: &str, ours: &Recorded) -> String {
        let theirs: Vec<&Column> = self.columns().collect();
        let same = ours.columns.iter().zip(&theirs).take_while(|(ours, theirs)| ours == *theirs).count();
        let text = |column: Option<&Column>| match column {
            Some(column) => format!("`{}` {}", column.name, column.r#type),
            None => "no such column".into(),
        };
        format!(
            "output `{output}`, column {}: {}, the dataset was written with {}",
            same + 1,
            text(ours.columns.get(same)),
            text(theirs.get(same).copied())
        )
    }
}

fn mismatch(what: String) -> SinkError {
    SinkError::Mismatch { what, hint: "write to another prefix, or map to the columns that the dataset has".into() }
}
