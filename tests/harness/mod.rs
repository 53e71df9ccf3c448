//! Temporary workspaces around the real binary.

mod process;
mod target;
mod variant;

pub use process::{Process, until};
pub use target::{Row, Target};

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the runner lies in the workspace").to_owned()
}

/// Where the built components are.
pub fn components() -> PathBuf {
    let folder =
        std::env::var_os("GRISTMILL_COMPONENTS").map_or_else(|| root().join("target/components"), PathBuf::from);
    assert!(folder.join("flights-map@0.1.0.wasm").exists(), "no components in {}: run `make guests`", folder.display());
    folder
}

/// A folder with a pipeline, its data, its state and its target, gone at the end.
pub struct Workspace {
    dir: tempfile::TempDir,
}

/// What a command answered.
pub struct Answer {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the binary prints UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The `result` of a `--json` answer.
    pub fn result(&self) -> Value {
        self.json()["result"].clone()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("not JSON: {e}\nstdout: {}\nstderr: {}", self.stdout, self.stderr))
    }

    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\nstdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }
}

impl Workspace {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary folder") }
    }

    /// Inside another folder, such as a small file system.
    pub fn inside(folder: &Path) -> Self {
        Self { dir: tempfile::tempdir_in(folder).expect("a temporary folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file, with a modification time old enough to be settled.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("below the workspace")).unwrap();
        fs::write(&path, content).unwrap();
        settle(&path, 3600);
        path
    }

    /// `gristmill <args>`, in this folder.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gristmill"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("GRISTMILL_COMPONENTS", components())
            // Compiled components depend on their bytes alone: one cache for all tests saves a minute of compiling.
            .env("GRISTMILL_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled"))
            .env_remove("GRISTMILL_STATE")
            .env_remove("GRISTMILL_STORAGE")
            .env_remove("GRISTMILL_FAULT")
            .env("GRISTMILL_LOG", "warn")
            .stdin(Stdio::null());
        command
    }

    pub fn gristmill(&self, args: &[&str]) -> Answer {
        Answer::of(self.command(args).output().expect("the binary starts"))
    }

    /// `gristmill run --once --json pipeline.yaml`.
    pub fn run(&self) -> Answer {
        self.gristmill(&["run", "--once", "--json", "pipeline.yaml"])
    }

    /// The same, armed with a fault.
    pub fn run_with_fault(&self, fault: &str) -> Answer {
        self.with_fault(&["run", "--once", "--json", "pipeline.yaml"], fault)
    }

    /// `gristmill <args>`, armed with a fault.
    pub fn with_fault(&self, args: &[&str], fault: &str) -> Answer {
        Answer::of(self.command(args).env("GRISTMILL_FAULT", fault).output().expect("the binary starts"))
    }

    /// One value of the runner's state, by SQL.
    pub fn state<T: rusqlite::types::FromSql>(&self, sql: &str) -> T {
        let state = rusqlite::Connection::open(self.path(".gristmill/state.db")).unwrap();
        state.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    /// All files below a folder.
    pub fn files(&self, below: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.path(below)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    }
}

/// Sets a modification time in the past: a file at rest.
pub fn settle(path: &Path, seconds_ago: u64) {
    let at = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds_ago);
    fs::File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
}

/// Copies a folder; its files are at rest.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            settle(&target, 3600);
        }
    }
}

/// Flips one bit in the middle of a file.
pub fn flip_bit(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}
