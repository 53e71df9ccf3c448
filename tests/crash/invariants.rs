//! What holds at every moment, whatever was killed: checked from the files, not through the runner.

use crate::harness::{Target, Workspace};
use rusqlite::Connection;
use std::collections::BTreeSet;

/// Checks every invariant that can be read off state, store and target.
pub fn hold(workspace: &Workspace, target: Target) {
    let path = workspace.path(".gristmill/state.db");
    if !path.exists() {
        return; // killed before there was a state
    }
    let state = Connection::open(path).unwrap();
    let list = |sql: &str| -> Vec<String> {
        let mut query = state.prepare(sql).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    if list("SELECT name FROM sqlite_master WHERE name = 'batch'").is_empty() {
        return; // killed before the first migration
    }

    // A committed checkpoint's batches are all committed in the target.
    let behind = "SELECT batch_id FROM batch b WHERE sequence <= (SELECT max(last_sequence) FROM checkpoint c WHERE c.task_id = b.task_id AND c.partition_id = b.partition_id AND c.epoch = b.epoch)";
    let in_target = target_batches(workspace, target);
    for batch in list(behind) {
        assert!(in_target.contains(&batch), "{batch} is behind the checkpoint and not in the target");
    }
    assert!(
        list(&format!("{behind} AND state <> 'COMMITTED'")).is_empty(),
        "every batch behind the checkpoint is COMMITTED in the state"
    );

    // Nothing that is not READY was consumed.
    let unfinished: BTreeSet<_> = list("SELECT batch_id FROM batch WHERE state = 'WRITING'").into_iter().collect();
    let known: BTreeSet<_> = list("SELECT batch_id FROM batch").into_iter().collect();
    for batch in &in_target {
        assert!(known.contains(batch), "{batch} is in the target and unknown to the state");
        assert!(!unfinished.contains(batch), "{batch} is in the target and was never READY");
    }

    // COMMITTED means a receipt; a receipt means that the target has the batch.
    assert!(
        list("SELECT batch_id FROM batch WHERE state = 'COMMITTED' AND batch_id NOT IN (SELECT batch_id FROM receipt)")
            .is_empty()
    );
    for batch in list("SELECT batch_id FROM receipt") {
        assert!(in_target.contains(&batch), "{batch} has a receipt and is not in the target");
    }

    // READY and COMMITTED batches have their files, whole.
    let folders = "SELECT 'batches/' || task_id || '/' || epoch || '/' || partition_id || '/' || batch_id FROM batch WHERE state IN ('READY', 'COMMITTED')";
    // A replay shares the data file of the batch that it maps anew, which is READY or COMMITTED itself.
    for (file, folders) in
        [("manifest.json", folders.to_owned()), ("data.parquet", format!("{folders} AND replay_of IS NULL"))]
    {
        for uri in list(&folders) {
            assert!(workspace.path(&format!(".gristmill/store/{uri}/{file}")).exists(), "{uri}/{file}");
        }
    }

    // One history is in force.
    assert!(
        list("SELECT task_id FROM epoch WHERE state = 'IN_FORCE' GROUP BY task_id, partition_id HAVING count(*) > 1")
            .is_empty()
    );

    // No token is larger than the lease's.
    let newest = "(SELECT max(fencing_token) FROM lease)";
    for table in ["batch", "checkpoint", "receipt"] {
        assert!(list(&format!("SELECT '{table}' FROM {table} WHERE fencing_token > {newest}")).is_empty(), "{table}");
    }

    // No batch is registered twice in the target.
    let all = if target_exists(workspace, target) { target.batches(workspace) } else { Vec::new() };
    assert_eq!(all.len(), in_target.len(), "a batch is registered twice: {all:?}");
}

fn target_exists(workspace: &Workspace, target: Target) -> bool {
    match target {
        Target::Parquet => true,
        Target::Sqlite => {
            let path = workspace.path("target.db");
            let registry = "SELECT count(*) FROM sqlite_master WHERE name = 'gristmill_batch'";
            path.exists()
                && Connection::open(path).unwrap().query_row(registry, [], |row| row.get::<_, i64>(0)).unwrap() == 1
        }
    }
}

fn target_batches(workspace: &Workspace, target: Target) -> BTreeSet<String> {
    if target_exists(workspace, target) { target.batches(workspace).into_iter().collect() } else { BTreeSet::new() }
}
