//! Builds transforms written in Rust into components: cargo makes a core module that imports nothing, and
//! [`component`] wraps it.
//!
//! A built component lies in its folder as `<name>@<version>.wasm`, which is also how a pipeline names it.

mod compiler;
mod component;
mod package;

use crate::toolchain::compiler::Compiler;
use crate::toolchain::package::Package;
use gristmill_core::digest::Digest;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A component that lies in its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltComponent {
    /// `name@version`, from the package.
    pub label: String,
    /// `<out_dir>/<label>.wasm`
    pub path: PathBuf,
    pub size_bytes: u64,
    pub digest: Digest,
    /// False where the file already had this content: it was not written again.
    pub changed: bool,
}

/// Why a transform could not be built. Nothing was written for the packages that failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    #[error("{} is not the folder of a Rust package: {problem}", dir.display())]
    Package { dir: PathBuf, problem: String },
    #[error("no Rust compiler here can build for {}: {problem}\n{}", compiler::TARGET, compiler::INSTALL_HINT)]
    NoCompiler { problem: String },
    /// The compiler's own messages went to standard error.
    #[error("cargo could not build {packages}")]
    Build { packages: String },
    #[error("`{command}` could not be run: {source}")]
    Command { command: String, source: io::Error },
    #[error("package {package} built no WASM module: its [lib] needs crate-type = [\"cdylib\"]")]
    NoModule { package: String },
    #[error("package {package} is no transform component: {problem}")]
    NotAComponent { package: String, problem: String },
    #[error(
        "package {package} imports {imports}: a transform imports nothing, so that its output depends on its input alone"
    )]
    Imports { package: String, imports: String },
    #[error("two packages are both {label}: a label names one component")]
    SameLabel { label: String },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Builds the package in `crate_dir`. See [`build_rust_guests`].
pub fn build_rust_guest(crate_dir: &Path, target_dir: &Path, out_dir: &Path) -> Result<BuiltComponent, ToolchainError> {
    let mut built = build_rust_guests(&[crate_dir], target_dir, out_dir)?;
    built.pop().ok_or_else(|| ToolchainError::NoModule { package: crate_dir.display().to_string() })
}

/// Builds the packages in these folders, with one run of cargo for each workspace, and puts the components into
/// `out_dir`. Returns them in the order of `crate_dirs`.
///
/// `target_dir` is cargo's; keep one for all guests, so that what they share is compiled once.
pub fn build_rust_guests(
    crate_dirs: &[impl AsRef<Path>],
    target_dir: &Path,
    out_dir: &Path,
) -> Result<Vec<BuiltComponent>, ToolchainError> {
    let packages = crate_dirs.iter().map(|dir| Package::read(dir.as_ref())).collect::<Result<Vec<_>, _>>()?;
    refuse_same_labels(&packages)?;
    build_packages(&packages, target_dir, out_dir, Compiler::find)
}

fn build_packages(
    packages: &[Package],
    target_dir: &Path,
    out_dir: &Path,
    find_compiler: impl Fn(&Path) -> Result<Compiler, ToolchainError>,
) -> Result<Vec<BuiltComponent>, ToolchainError> {
    let mut by_workspace: BTreeMap<&Path, Vec<&Package>> = BTreeMap::new();
    for package in packages {
        by_workspace.entry(&package.workspace_root).or_default().push(package);
    }
    let mut modules = BTreeMap::new();
    for (workspace, members) in by_workspace {
        modules.extend(find_compiler(workspace)?.build(workspace, &members, target_dir)?);
    }
    std::fs::create_dir_all(out_dir).map_err(|source| ToolchainError::File { path: out_dir.to_owned(), source })?;
    packages
        .iter()
        .map(|package| {
            let label = package.label();
            let no_module = || ToolchainError::NoModule { package: label.clone() };
            let module = modules.get(&package.id).ok_or_else(no_module)?;
            let core = std::fs::read(module).map_err(|source| ToolchainError::File { path: module.clone(), source })?;
            let component = component::from_core_module(&label, &core)?;
            publish(label, &component, out_dir)
        })
        .collect()
}

