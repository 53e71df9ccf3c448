//! `cases.toml` and the files beside it.
//!
//! ```toml
//! [defaults]                     # for every case that does not say otherwise
//! stage = "map"                  # normalize, migrate or map
//! config = { minutes = 60 }
//! columns = { id = "int64 not null", name = "utf8" }
//!
//! [dictionaries.airlines]
//! file = "airlines.csv"          # with a header
//! key = "carrier"                # by default its first column
//! columns = { founded = "int32" }
//!
//! [cases.late]                   # late.in.jsonl
//! schema = "flights.schema.json" # columns in a file, instead of `columns`
//! null_values = ["NA"]           # texts of CSV that mean null
//! messages = ["1 row was late"]  # compared where stated
//! poison = [3]                   # input rows on which the transform breaks, alone
//! fails = "bad-config"           # the failure that plan or process must end with
//! deadline_seconds = 60          # instead of the 10 that a call has
//! generate = { rows = 1000, seed = 1, values = { name = ["a", "b"] } }
//! ```
//!
//! Without columns they are those of `NAME.schema.json`, or inferred from the input.

use super::CasesError;
use super::generate::Generate;
use super::input::Format;
use crate::host::{Dictionaries, Dictionary, Stage};
use crate::publish::dictionary;
use crate::schema::to_arrow;
use arrow::datatypes::SchemaRef;
use gristmill_core::digest::Digest;
use gristmill_core::pins::DictionaryPin;
use gristmill_core::schema::{Field, LogicalType, Schema};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the file that says how cases are run.
const MANIFEST: &str = "cases.toml";

/// A folder of cases.
#[derive(Debug)]
pub struct Folder {
    dir: PathBuf,
    cases: Vec<Case>,
    dictionaries: Dictionaries,
}

/// One case: what the transform is given, and what `cases.toml` says of the answer.
#[derive(Debug)]
pub struct Case {
    pub name: String,
    pub stage: Stage,
    /// One JSON object.
    pub config_json: String,
    pub rows: Rows,
    /// None: inferred from the input.
    pub columns: Option<SchemaRef>,
    pub(super) null_values: Vec<String>,
    pub(super) fails: Option<String>,
    pub(super) messages: Option<Vec<String>>,
    pub(super) poison: Vec<u32>,
    pub(super) deadline: Option<Duration>,
}

