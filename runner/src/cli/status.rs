//! `gristmill status`.

use super::Common;
use super::output::{Answer, Failure, grouped, table};
use super::setup::Stores;
use crate::drive::time;
use crate::store::{StateStore, now};
use gristmill_core::id::{PartitionId, TaskId};
use gristmill_core::manifest::BatchState;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task; all tasks when left out
    task: Option<TaskId>,
}

/// Shows where tasks stand.
pub async fn status(common: &Common, args: Args) -> Result<Answer, Failure> {
    let stores = Stores::existing(common).await?;
    let known = stores.state.tasks().await?;
    let tasks = match args.task {
        Some(task) => vec![known_task(&known, task)?],
        None => known,
    };
    let (mut text, mut json) = (String::new(), Vec::new());
    for task in &tasks {
        let (t, j) = one(&stores.state, task).await?;
        if !text.is_empty() {
            text.push('\n');
        }
        text += &t;
        json.push(j);
    }
    if tasks.is_empty() {
        text = "no task has run here\n".into();
    }
    Ok(Answer::done(text, json!({ "tasks": json })))
}

/// Refuses a task that the state does not know, naming those that it does.
pub fn known_task(known: &[TaskId], task: TaskId) -> Result<TaskId, Failure> {
    if known.contains(&task) {
        return Ok(task);
    }
    let names: Vec<_> = known.iter().map(TaskId::as_str).collect();
    let hint =
        if names.is_empty() { "no task has run here".into() } else { format!("known tasks: {}", names.join(", ")) };
    Err(Failure::usage(format!("no task `{task}` in this state"), hint))
}

async fn one(state: &StateStore, task: &TaskId) -> Result<(String, Value), Failure> {
    let batches = state.batches(task).await?;
    let totals = state.totals(task).await?;
    let dead = state.dead_letter_counts(task).await?;
    let checkpoints = state.checkpoints(task).await?;
    let leases = state.leases(task).await?;
    let versions = state.task_versions(task).await?;

    let mut rows = vec![vec!["task".to_owned(), task.to_string()]];
    let last_version = state.last_batch_version(task).await?;
    let is_held = leases.iter().any(|row| row.lease.lease_until > now());
    if let Some(version) = versions.last() {
        rows.push(vec![
            "version".into(),
            format!("{}, published {} ({})", version.version, time(version.published_at), version.origin),
        ]);
        // A worker takes a version before it reads a page: until then, what its batches say is all that is known.
        if let Some(last) = last_version.filter(|last| is_held && *last < version.version) {
            rows.push(vec![
                "last batch by".into(),
                format!("version {last}; the running worker takes version {} for its next batch", version.version),
            ]);
        }
        rows.push(vec!["schema".into(), version.schema_id.to_string()]);
    }
    for c in &checkpoints {
        let of = of_partition(&c.partition_id);
        let at = format!("{of}{} (batch {}, epoch {}), {}", c.cursor, c.last_sequence, c.epoch, time(c.updated_at));
        rows.push(vec!["checkpoint".into(), at]);
    }
    let counts: Vec<_> = [BatchState::Writing, BatchState::Ready, BatchState::Committed, BatchState::Quarantined]
        .into_iter()
        .map(|s| (s, batches.iter().filter(|b| b.state == s).count()))
        .filter(|(_, n)| *n > 0)
        .collect();
    let shown: Vec<_> = counts.iter().map(|(s, n)| format!("{} {}", grouped(*n as u64), s.as_str())).collect();
    rows.push(vec!["batches".into(), if shown.is_empty() { "none".into() } else { shown.join(", ") }]);
    rows.push(vec!["records read".into(), grouped(totals.read)]);
    let letters: Vec<_> = dead
        .iter()
        .map(|(class, code, n)| {
            if class == code { format!("{} {class}", grouped(*n)) } else { format!("{} {class} ({code})", grouped(*n)) }
        })
        .collect();
    rows.push(vec!["dead letters".into(), if letters.is_empty() { "none".into() } else { letters.join(", ") }]);
    for row in &leases {
        let lease = &row.lease;
        let held = if lease.lease_until > now() {
            format!("held by {} until {}", lease.owner, time(lease.lease_until))
        } else {
            "free".into()
        };
        let of = of_partition(&row.partition_id);
        rows.push(vec!["lease".into(), format!("{of}{held}, fencing token {}", lease.fencing_token)]);
    }
    let json = json!({
        "task": task,
        "version": versions.last().map(|v| v.version),
        "origin": versions.last().map(|v| &v.origin),
        "lastBatchVersion": last_version,
        "schemaId": versions.last().map(|v| &v.schema_id),
        "checkpoints": checkpoints,
        "batches": counts.iter().map(|(s, n)| (s.as_str(), *n)).collect::<std::collections::BTreeMap<_, _>>(),
        "recordsRead": totals.read,
        "deadLetters": dead.iter().map(|(class, code, n)| json!({ "class": class, "code": code, "count": n })).collect::<Vec<_>>(),
        "leases": leases.iter().map(|row| json!({
            "partitionId": row.partition_id,
            "owner": row.lease.owner,
            "leaseUntil": row.lease.lease_until,
            "fencingToken": row.lease.fencing_token,
        })).collect::<Vec<_>>(),
    });
    Ok((table(&rows), json))
}

/// What goes before the words about a partition that is not the source's.
fn of_partition(partition: &PartitionId) -> String {
    if *partition == PartitionId::whole() { String::new() } else { format!("{partition}: ") }
}