fn refuse_same_labels(packages: &[Package]) -> Result<(), ToolchainError> {
    let mut labels = packages.iter().map(Package::label).collect::<Vec<_>>();
    labels.sort();
    match labels.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ToolchainError::SameLabel { label: pair[0].clone() }),
        None => Ok(()),
    }
}

/// Writes the component under its label, unless it is there already. A reader sees the old file or the new one.
fn publish(label: String, component: &[u8], out_dir: &Path) -> Result<BuiltComponent, ToolchainError> {
    let path = out_dir.join(format!("{label}.wasm"));
    let changed = std::fs::read(&path).map_or(true, |old| old != component);
    if changed {
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(out_dir)?;
            io::Write::write_all(&mut file, component)?;
            file.as_file().sync_all()?;
            set_readable(file.as_file())?;
            file.persist(&path).map_err(|error| error.error)
        };
        write().map_err(|source| ToolchainError::File { path: path.clone(), source })?;
    }
    Ok(BuiltComponent { label, path, size_bytes: component.len() as u64, digest: Digest::of(component), changed })
}

/// Temporary files are the owner's alone; a component is for whoever may read the folder.
fn set_readable(file: &std::fs::File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_dir(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
    }

    /// The workspace's own, so that a second run of the tests compiles nothing.
    fn target_dir() -> PathBuf {
        let exe = std::env::current_exe().unwrap();
        exe.ancestors().nth(3).unwrap().join("guests")
    }

    #[test]
    fn builds_a_component_that_imports_nothing() {
        let out = tempfile::tempdir().unwrap();
        let identity = crate_dir("transforms/rust/identity");
        let built = build_rust_guest(&identity, &target_dir(), out.path()).unwrap();
        assert_eq!(built.label, "identity@0.1.0");
        assert_eq!(built.path, out.path().join("identity@0.1.0.wasm"));
        let bytes = std::fs::read(&built.path).unwrap();
        assert_eq!((built.size_bytes, built.digest), (bytes.len() as u64, Digest::of(&bytes)));
        assert!(built.changed && built.size_bytes < 400_000, "{} bytes", built.size_bytes);
        assert_eq!(component::imports("identity", &bytes).unwrap(), Vec::<String>::new());

        let again = build_rust_guest(&identity, &target_dir(), out.path()).unwrap();
        assert_eq!(again, BuiltComponent { changed: false, ..built }, "nothing changed, nothing written");
    }

    #[test]
    #[ignore = "builds the standard library, which takes minutes, and needs the system compiler with its source"]
    fn builds_with_a_compiler_that_lacks_the_target() {
        let out = tempfile::tempdir().unwrap();
        let packages = [Package::read(&crate_dir("transforms/rust/identity")).unwrap()];
        let from_source = |_: &Path| Compiler::from_source(Path::new("/usr/bin"));
        let target = target_dir().join("from-source");
        let built = build_packages(&packages, &target, out.path(), from_source).unwrap();
        let bytes = std::fs::read(&built[0].path).unwrap();
        assert_eq!(component::imports("identity", &bytes).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_folder_without_a_package_is_named() {
        let empty = tempfile::tempdir().unwrap();
        let error = build_rust_guest(empty.path(), &target_dir(), empty.path()).unwrap_err();
        assert!(matches!(&error, ToolchainError::Package { dir, .. } if dir == empty.path()), "{error}");
    }

    #[test]
    fn one_label_one_component() {
        let twice = [crate_dir("transforms/rust/identity"), crate_dir("transforms/rust/identity")];
        let error = build_rust_guests(&twice, &target_dir(), Path::new("nowhere")).unwrap_err();
        assert!(matches!(&error, ToolchainError::SameLabel { label } if label == "identity@0.1.0"), "{error}");
    }

    #[test]
    fn publishing_replaces_only_what_changed() {
        let out = tempfile::tempdir().unwrap();
        let first = publish("a@1.0.0".into(), b"one", out.path()).unwrap();
        assert!(first.changed);
        assert!(!publish("a@1.0.0".into(), b"one", out.path()).unwrap().changed);
        assert!(publish("a@1.0.0".into(), b"two", out.path()).unwrap().changed);
        assert_eq!(std::fs::read(first.path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 1, "no temporary file stays");
    }
}
