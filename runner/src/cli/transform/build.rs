//! `gristmill transform build`.

use super::super::output::{Answer, Exit, Failure, grouped, table};
use crate::toolchain::{self, BuiltComponent, ToolchainError};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders with a Cargo.toml or a transform.toml
    #[arg(required = true)]
    projects: Vec<PathBuf>,
    /// Where the components go
    #[arg(long, default_value = "components", value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, clap::Args)]
pub struct Target {
    /// Cargo's target folder for guests; share one, since the first build compiles the standard library
    #[arg(long, env = "GRISTMILL_GUEST_TARGET", default_value = "target/guests", value_name = "DIR")]
    target: PathBuf,
}

pub fn build(args: &Args) -> Result<Answer, Failure> {
    let built = projects(&args.projects, &args.target, &args.out)?;
    let mut rows = Vec::new();
    for component in &built {
        let imports = match component.imports.as_slice() {
            [] => "no imports".to_owned(),
            imports => format!("imports {}", imports.join(", ")),
        };
        let size = format!("{} bytes", grouped(component.size_bytes));
        let path = component.path.display().to_string();
        rows.push(vec![component.label.clone(), size, component.digest.to_string(), imports, path]);
    }
    Ok(Answer::done(table(&rows), json!({ "components": built.iter().map(json_of).collect::<Vec<_>>() })))
}

/// Builds projects of any language.
pub fn projects(projects: &[PathBuf], target: &Target, out: &Path) -> Result<Vec<BuiltComponent>, Failure> {
    let projects: Vec<_> = projects.iter().map(PathBuf::as_path).collect();
    Ok(toolchain::build(&projects, &target.target, out)?)
}

/// The file of what a command names: a component, or a project, which is built into a folder for the time being.
pub fn component_of(named: &Path, target: &Target, scratch: &Path) -> Result<PathBuf, Failure> {
    if !named.is_dir() {
        return Ok(named.to_owned());
    }
    let built = projects(&[named.to_owned()], target, scratch)?.pop();
    built.map(|component| component.path).ok_or_else(|| Failure::usage("nothing was built", "see the messages above"))
}

fn json_of(component: &BuiltComponent) -> serde_json::Value {
    json!({
        "label": component.label,
        "bytes": component.size_bytes,
        "digest": component.digest,
        "imports": component.imports,
        "path": component.path,
    })
}

impl From<ToolchainError> for Failure {
    fn from(error: ToolchainError) -> Self {
        let hint = match &error {
            ToolchainError::NoCompiler { .. } => "install one of the compilers named above".to_owned(),
            ToolchainError::Missing { install, .. } => format!("install it with: {install}"),
            ToolchainError::Build { .. } => "the compiler's messages stand above".to_owned(),
            ToolchainError::Project { .. } => {
                "name the folder of a project; `gristmill transform new` starts one".to_owned()
            }
            _ => "see docs/guide/transforms.md".to_owned(),
        };
        Self::Message { exit: Exit::Configuration, what: error.to_string(), fate: None, hint }
    }
}
