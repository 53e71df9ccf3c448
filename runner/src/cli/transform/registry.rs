//! `gristmill transform list` and `show`: what is stored, and what uses it.

use super::super::output::{Answer, Failure, grouped, table};
use super::super::setup::Stores;
use crate::drive::time;
use crate::publish::{Place, find_component};
use crate::store::StateStore;
use crate::store::content::ContentKind;
use crate::store::state::LabelRow;
use gristmill_core::digest::Digest;
use gristmill_core::id::{TaskId, TaskVersion};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;

/// Where a version runs a component.
#[derive(Debug, Clone, Serialize)]
struct UsedBy {
    task: TaskId,
    version: TaskVersion,
    place: Place,
    /// It is the task's latest version.
    #[serde(rename = "inForce")]
    in_force: bool,
}

/// Which versions run each component.
async fn uses(state: &StateStore) -> Result<BTreeMap<Digest, Vec<UsedBy>>, Failure> {
    let mut uses: BTreeMap<Digest, Vec<UsedBy>> = BTreeMap::new();
    for task in state.tasks().await? {
        let versions = state.task_versions(&task).await?;
        let latest = versions.last().map(|row| row.version);
        for row in &versions {
            for (place, pin) in Place::all(&row.pins) {
                let in_force = latest == Some(row.version);
                let used = UsedBy { task: task.clone(), version: row.version, place, in_force };
                uses.entry(pin.component).or_default().push(used);
            }
        }
    }
    Ok(uses)
}

/// `flights 1, 2, 4 (in force)`, by task.
fn used_text(uses: Option<&Vec<UsedBy>>) -> String {
    let mut by_task: BTreeMap<&TaskId, Vec<String>> = BTreeMap::new();
    for used in uses.into_iter().flatten() {
        let versions = by_task.entry(&used.task).or_default();
        let version = format!("{}{}", used.version, if used.in_force { " (in force)" } else { "" });
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    if by_task.is_empty() {
        return "no task".into();
    }
    by_task.iter().map(|(task, versions)| format!("{task} {}", versions.join(", "))).collect::<Vec<_>>().join("; ")
}

pub async fn list(stores: &Stores) -> Result<Answer, Failure> {
    let uses = uses(&stores.state).await?;
    let mut rows = vec![["label", "digest", "stored", "used by"].map(str::to_owned).to_vec()];
    let mut json = Vec::new();
    for LabelRow { label, digest, stored_at } in stores.state.labels().await? {
        rows.push(vec![label.clone(), digest.short(), time(stored_at), used_text(uses.get(&digest))]);
        json.push(json!({
            "label": label, "digest": digest, "storedAt": stored_at, "usedBy": uses.get(&digest).cloned().unwrap_or_default(),
        }));
    }
    let text = if json.is_empty() { "no component is stored here\n".into() } else { table(&rows) };
    Ok(Answer::done(text, json!({ "components": json })))
}

pub async fn show(stores: &Stores, named: &str) -> Result<Answer, Failure> {
    let digest = find_component(&stores.state, named)
        .await?
        .ok_or_else(|| Failure::usage(format!("no component `{named}` here"), "see `gristmill transform list`"))?;
    let labels: Vec<_> = stores.state.labels().await?.into_iter().filter(|row| row.digest == digest).collect();
    let stored = stores.content.get(ContentKind::Component, digest).await;
    let (intact, bytes) = match &stored {
        Ok(bytes) => (Ok(()), Some(bytes.len() as u64)),
        Err(e) => (Err(e.to_string()), None),
    };
    let uses = uses(&stores.state).await?.remove(&digest).unwrap_or_default();
    let mut rows = vec![vec!["digest".to_owned(), digest.to_string()]];
    rows.extend(labels.iter().map(|row| vec!["label".into(), format!("{}, since {}", row.label, time(row.stored_at))]));
    rows.push(vec![
        "stored".into(),
        match (&intact, bytes) {
            (Ok(()), Some(bytes)) => format!("{} bytes, intact", grouped(bytes)),
            (Err(why), _) => format!("cannot be used: {why}"),
            (Ok(()), None) => String::new(),
        },
    ]);
    for used in &uses {
        let in_force = if used.in_force { ", in force" } else { "" };
        rows.push(vec!["used by".into(), format!("{} version {}, {}{in_force}", used.task, used.version, used.place)]);
    }
    if uses.is_empty() {
        rows.push(vec!["used by".into(), "no version".into()]);
    }
    let json = json!({
        "digest": digest,
        "labels": labels.iter().map(|row| json!({ "label": row.label, "storedAt": row.stored_at })).collect::<Vec<_>>(),
        "bytes": bytes,
        "intact": intact.is_ok(),
        "usedBy": uses,
    });
    Ok(Answer::done(table(&rows), json))
}
