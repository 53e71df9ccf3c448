//! The floor under the pipeline's sink: a plain loop of prepared inserts of the same rows.
//!
//! The rows are those that the pipeline wrote, read back from its target as SQLite values: parsed, mapped and formatted
//! before the clock starts. The loop writes them into tables with the same columns and keys, without the sink's bookkeeping
//! columns; one transaction for each 50,000 source rows, WAL, `synchronous=FULL`.

use crate::Failure;
use rusqlite::Connection;
use rusqlite::types::Value;
use std::path::Path;
use std::time::{Duration, Instant};

const BATCH_ROWS: usize = 50_000;
const TABLES: [&str; 2] = ["flights", "delays"];

/// How the floor's database is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settings {
    /// SQLite's own page size, cache and checkpoints.
    Default,
    /// Those of the sink, with checkpoints in the commits.
    Sink,
}

/// The target's tables without bookkeeping.
pub struct Rows {
    create: Vec<String>,
    insert: Vec<String>,
    /// For each transaction, for each table, its rows.
    batches: Vec<[Vec<Vec<Value>>; 2]>,
}

impl Rows {
    /// Reads what a run wrote. Transactions are cut by `id`, as the pipeline's batches are.
    pub fn of_target(target: &Path) -> Result<Self, Failure> {
        let connection = Connection::open(target)?;
        let (mut create, mut insert) = (Vec::new(), Vec::new());
        let mut batches: Vec<[Vec<Vec<Value>>; 2]> = Vec::new();
        for (place, table) in TABLES.into_iter().enumerate() {
            let mut columns = connection.prepare("SELECT name, type, pk FROM pragma_table_info(?1)")?;
            let columns = columns.query_map([table], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?))
            })?;
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let columns: Vec<_> = columns.into_iter().filter(|(name, ..)| !name.starts_with("gristmill_")).collect();
            let declared = |(name, kind, key): &(String, String, bool)| {
                format!("{name} {kind}{}", if *key { " PRIMARY KEY" } else { "" })
            };
            create.push(format!(
                "CREATE TABLE {table} ({})",
                columns.iter().map(declared).collect::<Vec<_>>().join(", ")
            ));
            let parameters: Vec<_> = (1..=columns.len()).map(|number| format!("?{number}")).collect();
            insert.push(format!("INSERT INTO {table} VALUES ({})", parameters.join(", ")));
            let names: Vec<_> = columns.iter().map(|(name, ..)| name.as_str()).collect();
            let id = names.iter().position(|name| *name == "id").ok_or("the target has no id")?;
            let mut select = connection.prepare(&format!("SELECT {} FROM {table} ORDER BY id", names.join(", ")))?;
            let mut rows = select.query([])?;
            while let Some(row) = rows.next()? {
                let row = (0..names.len()).map(|column| row.get(column)).collect::<Result<Vec<Value>, _>>()?;
                let Value::Integer(of) = row[id] else { return Err("an id is no integer".into()) };
                let batch = usize::try_from(of)? / BATCH_ROWS;
                batches.resize_with(batches.len().max(batch + 1), Default::default);
                batches[batch][place].push(row);
            }
        }
        Ok(Self { create, insert, batches })
    }

    pub fn flights(&self) -> usize {
        self.batches.iter().map(|batch| batch[0].len()).sum()
    }

    /// Inserts everything into a fresh database.
    pub fn insert(&self, path: &Path, settings: Settings) -> Result<Duration, Failure> {
        let mut connection = Connection::open(path)?;
        if settings == Settings::Sink {
            connection.pragma_update(None, "page_size", 8192)?;
            connection.pragma_update(None, "cache_size", -32 * 1024)?;
            connection.pragma_update(None, "wal_autocheckpoint", 2000)?;
        }
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        self.create.iter().try_for_each(|create| connection.execute_batch(create))?;
        let clock = Instant::now();
        for batch in &self.batches {
            let transaction = connection.transaction()?;
            for (insert, rows) in self.insert.iter().zip(batch) {
                let mut statement = transaction.prepare(insert)?;
                for row in rows {
                    for (number, value) in (1..).zip(row) {
                        statement.raw_bind_parameter(number, value)?;
                    }
                    statement.raw_execute()?;
                }
            }
            transaction.commit()?;
        }
        let elapsed = clock.elapsed();
        let inserted: i64 = connection.query_row("SELECT count(*) FROM flights", [], |row| row.get(0))?;
        match usize::try_from(inserted)? == self.flights() {
            true => Ok(elapsed),
            false => Err(format!("the floor holds {inserted} rows").into()),
        }
    }
}
