//! Cases: rows in files, and what a transform makes of them through the real host.
//!
//! A folder of cases holds `NAME.in.jsonl` (or `.csv`, `.parquet`) and, beside it, what is expected: `NAME.out.jsonl`, or
//! `NAME.OUTPUT.out.jsonl` for each output of stage map, and `NAME.rejects.jsonl`. `cases.toml`, which may be missing, says
//! the rest (`manifest`). `digests.txt`, where there is one, holds digests of every case's outputs and rejects.
//!
//! ```text
//! cases.toml, files → Folder → Case ─input→ host → Made ─┬→ compare → Report
//!                                                        └→ write, for an update
//! ```

mod compare;
mod digests;
mod expected;
pub mod generate;
mod input;
mod lines;
mod manifest;
mod report;
mod run;
mod write;

pub use manifest::{Case, Folder, Rows, parse_columns, read_schema};
pub use report::{CaseReport, Outcome, Report};
pub use run::input as rows_of;

use crate::host::{ComponentError, Host, Stage};
use std::io;
use std::path::{Path, PathBuf};

/// Why no case could be run. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum CasesError {
    #[error("there are no cases in {}; a case starts with a file such as {}", dir.display(), dir.join("first.in.jsonl").display())]
    None { dir: PathBuf },
    #[error("{}: {message}", path.display())]
    Manifest { path: PathBuf, message: String },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Component(#[from] ComponentError),
}

/// Runs every case of a folder and compares. Cases that state no stage are for `stage`.
pub fn run(host: &Host, component: &[u8], stage: Stage, dir: &Path) -> Result<Report, CasesError> {
    let folder = Folder::open(dir, stage)?;
    let component = host.load(component)?;
    let check = |case: &Case| {
        let outcome = match run::run(host, &component, &folder, case) {
            Ok(made) => Outcome::of(&made, compare::case(&folder, case, &made)),
            Err(problem) => Outcome::broken(problem),
        };
        CaseReport { name: case.name.clone(), stage: case.stage, outcome }
    };
    Ok(Report { component: component.digest(), cases: folder.cases().iter().map(check).collect(), written: Vec::new() })
}

/// Runs every case of a folder and writes down what the transform makes of it: that is expected from now on. A case
/// that cannot be run keeps its files.
pub fn update(host: &Host, component: &[u8], stage: Stage, dir: &Path) -> Result<Report, CasesError> {
    let folder = Folder::open(dir, stage)?;
    let component = host.load(component)?;
    let mut written = Vec::new();
    let mut cases = Vec::new();
    for case in folder.cases() {
        let outcome = match run::run(host, &component, &folder, case) {
            Ok(made) => {
                let files = write::case(&folder, case, &made);
                match files {
                    Ok(files) => {
                        written.extend(files);
                        // What cannot be written down, such as messages, may still differ.
                        Outcome::of(&made, compare::stated(case, &made))
                    }
                    Err(problem) => Outcome::broken(problem),
                }
            }
            Err(problem) => Outcome::broken(problem),
        };
        cases.push(CaseReport { name: case.name.clone(), stage: case.stage, outcome });
    }
    written.extend(write::digests(&folder, &cases)?);
    Ok(Report { component: component.digest(), cases, written })
}
