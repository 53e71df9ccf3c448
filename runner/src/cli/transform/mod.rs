//! `gristmill transform`: one file for each verb.

mod bench;
mod build;
mod inspect;
mod new;
mod subject;
mod test;

use super::Common;
use super::output::{Answer, Exit, Failure};
use crate::host::{ComponentError, Stage};
use clap::Subcommand;
use std::path::Path;

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Start a project that builds and passes its tests
    #[command(after_help = "Example:\n  gristmill transform new web-log --lang go --stage normalize")]
    New(new::Args),
    /// Build transforms into components, name@version.wasm
    #[command(after_help = "Example:\n  gristmill transform build orders-clean --out components")]
    Build(build::Args),
    /// Run a transform's cases through the host and compare with what is expected
    #[command(
        after_help = "Examples:\n  gristmill transform test orders-clean            build it, then its cases/\n  \
                            gristmill transform test --update orders-clean   write down what it makes\n  \
                            gristmill transform test components/orders-clean@0.1.0.wasm --cases orders-clean/cases"
    )]
    Test(test::Args),
    /// Show what a component is: contract, imports, stages, plans, what starting it costs
    #[command(
        after_help = "Example:\n  gristmill transform inspect components/orders-clean@0.1.0.wasm --columns \"price: utf8\""
    )]
    Inspect(inspect::Args),
    /// Measure how many rows a component transforms in a second, on generated rows or those of its cases
    #[command(
        after_help = "Examples:\n  gristmill transform bench components/orders-clean@0.1.0.wasm --cases orders-clean/cases\n  \
                            gristmill transform bench components/identity@0.1.0.wasm --columns \"id: int64, name: utf8\""
    )]
    Bench(bench::Args),
}

pub fn transform(common: &Common, verb: Verb) -> Result<Answer, Failure> {
    match verb {
        Verb::New(args) => new::new(&args),
        Verb::Build(args) => build::build(args),
        Verb::Test(args) => test::test(common, args),
        Verb::Inspect(args) => inspect::inspect(common, &args),
        Verb::Bench(args) => bench::bench(common, &args),
    }
}

/// A stage by its name.
fn stage_of(text: &str) -> Result<Stage, String> {
    let stages = [Stage::Normalize, Stage::Migrate, Stage::Map];
    let found = stages.into_iter().find(|stage| stage.as_str() == text);
    found.ok_or_else(|| "the stages are normalize, migrate and map".to_owned())
}

/// Reads a component's file.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|e| {
        Failure::usage(format!("{}: {e}", path.display()), "name a built component, or a project's folder")
    })
}

fn refused(error: ComponentError) -> Failure {
    Failure::usage(error.to_string(), "build it with `gristmill transform build`")
}

fn cannot(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Message {
        exit: Exit::Failed,
        what: format!("cannot {what}: {error}"),
        fate: None,
        hint: "check disk and permissions".into(),
    }
}
