//! The pipeline file as it is written. Editors get their JSON Schema from these types, with these descriptions.

use super::values::{Entries, Free, Located, Scalar, Short, ShortForm};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// A pipeline: where records come from, what they become and where they go.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Pipeline")]
pub(super) struct RawPipeline {
    /// Version of this file's form: 1.
    #[schemars(schema_with = "version_schema")]
    #[allow(dead_code, reason = "judged before anything else is decoded; here for the JSON Schema")]
    pub version: Scalar,
    /// Name of the task: the state that a run leaves is kept under it. Lower-case letters, digits, `-` and `_`.
    #[schemars(schema_with = "id_schema")]
    pub task: Located<String>,
    /// Id under which the columns of the change records are frozen at the first run, such as `flights-v1`.
    #[schemars(schema_with = "id_schema")]
    pub schema: Located<String>,
    /// Where records come from.
    pub source: Located<RawSource>,
    /// The columns that together name one record. Later versions of a record update the earlier ones.
    #[schemars(length(min = 1))]
    pub identity: Located<Vec<Located<String>>>,
    /// What orders the versions of one record. Default: `position`.
    #[serde(default)]
    pub source_version: Option<Located<RawSourceVersion>>,
    /// What happens to records on their way. Without it the source's columns are the rows of the target.
    #[serde(default)]
    pub transforms: Option<Located<RawTransforms>>,
    /// How many records travel together.
    #[serde(default)]
    pub batch: Option<Located<RawBatch>>,
    /// Where rows go.
    pub sink: Located<RawSink>,
    /// How many records may be refused before the task stops for a person.
    #[serde(default)]
    pub dead_letters: Option<Located<RawDeadLetters>>,
    /// What the task does when its source's columns change.
    #[serde(default)]
    pub schema_changes: Option<Located<RawSchemaChanges>>,
    /// Keep the source's page beside each batch, so that normalize can be replayed too. Default: false.
    #[serde(default)]
    #[schemars(schema_with = "bool_schema")]
    pub keep_raw: Option<Located<bool>>,
    /// Columns whose values are never shown where versions are compared.
    #[serde(default)]
    pub redact: Option<Located<Vec<Located<String>>>>,
}

/// Exactly one kind of source.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Source")]
pub(super) enum RawSource {
    /// Files in a folder or below an object store's prefix, each read once per version.
    Files(RawFiles),
}

/// A files source.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Files")]
pub(super) struct RawFiles {
    /// The folder: a path relative to this file, `file:///absolute/path/`, or `s3://bucket/prefix/`.
    pub url: Located<String>,
    /// Which files below `url` to read, as a glob on their path: `*.csv*`, `2013/**/*.parquet`. Default: all.
    #[serde(default)]
    pub pattern: Option<Located<String>>,
    /// What the files hold. `.gz` and `.zst` files are decompressed.
    pub format: RawFormat,
    /// Columns and their types, in order; a type with a comma is quoted: `{ year: int32, departed: "timestamp(us, UTC)" }`. Default: inferred from the
    /// first files at the first run, then frozen.
    #[serde(default)]
    pub columns: Option<Located<Entries<Located<String>>>>,
    /// How long a file must stay unchanged before it is read. Default: `2s`.
    #[serde(default)]
    #[schemars(schema_with = "duration_schema")]
    pub settle: Option<Located<Scalar>>,
    /// A longer field makes its record a dead letter. Default: `1MiB`.
    #[serde(default)]
    #[schemars(schema_with = "size_schema")]
    pub max_field_bytes: Option<Located<Scalar>>,
}

/// The format of files: a word, or a word with options.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = allow_words)]
#[schemars(rename = "Format")]
pub(super) enum RawFormat {
    /// Comma-separated values, RFC 4180.
    Csv(RawCsv),
    /// JSON Lines: one object a line.
    Jsonl(RawNothing),
    /// Apache Parquet.
    Parquet(RawNothing),
}

/// No options.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Nothing")]
pub(super) struct RawNothing {}

/// Options of CSV files.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Csv")]
pub(super) struct RawCsv {
    /// The character between fields. Default: `,`. A tab is written `"\t"`.
    #[serde(default)]
    pub delimiter: Option<Located<String>>,
    /// The character around fields that hold delimiters. Default: `"`.
    #[serde(default)]
    pub quote: Option<Located<String>>,
    /// Whether the first line names the columns. Default: true. Without it, `columns` must.
    #[serde(default)]
    #[schemars(schema_with = "bool_schema")]
    pub header: Option<Located<bool>>,
    /// Fields that mean null, as they stand in the file. Default: the empty field.
    #[serde(default)]
    pub null_values: Option<Vec<Scalar>>,
}

