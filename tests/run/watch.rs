//! `gristmill run --watch`: what is edited goes live at a batch boundary, what is broken does not.

use crate::harness::{Workspace, components};
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

fn pipeline(mark: u32) -> String {
    format!(
        "version: 1\ntask: watched\nschema: watched-v1\nsource:\n  files: {{ url: data/, format: csv, columns: {{ id: int64, fare: \"decimal128(8, 2)\" }} }}\n\
         identity: [id]\ntransforms:\n  map: {{ component: map.wasm, config: {{ output: rows, mark: {{ column: mark, value: {mark} }} }} }}\n\
         sink:\n  sqlite: {{ url: \"sqlite://target.db\", tables: {{ rows: {{}} }} }}\n"
    )
}

/// As editors save: a new file takes the place of the old one.
fn replace(workspace: &Workspace, name: &str, content: impl AsRef<[u8]>) {
    let written = workspace.write(&format!("{name}.new"), content);
    std::fs::rename(written, workspace.path(name)).unwrap();
}

fn await_that(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn marks(workspace: &Workspace) -> Vec<(i64, i64)> {
    let Ok(target) = rusqlite::Connection::open(workspace.path("target.db")) else { return Vec::new() };
    let Ok(mut query) = target.prepare("SELECT id, mark FROM rows ORDER BY id") else { return Vec::new() };
    query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

fn stop(mut child: Child) -> String {
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    said
}

#[test]
fn what_is_edited_goes_live_and_what_is_broken_does_not() {
    let workspace = Workspace::new();
    let component = std::fs::read(components().join("history@0.1.0.wasm")).unwrap();
    workspace.write("map.wasm", &component);
    workspace.write("pipeline.yaml", pipeline(1));
    workspace.write("data/a.csv", "id,fare\n1,1.00\n");
    let mut command = workspace.command(&["run", "--watch", "pipeline.yaml"]);
    let child =
        command.env("GRISTMILL_LOG", "gristmill=info").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    await_that("the first file", || marks(&workspace) == [(1, 1)]);
    let versions = || workspace.state::<i64>("SELECT max(version) FROM task_version");

    replace(&workspace, "pipeline.yaml", pipeline(2));
    await_that("the edited pipeline is version 2", || versions() == 2);
    workspace.write("data/b.csv", "id,fare\n2,1.00\n");
    await_that("the next file is mapped by it", || marks(&workspace) == [(1, 1), (2, 2)]);

    // Broken, then half-written: neither becomes a version, and the run goes on.
    replace(&workspace, "pipeline.yaml", "version: 1\ntask: [");
    workspace.write("data/c.csv", "id,fare\n3,1.00\n");
    await_that("the file after the broken pipeline", || marks(&workspace).len() == 3);
    replace(&workspace, "pipeline.yaml", pipeline(3));
    await_that("the mended pipeline is version 3", || versions() == 3);
    workspace.write("map.wasm", &component[..component.len() / 2]);
    workspace.write("data/d.csv", "id,fare\n4,1.00\n");
    await_that("the file after the half-written component", || marks(&workspace).len() == 4);
    assert_eq!(versions(), 3);

    // A component of other bytes under the same path is another version.
    let mut other = component.clone();
    other.extend([0, 4, 1, b'v', b'1', b'1']);
    replace(&workspace, "map.wasm", other);
    await_that("the new component is version 4", || versions() == 4);
    let said = stop(child);
    assert!(said.contains("not published, the version in force stays"), "{said}");
    assert_eq!(marks(&workspace), [(1, 1), (2, 2), (3, 2), (4, 3)]);
}
