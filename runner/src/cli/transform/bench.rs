//! `gristmill transform bench`.

use super::super::output::{Answer, Failure, grouped, table};
use super::super::{Common, setup};
use super::build::{Target, component_of};
use super::subject::{Subject, SubjectArgs, Subjects};
use crate::cases::generate::{Generate, rows};
use crate::cases::{Case, Rows, rows_of};
use crate::host::measure::Parts;
use crate::host::{Component, Dictionaries, Host};
use arrow::array::{Array, AsArray, RecordBatch, UInt8Array};
use arrow::compute::{concat, concat_batches};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A project, which is built first, or a component
    #[arg(value_name = "DIR|FILE")]
    transform: PathBuf,
    #[command(flatten)]
    subject: SubjectArgs,
    #[command(flatten)]
    target: Target,
    /// Only this case
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Rows of a batch; those of a case are repeated
    #[arg(long, default_value_t = 50_000)]
    rows: usize,
    /// How long each is measured
    #[arg(long, default_value_t = 3, value_name = "SECONDS")]
    seconds: u64,
}

/// A batch to measure with.
struct Load {
    subject: Subject,
    rows: RecordBatch,
    operations: UInt8Array,
}

/// What was measured.
struct Figures {
    name: String,
    rows: usize,
    calls: usize,
    /// Of one batch: the median, and the fastest.
    median: Duration,
    fastest: Duration,
    /// Of the fastest.
    parts: Parts,
}

pub fn bench(common: &Common, args: &Args) -> Result<Answer, Failure> {
    let built = tempfile::tempdir().map_err(|e| super::cannot("make a temporary folder", &e))?;
    let file = component_of(&args.transform, &args.target, built.path())?;
    let bytes = super::read(&file)?;
    let subjects = Subjects::of(&args.subject, &file)?;
    let loads = loads(args, subjects_of(args, &subjects)?)?;
    let host = setup::host(common, None)?;
    let component = host.load(&bytes).map_err(super::refused)?;
    let time = Duration::from_secs(args.seconds);
    let mut figures = Vec::new();
    for load in &loads {
        figures.push(measure(&host, &component, subjects.dictionaries(), load, time)?);
    }
    let heading = ["", "rows", "M rows/s", "fastest", "ns/row", "look-ups", "encode", "call", "check", "memory"];
    let mut shown = vec![heading.map(str::to_owned).to_vec()];
    for of in &figures {
        let ns = |time: Duration| format!("{:.0}", time.as_secs_f64() * 1e9 / of.rows.max(1) as f64);
        shown.push(vec![
            of.name.clone(),
            grouped(of.rows as u64),
            format!("{:.2}", of.millions(of.median)),
            format!("{:.2}", of.millions(of.fastest)),
            ns(of.median),
            ns(of.parts.join),
            ns(of.parts.encode),
            ns(of.parts.call),
            ns(of.parts.check),
            format!("{} MiB", of.parts.memory_bytes.div_ceil(1 << 20)),
        ]);
    }
    Ok(Answer::done(table(&shown), json!({ "measures": figures.iter().map(Figures::json).collect::<Vec<_>>() })))
}

enum Source<'a> {
    Stated(&'a Subject),
    Case(&'a Case),
}

fn subjects_of<'a>(args: &Args, subjects: &'a Subjects) -> Result<Vec<Source<'a>>, Failure> {
    if let Some(stated) = &subjects.stated {
        return Ok(vec![Source::Stated(stated)]);
    }
    let wanted = |case: &&Case| !case.must_fail() && args.case.as_ref().is_none_or(|name| *name == case.name);
    let found: Vec<_> = subjects.cases().iter().filter(wanted).map(Source::Case).collect();
    match found.is_empty() {
        true => Err(Failure::usage(
            "there is nothing to measure with",
            "name columns with --columns, or a folder with --cases",
        )),
        false => Ok(found),
    }
}

