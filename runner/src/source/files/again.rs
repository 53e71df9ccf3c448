//! Single records, read again from the very version of their file.
//!
//! The ledger and the cursor say which content each place in the order of reading had. A file that has other content by
//! now was read whole as its successor, or will be: its older records are gone.

use super::admit::{self, Cancelled};
use super::chunk::{Budget, Chunk, Position, RecordReader};
use super::held::{HeldFile, Stamp};
use super::ledger::Ledger;
use super::measure::row_bytes;
use super::options::{FileFormat, FilesOptions};
use super::{reading, trouble};
use crate::record::{OriginRun, Origins, Page};
use crate::source::{PageLimits, Reread, Rereader, SourceError};
use arrow::array::{RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow::compute::{concat_batches, take_record_batch};
use gristmill_core::cursor::Cursor;
use gristmill_core::dead_letter::{DeadLetter, RecordPosition, RefusedAt};
use gristmill_core::digest::Digest;
use gristmill_core::record::Operation;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// How much of a file is looked through at a time.
const ROWS_TOGETHER: usize = 8192;
const BYTES_TOGETHER: usize = 8 << 20;

/// Reads records of a files source again.
pub struct FilesRereader {
    options: FilesOptions,
    /// By their place in the order of reading.
    versions: HashMap<u64, Version>,
    /// The latest place of each path.
    latest: HashMap<String, u64>,
    open: Option<Open>,
}

struct Version {
    /// Where the file is by now: it may have been renamed.
    path: String,
    digest: Digest,
}

struct Open {
    sequence: u64,
    path: String,
    digest: Digest,
    file: HeldFile,
    stamp: Option<Stamp>,
    reader: Box<dyn RecordReader>,
    /// The first record that can still be had.
    next: u64,
    /// What was read last.
    seen: Option<Seen>,
}

/// A piece of a file, with the size of each of its rows.
struct Seen {
    chunk: Chunk,
    sizes: Vec<usize>,
}

/// A position in a file.
#[derive(Clone, Copy)]
struct Place<'a> {
    object: &'a str,
    sequence: u64,
    record: u64,
    line: Option<u64>,
}

impl<'a> Place<'a> {
    fn of(position: &'a RecordPosition) -> Option<Self> {
        match position {
            RecordPosition::Source { object, object_sequence, record, line } => {
                Some(Self { object, sequence: *object_sequence, record: *record, line: *line })
            }
            RecordPosition::Batch { .. } => None,
        }
    }
}

impl FilesRereader {
    /// `read` and `state` are the cursor and the logical state of the source's checkpoint.
    pub fn new(options: FilesOptions, read: &Cursor, state: &BTreeMap<String, String>) -> Result<Self, SourceError> {
        super::check(&options)?;
        let ledger = Ledger::from_state(state)?;
        let known = ledger.entries().map(|(path, entry)| (path, entry.sequence, entry.digest));
        let in_hand = match read {
            Cursor::Files(cursor) => Some((cursor.file.path.as_str(), cursor.file_sequence, cursor.file.digest)),
            _ => None,
        };
        let (mut versions, mut latest) = (HashMap::new(), HashMap::<String, u64>::new());
        // The cursor's file first: at its end the ledger has it too, under the name that it has since.
        for (path, sequence, digest) in in_hand.into_iter().chain(known) {
            versions.insert(sequence, Version { path: path.to_owned(), digest });
            let place = latest.entry(path.to_owned()).or_default();
            *place = sequence.max(*place);
        }
        Ok(Self { options, versions, latest, open: None })
    }

