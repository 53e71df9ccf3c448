//! The SQLite sink: one table for each output, in one database file.
//!
//! Rows, registry, fence and receipt are committed in one transaction. Each row of a target table carries its version,
//! content hash and batch (`gristmill_batch.no`). A deleted record stays as a tombstone: its identity, NULL in the other
//! columns, and `gristmill_deleted_at`. **Queries add `WHERE gristmill_deleted_at IS NULL`.** The sink adds no views: it
//! puts nothing into a database that the pipeline does not name, apart from its own `gristmill_…` tables.

mod cells;
mod checkpoint;
mod error;
mod registry;
mod rows;
mod swap;
mod table;
mod text;

use super::{Guarantee, MappedBatch, Receipt, Sink, SinkError, Swap, Tenure};
use crate::faults::{FaultPoint, reach};
use crate::record::OutputSchema;
use checkpoint::Checkpointer;
use error::failed;
use gristmill_core::id::{BatchId, Epoch, PartitionId, TaskId};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use table::{DELETED_AT, Table};

/// Where rows go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteSinkOptions {
    /// The database file; created, with its folder, when it is not there.
    pub path: PathBuf,
}

/// How long to wait for another writer of the file before the attempt counts as failed.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Pages of a new database. Larger than the default of 4096: rows of many columns fill fewer, and a commit writes less.
const PAGE_BYTES: u32 = 8192;

/// Page cache. A batch's dirty pages that outgrow it are written twice.
const CACHE_KIB: u32 = 32 * 1024;

/// What a checkpointed WAL file may keep of the disk.
const WAL_KEPT_BYTES: u64 = 64 * 1024 * 1024;

/// Writes to tables of one SQLite database.
#[derive(Debug)]
pub struct SqliteSink {
    options: SqliteSinkOptions,
    opened: Option<Opened>,
}

#[derive(Debug)]
struct Opened {
    tenure: Tenure,
    /// Before the connection, so that it ends first: the connection that closes last copies what is left of the log.
    checkpointer: Checkpointer,
    connection: Connection,
    /// By output.
    tables: BTreeMap<String, Table>,
    /// The last batch of the partition's history as this owner knows it.
    last: Option<BatchId>,
}

impl SqliteSink {
    pub fn new(options: SqliteSinkOptions) -> Self {
        Self { options, opened: None }
    }

    fn open_now(&mut self, tenure: &Tenure, outputs: &[OutputSchema]) -> Result<(), SinkError> {
        self.opened = None;
        let tables = tables(outputs)?;
        let mut connection = connect(&self.options.path)?;
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| failed("locking the target", error))?;
        registry::ensure(&transaction)?;
        registry::raise_fence(&transaction, &tenure.task_id, &tenure.partition_id, tenure.fencing_token)?;
        for table in tables.values() {
            let ours = registry::take_table(&transaction, &table.name, &tenure.task_id)?;
            table.ensure(&transaction, ours)?;
        }
        let last = registry::last(&transaction, &tenure.task_id, &tenure.partition_id, None)?;
        reach(FaultPoint::SinkFenceBefore);
        transaction.commit().map_err(|error| failed("raising the fence", error))?;
        reach(FaultPoint::SinkFenceAfter);
        let checkpointer = Checkpointer::start(&self.options.path)?;
        self.opened = Some(Opened { tenure: tenure.clone(), checkpointer, connection, tables, last });
        Ok(())
    }

    fn swap_now(&mut self, tenure: &Tenure, epoch: Epoch, tables: &[Swap]) -> Result<(), SinkError> {
        // The statements of an open sink name tables that are about to have other names.
        let opened = self.opened.take().filter(|opened| opened.tenure == *tenure);
        let history = opened.map(|opened| opened.last);
        let mut connection = connect(&self.options.path)?;
        swap::prepare(&connection).map_err(|error| failed("preparing to swap tables", error))?;
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| failed("locking the target", error))?;
        registry::ensure(&transaction)?;
        registry::raise_fence(&transaction, &tenure.task_id, &tenure.partition_id, tenure.fencing_token)?;
        let last = registry::last(&transaction, &tenure.task_id, &tenure.partition_id, None)?;
        if history.is_some_and(|history| history != last) {
            return Err(super::support::foreign_history(last));
        }
        tables.iter().try_for_each(|table| swap::swap(&transaction, tenure, epoch, table))?;
        reach(FaultPoint::SinkSwapBefore);
        transaction.commit().map_err(|error| failed("swapping tables", error))?;
        reach(FaultPoint::SinkSwapAfter);
        Ok(())
    }

    fn fits_now(&self, task_id: &TaskId, outputs: &[OutputSchema]) -> Result<(), SinkError> {
        let tables = tables(outputs)?;
        if !self.options.path.exists() {
            return Ok(());
        }
        let doing = || format!("reading the database {}", self.options.path.display());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(&self.options.path, flags).map_err(|error| failed(doing(), error))?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(|error| failed(doing(), error))?;
        for table in tables.values() {
            let ours = registry::owns_table(&connection, &table.name, task_id)?;
            table.fits(&connection, ours)?;
        }
        Ok(())
    }

    fn opened(&mut self) -> Result<&mut Opened, SinkError> {
        self.opened.as_mut().ok_or_else(super::not_open)
    }
}

