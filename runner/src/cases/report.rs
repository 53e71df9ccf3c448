//! What came of the cases.

use super::digests::Digests;
use super::run::Made;
use crate::host::Stage;
use gristmill_core::digest::Digest;
use serde_json::{Value, json};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What came of all cases of a folder.
#[derive(Debug)]
pub struct Report {
    pub component: Digest,
    /// In the order of their names.
    pub cases: Vec<CaseReport>,
    /// Files that an update changed.
    pub written: Vec<PathBuf>,
}

#[derive(Debug)]
pub struct CaseReport {
    pub name: String,
    pub stage: Stage,
    pub outcome: Outcome,
}

/// What came of one case.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What is not as expected, each of one or more lines; none if the case passes. They show values of the case's rows.
    pub differences: Vec<String>,
    pub input_rows: usize,
    /// Rows of all outputs.
    pub output_rows: usize,
    pub rejects: usize,
    /// None where the transform failed.
    pub digests: Option<Digests>,
    /// Plan and process, without compiling.
    pub elapsed: Duration,
}

impl Outcome {
    pub(super) fn of(made: &Made, differences: Vec<String>) -> Self {
        let rows = made.rows.as_ref();
        Self {
            differences,
            input_rows: made.input_rows,
            output_rows: rows.map_or(0, |made| made.outputs.iter().map(|(_, rows)| rows.rows.num_rows()).sum()),
            rejects: rows.map_or(0, |made| made.rejects.len() + made.poison.len()),
            digests: rows.map(|made| made.digests),
            elapsed: made.elapsed,
        }
    }

    /// The case could not be run to its end.
    pub(super) fn broken(problem: String) -> Self {
        Self { differences: vec![problem], ..Self::default() }
    }

    pub fn passed(&self) -> bool {
        self.differences.is_empty()
    }
}

impl Report {
    pub fn passed(&self) -> bool {
        self.failed() == 0
    }

    /// Number of cases that did not pass.
    pub fn failed(&self) -> usize {
        self.cases.iter().filter(|case| !case.outcome.passed()).count()
    }

    pub fn json(&self) -> Value {
        let case = |case: &CaseReport| {
            let Outcome { differences, input_rows, output_rows, rejects, digests, elapsed } = &case.outcome;
            json!({
                "name": case.name,
                "stage": case.stage.as_str(),
                "passed": case.outcome.passed(),
                "differences": differences,
                "inputRows": input_rows,
                "outputRows": output_rows,
                "rejects": rejects,
                "outputsDigest": digests.map(|d| d.outputs),
                "rejectsDigest": digests.map(|d| d.rejects),
                "elapsedMs": elapsed.as_secs_f64() * 1e3,
            })
        };
        json!({
            "component": self.component,
            "passed": self.passed(),
            "cases": self.cases.iter().map(case).collect::<Vec<_>>(),
            "written": self.written,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.cases.iter().map(|case| case.name.chars().count()).max().unwrap_or(0);
        for CaseReport { name, outcome, .. } in &self.cases {
            let verdict = if outcome.passed() { "ok    " } else { "FAILED" };
            let Outcome { input_rows, output_rows, rejects, .. } = outcome;
            write!(f, "{verdict}  {name:<width$}  {input_rows} rows in, {output_rows} out")?;
            writeln!(f, "{}", if *rejects > 0 { format!(", {rejects} rejected") } else { String::new() })?;
            for difference in &outcome.differences {
                for line in difference.lines() {
                    writeln!(f, "        {line}")?;
                }
            }
        }
        for path in &self.written {
            writeln!(f, "wrote {}", path.display())?;
        }
        match self.failed() {
            0 if self.cases.len() == 1 => writeln!(f, "1 case passed"),
            0 => writeln!(f, "{} cases passed", self.cases.len()),
            failed => writeln!(f, "{failed} of {} cases failed", self.cases.len()),
        }
    }
}
