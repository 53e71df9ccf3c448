//! From the raw types to a [`Pipeline`]: everything that can be judged from the file and the folder it stands in.
//!
//! Each check stands alone, so that one run reports every mistake.

mod paths;
mod sink;
mod source;
mod transforms;

pub(super) use transforms::label_rule;

use super::canonical::Json;
use super::diagnosis::{Problem, Shown, Span};
use super::mask;
use super::pipeline::{At, BatchLimits, Pipeline, SchemaChanges, SourceConfig};
use super::raw::{RawBatch, RawDeadLetters, RawPipeline, RawSchemaChanges, RawSourceVersion};
use super::units::{self, NotAQuantity};
use super::values::{Entries, Located, Scalar};
use gristmill_core::dead_letter::DeadLetterLimit;
use gristmill_core::id::{InvalidId, SchemaId, TaskId};
use gristmill_core::schema::compatibility::Mode;
use gristmill_core::schema::{Field, InvalidSchema, LogicalType, Schema};
use gristmill_core::schema_change::Policy;
use gristmill_core::version::VersionSource;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

/// The share of records that may be refused where the pipeline says nothing.
const MAX_RATIO_DEFAULT: f64 = 0.01;

const IDENTITY_COLUMNS_MAX: usize = 16;

const BATCH_ROWS: RangeInclusive<u64> = 1..=10_000_000;
const BATCH_BYTES: RangeInclusive<u64> = 1 << 10..=1 << 30;
const BATCH_AGE: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(3600);

/// What every check needs, and what it finds.
pub(super) struct Checker<'a> {
    text: &'a str,
    base_dir: &'a Path,
    files: Files,
    problems: Vec<Problem>,
    sites: BTreeMap<At, Span>,
}

/// Whether the files that a pipeline names must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    Exist,
    /// A published version has its components and dictionaries in the store.
    MayBeGone,
}

/// Judges `raw`, which was read from `text` in a file of `base_dir`.
pub(super) fn check(
    raw: &RawPipeline,
    text: &str,
    base_dir: &Path,
    files: Files,
    shown: Shown,
) -> Result<Pipeline, Vec<Problem>> {
    let mut checker = Checker { text, base_dir, files, problems: Vec::new(), sites: BTreeMap::new() };
    checker.site(At::Pipeline, Span { offset: 0, len: text.find(['\n', ':']).unwrap_or(text.len()) });
    let task = checker.id(At::Task, "task", &raw.task, TaskId::new);
    let schema = checker.id(At::Schema, "schema", &raw.schema, SchemaId::new);
    let mut source = checker.source(&raw.source);
    let identity = checker.identity("identity", &raw.identity);
    checker.site(At::Identity, raw.identity.span);
    for column in &raw.identity.value {
        checker.site(At::IdentityColumn(column.value.clone()), column.span);
    }
    let source_version = checker.source_version(raw.source_version.as_ref());
    let (transforms, canonical_transforms) = checker.transforms(raw.transforms.as_ref(), schema.as_ref());
    let batch = checker.batch(raw.batch.as_ref());
    let sink = checker.sink(&raw.sink);
    let dead_letters = checker.dead_letters(raw.dead_letters.as_ref());
    let schema_changes = checker.schema_changes(raw.schema_changes.as_ref());
    if let (Some(SourceConfig::Files(files)), Some(changes)) = (&mut source, &schema_changes) {
        files.ignore_columns = changes.policy == Policy::Ignore;
    }
    let keep_raw = raw.keep_raw.as_ref().is_some_and(|keep| keep.value);
    let redact = raw.redact.iter().flat_map(|columns| &columns.value).map(|column| column.value.clone()).collect();
    if let Some(columns) = &raw.redact {
        checker.site(At::Redact, columns.span);
    }
    if let Some(source) = &source {
        let normalized = raw.transforms.as_ref().is_some_and(|transforms| transforms.value.normalize.is_some());
        checker.record_columns(source, normalized, raw);
        if let Some(sink) = &sink {
            checker.source_is_not_sink(source, sink, raw.sink.span);
        }
    }
    let Checker { problems, sites, .. } = checker;
    match (task, schema, source, identity, transforms, batch, sink, dead_letters, schema_changes) {
        (
            Some(task),
            Some(schema),
            Some(source),
            Some(identity),
            Some(transforms),
            Some(batch),
            Some(sink),
            Some(dead_letters),
            Some(schema_changes),
        ) if problems.is_empty() => {
            let canonical = Json::map([
                ("version", Some(Json::Integer(1))),
                ("task", Some(Json::text(&task))),
                ("schema", Some(Json::text(&schema))),
                ("source", Some(source::canonical(&source, raw))),
                ("identity", Some(Json::texts(&identity))),
                ("source_version", Some(canonical_version(&source_version))),
                ("transforms", Some(canonical_transforms)),
                ("batch", Some(canonical_batch(&batch))),
                ("sink", Some(sink::canonical(&sink, raw))),
                ("keep_raw", keep_raw.then_some(Json::Bool(true))),
            ]);
            let base_dir = base_dir.to_owned();
            Ok(Pipeline {
                task,
                schema,
                source,
                identity,
                source_version,
                transforms,
                batch,
                sink,
                dead_letters,
                schema_changes,
                keep_raw,
                redact,
                text: text.into(),
                base_dir,
                canonical,
                shown,
                sites,
            })
        }
        _ => Err(problems),
    }
}