fn tables(outputs: &[OutputSchema]) -> Result<BTreeMap<String, Table>, SinkError> {
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    for output in outputs {
        let table = Table::new(output)?;
        if let Some((other, _)) = tables.iter().find(|(_, other)| other.name.eq_ignore_ascii_case(&table.name)) {
            return Err(SinkError::Mismatch {
                what: format!("the outputs `{other}` and `{}` go to one table `{}`", output.name, table.name),
                hint: "give each output a table of its own; SQLite ignores case in names".into(),
            });
        }
        tables.insert(output.name.clone(), table);
    }
    Ok(tables)
}

impl Opened {
    fn write_now(&mut self, batch: &MappedBatch) -> Result<Receipt, SinkError> {
        super::check_batch(batch, &self.tenure)?;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| failed("locking the target", error))?;
        registry::raise_fence(&transaction, &batch.task_id, &batch.partition_id, batch.fencing_token)?;
        let last = registry::last(&transaction, &batch.task_id, &batch.partition_id, None)?;
        if let Some(receipt) = registry::find(&transaction, &batch.task_id, batch.batch_id)? {
            if last == Some(batch.batch_id) {
                // Ours, and only its answer was lost.
                self.last = last;
            }
            return receipt.of_same_content(batch);
        }
        // Tokens are drawn by a state: another state may hold the same one. Its batches are not in our history.
        if last != self.last {
            return Err(super::support::foreign_history(last));
        }
        for output in &batch.outputs {
            let table = self.tables.get(&output.name).ok_or_else(|| super::unknown_output(&output.name))?;
            match registry::table_epoch(&transaction, &table.name)? {
                Some(epoch) if epoch > batch.epoch => return Err(super::swap::from_before(batch, &table.name, epoch)),
                _ => {}
            }
        }
        let deleted_at = registry::moment(batch.created_at);
        let stamp =
            rows::Stamp { batch_no: registry::next_no(&transaction)?, epoch: batch.epoch, deleted_at: &deleted_at };
        let mut outputs = Vec::with_capacity(batch.outputs.len());
        for output in &batch.outputs {
            let table = self.tables.get(&output.name).ok_or_else(|| super::unknown_output(&output.name))?;
            super::check_output(output, &table.schema)?;
            outputs.push(rows::write(&transaction, table, output, &stamp)?);
        }
        let receipt = Receipt::new(batch, super::now(), outputs);
        registry::record(&transaction, stamp.batch_no, batch, &receipt)?;
        reach(FaultPoint::SinkCommitBefore);
        transaction.commit().map_err(|error| failed("committing the batch", error))?;
        reach(FaultPoint::SinkCommitAfter);
        self.last = Some(batch.batch_id);
        self.checkpointer.after_commit(&self.connection);
        Ok(receipt)
    }
}

