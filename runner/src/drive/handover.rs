//! A partition handed over: a run that goes on ends at its next batch boundary for whoever is to rebuild the target, and
//! takes the partition back when that is done.
//!
//! The run offers it by a file beside the lease's lock; a wish is an operating-system lock on that file, so it ends with the
//! process that has it, however that ends. Nothing here protects anything: whoever works the partition has its lease.

use super::{AbortOnDrop, LocalLease, RunError};
use crate::store::StateStore;
use gristmill_core::id::{PartitionId, TaskId};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A run in the middle of a batch has so long to finish it.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Made by a run that goes on.
pub struct Offer {
    file: PathBuf,
    wanted: Arc<AtomicBool>,
    stop: watch::Receiver<bool>,
    _looking: AbortOnDrop<()>,
}

impl Offer {
    /// Ends the run, as `stop` does, when somebody wants the partition.
    pub fn new(locks: &Path, task: &TaskId, partition: &PartitionId, stop: watch::Receiver<bool>) -> Self {
        let file = file(locks, task, partition);
        if let Err(e) = File::options().create(true).append(true).open(&file) {
            tracing::warn!(error = %e, "the task cannot be handed over to a rebuild while it runs");
        }
        let wanted = Arc::new(AtomicBool::new(false));
        let (ends, both) = watch::channel(false);
        let looking = {
            let (file, wanted, mut stop) = (file.clone(), wanted.clone(), stop);
            tokio::spawn(async move {
                loop {
                    tokio::select! {
                        // An error: nobody can ask for a stop any more.
                        _ = stop.wait_for(|stop| *stop) => break,
                        () = sleep(LOOK_EVERY) => {}
                    }
                    if is_wanted(&file) {
                        tracing::info!("handing the task over to a rebuild, to go on when it is done");
                        wanted.store(true, Ordering::Release);
                        break;
                    }
                }
                ends.send_replace(true);
                // The run ends by the value, not by the sender's end.
                std::future::pending::<()>().await;
            })
        };
        Self { file, wanted, stop: both, _looking: AbortOnDrop(looking) }
    }

    /// Set to true when the run shall end, whoever asked for it.
    pub fn stop(&self) -> watch::Receiver<bool> {
        self.stop.clone()
    }

    /// Whether the run was ended for somebody who wants the partition.
    pub fn is_taken(&self) -> bool {
        self.wanted.load(Ordering::Acquire)
    }

    /// Waits until nobody wants the partition any more.
    pub async fn returned(&self) {
        while is_wanted(&self.file) {
            sleep(LOOK_EVERY).await;
        }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        // At worst, somebody waits in vain for a run that does not hand over.
        let _ = std::fs::remove_file(&self.file);
    }
}

fn file(locks: &Path, task: &TaskId, partition: &PartitionId) -> PathBuf {
    locks.join(format!("{task}.{partition}.offered"))
}

fn is_wanted(file: &Path) -> bool {
    File::open(file).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Claims a partition, from a run that goes on if need be. That run waits while the wish is kept.
pub async fn claim_from_run(
    state: &StateStore,
    locks: &Path,
    task: &TaskId,
    partition: &PartitionId,
) -> Result<(LocalLease, Option<Wish>), RunError> {
    let held = match LocalLease::claim(state, locks, task, partition).await {
        Err(held @ RunError::LeaseHeld { .. }) => held,
        claimed => return claimed.map(|lease| (lease, None)),
    };
    let Ok(file) = File::options().append(true).open(file(locks, task, partition)) else { return Err(held) };
    tracing::info!("waiting for the run of {task} to hand over at its next batch boundary");
    let until = Instant::now() + WAIT_MAX;
    // The run looks by a lock too, for a moment.
    while file.try_lock().is_err() {
        if Instant::now() > until {
            return Err(held);
        }
        sleep(LOOK_EVERY / 7).await;
    }
    loop {
        match LocalLease::claim(state, locks, task, partition).await {
            Err(RunError::LeaseHeld { .. }) if Instant::now() < until => sleep(LOOK_EVERY).await,
            claimed => return claimed.map(|lease| (lease, Some(Wish { _lock: file }))),
        }
    }
}

/// Keeps a run from going on, as long as this lives.
#[derive(Debug)]
pub struct Wish {
    _lock: File,
}
