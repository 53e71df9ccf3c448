//! What the documentation says is tried out: commands, pipelines, links, names of files and tests.
//!
//! Conventions for every Markdown file of the repository:
//!
//! * A fenced block `console` is run: lines that begin with `$ ` are commands, the lines after each are what it prints.
//!   `…` stands for anything within a line; a line that is only `…` stands for any number of lines. All commands
//!   exit with 0, except that in a block `console exit=N` the last one exits with N. The blocks of a page run in one
//!   workspace, from top to bottom, with `gristmill` on the path. A block `sh` is not run.
//! * A block with `file=NAME` is first written to that file of the workspace; `../gristmill` in it, and in commands, is the
//!   repository.
//! * A `yaml` block that has a task, a source and a sink is a whole pipeline, and loads where `data/` is that of
//!   `pipelines/flights`.
//! * Links to files resolve, with their headings. Paths in backticks exist, and so do functions: `tests/main.rs::name`.
//! * Every promise of `docs/guarantees.md` names a test.

mod markdown;

use crate::harness::{Workspace, root, settle};
use gristmill::config::Pipeline;
use markdown::{Block, Page, pages};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn commands_print_what_the_pages_say() {
    let mut commands = 0;
    for page in pages(&root()) {
        if !page.blocks.iter().any(|block| block.language == "console") {
            continue;
        }
        let workspace = Workspace::new();
        for block in &page.blocks {
            if let Some(name) = block.option("file") {
                write(&workspace, name, &block.text);
            }
            if block.language == "console" {
                commands += run(&workspace, &page, block);
            }
        }
    }
    assert!(commands > 20, "only {commands} commands found");
}

fn write(workspace: &Workspace, name: &str, text: &str) {
    let repository = root();
    let path = workspace.write(name, text.replace("../gristmill", &repository.display().to_string()));
    // A build in a target folder that others share goes by the times of sources: this one is newer than any of theirs.
    if path.extension().is_some_and(|extension| extension == "rs") {
        settle(&path, 0);
    }
    // A crate of its own resolves to what the repository has tested, without a look at a registry.
    if path.ends_with("Cargo.toml") {
        fs::copy(repository.join("Cargo.lock"), path.with_file_name("Cargo.lock")).unwrap();
    }
}

fn run(workspace: &Workspace, page: &Page, block: &Block) -> usize {
    let steps = block.steps();
    let last = steps.len().checked_sub(1).unwrap_or_else(|| panic!("{}:{}: no command", page.name, block.line));
    for (place, (command, expected)) in steps.iter().enumerate() {
        let binary = Path::new(env!("CARGO_BIN_EXE_gristmill")).parent().unwrap();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        let guests = std::env::var_os("GRISTMILL_GUEST_TARGET").unwrap_or_else(|| root().join("target/guests").into());
        let mut shell = Command::new("bash");
        let script = command.replace("../gristmill", &root().display().to_string());
        shell.args(["-euo", "pipefail", "-c", &format!("exec 2>&1\n{script}")]).current_dir(workspace.path("."));
        shell.env("PATH", path).env("GRISTMILL_GUEST_TARGET", guests).env("GRISTMILL_LOG", "warn").env("NO_COLOR", "1");
        shell.env("GRISTMILL_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled"));
        for variable in ["GRISTMILL_COMPONENTS", "GRISTMILL_STATE", "GRISTMILL_STORAGE", "GRISTMILL_FAULT"] {
            shell.env_remove(variable);
        }
        let output = shell.output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let exit = if place == last { block.option("exit").map_or(0, |exit| exit.parse().unwrap()) } else { 0 };
        let at = format!("{}:{}: $ {command}\n{printed}", page.name, block.line);
        assert_eq!(output.status.code(), Some(exit), "{at}");
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        assert!(markdown::matches(expected, &printed), "{at}\nthe page says:\n{}", expected.join("\n"));
    }
    steps.len()
}

#[test]
fn whole_pipelines_load() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("pipelines/flights/data"), folder.path().join("data")).unwrap();
    let mut loaded = 0;
    for page in pages(&root()) {
        for block in page.blocks.iter().filter(|block| block.language == "yaml") {
            let has = |key: &str| block.text.lines().any(|line| line.starts_with(key));
            if !["task:", "source:", "sink:"].into_iter().all(has) {
                continue;
            }
            let file = folder.path().join("pipeline.yaml");
            fs::write(&file, &block.text).unwrap();
            if let Err(diagnoses) = Pipeline::load(&file, &|_| None) {
                panic!("{}:{}: {diagnoses}", page.name, block.line);
            }
            loaded += 1;
        }
    }
    assert!(loaded >= 5, "only {loaded} pipelines found");
}

#[test]
fn links_resolve() {
    let pages = pages(&root());
    let mut broken = Vec::new();
    for page in &pages {
        for (line, link) in &page.links {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.path.clone() } else { page.path.parent().unwrap().join(file) };
            let Ok(target) = target.canonicalize() else {
                broken.push(format!("{}:{line}: {link} does not exist", page.name));
                continue;
            };
            let other = pages.iter().find(|other| other.path == target);
            if !heading.is_empty() && !other.is_some_and(|other| other.headings.iter().any(|slug| slug == heading)) {
                broken.push(format!("{}:{line}: {link}: no such heading", page.name));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn paths_and_functions_exist() {
    const FOLDERS: [&str; 9] =
        ["runner/", "wit/", "guest-sdk/", "transforms/", "pipelines/", "tests/", "docs/", "LICENSE", ".ci/"];
    let mut wrong = Vec::new();
    for page in pages(&root()).iter().filter(|page| page.is_about_the_repository()) {
        for (line, code) in &page.codes {
            let is_path =
                FOLDERS.iter().any(|folder| code.starts_with(folder)) && !code.contains([' ', '*', '<', '{', '…']);
            if is_path && let Err(why) = check_path(code) {
                wrong.push(format!("{}:{line}: `{code}`: {why}", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check_path(code: &str) -> Result<(), String> {
    let (path, function) = code.split_once("::").map_or((code, None), |(path, function)| (path, Some(function)));
    let path = root().join(path);
    if !path.exists() {
        return Err("no such file".into());
    }
    let Some(function) = function else { return Ok(()) };
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    match text.contains(&format!("fn {function}(")) || text.contains(&format!("fn {function}<")) {
        true => Ok(()),
        false => Err("no such function".into()),
    }
}

#[test]
fn every_promise_names_its_test() {
    let pages = pages(&root());
    let page = pages.iter().find(|page| page.name == "docs/guarantees.md").expect("the guarantees are there");
    let mut promises = 0;
    for section in page.text.split("\n### ").skip(1) {
        let (title, body) = section.split_once('\n').unwrap();
        promises += 1;
        assert!(title.starts_with(&format!("{promises}. ")), "promise {promises} is called `{title}`");
        let body = body.split("\n## ").next().unwrap();
        let tests: Vec<&str> = body.split('`').filter(|code| code.contains(".rs::")).collect();
        assert!(!tests.is_empty(), "promise {promises} names no test");
        for test in tests {
            check_path(test).unwrap_or_else(|why| panic!("promise {promises}: `{test}`: {why}"));
        }
        let words = title.to_lowercase();
        assert!(!words.contains("exactly once"), "promise {promises} is not scoped");
    }
    assert!(promises >= 15, "only {promises} promises found");
}
