//! Writes the rows of one output.
//!
//! A row is either inserted, which does nothing where its identity is taken, or it is judged against the stored state and
//! then updated or left. Which comes first follows what the last row met: new data then costs one statement a row,
//! and re-delivered files cost one look-up a row.

use super::cells::{Bound, Cells, Scratch, plain};
use super::error::failed;
use super::table::Table;
use crate::record::MappedOutput;
use crate::sink::sqlite::registry;
use crate::sink::verdict::{RecordState, Verdict, judge};
use crate::sink::{OutputReceipt, SinkError};
use arrow::array::ArrayRef;
use arrow::json::writer::EncoderOptions;
use gristmill_core::id::Epoch;
use gristmill_core::record::Operation;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement};

/// What a batch gives all of its rows.
pub(super) struct Stamp<'a> {
    pub batch_no: i64,
    pub epoch: Epoch,
    /// What a tombstone says: when the batch was created.
    pub deleted_at: &'a str,
}

/// Writes all rows of an output within the caller's transaction.
pub(super) fn write(
    connection: &Connection,
    table: &Table,
    output: &MappedOutput,
    stamp: &Stamp<'_>,
) -> Result<OutputReceipt, SinkError> {
    let rows = output.rows.num_rows();
    let mut receipt = OutputReceipt { output: output.name.clone(), rows: rows as u64, ..OutputReceipt::default() };
    if rows == 0 {
        return Ok(receipt);
    }
    let unreadable = |error| SinkError::Permanent {
        what: format!("output `{}`: its columns cannot be read: {error}", output.name),
        hint: "report this as a bug of gristmill".into(),
    };
    let arrays: Vec<ArrayRef> =
        output.rows.columns().iter().map(plain).collect::<Result<_, _>>().map_err(unreadable)?;
    let options = EncoderOptions::default().with_explicit_nulls(true);
    let cells = table.schema.fields().iter().zip(&arrays).map(|(field, array)| Cells::of(field, array, &options));
    let cells = cells.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    let doing = |error| failed(format!("writing table `{}`", table.name), error);
    let mut writer = Writer::new(connection, table, output, cells, stamp).map_err(doing)?;
    let mut expect_new = true;
    for row in 0..rows {
        let deleted = match Operation::from_code(output.operations.value(row)) {
            Some(operation) => operation == Operation::Delete,
            None => return Err(unusable(output, row, "its operation is not known")),
        };
        if writer.lacks_identity(row) {
            return Err(unusable(output, row, "a column of its identity is null"));
        }
        let mut inserted = expect_new && writer.insert(row, deleted).map_err(doing)?;
        if !inserted {
            expect_new = !writer.look_up(row).map_err(doing)?;
            if !expect_new {
                match writer.judge(row, deleted).map_err(doing)? {
                    Verdict::Newer => {
                        writer.update(row, deleted).map_err(doing)?;
                        *(if deleted { &mut receipt.deleted } else { &mut receipt.updated }) += 1;
                    }
                    Verdict::Unchanged => receipt.unchanged += 1,
                    Verdict::Stale => receipt.stale += 1,
                    Verdict::Conflict => {
                        receipt.conflicts += 1;
                        receipt.conflict_rows.push(output.source_rows.value(row));
                    }
                }
                continue;
            }
            inserted = writer.insert(row, deleted).map_err(doing)?;
        }
        if !inserted {
            return Err(unusable(output, row, "the table neither holds nor takes it"));
        }
        *(if deleted { &mut receipt.deleted } else { &mut receipt.inserted }) += 1;
    }
    Ok(receipt)
}

fn unusable(output: &MappedOutput, row: usize, why: &str) -> SinkError {
    SinkError::Permanent {
        what: format!("output `{}`, row {row}: {why}; nothing of the batch was committed", output.name),
        hint: "every row needs an identity and an operation of insert, update or delete".into(),
    }
}

struct Writer<'a> {
    connection: &'a Connection,
    values: Values<'a>,
    insert: Writing<'a>,
    update: Writing<'a>,
    look_up: Statement<'a>,
    stored: Stored,
    batch_no: i64,
    epoch: Epoch,
    /// The epoch that was looked up last, with its batch: rows that differ tend to come from few batches.
    known_epoch: Option<(i64, Epoch)>,
}

/// What the rows say.
struct Values<'a> {
    cells: Vec<Cells<'a>>,
    identity: &'a [usize],
    output: &'a MappedOutput,
    deleted_at: &'a str,
    scratch: Scratch,
}

/// A prepared statement over all columns of the table.
struct Writing<'a> {
    statement: Statement<'a>,
    /// Whether the deleted mark is bound. Bindings stay from row to row, so it is bound only when it changes.
    marked: bool,
}

/// What the last look-up found.
#[derive(Default)]
struct Stored {
    version: Vec<u8>,
    hash: u64,
    deleted: bool,
    batch_no: i64,
}