fn canonical_version(source_version: &VersionSource) -> Json {
    match source_version {
        VersionSource::Position => Json::text("position"),
        VersionSource::Arrival => Json::text("arrival"),
        VersionSource::Column(column) => Json::map([("column", Some(Json::text(column)))]),
    }
}

fn canonical_batch(batch: &BatchLimits) -> Json {
    // A mapper sees a batch at a time, so its rows may depend on where batches end.
    Json::map([
        ("max_rows", Some(Json::Unsigned(batch.max_rows as u64))),
        ("max_bytes", Some(Json::Unsigned(batch.max_bytes as u64))),
        ("max_age", Some(Json::text(units::show_duration(batch.max_age)))),
    ])
}

impl Checker<'_> {
    fn site(&mut self, at: At, span: Span) {
        self.sites.insert(at, span);
    }

    fn refuse(&mut self, span: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.problems.push(Problem::new(span, message).hint(hint));
    }

    /// A value as it may be shown: what comes from a variable only as the reference that is in the file.
    fn shown(&self, located: &Located<String>) -> String {
        if !located.from_variable {
            return mask::masked_url(&located.value);
        }
        let written = self.text.get(located.span.offset..located.span.offset + located.span.len).unwrap_or_default();
        // An alias does not hold the reference itself.
        if !written.contains("${") {
            return "${…}".to_owned();
        }
        mask::masked_url(written.trim_matches(['"', '\'']))
    }

    /// The place of a mistake inside a text, if the text stands in the file as it is.
    fn within(&self, located: &Located<String>, characters: usize) -> Span {
        let span = located.span;
        let written = self.text.get(span.offset..span.offset + span.len).unwrap_or_default();
        let quote = usize::from(written.starts_with(['"', '\'']));
        let inner = written.get(quote..written.len().saturating_sub(quote));
        let place = located.value.char_indices().nth(characters);
        match (inner == Some(&located.value), place) {
            (true, Some((at, first))) => {
                let word = located.value[at..].find(|c: char| !c.is_alphanumeric() && c != '_');
                let len = word.unwrap_or(located.value.len() - at).max(first.len_utf8());
                Span { offset: span.offset + quote + at, len }
            }
            _ => span,
        }
    }

    fn id<T>(
        &mut self,
        at: At,
        what: &str,
        text: &Located<String>,
        new: impl Fn(String) -> Result<T, InvalidId>,
    ) -> Option<T> {
        self.site(at, text.span);
        match new(text.value.clone()) {
            Ok(id) => Some(id),
            Err(InvalidId { rule, .. }) => {
                let shown = self.shown(text);
                let plain: String =
                    text.value.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
                let hint = match new(plain.trim_matches('-').to_owned()) {
                    Ok(_) if !text.from_variable => format!("{rule}: `{}`?", plain.trim_matches('-')),
                    _ => rule.to_owned(),
                };
                self.refuse(text.span, format!("`{shown}` is not a valid {what} id"), hint);
                None
            }
        }
    }

    fn quantity<T>(
        &mut self,
        what: &str,
        text: &Located<Scalar>,
        read: impl Fn(&str) -> Result<T, NotAQuantity>,
        range: RangeInclusive<T>,
        show: impl Fn(&T) -> String,
    ) -> Option<T>
    where
        T: PartialOrd + Copy,
    {
        let located = Located { value: text.value.0.clone(), span: text.span, from_variable: text.from_variable };
        let shown = self.shown(&located);
        match read(&text.value.0) {
            Ok(value) if range.contains(&value) => Some(value),
            Ok(_) => {
                let hint = format!("it lies between {} and {}", show(range.start()), show(range.end()));
                self.refuse(text.span, format!("`{shown}` is out of range for `{what}`"), hint);
                None
            }
            Err(NotAQuantity { hint }) => {
                self.refuse(text.span, format!("`{shown}` is not a value of `{what}`"), hint);
                None
            }
        }
    }

    /// A size in bytes, or the default. None: refused.
    fn size(
        &mut self,
        what: &str,
        text: Option<&Located<Scalar>>,
        range: RangeInclusive<u64>,
        default: usize,
    ) -> Option<usize> {
        let Some(text) = text else { return Some(default) };
        let bytes = self.quantity(what, text, units::size, range, |bytes| units::show_size(*bytes))?;
        usize::try_from(bytes).ok()
    }

    fn duration(
        &mut self,
        what: &str,
        text: Option<&Located<Scalar>>,
        range: RangeInclusive<Duration>,
        default: Duration,
    ) -> Option<Duration> {
        let Some(text) = text else { return Some(default) };
        self.quantity(what, text, units::duration, range, |duration| units::show_duration(*duration))
    }

    fn batch(&mut self, raw: Option<&Located<RawBatch>>) -> Option<BatchLimits> {
        let default = BatchLimits::default();
        let Some(Located { value: raw, span, .. }) = raw else { return Some(default) };
        self.site(At::Batch, *span);
        let max_rows = match &raw.max_rows {
            Some(text) => self.quantity("max_rows", text, units::count, BATCH_ROWS, u64::to_string),
            None => Some(default.max_rows as u64),
        };
        let max_bytes = self.size("max_bytes", raw.max_bytes.as_ref(), BATCH_BYTES, default.max_bytes);
        let max_age = self.duration("max_age", raw.max_age.as_ref(), BATCH_AGE, default.max_age);
        Some(BatchLimits { max_rows: usize::try_from(max_rows?).ok()?, max_bytes: max_bytes?, max_age: max_age? })
    }

    fn dead_letters(&mut self, raw: Option<&Located<RawDeadLetters>>) -> Option<DeadLetterLimit> {
        let Some(Located { value: raw, span, .. }) = raw else {
            return Some(DeadLetterLimit { max_ratio: Some(MAX_RATIO_DEFAULT), max_records: None });
        };
        self.site(At::DeadLetters, *span);
        let number = |text: &str| text.parse::<f64>().map_err(|_| NotAQuantity::from("write a number, such as `0.01`"));
        let max_ratio = match &raw.max_ratio {
            Some(text) => Some(self.quantity("max_ratio", text, number, 0.0..=1.0, f64::to_string)?),
            None => None,
        };
        let max_records = match &raw.max_records {
            Some(text) => Some(self.quantity("max_records", text, units::count, 0..=u64::MAX, u64::to_string)?),
            None => None,
        };
        if max_ratio.is_none() && max_records.is_none() {
            let hint = "set `max_ratio`, `max_records` or both, or leave `dead_letters` out for a ratio of 0.01";
            self.refuse(*span, "`dead_letters` sets no limit", hint);
            return None;
        }
        Some(DeadLetterLimit { max_ratio, max_records })
    }

    fn schema_changes(&mut self, raw: Option<&Located<RawSchemaChanges>>) -> Option<SchemaChanges> {
        let default = SchemaChanges::default();
        let Some(Located { value: raw, span, .. }) = raw else { return Some(default) };
        self.site(At::SchemaChanges, *span);
        let policy = self.word("policy", raw.policy.as_ref(), &Policy::ALL, default.policy);
        let compatibility = self.word("compatibility", raw.compatibility.as_ref(), &Mode::ALL, default.compatibility);
        Some(SchemaChanges { policy: policy?, compatibility: compatibility? })
    }

    /// One of a few words, or the default. None: refused.
    fn word<T: Copy + std::fmt::Display>(
        &mut self,
        what: &str,
        text: Option<&Located<String>>,
        all: &[T],
        default: T,
    ) -> Option<T> {
        let Some(text) = text else { return Some(default) };
        let found = all.iter().find(|word| word.to_string() == text.value);
        if found.is_none() {
            let shown = self.shown(text);
            let words: Vec<_> = all.iter().map(|word| format!("`{word}`")).collect();
            self.refuse(
                text.span,
                format!("`{shown}` is not a value of `{what}`"),
                format!("write {}", words.join(", ")),
            );
        }
        found.copied()
    }

    /// A list of distinct column names.
    fn identity(&mut self, what: &str, raw: &Located<Vec<Located<String>>>) -> Option<Vec<String>> {
        let before = self.problems.len();
        if raw.value.is_empty() {
            let hint = "name the columns that together tell one record from another: `[id]`";
            self.refuse(raw.span, format!("`{what}` is empty"), hint);
        }
        if raw.value.len() > IDENTITY_COLUMNS_MAX {
            let hint = format!("an identity has at most {IDENTITY_COLUMNS_MAX} columns: derive one in normalize");
            self.refuse(raw.span, format!("`{what}` has {} columns", raw.value.len()), hint);
        }
        let mut seen = BTreeSet::new();
        for column in &raw.value {
            if column.value.is_empty() {
                self.refuse(column.span, "a column name is empty", "write the name of a column");
            } else if !seen.insert(&column.value) {
                let shown = self.shown(column);
                self.refuse(column.span, format!("`{what}` names `{shown}` twice"), "name each column once");
            }
        }
        (self.problems.len() == before).then(|| raw.value.iter().map(|column| column.value.clone()).collect())
    }

    fn source_version(&mut self, raw: Option<&Located<RawSourceVersion>>) -> VersionSource {
        let Some(Located { value: raw, span, .. }) = raw else {
            return VersionSource::Position;
        };
        self.site(At::SourceVersion, *span);
        match raw {
            RawSourceVersion::Position => VersionSource::Position,
            RawSourceVersion::Arrival => VersionSource::Arrival,
            RawSourceVersion::Column(column) => {
                self.site(At::SourceVersion, column.span);
                if column.value.is_empty() {
                    self.refuse(column.span, "a column name is empty", "write the name of a column");
                }
                VersionSource::Column(column.value.clone())
            }
        }
    }

    /// Columns with types. None: refused.
    fn columns(&mut self, raw: &Located<Entries<Located<String>>>) -> Option<Schema> {
        let before = self.problems.len();
        let mut fields = Vec::new();
        for (name, text) in &raw.value.0 {
            match text.value.parse::<LogicalType>() {
                Ok(logical_type) => fields.push(Field::new(&name.value, logical_type, true)),
                Err(invalid) => {
                    let place = if text.from_variable { text.span } else { self.within(text, invalid.position) };
                    let column = self.shown(name);
                    let what = if text.from_variable { "the variable holds no type".to_owned() } else { invalid.what };
                    let known = "see the types in docs/reference/pipeline.md".to_owned();
                    let hint = if text.from_variable { known } else { invalid.hint.unwrap_or(known) };
                    self.refuse(place, format!("column `{column}`: {what}"), hint);
                }
            }
        }
        if self.problems.len() > before {
            return None;
        }
        match Schema::new(fields) {
            Ok(schema) => Some(schema),
            Err(InvalidSchema::Empty) => {
                self.refuse(
                    raw.span,
                    "`columns` is empty",
                    "list the columns, or leave `columns` out to have them inferred",
                );
                None
            }
            Err(invalid) => {
                self.refuse(raw.span, invalid.to_string(), "rename the column");
                None
            }
        }
    }
}
