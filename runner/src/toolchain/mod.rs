//! Builds transforms into components: each language's compiler makes a WASM module, and [`component`] wraps it.
//!
//! A project is a folder with a `Cargo.toml` or a `transform.toml`. A built component lies in its folder as
//! `<name>@<version>.wasm`, which is also how a pipeline names it, with its cases beside it. A language is a module here with one function.

mod c;
mod cases;
mod component;
mod go;
mod project;
mod python;
mod rust;
mod template;
mod tools;
mod typescript;
mod zig;

pub use cases::dir_name as cases_dir_name;
pub use project::Language;
pub use template::{NewProjectError, Template, new_project};

use gristmill_core::digest::Digest;
use project::Project;
use std::io;
use std::path::{Path, PathBuf};

/// A component that lies in its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltComponent {
    /// `name@version`, from the project.
    pub label: String,
    pub language: Language,
    /// `<out_dir>/<label>.wasm`
    pub path: PathBuf,
    pub size_bytes: u64,
    pub digest: Digest,
    /// Interfaces that it asks the host for: those of the virtual WASI, or none.
    pub imports: Vec<String>,
    /// False where the file already had this content: it was not written again.
    pub changed: bool,
}

/// Why a transform could not be built. Nothing was written for the projects that failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    #[error("{} is not the folder of a transform: {problem}", dir.display())]
    Project { dir: PathBuf, problem: String },
    #[error("no Rust compiler here can build for {}: {problem}\n{}", rust::TARGET, rust::INSTALL_HINT)]
    NoCompiler { problem: String },
    #[error("{what} is not installed, which builds transforms in {language}")]
    Missing { language: Language, what: String, install: String },
    /// The compiler's own messages went to standard error.
    #[error("{tool} could not build {project}")]
    Build { tool: String, project: String },
    #[error("`{command}` could not be run: {source}")]
    Command { command: String, source: io::Error },
    #[error("package {package} built no WASM module: its [lib] needs crate-type = [\"cdylib\"]")]
    NoModule { package: String },
    #[error("{project} is no transform component: {problem}")]
    NotAComponent { project: String, problem: String },
    #[error(
        "{project} imports {imports}: a transform imports nothing, or WASI of version 0.2 without files and network, so \
         that its output depends on its input alone"
    )]
    Imports { project: String, imports: String },
    #[error("two projects are both {label}: a label names one component")]
    SameLabel { label: String },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// What a compiler made.
enum Module {
    /// A core module, to be wrapped.
    Core(Vec<u8>),
    /// A core module that asks for interfaces which the named modules meet inside the component.
    Adapted(Vec<u8>, Vec<(&'static str, Vec<u8>)>),
    Component(Vec<u8>),
}

impl Module {
    fn into_component(self, project: &str) -> Result<Vec<u8>, ToolchainError> {
        match self {
            Self::Core(core) => component::from_core_module(project, &core, &[]),
            Self::Adapted(core, adapters) => component::from_core_module(project, &core, &adapters),
            Self::Component(component) => Ok(component),
        }
    }
}

/// Builds the projects in these folders and puts the components into `out_dir`. Returns them in the order of `dirs`.
///
/// `target_dir` is where compilers keep what they may use again; keep one for all, so that what is shared is compiled
/// once.
pub fn build(
    dirs: &[impl AsRef<Path>],
    target_dir: &Path,
    out_dir: &Path,
) -> Result<Vec<BuiltComponent>, ToolchainError> {
    let projects = dirs.iter().map(|dir| Project::read(dir.as_ref())).collect::<Result<Vec<_>, _>>()?;
    refuse_same_labels(&projects)?;
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| ToolchainError::File { path, source }
    };
    std::fs::create_dir_all(target_dir).map_err(file(target_dir))?;
    // Compilers run in the folder of their project.
    let target_dir = &target_dir.canonicalize().map_err(file(target_dir))?;
    std::fs::create_dir_all(out_dir).map_err(file(out_dir))?;
    let in_rust: Vec<_> = projects.iter().filter(|project| project.language == Language::Rust).collect();
    let mut of_cargo = match in_rust.is_empty() {
        true => Vec::new(),
        false => rust::build(&in_rust, target_dir)?,
    }
    .into_iter();
    let mut built = Vec::with_capacity(projects.len());
    for project in &projects {
        let module = match project.language {
            Language::Rust => of_cargo.next().ok_or_else(|| ToolchainError::NoModule { package: project.label() })?,
            Language::C => c::build(project)?,
            Language::Zig => zig::build(project, target_dir)?,
            Language::Go => go::build(project)?,
            Language::TypeScript => typescript::build(project)?,
            Language::Python => python::build(project, target_dir)?,
        };
        let component = module.into_component(&project.label())?;
        let imports = component::imports(&project.label(), &component)?;
        built.push(publish(project, imports, &component, out_dir)?);
        cases::publish(project, out_dir)?;
    }
    Ok(built)
}

fn refuse_same_labels(projects: &[Project]) -> Result<(), ToolchainError> {
    let mut labels = projects.iter().map(Project::label).collect::<Vec<_>>();
    labels.sort();
    match labels.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ToolchainError::SameLabel { label: pair[0].clone() }),
        None => Ok(()),
    }
}

