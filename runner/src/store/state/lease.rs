//! Leases.

use super::{StateStore, int, parsed, text, unsigned};
use crate::faults::{FaultPoint, reach};
use crate::store::StoreError;
use gristmill_core::id::{FencingToken, Micros, PartitionId, TaskId};
use gristmill_core::lease::{Claim, Lease, Owner, Tenure, claim};

/// A lease, for people.
#[derive(Debug, Clone)]
pub struct LeaseRow {
    pub partition_id: PartitionId,
    pub lease: Lease,
}

/// A claim that was not granted.
#[derive(Debug)]
pub struct Refusal {
    pub by: Owner,
    pub until: Micros,
}

const LEASE: &str = "SELECT owner, lease_until, fencing_token FROM lease WHERE task_id = ?1 AND partition_id = ?2";

impl StateStore {
    /// Claims a partition until `until`. The decision is [`gristmill_core::lease::claim`].
    pub async fn claim_lease(
        &self,
        task_id: &TaskId,
        partition_id: &PartitionId,
        owner: &Owner,
        previous_owner_gone: bool,
        now: Micros,
        until: Micros,
    ) -> Result<Result<Tenure, Refusal>, StoreError> {
        const DOING: &str = "claiming the lease";
        let mut tx = self.begin(DOING).await?;
        let stored = sqlx::query(LEASE)
            .bind(task_id.as_str())
            .bind(partition_id.as_str())
            .fetch_optional(&mut *tx)
            .await
            .map_err(StoreError::database(DOING))?;
        let stored = stored.map(|row| lease(&row)).transpose()?;
        let token = match claim(stored.as_ref(), previous_owner_gone, now) {
            Claim::Granted(token) => token,
            Claim::Held { by, until } => return Ok(Err(Refusal { by, until })),
        };
        sqlx::query(
            "INSERT INTO lease (task_id, partition_id, owner, lease_until, fencing_token) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET owner = ?3, lease_until = ?4, fencing_token = ?5",
        )
        .bind(task_id.as_str())
        .bind(partition_id.as_str())
        .bind(owner.as_str())
        .bind(until.0)
        .bind(token.get() as i64)
        .execute(&mut *tx)
        .await
        .map_err(StoreError::database(DOING))?;
        reach(FaultPoint::LeaseClaimBefore);
        tx.commit().await.map_err(StoreError::database(DOING))?;
        reach(FaultPoint::LeaseClaimAfter);
        Ok(Ok(Tenure { task_id: task_id.clone(), partition_id: partition_id.clone(), fencing_token: token }))
    }

    /// Keeps a tenure alive until `until`.
    pub async fn renew_lease(&self, tenure: &Tenure, until: Micros) -> Result<(), StoreError> {
        const DOING: &str = "renewing the lease";
        let done = sqlx::query(
            "UPDATE lease SET lease_until = ?4 WHERE task_id = ?1 AND partition_id = ?2 AND fencing_token = ?3",
        )
        .bind(tenure.task_id.as_str())
        .bind(tenure.partition_id.as_str())
        .bind(tenure.fencing_token.get() as i64)
        .bind(until.0)
        .execute(&self.pool)
        .await
        .map_err(StoreError::database(DOING))?;
        fenced_unless(done.rows_affected() == 1, tenure, DOING)
    }

    /// Ends a tenure early, so that the next claim need not wait.
    pub async fn release_lease(&self, tenure: &Tenure) -> Result<(), StoreError> {
        self.renew_lease(tenure, Micros(0)).await
    }

    /// The leases of a task.
    pub async fn leases(&self, task_id: &TaskId) -> Result<Vec<LeaseRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT partition_id, owner, lease_until, fencing_token FROM lease WHERE task_id = ?1 ORDER BY partition_id",
        )
        .bind(task_id.as_str())
        .fetch_all(&self.pool)
        .await
        .map_err(StoreError::database("reading leases"))?;
        rows.iter().map(|row| Ok(LeaseRow { partition_id: parsed(row, "partition_id")?, lease: lease(row)? })).collect()
    }
}

fn lease(row: &sqlx::sqlite::SqliteRow) -> Result<Lease, StoreError> {
    Ok(Lease {
        owner: Owner::new(text(row, "owner")?),
        lease_until: Micros(int(row, "lease_until")?),
        fencing_token: FencingToken::new(unsigned(row, "fencing_token")?),
    })
}

/// A protected write that changed nothing was refused by its token.
pub(super) fn fenced_unless(written: bool, tenure: &Tenure, doing: &'static str) -> Result<(), StoreError> {
    if written { Ok(()) } else { Err(StoreError::Fenced { doing, held: tenure.fencing_token }) }
}
