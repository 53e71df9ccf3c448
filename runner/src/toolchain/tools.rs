//! Where pinned toolchains lie, and running them.

use super::ToolchainError;
use super::project::Project;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A pinned tool: `<tools>/<folder>/<file>`, where an SDK's `setup.sh` puts it.
pub(super) fn pinned(project: &Project, what: &str, folder: &str, file: &str) -> Result<PathBuf, ToolchainError> {
    let tool = dir().join(folder).join(file);
    match tool.exists() {
        true => Ok(tool),
        false => Err(ToolchainError::Missing {
            language: project.language,
            what: what.to_owned(),
            install: project.setup_command(),
        }),
    }
}

/// A tool of the system.
pub(super) fn in_path(project: &Project, name: &str) -> Result<PathBuf, ToolchainError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|tool| tool.is_file());
    found.ok_or_else(|| ToolchainError::Missing {
        language: project.language,
        what: name.to_owned(),
        install: project.setup_command(),
    })
}

/// `GRISTMILL_TOOLS`, or a folder of the user's.
pub(super) fn dir() -> PathBuf {
    let of_user = || {
        let home = std::env::var_os("HOME").map_or_else(std::env::temp_dir, PathBuf::from);
        home.join(".cache/gristmill/tools")
    };
    std::env::var_os("GRISTMILL_TOOLS").map_or_else(of_user, PathBuf::from)
}

/// Runs a compiler. What it says goes to standard error; standard output is for answers.
pub(super) fn run(project: &Project, tool: &str, command: &mut Command) -> Result<(), ToolchainError> {
    let failed = || ToolchainError::Build { tool: tool.to_owned(), project: project.label() };
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| ToolchainError::Command { command: tool.to_owned(), source })?;
    if output.status.success() {
        return Ok(());
    }
    eprint!("{}", String::from_utf8_lossy(&output.stdout));
    Err(failed())
}

/// The files below a folder with this extension, sorted: the order decides the bytes of what is built.
pub(super) fn sources(dir: &Path, extension: &str) -> Result<Vec<PathBuf>, ToolchainError> {
    let failed = |source| ToolchainError::File { path: dir.to_owned(), source };
    let entries = std::fs::read_dir(dir).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    Ok(files)
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, ToolchainError> {
    std::fs::read(path).map_err(|source| ToolchainError::File { path: path.to_owned(), source })
}

/// A folder that is gone when it is dropped.
pub(super) fn scratch() -> Result<tempfile::TempDir, ToolchainError> {
    tempfile::tempdir().map_err(|source| ToolchainError::File { path: std::env::temp_dir(), source })
}
