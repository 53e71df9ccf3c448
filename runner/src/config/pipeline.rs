//! A pipeline, typed and checked.

use super::canonical;
use super::diagnosis::{Diagnosis, Problem, Shown, Span};
use gristmill_core::dead_letter::DeadLetterLimit;
use gristmill_core::id::{SchemaId, TaskId};
use gristmill_core::schema::Schema;
use gristmill_core::schema::compatibility::Mode;
use gristmill_core::schema::rules::Rules;
use gristmill_core::schema_change::Policy;
use gristmill_core::version::VersionSource;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A checked pipeline file.
#[derive(Debug, Clone)]
pub struct Pipeline {
    pub task: TaskId,
    /// The id under which the columns of the change records are frozen.
    pub schema: SchemaId,
    pub source: SourceConfig,
    /// The columns that together name one record: at least one, unique.
    pub identity: Vec<String>,
    pub source_version: VersionSource,
    pub transforms: Transforms,
    pub batch: BatchLimits,
    pub sink: SinkConfig,
    pub dead_letters: DeadLetterLimit,
    pub schema_changes: SchemaChanges,
    /// Keep the source's pages beside their batches.
    pub keep_raw: bool,
    /// Columns whose values are never shown.
    pub redact: BTreeSet<String>,
    /// The file as it was written: variables unexpanded.
    pub text: Arc<str>,
    /// The folder of the pipeline file: relative paths in it start here, and are already resolved.
    pub base_dir: PathBuf,
    pub(super) canonical: canonical::Json,
    pub(super) shown: Shown,
    pub(super) sites: BTreeMap<At, Span>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SourceConfig {
    Files(FilesConfig),
}

/// What a task does when its source's columns change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchemaChanges {
    pub policy: Policy,
    pub compatibility: Mode,
}

/// Files in a folder or below an object store's prefix.
#[derive(Debug, Clone, PartialEq)]
pub struct FilesConfig {
    pub url: Location,
    /// A glob on the path below `url`, in which `*` and `?` do not cross `/`; none: every file.
    pub pattern: Option<String>,
    pub format: FileFormat,
    /// None: inferred once, then frozen. All columns may be null.
    pub columns: Option<Schema>,
    /// How long a file must stay unchanged before it is read.
    pub settle: Duration,
    pub max_field_bytes: usize,
    /// Columns that a file has and `columns` does not are left out.
    pub ignore_columns: bool,
}

/// A folder, here or in an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    Local(PathBuf),
    /// Scheme `s3`, with a bucket; never with credentials or a query.
    Url(url::Url),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => path.display().fmt(f),
            Self::Url(url) => url.fmt(f),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFormat {
    Csv(CsvFormat),
    Jsonl,
    Parquet,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvFormat {
    pub delimiter: u8,
    pub quote: u8,
    /// Whether the first line names the columns. If not, the source's `columns` are set.
    pub header: bool,
    /// Fields that mean null.
    pub null_values: Vec<String>,
}

impl Default for CsvFormat {
    fn default() -> Self {
        Self { delimiter: b',', quote: b'"', header: true, null_values: vec![String::new()] }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Transforms {
    /// None: the source's columns are the change records.
    pub normalize: Option<StageConfig>,
    /// By the schema that a link starts from.
    pub migrate: BTreeMap<SchemaId, MigrateConfig>,
    /// None: the change records are the rows.
    pub map: Option<StageConfig>,
    pub dictionaries: BTreeMap<String, DictionaryConfig>,
    pub limits: GuestLimits,
}

/// A link from one schema to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrateConfig {
    pub to: SchemaId,
    pub stage: StageConfig,
}

#[derive(Clone, PartialEq, Eq)]
pub struct StageConfig {
    pub component: ComponentRef,
    /// One JSON object with sorted keys and no spaces; `{}` where there is none. May hold secrets.
    pub config_json: String,
}

impl fmt::Debug for StageConfig {
    /// Without the configuration, which may hold values of variables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageConfig").field("component", &self.component).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComponentRef {
    /// A deployed component.
    Label { name: String, version: String },
    /// A file that exists, or did when the pipeline was loaded.
    File(PathBuf),
}

impl fmt::Display for ComponentRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label { name, version } => write!(f, "{name}@{version}"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct DictionaryConfig {
    pub file: PathBuf,
    /// The column to look up by; none: the first.
    pub key: Option<String>,
    /// Types of some columns; others are text.
    pub columns: Option<Schema>,
}

/// What one call of a transform may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuestLimits {
    pub deadline: Duration,
    pub memory_max_bytes: usize,
    pub output_max_bytes: usize,
}

impl Default for GuestLimits {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(10), memory_max_bytes: 512 << 20, output_max_bytes: 96 << 20 }
    }
}

