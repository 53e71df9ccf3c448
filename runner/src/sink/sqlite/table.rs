//! A target table: its SQL, and whether an existing one fits.

use super::cells::Storage;
use super::error::failed;
use crate::record::OutputSchema;
use crate::sink::SinkError;
use arrow::datatypes::{FieldRef, SchemaRef};
use rusqlite::{Connection, OptionalExtension};

pub(super) const VERSION: &str = "gristmill_version";
pub(super) const HASH: &str = "gristmill_hash";
pub(super) const BATCH: &str = "gristmill_batch";
pub(super) const DELETED_AT: &str = "gristmill_deleted_at";
/// Bookkeeping columns, in the order of their parameters after the payload's, with their declarations.
const BOOKKEEPING: [(&str, &str); 4] =
    [(VERSION, " BLOB NOT NULL"), (HASH, " INTEGER NOT NULL"), (BATCH, " INTEGER NOT NULL"), (DELETED_AT, " TEXT")];
/// Names that start so belong to the sink.
const OWN_PREFIX: &str = "gristmill_";

/// An output of the mapper and the table that it fills.
#[derive(Debug)]
pub(super) struct Table {
    pub name: String,
    pub schema: SchemaRef,
    /// Columns of the identity, by place in `schema`.
    pub identity: Vec<usize>,
    storage: Vec<Storage>,
    /// Parameters: the payload columns, then the bookkeeping columns. Does nothing when the identity is there.
    pub insert: String,
    /// Parameters: the identity columns. Gives version, hash, whether the record is deleted, and the batch's number.
    pub lookup: String,
    /// Parameters as `insert`.
    pub update: String,
}

/// A column of an existing table.
struct Existing {
    name: String,
    declared: String,
    not_null: bool,
    has_default: bool,
    in_primary_key: bool,
    generated: bool,
}

impl Table {
    pub(super) fn new(output: &OutputSchema) -> Result<Self, SinkError> {
        let name = output.table.as_str();
        check_name("table", name, &output.name)?;
        if name.to_ascii_lowercase().starts_with("sqlite_") {
            let what =
                format!("output `{}`: SQLite keeps table names that start with `sqlite_` to itself", output.name);
            return Err(SinkError::Mismatch { what, hint: "choose another table name".into() });
        }
        let fields = output.schema.fields();
        let mut storage = Vec::with_capacity(fields.len());
        for (place, field) in fields.iter().enumerate() {
            check_name("column", field.name(), &output.name)?;
            let twin = fields[..place].iter().find(|other| other.name().eq_ignore_ascii_case(field.name()));
            if let Some(twin) = twin {
                let what = format!(
                    "output `{}`: SQLite takes the columns `{}` and `{}` for one: it ignores case",
                    output.name,
                    twin.name(),
                    field.name()
                );
                return Err(SinkError::Mismatch { what, hint: "rename one of them in the mapper".into() });
            }
            storage.push(Storage::of(field.data_type()).ok_or_else(|| SinkError::Mismatch {
                what: format!(
                    "output `{}`, column `{}`: this sink does not store {}",
                    output.name,
                    field.name(),
                    field.data_type()
                ),
                hint: "map it to a number, text, binary, date, time, list or struct".into(),
            })?);
        }
        let identity = identity(output, &storage)?;
        let names: Vec<String> = fields.iter().map(|field| quoted(field.name())).collect();
        let own = BOOKKEEPING.map(|(name, _)| name.to_owned());
        let all: Vec<&str> = names.iter().chain(&own).map(String::as_str).collect();
        let parameters: Vec<String> = (1..=all.len()).map(|number| format!("?{number}")).collect();
        let keys: Vec<&str> = identity.iter().map(|place| names[*place].as_str()).collect();
        let table = quoted(name);
        let insert = format!(
            "INSERT INTO {table} ({}) VALUES ({}) ON CONFLICT ({}) DO NOTHING",
            all.join(", "),
            parameters.join(", "),
            keys.join(", ")
        );
        let found = keys.iter().enumerate().map(|(place, key)| format!("{key} = ?{}", place + 1));
        let lookup = format!(
            "SELECT {VERSION}, {HASH}, {DELETED_AT} IS NOT NULL, {BATCH} FROM {table} WHERE {}",
            found.collect::<Vec<_>>().join(" AND ")
        );
        let set = |place: &usize| format!("{} = ?{}", all[*place], place + 1);
        let changed: Vec<_> =
            (0..all.len()).filter(|place| !identity.contains(place)).map(|place| set(&place)).collect();
        let update = format!(
            "UPDATE {table} SET {} WHERE {}",
            changed.join(", "),
            identity.iter().map(set).collect::<Vec<_>>().join(" AND ")
        );
        let schema = output.schema.clone();
        Ok(Self { name: name.to_owned(), schema, identity, storage, insert, lookup, update })
    }

