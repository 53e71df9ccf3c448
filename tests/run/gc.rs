//! What nothing refers to goes; what anything refers to stays.

use super::orders::{self, lines, orders};
use crate::harness::{Answer, Process, Workspace, settle, until};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const STORE: &str = ".gristmill/store";

fn pipeline(version: &str, extra: &str) -> String {
    orders::pipeline(&format!("transforms: {{ map: variant@{version} }}\n{extra}"))
}

fn gristmill(workspace: &Workspace, args: &[&str]) -> Answer {
    // A cache of its own: that of the tests is not to be collected.
    let cache = workspace.path("cache");
    let fixed = ["--components", "components", "--cache", cache.to_str().unwrap(), "--json"];
    workspace.gristmill(&[args, &fixed].concat())
}

fn gc(workspace: &Workspace, args: &[&str]) -> Value {
    gristmill(workspace, &[&["gc"], args].concat()).expect(0).result()
}

fn workspace() -> Workspace {
    let workspace = orders::workspace("");
    workspace.variant("1.0.0", "");
    workspace.variant("1.1.0", "u");
    workspace.write("pipeline.yaml", pipeline("1.0.0", "keep_raw: true\nbatch: { max_rows: 10 }\n"));
    workspace.write("data/a.csv", lines(0..20, "a", 1));
    gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(0);
    workspace
}

/// Everything in the store was written long ago.
fn aged(workspace: &Workspace) {
    for file in workspace.files(".gristmill") {
        if !file.ends_with("state.db") && !file.to_string_lossy().contains("state.db-") {
            settle(&file, 7200);
        }
    }
}

fn old(workspace: &Workspace, name: &str, content: &str) -> PathBuf {
    let path = workspace.write(name, content);
    settle(&path, 7200);
    path
}

fn stored(workspace: &Workspace) -> BTreeSet<PathBuf> {
    workspace.files(STORE).into_iter().collect()
}

/// Batches are whole and still give the rows that were committed.
fn all_equal(workspace: &Workspace) {
    let verified = gristmill(workspace, &["batches", "verify", "orders"]).expect(0).result();
    assert_eq!(verified["damaged"], json!([]));
    let replayed = gristmill(workspace, &["replay", "orders", "--verify"]).expect(0).result();
    assert_eq!(replayed["different"], json!([]));
    assert!(replayed["equal"].as_u64().unwrap() > 0);
}

