//! `gristmill transform`.

use super::output::{Answer, Exit, Failure};
use crate::toolchain::{self, ToolchainError};
use clap::Subcommand;
use serde_json::json;
use std::path::PathBuf;

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
}

pub fn transform(verb: Verb) -> Result<Answer, Failure> {
    let Verb::Build { crates, out, target } = verb;
    let crates: Vec<_> = crates.iter().map(PathBuf::as_path).collect();
    let built = toolchain::build_rust_guests(&crates, &target, &out)?;
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
