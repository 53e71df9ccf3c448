//! Measures what users can expect, as ratios within one run: `make bench`, or
//! `cargo run --release --locked -p gristmill-bench -- [--quick] [name…]`.
//!
//! A name selects the measures that contain it. The report goes to `report.json` in the target folder's `bench/`, where
//! the generated inputs lie too; a table for people goes to standard error.

mod boundary;
mod flights;
mod floor;
mod languages;
mod machine;
mod native;
mod pipeline;
mod places;
mod report;
mod stats;
mod versions;

use places::Places;
use report::Report;
use std::process::ExitCode;

type Failure = Box<dyn std::error::Error>;

/// What the command line asks for.
struct Asked {
    /// Fewer rows and rounds: to see that everything works, not to quote.
    quick: bool,
    names: Vec<String>,
}

impl Asked {
    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|asked| name.contains(asked.as_str()))
    }
}

fn main() -> ExitCode {
    let (flags, names) = std::env::args().skip(1).partition::<Vec<_>, _>(|argument| argument.starts_with('-'));
    if let Some(unknown) = flags.iter().find(|flag| *flag != "--quick") {
        eprintln!("unknown option {unknown}\nusage: gristmill-bench [--quick] [name…]");
        return ExitCode::from(2);
    }
    match run(&Asked { quick: !flags.is_empty(), names }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the measurement failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(asked: &Asked) -> Result<(), Failure> {
    let places = Places::find()?;
    let mut report = Report::new(asked.quick);
    if asked.wants("boundary.component_over_native") {
        boundary::component_over_native(&places, asked.quick, &mut report)?;
    }
    if asked.wants("boundary.ns_per_row") {
        boundary::ns_per_row(&places, asked.quick, &mut report)?;
    }
    if asked.wants("e2e.sqlite_over_floor") || asked.wants("e2e.rows_per_s") {
        pipeline::against_floor(&places, asked.quick, &mut report)?;
    }
    if asked.wants("rss_mib.1x") || asked.wants("rss_mib.10x") {
        pipeline::peak_memory(&places, asked.quick, &mut report)?;
    }
    if asked.wants("deploy.pause_ms") {
        versions::deploy_pause(&places, asked.quick, &mut report)?;
    }
    if asked.wants("replay.verify_over_scan") || asked.wants("replay.rows_over_scan") {
        versions::replays(&places, asked.quick, &mut report)?;
    }
    if asked.wants("languages") {
        languages::languages(&places, asked.quick, &mut report)?;
    }
    report.write(&places)
}