/// Where the input rows come from.
#[derive(Debug)]
pub enum Rows {
    File(PathBuf, Format),
    Generated(Generate),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Manifest {
    defaults: Settings,
    dictionaries: BTreeMap<String, DictionaryFile>,
    cases: BTreeMap<String, Settings>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    stage: Option<StageName>,
    config: Option<toml::Table>,
    columns: Option<Columns>,
    schema: Option<PathBuf>,
    null_values: Option<Vec<String>>,
    generate: Option<Generate>,
    fails: Option<String>,
    messages: Option<Vec<String>>,
    poison: Vec<u32>,
    deadline_seconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StageName {
    Normalize,
    Migrate,
    Map,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DictionaryFile {
    file: PathBuf,
    key: Option<String>,
    columns: Option<Columns>,
}

/// Columns in the order in which they are written.
#[derive(Debug)]
struct Columns(Schema);

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Columns;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("columns with their types, such as { id = \"int64 not null\", name = \"utf8\" }")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Columns, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, text)) = map.next_entry::<String, String>()? {
                    fields.push(field(name, &text).map_err(serde::de::Error::custom)?);
                }
                Schema::new(fields).map(Columns).map_err(serde::de::Error::custom)
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// A column from its name and a type that may end in `not null`.
fn field(name: String, text: &str) -> Result<Field, String> {
    let (of_type, nullable) = match text.trim_end().strip_suffix("not null") {
        Some(of_type) => (of_type, false),
        None => (text, true),
    };
    match of_type.trim().parse::<LogicalType>() {
        Ok(logical_type) => Ok(Field::new(name, logical_type, nullable)),
        Err(invalid) => Err(format!("column `{name}`: {invalid}{}", hint(invalid.hint.as_deref()))),
    }
}

fn hint(hint: Option<&str>) -> String {
    hint.map(|hint| format!(" ({hint})")).unwrap_or_default()
}

/// Columns as `name: type, …`, for a command line.
pub fn parse_columns(text: &str) -> Result<Schema, String> {
    let mut fields = Vec::new();
    for column in split_top(text) {
        let (name, of_type) =
            column.split_once(':').ok_or_else(|| format!("`{}` is no `name: type`", column.trim()))?;
        fields.push(field(name.trim().to_owned(), of_type)?);
    }
    Schema::new(fields).map_err(|e| e.to_string())
}

/// Splits at commas that stand in no brackets.
fn split_top(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Reads a schema file: `{"fields":[{"name":"id","type":"int64","nullable":false}]}`.
pub fn read_schema(path: &Path) -> Result<Schema, CasesError> {
    let text = read(path)?;
    serde_json::from_str(&text).map_err(|e| problem(path, e.to_string()))
}

fn read(path: &Path) -> Result<String, CasesError> {
    std::fs::read_to_string(path).map_err(|source| CasesError::File { path: path.to_owned(), source })
}

fn problem(path: &Path, message: impl Into<String>) -> CasesError {
    CasesError::Manifest { path: path.to_owned(), message: message.into() }
}

impl Folder {
    /// Reads `cases.toml`, the dictionaries and the list of cases. Cases that state no stage are for `stage`.
    pub fn open(dir: &Path, stage: Stage) -> Result<Self, CasesError> {
        let path = dir.join(MANIFEST);
        let manifest = match path.exists() {
            true => toml::from_str(&read(&path)?).map_err(|e| problem(&path, e.to_string().trim_end()))?,
            false => Manifest::default(),
        };
        let Manifest { defaults, dictionaries, mut cases } = manifest;
        let inputs = inputs(dir)?;
        let names: BTreeSet<String> = cases.keys().chain(inputs.keys()).cloned().collect();
        if names.is_empty() {
            return Err(CasesError::None { dir: dir.to_owned() });
        }
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            let settings = cases.remove(&name).unwrap_or_default();
            let rows = match (settings.generate.clone(), inputs.get(&name)) {
                (Some(generate), None) => Rows::Generated(generate),
                (None, Some((path, format))) => Rows::File(path.clone(), *format),
                (None, None) => return Err(problem(&path, format!("case `{name}` has no file {name}.in.jsonl"))),
                (Some(_), Some((input, _))) => {
                    let message = format!("case `{name}` is generated, and has the file {} too", input.display());
                    return Err(problem(&path, message));
                }
            };
            found.push(Case::new(dir, &path, name, settings, &defaults, rows, stage)?);
        }
        let mut pinned = Dictionaries::new();
        for (name, file) in dictionaries {
            let dictionary = open_dictionary(dir, &name, file)?;
            pinned.insert(dictionary).map_err(|e| problem(&path, e.to_string()))?;
        }
        Ok(Self { dir: dir.to_owned(), cases: found, dictionaries: pinned })
    }

    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    pub fn dictionaries(&self) -> &Dictionaries {
        &self.dictionaries
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where a file of a case lies, such as `out.jsonl`.
    pub(super) fn file(&self, case: &Case, suffix: &str) -> PathBuf {
        self.dir.join(format!("{}.{suffix}", case.name))
    }
}

impl Case {
    /// Whether the transform must fail on it as a whole.
    pub fn must_fail(&self) -> bool {
        self.fails.is_some()
    }

    fn new(
        dir: &Path,
        manifest: &Path,
        name: String,
        settings: Settings,
        defaults: &Settings,
        rows: Rows,
        stage: Stage,
    ) -> Result<Self, CasesError> {
        let of_case = |message: String| problem(manifest, format!("case `{name}`: {message}"));
        let stage = settings.stage.or(defaults.stage).map_or(stage, |stage| match stage {
            StageName::Normalize => Stage::Normalize,
            StageName::Migrate => Stage::Migrate,
            StageName::Map => Stage::Map,
        });
        let config = settings.config.as_ref().or(defaults.config.as_ref());
        let config = config.map(serde_json::to_string).transpose().map_err(|e| of_case(e.to_string()))?;
        let beside = dir.join(format!("{name}.schema.json"));
        let stated = [&settings, defaults].into_iter().find_map(|settings| match settings {
            Settings { columns: Some(columns), .. } => Some(Ok(columns.0.clone())),
            Settings { schema: Some(file), .. } => Some(read_schema(&dir.join(file))),
            _ => None,
        });
        let columns = match stated {
            _ if settings.columns.is_none() && settings.schema.is_none() && beside.exists() => {
                Some(read_schema(&beside)?)
            }
            Some(schema) => Some(schema?),
            None => None,
        };
        if columns.is_none() && matches!(rows, Rows::Generated(_)) {
            return Err(of_case("rows can only be generated where the columns are stated".into()));
        }
        Ok(Self {
            stage,
            config_json: config.unwrap_or_else(|| "{}".into()),
            rows,
            columns: columns.as_ref().map(to_arrow),
            null_values: settings.null_values.or_else(|| defaults.null_values.clone()).unwrap_or_default(),
            fails: settings.fails,
            messages: settings.messages,
            poison: settings.poison,
            deadline: settings.deadline_seconds.or(defaults.deadline_seconds).map(Duration::from_secs),
            name,
        })
    }
}

/// The files `NAME.in.FORMAT`, by name.
fn inputs(dir: &Path) -> Result<BTreeMap<String, (PathBuf, Format)>, CasesError> {
    let failed = |source| CasesError::File { path: dir.to_owned(), source };
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let Some((name, extension)) = name.rsplit_once(".in.") else { continue };
        let Some(format) = Format::of(extension) else {
            return Err(problem(&path, "the input of a case is .jsonl, .csv or .parquet"));
        };
        if let Some((other, _)) = found.insert(name.to_owned(), (path.clone(), format)) {
            return Err(problem(&path, format!("the case has a second input, {}", other.display())));
        }
    }
    Ok(found)
}

fn open_dictionary(dir: &Path, name: &str, file: DictionaryFile) -> Result<Dictionary, CasesError> {
    let path = dir.join(&file.file);
    let bytes = std::fs::read(&path).map_err(|source| CasesError::File { path: path.clone(), source })?;
    let of_file = |message: String| problem(&path, format!("dictionary `{name}`: {message}"));
    let given = file.columns.map(|columns| columns.0);
    let columns = dictionary::infer(&bytes, given.as_ref()).map_err(|e| of_file(e.to_string()))?;
    let first = || columns.fields().first().map(|field| field.name.clone()).unwrap_or_default();
    let key = file.key.unwrap_or_else(first);
    let pin = DictionaryPin { content: Digest::of(&bytes), key, columns };
    dictionary::load(name, &bytes, &pin).map_err(|e| of_file(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> Result<Folder, String> {
        let dir = tempfile::tempdir().unwrap();
        for (name, content) in files {
            std::fs::write(dir.path().join(name), content).unwrap();
        }
        Folder::open(dir.path(), Stage::Map).map_err(|e| e.to_string())
    }

    #[test]
    fn files_and_manifest_make_the_list() {
        let manifest = "[defaults]\ncolumns = { b = \"utf8\", a = \"list<int64> not null\" }\nconfig = { x = 1 }\n\
                        [cases.b]\nstage = \"normalize\"\nconfig = { x = 2.5, y = [true] }\n\
                        [cases.c]\ngenerate = { rows = 2 }\n";
        let files = [("cases.toml", manifest), ("a.in.jsonl", ""), ("b.in.csv", "a,b\n"), ("note.txt", "")];
        let folder = folder(&files).unwrap();
        let cases: Vec<_> = folder.cases().iter().map(|c| (&*c.name, c.stage, &*c.config_json)).collect();
        let expected = [
            ("a", Stage::Map, r#"{"x":1}"#),
            ("b", Stage::Normalize, r#"{"x":2.5,"y":[true]}"#),
            ("c", Stage::Map, r#"{"x":1}"#),
        ];
        assert_eq!(cases, expected);
        let columns = folder.cases()[0].columns.as_ref().unwrap();
        let columns: Vec<_> = columns.fields().iter().map(|f| (f.name().as_str(), f.is_nullable())).collect();
        assert_eq!(columns, [("b", true), ("a", false)], "in the order in which they are written");
    }

    #[test]
    fn mistakes_are_named() {
        for (files, part) in [
            (&[][..], "there are no cases"),
            (&[("a.in.xml", "")], ".jsonl, .csv or .parquet"),
            (&[("a.in.csv", ""), ("a.in.jsonl", "")], "second input"),
            (&[("cases.toml", "[cases.a]\n")], "no file a.in.jsonl"),
            (&[("cases.toml", "[case.a]\n")], "unknown field `case`"),
            (&[("cases.toml", "[cases.a]\ncolumns = { a = \"int33\" }\n")], "unknown type `int33`"),
            (&[("cases.toml", "[cases.a]\ngenerate = { rows = 1 }\n")], "columns are stated"),
            (&[("a.in.jsonl", ""), ("cases.toml", "[dictionaries.d]\nfile = \"d.csv\"\n")], "d.csv"),
        ] {
            let error = folder(files).unwrap_err();
            assert!(error.contains(part), "`{error}` should say `{part}`");
        }
    }

    #[test]
    fn columns_on_a_command_line() {
        let schema = parse_columns("id: int64 not null, m: map<utf8, decimal128(3, 1)>,t:utf8").unwrap();
        let fields: Vec<_> = schema.fields().iter().map(|f| f.logical_type.to_string()).collect();
        assert_eq!(fields, ["int64", "map<utf8, decimal128(3, 1)>", "utf8"]);
        assert!(parse_columns("id").unwrap_err().contains("name: type"));
    }
}