/// Writes the component under its label, unless it is there already. A reader sees the old file or the new one.
fn publish(
    project: &Project,
    imports: Vec<String>,
    component: &[u8],
    out_dir: &Path,
) -> Result<BuiltComponent, ToolchainError> {
    let label = project.label();
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
    let (size_bytes, digest) = (component.len() as u64, Digest::of(component));
    Ok(BuiltComponent { label, language: project.language, path, size_bytes, digest, imports, changed })
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
    pub(super) fn target_dir() -> PathBuf {
        let exe = std::env::current_exe().unwrap();
        exe.ancestors().nth(3).unwrap().join("guests")
    }

    fn build_one(dir: &Path, out: &Path) -> Result<BuiltComponent, ToolchainError> {
        build(&[dir], &target_dir(), out).map(|mut built| built.pop().unwrap())
    }

    #[test]
    fn builds_a_component_that_imports_nothing() {
        let out = tempfile::tempdir().unwrap();
        let identity = crate_dir("transforms/rust/identity");
        let built = build_one(&identity, out.path()).unwrap();
        assert_eq!((built.label.as_str(), built.language), ("identity@0.1.0", Language::Rust));
        assert_eq!(built.path, out.path().join("identity@0.1.0.wasm"));
        let bytes = std::fs::read(&built.path).unwrap();
        assert_eq!((built.size_bytes, built.digest), (bytes.len() as u64, Digest::of(&bytes)));
        assert!(built.changed && built.size_bytes < 400_000, "{} bytes", built.size_bytes);
        assert_eq!(built.imports, Vec::<String>::new());

        let again = build_one(&identity, out.path()).unwrap();
        assert_eq!(again, BuiltComponent { changed: false, ..built }, "nothing changed, nothing written");
    }

    #[test]
    fn a_folder_without_a_project_is_named() {
        let empty = tempfile::tempdir().unwrap();
        let error = build_one(empty.path(), empty.path()).unwrap_err();
        assert!(matches!(&error, ToolchainError::Project { dir, .. } if dir == empty.path()), "{error}");
        assert!(error.to_string().contains("transform.toml"), "{error}");
    }

    #[test]
    fn one_label_one_component() {
        let twice = [crate_dir("transforms/rust/identity"), crate_dir("transforms/rust/identity")];
        let error = build(&twice, &target_dir(), Path::new("nowhere")).unwrap_err();
        assert!(matches!(&error, ToolchainError::SameLabel { label } if label == "identity@0.1.0"), "{error}");
    }

    #[test]
    fn publishing_replaces_only_what_changed() {
        let out = tempfile::tempdir().unwrap();
        let project = Project::new(Path::new("a"), "a", "1.0.0");
        let publish = |bytes: &[u8]| super::publish(&project, Vec::new(), bytes, out.path()).unwrap();
        let first = publish(b"one");
        assert!(first.changed);
        assert!(!publish(b"one").changed);
        assert!(publish(b"two").changed);
        assert_eq!(std::fs::read(first.path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 1, "no temporary file stays");
    }
}
