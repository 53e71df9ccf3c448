//! Cases go where their component goes, so that whoever deploys it can run them.

use super::{Project, ToolchainError};
use std::io;
use std::path::{Path, PathBuf};

/// The folder beside `<label>.wasm` that holds the component's cases.
pub fn dir_name(label: &str) -> String {
    format!("{label}.cases")
}

/// Copies a project's cases beside its component. Those of an earlier build go; a project without cases leaves none.
pub(super) fn publish(project: &Project, out_dir: &Path) -> Result<(), ToolchainError> {
    let (from, to) = (project.dir.join("cases"), out_dir.join(dir_name(&project.label())));
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| ToolchainError::File { path, source }
    };
    // Built beside and renamed: a reader sees whole cases.
    let new = tempfile::tempdir_in(out_dir).map_err(file(out_dir))?;
    if from.is_dir() {
        copy(&from, &new.path().join("new")).map_err(file(&from))?;
    }
    if to.exists() {
        std::fs::rename(&to, new.path().join("old")).map_err(file(&to))?;
    }
    match from.is_dir() {
        true => std::fs::rename(new.path().join("new"), &to).map_err(file(&to)),
        false => Ok(()),
    }
}

/// Files and folders; links are followed, and copied as what they lead to.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let path: PathBuf = entry?.path();
        let Some(name) = path.file_name() else { continue };
        match path.is_dir() {
            true => copy(&path, &to.join(name))?,
            false => std::fs::copy(&path, to.join(name)).map(drop)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_follow_their_project() {
        let dir = tempfile::tempdir().unwrap();
        let (project, out) = (dir.path().join("project"), dir.path().join("out"));
        std::fs::create_dir_all(project.join("cases/data")).unwrap();
        std::fs::create_dir(&out).unwrap();
        let publish = || publish(&Project::new(&project, "a", "1.0.0"), &out).unwrap();
        let listed = || {
            let entries =
                std::fs::read_dir(&out).unwrap().flat_map(|entry| std::fs::read_dir(entry.unwrap().path()).unwrap());
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        std::fs::write(project.join("cases/first.in.jsonl"), "{}").unwrap();
        std::fs::write(project.join("cases/data/codes.csv"), "a").unwrap();
        publish();
        assert_eq!(listed(), ["data", "first.in.jsonl"]);
        assert_eq!(std::fs::read(out.join("a@1.0.0.cases/data/codes.csv")).unwrap(), b"a");

        std::fs::rename(project.join("cases/first.in.jsonl"), project.join("cases/second.in.jsonl")).unwrap();
        publish();
        assert_eq!(listed(), ["data", "second.in.jsonl"], "what went is gone");

        std::fs::remove_dir_all(project.join("cases")).unwrap();
        publish();
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0);
    }
}