    /// Creates the table, or checks the one that is there. One that is the task's own (`ours`) gets the columns that it
    /// lacks; a table that is only being taken is the user's, and is not altered.
    pub(super) fn ensure(&self, connection: &Connection, ours: bool) -> Result<(), SinkError> {
        match object(connection, &self.name)?.as_deref() {
            None => connection
                .execute_batch(&self.create_sql())
                .map_err(|error| failed(format!("creating table `{}`", self.name), error)),
            Some("table") => {
                let mut columns = self.existing(connection).map_err(|error| failed(self.reading(), error))?;
                if ours && self.add_columns(connection, &columns)? {
                    columns = self.existing(connection).map_err(|error| failed(self.reading(), error))?;
                }
                self.check_columns(&columns)?;
                self.check_identity(connection, &columns)
            }
            Some(_) => Err(self.is_a_view()),
        }
    }

    fn reading(&self) -> String {
        format!("reading the definition of table `{}`", self.name)
    }

    fn is_a_view(&self) -> SinkError {
        self.mismatch(format!("`{}` is a view", self.name), "give the output a table of its own".into())
    }

    /// What [`Self::ensure`] would refuse, found without a change of anything.
    pub(super) fn fits(&self, connection: &Connection, ours: bool) -> Result<(), SinkError> {
        let kind = object(connection, &self.name)?;
        let Some("table") = kind.as_deref() else {
            return match kind {
                None => Ok(()),
                Some(_) => Err(self.is_a_view()),
            };
        };
        let mut columns = self.existing(connection).map_err(|error| failed(self.reading(), error))?;
        if ours {
            let lacking = self.can_be_added(&columns).map(|(field, storage)| Existing {
                name: field.name().clone(),
                declared: storage.declared().trim().to_owned(),
                not_null: false,
                has_default: false,
                in_primary_key: false,
                generated: false,
            });
            let lacking: Vec<Existing> = lacking.collect();
            columns.extend(lacking);
        }
        self.check_columns(&columns)?;
        self.check_identity(connection, &columns)
    }

