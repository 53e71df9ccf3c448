//! The conformance transform in every language: what a component costs to build, to compile and to start, and how fast it is
//! against the reference as native code.
//!
//! Two inputs of 50,000 generated rows: *narrow* (`id`, `text`, `count`) and *wide* (every column of the specification).

use crate::report::{Goal, Report};
use crate::stats::{Rounds, ratios};
use crate::{Failure, Places, native};
use arrow::array::{RecordBatch, UInt8Array};
use conformance::Conformance;
use gristmill::cases::generate::{Generate, rows};
use gristmill::cases::{Folder, Rows};
use gristmill::host::{Host, HostLimits, PlannedStage, Stage, measure};
use gristmill::toolchain::{self, Language, ToolchainError};
use gristmill_guest::raw;
use serde_json::json;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

const ROWS: usize = 50_000;

/// How much slower than native a language may be, or how many million narrow rows a second it must give.
fn goal(language: Language) -> (Goal, Goal) {
    match language {
        Language::Rust | Language::C | Language::Zig => (Goal::AtMost(2.0), Goal::None),
        Language::Go => (Goal::AtMost(10.0), Goal::None),
        Language::TypeScript => (Goal::None, Goal::AtLeast(0.3)),
        Language::Python => (Goal::None, Goal::AtLeast(0.4)),
    }
}

struct Input {
    name: &'static str,
    rows: RecordBatch,
    operations: UInt8Array,
}

/// A line of the table.
struct Line {
    language: Language,
    size_kb: f64,
    build_s: f64,
    compile_ms: f64,
    load_ms: f64,
    instantiate_ms: f64,
    /// Millions of rows a second, and how much slower than native.
    speed: Vec<(f64, f64)>,
}

pub fn languages(places: &Places, quick: bool, report: &mut Report) -> Result<(), Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let folder = Folder::open(&root.join("tests/conformance/cases"), Stage::Normalize)?;
    let inputs = inputs(&folder)?;
    let mut lines = Vec::new();
    for language in Language::ALL {
        let project = root.join("transforms").join(language.as_str()).join("conformance");
        match build(places, &project) {
            Ok((component, build_s)) => {
                lines.push(line(places, quick, report, language, (&component, build_s), &inputs, &folder)?);
            }
            Err(ToolchainError::Missing { what, install, .. }) => {
                eprintln!("{language} is left out: {what} is not installed ({install})");
            }
            Err(e) => return Err(e.into()),
        }
    }
    eprintln!(
        "\nlanguage      size kB  build s  compile ms  load ms  start ms    narrow M rows/s (× native)    wide M rows/s (× native)"
    );
    for of in &lines {
        let speeds = of.speed.iter().map(|(millions, ratio)| format!("{millions:>15.2} ({ratio:>6.1} ×)"));
        eprintln!(
            "{:<12} {:>8.0} {:>8.1} {:>11.0} {:>8.2} {:>9.2} {}",
            of.language.as_str(),
            of.size_kb,
            of.build_s,
            of.compile_ms,
            of.load_ms,
            of.instantiate_ms,
            speeds.collect::<Vec<_>>().join("    ")
        );
    }
    Ok(())
}

fn inputs(folder: &Folder) -> Result<[Input; 2], Failure> {
    let large = folder.cases().iter().find(|case| case.name == "large").ok_or("there is no case `large`")?;
    let (Rows::Generated(generate), Some(columns)) = (&large.rows, &large.columns) else {
        return Err("the case `large` is not generated".into());
    };
    let generate = Generate { rows: ROWS, ..generate.clone() };
    let (wide, operations) = rows(&generate, columns)?;
    let places = ["id", "text", "count"].map(|name| wide.schema().index_of(name));
    let narrow = wide.project(&places.into_iter().collect::<Result<Vec<_>, _>>()?)?;
    Ok([
        Input { name: "narrow", rows: narrow, operations: operations.clone() },
        Input { name: "wide", rows: wide, operations },
    ])
}

/// Builds a project where nothing of it is built yet but what its compiler keeps. Gives its bytes and the seconds.
fn build(places: &Places, project: &Path) -> Result<(Vec<u8>, f64), ToolchainError> {
    let target = std::env::var_os("GRISTMILL_GUEST_TARGET").map_or_else(|| places.bench.join("guests"), PathBuf::from);
    let failed = |source| ToolchainError::File { path: places.bench.clone(), source };
    let out = tempfile::tempdir_in(&places.bench).map_err(failed)?;
    let clock = Instant::now();
    let built = toolchain::build(&[project], &target, out.path())?;
    let seconds = clock.elapsed().as_secs_f64();
    let bytes = built.first().map(|built| std::fs::read(&built.path)).transpose().map_err(failed)?;
    Ok((bytes.unwrap_or_default(), seconds))
}

