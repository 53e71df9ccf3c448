//! Rust: cargo makes a core module that imports nothing.

mod compiler;
mod package;

use super::project::Project;
use super::{Module, ToolchainError};
use compiler::Compiler;
pub(super) use compiler::{INSTALL_HINT, TARGET};
use package::Package;
use std::collections::BTreeMap;
use std::path::Path;

/// Name and version, which cargo knows.
pub(super) fn project(dir: &Path) -> Result<Project, ToolchainError> {
    let package = Package::read(dir)?;
    Ok(Project::new(dir, &package.name, &package.version))
}

/// Builds the packages in these folders, with one run of cargo for each workspace.
///
/// `target_dir` is cargo's; keep one for all guests, so that what they share is compiled once.
pub(super) fn build(projects: &[&Project], target_dir: &Path) -> Result<Vec<Module>, ToolchainError> {
    let packages = projects.iter().map(|project| Package::read(&project.dir)).collect::<Result<Vec<_>, _>>()?;
    build_packages(&packages, target_dir, Compiler::find)
}

fn build_packages(
    packages: &[Package],
    target_dir: &Path,
    find_compiler: impl Fn(&Path) -> Result<Compiler, ToolchainError>,
) -> Result<Vec<Module>, ToolchainError> {
    let mut by_workspace: BTreeMap<&Path, Vec<&Package>> = BTreeMap::new();
    for package in packages {
        by_workspace.entry(&package.workspace_root).or_default().push(package);
    }
    let mut modules = BTreeMap::new();
    for (workspace, members) in by_workspace {
        modules.extend(find_compiler(workspace)?.build(workspace, &members, target_dir)?);
    }
    let module = |package: &Package| {
        let path =
            modules.get(&package.id).ok_or_else(|| ToolchainError::NoModule { package: package.name.clone() })?;
        std::fs::read(path).map(Module::Core).map_err(|source| ToolchainError::File { path: path.clone(), source })
    };
    packages.iter().map(module).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    #[ignore = "builds the standard library, which takes minutes, and needs the system compiler with its source"]
    fn builds_with_a_compiler_that_lacks_the_target() {
        let identity = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../transforms/rust/identity"));
        let packages = [Package::read(&identity).unwrap()];
        let from_source = |_: &Path| Compiler::from_source(Path::new("/usr/bin"));
        let target = super::super::tests::target_dir().join("from-source");
        let mut built = build_packages(&packages, &target, from_source).unwrap();
        let component = built.pop().unwrap().into_component("identity").unwrap();
        assert_eq!(super::super::component::imports("identity", &component).unwrap(), Vec::<String>::new());
    }
}
