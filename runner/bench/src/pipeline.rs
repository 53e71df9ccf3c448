//! The whole pipeline: the release binary on a large CSV file, each run in a fresh folder on the same disk.

use crate::floor::{Rows, Settings};
use crate::report::{Goal, Report};
use crate::stats::{Rounds, ratios};
use crate::{Failure, Places, flights};
use rusqlite::Connection;
use serde_json::json;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A run under way.
pub struct Started {
    folder: tempfile::TempDir,
    child: Child,
    clock: Instant,
}

/// A finished run. Its folder goes with it.
pub struct Run {
    folder: tempfile::TempDir,
    elapsed: Duration,
    peak_rss_mib: f64,
}

impl Run {
    fn target(&self) -> PathBuf {
        self.folder.path().join("flights.db")
    }
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }
}

fn pipeline_yaml(places: &Places, data: &Path) -> String {
    let dictionary = |name: &str| places.flights.join("data").join(format!("{name}.csv"));
    format!(
        "version: 1\ntask: flights\nschema: flights-v1\nsource:\n  files:\n    url: {}/\n    format: csv\n    columns:\n      \
         id: int64\n{}identity: [id]\nsource_version: position\ntransforms:\n  normalize: flights-normalize@0.1.0\n  \
         map: {{ component: flights-map@0.1.0, config: {{ delay_minutes: 60 }} }}\n  dictionaries:\n    airlines: {}\n    \
         airports: {}\nbatch: {{ max_rows: 50000, max_bytes: 32MiB, max_age: 2s }}\nsink:\n  sqlite:\n    \
         url: sqlite://flights.db\n    tables: {{ flights: {{}}, delays: {{}} }}\ndead_letters: {{ max_ratio: 0.01 }}\n",
        data.display(),
        flights::columns_yaml(),
        dictionary("airlines").display(),
        dictionary("airports").display(),
    )
}

impl Started {
    pub fn new(places: &Places, data: &Path) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("run-").tempdir_in(&places.bench)?;
        let pipeline = folder.path().join("pipeline.yaml");
        fs::write(&pipeline, pipeline_yaml(places, data))?;
        let clock = Instant::now();
        let child = Command::new(&places.gristmill)
            .args(["--json", "--quiet", "run", "--once"])
            .arg(&pipeline)
            .arg("--state")
            .arg(folder.path().join("state"))
            .env("GRISTMILL_COMPONENTS", &places.components)
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Self { folder, child, clock })
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// The pipeline with one text in place of another, beside it.
    pub fn edited(&self, from: &str, to: &str) -> Result<PathBuf, Failure> {
        let text = fs::read_to_string(self.folder.path().join("pipeline.yaml"))?;
        let edited = self.folder.path().join("edited.yaml");
        fs::write(&edited, text.replacen(from, to, 1))?;
        Ok(edited)
    }

    /// Waits until so many batches are committed.
    pub fn await_batches(&self, count: u64) -> Result<(), Failure> {
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            let state = Connection::open(self.state().join("state.db"));
            let committed =
                state.and_then(|state| state.query_row("SELECT count(*) FROM receipt", [], |row| row.get(0)));
            if committed.unwrap_or(0_i64).unsigned_abs() >= count {
                return Ok(());
            }
            if Instant::now() > end {
                return Err("the run commits nothing".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn finish(self) -> Result<Run, Failure> {
        let Self { folder, mut child, clock } = self;
        let mut peak_rss_mib: f64 = 0.0;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            peak_rss_mib = peak_rss_mib.max(high_water_mark_mib(child.id()).unwrap_or(0.0));
            std::thread::sleep(Duration::from_millis(10));
        };
        let elapsed = clock.elapsed();
        let mut answer = String::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_string(&mut answer)?;
        }
        match status.success() {
            true => Ok(Run { folder, elapsed, peak_rss_mib }),
            false => Err(format!("gristmill ended with {status}: {answer}").into()),
        }
    }
}

fn run(places: &Places, data: &Path, rows: usize) -> Result<Run, Failure> {
    let run = Started::new(places, data)?.finish()?;
    let connection = Connection::open(run.target())?;
    let written: i64 = connection.query_row("SELECT count(*) FROM flights", [], |row| row.get(0))?;
    match usize::try_from(written)? == rows {
        true => Ok(run),
        false => Err(format!("the target holds {written} of {rows} rows").into()),
    }
}

/// The kernel's own mark: it only rises, so the last look before the end is as good as the end.
fn high_water_mark_mib(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}

pub fn against_floor(places: &Places, quick: bool, report: &mut Report) -> Result<(), Failure> {
    let (rows, rounds) = if quick { (200_000, 1) } else { (1_000_000, 3) };
    let data = flights::csv(places, rows)?;
    let inserted = Rows::of_target(&run(places, &data, rows)?.target())?;
    let folder = tempfile::Builder::new().prefix("floor-").tempdir_in(&places.bench)?;
    let floor = |settings| -> Result<f64, Failure> {
        let path = folder.path().join("floor.db");
        let elapsed = inserted.insert(&path, settings)?;
        fs::remove_file(&path)?;
        Ok(rows as f64 / elapsed.as_secs_f64())
    };
    let whole = || Ok::<_, Failure>(rows as f64 / run(places, &data, rows)?.elapsed.as_secs_f64());
    let (mut pipeline, mut default, mut sink, mut control) = (vec![], vec![], vec![], vec![]);
    for _ in 0..rounds {
        pipeline.push(whole()?);
        default.push(floor(Settings::Default)?);
        sink.push(floor(Settings::Sink)?);
        control.push(whole()?);
    }
    let [over_default, over_sink] = [ratios(&pipeline, &default), ratios(&pipeline, &sink)];
    let harder = if over_default.median < over_sink.median { &over_default } else { &over_sink };
    let detail = json!({
        "rows": rows,
        "floor_rows_per_s": { "default_settings": Rounds::of(default), "sink_settings": Rounds::of(sink) },
        "over_default_settings": over_default,
        "over_sink_settings": over_sink,
        "control": ratios(&pipeline, &control),
    });
    report.figure("e2e.sqlite_over_floor", "×", harder, Goal::AtLeast(0.7), detail);
    pipeline.extend(control);
    report.figure("e2e.rows_per_s", "rows/s", &Rounds::of(pipeline), Goal::AtLeast(130_000.0), json!({ "rows": rows }));
    Ok(())
}

pub fn peak_memory(places: &Places, quick: bool, report: &mut Report) -> Result<(), Failure> {
    let (rows, rounds) = if quick { (200_000, 1) } else { (1_000_000, 3) };
    let mut peaks = Vec::new();
    for (name, times, rounds) in [("rss_mib.1x", 1, rounds), ("rss_mib.10x", 10, 1)] {
        let rows = rows * times;
        let data = flights::csv(places, rows)?;
        let (mut peak, mut rates) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let run = run(places, &data, rows)?;
            peak.push(run.peak_rss_mib);
            rates.push(rows as f64 / run.elapsed.as_secs_f64());
        }
        let peak = Rounds::of(peak);
        peaks.push(peak.median);
        report.figure(
            name,
            "MiB",
            &peak,
            Goal::AtMost(256.0),
            json!({ "rows": rows, "rows_per_s": Rounds::of(rates) }),
        );
    }
    let growth = Rounds::of(vec![(peaks[1] / peaks[0] - 1.0) * 100.0]);
    report.figure("rss_mib.growth", "%", &growth, Goal::AtMost(10.0), json!({}));
    Ok(())
}
