//! `gristmill gc`.

use super::Common;
use super::output::{Answer, Exit, Failure, counted, grouped, sized};
use super::setup::{self, Folders, Stores};
use crate::gc::{At, Leftover, Places, Survey, Swept, survey, sweep};
use gristmill_core::garbage::Kept;
use serde_json::json;

/// Leftovers of one reason that are listed by name.
const LISTED_MAX: usize = 10;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show what would be removed, and remove nothing; this is the default
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Remove it
    #[arg(long)]
    yes: bool,
}

/// Finds what nothing refers to and, when told so, removes it.
pub async fn gc(common: &Common, args: Args) -> Result<Answer, Failure> {
    let stores = Stores::existing(common).await?;
    let folders = Folders::of(common);
    let compiled = setup::cache(common);
    let places = Places {
        compiled_is_private: compiled.starts_with(folders.root()),
        compiled,
        locks: folders.locks(),
        scratch: vec![(folders.spool(), ""), (folders.root().to_owned(), setup::SCRATCH)],
        state: stores.state,
        objects: stores.objects,
        batches: stores.batches,
        content: stores.content,
    };
    let found = survey(&places).await?;
    let swept = match args.yes {
        true => Some(sweep(&places, &found).await?),
        false => None,
    };
    // What cannot be read is a person's to look at, whatever else was done.
    let exit = if found.unreadable.is_empty() { Exit::Done } else { Exit::Person };
    Ok(Answer { exit, text: text(&found, swept.as_ref()), json: answer(&found, swept.as_ref()) })
}

fn answer(found: &Survey, swept: Option<&Swept>) -> serde_json::Value {
    let removed = |swept: &Swept| {
        json!({
            "byReason": swept.removed,
            "spared": swept.spared.iter().map(|(leftover, why)| json!({ "leftover": leftover, "why": why })).collect::<Vec<_>>(),
        })
    };
    json!({
        "leftovers": found.leftovers,
        "byReason": found.by_reason(),
        "kept": found.kept,
        "unreadable": found.unreadable.iter().map(|(batch, why)| json!({ "batchId": batch, "why": why })).collect::<Vec<_>>(),
        "removed": swept.map(removed),
    })
}

fn text(found: &Survey, swept: Option<&Swept>) -> String {
    let mut text = String::new();
    for (reason, amount) in &found.by_reason() {
        text += &format!("{} in {}, {}\n", sized(amount.bytes), counted(amount.count, "file", "files"), reason.text());
        let of_reason: Vec<&Leftover> = found.leftovers.iter().filter(|leftover| leftover.reason == *reason).collect();
        for leftover in of_reason.iter().take(LISTED_MAX) {
            text += &format!("  {}  {}\n", place(&leftover.at), sized(leftover.bytes));
        }
        if of_reason.len() > LISTED_MAX {
            text += &format!("  and {} more; --json lists all\n", grouped((of_reason.len() - LISTED_MAX) as u64));
        }
    }
    if found.leftovers.is_empty() {
        text += "nothing to remove\n";
    }
    for (kept, why) in [
        (Kept::Young, "left alone: younger than an hour"),
        (Kept::BeingWritten, "left alone: a worker may still need it"),
        (Kept::Unsure, "left alone: a reference may name it that cannot be read"),
        (Kept::Foreign, "left alone: not written by gristmill"),
    ] {
        if let Some(amount) = found.kept.get(&kept) {
            text += &format!("{} in {} {why}\n", sized(amount.bytes), counted(amount.count, "file", "files"));
        }
    }
    for (batch, why) in &found.unreadable {
        text += &format!("batch {batch}: its manifest cannot be read, and what it refers to is unknown: {why}\n");
    }
    match swept {
        None if found.leftovers.is_empty() => {}
        None => text += "nothing was removed; `gristmill gc --yes` removes what is listed\n",
        Some(swept) => {
            let removed =
                swept.removed.values().fold((0, 0), |sum, amount| (sum.0 + amount.count, sum.1 + amount.bytes));
            text += &format!("removed {} in {}\n", sized(removed.1), counted(removed.0, "file", "files"));
            for (leftover, why) in swept.spared.iter().take(LISTED_MAX) {
                text += &format!("  spared {}: {why}\n", place(&leftover.at));
            }
        }
    }
    text
}

fn place(at: &At) -> String {
    match at {
        At::Store(key) | At::Staged(key) => key.clone(),
        At::File(path) => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use gristmill_core::garbage::Reason;

    #[test]
    fn every_reason_has_words() {
        assert!(Reason::ALL.iter().all(|reason| !reason.text().is_empty()));
    }
}
