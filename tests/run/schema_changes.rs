//! What a run does when its source shows other columns, and how a task gets to another schema.

use super::orders::{self, HEADER, line, lines, orders};
use crate::harness::{Answer, Workspace};
use serde_json::Value;

const WIDER: &str = "id,name,amount,at,note\n";

fn wider(ids: std::ops::Range<usize>) -> String {
    ids.fold(WIDER.to_owned(), |text, id| text + line(id, "b", 1).trim_end() + &format!(",n{id}\n"))
}

fn changes(workspace: &Workspace) -> Vec<Value> {
    let listed = workspace.gristmill(&["schema", "list", "orders", "--json"]).expect(0).result();
    listed["changes"].as_array().unwrap().clone()
}

fn notes(workspace: &Workspace) -> Vec<(i64, Option<String>)> {
    let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
    let mut query = target.prepare("SELECT id, note FROM orders ORDER BY id").unwrap();
    query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

/// A new column stops the task at the boundary before its file; a plan takes the task there.
#[test]
fn a_new_column_stops_the_task_until_it_is_planned() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..10, "a", 1));
    workspace.write("data/b.csv", wider(10..20));
    workspace.write("data/c.csv", lines(20..30, "c", 1));
    let stopped = workspace.run().expect(3);
    assert!(stopped.json()["error"]["message"].as_str().unwrap().contains("b.csv"), "{}", stopped.stdout);
    assert_eq!(orders(&workspace).len(), 10, "what comes before is committed, nothing after it");
    let found = changes(&workspace);
    assert_eq!((found.len(), &found[0]["state"], &found[0]["object"]), (1, &"PAUSED".into(), &"b.csv".into()));
    workspace.run().expect(3);
    assert_eq!(orders(&workspace).len(), 10, "a task that waits reads nothing");
    assert_eq!(changes(&workspace).len(), 1, "and is not met twice");

    // The plan is made with the new columns; the old file is of another schema from here on.
    let next = orders::pipeline("")
        .replace("orders-v1", "orders-v2")
        .replace("at: \"timestamp(us, UTC)\"", "at: \"timestamp(us, UTC)\", note: utf8");
    workspace.write("next.yaml", &next);
    std::fs::remove_file(workspace.path("data/c.csv")).unwrap();
    let check = workspace.gristmill(&["schema", "check", "next.yaml", "--json"]).expect(1).result();
    assert_eq!(check["plan"]["rebuild"], false, "{check:#}");
    workspace.gristmill(&["schema", "plan", "next.yaml"]).expect(0);
    assert_eq!(changes(&workspace)[0]["state"], "MIGRATION_PLANNED");
    workspace.gristmill(&["schema", "resume", "orders"]).expect(2);
    workspace.gristmill(&["schema", "validate", "orders"]).expect(0);
    workspace.gristmill(&["schema", "resume", "orders"]).expect(0);
    assert_eq!(changes(&workspace)[0]["state"], "RESUMED");
    workspace.write("pipeline.yaml", &next);
    workspace.run().expect(0);
    let notes = notes(&workspace);
    assert_eq!((notes.len(), notes[3].1.clone(), notes[13].1.as_deref()), (20, None, Some("n13")));
    verified(&workspace, 2);
}

fn verified(workspace: &Workspace, batches: u64) -> Answer {
    let answer = workspace.gristmill(&["replay", "orders", "--verify", "--json"]).expect(0);
    assert_eq!(answer.result()["equal"], batches, "{}", answer.stdout);
    answer
}

/// The policy `adopt` takes new columns into a version of its own; the pipeline file stays as it is.
#[test]
fn new_columns_are_adopted() {
    let workspace = orders::workspace("schema_changes: { policy: adopt }\n");
    workspace.write("data/a.csv", lines(0..10, "a", 1));
    workspace.write("data/b.csv", wider(10..20));
    workspace.run().expect(0);
    assert_eq!(notes(&workspace)[13].1.as_deref(), Some("n13"));
    let versions: i64 = workspace.state("SELECT max(version) FROM task_version");
    assert_eq!(versions, 2);
    assert!(changes(&workspace).is_empty());
    workspace.write("data/c.csv", wider(20..25));
    let again = workspace.run().expect(0).result();
    assert_eq!(again["summary"]["recordsRead"], 5, "a start again with the old file goes on with what was adopted");
    assert_eq!(notes(&workspace).len(), 25);
    verified(&workspace, 3);
}

