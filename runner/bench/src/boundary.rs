//! What a component costs against the same code called natively.
//!
//! The native side gets the columns that the transform reads in the shape in which it reads them, for free, and hands
//! back buffers that nobody checks. Look-ups and forwarded columns are the runner's own work and the same code for a
//! native transform: `boundary.component_over_native` leaves them out of both sides, which is the stricter ratio;
//! `stage` in its details has them on both.

use crate::report::{Goal, Report};
use crate::stats::{Rounds, fastest, ratios};
use crate::{Failure, Places, flights, native};
use arrow::array::{Int64Array, RecordBatch, StringArray, UInt8Array};
use arrow::datatypes::{DataType, Field, Schema};
use flights_map::FlightsMap;
use flights_normalize::FlightsNormalize;
use gristmill::host::measure::{self, Parts};
use gristmill::host::{Dictionaries, Host, HostLimits, PlannedStage, Stage};
use gristmill_guest::raw;
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROWS: usize = 50_000;
const MAP_CONFIG: &str = r#"{"delay_minutes": 60}"#;

/// A stage and its input.
struct Case {
    planned: PlannedStage,
    rows: RecordBatch,
    operations: UInt8Array,
    native: Native,
}

struct Native {
    setup: raw::Setup,
    process: fn(raw::Setup, raw::Batch) -> Result<raw::Processed, raw::Failure>,
}

/// Seconds for one batch.
#[derive(Default)]
struct Times {
    component: Vec<f64>,
    /// The same again: whatever differs is noise.
    control: Vec<f64>,
    native: Vec<f64>,
    /// Look-ups and forwarded columns alone.
    runner: Vec<f64>,
    parts: Vec<Parts>,
}

impl Case {
    fn component(&self) -> Result<Duration, Failure> {
        let clock = Instant::now();
        black_box(self.planned.process(&self.rows, &self.operations)?);
        Ok(clock.elapsed())
    }

    /// The transform alone, then the runner's work around it.
    fn native(&self) -> Result<(Duration, Duration), Failure> {
        let clock = Instant::now();
        let joined = self.planned.join_alone(&self.rows, &self.operations)?;
        let mut runner = clock.elapsed();
        let batch = native::batch(&self.planned.crossing(&joined, self.rows.num_rows() as u32)?);
        let setup = self.native.setup.clone();
        let clock = Instant::now();
        let processed = (self.native.process)(setup, batch).map_err(|failure| failure.message)?;
        let transform = clock.elapsed();
        let selections = processed.outputs.iter().map(|output| (output.rows, output.selection.clone())).collect();
        let clock = Instant::now();
        black_box(self.planned.forward_alone(&joined, self.rows.num_rows(), selections)?);
        runner += clock.elapsed();
        black_box(processed);
        Ok((transform, runner))
    }

    fn measure(&self, rounds: usize) -> Result<Times, Failure> {
        let mut times = Times::default();
        for round in 0..rounds + 2 {
            let component = self.component()?;
            let (native, runner) = self.native()?;
            let control = self.component()?;
            let (_, parts) = self.planned.process_in_parts(&self.rows, &self.operations)?;
            // The first two warm caches and the pool.
            if round >= 2 {
                times.component.push(component.as_secs_f64());
                times.native.push(native.as_secs_f64());
                times.runner.push(runner.as_secs_f64());
                times.control.push(control.as_secs_f64());
                times.parts.push(parts);
            }
        }
        Ok(times)
    }
}

impl Times {
    fn add(&mut self, other: &Self) {
        let add = |to: &mut Vec<f64>, from: &[f64]| match to.is_empty() {
            true => to.extend_from_slice(from),
            false => to.iter_mut().zip(from).for_each(|(to, from)| *to += from),
        };
        add(&mut self.component, &other.component);
        add(&mut self.control, &other.control);
        add(&mut self.native, &other.native);
        add(&mut self.runner, &other.runner);
    }

    /// The component's time without look-ups and forwarded columns.
    fn component_alone(&self) -> Vec<f64> {
        self.component.iter().zip(&self.runner).map(|(all, runner)| all - runner).collect()
    }

    /// Component and native, both without look-ups and forwarded columns.
    fn alone(&self) -> Rounds {
        ratios(&self.component_alone(), &self.native)
    }

    /// As [`Self::alone`], of the fastest round of each part.
    fn alone_undisturbed(&self) -> f64 {
        fastest(&self.component, &self.native) - fastest(&self.runner, &self.native)
    }

    /// Component and native, both with them.
    fn stage(&self) -> Rounds {
        let native: Vec<f64> = self.native.iter().zip(&self.runner).map(|(all, runner)| all + runner).collect();
        ratios(&self.component, &native)
    }

    fn detail(&self) -> Value {
        let ns = |seconds: &[f64]| Rounds::of(seconds.to_vec()).median * 1e9 / ROWS as f64;
        let part = |part: fn(&Parts) -> Duration| {
            ns(&self.parts.iter().map(|parts| part(parts).as_secs_f64()).collect::<Vec<_>>())
        };
        let mut detail = json!({
            "ns_per_row": { "component": ns(&self.component), "native": ns(&self.native), "lookups_and_forwarding": ns(&self.runner) },
            "undisturbed": self.alone_undisturbed(),
            "stage": self.stage(),
            "control": ratios(&self.component, &self.control),
        });
        if !self.parts.is_empty() {
            detail["parts_ns_per_row"] = json!({
                "lookups": part(|p| p.join), "encode": part(|p| p.encode),
                "call": part(|p| p.call), "check_and_forward": part(|p| p.check),
            });
        }
        detail
    }
}

