//! `gristmill transform`: one file for each verb.

mod bench;
mod build;
mod deploy;
mod diff;
mod inspect;
mod new;
mod registry;
mod subject;
mod test;

use super::Common;
use super::output::{Answer, Exit, Failure};
use super::setup::Stores;
use crate::host::{ComponentError, Stage};
use crate::toolchain::cases_dir_name;
use clap::Subcommand;
use std::path::{Path, PathBuf};
use tokio::task::block_in_place;

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Start a project that builds and passes its tests
    #[command(after_help = "Example:\n  gristmill transform new web-log --lang go --stage normalize")]
    New(new::Args),
    /// Build transforms into components, name@version.wasm, with their cases beside them
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
    #[command(after_help = "Examples:\n  gristmill transform inspect orders-clean\n  \
                            gristmill transform inspect components/orders-clean@0.1.0.wasm --columns \"price: utf8\"")]
    Inspect(inspect::Args),
    /// Measure how many rows a component transforms in a second, on generated rows or those of its cases
    #[command(after_help = "Examples:\n  gristmill transform bench orders-clean\n  \
                            gristmill transform bench components/identity@0.1.0.wasm --columns \"id: int64, name: utf8\"")]
    Bench(bench::Args),
    /// Judge a component by its cases and as a publication would, and store it under its label: what is wrong is listed, and
    /// nothing is stored
    #[command(
        after_help = "Examples:\n  gristmill transform deploy components/flights-map@1.2.0.wasm\n  gristmill transform deploy map.wasm --name flights-map --version 1.2.0 --task flights --stage map"
    )]
    Deploy(deploy::Args),
    /// List stored components with the versions that use them
    #[command(after_help = "Example:\n  gristmill transform list --json")]
    List,
    /// Show a stored component: labels, digest, whether it is intact, what uses it
    #[command(
        after_help = "Examples:\n  gristmill transform show flights-map@1.2.0\n  gristmill transform show 6f1ed002ab55"
    )]
    Show {
        /// Label, digest or the beginning of a digest
        component: String,
    },
    /// Run two versions of a component on stored batches and show what differs. Exit code 1: something does
    #[command(
        after_help = "Examples:\n  gristmill transform diff flights-map@1.1.0 flights-map@1.2.0 --task flights\n  gristmill transform diff flights-map@1.1.0 build/map.wasm --task flights --last 50 --redact tailnum"
    )]
    Diff(diff::Args),
}

pub async fn transform(common: &Common, verb: Verb) -> Result<Answer, Failure> {
    match verb {
        Verb::New(args) => new::new(&args),
        // Compilers and guests run for a while, and on this thread.
        Verb::Build(args) => block_in_place(|| build::build(&args)),
        Verb::Test(args) => block_in_place(|| test::test(common, args)),
        Verb::Inspect(args) => block_in_place(|| inspect::inspect(common, &args)),
        Verb::Bench(args) => block_in_place(|| bench::bench(common, &args)),
        Verb::Deploy(args) => deploy::run(common, args).await,
        Verb::List => registry::list(&Stores::existing(common).await?).await,
        Verb::Show { component } => registry::show(&Stores::existing(common).await?, &component).await,
        Verb::Diff(args) => diff::run(common, args).await,
    }
}

/// A stage by its name.
fn stage_of(text: &str) -> Result<Stage, String> {
    let stages = [Stage::Normalize, Stage::Migrate, Stage::Map];
    let found = stages.into_iter().find(|stage| stage.as_str() == text);
    found.ok_or_else(|| "the stages are normalize, migrate and map".to_owned())
}

/// The cases of a component's file: those that its build put beside it, or a folder `cases`.
fn cases_beside(component: &Path) -> Option<PathBuf> {
    let own = component.file_stem().and_then(|stem| stem.to_str()).map(cases_dir_name);
    let names = own.into_iter().chain(["cases".into()]);
    names.map(|name| component.with_file_name(name)).find(|dir| dir.is_dir())
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
