//! What a target holds, read without gristmill where that is possible.

use super::Workspace;
use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use gristmill::sink::parquet::read_current;
use rusqlite::types::Value;
use std::collections::BTreeMap;

/// One record of a target: its columns as text, without bookkeeping that differs between runs.
pub type Row = BTreeMap<String, String>;

/// A kind of sink, and how to read it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Sqlite,
    Parquet,
}

impl Target {
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Parquet];

    pub fn yaml(self) -> &'static str {
        match self {
            Self::Sqlite => r#"sqlite: { url: "sqlite://target.db" }"#,
            Self::Parquet => "parquet: { url: target/ }",
        }
    }

    /// The rows that a reader sees, by identity. Includes version and content hash, so that a stale row differs.
    pub fn rows(self, workspace: &Workspace, table: &str) -> Vec<Row> {
        match self {
            Self::Sqlite => sqlite(workspace, table),
            Self::Parquet => parquet(workspace, table),
        }
    }

    /// Committed batches, once for each time that the target has registered them.
    pub fn batches(self, workspace: &Workspace) -> Vec<String> {
        match self {
            Self::Sqlite => {
                let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
                let mut query = target
                    .prepare("SELECT batch_id FROM gristmill_batch WHERE state = 'COMMITTED' ORDER BY 1")
                    .unwrap();
                query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
            }
            Self::Parquet => {
                // A name with `#` is a put that was never completed: object stores do not list it.
                let whole = |path: &std::path::PathBuf| !path.to_string_lossy().contains('#');
                let logs: Vec<_> = workspace.files("target/_gristmill/log").into_iter().filter(whole).collect();
                let entries = logs.iter().map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap());
                let mut ids: Vec<String> = entries.filter_map(|entry: serde_json::Value| find_batch(&entry)).collect();
                ids.sort();
                ids
            }
        }
    }
}

fn find_batch(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Object(map) => match map.get("batchId").and_then(|v| v.as_str()) {
            Some(id) => Some(id.to_owned()),
            None => map.values().find_map(find_batch),
        },
        _ => None,
    }
}

fn sqlite(workspace: &Workspace, table: &str) -> Vec<Row> {
    let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
    let mut query = target.prepare(&format!("SELECT * FROM \"{table}\" WHERE gristmill_deleted_at IS NULL")).unwrap();
    let names: Vec<String> = query.column_names().into_iter().map(str::to_owned).collect();
    let rows = query.query_map([], |row| {
        let cell = |(index, name): (usize, &String)| {
            let value: Value = row.get(index).unwrap();
            // The batch's number in the registry depends on how often a run was interrupted.
            (name != "gristmill_batch").then(|| (name.clone(), format!("{value:?}")))
        };
        Ok(names.iter().enumerate().filter_map(cell).collect::<Row>())
    });
    let mut rows: Vec<Row> = rows.unwrap().map(Result::unwrap).collect();
    rows.sort();
    rows
}

fn parquet(workspace: &Workspace, table: &str) -> Vec<Row> {
    let store = object_store::local::LocalFileSystem::new_with_prefix(workspace.path("target")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let prefix = object_store::path::Path::default();
    let read = read_current(&store, &prefix, table);
    let Some(batch) = runtime.block_on(read).unwrap() else { return Vec::new() };
    let options = FormatOptions::default().with_null("Null");
    let schema = batch.schema();
    // Times as their numbers: the display of zones needs a zone database.
    let plain = |column: &ArrayRef| match column.data_type() {
        DataType::Timestamp(..) => cast(column, &DataType::Int64).unwrap(),
        _ => column.clone(),
    };
    let arrays: Vec<ArrayRef> = batch.columns().iter().map(plain).collect();
    let formatters = arrays.iter().map(|c| ArrayFormatter::try_new(c.as_ref(), &options).unwrap());
    let columns: Vec<_> = schema.fields().iter().map(|f| f.name().clone()).zip(formatters).collect();
    let cells = |row: usize| columns.iter().map(move |(name, column)| (name.clone(), column.value(row).to_string()));
    let mut rows: Vec<Row> =
        (0..batch.num_rows()).map(|row| cells(row).filter(|(name, _)| name != "gristmill_batch").collect()).collect();
    rows.sort();
    rows
}
