//! Runs one after the other: what is new is read, what is old is left alone.

use super::orders::{self, line, lines, orders};
use crate::harness::settle;
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn totals(answer: &Value) -> (u64, u64, u64) {
    let output = &answer["summary"]["outputs"]["orders"];
    let n = |key: &str| output[key].as_u64().unwrap_or(0);
    (n("inserted"), n("updated"), n("unchanged"))
}

#[test]
fn only_what_is_new_is_read() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..10, "a", 1));
    let first = workspace.run().expect(0).result();
    assert_eq!((first["summary"]["recordsRead"].as_u64(), totals(&first)), (Some(10), (10, 0, 0)));

    let second = workspace.run().expect(0).result();
    assert_eq!(second["summary"]["recordsRead"], 0, "nothing is new");
    assert_eq!(second["summary"]["batchesStored"], 0);

    // Touched, not changed: the digest tells.
    settle(&workspace.path("data/a.csv"), 60);
    assert_eq!(workspace.run().expect(0).result()["summary"]["recordsRead"], 0);

    // Changed: a new version, whose rows update by identity.
    let changed = lines(0..10, "a", 1).replace(&line(3, "a", 1), &line(3, "changed", 2));
    workspace.write("data/a.csv", changed);
    let third = workspace.run().expect(0).result();
    assert_eq!(totals(&third), (0, 1, 9), "one order changed, nine arrived again as they were");
    assert_eq!(orders(&workspace)[3], (3, "changed".into(), "2.50".into()));
}

#[test]
fn an_older_version_never_overwrites() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..5, "new", 9));
    workspace.run().expect(0);
    workspace.write("data/b.csv", lines(0..5, "old", 3));
    let answer = workspace.run().expect(0).result();
    assert_eq!(answer["summary"]["outputs"]["orders"]["stale"], 5);
    assert!(orders(&workspace).iter().all(|(_, name, _)| name == "new"));
}

#[test]
fn the_same_version_with_other_content_is_refused_and_reported() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..5, "first", 3));
    workspace.run().expect(0);
    workspace.write("data/b.csv", lines(0..5, "other", 3));
    let answer = workspace.run().expect(0).result();
    assert_eq!(answer["summary"]["deadLetters"]["version-conflict"], 5);
    assert!(orders(&workspace).iter().all(|(_, name, _)| name == "first"), "the target keeps what it had");
    let status = workspace.gristmill(&["status", "orders", "--json"]).expect(0).result();
    assert_eq!(status["tasks"][0]["deadLetters"][0]["class"], "version-conflict");
    assert_eq!(status["tasks"][0]["deadLetters"][0]["count"], 5);
}

#[test]
fn a_run_without_once_goes_on_until_it_is_stopped() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..10, "a", 1));
    let child = workspace
        .command(&["run", "--json", "pipeline.yaml"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    await_rows(&workspace, 10);
    workspace.write("data/b.csv", lines(10..20, "b", 1));
    await_rows(&workspace, 20);
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["result"]["summary"]["interrupted"], true);
    assert_eq!(
        workspace.run().expect(0).result()["summary"]["recordsRead"],
        0,
        "the interrupted run left nothing undone"
    );
}

fn await_rows(workspace: &crate::harness::Workspace, rows: i64) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
        let found = target.query_row("SELECT count(*) FROM orders", [], |row| row.get::<_, i64>(0)).unwrap_or(0);
        if found == rows {
            return;
        }
        assert!(Instant::now() < deadline, "{found} of {rows} rows arrived");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_changed_pipeline_is_a_new_version_and_an_unchanged_one_is_not() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..3, "a", 1));
    workspace.run().expect(0);
    workspace.run().expect(0);
    assert_eq!(workspace.state::<i64>("SELECT max(version) FROM task_version"), 1);
    workspace.write("pipeline.yaml", format!("# a comment\n{}", orders::pipeline("batch: { max_rows: 10 }\n")));
    workspace.run().expect(0);
    assert_eq!(workspace.state::<i64>("SELECT max(version) FROM task_version"), 2);
}

#[test]
fn a_frozen_schema_never_changes() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..3, "a", 1));
    workspace.run().expect(0);
    let changed = orders::pipeline("").replace("name: utf8", "name: binary");
    workspace.write("pipeline.yaml", changed);
    let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(2);
    assert!(answer.stderr.contains("pipeline.yaml:"), "{}", answer.stderr);
    assert!(answer.stderr.contains("orders-v1"), "{}", answer.stderr);
    assert_eq!(workspace.state::<i64>("SELECT max(version) FROM task_version"), 1, "nothing was published");
}

#[test]
fn inferred_columns_are_frozen() {
    let workspace = orders::workspace("");
    let columns = orders::pipeline("").lines().filter(|l| !l.contains("columns:")).collect::<Vec<_>>().join("\n");
    workspace.write("pipeline.yaml", columns.replace("{ column: at }", "position"));
    workspace.write("data/a.csv", "id,name\n1,a\n2,b\n");
    workspace.run().expect(0);
    assert_eq!(workspace.state::<i64>("SELECT inferred FROM source_schema"), 1);
    // Text in a column that was inferred as a number: a dead letter, not a silently wider type.
    workspace.write("data/b.csv", "id,name\nx,c\n3,d\n");
    let answer = workspace.run().expect(0).result();
    assert_eq!(answer["summary"]["deadLetters"]["unparsable-value"], 1);
}