/// The policy `ignore` leaves new columns out; a column that is gone stops the task under every policy.
#[test]
fn new_columns_are_ignored_and_dropped_ones_never_are() {
    let workspace = orders::workspace("schema_changes: { policy: ignore }\n");
    workspace.write("data/a.csv", wider(0..10));
    workspace.run().expect(0);
    assert_eq!(orders(&workspace).len(), 10);
    workspace.write("data/b.csv", "id,name,at\n11,x,2026-01-01T00:00:00Z\n");
    workspace.run().expect(3);
    let found = changes(&workspace);
    assert_eq!((found.len(), &found[0]["state"]), (1, &"PAUSED".into()));
    // The source is put right: a person dismisses the change.
    workspace.write("data/b.csv", lines(10..12, "b", 1));
    workspace.gristmill(&["schema", "dismiss", &found[0]["id"].to_string()]).expect(0);
    workspace.run().expect(0);
    assert_eq!(orders(&workspace).len(), 12);
}

/// Values that no longer are of a column's type make it a change of the schema, not ten thousand dead letters.
#[test]
fn a_column_of_another_type_is_a_schema_change() {
    let workspace = orders::workspace("dead_letters: { max_records: 5 }\n");
    workspace.write("data/a.csv", lines(0..10, "a", 1));
    workspace.run().expect(0);
    let renumbered = lines(10..40, "b", 1).replace("\n1", "\nA-1").replace("\n2", "\nA-2").replace("\n3", "\nA-3");
    workspace.write("data/b.csv", renumbered);
    let stopped = workspace.run().expect(3);
    let found = changes(&workspace);
    assert_eq!(found.len(), 1, "{}", stopped.stderr);
    assert!(found[0]["changes"].to_string().contains("id"), "{found:#?}");
}

/// Another identity rebuilds the target from the stored batches; meanwhile new data waits as READY batches.
#[test]
fn another_identity_rebuilds_the_target_while_new_data_waits() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..10, "a", 1) + &line(3, "twin", 2));
    workspace.run().expect(0);
    assert_eq!(orders(&workspace).len(), 10, "one order of two names");

    let next = orders::pipeline("transforms: { migrate: { orders-v1: identity@0.1.0 } }\n")
        .replace("orders-v1\nsource", "orders-v2\nsource")
        .replace("identity: [id]", "identity: [id, name]");
    workspace.write("pipeline.yaml", &next);
    let refused = workspace.run().expect(2);
    assert!(refused.json().to_string().contains("schema plan"), "{}", refused.stdout);
    let planned = workspace.gristmill(&["schema", "plan", "pipeline.yaml", "--json"]).expect(0).result();
    assert_eq!(planned["plan"]["rebuild"], true, "{planned:#}");
    workspace.gristmill(&["schema", "validate", "orders"]).expect(0);

    workspace.write("data/b.csv", lines(20..25, "b", 1));
    let waiting = workspace.run().expect(3);
    assert!(waiting.json()["error"]["message"].as_str().unwrap().contains("1 batch waits READY"), "{}", waiting.stdout);
    assert_eq!(orders(&workspace).len(), 10, "the target is left as it is");

    workspace.gristmill(&["schema", "resume", "orders"]).expect(0);
    let rows = orders(&workspace);
    assert_eq!(rows.len(), 16, "two orders of one number, and those that waited: {rows:?}");
    workspace.write("data/c.csv", lines(30..32, "c", 1));
    workspace.run().expect(0);
    assert_eq!(orders(&workspace).len(), 18, "runs go on in the rebuilt target");
    // One batch of the first epoch, and three of the second; the one that waited was never committed under the first.
    verified(&workspace, 4);
}

/// Batches of a schema that nothing leads from are named before anything is planned.
#[test]
fn missing_links_are_named() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", HEADER.to_owned() + &line(1, "a", 1));
    workspace.run().expect(0);
    let next = orders::pipeline("").replace("orders-v1", "orders-v2").replace("identity: [id]", "identity: [id, name]");
    workspace.write("pipeline.yaml", next);
    let refused = workspace.gristmill(&["schema", "plan", "pipeline.yaml", "--json"]).expect(2);
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("orders-v1") && message.contains("orders-v2"), "{message}");
    assert!(changes(&workspace).is_empty());
}