/// A batch closes at the first limit that it reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    pub max_rows: usize,
    /// Size of the values in memory.
    pub max_bytes: usize,
    pub max_age: Duration,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { max_rows: 50_000, max_bytes: 32 << 20, max_age: Duration::from_secs(2) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkConfig {
    Sqlite { path: PathBuf, tables: Tables },
    Parquet { url: Location, tables: Tables },
}

impl SinkConfig {
    pub fn tables(&self) -> &Tables {
        match self {
            Self::Sqlite { tables, .. } | Self::Parquet { tables, .. } => tables,
        }
    }
}

/// Which output goes to which table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tables {
    /// The only output goes to this table; a mapper with several outputs does not fit.
    Single(String),
    /// By output. An output that is not listed goes to a table of its own name.
    PerOutput(BTreeMap<String, TableConfig>),
}

impl Tables {
    /// Outputs that the pipeline names.
    pub fn named(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Single(_) => Box::new(std::iter::empty()),
            Self::PerOutput(tables) => Box::new(tables.keys().map(String::as_str)),
        }
    }
}

/// A table of the target. What is none is the default: see [`Pipeline::table`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableConfig {
    pub table: Option<String>,
    pub identity: Option<Vec<String>>,
}

/// Where an output goes, with every default filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub table: String,
    pub identity: Vec<String>,
}

/// A place in the pipeline file that a later check can blame.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum At {
    Pipeline,
    Task,
    Schema,
    Source,
    SourceColumns,
    SourceColumn(String),
    Identity,
    IdentityColumn(String),
    SourceVersion,
    SchemaChanges,
    Transforms,
    Normalize,
    NormalizeConfig,
    /// By the schema that the link starts from.
    Migrate(String),
    Map,
    MapConfig,
    Dictionaries,
    Dictionary(String),
    Limits,
    Batch,
    Sink,
    Tables,
    /// By the output's name.
    Table(String),
    DeadLetters,
    Redact,
}

impl At {
    /// What to blame where this place is not written out.
    fn enclosing(&self) -> Option<Self> {
        Some(match self {
            Self::Pipeline => return None,
            Self::Task
            | Self::Schema
            | Self::Source
            | Self::Identity
            | Self::SourceVersion
            | Self::SchemaChanges
            | Self::Transforms
            | Self::Batch
            | Self::Sink
            | Self::DeadLetters
            | Self::Redact => Self::Pipeline,
            Self::SourceColumns => Self::Source,
            Self::SourceColumn(_) => Self::SourceColumns,
            Self::IdentityColumn(_) => Self::Identity,
            Self::Normalize | Self::Migrate(_) | Self::Map | Self::Dictionaries | Self::Limits => Self::Transforms,
            Self::NormalizeConfig => Self::Normalize,
            Self::MapConfig => Self::Map,
            Self::Dictionary(_) => Self::Dictionaries,
            Self::Tables => Self::Sink,
            Self::Table(_) => Self::Tables,
        })
    }
}

impl Pipeline {
    /// A mistake that was found after loading, shown at its place in the file. Neither text may hold secrets.
    pub fn diagnose(&self, at: At, message: impl Into<String>, hint: impl Into<String>) -> Diagnosis {
        let mut place = Some(at);
        while let Some(at) = place {
            if let Some(span) = self.sites.get(&at) {
                return self.shown.diagnosis(Problem::new(*span, message).hint(hint));
            }
            place = at.enclosing();
        }
        self.shown.diagnosis(Problem { span: None, message: message.into(), hint: Some(hint.into()) })
    }

    /// How the source's values become those of the records.
    pub fn rules(&self) -> Rules {
        let SourceConfig::Files(files) = &self.source;
        let mut rules = Rules::default();
        if let FileFormat::Csv(csv) = &files.format {
            rules.missing_values.texts = csv.null_values.iter().cloned().collect();
        }
        rules
    }

    /// Puts an adopted source in place of the file's own words.
    pub fn adopt(&mut self, schema: SchemaId, columns: Schema) {
        let SourceConfig::Files(files) = &mut self.source;
        self.canonical.adopt(&schema, &columns);
        files.columns = Some(columns);
        self.schema = schema;
    }

    /// Where an output of the mapper goes.
    pub fn table(&self, output: &str) -> Target {
        let config = match self.sink.tables() {
            Tables::Single(table) => TableConfig { table: Some(table.clone()), identity: None },
            Tables::PerOutput(tables) => tables.get(output).cloned().unwrap_or_default(),
        };
        Target {
            table: config.table.unwrap_or_else(|| output.to_owned()),
            identity: config.identity.unwrap_or_else(|| self.identity.clone()),
        }
    }

    /// What makes a task version: everything in the file that the target's rows depend on, as JSON with sorted keys.
    /// Comments, layout, defaults written out, `settle` and `dead_letters` do not show in it; values of variables in a
    /// transform's configuration are there as digests only.
    pub fn canonical_json(&self) -> String {
        self.canonical.to_string()
    }
}
