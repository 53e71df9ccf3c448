//! Python: the interpreter and the modules of a project, as they are after all imports, in one component.

use super::project::Project;
use super::tools::{self, pinned, run, scratch};
use super::{Module, ToolchainError};
use gristmill_core::digest::Hasher;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = "0.25.1";

/// A component holds traces of its build: the seed of hashes, times of files. So that unchanged sources give the same
/// bytes, what was built is kept by the digest of all that went into it.
pub(super) fn build(project: &Project, target_dir: &Path) -> Result<Module, ToolchainError> {
    let sdk = project.sdk()?;
    let tool = format!("componentize-py {VERSION}");
    let componentize = pinned(project, &tool, &format!("python-{VERSION}"), "bin/componentize-py")?;
    if !project.dir.join("transform.py").is_file() {
        let problem = "it has no transform.py".to_owned();
        return Err(ToolchainError::Project { dir: project.dir.clone(), problem });
    }
    // A copy: the interpreter writes its caches beside the sources.
    let work = scratch()?;
    let place = |name: &str| work.path().join(name);
    copy(&project.dir, &place("app"), &["tests", "cases", "vendor"])?;
    copy(&sdk.join("gristmill"), &place("sdk/gristmill"), &["testing"])?;
    copy(&sdk.join("wit"), &place("wit"), &[])?;
    copy(&project.dir.join("vendor/packages"), &place("packages"), &[])?;

    let mut hasher = Hasher::new();
    hasher.update(tool.as_bytes());
    for file in files(work.path())? {
        let name = file.strip_prefix(work.path()).unwrap_or(&file).to_string_lossy().into_owned();
        let content = tools::read(&file)?;
        for part in [name.as_bytes(), &content] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    let kept = target_dir.join("python").join(format!("{}.wasm", hasher.finish().hex()));
    if let Ok(component) = std::fs::read(&kept) {
        return Ok(Module::Component(component));
    }
    let out = place("out.wasm");
    let mut command = Command::new(componentize);
    command
        .current_dir(work.path())
        .args(["--quiet", "--wit-path", "wit", "--world", "transformer", "componentize", "--stub-wasi"])
        .args(["--python-path", "app", "--python-path", "packages", "--python-path", "sdk"])
        .arg("--output")
        .arg(&out)
        .arg("gristmill.component");
    tracing::info!(project = project.label(), "making a component with the interpreter in it: about half a minute");
    run(project, "componentize-py", &mut command)?;
    let component = tools::read(&out)?;
    keep(&kept, &component).map_err(|source| ToolchainError::File { path: kept.clone(), source })?;
    // Two builds at once agree on whichever is there first.
    Ok(Module::Component(tools::read(&kept)?))
}

fn keep(path: &Path, component: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    io::Write::write_all(&mut file, component)?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e.error),
    }
}

/// Copies the files of a folder, if it is there, but for hidden ones, caches, documents and the folders named.
fn copy(from: &Path, to: &Path, without: &[&str]) -> Result<(), ToolchainError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ToolchainError::File { path, source }
    };
    std::fs::create_dir_all(to).map_err(failed(to))?;
    if !from.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(from).map_err(failed(from))? {
        let path = entry.map_err(failed(from))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_left_out = name.starts_with('.') || name == "__pycache__" || without.contains(&name.as_str());
        if is_left_out || name.ends_with(".wasm") || name.ends_with(".md") {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(&name), &[])?;
        } else {
            std::fs::copy(&path, to.join(&name)).map_err(failed(&path))?;
        }
    }
    Ok(())
}

/// All files below a folder, sorted.
fn files(dir: &Path) -> Result<Vec<PathBuf>, ToolchainError> {
    let failed = |source| ToolchainError::File { path: dir.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    found.sort();
    Ok(found)
}
