//! What cargo knows of a package.

use super::compiler::cargo_command;
use crate::toolchain::ToolchainError;
use serde::Deserialize;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A package to build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    /// Cargo's own id for it.
    pub id: String,
    pub name: String,
    pub version: String,
    pub workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct MetadataPackage {
    id: String,
    name: String,
    version: String,
    manifest_path: PathBuf,
}

impl Package {
    pub fn read(dir: &Path) -> Result<Self, ToolchainError> {
        let problem = |problem: String| ToolchainError::Project { dir: dir.to_owned(), problem };
        let manifest = dir.join("Cargo.toml");
        let manifest = manifest.canonicalize().map_err(|error| problem(format!("Cargo.toml: {error}")))?;
        let mut command = cargo_command(OsStr::new("cargo"), manifest.parent().unwrap_or(dir));
        command.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(&manifest);
        let output = command
            .output()
            .map_err(|source| ToolchainError::Command { command: "cargo metadata".to_owned(), source })?;
        if !output.status.success() {
            return Err(problem(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let metadata: Metadata =
            serde_json::from_slice(&output.stdout).map_err(|error| problem(format!("cargo metadata: {error}")))?;
        let package = metadata.packages.into_iter().find(|package| package.manifest_path == manifest);
        let package = package.ok_or_else(|| problem("its Cargo.toml holds no package".to_owned()))?;
        let MetadataPackage { id, name, version, .. } = package;
        Ok(Self { id, name, version, workspace_root: metadata.workspace_root })
    }
}