fn line(
    places: &Places,
    quick: bool,
    report: &mut Report,
    language: Language,
    (bytes, build_s): (&[u8], f64),
    inputs: &[Input],
    folder: &Folder,
) -> Result<Line, Failure> {
    let cache = tempfile::tempdir_in(&places.bench)?;
    let timed_load = || -> Result<_, Failure> {
        let host = Host::new(cache.path(), HostLimits::default())?;
        let clock = Instant::now();
        let component = host.load(bytes)?;
        Ok((host, component, clock.elapsed().as_secs_f64() * 1e3))
    };
    let (_, _, compile_ms) = timed_load()?;
    let loads = (0..3).map(|_| Ok(timed_load()?.2)).collect::<Result<Vec<_>, Failure>>()?;
    let load = Rounds::of(loads);
    let (host, component, _) = timed_load()?;
    let started = measure::instantiate(&component, host.limits())?;
    let instantiate_ms = started.elapsed.as_secs_f64() * 1e3;
    let name = language.as_str();
    let one = |value: f64| Rounds::of(vec![value]);
    report.figure(&format!("languages.{name}.size"), "kB", &one(bytes.len() as f64 / 1e3), Goal::None, json!({}));
    report.figure(&format!("languages.{name}.build"), "s", &one(build_s), Goal::None, json!({}));
    report.figure(&format!("languages.{name}.compile"), "ms", &one(compile_ms), Goal::None, json!({}));
    report.figure(&format!("languages.{name}.start_from_cache"), "ms", &load, Goal::AtMost(50.0), json!({}));
    let memory = json!({ "memory_bytes": started.memory_bytes });
    report.figure(&format!("languages.{name}.instantiate"), "ms", &one(instantiate_ms), Goal::None, memory);

    let mut speed = Vec::new();
    for input in inputs {
        let planned = host.plan(&component, Stage::Normalize, "{}", &input.rows.schema(), folder.dictionaries())?;
        let setup = native::setup(Stage::Normalize, "{}", input.rows.schema().fields(), folder.dictionaries())?;
        let (component, native) = times(&planned, setup, input, if quick { 2 } else { 7 })?;
        let millions = Rounds::of(component.iter().map(|seconds| ROWS as f64 / seconds / 1e6).collect());
        let ratio = ratios(&component, &native);
        let narrow = input.name == "narrow";
        let (against_native, at_least) = if narrow { goal(language) } else { (Goal::None, Goal::None) };
        let figure = format!("languages.{name}.{}", input.name);
        report.figure(&figure, "M rows/s", &millions, at_least, json!({ "rows": ROWS }));
        report.figure(&format!("{figure}_over_native"), "×", &ratio, against_native, json!({}));
        speed.push((millions.median, ratio.median));
    }
    let (size_kb, load_ms) = (bytes.len() as f64 / 1e3, load.median);
    Ok(Line { language, size_kb, build_s, compile_ms, load_ms, instantiate_ms, speed })
}

/// Seconds for a batch, through the host and natively, in turns. Look-ups and forwarded columns are the runner's own work
/// and on neither side.
fn times(
    planned: &PlannedStage,
    setup: raw::Setup,
    input: &Input,
    rounds: usize,
) -> Result<(Vec<f64>, Vec<f64>), Failure> {
    let (mut component, mut native) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let clock = Instant::now();
        let joined = planned.join_alone(&input.rows, &input.operations)?;
        let runner = clock.elapsed();
        let batch = native::batch(&planned.crossing(&joined, ROWS as u32)?);
        let clock = Instant::now();
        black_box(planned.process(&input.rows, &input.operations)?);
        let through_host = clock.elapsed().saturating_sub(runner);
        let setup = setup.clone();
        let clock = Instant::now();
        black_box(gristmill_guest::native::process::<Conformance>(setup, batch).map_err(|failure| failure.message)?);
        let alone = clock.elapsed();
        // The first warms caches and the pool.
        if round > 0 {
            component.push(through_host.as_secs_f64());
            native.push(alone.as_secs_f64());
        }
    }
    Ok((component, native))
}
