//! The order of reading: which file comes next, where to go on in it, and what a page carries.
//!
//! A [`Reading`] is moved into a blocking task for each call and moved back when the call is complete. A call that nobody
//! waits for any more is lost with all that it changed: the next one starts from the same [`Place`].

use super::admit::{self, Cancelled, Opened};
use super::chunk::{Position, RecordReader};
use super::clock::Clock;
use super::compression::Compression;
use super::csv::CsvReader;
use super::held::{HeldFile, Stamp};
use super::json::JsonReader;
use super::ledger::{Entry, Ledger};
use super::listing::{self, Found};
use super::options::{FileFormat, FilesOptions};
use super::page::PageBuilder;
use super::parquet::{self, ParquetReader};
use super::root::FilesRoot;
use super::{shape, trouble};
use crate::source::{PageLimits, Poll, Resumed, SourceError};
use globset::GlobMatcher;
use gristmill_core::cursor::{Cursor, FilePosition, FileVersion, FilesCursor};
use gristmill_core::digest::Digest;
use gristmill_core::record::Operation;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;

/// What does not change while a source lives.
pub(super) struct Setup {
    pub options: FilesOptions,
    pub pattern: Option<GlobMatcher>,
    pub clock: Arc<dyn Clock>,
}

/// Where reading stands: all that a page must not change before it is complete.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub cursor: Cursor,
    pub ledger: Ledger,
    /// The cursor's file goes on after the cursor. False at its end, and when its version was abandoned.
    pub in_file: bool,
}

impl Place {
    pub fn at(cursor: Cursor, mut ledger: Ledger) -> Self {
        let mut in_file = false;
        if let Cursor::Files(files) = &cursor {
            ledger.take_sequence(files.file_sequence);
            in_file = matches!(files.position, FilePosition::At { .. });
        }
        Self { cursor, ledger, in_file }
    }
}

/// A file that is being read.
struct OpenFile {
    cursor: FilesCursor,
    operation: Operation,
    reader: Box<dyn RecordReader>,
    file: HeldFile,
    stamp: Option<Stamp>,
}

/// A file whose modification time lies in the future says nothing of its age: it has settled once it was seen
/// unchanged for long enough.
#[derive(Debug, Clone)]
struct Seen {
    found: Found,
    since: SystemTime,
}

pub(super) struct Reading {
    pub setup: Arc<Setup>,
    pub place: Place,
    pub cancelled: Cancelled,
    pub runtime: Handle,
    pub warm: Warm,
}

/// What spares work from one call to the next and can be lost at any time.
#[derive(Default)]
pub(super) struct Warm {
    open: Option<OpenFile>,
    /// What the last scan found and is not yet read, by path.
    queue: VecDeque<Found>,
    /// Paths of known files that the last scan did not find, by their content: one of those may be in the queue, renamed.
    vanished: HashMap<Digest, Vec<String>>,
    seen: Option<Seen>,
}

/// What comes after the file in hand.
enum Next {
    File,
    Settling(Duration),
    Nothing,
}