/// What orders the versions of one record.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SourceVersion")]
pub(super) enum RawSourceVersion {
    /// The record's place in the source: later files win, and within a file later records.
    Position,
    /// The order in which this task happened to read. Weaker: a record that is read again wins over what was read before.
    Arrival,
    /// A column of the change record that grows with each change, such as `updated_at`.
    Column(Located<String>),
}

/// What happens to records on their way.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Transforms")]
pub(super) struct RawTransforms {
    /// Turns the source's columns into change records, before they are stored. Default: they are the change records.
    #[serde(default)]
    pub normalize: Option<Located<Short<RawStage>>>,
    /// Turns stored records of an older schema into those of the next, by the older schema's id. Applied where history is
    /// mapped anew; a chain of several links ends at this pipeline's `schema`.
    #[serde(default)]
    pub migrate: Option<Entries<Located<Short<RawMigrate>>>>,
    /// Turns change records into rows of the target. Default: they are the rows.
    #[serde(default)]
    pub map: Option<Located<Short<RawStage>>>,
    /// Tables that transforms may look values up in, by the names that the transforms know them by.
    #[serde(default)]
    pub dictionaries: Option<Entries<Located<Short<RawDictionary>>>>,
    /// What one call of a transform may use.
    #[serde(default)]
    pub limits: Option<Located<RawLimits>>,
}

/// A transform: its component and its configuration.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stage")]
pub(super) struct RawStage {
    /// A deployed component, `name@version`, or a path ending in `.wasm`.
    pub component: Located<String>,
    /// Passed to the transform, as a JSON object.
    #[serde(default)]
    pub config: Option<Located<Entries<Located<Free>>>>,
}

/// A link from one schema to the next.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Migrate")]
pub(super) struct RawMigrate {
    /// A deployed component, `name@version`, or a path ending in `.wasm`.
    pub component: Located<String>,
    /// The schema id of the records that it gives. Default: this pipeline's `schema`.
    #[serde(default)]
    #[schemars(schema_with = "id_schema")]
    pub to: Option<Located<String>>,
    /// Passed to the transform, as a JSON object.
    #[serde(default)]
    pub config: Option<Located<Entries<Located<Free>>>>,
}

/// A dictionary.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Dictionary")]
pub(super) struct RawDictionary {
    /// A CSV file with a header, relative to this file.
    pub file: Located<String>,
    /// The column to look up by. Default: the first.
    #[serde(default)]
    pub key: Option<Located<String>>,
    /// Types of columns; others are text.
    #[serde(default)]
    pub columns: Option<Located<Entries<Located<String>>>>,
}

/// What one call of a transform may use. A call that needs more is stopped, and its rows are judged one by one.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Limits")]
pub(super) struct RawLimits {
    /// Time. Default: `10s`.
    #[serde(default)]
    #[schemars(schema_with = "duration_schema")]
    pub deadline: Option<Located<Scalar>>,
    /// Memory. Default: `512MiB`.
    #[serde(default)]
    #[schemars(schema_with = "size_schema")]
    pub memory: Option<Located<Scalar>>,
    /// Bytes of computed columns that it returns. Default: `96MiB`.
    #[serde(default)]
    #[schemars(schema_with = "size_schema")]
    pub output: Option<Located<Scalar>>,
}

/// A batch closes at the first limit that it reaches.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Batch")]
pub(super) struct RawBatch {
    /// Records in a batch. Default: 50000.
    #[serde(default)]
    #[schemars(schema_with = "count_schema")]
    pub max_rows: Option<Located<Scalar>>,
    /// Size of a batch in memory. Default: `32MiB`.
    #[serde(default)]
    #[schemars(schema_with = "size_schema")]
    pub max_bytes: Option<Located<Scalar>>,
    /// How long a batch may wait for more records of a source that goes on and on; files never make it wait. Default: `2s`.
    #[serde(default)]
    #[schemars(schema_with = "duration_schema")]
    pub max_age: Option<Located<Scalar>>,
}

/// Exactly one kind of sink.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Sink")]
pub(super) enum RawSink {
    /// Tables of a SQLite database.
    Sqlite(RawSqlite),
    /// A data set of Parquet files: one file for each batch and output, and a published list of them.
    Parquet(RawParquet),
}

/// A SQLite sink.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Sqlite")]
pub(super) struct RawSqlite {
    /// The database file: `sqlite://flights.db` relative to this file, or `sqlite:///absolute/path.db`.
    pub url: Located<String>,
    /// The table, for a mapper with one output.
    #[serde(default)]
    pub table: Option<Located<String>>,
    /// The table of each output of the mapper. Default: a table of the output's name.
    #[serde(default)]
    pub tables: Option<Located<Entries<Located<RawTable>>>>,
}

