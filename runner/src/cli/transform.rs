//! `gristmill transform`.

mod deploy;
mod diff;
mod registry;

use super::Common;
use super::output::{Answer, Exit, Failure};
use super::setup::Stores;
use crate::toolchain::{self, ToolchainError};
use clap::Subcommand;
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Build Rust transforms into components, name@version.wasm
    Build {
        /// Folders with a Cargo.toml
        #[arg(required = true)]
        crates: Vec<PathBuf>,
        /// Where the components go
        #[arg(long, default_value = "components", value_name = "DIR")]
        out: PathBuf,
        /// Cargo's target folder for guests; share one, since the first build compiles the standard library
        #[arg(long, env = "GRISTMILL_GUEST_TARGET", default_value = "target/guests", value_name = "DIR")]
        target: PathBuf,
    },
    /// Judge a component as a publication would, and store it under its label: what is wrong is listed, and nothing is stored
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
        Verb::Build { crates, out, target } => build(&crates, &out, &target),
        Verb::Deploy(args) => deploy::run(common, args).await,
        Verb::List => registry::list(&Stores::existing(common).await?).await,
        Verb::Show { component } => registry::show(&Stores::existing(common).await?, &component).await,
        Verb::Diff(args) => diff::run(common, args).await,
    }
}

fn build(crates: &[PathBuf], out: &Path, target: &Path) -> Result<Answer, Failure> {
    let crates: Vec<_> = crates.iter().map(PathBuf::as_path).collect();
    let built = toolchain::build_rust_guests(&crates, target, out)?;
    let mut text = String::new();
    for component in &built {
        text += &format!(
            "{}  {} bytes  {}  {}\n",
            component.label,
            component.size_bytes,
            component.digest,
            component.path.display()
        );
    }
    let json: Vec<_> = built
        .iter()
        .map(|c| json!({ "label": c.label, "bytes": c.size_bytes, "digest": c.digest, "path": c.path }))
        .collect();
    Ok(Answer::done(text, json!({ "components": json })))
}

impl From<ToolchainError> for Failure {
    fn from(error: ToolchainError) -> Self {
        let hint = match &error {
            ToolchainError::NoCompiler { .. } => "install one of the compilers named above",
            ToolchainError::Build { .. } => "the compiler's messages stand above",
            _ => "see docs/guide/transforms.md",
        };
        Self::Message { exit: Exit::Configuration, what: error.to_string(), fate: None, hint: hint.into() }
    }
}