#[async_trait::async_trait]
impl Sink for SqliteSink {
    fn guarantee(&self) -> Guarantee {
        Guarantee {
            batches: "effectively once: a batch delivered again changes nothing",
            records: "the newest version wins, in any order of arrival",
        }
    }

    fn check(&self, outputs: &[OutputSchema]) -> Result<(), SinkError> {
        tables(outputs).map(drop)
    }

    async fn fits(
        &mut self,
        task_id: &TaskId,
        _partition_id: &PartitionId,
        outputs: &[OutputSchema],
    ) -> Result<(), SinkError> {
        tokio::task::block_in_place(|| self.fits_now(task_id, outputs))
    }

    async fn open(&mut self, tenure: &Tenure, outputs: &[OutputSchema]) -> Result<(), SinkError> {
        tokio::task::block_in_place(|| self.open_now(tenure, outputs))
    }

    async fn find_receipt(&mut self, task_id: &TaskId, batch_id: BatchId) -> Result<Option<Receipt>, SinkError> {
        tokio::task::block_in_place(|| registry::find(&self.opened()?.connection, task_id, batch_id))
    }

    async fn write(&mut self, batch: &MappedBatch) -> Result<Receipt, SinkError> {
        tokio::task::block_in_place(|| self.opened()?.write_now(batch))
    }

    async fn swap(&mut self, tenure: &Tenure, epoch: Epoch, tables: &[Swap]) -> Result<(), SinkError> {
        tokio::task::block_in_place(|| self.swap_now(tenure, epoch, tables))
    }

    async fn last_batch(&mut self, tenure: &Tenure, epoch: Epoch) -> Result<Option<BatchId>, SinkError> {
        tokio::task::block_in_place(|| {
            if !self.options.path.exists() {
                return Ok(None);
            }
            let connection = connect(&self.options.path)?;
            match registry::exists(&connection)? {
                true => registry::last(&connection, &tenure.task_id, &tenure.partition_id, Some(epoch)),
                false => Ok(None),
            }
        })
    }

    async fn count(&mut self) -> Result<BTreeMap<String, u64>, SinkError> {
        let opened = self.opened()?;
        tokio::task::block_in_place(|| {
            let count = |table: &Table| -> Result<u64, SinkError> {
                let sql = format!("SELECT count(*) FROM {} WHERE {DELETED_AT} IS NULL", table::quoted(&table.name));
                let rows = opened.connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
                rows.map(i64::unsigned_abs).map_err(|error| failed("counting records", error))
            };
            opened.tables.iter().map(|(output, table)| Ok((output.clone(), count(table)?))).collect()
        })
    }
}

fn connect(path: &Path) -> Result<Connection, SinkError> {
    let doing = || format!("opening the database {}", path.display());
    // An absolute path: SQLite would keep `:memory:` and the empty name in memory.
    let file = std::path::absolute(path).map_err(|source| SinkError::Permanent {
        what: format!("{}: {source}", doing()),
        hint: "name a file".into(),
    })?;
    if let Some(folder) = file.parent() {
        super::create_folder(folder)?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&file, flags).map_err(|error| failed(doing(), error))?;
    configure(&connection).map_err(|error| failed(doing(), error))?;
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .map_err(|error| failed(doing(), error))?;
    match mode == "wal" {
        true => Ok(connection),
        false => Err(SinkError::Permanent {
            what: format!("the database {} cannot use a write-ahead log", path.display()),
            hint: "keep it on a local file system".into(),
        }),
    }
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    // FULL: a commit is on the disk before it is answered.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -i64::from(CACHE_KIB))?;
    // Never within a commit: see [`checkpoint`].
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_KEPT_BYTES.cast_signed(), |_| Ok(()))
}

#[cfg(test)]
mod tests;