fn loads(args: &Args, sources: Vec<Source<'_>>) -> Result<Vec<Load>, Failure> {
    let mut loads = Vec::new();
    for source in sources {
        let (subject, made) = match source {
            Source::Stated(Subject { name, stage, config_json, columns }) => {
                let generate = Generate { rows: args.rows, ..Generate::default() };
                let columns =
                    columns.clone().ok_or_else(|| Failure::usage("no columns", "name them with --columns"))?;
                let subject = Subject {
                    name: name.clone(),
                    stage: *stage,
                    config_json: config_json.clone(),
                    columns: Some(columns.clone()),
                };
                (subject, rows(&generate, &columns).map_err(|e| e.to_string()))
            }
            Source::Case(case) => {
                let (name, config_json) = (case.name.clone(), case.config_json.clone());
                let subject = Subject { name, stage: case.stage, config_json, columns: None };
                let made = match (&case.rows, &case.columns) {
                    (Rows::Generated(generate), Some(columns)) => {
                        let generate = Generate { rows: args.rows, ..generate.clone() };
                        rows(&generate, columns).map_err(|e| e.to_string())
                    }
                    _ => rows_of(case).and_then(|rows| repeated(rows, args.rows)),
                };
                (subject, made)
            }
        };
        let (rows, operations) =
            made.map_err(|what| Failure::usage(format!("{}: {what}", subject.name), "see docs/guide/testing.md"))?;
        if rows.num_rows() > 0 {
            loads.push(Load { subject, rows, operations });
        }
    }
    Ok(loads)
}

/// The rows again and again, up to a number.
fn repeated((rows, operations): (RecordBatch, UInt8Array), wanted: usize) -> Result<(RecordBatch, UInt8Array), String> {
    if rows.num_rows() == 0 {
        return Ok((rows, operations));
    }
    let times = wanted.div_ceil(rows.num_rows());
    let whole = concat_batches(&rows.schema(), std::iter::repeat_n(&rows, times)).map_err(|e| e.to_string())?;
    let of_one: &dyn Array = &operations;
    let operations = concat(&vec![of_one; times]).map_err(|e| e.to_string())?;
    Ok((whole.slice(0, wanted), operations.as_primitive().slice(0, wanted)))
}

fn measure(
    host: &Host,
    component: &Component,
    dictionaries: &Dictionaries,
    load: &Load,
    time: Duration,
) -> Result<Figures, Failure> {
    let Load { subject, rows, operations } = load;
    let failed = |e: &dyn std::fmt::Display| super::cannot(&format!("measure {}", subject.name), e);
    let planned = host
        .plan(component, subject.stage, &subject.config_json, &rows.schema(), dictionaries)
        .map_err(|e| failed(&e))?;
    let call = || {
        let clock = Instant::now();
        let (_, parts) = planned.process_in_parts(rows, operations).map_err(|e| failed(&e))?;
        Ok::<_, Failure>((clock.elapsed(), parts))
    };
    // The first warms caches and the pool.
    call()?;
    let started = Instant::now();
    let mut calls = vec![call()?];
    while started.elapsed() < time || calls.len() < 3 {
        calls.push(call()?);
    }
    calls.sort_by_key(|(elapsed, _)| *elapsed);
    let (fastest, parts) = calls[0];
    let (median, _) = calls[calls.len() / 2];
    Ok(Figures { name: subject.name.clone(), rows: rows.num_rows(), calls: calls.len(), median, fastest, parts })
}

impl Figures {
    /// Millions of rows a second.
    fn millions(&self, time: Duration) -> f64 {
        self.rows as f64 / time.as_secs_f64() / 1e6
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "rows": self.rows,
            "calls": self.calls,
            "rowsPerSecond": self.millions(self.median) * 1e6,
            "rowsPerSecondFastest": self.millions(self.fastest) * 1e6,
            "memoryBytes": self.parts.memory_bytes,
        })
    }
}
