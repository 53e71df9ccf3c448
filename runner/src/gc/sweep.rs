//! Removes what a survey has found.

use super::{Amount, At, Leftover, Places, Survey};
use crate::drive::{LocalLease, RunError};
use crate::store::content::ContentKind;
use crate::store::state::BatchRow;
use crate::store::{ContentStore, StoreError};
use gristmill_core::garbage::Reason;
use gristmill_core::id::{BatchId, PartitionId, TaskId};
use gristmill_core::manifest::BatchState;
use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;

/// What was removed.
#[derive(Debug, Default)]
pub struct Swept {
    pub removed: BTreeMap<Reason, Amount>,
    /// What was left alone after all, each with its reason.
    pub spared: Vec<(Leftover, String)>,
}

impl Swept {
    fn removed(&mut self, leftover: &Leftover) {
        self.removed.entry(leftover.reason).or_default().add(leftover.bytes);
    }

    fn spared(&mut self, leftover: &Leftover, why: &str) {
        self.spared.push((leftover.clone(), why.to_owned()));
    }
}

/// Removes the leftovers of a survey. What has come into use since is spared.
pub async fn sweep(places: &Places, survey: &Survey) -> Result<Swept, RunError> {
    let mut swept = Swept::default();
    let discarded = discard(places, &survey.abandoned).await?;
    let mut unused = Vec::new();
    for leftover in &survey.leftovers {
        match (&leftover.at, leftover.reason) {
            (At::Store(key), Reason::NeverReady) => match crate::store::batches::batch_of_key(key) {
                Some(batch) if discarded.contains(&batch) => {
                    places.objects.remove(key).await?;
                    swept.removed(leftover);
                }
                _ => swept.spared(leftover, "a worker has its partition, or part of it is young"),
            },
            (At::Store(key), Reason::UnusedComponent | Reason::UnusedDictionary) => unused.push((leftover, key)),
            (At::Store(key), _) => {
                places.objects.remove(key).await?;
                swept.removed(leftover);
            }
            (At::Staged(key), _) => {
                places.objects.remove_staged(key)?;
                swept.removed(leftover);
            }
            (At::File(path), _) => {
                let removed = match path.is_dir() && !path.is_symlink() {
                    true => std::fs::remove_dir_all(path),
                    false => std::fs::remove_file(path),
                };
                match removed {
                    Err(e) if e.kind() != ErrorKind::NotFound => swept.spared(leftover, &e.to_string()),
                    _ => swept.removed(leftover),
                }
            }
        }
    }
    if !unused.is_empty() {
        // Held until the last one is gone: a version that is published after that puts its components again.
        let named = places.state.hold_named().await?;
        for (leftover, key) in unused {
            let Some((kind, digest)) = ContentStore::of_key(key) else { continue };
            let set = if kind == ContentKind::Component { &named.components } else { &named.dictionaries };
            if set.contains(&digest) {
                swept.spared(leftover, "a version or label names it by now");
                continue;
            }
            places.content.remove(kind, digest).await?;
            swept.removed(leftover);
        }
    }
    Ok(swept)
}

/// Throws batches away that were never READY, with their rows, under the leases of their partitions.
async fn discard(places: &Places, abandoned: &[BatchRow]) -> Result<HashSet<BatchId>, RunError> {
    let mut by_partition: BTreeMap<(TaskId, PartitionId), Vec<&BatchRow>> = BTreeMap::new();
    for row in abandoned {
        by_partition.entry((row.task_id.clone(), row.partition_id.clone())).or_default().push(row);
    }
    let mut discarded = HashSet::new();
    for ((task, partition), rows) in by_partition {
        let lease = match LocalLease::claim(&places.state, &places.locks, &task, &partition).await {
            Ok(lease) => lease,
            Err(RunError::LeaseHeld { .. }) => continue,
            Err(e) => return Err(e),
        };
        for row in rows {
            // Its worker may have come back and finished it, before the lease was ours.
            let now = places.state.batch(row.batch_id).await?;
            if now.is_none_or(|row| row.state == BatchState::Writing) {
                match places.batches.discard(lease.tenure(), row).await {
                    // No row any more: a run has discarded it.
                    Ok(()) | Err(StoreError::Fenced { .. }) => {}
                    Err(e) => return Err(e.into()),
                }
                discarded.insert(row.batch_id);
            }
        }
        lease.release().await?;
    }
    Ok(discarded)
}
