//! A flipped bit is found before the byte is used.

use super::orders::{self, lines, orders};
use crate::harness::{Workspace, flip_bit};
use std::path::PathBuf;

/// A workspace with one batch that is READY and not delivered.
fn with_ready_batch() -> Workspace {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..50, "a", 1));
    let killed = workspace.run_with_fault("sink-commit-before");
    assert_eq!(killed.code, None, "{}", killed.stderr);
    workspace
}

fn stored(workspace: &Workspace, name: &str) -> PathBuf {
    let files = workspace.files(".gristmill/store/batches");
    files.into_iter().find(|path| path.ends_with(name)).unwrap()
}

#[test]
fn a_damaged_batch_is_not_delivered_and_can_be_set_aside() {
    for name in ["data.parquet", "manifest.json"] {
        let workspace = with_ready_batch();
        flip_bit(&stored(&workspace, name));
        let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);
        assert!(answer.stderr.contains(name) && answer.stderr.contains("damaged"), "{}", answer.stderr);
        let verify = workspace.gristmill(&["batches", "verify", "orders"]).expect(3);
        assert!(verify.stdout.contains("1 damaged"), "{}", verify.stdout);

        let batch: String = workspace.state("SELECT batch_id FROM batch");
        workspace.gristmill(&["batches", "quarantine", &batch]).expect(0);
        workspace.run().expect(0);
        assert_eq!(orders(&workspace).len(), 50, "its range was read again under a new id");
        let states: String =
            workspace.state("SELECT group_concat(state) FROM (SELECT state FROM batch ORDER BY created_at)");
        assert_eq!(states, "QUARANTINED,COMMITTED");
    }
}

#[test]
fn a_missing_batch_file_is_named() {
    let workspace = with_ready_batch();
    std::fs::remove_file(stored(&workspace, "data.parquet")).unwrap();
    let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);
    assert!(answer.stderr.contains("data.parquet is missing"), "{}", answer.stderr);
}

#[test]
fn a_manifest_cannot_lead_out_of_the_store() {
    let workspace = with_ready_batch();
    let manifest = stored(&workspace, "manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let leading_out = text.replace("batches/orders", "../../batches/orders");
    std::fs::write(&manifest, &leading_out).unwrap();
    // Even with a digest that fits.
    let digest = gristmill_core::digest::Digest::of(leading_out.as_bytes());
    let state = rusqlite::Connection::open(workspace.path(".gristmill/state.db")).unwrap();
    state.execute("UPDATE batch SET manifest_digest = ?1", [digest.to_string()]).unwrap();
    let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);
    assert!(answer.stderr.contains("object key"), "{}", answer.stderr);
}

#[test]
fn a_committed_batch_is_covered_by_verify() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..50, "a", 1));
    workspace.run().expect(0);
    workspace.gristmill(&["batches", "verify", "orders"]).expect(0);
    workspace.gristmill(&["replay", "orders", "--verify"]).expect(0);
    flip_bit(&stored(&workspace, "data.parquet"));
    workspace.gristmill(&["batches", "verify", "orders"]).expect(3);
    let replay = workspace.gristmill(&["replay", "orders", "--verify"]).expect(3);
    assert!(replay.stdout.contains("1 different"), "{}", replay.stdout);
}

#[test]
fn a_receipt_that_does_not_fit_is_found_by_replay() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..50, "a", 1));
    workspace.run().expect(0);
    let state = rusqlite::Connection::open(workspace.path(".gristmill/state.db")).unwrap();
    let other = gristmill_core::digest::Digest::of(b"other rows").to_string();
    state.execute("UPDATE receipt SET digest = ?1", [other]).unwrap();
    let replay = workspace.gristmill(&["replay", "orders", "--verify"]).expect(3);
    assert!(replay.stdout.contains("the receipt says"), "{}", replay.stdout);
}