impl<'a> Writer<'a> {
    fn new(
        connection: &'a Connection,
        table: &'a Table,
        output: &'a MappedOutput,
        cells: Vec<Cells<'a>>,
        stamp: &Stamp<'a>,
    ) -> rusqlite::Result<Self> {
        let batch_parameter = cells.len() + 3;
        let writing = |sql: &str| {
            let mut statement = connection.prepare(sql)?;
            statement.raw_bind_parameter(batch_parameter, stamp.batch_no)?;
            Ok::<_, rusqlite::Error>(Writing { statement, marked: false })
        };
        Ok(Self {
            connection,
            batch_no: stamp.batch_no,
            epoch: stamp.epoch,
            known_epoch: None,
            insert: writing(&table.insert)?,
            update: writing(&table.update)?,
            look_up: connection.prepare(&table.lookup)?,
            stored: Stored::default(),
            values: Values {
                cells,
                identity: &table.identity,
                output,
                deleted_at: stamp.deleted_at,
                scratch: Scratch::default(),
            },
        })
    }

    fn lacks_identity(&self, row: usize) -> bool {
        self.values.identity.iter().any(|place| self.values.cells[*place].is_null(row))
    }

    /// False: the identity is taken, and nothing happened.
    fn insert(&mut self, row: usize, deleted: bool) -> rusqlite::Result<bool> {
        Ok(self.insert.execute(&mut self.values, row, deleted)? == 1)
    }

    fn update(&mut self, row: usize, deleted: bool) -> rusqlite::Result<()> {
        self.update.execute(&mut self.values, row, deleted).map(|_| ())
    }

    /// Finds the stored state of the row's record; false where there is none.
    fn look_up(&mut self, row: usize) -> rusqlite::Result<bool> {
        let Values { cells, identity, scratch, .. } = &mut self.values;
        for (number, place) in (1_usize..).zip(*identity) {
            self.look_up.raw_bind_parameter(number, cells[*place].get(row, scratch))?;
        }
        let mut rows = self.look_up.raw_query();
        let Some(found) = rows.next()? else { return Ok(false) };
        self.stored.version.clear();
        self.stored.version.extend_from_slice(found.get_ref(0)?.as_bytes()?);
        self.stored.hash = found.get::<_, i64>(1)?.cast_unsigned();
        self.stored.deleted = found.get(2)?;
        self.stored.batch_no = found.get(3)?;
        Ok(true)
    }

    /// The stored row's epoch stands in the registry, and is looked up only where it decides.
    fn judge(&mut self, row: usize, deleted: bool) -> rusqlite::Result<Verdict> {
        match self.judge_against(self.epoch, row, deleted) {
            Verdict::Conflict => {
                let epoch = self.stored_epoch()?;
                Ok(self.judge_against(epoch, row, deleted))
            }
            verdict => Ok(verdict),
        }
    }

    fn judge_against(&self, epoch: Epoch, row: usize, deleted: bool) -> Verdict {
        let Stored { version, hash, deleted: is_deleted, .. } = &self.stored;
        let stored = RecordState { version, epoch, hash: *hash, deleted: *is_deleted };
        let (version, hash) = (self.values.output.versions.value(row), self.values.output.hashes.value(row));
        judge(stored, RecordState { version, epoch: self.epoch, hash, deleted })
    }

    /// A row of a batch that the registry does not know counts as one of this epoch: it is then kept, and reported.
    fn stored_epoch(&mut self) -> rusqlite::Result<Epoch> {
        let batch_no = self.stored.batch_no;
        match self.known_epoch {
            _ if batch_no == self.batch_no => Ok(self.epoch),
            Some((known, epoch)) if known == batch_no => Ok(epoch),
            _ => {
                let epoch = registry::epoch(self.connection, batch_no)?.unwrap_or(self.epoch);
                self.known_epoch = Some((batch_no, epoch));
                Ok(epoch)
            }
        }
    }
}

impl Writing<'_> {
    /// Rows changed.
    fn execute(&mut self, values: &mut Values<'_>, row: usize, deleted: bool) -> rusqlite::Result<usize> {
        let Values { cells, identity, output, deleted_at, scratch } = values;
        let statement = &mut self.statement;
        let columns = cells.len();
        for (place, cell) in cells.iter_mut().enumerate() {
            let value = match deleted && !identity.contains(&place) {
                true => Bound(ValueRef::Null),
                false => cell.get(row, scratch),
            };
            statement.raw_bind_parameter(place + 1, value)?;
        }
        statement.raw_bind_parameter(columns + 1, Bound(ValueRef::Blob(output.versions.value(row))))?;
        statement.raw_bind_parameter(columns + 2, output.hashes.value(row).cast_signed())?;
        if deleted != self.marked {
            statement.raw_bind_parameter(columns + 4, deleted.then_some(*deleted_at))?;
            self.marked = deleted;
        }
        statement.raw_execute()
    }
}
