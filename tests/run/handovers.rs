//! Rebuilds beside a run that goes on: it hands the task over and takes it back.

use super::orders::{self, line, lines, orders};
use crate::harness::{Process, Workspace, until};

const RUN: [&str; 3] = ["run", "pipeline.yaml", "--json"];

fn running(workspace: &Workspace) -> Process {
    workspace.write("data/a.csv", lines(0..10, "a", 1) + &line(3, "twin", 2));
    let run = Process::start(workspace, &RUN);
    until("the first file is in the target", || orders(workspace).len() == 10);
    run
}

/// A schema change goes through all its states beside the run: what arrives meanwhile waits, and is delivered in the end.
#[test]
fn a_schema_change_is_carried_out_beside_the_run() {
    let workspace = orders::workspace("");
    let run = running(&workspace);
    let next = orders::pipeline("transforms: { migrate: { orders-v1: identity@0.1.0 } }\n")
        .replace("orders-v1\nsource", "orders-v2\nsource")
        .replace("identity: [id]", "identity: [id, name]");
    workspace.write("next.yaml", &next);
    workspace.gristmill(&["schema", "plan", "next.yaml"]).expect(0);
    workspace.gristmill(&["schema", "validate", "orders"]).expect(0);
    workspace.write("data/b.csv", lines(20..25, "b", 1));
    until("a batch waits", || workspace.state::<i64>("SELECT count(*) FROM batch WHERE state = 'READY'") == 1);
    assert_eq!(orders(&workspace).len(), 10, "the target is left as it is");

    workspace.gristmill(&["schema", "resume", "orders"]).expect(0);
    assert_eq!(orders(&workspace).len(), 16, "two orders of one number, and those that waited");
    workspace.write("data/c.csv", lines(30..32, "c", 1));
    until("the run goes on in the rebuilt target", || orders(&workspace).len() == 18);

    let ended = run.interrupt().expect(130);
    // What was read before and after, the batch that was delivered by the rebuild, and nothing twice.
    assert_eq!(ended.result()["summary"]["recordsRead"], 18, "{}", ended.stdout);
    assert_eq!(ended.result()["summary"]["batchesStored"], 3, "{}", ended.stdout);
    assert!(!workspace.path(".gristmill/locks/orders.all.offered").exists(), "the offer ends with the run");
    workspace.write("pipeline.yaml", &next);
    assert_eq!(workspace.run().expect(0).result()["summary"]["recordsRead"], 0);
    workspace.gristmill(&["replay", "orders", "--verify"]).expect(0);
}

#[test]
fn a_whole_replay_is_made_beside_the_run() {
    let workspace = orders::workspace("");
    let run = running(&workspace);
    workspace.gristmill(&["replay", "orders", "--pins", "current"]).expect(0);
    assert_eq!(workspace.state::<i64>("SELECT max(epoch) FROM batch"), 2);
    workspace.write("data/b.csv", lines(20..25, "b", 1));
    until("the run goes on in the new epoch", || orders(&workspace).len() == 15);
    let epoch: i64 = workspace.state("SELECT epoch FROM batch ORDER BY created_at DESC LIMIT 1");
    assert_eq!(epoch, 2);
    run.interrupt().expect(130);
    workspace.gristmill(&["replay", "orders", "--verify"]).expect(0);
}

/// A rebuild that is killed leaves a run that ends, since only a person can say what becomes of the rebuild.
#[test]
fn a_rebuild_that_is_killed_beside_the_run_is_told() {
    let workspace = orders::workspace("");
    let run = running(&workspace);
    let rebuild = Process::suspended(&workspace, &["replay", "orders", "--pins", "current"], "sink-swap-before");
    drop(rebuild);
    let ended = run.end().expect(3);
    assert!(ended.json()["error"]["message"].as_str().unwrap().contains("has not ended"), "{}", ended.stdout);
    workspace.gristmill(&["replay", "orders", "--resume"]).expect(0);
    assert_eq!(workspace.run().expect(0).result()["summary"]["recordsRead"], 0);
    assert_eq!(orders(&workspace).len(), 10);
}

/// A run that ends by itself hands nothing over.
#[test]
fn a_run_that_ends_by_itself_keeps_its_task() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..10, "a", 1));
    workspace.run().expect(0);
    workspace.write("data/b.csv", lines(20..25, "b", 1));
    let run = Process::suspended(&workspace, &["run", "--once", "pipeline.yaml", "--json"], "receipt-after");
    let refused = workspace.gristmill(&["replay", "orders", "--pins", "current", "--json"]).expect(1);
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("is worked by"), "{}", refused.stdout);
    run.wake();
    run.end().expect(0);
}
