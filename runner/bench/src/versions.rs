//! What versions cost: the pause of a swap under load, and replays against a bare scan of the same batches.

use crate::report::{Goal, Report};
use crate::stats::{Rounds, ratios};
use crate::{Failure, Places, flights, pipeline};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The longest gap between commits around a swap, over the usual ones of the same run.
pub fn deploy_pause(places: &Places, quick: bool, report: &mut Report) -> Result<(), Failure> {
    let (rows, rounds) = if quick { (500_000, 1) } else { (1_000_000, 3) };
    let data = flights::csv(places, rows)?;
    let (mut longer, mut usual, mut around) = (vec![], vec![], vec![]);
    for _ in 0..rounds {
        let run = pipeline::Started::new(places, &data)?;
        let edited = run.edited("delay_minutes: 60", "delay_minutes: 45")?;
        // A third of the way, so that there are usual gaps on both sides.
        run.await_batches(rows as u64 / 50_000 / 3)?;
        let published = Command::new(&places.gristmill)
            .args(["--quiet", "publish"])
            .arg(&edited)
            .arg("--state")
            .arg(run.state())
            .env("GRISTMILL_COMPONENTS", &places.components)
            .status()?;
        if !published.success() {
            return Err("the edited pipeline was not published".into());
        }
        let run = run.finish()?;
        let commits = commits(&run.state().join("state.db"))?;
        let first = commits.iter().position(|(version, _)| *version > 1).ok_or("no batch ran the new version")?;
        let mut gaps: Vec<f64> = commits.windows(2).map(|pair| (pair[1].1 - pair[0].1) as f64 / 1000.0).collect();
        // The commit of the first batch under the new version, and the one after it.
        let swap: f64 = gaps[first.saturating_sub(1)..(first + 1).min(gaps.len())].iter().copied().fold(0.0, f64::max);
        gaps.sort_by(f64::total_cmp);
        let median = gaps[gaps.len() / 2];
        longer.push(swap - median);
        usual.push(median);
        around.push(swap);
    }
    let detail = json!({ "rows": rows, "usual_gap_ms": Rounds::of(usual), "gap_around_swap_ms": Rounds::of(around) });
    report.figure("deploy.pause_ms", "ms", &Rounds::of(longer), Goal::AtMost(50.0), detail);
    Ok(())
}

/// Version and time in microseconds of each commit, in order.
fn commits(state: &Path) -> Result<Vec<(u32, i64)>, Failure> {
    let state = Connection::open(state)?;
    let mut query = state.prepare(
        "SELECT b.task_version, r.recorded_at FROM receipt r JOIN batch b USING (batch_id) ORDER BY b.sequence",
    )?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Replays of a finished run over a scan of its batches that does nothing with them.
pub fn replays(places: &Places, quick: bool, report: &mut Report) -> Result<(), Failure> {
    let (rows, rounds) = if quick { (200_000, 1) } else { (1_000_000, 3) };
    let data = flights::csv(places, rows)?;
    let run = pipeline::Started::new(places, &data)?.finish()?;
    let files = data_files(&run.state().join("store"))?;
    let (mut scanned, mut verified, mut written) = (vec![], vec![], vec![]);
    for round in 0..rounds {
        let clock = Instant::now();
        let read = scan(&files)?;
        scanned.push(read as f64 / clock.elapsed().as_secs_f64());
        verified.push(replay(places, &run.state(), rows, &["--verify"])?);
        let copy = run.folder().join(format!("copy-{round}.db"));
        written.push(replay(
            places,
            &run.state(),
            rows,
            &["--pins", "original", "--into", &copy.display().to_string()],
        )?);
        fs::remove_file(copy)?;
    }
    for (name, rates) in [("replay.verify_over_scan", &verified), ("replay.rows_over_scan", &written)] {
        let detail = json!({
            "rows": rows, "rows_per_s": Rounds::of(rates.clone()), "scan_rows_per_s": Rounds::of(scanned.clone()),
        });
        report.figure(name, "×", &ratios(rates, &scanned), Goal::AtLeast(0.5), detail);
    }
    Ok(())
}

/// Rows per second, by the command's own clock.
fn replay(places: &Places, state: &Path, rows: usize, args: &[&str]) -> Result<f64, Failure> {
    let output = Command::new(&places.gristmill)
        .args(["--json", "--quiet", "replay", "flights"])
        .args(args)
        .arg("--state")
        .arg(state)
        .env("GRISTMILL_COMPONENTS", &places.components)
        .output()?;
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    match answer["result"]["elapsedMs"].as_u64().filter(|_| output.status.success()) {
        Some(elapsed) => Ok(rows as f64 / Duration::from_millis(elapsed.max(1)).as_secs_f64()),
        None => Err(format!("the replay ended with {}: {answer:#}", output.status).into()),
    }
}

fn data_files(store: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (mut found, mut folders) = (Vec::new(), vec![store.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.ends_with("data.parquet") => found.push(path),
                false => {}
            }
        }
    }
    Ok(found)
}

/// Decodes every column of every batch, and keeps nothing.
fn scan(files: &[PathBuf]) -> Result<usize, Failure> {
    let mut rows = 0;
    for file in files {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)?.with_batch_size(50_000).build()?;
        for batch in reader {
            rows += batch?.num_rows();
        }
    }
    Ok(rows)
}
