//! Checks of the source.

use super::{Checker, Files};
use crate::config::canonical::Json;
use crate::config::diagnosis::Span;
use crate::config::pipeline::{At, CsvFormat, FileFormat, FilesConfig, Location, SinkConfig, SourceConfig};
use crate::config::raw::{RawCsv, RawFiles, RawFormat, RawPipeline, RawSource, RawSourceVersion};
use crate::config::suggest;
use crate::config::values::Located;
use globset::GlobBuilder;
use std::ops::RangeInclusive;
use std::time::Duration;

const SETTLE_DEFAULT: Duration = Duration::from_secs(2);
const SETTLE: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3600);

const FIELD_BYTES_DEFAULT: usize = 1 << 20;
const FIELD_BYTES: RangeInclusive<u64> = 1..=256 << 20;

impl Checker<'_> {
    pub(super) fn source(&mut self, raw: &Located<RawSource>) -> Option<SourceConfig> {
        self.site(At::Source, raw.span);
        match &raw.value {
            RawSource::Files(files) => self.files(files).map(SourceConfig::Files),
        }
    }

    fn files(&mut self, raw: &RawFiles) -> Option<FilesConfig> {
        self.site(At::Source, raw.url.span);
        let url = self.location(&raw.url);
        if let Some(Location::Local(path)) = &url
            && !path.is_dir()
            && self.files == Files::Exist
        {
            let shown = self.shown(&raw.url);
            if path.is_file() {
                let hint = "write its folder as `url` and its name as `pattern`";
                self.refuse(raw.url.span, format!("`{shown}` is a file, not a folder"), hint);
            } else {
                let hint = self.neighbour(&raw.url).unwrap_or_else(|| {
                    "create it, or correct the path: it is relative to the folder of this file".to_owned()
                });
                self.refuse(raw.url.span, format!("the source folder `{shown}` does not exist"), hint);
            }
        }
        let pattern = self.pattern(raw.pattern.as_ref());
        if let Some(columns) = &raw.columns {
            self.site(At::SourceColumns, columns.span);
            for (name, _) in &columns.value.0 {
                self.site(At::SourceColumn(name.value.clone()), name.span);
            }
        }
        let columns = raw.columns.as_ref().map(|columns| self.columns(columns));
        let format = match &raw.format {
            RawFormat::Csv(csv) => self.csv(csv, raw).map(FileFormat::Csv),
            RawFormat::Jsonl(_) => Some(FileFormat::Jsonl),
            RawFormat::Parquet(_) => Some(FileFormat::Parquet),
        };
        let settle = self.duration("settle", raw.settle.as_ref(), SETTLE, SETTLE_DEFAULT);
        let max_field_bytes =
            self.size("max_field_bytes", raw.max_field_bytes.as_ref(), FIELD_BYTES, FIELD_BYTES_DEFAULT);
        let columns = match columns {
            Some(refused_or_not) => Some(refused_or_not?),
            None => None,
        };
        Some(FilesConfig {
            url: url?,
            pattern: pattern?,
            format: format?,
            columns,
            settle: settle?,
            max_field_bytes: max_field_bytes?,
            ignore_columns: false,
        })
    }

    /// The outer none: refused.
    fn pattern(&mut self, raw: Option<&Located<String>>) -> Option<Option<String>> {
        let Some(raw) = raw else { return Some(None) };
        let shown = self.shown(raw);
        if raw.value.starts_with('/') || raw.value.split('/').any(|part| part == "..") || raw.value.is_empty() {
            let hint = "write a glob on the path below `url`, such as `*.csv*` or `2013/**/*.csv`";
            self.refuse(raw.span, format!("the pattern `{shown}` leaves the source folder"), hint);
            return None;
        }
        match GlobBuilder::new(&raw.value).literal_separator(true).build() {
            Ok(_) => Some(Some(raw.value.clone())),
            Err(error) => {
                let hint =
                    "`*` stands for any characters, `**` for any folders, `[ab]` for one of them, `{a,b}` for either";
                self.refuse(raw.span, format!("the pattern `{shown}` is not a glob: {}", error.kind()), hint);
                None
            }
        }
    }

    fn csv(&mut self, raw: &RawCsv, files: &RawFiles) -> Option<CsvFormat> {
        let default = CsvFormat::default();
        let before = self.problems.len();
        let delimiter = match &raw.delimiter {
            Some(text) => self.csv_byte("delimiter", text).unwrap_or(default.delimiter),
            None => default.delimiter,
        };
        let quote = match &raw.quote {
            Some(text) => self.csv_byte("quote", text).unwrap_or(default.quote),
            None => default.quote,
        };
        if delimiter == quote && self.problems.len() == before {
            let span = raw.delimiter.as_ref().or(raw.quote.as_ref()).map_or(files.url.span, |text| text.span);
            self.refuse(span, "`delimiter` and `quote` are the same character", "choose two");
        }
        let header = raw.header.as_ref().is_none_or(|header| header.value);
        if let (false, Some(located), None) = (header, &raw.header, &files.columns) {
            let hint = "add `columns` to the source: `{ first: int64, second: utf8 }`";
            self.refuse(located.span, "without a header nothing names the columns", hint);
        }
        let null_values = match &raw.null_values {
            Some(values) => values.iter().map(|value| value.0.clone()).collect(),
            None => default.null_values,
        };
        (self.problems.len() == before).then_some(CsvFormat { delimiter, quote, header, null_values })
    }

    fn csv_byte(&mut self, what: &str, text: &Located<String>) -> Option<u8> {
        match text.value.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | 0) => Some(*byte),
            _ => {
                let hint = match text.value.as_str() {
                    "\\t" | "tab" | "TAB" => "write a tab as \"\\t\", in double quotes",
                    _ => "use one ASCII character, such as `,`, `;`, `|` or \"\\t\"",
                };
                let shown = self.shown(text);
                self.refuse(text.span, format!("`{shown}` cannot be the {what}"), hint);
                None
            }
        }
    }

    /// Where the source's columns are the records and both are written down, they are compared at once.
    pub(super) fn record_columns(&mut self, source: &SourceConfig, normalized: bool, raw: &RawPipeline) {
        let SourceConfig::Files(FilesConfig { columns: Some(columns), .. }) = source else {
            return;
        };
        if normalized {
            return;
        }
        let version = match raw.source_version.as_ref().map(|version| &version.value) {
            Some(RawSourceVersion::Column(column)) => Some(column),
            _ => None,
        };
        for column in raw.identity.value.iter().chain(version).filter(|column| !column.value.is_empty()) {
            if columns.field(&column.value).is_none() {
                let names = columns.fields().iter().map(|field| field.name.as_str());
                let hint = suggest::hint(&column.value, "the source's columns", names);
                let shown = self.shown(column);
                self.refuse(column.span, format!("the source has no column `{shown}`"), hint);
            }
        }
    }

    /// A sink below the source's folder would be read as new files.
    pub(super) fn source_is_not_sink(&mut self, source: &SourceConfig, sink: &SinkConfig, span: Span) {
        let SourceConfig::Files(FilesConfig { url: source, .. }) = source;
        let below = match (source, sink) {
            (Location::Local(source), SinkConfig::Parquet { url: Location::Local(sink), .. }) => {
                sink.components().collect::<Vec<_>>().starts_with(&source.components().collect::<Vec<_>>())
            }
            (Location::Url(source), SinkConfig::Parquet { url: Location::Url(sink), .. }) => {
                let folder = |path: &str| format!("{}/", path.trim_end_matches('/'));
                source.host_str() == sink.host_str() && folder(sink.path()).starts_with(&folder(source.path()))
            }
            _ => false,
        };
        if below {
            let span = self.sites.get(&At::Sink).copied().unwrap_or(span);
            let hint = "write to a folder outside the source's, or the task would read its own output";
            self.refuse(span, "the sink lies in the source's folder", hint);
        }
    }
}