fn reasons(found: &Value) -> BTreeSet<String> {
    found["leftovers"].as_array().unwrap().iter().map(|l| l["reason"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn leftovers_of_every_kind_go_and_nothing_else() {
    let workspace = workspace();
    let kept = stored(&workspace);
    let batch = "01J2S0000000000000000000ZZ";
    let crafted = [
        (format!("{STORE}/batches/orders/1/all/{batch}/data.parquet"), "discarded"),
        (format!("{STORE}/batches/orders/1/all/{batch}/manifest.json#1"), "unfinished-put"),
        (format!("{STORE}/components/sha256/{}", "a".repeat(64)), "unused-component"),
        (format!("{STORE}/dictionaries/sha256/{}", "b".repeat(64)), "unused-dictionary"),
        (format!("{STORE}/components/sha256/{}#2", "c".repeat(64)), "unfinished-put"),
        (format!("{STORE}/probe/0123456789ab"), "probe"),
        (".gristmill/spool/object".into(), "scratch"),
        (".gristmill/scratch-abc".into(), "scratch"),
        (format!("cache/{}-0123456789ab.aot", "a".repeat(64)), "compiled"),
    ];
    let foreign = old(&workspace, &format!("{STORE}/somebody/elses.txt"), "hands off");
    let compiled_elsewhere = old(&workspace, &format!("cache/{}-0123456789ab.aot", "d".repeat(64)), "of another state");
    for (name, _) in &crafted {
        old(&workspace, name, "leftover");
    }
    aged(&workspace);

    let found = gc(&workspace, &[]);
    assert_eq!(gc(&workspace, &["--dry-run"])["leftovers"], found["leftovers"]);
    assert_eq!(found["removed"], Value::Null, "without a word nothing is removed");
    let expected: BTreeSet<_> = crafted.iter().map(|(_, reason)| (*reason).to_owned()).collect();
    assert_eq!(reasons(&found), expected);
    assert_eq!(found["leftovers"].as_array().unwrap().len(), crafted.len(), "{found:#}");
    assert!(crafted.iter().all(|(name, _)| workspace.path(name).exists()));
    let text = workspace.gristmill(&["gc", "--cache", workspace.path("cache").to_str().unwrap()]).expect(0).stdout;
    assert!(text.contains("components that no batch, version or label names"), "{text}");
    assert!(text.contains("nothing was removed; `gristmill gc --yes`"), "{text}");

    let swept = gc(&workspace, &["--yes"]);
    assert_eq!(swept["removed"]["spared"], json!([]));
    for (name, _) in &crafted {
        assert!(!workspace.path(name).exists(), "{name} is still there");
    }
    assert!(foreign.exists() && compiled_elsewhere.exists());
    std::fs::remove_file(foreign).unwrap();
    assert_eq!(stored(&workspace), kept, "nothing else went");
    assert_eq!(gc(&workspace, &["--yes"])["leftovers"], json!([]), "and nothing is left");
    all_equal(&workspace);
}

#[test]
fn what_is_young_stays() {
    let workspace = workspace();
    let path = workspace.path(&format!("{STORE}/components/sha256/{}", "a".repeat(64)));
    std::fs::write(&path, "just put, and named soon").unwrap();
    let found = gc(&workspace, &["--yes"]);
    assert_eq!(found["leftovers"], json!([]));
    assert!(found["kept"]["young"]["count"].as_u64().unwrap() >= 1, "{found:#}");
    assert!(path.exists());
}

/// Replays share data files and pages with the batches that they map anew; versions and labels keep their components.
#[test]
fn shared_files_and_pinned_components_stay() {
    let workspace = workspace();
    gristmill(&workspace, &["publish", "pipeline.yaml"]).expect(0);
    workspace.write("next.yaml", pipeline("1.1.0", "keep_raw: true\nbatch: { max_rows: 10 }\n"));
    gristmill(&workspace, &["publish", "next.yaml"]).expect(0);
    gristmill(&workspace, &["replay", "orders", "--pins", "version:2", "--from", "1", "--to", "1"]).expect(0);
    // Deployed, and used by nobody yet: its label keeps it.
    workspace.variant("1.2.0", "x");
    gristmill(&workspace, &["transform", "deploy", "components/variant@1.2.0.wasm"]).expect(0);
    aged(&workspace);
    let before = stored(&workspace);
    let shared = "SELECT count(*) FROM batch WHERE replay_of IS NOT NULL";
    assert_eq!(workspace.state::<i64>(shared), 1, "a batch that shares its data");
    let swept = gc(&workspace, &["--yes"]);
    assert_eq!((&swept["leftovers"], stored(&workspace)), (&json!([]), before));
    all_equal(&workspace);
}

/// A run that was killed while it wrote a batch, one whose file was cut on its way, and a batch that was set aside.
#[test]
fn what_killed_runs_and_quarantine_leave_goes() {
    let workspace = workspace();
    for (number, fault) in ["batch-manifest-before", "batch-ready-before"].into_iter().enumerate() {
        workspace.write(&format!("data/{number}.csv"), lines(100 + number * 10..105 + number * 10, "b", 1));
        let mut command = workspace.command(&["run", "--once", "pipeline.yaml", "--components", "components"]);
        assert!(!command.env("GRISTMILL_FAULT", fault).output().unwrap().status.success());
    }
    // The second run has discarded what the first left; its own is left.
    assert_eq!(workspace.state::<i64>("SELECT count(*) FROM batch WHERE state = 'WRITING'"), 1);
    // Its lease is over when its time is.
    let state = rusqlite::Connection::open(workspace.path(".gristmill/state.db")).unwrap();
    state.execute("UPDATE lease SET lease_until = 0", []).unwrap();
    aged(&workspace);
    assert_eq!(reasons(&gc(&workspace, &[])), ["never-ready".to_owned()].into());
    let swept = gc(&workspace, &["--yes"]);
    assert_eq!(swept["removed"]["spared"], json!([]), "{swept:#}");
    assert_eq!(
        workspace.state::<i64>("SELECT count(*) FROM batch WHERE state = 'WRITING'"),
        0,
        "its row went with its files"
    );
    all_equal(&workspace);

    let mut command = workspace.command(&["run", "--once", "pipeline.yaml", "--components", "components"]);
    assert!(!command.env("GRISTMILL_FAULT", "batch-ready-after").output().unwrap().status.success());
    let ready: String = workspace.state("SELECT batch_id FROM batch WHERE state = 'READY'");
    aged(&workspace);
    assert_eq!(gc(&workspace, &["--yes"])["leftovers"], json!([]), "what is READY stays");
    gristmill(&workspace, &["batches", "quarantine", &ready]).expect(0);
    let swept = gc(&workspace, &["--yes"]);
    assert_eq!(reasons(&swept), ["quarantined".to_owned()].into());
    assert!(!stored(&workspace).iter().any(|path| path.to_string_lossy().contains(&ready)));

    gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(0);
    assert_eq!(orders(&workspace).len(), 30, "the ranges were read again");
    all_equal(&workspace);
}

#[test]
fn a_manifest_that_cannot_be_read_keeps_all_that_it_may_name() {
    let workspace = workspace();
    let unused = old(&workspace, &format!("{STORE}/components/sha256/{}", "a".repeat(64)), "unused, as it seems");
    let probe = old(&workspace, &format!("{STORE}/probe/0123456789ab"), "probe");
    let manifest = stored(&workspace).into_iter().find(|path| path.ends_with("manifest.json")).unwrap();
    crate::harness::flip_bit(&manifest);
    aged(&workspace);
    let answer = gristmill(&workspace, &["gc", "--yes"]).expect(3).result();
    assert_eq!(answer["unreadable"].as_array().unwrap().len(), 1, "{answer:#}");
    assert!(unused.exists() && !probe.exists(), "only what nothing can name goes: {answer:#}");
}

/// While a run goes on and is fed, garbage is collected again and again; each time all that it stored is whole.
#[test]
fn a_running_worker_loses_nothing() {
    let workspace = workspace();
    let run = Process::start(&workspace, &["run", "pipeline.yaml", "--components", "components", "--json"]);
    for round in 0..8 {
        let from = 100 + round * 10;
        workspace.write(&format!("data/fed-{round}.csv"), lines(from..from + 10, "c", 1));
        old(&workspace, &format!("{STORE}/dictionaries/sha256/{}", format!("{round:x}").repeat(64)), "leftover");
        let swept = gc(&workspace, &["--yes"]);
        assert_eq!(reasons(&swept), ["unused-dictionary".to_owned()].into(), "{swept:#}");
        until("the rows of the round", || orders(&workspace).len() == 20 + (round + 1) * 10);
    }
    let ended = run.interrupt().expect(130).result();
    assert_eq!(ended["summary"]["deadLetters"], json!({}));
    all_equal(&workspace);
    assert!(Path::new(&workspace.path("target.db")).exists());
}

/// A batch that a suspended worker has in hand is left to it, however old its files look.
#[test]
fn a_suspended_worker_finds_its_batch_again() {
    let workspace = workspace();
    workspace.write("data/b.csv", lines(100..110, "b", 1));
    let args = ["run", "--once", "pipeline.yaml", "--components", "components", "--json"];
    let worker = Process::suspended(&workspace, &args, "batch-manifest-after");
    aged(&workspace);
    let swept = gc(&workspace, &["--yes"]);
    assert!(swept["kept"]["being-written"]["count"].as_u64().unwrap() >= 2, "its lease is live: {swept:#}");
    // Later its lease has run out, but the process is there.
    let state = rusqlite::Connection::open(workspace.path(".gristmill/state.db")).unwrap();
    state.execute("UPDATE lease SET lease_until = 0", []).unwrap();
    let swept = gc(&workspace, &["--yes"]);
    assert_eq!(reasons(&swept), ["never-ready".to_owned()].into());
    assert!(!swept["removed"]["spared"].as_array().unwrap().is_empty(), "spared, since its worker lives: {swept:#}");
    worker.wake();
    worker.end().expect(0);
    assert_eq!(orders(&workspace).len(), 30);
    all_equal(&workspace);
}
