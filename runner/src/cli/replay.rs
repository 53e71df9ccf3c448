//! `gristmill replay`.

use super::Common;
use super::output::{Answer, Exit, Failure, grouped};
use super::setup::{self, Stores};
use super::status::known_task;
use crate::drive::MapperCache;
use crate::publish::{Identities, MapperLoader};
use crate::store::StoreError;
use gristmill_core::id::{BatchId, TaskId};
use gristmill_core::manifest::BatchState;
use serde_json::json;
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task
    task: TaskId,
    /// Compare with the receipts; write nothing
    #[arg(long, required = true)]
    verify: bool,
}

/// Maps every committed batch again with the components of its manifest and compares digests with the receipts.
pub async fn replay(common: &Common, args: Args) -> Result<Answer, Failure> {
    debug_assert!(args.verify, "the only mode so far");
    let stores = Stores::existing(common).await?;
    let task = known_task(&stores.state.tasks().await?, args.task)?;
    let host = setup::host(common, None)?;
    let loader = MapperLoader {
        host,
        state: stores.state.clone(),
        content: stores.content.clone(),
        // Identities choose where rows go, not what they are: digests do not depend on them.
        identities: Identities::none(&task),
    };
    let mut mappers = MapperCache::new(loader);
    let started = Instant::now();
    let (mut equal, mut rows) = (0_u64, 0_u64);
    let mut different: Vec<(BatchId, String)> = Vec::new();
    for row in stores.state.batches(&task).await? {
        if row.state != BatchState::Committed {
            continue;
        }
        let Some(receipt) = stores.state.receipt(row.batch_id).await? else {
            different.push((row.batch_id, "it is COMMITTED and has no receipt".into()));
            continue;
        };
        let batch = match stores.batches.open(&row).await {
            Ok(batch) => batch,
            Err(e @ (StoreError::Damaged { .. } | StoreError::Missing { .. })) => {
                different.push((row.batch_id, e.to_string()));
                continue;
            }
            Err(e) => return Err(e.into()),
        };
        let mapper = mappers.for_manifest(batch.manifest()).await?;
        let mapped = tokio::task::block_in_place(|| mapper.run(batch.records()));
        match mapped {
            Ok(mapped) if mapped.digest == receipt.digest => {
                equal += 1;
                rows += batch.manifest().record_count;
            }
            Ok(mapped) => {
                let what = format!("its rows have digest {}, the receipt says {}", mapped.digest, receipt.digest);
                different.push((row.batch_id, what));
            }
            Err(e) => different.push((row.batch_id, e.to_string())),
        }
    }
    let took = started.elapsed();
    let mut text = format!(
        "{} batches equal ({} records), {} different, in {:.2} s\n",
        grouped(equal),
        grouped(rows),
        different.len(),
        took.as_secs_f64()
    );
    for (batch, what) in &different {
        text += &format!("  {batch}: {what}\n");
    }
    let json = json!({
        "equal": equal,
        "records": rows,
        "different": different.iter().map(|(b, what)| json!({ "batchId": b, "what": what })).collect::<Vec<_>>(),
        "elapsedMs": took.as_millis() as u64,
    });
    let exit = if different.is_empty() { Exit::Done } else { Exit::Person };
    Ok(Answer { exit, text, json })
}
