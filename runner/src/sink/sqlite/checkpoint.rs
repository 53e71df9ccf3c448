//! Copies the write-ahead log into the database on a thread of its own, beside the next batch.
//!
//! It decides nothing about durability: a commit is in the log, and on the disk, before it is answered. A pass costs as much
//! writing as the commit did and two waits for the disk, which a batch no longer has to sit through. Only a log that has
//! grown past its limit is copied by the writer itself: a pass that meets no writer lets SQLite begin the log anew.

use super::connect;
use crate::sink::SinkError;
use rusqlite::Connection;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// A pass is worth its waits for the disk once so many pages of the log are not yet in the database.
const WORTH_PAGES: u64 = 2000;

/// Pages at which the writer waits until the whole log is copied.
const LOG_PAGES_MAX: u64 = 4 * WORTH_PAGES;

/// The thread, and whether it is at work.
#[derive(Debug)]
pub(super) struct Checkpointer {
    /// None while ending.
    passes: Option<SyncSender<()>>,
    ended: Receiver<()>,
    at_work: bool,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// `path` is the database, which is there.
    pub(super) fn start(path: &Path) -> Result<Self, SinkError> {
        let connection = connect(path)?;
        let (passes, asked) = sync_channel::<()>(1);
        let (end, ended) = sync_channel(1);
        let work = move || {
            while asked.recv().is_ok() {
                pass(&connection);
                if end.send(()).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("gristmill-wal".into()).spawn(work);
        let thread = thread.map_err(|error| SinkError::Permanent {
            what: format!("a thread for checkpoints of the target cannot be started: {error}"),
            hint: "raise the limit on threads of this user".into(),
        })?;
        Ok(Self { passes: Some(passes), ended, at_work: false, thread: Some(thread) })
    }

    /// To be called after each commit, with the writer's connection.
    pub(super) fn after_commit(&mut self, writer: &Connection) {
        let (in_log, copied) = log_pages(writer);
        if in_log.saturating_sub(copied) < WORTH_PAGES {
            return;
        }
        if self.at_work && (in_log >= LOG_PAGES_MAX || self.ended.try_recv().is_ok()) {
            if in_log >= LOG_PAGES_MAX {
                // The thread may have ended its pass just now, or never again: both let the writer go on.
                let _ = self.ended.recv();
            }
            self.at_work = false;
        }
        if in_log >= LOG_PAGES_MAX {
            pass(writer);
        } else if !self.at_work {
            self.at_work = self.passes.as_ref().is_some_and(|passes| passes.try_send(()).is_ok());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.passes = None;
        if let Some(thread) = self.thread.take() {
            // A pass that panicked has nothing that anybody could need.
            let _ = thread.join();
        }
    }
}

/// Copies what it can without waiting for readers or writers.
fn pass(connection: &Connection) {
    // A pass that fails leaves the log as it is, and all of it readable; what stands in its way (a full disk) stands in the
    // way of the next commit too, and is reported there.
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        tracing::debug!(%error, "the target's write-ahead log was not copied");
    }
}

/// Pages in the log, and how many of them are in the database too.
fn log_pages(connection: &Connection) -> (u64, u64) {
    let pages = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    let (in_log, copied) = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], pages).unwrap_or((0, 0));
    (u64::try_from(in_log).unwrap_or(0), u64::try_from(copied).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of about 1,000 pages, faster than any pass: the log stays bounded, and nothing is lost.
    #[test]
    fn the_log_stays_bounded_under_a_steady_writer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target.db");
        let writer = connect(&path).unwrap();
        writer.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, bytes BLOB)").unwrap();
        let mut checkpointer = Checkpointer::start(&path).unwrap();
        let mut most = 0;
        for batch in 0..40 {
            writer.execute_batch("BEGIN IMMEDIATE").unwrap();
            for row in 0..1000 {
                writer.execute("INSERT INTO t VALUES (?1, zeroblob(8000))", [batch * 1000 + row]).unwrap();
            }
            writer.execute_batch("COMMIT").unwrap();
            checkpointer.after_commit(&writer);
            most = most.max(log_pages(&writer).0);
        }
        assert!((WORTH_PAGES..LOG_PAGES_MAX + 2 * WORTH_PAGES).contains(&most), "{most} pages");
        drop(checkpointer);
        let rows: i64 = Connection::open(&path).unwrap().query_row("SELECT count(*) FROM t", [], |r| r.get(0)).unwrap();
        assert_eq!(rows, 40_000);
    }
}