    /// What the table lacks and the rows that are there can lack: nullable columns that are no part of the identity.
    fn can_be_added<'a>(&'a self, columns: &'a [Existing]) -> impl Iterator<Item = (&'a FieldRef, Storage)> {
        self.schema.fields().iter().zip(&self.storage).enumerate().filter_map(|(place, (field, storage))| {
            let known = columns.iter().any(|column| column.name.eq_ignore_ascii_case(field.name()));
            (!known && field.is_nullable() && !self.identity.contains(&place)).then_some((field, *storage))
        })
    }

    fn add_columns(&self, connection: &Connection, columns: &[Existing]) -> Result<bool, SinkError> {
        let mut added = false;
        for (field, storage) in self.can_be_added(columns) {
            let (table, column) = (quoted(&self.name), quoted(field.name()));
            connection
                .execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column}{}", storage.declared()))
                .map_err(|error| failed(format!("adding column `{}` to table `{}`", field.name(), self.name), error))?;
            added = true;
        }
        Ok(added)
    }

    /// A single integer identity is the row id itself, which needs no second index. Other identities get an index of their
    /// own beside the table: rows then go to its end, and only the small index is written in the order of the keys.
    /// (Clustered by a random text key, as WITHOUT ROWID would have it, a table of 20 columns takes three times as long.)
    fn create_sql(&self) -> String {
        let mut lines = Vec::new();
        let row_id = self.row_id();
        for (place, (field, storage)) in self.schema.fields().iter().zip(&self.storage).enumerate() {
            let key = match (self.identity.contains(&place), row_id) {
                (true, true) => " PRIMARY KEY",
                (true, false) => " NOT NULL",
                _ => "",
            };
            lines.push(format!("{}{}{key}", quoted(field.name()), storage.declared()));
        }
        lines.extend(BOOKKEEPING.map(|(name, declared)| format!("{name}{declared}")));
        if !row_id {
            let keys: Vec<_> = self.identity.iter().map(|place| quoted(self.schema.field(*place).name())).collect();
            lines.push(format!("PRIMARY KEY ({})", keys.join(", ")));
        }
        format!("CREATE TABLE {} (\n  {}\n)", quoted(&self.name), lines.join(",\n  "))
    }

    fn row_id(&self) -> bool {
        matches!(self.identity[..], [place] if self.storage[place] == Storage::Integer)
    }

    fn existing(&self, connection: &Connection) -> rusqlite::Result<Vec<Existing>> {
        let sql =
            r#"SELECT name, type, "notnull", dflt_value IS NOT NULL, pk > 0, hidden > 0 FROM pragma_table_xinfo(?1)"#;
        connection
            .prepare(sql)?
            .query_map([&self.name], |row| {
                Ok(Existing {
                    name: row.get(0)?,
                    declared: row.get(1)?,
                    not_null: row.get(2)?,
                    has_default: row.get(3)?,
                    in_primary_key: row.get(4)?,
                    generated: row.get(5)?,
                })
            })?
            .collect()
    }

    fn check_columns(&self, columns: &[Existing]) -> Result<(), SinkError> {
        let table = quoted(&self.name);
        let find = |name: &str| columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
        for (place, (field, storage)) in self.schema.fields().iter().zip(&self.storage).enumerate() {
            let (name, declared) = (field.name(), storage.declared());
            let Some(column) = find(name) else {
                return Err(self.mismatch(
                    format!("table `{}` has no column `{name}`", self.name),
                    format!("run `ALTER TABLE {table} ADD COLUMN {}{declared}` on the target, or leave the column out in the mapper", quoted(name)),
                ));
            };
            if column.generated {
                return Err(self.mismatch(
                    format!("column `{name}` of table `{}` is generated by SQLite", self.name),
                    "leave the column out in the mapper".into(),
                ));
            }
            if !fits(*storage, &column.declared) {
                return Err(self.mismatch(
                    format!(
                        "column `{name}` of table `{}` is declared `{}`, which would alter values of type {}",
                        self.name,
                        column.declared,
                        field.data_type()
                    ),
                    format!(
                        "declare it{}, or change its type in the mapper",
                        if declared.is_empty() { " without a type" } else { declared }
                    ),
                ));
            }
            if column.not_null && !self.identity.contains(&place) {
                return Err(self.mismatch(
                    format!("column `{name}` of table `{}` is NOT NULL", self.name),
                    "a deleted record keeps only its identity: allow NULL in the other columns".into(),
                ));
            }
        }
        for (name, declared) in BOOKKEEPING {
            if find(name).is_none() {
                return Err(self.mismatch(
                    format!("table `{}` has no column `{name}`", self.name),
                    format!("this sink keeps its own column `{name}{declared}` with each row: let it create the table, or add the column"),
                ));
            }
        }
        let own = |name: &str| BOOKKEEPING.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let known =
            |name: &str| own(name) || self.schema.fields().iter().any(|field| field.name().eq_ignore_ascii_case(name));
        match columns
            .iter()
            .find(|column| column.not_null && !column.has_default && !column.generated && !known(&column.name))
        {
            None => Ok(()),
            Some(column) => Err(self.mismatch(
                format!(
                    "column `{}` of table `{}` is NOT NULL, and the output has no such column",
                    column.name, self.name
                ),
                "give the column a default, or map it".into(),
            )),
        }
    }

    /// The identity must be unique in the table, byte for byte, or rows would be doubled or mixed up.
    fn check_identity(&self, connection: &Connection, columns: &[Existing]) -> Result<(), SinkError> {
        let mut wanted: Vec<String> =
            self.identity.iter().map(|place| self.schema.field(*place).name().to_ascii_lowercase()).collect();
        wanted.sort_unstable();
        let primary: Vec<_> = columns.iter().filter(|column| column.in_primary_key).collect();
        let is_row_id = matches!(primary[..], [column] if column.declared.eq_ignore_ascii_case("INTEGER"));
        if is_row_id && wanted == [primary[0].name.to_ascii_lowercase()] {
            return Ok(());
        }
        let unique = unique_keys(connection, &self.name)
            .map_err(|error| failed(format!("reading the indexes of table `{}`", self.name), error))?;
        if unique.contains(&wanted) {
            return Ok(());
        }
        let names: Vec<_> = self.identity.iter().map(|place| quoted(self.schema.field(*place).name())).collect();
        Err(self.mismatch(
            format!(
                "table `{}` has no primary key or unique index over exactly the identity {}",
                self.name,
                names.join(", ")
            ),
            format!(
                "create one with the collation BINARY: `CREATE UNIQUE INDEX … ON {} ({})`",
                quoted(&self.name),
                names.join(", ")
            ),
        ))
    }

    fn mismatch(&self, what: String, hint: String) -> SinkError {
        SinkError::Mismatch { what, hint }
    }
}