/// The part of the canonical JSON that says what is read.
pub(super) fn canonical(source: &SourceConfig, raw: &RawPipeline) -> Json {
    let SourceConfig::Files(files) = source;
    let RawSource::Files(raw) = &raw.source.value;
    let columns = files.columns.as_ref().map(Json::columns);
    let format = match &files.format {
        FileFormat::Csv(csv) => {
            let csv = Json::map([
                ("delimiter", Some(Json::text(char::from(csv.delimiter)))),
                ("quote", Some(Json::text(char::from(csv.quote)))),
                ("header", Some(Json::Bool(csv.header))),
                ("null_values", Some(Json::texts(&csv.null_values))),
            ]);
            Json::map([("csv", Some(csv))])
        }
        FileFormat::Jsonl => Json::text("jsonl"),
        FileFormat::Parquet => Json::text("parquet"),
    };
    // As written, not resolved: the same pipeline in another folder is the same task version.
    let files = Json::map([
        ("url", Some(Json::text(&raw.url.value))),
        ("pattern", files.pattern.as_ref().map(Json::text)),
        ("format", Some(format)),
        ("columns", columns),
        ("max_field_bytes", Some(Json::Unsigned(files.max_field_bytes as u64))),
    ]);
    Json::map([("files", Some(files))])
}
