//! Long work at the command line: the stop signal, progress on a terminal, the summary at the end.

use super::Common;
use super::output::{Exit, grouped};
use crate::drive::{Progress, Summary};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The first Ctrl-C (or SIGTERM) finishes the batch in hand; the second ends the process where it stands, which a
/// later run recovers from as from any crash.
pub fn stop_signal() -> watch::Receiver<bool> {
    let (stop, receiver) = watch::channel(false);
    tokio::spawn(async move {
        signal().await;
        tracing::info!("finishing the batch in hand; press Ctrl-C again to end at once");
        stop.send_replace(true);
        signal().await;
        std::process::exit(Exit::Interrupted as i32);
    });
    receiver
}

async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        },
        Err(_) => {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}

pub struct Shown(Option<(ProgressBar, tokio::task::JoinHandle<()>)>);

impl Shown {
    pub fn finish(self) {
        if let Some((bar, task)) = self.0 {
            task.abort();
            bar.finish_and_clear();
        }
    }
}

pub fn show_progress(common: &Common, progress: Arc<Progress>) -> Shown {
    if common.quiet || common.json || !std::io::stderr().is_terminal() {
        return Shown(None);
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise}  {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    let drawn = bar.clone();
    let task = tokio::spawn(async move {
        let started = Instant::now();
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let read = Progress::get(&progress.records_read);
            let rate = (read as f64 / started.elapsed().as_secs_f64()) as u64;
            drawn.set_message(format!(
                "{} records read, {} batches stored, {} committed, {} rows/s",
                grouped(read),
                grouped(Progress::get(&progress.batches_stored)),
                grouped(Progress::get(&progress.batches_committed)),
                grouped(rate),
            ));
        }
    });
    Shown(Some((bar, task)))
}

/// What a run did, for people.
pub fn summary_text(summary: &Summary, took: Duration, rate: u64) -> String {
    let mut text = format!(
        "records read   {}\nbatches        {} stored, {} delivered again from the store\nreceipts       {}\n",
        grouped(summary.records_read),
        grouped(summary.batches_stored),
        grouped(summary.batches_redelivered),
        grouped(summary.receipts),
    );
    let dead: Vec<_> = summary.dead_letters.iter().map(|(class, n)| format!("{} {class}", grouped(*n))).collect();
    text += &format!("dead letters   {}\n", if dead.is_empty() { "none".into() } else { dead.join(", ") });
    for (name, t) in &summary.outputs {
        text += &format!(
            "{name:<15}{} inserted, {} updated, {} deleted",
            grouped(t.inserted),
            grouped(t.updated),
            grouped(t.deleted)
        );
        text += &format!(
            ", {} unchanged, {} stale, {} conflicts\n",
            grouped(t.unchanged),
            grouped(t.stale),
            grouped(t.conflicts)
        );
    }
    for (name, records) in summary.target_records.iter().flatten() {
        text += &format!("in the target  {} records of {name}\n", grouped(*records));
    }
    text + &format!("elapsed        {:.2} s, {} records/s\n", took.as_secs_f64(), grouped(rate))
}
