//! `gristmill batches`.

use super::Common;
use super::output::{Answer, Exit, Failure, grouped, table};
use super::setup::{Folders, Stores};
use super::status::known_task;
use crate::drive::{LocalLease, time};
use crate::store::batches::Verified;
use crate::store::state::BatchRow;
use clap::Subcommand;
use gristmill_core::id::{BatchId, PartitionId, TaskId};
use gristmill_core::manifest::BatchState;
use serde_json::json;

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// List the batches of a task, oldest first
    List {
        task: TaskId,
        /// Show only the last N
        #[arg(long, value_name = "N")]
        last: Option<usize>,
    },
    /// Show a batch: manifest, receipt, dead letters
    Show { batch: BatchId },
    /// Prove every stored batch of a task against its digests, to the last value
    Verify { task: TaskId },
    /// Set a damaged READY batch, and those after it, aside; their range is read from the source again
    Quarantine { batch: BatchId },
}

pub async fn batches(common: &Common, verb: Verb) -> Result<Answer, Failure> {
    let stores = Stores::existing(common).await?;
    match verb {
        Verb::List { task, last } => list(&stores, task, last).await,
        Verb::Show { batch } => show(&stores, batch).await,
        Verb::Verify { task } => verify(&stores, task).await,
        Verb::Quarantine { batch } => quarantine(common, &stores, batch).await,
    }
}

async fn list(stores: &Stores, task: TaskId, last: Option<usize>) -> Result<Answer, Failure> {
    let task = known_task(&stores.state.tasks().await?, task)?;
    let mut batches = stores.state.batches(&task).await?;
    batches.sort_by_key(|batch| (batch.created_at, batch.batch_id));
    if let Some(last) = last {
        batches.drain(..batches.len().saturating_sub(last));
    }
    let heading = ["batch", "state", "partition", "number", "records", "dead letters", "bytes", "version", "created"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    let known = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), grouped);
    rows.extend(batches.iter().map(|b| {
        vec![
            b.batch_id.to_string(),
            b.state.as_str().into(),
            b.partition_id.to_string(),
            b.sequence.to_string(),
            known(b.record_count),
            known(b.dead_letter_count),
            known(b.data_bytes),
            b.task_version.to_string(),
            time(b.created_at),
        ]
    }));
    let json: Vec<_> = batches.iter().map(row_json).collect();
    Ok(Answer::done(table(&rows), json!({ "batches": json })))
}

fn row_json(b: &BatchRow) -> serde_json::Value {
    json!({
        "batchId": b.batch_id, "state": b.state, "partitionId": b.partition_id, "epoch": b.epoch, "sequence": b.sequence,
        "schemaId": b.schema_id,
        "taskVersion": b.task_version, "recordCount": b.record_count, "deadLetterCount": b.dead_letter_count,
        "dataBytes": b.data_bytes, "createdAt": b.created_at, "fencingToken": b.fencing_token,
    })
}

async fn find(stores: &Stores, batch: BatchId) -> Result<BatchRow, Failure> {
    let found = stores.state.batch(batch).await?;
    found
        .ok_or_else(|| Failure::usage(format!("no batch {batch} in this state"), "see `gristmill batches list <task>`"))
}

async fn show(stores: &Stores, batch: BatchId) -> Result<Answer, Failure> {
    let row = find(stores, batch).await?;
    let manifest = match row.state {
        BatchState::Ready | BatchState::Committed => Some(stores.batches.manifest(&row).await?),
        BatchState::Writing | BatchState::Quarantined => None,
    };
    let receipt = stores.state.receipt(batch).await?;
    let letters = stores.state.dead_letters_of(batch).await?;
    let mut text = format!("batch {batch} is {}\n", row.state.as_str());
    if let Some(manifest) = &manifest {
        text += &format!("\nmanifest\n{}\n", pretty(manifest));
    }
    if let Some(receipt) = &receipt {
        text += &format!("\nreceipt, recorded {}\n{}\n", time(receipt.recorded_at), pretty(&receipt.body));
    }
    if !letters.is_empty() {
        let mut rows = vec![["id", "at", "class", "code", "column", "where", "message"].map(str::to_owned).to_vec()];
        rows.extend(letters.iter().map(|l| {
            let first = &l.first;
            let field = first.field.clone().unwrap_or_else(|| "-".into());
            vec![
                l.id.to_string(),
                first.refused_at.clone(),
                first.class.clone(),
                first.code.clone(),
                field,
                l.position.to_string(),
                first.message.clone(),
            ]
        }));
        text += &format!("\ndead letters\n{}", table(&rows));
    }
    let letters: Vec<_> = letters
        .iter()
        .map(|l| {
            json!({
                "id": l.id, "refusedAt": l.first.refused_at, "class": l.first.class, "code": l.first.code, "field": l.first.field,
                "output": l.output, "position": l.position, "message": l.first.message, "firstFailedAt": l.first.at,
            })
        })
        .collect();
    let json = json!({
        "batch": row_json(&row), "manifest": manifest, "receipt": receipt.map(|r| r.body), "deadLetters": letters,
    });
    Ok(Answer::done(text, json))
}

fn pretty<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|e| format!("(not shown: {e})"))
}

async fn verify(stores: &Stores, task: TaskId) -> Result<Answer, Failure> {
    let task = known_task(&stores.state.tasks().await?, task)?;
    let (mut intact, mut rows, mut damaged) = (0_u64, 0, Vec::new());
    for row in stores.state.batches(&task).await? {
        if !matches!(row.state, BatchState::Ready | BatchState::Committed) {
            continue;
        }
        match stores.batches.verify(&row).await? {
            Verified::Intact { rows: n } => {
                intact += 1;
                rows += n;
            }
            Verified::Damaged(error) => damaged.push((row, error.to_string())),
        }
    }
    let mut text =
        format!("{} batches intact ({} records), {} damaged\n", grouped(intact), grouped(rows), damaged.len());
    for (row, error) in &damaged {
        text += &format!("  {} ({}): {error}\n", row.batch_id, row.state.as_str());
    }
    let json = json!({
        "intact": intact,
        "records": rows,
        "damaged": damaged.iter().map(|(row, e)| json!({ "batchId": row.batch_id, "state": row.state, "error": e })).collect::<Vec<_>>(),
    });
    let exit = if damaged.is_empty() { Exit::Done } else { Exit::Person };
    Ok(Answer { exit, text, json })
}

async fn quarantine(common: &Common, stores: &Stores, batch: BatchId) -> Result<Answer, Failure> {
    let row = find(stores, batch).await?;
    if row.state != BatchState::Ready {
        return Err(Failure::usage(
            format!("batch {batch} is {}, and only READY batches can be set aside", row.state.as_str()),
            "a committed batch is in the target; restore its file from a backup if it is damaged",
        ));
    }
    // Under the lease: a running worker must not deliver what is being set aside.
    let lease = LocalLease::claim(&stores.state, &Folders::of(common).locks(), &row.task_id, &row.partition_id).await?;
    let count = stores.state.quarantine(lease.tenure(), &row).await?;
    lease.release().await?;
    let what_next = match row.partition_id == PartitionId::dead_letters() {
        true => "their dead letters are open again",
        false => "the next run reads their range from the source again, under new ids",
    };
    let text = format!("{count} batch(es) set aside; {what_next}\n");
    Ok(Answer::done(text, json!({ "quarantined": count })))
}