/// A Parquet sink.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Parquet")]
pub(super) struct RawParquet {
    /// The folder: a path relative to this file, `file:///absolute/path/`, or `s3://bucket/prefix/`.
    pub url: Located<String>,
    /// The folder's name below `url`, for a mapper with one output.
    #[serde(default)]
    pub table: Option<Located<String>>,
    /// The folder of each output of the mapper, below `url`. Default: the output's name.
    #[serde(default)]
    pub tables: Option<Located<Entries<Located<RawTable>>>>,
}

/// One table of the target.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Table")]
pub(super) struct RawTable {
    /// Its name in the target. Default: the output's.
    #[serde(default)]
    pub table: Option<Located<String>>,
    /// The columns that together name a row. Default: the task's identity.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub identity: Option<Located<Vec<Located<String>>>>,
}

/// How many records may be refused before the task stops for a person. Without it, one in a hundred.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DeadLetters")]
pub(super) struct RawDeadLetters {
    /// Refused records over records read, from 0 to 1, over the whole history of the task.
    #[serde(default)]
    #[schemars(schema_with = "ratio_schema")]
    pub max_ratio: Option<Located<Scalar>>,
    /// Refused records in the whole history of the task.
    #[serde(default)]
    #[schemars(schema_with = "count_schema")]
    pub max_records: Option<Located<Scalar>>,
}

/// What a task does when its source's columns change.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SchemaChanges")]
pub(super) struct RawSchemaChanges {
    /// `stop` waits for a person; `adopt` takes new columns that may be null into a new task version; `ignore` leaves new
    /// columns out. What the compatibility mode does not allow waits for a person in any case. Default: `stop`.
    #[serde(default)]
    #[schemars(schema_with = "policy_schema")]
    pub policy: Option<Located<String>>,
    /// Which changes are allowed: `backward` (new code reads old records), `forward` (old code reads new records), `full`
    /// (both) or `none` (all). Default: `backward`.
    #[serde(default)]
    #[schemars(schema_with = "mode_schema")]
    pub compatibility: Option<Located<String>>,
}

impl ShortForm for RawStage {
    const MARKER: &'static str = "gristmill::Short:component";
}

impl ShortForm for RawMigrate {
    const MARKER: &'static str = "gristmill::Short:component";
}

impl ShortForm for RawDictionary {
    const MARKER: &'static str = "gristmill::Short:file";
}

fn policy_schema(_: &mut SchemaGenerator) -> Schema {
    or_variable(&[serde_json::json!({ "enum": ["stop", "adopt", "ignore"] })])
}

fn mode_schema(_: &mut SchemaGenerator) -> Schema {
    or_variable(&[serde_json::json!({ "enum": ["backward", "forward", "full", "none"] })])
}

fn version_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "const": 1 })
}

/// Whatever a value has to be, a variable may stand for it.
fn or_variable(forms: &[serde_json::Value]) -> Schema {
    let mut forms = forms.to_vec();
    forms.push(serde_json::json!({ "type": "string", "pattern": "\\$\\{" }));
    json_schema!({ "anyOf": forms })
}

fn id_schema(_: &mut SchemaGenerator) -> Schema {
    or_variable(&[serde_json::json!({ "type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$" })])
}

fn bool_schema(_: &mut SchemaGenerator) -> Schema {
    or_variable(&[serde_json::json!({ "type": "boolean" })])
}

fn count_schema(_: &mut SchemaGenerator) -> Schema {
    or_variable(&[serde_json::json!({ "type": "integer", "minimum": 0 })])
}

fn ratio_schema(_: &mut SchemaGenerator) -> Schema {
    or_variable(&[serde_json::json!({ "type": "number", "minimum": 0, "maximum": 1 })])
}

fn size_schema(_: &mut SchemaGenerator) -> Schema {
    or_variable(&[
        serde_json::json!({ "type": "integer", "minimum": 0 }),
        serde_json::json!({ "type": "string", "pattern": "^[0-9_]+ *(B|kB|KB|MB|GB|KiB|MiB|GiB)$" }),
    ])
}

fn duration_schema(_: &mut SchemaGenerator) -> Schema {
    or_variable(&[serde_json::json!({ "type": "string", "pattern": "^[0-9_]+ *(ms|s|m|h)$" })])
}

/// A kind without options is written as a word.
fn allow_words(schema: &mut Schema) {
    let Some(kinds) = schema.get("oneOf").and_then(|kinds| kinds.as_array()) else {
        return;
    };
    let words: Vec<_> = kinds.iter().filter_map(|kind| kind.get("required")?.get(0).cloned()).collect();
    let mut any = kinds.clone();
    any.push(serde_json::json!({ "enum": words }));
    schema.remove("oneOf");
    schema.insert("anyOf".to_owned(), any.into());
}

/// The JSON Schema of pipeline files.
pub(super) fn json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(RawPipeline);
    schema.insert("title".to_owned(), "Gristmill pipeline".into());
    schema.to_value()
}
