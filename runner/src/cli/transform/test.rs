//! `gristmill transform test`.

use super::super::output::{Answer, Exit, Failure};
use super::super::{Common, setup};
use super::build::{Target, component_of};
use super::stage_of;
use crate::cases::{self, CasesError};
use crate::host::Stage;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A project, which is built first, or a component
    #[arg(value_name = "DIR|FILE")]
    transform: PathBuf,
    /// Folder with the cases [default: cases/ in the project, those beside the component]
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// What cases are for that state no stage: normalize, migrate or map
    #[arg(long, default_value = "normalize", value_parser = stage_of)]
    stage: Stage,
    /// Write down what the transform makes, as what is expected from now on
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    target: Target,
}

pub fn test(common: &Common, args: Args) -> Result<Answer, Failure> {
    let built = tempfile::tempdir().map_err(|e| super::cannot("make a temporary folder", &e))?;
    let file = component_of(&args.transform, &args.target, built.path())?;
    let component = super::read(&file)?;
    // Those of a project are its own, and not the copies beside what was built: they may be updated.
    let beside = match args.transform.is_dir() {
        true => Some(args.transform.join("cases")),
        false => super::cases_beside(&file),
    };
    let dir = args.cases.or(beside).ok_or_else(|| {
        Failure::usage(
            format!("no cases lie beside {}", file.display()),
            "build it with `gristmill transform build`, which puts them there, or name their folder with --cases",
        )
    })?;
    let host = setup::host(common, None)?;
    let run = if args.update { cases::update } else { cases::run };
    let report = run(&host, &component, args.stage, &dir)?;
    let exit = if report.passed() { Exit::Done } else { Exit::Failed };
    Ok(Answer { exit, text: report.to_string(), json: report.json() })
}

impl From<CasesError> for Failure {
    fn from(error: CasesError) -> Self {
        let hint = match &error {
            CasesError::None { .. } => "name another folder with --cases, or write a case: see docs/guide/testing.md",
            CasesError::Component(_) => "build the component again, with `gristmill transform build`",
            _ => "the form of cases is described in docs/guide/testing.md",
        };
        Self::Message { exit: Exit::Configuration, what: error.to_string(), fate: None, hint: hint.into() }
    }
}