/// What has a name: `table`, `view`, or nothing.
pub(super) fn object(connection: &Connection, name: &str) -> Result<Option<String>, SinkError> {
    let sql = "SELECT type FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE AND type IN ('table', 'view')";
    connection
        .query_row(sql, [name], |row| row.get(0))
        .optional()
        .map_err(|error| failed(format!("looking for table `{name}`"), error))
}

fn identity(output: &OutputSchema, storage: &[Storage]) -> Result<Vec<usize>, SinkError> {
    let mismatch = |what: String, hint: &str| SinkError::Mismatch { what, hint: hint.into() };
    let mut places = Vec::with_capacity(output.identity.len());
    for name in &output.identity {
        let Ok(place) = output.schema.index_of(name) else {
            let what = format!("output `{}` has no column `{name}`, which its identity names", output.name);
            return Err(mismatch(what, "add it in the mapper, or name other identity columns"));
        };
        if !storage[place].can_identify() {
            let what = format!(
                "output `{}`: column `{name}` of type {} cannot identify a record",
                output.name,
                output.schema.field(place).data_type()
            );
            return Err(mismatch(what, "use integers, text, binary, decimals, dates or times"));
        }
        if !places.contains(&place) {
            places.push(place);
        }
    }
    match places.is_empty() {
        true => Err(mismatch(
            format!("output `{}` has no identity", output.name),
            "name the columns that identify a record",
        )),
        false => Ok(places),
    }
}

fn check_name(kind: &str, name: &str, output: &str) -> Result<(), SinkError> {
    let reason = match name {
        "" => "is empty",
        _ if name.contains('\0') => "contains a NUL character",
        _ if name.to_ascii_lowercase().starts_with(OWN_PREFIX) => {
            "starts with `gristmill_`, as the sink's own names do"
        }
        _ => return Ok(()),
    };
    let what = format!("output `{output}`: the {kind} name `{}` {reason}", name.escape_debug());
    Err(SinkError::Mismatch { what, hint: format!("choose another {kind} name") })
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Whether a column declared so gives values back as they were put in: SQLite converts by the declared type's affinity.
fn fits(storage: Storage, declared: &str) -> bool {
    let declared = declared.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
    let (integer, text) = (has(&["INT"]), has(&["CHAR", "CLOB", "TEXT"]));
    let untyped = !integer && !text && (declared.is_empty() || has(&["BLOB"]));
    let real = !integer && !text && !untyped && has(&["REAL", "FLOA", "DOUB"]);
    let numeric = !integer && !text && !untyped && !real;
    match storage {
        Storage::Nothing => true,
        Storage::Integer => integer || numeric || untyped,
        Storage::Real => real || untyped,
        Storage::Text | Storage::Json => text && !integer || untyped,
        Storage::Moment => text && !integer || numeric || untyped,
        Storage::WideInteger | Storage::Blob => untyped,
    }
}

/// The column sets (in lower case, sorted) that a whole unique index compares byte by byte.
fn unique_keys(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Vec<String>>> {
    let sql = r#"SELECT name FROM pragma_index_list(?1) WHERE "unique" AND NOT partial"#;
    let indexes: Vec<String> =
        connection.prepare(sql)?.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut keys = Vec::new();
    let mut columns = connection.prepare("SELECT name, coll FROM pragma_index_xinfo(?1) WHERE key")?;
    for index in indexes {
        let parts: Vec<(Option<String>, String)> =
            columns.query_map([index], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
        if parts.iter().all(|(_, collation)| collation == "BINARY") {
            let mut names: Vec<_> =
                parts.into_iter().filter_map(|(name, _)| Some(name?.to_ascii_lowercase())).collect();
            names.sort_unstable();
            keys.push(names);
        }
    }
    Ok(keys)
}