#[test]
fn records_of_the_target_are_counted_and_tables_can_be_named() {
    for sink in [
        r#"sqlite: { url: "sqlite://target.db", tables: { orders: { table: bought } } }"#,
        "parquet: { url: target/, tables: { orders: { table: bought } } }",
    ] {
        let workspace = orders::workspace("");
        let pipeline = orders::pipeline("").replace("sqlite: { url: \"sqlite://target.db\", table: orders }", sink);
        workspace.write("pipeline.yaml", pipeline);
        workspace.write("data/a.csv", lines(0..10, "a", 1));
        workspace.write("data/b.csv", lines(5..15, "b", 2));
        let answer = workspace.gristmill(&["run", "--once", "--count", "--json", "pipeline.yaml"]).expect(0).result();
        assert_eq!(answer["summary"]["targetRecords"], serde_json::json!({ "orders": 15 }), "{sink}");
        if sink.starts_with("parquet") {
            assert!(!workspace.files("target/bought").is_empty(), "the output has a folder of its table's name");
        }
    }
}

#[test]
fn identity_and_versions_mean_the_same_for_the_life_of_a_task() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..3, "a", 1));
    workspace.run().expect(0);
    for (from, to, expected) in [
        ("identity: [id]", "identity: [id, name]", "gristmill schema plan"),
        ("{ column: at }", "position", "cannot change within a task"),
    ] {
        workspace.write("pipeline.yaml", orders::pipeline("").replace(from, to));
        let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(2);
        assert!(answer.stderr.contains(expected), "{}", answer.stderr);
    }
}

#[test]
fn a_target_that_lacks_committed_batches_stops_the_task() {
    for sink in [r#"sqlite: { url: "sqlite://target.db", table: orders }"#, "parquet: { url: target/ }"] {
        let workspace = orders::workspace("");
        let pipeline = orders::pipeline("").replace("sqlite: { url: \"sqlite://target.db\", table: orders }", sink);
        workspace.write("pipeline.yaml", pipeline);
        workspace.write("data/a.csv", lines(0..3, "a", 1));
        workspace.run().expect(0);
        for part in ["target.db", "target.db-wal", "target.db-shm", "target"] {
            let path = workspace.path(part);
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
        workspace.write("data/b.csv", lines(3..6, "b", 1));
        let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);
        assert!(answer.stderr.contains("the target lacks batch"), "{}", answer.stderr);
        // What the hint says: a new state fills the new target.
        workspace.gristmill(&["--state", "again", "run", "--once", "pipeline.yaml"]).expect(0);
    }
}

#[test]
fn a_state_older_than_its_target_is_stopped_however_often_it_starts() {
    for sink in [r#"sqlite: { url: "sqlite://target.db", table: orders }"#, "parquet: { url: target/ }"] {
        let workspace = orders::workspace("");
        let pipeline = orders::pipeline("").replace("sqlite: { url: \"sqlite://target.db\", table: orders }", sink);
        workspace.write("pipeline.yaml", pipeline);
        workspace.write("data/a.csv", lines(0..3, "a", 1));
        workspace.run().expect(0);
        std::fs::remove_dir_all(workspace.path(".gristmill")).unwrap();
        // Its tokens start anew and rise with every start: they alone would let it pass some time.
        for _ in 0..3 {
            let answer = workspace.run().expect(3);
            assert!(answer.stdout.contains("which this state does not know"), "{}", answer.stdout);
        }
        assert_eq!(workspace.state::<i64>("SELECT count(*) FROM batch"), 0, "nothing was read");
    }
}

#[test]
fn a_table_belongs_to_one_task_and_a_task_keeps_its_tables() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..3, "a", 1));
    workspace.run().expect(0);
    workspace.write("pipeline.yaml", orders::pipeline("").replace("task: orders", "task: renamed"));
    let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);
    assert!(answer.stderr.contains("belongs to task `orders`"), "{}", answer.stderr);

    workspace.write("pipeline.yaml", orders::pipeline("").replace("table: orders", "table: elsewhere"));
    let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(2);
    assert!(answer.stderr.contains("the sink's table has changed"), "{}", answer.stderr);
}

#[test]
fn what_the_sink_cannot_hold_is_said_before_anything_is_frozen() {
    for (from, to, said) in [
        ("name: utf8", "gristmill_name: utf8", "gristmill_"),
        ("id: int64", "id: float64", "cannot identify a record"),
        ("name: utf8", "name: \"list<int64>\"", "list"),
    ] {
        let workspace = orders::workspace("");
        workspace.write("pipeline.yaml", orders::pipeline("").replace(from, to));
        workspace.write("data/a.csv", lines(0..3, "a", 1));
        for verb in [["validate", "pipeline.yaml"].as_slice(), ["run", "--once", "pipeline.yaml"].as_slice()] {
            let answer = workspace.gristmill(verb).expect(2);
            assert!(answer.stderr.to_lowercase().contains(said), "{to}: {}", answer.stderr);
            assert!(answer.stderr.contains("pipeline.yaml:"), "{to}: {}", answer.stderr);
        }
        assert!(!workspace.path(".gristmill").exists(), "{to}");
    }
}

#[test]
fn a_wrong_type_does_not_swallow_a_small_file() {
    let workspace = orders::workspace("");
    workspace.write("pipeline.yaml", orders::pipeline("").replace("name: utf8", "name: int64"));
    workspace.write("data/a.csv", lines(0..3, "a", 1));
    let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);
    assert!(answer.stderr.contains("none of the 3 records"), "{}", answer.stderr);
    assert_eq!(workspace.state::<i64>("SELECT count(*) FROM batch"), 0, "the file does not count as read");
}
