//! Every language: the conformance transform with the same digests, exceptions, exits and leaks, the cases of all transforms,
//! toolchains that are not there. `make guests` builds what this needs and prints the table.

mod cases_in_files;
mod leaks;

use crate::harness::{Workspace, components, root};
use gristmill::cases::{self, Folder, Report};
use gristmill::host::{Host, HostLimits, Reject, RejectKind, Stage};
use gristmill::toolchain::Language;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The component that `make guests` built of `transforms/<language>/conformance`.
fn conformance(language: Language) -> Vec<u8> {
    let path = components().join(language.as_str()).join("conformance@0.1.0.wasm");
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}: run `make guests`", path.display()))
}

fn cases_dir() -> PathBuf {
    root().join("tests/conformance/cases")
}

/// A host with the cache of all tests: a component of a large runtime takes a while to compile.
fn host() -> Host {
    Host::new(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled"), HostLimits::default()).unwrap()
}

#[test]
fn every_language_gives_the_same_digests() {
    let host = host();
    let mut reports: BTreeMap<&str, Report> = BTreeMap::new();
    for language in Language::ALL {
        let report = cases::run(&host, &conformance(language), Stage::Normalize, &cases_dir()).unwrap();
        reports.insert(language.as_str(), report);
    }
    let table = table(&reports);
    // For whoever runs this with --nocapture.
    println!("{table}");
    for (language, report) in &reports {
        assert!(report.passed(), "{language}:\n{report}\n{table}");
    }
    for report in reports.values() {
        let digests = |report: &Report| report.cases.iter().map(|case| case.outcome.digests).collect::<Vec<_>>();
        assert_eq!(digests(report), digests(&reports["rust"]), "\n{table}");
    }
}

/// A line for each case, a column for each language: the digest of the outputs, or that it fails as it must.
fn table(reports: &BTreeMap<&str, Report>) -> String {
    let mut text = format!("{:<18}", "");
    reports.keys().for_each(|language| text += &format!("{language:<16}"));
    for (place, case) in reports["rust"].cases.iter().enumerate() {
        text += &format!("\n{:<18}", case.name);
        for report in reports.values() {
            let outcome = &report.cases[place].outcome;
            text += &match (outcome.passed(), outcome.digests) {
                (true, Some(digests)) => format!("{:<16}", digests.outputs.short()),
                (true, None) => format!("{:<16}", "fails, as told"),
                (false, _) => format!("{:<16}", "FAILED"),
            };
        }
    }
    text + "\n"
}

/// A case of which the second row misbehaves: it is isolated, and the others are kept. Gives what the operator sees of it.
fn poison(host: &Host, language: Language, case: &str) -> Reject {
    let folder = Folder::open(&cases_dir(), Stage::Normalize).unwrap();
    let case = folder.cases().iter().find(|known| known.name == case).unwrap();
    let (rows, operations) = cases::rows_of(case).unwrap();
    let component = host.load(&conformance(language)).unwrap();
    let planned = host.plan(&component, Stage::Normalize, "{}", &rows.schema(), folder.dictionaries()).unwrap();
    let output = planned.process(&rows, &operations).unwrap();
    assert_eq!(output.outputs[0].rows.num_rows(), rows.num_rows() - 1, "{language}");
    let [reject] = output.rejects.as_slice() else { panic!("{language}: {:?}", output.rejects) };
    assert_eq!((reject.row, reject.kind), (1, RejectKind::Poison), "{language}");
    reject.clone()
}

/// What is raised in the guest's language reaches the operator, and costs the row alone.
#[test]
fn an_exception_costs_its_row_and_keeps_its_message() {
    let host = host();
    for language in Language::ALL {
        let reject = poison(&host, language, "raise");
        // A language whose panics end the instance cannot say more than where.
        let (code, said) = match language {
            Language::Rust | Language::C | Language::Zig => ("trap", "unreachable"),
            Language::Go | Language::TypeScript | Language::Python => ("exception", "asked to raise"),
        };
        assert_eq!(reject.code, code, "{language}: {}", reject.message);
        assert!(reject.message.contains(said), "{language}: {}", reject.message);
    }
}

/// A guest that ends itself ends nothing else.
#[test]
fn an_exit_costs_its_row() {
    let host = host();
    for language in Language::ALL {
        let reject = poison(&host, language, "leave");
        let (code, said) = match language {
            Language::Rust | Language::C | Language::Zig => ("trap", "unreachable"),
            Language::Go => ("trap", "os.Exit"),
            Language::TypeScript => ("exception", "asked to leave"),
            Language::Python => ("exception", "SystemExit"),
        };
        assert_eq!(reject.code, code, "{language}: {}", reject.message);
        assert!(reject.message.contains(said), "{language}: {}", reject.message);
    }
}

/// The cases of every transform, through the component that was built of it.
#[test]
fn every_transform_passes_its_cases() {
    let host = host();
    for project in glob(&root().join("transforms/*/*")) {
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let (transform, language) = (name(&project), name(project.parent().unwrap()));
        // The one has cases for all languages, the other changes nothing.
        if ["conformance", "identity"].contains(&transform.as_str()) {
            continue;
        }
        let folder = if language == "rust" { components() } else { components().join(&language) };
        let component = std::fs::read(folder.join(format!("{transform}@0.1.0.wasm"))).unwrap();
        let report = cases::run(&host, &component, Stage::Normalize, &project.join("cases"))
            .unwrap_or_else(|e| panic!("{language}/{transform}: {e}"));
        assert!(report.passed(), "{language}/{transform}:\n{report}");
    }
}

/// Folders that match, with `*` for a whole name.
fn glob(pattern: &Path) -> Vec<PathBuf> {
    pattern.iter().fold(vec![PathBuf::new()], |found, part| {
        let below = |dir: PathBuf| match part.to_str() {
            Some("*") => std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect(),
            _ => vec![dir.join(part)],
        };
        found.into_iter().flat_map(below).filter(|path| path.is_dir()).collect()
    })
}

#[test]
fn a_project_that_cannot_be_started_is_refused() {
    let workspace = Workspace::new();
    workspace.write("taken/notes.txt", "mine");
    for (arguments, said) in [
        (&["taken", "--lang", "go"][..], "taken exists and is not empty"),
        (&["Web_Log", "--lang", "go"], "lower-case letters"),
        (&["../web-log", "--lang", "go"], "lower-case letters"),
        (&["web-log", "--lang", "cobol"], "rust, typescript, javascript"),
        (&["web-log", "--lang", "go", "--stage", "load"], "normalize, migrate and map"),
        (&["web-log"], "--lang"),
    ] {
        let answer = workspace.gristmill(&[&["transform", "new"], arguments].concat()).expect(2);
        assert!(answer.stderr.contains(said), "{arguments:?}: {}", answer.stderr);
        assert_eq!(workspace.files("."), [workspace.path("./taken/notes.txt")], "{arguments:?}");
    }
    let answer = workspace.gristmill(&["transform", "build", "nowhere"]).expect(2);
    assert!(answer.stderr.contains("there is no such folder"), "{}", answer.stderr);
    let answer = workspace.gristmill(&["transform", "build", "taken"]).expect(2);
    assert!(answer.stderr.contains("gristmill transform new"), "{}", answer.stderr);
}

#[test]
fn a_missing_toolchain_is_named_and_leaves_the_others_alone() {
    let workspace = Workspace::new();
    let gristmill = |arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        let guests = std::env::var_os("GRISTMILL_GUEST_TARGET").unwrap_or_else(|| root().join("target/guests").into());
        command.env("GRISTMILL_TOOLS", workspace.path("nothing")).env("GRISTMILL_GUEST_TARGET", guests);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (language, what) in
        [("c", "Zig"), ("zig", "Zig"), ("go", "Go"), ("typescript", "tsc"), ("python", "componentize-py")]
    {
        assert_eq!(gristmill(&["transform", "new", language, "--lang", language]).0, Some(0), "{language}");
        let (code, stderr) = gristmill(&["transform", "build", language]);
        assert_eq!(code, Some(2), "{language}: {stderr}");
        assert!(stderr.contains(&format!("error: {what}")), "{language}: {stderr}");
        assert!(stderr.contains(&format!("{language}/vendor/gristmill/setup.sh")), "{language}: {stderr}");
        assert!(!workspace.path(&format!("components/{language}@0.1.0.wasm")).exists());
    }
    let identity = root().join("transforms/rust/identity");
    let (code, stderr) = gristmill(&["transform", "build", identity.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{stderr}");
}
