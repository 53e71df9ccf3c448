//! Checks of the sink.

use super::Checker;
use crate::config::canonical::Json;
use crate::config::pipeline::{At, SinkConfig, TableConfig, Tables};
use crate::config::raw::{RawPipeline, RawSink, RawTable};
use crate::config::values::{Entries, Located};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Tables of these names are the runner's or the database's own.
const RESERVED_PREFIXES: &[&str] = &["gristmill_", "sqlite_"];

const TABLE_NAME_MAX_BYTES: usize = 128;

impl Checker<'_> {
    pub(super) fn sink(&mut self, raw: &Located<RawSink>) -> Option<SinkConfig> {
        self.site(At::Sink, raw.span);
        match &raw.value {
            RawSink::Sqlite(sqlite) => {
                self.site(At::Sink, sqlite.url.span);
                let path = self.database(&sqlite.url);
                let tables = self.tables(sqlite.table.as_ref(), sqlite.tables.as_ref(), false);
                Some(SinkConfig::Sqlite { path: path?, tables: tables? })
            }
            RawSink::Parquet(parquet) => {
                self.site(At::Sink, parquet.url.span);
                let url = self.location(&parquet.url);
                let tables = self.tables(parquet.table.as_ref(), parquet.tables.as_ref(), true);
                Some(SinkConfig::Parquet { url: url?, tables: tables? })
            }
        }
    }

    fn database(&mut self, text: &Located<String>) -> Option<PathBuf> {
        let shown = self.shown(text);
        let path = match text.value.split_once(':') {
            Some(("sqlite", rest)) => rest.strip_prefix("//").unwrap_or(rest),
            Some((scheme, _)) if scheme.len() > 1 => {
                let hint = "a SQLite sink writes to a file: `sqlite://flights.db`";
                self.refuse(text.span, format!("`{shown}`: this kind of URL is not supported"), hint);
                return None;
            }
            _ => {
                let hint = match text.from_variable || text.value.is_empty() {
                    true => "write `sqlite://flights.db`".to_owned(),
                    false => format!("write `sqlite://{}`", text.value),
                };
                self.refuse(text.span, format!("`{shown}` is not a SQLite URL"), hint);
                return None;
            }
        };
        if path.starts_with(":memory:") {
            let hint = "receipts must outlive the process: write to a file, `sqlite://flights.db`";
            self.refuse(text.span, "a database in memory cannot be a target", hint);
            return None;
        }
        if path.is_empty() || path.ends_with('/') {
            self.refuse(text.span, format!("`{shown}` names no file"), "write `sqlite://flights.db`");
            return None;
        }
        if path.contains(['?', '#', '\0']) {
            let hint = "write the path alone: the runner sets the options that it needs";
            self.refuse(text.span, format!("`{shown}` has more than a path"), hint);
            return None;
        }
        let path = self.path(path);
        if path.is_dir() {
            self.refuse(text.span, format!("`{shown}` is a folder, not a file"), "name a file in it");
            return None;
        }
        Some(path)
    }

    fn tables(
        &mut self,
        table: Option<&Located<String>>,
        tables: Option<&Located<Entries<Located<RawTable>>>>,
        folders: bool,
    ) -> Option<Tables> {
        match (table, tables) {
            (Some(table), Some(tables)) => {
                self.site(At::Tables, tables.span);
                let hint = "keep `table` for a mapper with one output, `tables` for several";
                self.refuse(table.span, "`table` and `tables` are both set", hint);
                None
            }
            (Some(table), None) => {
                self.site(At::Tables, table.span);
                self.table_name(table, folders).then(|| Tables::Single(table.value.clone()))
            }
            (None, Some(tables)) => {
                self.site(At::Tables, tables.span);
                self.per_output(tables, folders)
            }
            (None, None) => Some(Tables::PerOutput(BTreeMap::new())),
        }
    }

    fn per_output(&mut self, tables: &Located<Entries<Located<RawTable>>>, folders: bool) -> Option<Tables> {
        let before = self.problems.len();
        let mut configs = BTreeMap::new();
        // Databases compare table names without case.
        let mut taken: BTreeMap<String, String> = BTreeMap::new();
        for (output, raw) in &tables.value.0 {
            self.site(At::Table(output.value.clone()), output.span);
            let name = raw.value.table.as_ref().unwrap_or(output);
            if !self.table_name(name, folders) {
                continue;
            }
            if let Some(first) = taken.insert(name.value.to_lowercase(), output.value.clone()) {
                let shown = self.shown(name);
                let message = format!("the outputs `{first}` and `{}` go to the same table `{shown}`", output.value);
                self.refuse(name.span, message, "give each output a table of its own");
            }
            let identity = match &raw.value.identity {
                Some(identity) => self.identity(&format!("identity of {}", output.value), identity),
                None => None,
            };
            let table = raw.value.table.as_ref().map(|table| table.value.clone());
            configs.insert(output.value.clone(), TableConfig { table, identity });
        }
        (self.problems.len() == before).then_some(Tables::PerOutput(configs))
    }

    fn table_name(&mut self, name: &Located<String>, folder: bool) -> bool {
        let shown = self.shown(name);
        let lower = name.value.to_lowercase();
        if let Some(prefix) = RESERVED_PREFIXES.iter().find(|prefix| lower.starts_with(**prefix)) {
            let hint = match name.from_variable {
                true => "choose another name".to_owned(),
                false => format!("choose another name, such as `{}`", shorter(&name.value[prefix.len()..])),
            };
            let message = format!("the table `{shown}` would collide with bookkeeping: `{prefix}…` is reserved");
            self.refuse(name.span, message, hint);
            return false;
        }
        if let Some(suffix) = reserved_suffix(&lower) {
            let message = format!("the table `{shown}` would collide with those of rebuilds: `…{suffix}` is reserved");
            self.refuse(name.span, message, "choose another name");
            return false;
        }
        let path_like = folder && (name.value.contains(['/', '\\']) || matches!(name.value.as_str(), "." | ".."));
        let plain = (1..=TABLE_NAME_MAX_BYTES).contains(&name.value.len()) && !name.value.chars().any(char::is_control);
        if path_like || !plain {
            let hint =
                format!("use 1 to {TABLE_NAME_MAX_BYTES} bytes, without control characters or, for folders, `/`");
            self.refuse(name.span, format!("`{shown}` cannot be the name of a table"), hint);
            return false;
        }
        true
    }
}