impl Reading {
    pub fn poll(&mut self, limits: PageLimits) -> Result<Poll, SourceError> {
        let setup = self.setup.clone();
        let mut page = PageBuilder::new(setup.options.columns.clone(), setup.options.format.has_lines(), limits);
        let cursor_from = self.place.cursor.clone();
        let mut has_scanned = false;
        let mut otherwise = Poll::Idle;
        while !page.is_full() {
            match self.step(&mut page, &mut has_scanned) {
                Ok(None) => {}
                Ok(Some(poll)) => {
                    otherwise = poll;
                    break;
                }
                // What is in the page is sound: it goes first, and the next call runs into the same error.
                Err(_) if page.has_moved() => {
                    self.warm = Warm::default();
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        if !page.has_moved() {
            return Ok(otherwise);
        }
        let state = self.place.ledger.take_unsent();
        let page = page.finish(cursor_from, self.place.cursor.clone(), state)?;
        Ok(Poll::Page(Box::new(page)))
    }

    /// Opens the next file, or reads on in the open one. Some: the page ends here, and this is the answer should it be empty.
    fn step(&mut self, page: &mut PageBuilder, has_scanned: &mut bool) -> Result<Option<Poll>, SourceError> {
        if self.warm.open.is_none() && self.place.in_file {
            self.reopen()?;
        }
        if self.warm.open.is_none() {
            match self.next_file(has_scanned)? {
                Next::File => {}
                Next::Settling(wait) => return Ok(Some(Poll::Settling(wait))),
                Next::Nothing => return Ok(Some(Poll::Idle)),
            }
        }
        let Some(mut open) = self.warm.open.take() else { return Ok(None) };
        let chunk = open.reader.read(page.budget());
        if !open.is_intact(&self.cancelled).map_err(|error| trouble::reading(&open.cursor.file.path, error))? {
            self.abandon(&open.cursor.file.path);
            *has_scanned = false;
            return Ok(None);
        }
        let chunk = chunk?;
        let (at, ended) = (chunk.at, chunk.ended);
        if !ended && chunk.records.is_empty() && chunk.refused.is_empty() {
            // Not even the next record fits: it starts the next page.
            self.warm.open = Some(open);
            return Ok(Some(Poll::Idle));
        }
        page.add(chunk, &open.cursor, open.operation);
        self.place.ledger.take_sequence(open.cursor.file_sequence);
        self.place.in_file = !ended;
        if ended {
            open.cursor.position = FilePosition::End { records: at.record };
            let entry = Entry::new(open.cursor.file_sequence, &open.cursor.file, at.record, false);
            self.place.ledger.put(&open.cursor.file.path, entry);
            self.place.cursor = Cursor::Files(open.cursor);
            return Ok(None);
        }
        open.cursor.position = at.into();
        self.place.cursor = Cursor::Files(open.cursor.clone());
        self.warm.open = Some(open);
        Ok(Some(Poll::Idle))
    }

    /// Goes back to the cursor's place in its file, if the file is still the same version.
    pub fn reopen(&mut self) -> Result<Resumed, SourceError> {
        let Cursor::Files(cursor) = self.place.cursor.clone() else { return Ok(Resumed::Valid) };
        let FilePosition::At { record, byte, line } = cursor.position else { return Ok(Resumed::Valid) };
        let path = &cursor.file.path;
        let Some(opened) = self.open(path)? else {
            return Err(SourceError::PositionLost {
                what: format!("{path} is gone, and was read only up to record {record}"),
                hint:
                    "put the file back as it was, or put any file of that name there: it is then read as a new version"
                        .into(),
            });
        };
        let inspected = opened.inspect(&self.cancelled)?;
        if inspected.digest != cursor.file.digest || !inspected.stable {
            self.abandon(path);
            return Ok(Resumed::Superseded { object: path.clone() });
        }
        let version = version(&opened, inspected.digest);
        let cursor = FilesCursor { file: version, ..cursor };
        self.start(opened, cursor, Position { record, byte, line })?;
        Ok(Resumed::Valid)
    }

    /// Opens the next file version that the ledger does not know.
    fn next_file(&mut self, has_scanned: &mut bool) -> Result<Next, SourceError> {
        loop {
            let Some(found) = self.warm.queue.front().cloned() else {
                if *has_scanned {
                    return Ok(Next::Nothing);
                }
                *has_scanned = true;
                self.scan()?;
                continue;
            };
            let Some(opened) = self.open(&found.path)? else {
                self.warm.queue.pop_front();
                continue;
            };
            let known = self.place.ledger.get(&found.path).cloned();
            if known.as_ref().is_some_and(|entry| entry.looks_like(&opened.found)) {
                self.warm.queue.pop_front();
                continue;
            }
            if let Some(wait) = self.settling(&opened) {
                return Ok(Next::Settling(wait));
            }
            let inspected = opened.inspect(&self.cancelled)?;
            if !inspected.stable {
                return Ok(Next::Settling(self.setup.options.settle));
            }
            let version = version(&opened, inspected.digest);
            if known.is_none() && self.is_renamed(&version) {
                self.warm.queue.pop_front();
                continue;
            }
            if let Some(entry) = known.filter(|entry| !entry.partial && entry.digest == version.digest) {
                // Touched or copied, not changed.
                self.place.ledger.put(&found.path, Entry::new(entry.sequence, &version, entry.records, false));
                self.warm.queue.pop_front();
                continue;
            }
            inspected.container?;
            shape::check(&opened, &self.setup.options)?;
            self.check_format(&opened)?;
            let position = Position::START;
            let cursor = FilesCursor {
                file_sequence: self.place.ledger.next_sequence(),
                file: version,
                position: position.into(),
            };
            self.start(opened, cursor, position)?;
            self.warm.queue.pop_front();
            return Ok(Next::File);
        }
    }

    fn scan(&mut self) -> Result<(), SourceError> {
        let setup = &self.setup;
        let found = self.runtime.block_on(listing::list(&setup.options.root, setup.pattern.as_ref()))?;
        let ledger = &self.place.ledger;
        let is_known = |found: &Found| ledger.get(&found.path).is_some_and(|entry| entry.looks_like(found));
        let is_listed = |path: &str| found.binary_search_by(|found| found.path.as_str().cmp(path)).is_ok();
        let mut vanished: HashMap<Digest, Vec<String>> = HashMap::new();
        if found.iter().any(|found| ledger.get(&found.path).is_none()) {
            for (path, entry) in ledger.entries().filter(|(path, entry)| !entry.partial && !is_listed(path)) {
                vanished.entry(entry.digest).or_default().push(path.to_owned());
            }
        }
        self.warm.vanished = vanished;
        self.warm.queue = found.into_iter().filter(|found| !is_known(found)).collect();
        Ok(())
    }

    /// Whether a file of an unknown path is one that was read under a path that is no more. It then keeps its place in the
    /// order of reading, so that its rows win over no later ones. A rename leaves the modification time alone: a new file
    /// that happens to have the content of one that was removed is told from it by that.
    fn is_renamed(&mut self, version: &FileVersion) -> bool {
        let Some(paths) = self.warm.vanished.get_mut(&version.digest) else { return false };
        // The same bytes are other records where the name says otherwise how to decompress them.
        let compression = Compression::of(&version.path);
        let known = paths.iter().enumerate().filter(|(_, path)| Compression::of(path) == compression);
        let known = known.filter_map(|(place, path)| Some((place, self.place.ledger.get(path)?.clone())));
        let known = known.filter(|(_, entry)| entry.modified == version.modified);
        // Of several with one content the latest: what has won goes on to win.
        let Some((place, entry)) = known.max_by_key(|(_, entry)| entry.sequence) else { return false };
        let from = paths.swap_remove(place);
        tracing::info!(file = version.path, from, "the file was renamed since it was read: it is not read again");
        self.place.ledger.rename(&from, &version.path, Entry::new(entry.sequence, version, entry.records, false));
        true
    }

    pub fn observe(&mut self, path: &str) -> Result<arrow::datatypes::Schema, SourceError> {
        match self.open(path)? {
            Some(opened) => shape::observe(&opened, &self.setup.options),
            None => {
                Err(SourceError::PositionLost { what: format!("{path} is gone"), hint: "put the file back".into() })
            }
        }
    }

    fn open(&self, path: &str) -> Result<Option<Opened>, SourceError> {
        let options = &self.setup.options;
        self.runtime.block_on(admit::open(&options.root, path, &options.spool_dir, &self.cancelled))
    }

    /// How long a local file must still be left alone. Objects of a store appear whole.
    fn settling(&mut self, opened: &Opened) -> Option<Duration> {
        if !matches!(self.setup.options.root, FilesRoot::Local(_)) {
            return None;
        }
        let now = self.setup.clock.now();
        let age = match now.duration_since(opened.stamp?.modified) {
            Ok(age) => age,
            Err(_) => {
                let seen = self.warm.seen.take().filter(|seen| seen.found == opened.found);
                let seen = seen.unwrap_or_else(|| Seen { found: opened.found.clone(), since: now });
                let age = now.duration_since(seen.since).unwrap_or_default();
                self.warm.seen = Some(seen);
                age
            }
        };
        self.setup.options.settle.checked_sub(age).filter(|wait| !wait.is_zero())
    }

    /// What the format asks for beyond the compression.
    fn check_format(&self, opened: &Opened) -> Result<(), SourceError> {
        let FileFormat::Parquet = self.setup.options.format else { return Ok(()) };
        let path = &opened.found.path;
        if Compression::of(path) != Compression::None {
            return Err(SourceError::Permanent {
                what: format!("{path} is compressed as a whole, which Parquet is never read from"),
                hint: "uncompress the file: Parquet compresses its pages itself".into(),
            });
        }
        let FilesOptions { columns, ignore_columns, .. } = &self.setup.options;
        parquet::check(opened.file.clone(), path, columns.clone(), *ignore_columns, || self.cancelled.is_set())
    }

    fn start(&mut self, opened: Opened, cursor: FilesCursor, from: Position) -> Result<(), SourceError> {
        let path = &cursor.file.path;
        let reader = reader(&self.setup.options, path, opened.file.clone(), from)?;
        let is_known = self.place.ledger.get(path).is_some();
        let operation = if is_known { Operation::Update } else { Operation::Insert };
        self.warm.open = Some(OpenFile { cursor, operation, reader, file: opened.file, stamp: opened.stamp });
        Ok(())
    }

    /// The version in hand is no more. What was read of it stands; the new version is read from its start.
    fn abandon(&mut self, path: &str) {
        tracing::warn!(file = path, "the file has changed while it was read: its new version is read from the start");
        if let Cursor::Files(cursor) = &self.place.cursor
            && let FilePosition::At { record, .. } = cursor.position
            && self.place.in_file
        {
            self.place.ledger.abandon(cursor, record);
        }
        self.place.in_file = false;
        self.warm.queue.clear();
        self.warm.vanished.clear();
    }
}

impl OpenFile {
    fn is_intact(&mut self, cancelled: &Cancelled) -> std::io::Result<bool> {
        is_intact(&self.file, &mut self.stamp, self.cursor.file.digest, cancelled)
    }
}

/// Whether what was read so far is the admitted content. A file that only grew is: it is read to its admitted length.
pub(super) fn is_intact(
    file: &HeldFile,
    stamp: &mut Option<Stamp>,
    digest: Digest,
    cancelled: &Cancelled,
) -> std::io::Result<bool> {
    let Some(before) = *stamp else { return Ok(true) };
    let now = file.stamp()?;
    if now == before {
        return Ok(true);
    }
    if now.bytes < file.bytes() || admit::digest_now(file, cancelled)? != digest {
        return Ok(false);
    }
    *stamp = Some(now);
    Ok(true)
}

/// Reads the records of a file from a position on.
pub(super) fn reader(
    options: &FilesOptions,
    path: &str,
    file: HeldFile,
    from: Position,
) -> Result<Box<dyn RecordReader>, SourceError> {
    Ok(match &options.format {
        FileFormat::Csv(csv) => Box::new(CsvReader::open(file, path, csv, options, from)?),
        FileFormat::JsonLines => Box::new(JsonReader::open(file, path, options, from)?),
        FileFormat::Parquet => {
            Box::new(ParquetReader::open(file, path, options.columns.clone(), options.ignore_columns, from)?)
        }
    })
}

fn version(opened: &Opened, digest: Digest) -> FileVersion {
    let Found { path, bytes, modified, etag } = opened.found.clone();
    FileVersion { path, bytes, modified, etag, digest }
}
