//! Zig.

use super::project::Project;
use super::{Module, ToolchainError};
use std::path::Path;

pub(super) fn build(project: &Project, _: &Path) -> Result<Module, ToolchainError> {
    Err(ToolchainError::Project { dir: project.dir.clone(), problem: "not yet".into() })
}
