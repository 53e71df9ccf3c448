//! The lease of a single machine: an operating-system lock says whether the last owner still lives, the stored
//! lease gives the fencing token.

use super::RunError;
use crate::store::state::StateStore;
use crate::store::{StoreError, now};
use gristmill_core::id::{Micros, PartitionId, TaskId};
use gristmill_core::lease::{Owner, Tenure};
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

const LEASE_SECONDS: i64 = 30;
const HEARTBEAT: Duration = Duration::from_secs(5);

/// A granted lease, and the lock that shows that its owner lives. The lock goes with the process, however it ends.
#[derive(Debug)]
pub struct LocalLease {
    tenure: Tenure,
    state: StateStore,
    _lock: File,
}

impl LocalLease {
    /// Claims a partition for this process.
    pub async fn claim(
        state: &StateStore,
        locks: &Path,
        task: &TaskId,
        partition: &PartitionId,
    ) -> Result<Self, RunError> {
        let io = |source: std::io::Error| StoreError::Io {
            doing: format!("locking {}", locks.display()),
            transient: false,
            source: source.into(),
        };
        std::fs::create_dir_all(locks).map_err(io)?;
        let path = locks.join(format!("{task}.{partition}.lock"));
        let lock = File::options().create(true).append(true).open(path).map_err(io)?;
        let locked = match lock.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(e)) => return Err(io(e).into()),
        };
        let owner = owner();
        let held = |by: String, until: Micros| Err(RunError::LeaseHeld { by, until });
        if !locked {
            let lease = state.leases(task).await?.into_iter().find(|row| row.partition_id == *partition);
            let (by, until) = lease.map_or_else(
                || ("another process".into(), now()),
                |row| (row.lease.owner.to_string(), row.lease.lease_until),
            );
            return held(by, until);
        }
        // The lock is ours, and only a process on this machine can use this state: whoever had the lease is gone.
        match state.claim_lease(task, partition, &owner, true, now(), lease_end()).await? {
            Ok(tenure) => Ok(Self { tenure, state: state.clone(), _lock: lock }),
            Err(refusal) => held(refusal.by.to_string(), refusal.until),
        }
    }

    pub fn tenure(&self) -> &Tenure {
        &self.tenure
    }

    /// Gives the lease back, so that the next claim finds it free.
    pub async fn release(self) -> Result<(), RunError> {
        self.keep_alive().release().await
    }

    pub(super) fn keep_alive(&self) -> Keeper {
        Keeper { tenure: self.tenure.clone(), state: self.state.clone() }
    }
}

/// Renews a lease while a run goes on.
#[derive(Clone)]
pub(super) struct Keeper {
    tenure: Tenure,
    state: StateStore,
}

impl Keeper {
    /// Ends only when the lease is lost.
    pub async fn lost(&self) -> RunError {
        let mut beat = tokio::time::interval(HEARTBEAT);
        loop {
            beat.tick().await;
            match self.state.renew_lease(&self.tenure, lease_end()).await {
                Ok(()) => {}
                Err(e @ StoreError::Fenced { .. }) => return e.into(),
                // The writes of the run itself will tell if the state stays out of reach.
                Err(e) => tracing::warn!(error = %e, "the lease could not be renewed"),
            }
        }
    }

    /// Gives the lease back. A lease that was lost meanwhile is no error here: the run has said so.
    pub async fn release(&self) -> Result<(), RunError> {
        match self.state.release_lease(&self.tenure).await {
            Ok(()) | Err(StoreError::Fenced { .. }) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

fn lease_end() -> Micros {
    Micros(now().0 + LEASE_SECONDS * 1_000_000)
}

fn owner() -> Owner {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_else(|_| "localhost".into());
    Owner::new(format!("{}/{}/{}", host.trim(), std::process::id(), ulid::Ulid::generate()))
}