/// Normalize and map of the flights pipeline.
fn cases(places: &Places, host: &Host) -> Result<[Case; 2], Failure> {
    let dictionaries = flights::dictionaries(places)?;
    let case = |label: &str, stage, config: &str, rows: RecordBatch, process| -> Result<Case, Failure> {
        let component = host.load(&places.component(label)?)?;
        let planned = host.plan(&component, stage, config, &rows.schema(), &dictionaries)?;
        let setup = native::setup(stage, config, rows.schema().fields(), &dictionaries)?;
        let operations = UInt8Array::from(vec![0; rows.num_rows()]);
        Ok(Case { planned, rows, operations, native: Native { setup, process } })
    };
    let rows = flights::batch(places, ROWS)?;
    let normalize = case(
        "flights-normalize@0.1.0",
        Stage::Normalize,
        "{}",
        rows,
        gristmill_guest::native::process::<FlightsNormalize>,
    )?;
    let mut output = normalize.planned.process(&normalize.rows, &normalize.operations)?;
    let records = output.outputs.swap_remove(0).rows;
    let map =
        case("flights-map@0.1.0", Stage::Map, MAP_CONFIG, records, gristmill_guest::native::process::<FlightsMap>)?;
    Ok([normalize, map])
}

pub fn component_over_native(places: &Places, quick: bool, report: &mut Report) -> Result<(), Failure> {
    let rounds = if quick { 5 } else { 31 };
    let cache = tempfile::tempdir()?;
    let host = |deadlines, canonical_nans| {
        let folder = cache.path().join(format!("{deadlines}-{canonical_nans}"));
        measure::host(&folder, HostLimits::default(), deadlines, canonical_nans)
    };
    let protected = cases(places, &host(true, true)?)?;
    let mut sum = Times::default();
    for case in &protected {
        let times = case.measure(rounds)?;
        sum.add(&times);
        let name = format!("boundary.component_over_native.{}", case.planned.stage());
        report.figure(&name, "×", &times.alone(), Goal::None, times.detail());
    }
    let detail = sum.detail();
    report.figure("boundary.component_over_native", "×", &sum.alone(), Goal::AtMost(1.5), detail);

    // Each protection by leaving it out, in turns with the whole.
    for (name, deadlines, canonical_nans) in [("deadlines", false, true), ("canonical_nans", true, false)] {
        let without = cases(places, &host(deadlines, canonical_nans)?)?;
        let mut costs = Vec::new();
        for round in 0..rounds + 2 {
            let mut seconds = [0.0; 2];
            for (with, without) in protected.iter().zip(&without) {
                seconds[0] += with.component()?.as_secs_f64();
                seconds[1] += without.component()?.as_secs_f64();
            }
            if round >= 2 {
                costs.push((seconds[0] / seconds[1] - 1.0) * 100.0);
            }
        }
        report.figure(&format!("boundary.cost_of.{name}"), "%", &Rounds::of(costs), Goal::None, json!({}));
    }
    fresh_instance(&protected, rounds, report)
}

/// A call without rows: a fresh instance, its memory's pages, the plan made again, nothing else.
fn fresh_instance(cases: &[Case; 2], rounds: usize, report: &mut Report) -> Result<(), Failure> {
    let mut micros = Vec::new();
    for _ in 0..rounds * 10 {
        let clock = Instant::now();
        for case in cases {
            black_box(case.planned.process(&case.rows.slice(0, 0), &case.operations.slice(0, 0))?);
        }
        micros.push(clock.elapsed().as_secs_f64() * 1e6 / cases.len() as f64);
    }
    report.figure("boundary.cost_of.fresh_instance", "µs/call", &Rounds::of(micros), Goal::None, json!({}));
    Ok(())
}

/// The identity component copies every column in and out again.
pub fn ns_per_row(places: &Places, quick: bool, report: &mut Report) -> Result<(), Failure> {
    const ROWS: usize = 5_000;
    let rounds = if quick { 50 } else { 1000 };
    let cache = tempfile::tempdir()?;
    let host = Host::new(cache.path(), HostLimits::default())?;
    let component = host.load(&places.component("identity@0.1.0")?)?;
    let texts = StringArray::from_iter_values((0..ROWS).map(|row| format!("N{:05}", row * 7919 % 100_000)));
    let numbers = Int64Array::from_iter_values(0..ROWS as i64);
    let schema =
        Schema::new(vec![Field::new("text", DataType::Utf8, true), Field::new("number", DataType::Int64, true)]);
    let two = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(texts), Arc::new(numbers)])?;
    for (name, rows, goal) in [
        ("boundary.ns_per_row", two, Goal::AtMost(20.0)),
        ("boundary.ns_per_row.all_flights_columns", flights::batch(places, ROWS)?, Goal::None),
    ] {
        let planned = host.plan(&component, Stage::Normalize, "{}", &rows.schema(), &Dictionaries::new())?;
        let operations = UInt8Array::from(vec![0; ROWS]);
        let mut ns = Vec::new();
        for round in 0..rounds + 10 {
            let clock = Instant::now();
            black_box(planned.process(&rows, &operations)?);
            if round >= 10 {
                ns.push(clock.elapsed().as_secs_f64() * 1e9 / ROWS as f64);
            }
        }
        report.figure(name, "ns/row", &Rounds::of(ns), goal, json!({ "columns": rows.num_columns(), "rows": ROWS }));
    }
    Ok(())
}