/// How rebuilds name the tables that they build beside others, and those that they keep.
fn reserved_suffix(table: &str) -> Option<&'static str> {
    let epoch = table
        .rsplit_once("__epoch_")
        .is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    match epoch {
        true => Some("__epoch_N"),
        false => table.ends_with("__previous").then_some("__previous"),
    }
}

fn shorter(rest: &str) -> &str {
    if rest.is_empty() { "rows" } else { rest }
}

/// The part of the canonical JSON that says what is written.
pub(super) fn canonical(sink: &SinkConfig, raw: &RawPipeline) -> Json {
    let tables = match sink.tables() {
        Tables::Single(table) => ("table", Some(Json::text(table))),
        Tables::PerOutput(tables) => {
            let table = |config: &TableConfig| {
                Json::map([
                    ("table", config.table.as_ref().map(Json::text)),
                    ("identity", config.identity.as_ref().map(Json::texts)),
                ])
            };
            let tables: BTreeMap<_, _> =
                tables.iter().map(|(output, config)| (output.clone(), table(config))).collect();
            ("tables", Some(Json::Map(tables)))
        }
    };
    let (kind, url) = match &raw.sink.value {
        RawSink::Sqlite(sqlite) => ("sqlite", &sqlite.url.value),
        RawSink::Parquet(parquet) => ("parquet", &parquet.url.value),
    };
    Json::map([(kind, Some(Json::map([("url", Some(Json::text(url))), tables])))])
}