    /// Goes to a record, or says why it is gone.
    async fn go_to(&mut self, place: Place<'_>) -> Result<Result<(), String>, SourceError> {
        if self.open.as_ref().is_some_and(|open| open.sequence == place.sequence && open.next <= place.record) {
            return Ok(Ok(()));
        }
        self.open = None;
        let object = place.object;
        let Some(Version { path, digest }) = self.versions.get(&place.sequence) else {
            let later = self.latest.get(object).is_some_and(|latest| *latest > place.sequence);
            return Ok(Err(match later {
                true => format!("a later version of {object} was read whole"),
                false => format!("the task no longer knows the version of {object} that it was in"),
            }));
        };
        let cancelled = Cancelled::default();
        let opened = match admit::open(&self.options.root, path, &self.options.spool_dir, &cancelled).await {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(Err(format!("{path} is gone"))),
            Err(error) => return reason(error).map(Err),
        };
        let inspected = tokio::task::block_in_place(|| opened.inspect(&cancelled))?;
        if inspected.digest != *digest || !inspected.stable {
            return Ok(Err(format!("{path} has changed since; its new version is read whole by the next run")));
        }
        // Only formats that are not read front to back can start anywhere.
        let from = match self.options.format {
            FileFormat::Parquet => Position { record: place.record, ..Position::START },
            FileFormat::Csv(_) | FileFormat::JsonLines => Position::START,
        };
        let reader = match reading::reader(&self.options, path, opened.file.clone(), from) {
            Ok(reader) => reader,
            Err(error) => return reason(error).map(Err),
        };
        self.open = Some(Open {
            sequence: place.sequence,
            path: path.clone(),
            digest: *digest,
            file: opened.file,
            stamp: opened.stamp,
            reader,
            next: from.record,
            seen: None,
        });
        Ok(Ok(()))
    }

    /// Reads the records at these places of the open file, until the limits.
    fn read(&mut self, places: &[Place<'_>], limits: PageLimits) -> Result<Found, SourceError> {
        let mut found = Found::default();
        let Some(open) = &mut self.open else { return Ok(found) };
        while let Some(place) = places.get(found.answered) {
            if !open.seen.as_ref().is_some_and(|seen| place.record < seen.chunk.at.record) {
                found.collect(open.seen.as_ref())?;
                if let Err(why) = open.read_on_to(place.record, limits)? {
                    found.rest_is_gone(places, &why);
                    break;
                }
            }
            let Some(seen) = &open.seen else { break };
            if !found.take(place, seen, &open.path, limits) {
                break;
            }
            open.next = place.record;
        }
        found.collect(open.seen.as_ref())?;
        Ok(found)
    }
}

impl Open {
    /// Reads on up to the piece that holds a record, or says why there is none.
    fn read_on_to(&mut self, record: u64, limits: PageLimits) -> Result<Result<(), String>, SourceError> {
        let bytes = limits.max_bytes.clamp(1, BYTES_TOGETHER);
        let budget = Budget { rows: ROWS_TOGETHER, bytes, page_is_empty: true };
        loop {
            if self.seen.as_ref().is_some_and(|seen| seen.chunk.ended) {
                return Ok(Err(format!("{} has no record {record}", self.path)));
            }
            let chunk = self.reader.read(budget);
            let intact = reading::is_intact(&self.file, &mut self.stamp, self.digest, &Cancelled::default());
            if !intact.map_err(|error| trouble::reading(&self.path, error))? {
                return Ok(Err(format!("{} changed while it was read", self.path)));
            }
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) => return reason(error).map(Err),
            };
            let holds_it = record < chunk.at.record;
            self.seen = Some(Seen { sizes: row_bytes(&chunk.rows), chunk });
            if holds_it {
                return Ok(Ok(()));
            }
        }
    }
}

/// An error that is about one file is a reason; one that may pass, or is about the source as a whole, stays an error.
fn reason(error: SourceError) -> Result<String, SourceError> {
    match error {
        SourceError::Transient { .. } => Err(error),
        error => Ok(error.to_string()),
    }
}

/// What has come together for a page.
#[derive(Default)]
struct Found {
    answered: usize,
    batches: Vec<RecordBatch>,
    /// Rows of the piece in hand that are not in `batches` yet.
    rows: Vec<u32>,
    records: Vec<u64>,
    lines: Vec<u64>,
    dead_letters: Vec<DeadLetter>,
    gone: Vec<(usize, String)>,
    bytes: usize,
}

