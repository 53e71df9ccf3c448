//! TypeScript.

use super::project::Project;
use super::{Module, ToolchainError};

pub(super) fn build(project: &Project) -> Result<Module, ToolchainError> {
    Err(ToolchainError::Project { dir: project.dir.clone(), problem: "not yet".into() })
}
