//! Stored batches mapped again: into another target, in place, beside.

use super::orders::{self, line, lines, orders};
use crate::harness::Workspace;
use serde_json::Value;

fn workspace() -> Workspace {
    let workspace = orders::workspace("batch: { max_rows: 10 }\n");
    workspace.write("data/a.csv", lines(0..25, "a", 1));
    workspace.write("data/b.csv", lines(20..30, "b", 2));
    workspace.run().expect(0);
    workspace
}

fn replay(workspace: &Workspace, args: &[&str]) -> Value {
    let mut all = vec!["replay", "orders", "--json"];
    all.extend(args);
    workspace.gristmill(&all).expect(0).result()
}

#[test]
fn another_target_gets_the_same_rows_and_the_state_stays() {
    let workspace = workspace();
    let before: i64 = workspace.state("SELECT count(*) FROM batch");
    for _ in 0..2 {
        let copied = replay(&workspace, &["--pins", "original", "--into", "sqlite://copy.db"]);
        assert_eq!(copied["summary"]["receipts"], before);
    }
    let rows = |file: &str| -> Vec<String> {
        let target = rusqlite::Connection::open(workspace.path(file)).unwrap();
        let mut query = target.prepare("SELECT id || name || amount FROM orders ORDER BY id").unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(rows("copy.db"), rows("target.db"));
    assert_eq!(
        workspace.state::<i64>("SELECT count(*) FROM batch"),
        before,
        "no batch, no epoch, no checkpoint is new"
    );
    workspace.gristmill(&["replay", "orders", "--into", "sqlite://target.db"]).expect(3);
}

/// All of a history, mapped anew: a new epoch takes its place, and runs go on from its end.
#[test]
fn a_whole_replay_is_a_new_epoch() {
    let workspace = workspace();
    let expected = orders(&workspace);
    let dry = replay(&workspace, &["--pins", "current", "--dry-run"]);
    assert_eq!(dry["batches"], 4);
    let done = replay(&workspace, &["--pins", "current"]);
    assert_eq!((&done["kind"], &done["epoch"], &done["ended"]), (&"rebuild".into(), &2.into(), &true.into()));
    assert_eq!(orders(&workspace), expected);
    let data: i64 = workspace.state("SELECT count(*) FROM batch WHERE replay_of IS NOT NULL AND state = 'COMMITTED'");
    assert_eq!(data, 4);
    assert_eq!(workspace.run().expect(0).result()["summary"]["recordsRead"], 0, "nothing is read again");
    workspace.write("data/c.csv", line(99, "c", 1).replace("99,", "id,name,amount,at\n99,"));
    workspace.run().expect(0);
    assert_eq!(orders(&workspace).len(), 31);
    let epoch: i64 = workspace.state("SELECT epoch FROM batch ORDER BY created_at DESC LIMIT 1");
    assert_eq!(epoch, 2);
    let verified = workspace.gristmill(&["replay", "orders", "--verify", "--json"]).expect(0).result();
    assert_eq!(verified["equal"], 9);
}

/// A part of a history is repaired in place; newer rows are not touched, and the live history stays in force.
#[test]
fn a_repair_leaves_newer_rows() {
    let workspace = workspace();
    let expected = orders(&workspace);
    let done = replay(&workspace, &["--pins", "current", "--from", "1", "--to", "3"]);
    assert_eq!((&done["kind"], &done["summary"]["receipts"]), (&"repair".into(), &3.into()));
    assert_eq!(done["summary"]["outputs"]["orders"]["stale"], 5, "five orders were updated since: {done:#}");
    assert_eq!(orders(&workspace), expected);
    workspace.write("data/c.csv", lines(40..42, "c", 1));
    workspace.run().expect(0);
    let epoch: i64 = workspace.state("SELECT epoch FROM batch ORDER BY created_at DESC LIMIT 1");
    assert_eq!(epoch, 1, "the live history goes on");
    replay(&workspace, &["--pins", "current", "--from", "1", "--to", "1"]);
    workspace.run().expect(0);
}

#[test]
fn replays_that_cannot_be_are_refused_with_what_to_do() {
    let workspace = workspace();
    for (args, expected) in [
        (&["--pins", "original"][..], "--into"),
        (&["--pins", "version:9"], "version 9"),
        (&["--resume"], "--pins"),
        (&["--abandon"], "nothing to give up"),
        (&["--verify", "--pins", "current"], "transform diff"),
        (&["--pins", "current", "--batches", "01J2S0000000000000000000ZZ"], "01J2S0000000000000000000ZZ"),
    ] {
        let mut all = vec!["replay", "orders"];
        all.extend(args);
        let answer = workspace.gristmill(&all);
        assert!(matches!(answer.code, Some(2 | 3)) && answer.stderr.contains(expected), "{args:?}: {}", answer.stderr);
    }
}

/// A task that keeps its pages can replay normalize, too: to prove it, and to do it anew.
#[test]
fn pages_that_are_kept_are_normalized_again() {
    let pipeline = |mark: u32| {
        format!(
            "version: 1\ntask: kept\nschema: kept-v1\nkeep_raw: true\nsource:\n  files: {{ url: data/, format: csv, columns: {{ id: int64, name: utf8 }} }}\n\
             identity: [id]\nbatch: {{ max_rows: 10 }}\ntransforms:\n  normalize: {{ component: history@0.1.0, config: {{ mark: {{ column: mark, value: {mark} }} }} }}\n\
             sink:\n  sqlite: {{ url: \"sqlite://target.db\", table: kept }}\n"
        )
    };
    let workspace = Workspace::new();
    workspace.write("pipeline.yaml", pipeline(1));
    workspace.write("data/a.csv", (0..25).fold("id,name\n".to_owned(), |text, id| text + &format!("{id},n{id}\n")));
    workspace.run().expect(0);
    let verify = || {
        let verified = workspace.gristmill(&["replay", "kept", "--verify", "--json"]).expect(0).result();
        (verified["equal"].as_u64(), verified["normalized"].as_u64())
    };
    assert_eq!(verify(), (Some(3), Some(3)));
    let marks = || -> Vec<(i64, i64)> {
        let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
        let mut query = target.prepare("SELECT mark, count(*) FROM kept GROUP BY mark").unwrap();
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(marks(), [(1, 25)]);

    workspace.write("pipeline.yaml", pipeline(2));
    workspace.gristmill(&["publish", "pipeline.yaml"]).expect(0);
    workspace.gristmill(&["replay", "kept", "--pins", "current"]).expect(0);
    assert_eq!(marks(), [(2, 25)], "the new normalize made all records again");
    assert_eq!(verify(), (Some(6), Some(6)));
    workspace.gristmill(&["replay", "kept", "--pins", "version:1"]).expect(0);
    assert_eq!(marks(), [(1, 25)], "and the old one once more");
}