impl Found {
    fn rest_is_gone(&mut self, places: &[Place<'_>], why: &str) {
        self.gone.extend((self.answered..places.len()).map(|place| (place, why.to_owned())));
        self.answered = places.len();
    }

    /// Answers a place that lies in a piece. False: it does not fit any more.
    fn take(&mut self, place: &Place<'_>, seen: &Seen, path: &str, limits: PageLimits) -> bool {
        let chunk = &seen.chunk;
        let row = chunk.records.binary_search(&place.record).ok();
        let refused = chunk.refused.binary_search_by_key(&place.record, |refused| refused.record).ok();
        let refused = refused.map(|at| &chunk.refused[at]);
        let size = row.map_or(0, |row| seen.sizes[row]);
        let budget = Budget { rows: limits.max_rows.max(1), bytes: limits.max_bytes, page_is_empty: true };
        if !budget.fits(self.records.len() + self.dead_letters.len(), self.bytes, size) {
            return false;
        }
        let line = match row {
            Some(row) => chunk.lines.get(row).copied(),
            None => refused.and_then(|refused| refused.line),
        };
        match (row, refused) {
            (Some(row), _) if line == place.line => {
                self.rows.push(row as u32);
                self.records.push(place.record);
                self.lines.extend(line);
                self.bytes += size;
            }
            (None, Some(refused)) if line == place.line => self.dead_letters.push(DeadLetter {
                refused_at: RefusedAt::Source,
                class: refused.class,
                code: refused.class.as_str().to_owned(),
                field: refused.field.clone(),
                output: None,
                position: RecordPosition::Source {
                    object: place.object.to_owned(),
                    object_sequence: place.sequence,
                    record: place.record,
                    line: place.line,
                },
                message: refused.message.clone(),
            }),
            // Another header or quote makes other records of the same bytes.
            _ => self.gone.push((self.answered, format!("{path} has another record there, as this version reads it"))),
        }
        self.answered += 1;
        true
    }

    /// Copies the rows that were taken of the piece in hand.
    fn collect(&mut self, seen: Option<&Seen>) -> Result<(), SourceError> {
        let rows = std::mem::take(&mut self.rows);
        let Some(seen) = seen.filter(|_| !rows.is_empty()) else { return Ok(()) };
        self.batches.push(take_record_batch(&seen.chunk.rows, &UInt32Array::from(rows)).map_err(|_| no_batch())?);
        Ok(())
    }
}

fn no_batch() -> SourceError {
    SourceError::Permanent {
        what: "records that were read again do not make a batch".into(),
        hint: "lower `max_bytes` of a batch to less than 2 GiB".into(),
    }
}

#[async_trait::async_trait]
impl Rereader for FilesRereader {
    async fn reread(&mut self, positions: &[RecordPosition], limits: PageLimits) -> Result<Reread, SourceError> {
        let first = positions.first().and_then(Place::of);
        let found = match first {
            None => Found { answered: 1, gone: vec![(0, "it has no place in the source".into())], ..Found::default() },
            Some(first) => {
                let places = positions.iter().map_while(Place::of);
                let places: Vec<_> = places.take_while(|place| place.sequence == first.sequence).collect();
                match self.go_to(first).await? {
                    Ok(()) => tokio::task::block_in_place(|| self.read(&places, limits))?,
                    Err(why) => {
                        let mut found = Found::default();
                        found.rest_is_gone(&places, &why);
                        found
                    }
                }
            }
        };
        let objects = first.filter(|_| !found.records.is_empty()).map(|first| OriginRun {
            first_row: 0,
            object: Arc::from(first.object),
            object_sequence: first.sequence,
        });
        let rows = concat_batches(&self.options.columns, &found.batches).map_err(|_| no_batch())?;
        let page = Page {
            // What it was at first is not known any more; either way it is the record as it stands.
            operations: UInt8Array::from(vec![Operation::Insert.code(); rows.num_rows()]),
            origins: Origins {
                objects: objects.into_iter().collect(),
                lines: self.options.format.has_lines().then(|| UInt64Array::from(found.lines)),
                records: UInt64Array::from(found.records),
            },
            rows,
            dead_letters: found.dead_letters,
            cursor_from: Cursor::Start,
            cursor_to: Cursor::Start,
            state: BTreeMap::new(),
        };
        Ok(Reread { answered: found.answered, page, gone: found.gone })
    }
}
