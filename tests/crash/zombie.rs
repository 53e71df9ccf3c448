//! An owner that loses its time but not its memory must not write any more.

use super::{converged, invariants, workspace};
use crate::harness::{Target, Workspace};
use gristmill::faults::FaultPoint;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Suspends a worker just before a durable step, lets another take over and finish, wakes the first.
#[test]
fn a_suspended_owner_is_fenced_at_every_step() {
    use FaultPoint::*;
    let steps =
        [BatchDataBefore, BatchManifestAfter, BatchReadyBefore, SinkDataAfter, SinkCommitBefore, SinkCommitAfter];
    for target in Target::ALL {
        let reference = workspace(target);
        reference.run().expect(0);
        let expected = converged(&reference, target).without_times();
        for step in steps {
            // In a database this step lies inside the write transaction: the successor would wait for it, not fence it.
            if !super::passes(target, step) || (target == Target::Sqlite && step == SinkCommitBefore) {
                continue;
            }
            let (workspace, mut zombie) = suspended_between_transactions(target, &format!("{}:2=stop", step.name()));
            take_the_lock_away(&workspace);
            workspace.run().expect(0);
            invariants::hold(&workspace, target);
            assert_eq!(converged(&workspace, target).without_times(), expected, "{target:?} {step:?}");

            signal(&zombie, "-CONT");
            let status = zombie.wait().unwrap();
            assert!(matches!(status.code(), Some(1 | 3)), "{target:?} {step:?}: the zombie ended with {status}");
            invariants::hold(&workspace, target);
            assert_eq!(
                converged(&workspace, target).without_times(),
                expected,
                "{target:?} {step:?}: after the zombie woke"
            );
        }
    }
}

#[test]
fn a_second_process_is_refused_while_the_first_lives() {
    let workspace = workspace(Target::Sqlite);
    let mut first = suspended(&workspace, "batch-data-before:1=stop");
    let second = workspace.run().expect(1);
    assert!(second.json()["error"]["message"].as_str().unwrap().contains("is worked by"), "{}", second.stdout);
    signal(&first, "-CONT");
    assert_eq!(first.wait().unwrap().code(), Some(0), "the first goes on as if nothing had been");
}

/// A worker that suspended itself at a fault point, between transactions of state and target: one that holds a write
/// lock keeps everybody waiting, which is safe and not what these tests are about.
fn suspended_between_transactions(target: Target, fault: &str) -> (Workspace, Child) {
    for _ in 0..50 {
        let workspace = workspace(target);
        let mut child = suspended(&workspace, fault);
        let free = |name: &str| {
            let database = rusqlite::Connection::open(workspace.path(name)).unwrap();
            database.busy_timeout(Duration::ZERO).unwrap();
            database.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok()
        };
        if free(".gristmill/state.db") && (target == Target::Parquet || free("target.db")) {
            return (workspace, child);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    panic!("{fault}: the other half was always in a transaction");
}

/// Starts a run and waits until it has suspended itself.
fn suspended(workspace: &Workspace, fault: &str) -> Child {
    let child = workspace
        .command(&["run", "--once", "--quiet", "pipeline.yaml"])
        .env("GRISTMILL_FAULT", fault)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while state_of(&child) != Some('T') {
        assert!(Instant::now() < deadline, "{fault} was never reached");
        assert!(state_of(&child).is_some_and(|state| state != 'Z'), "{fault} was never reached: the run ended");
        std::thread::yield_now();
    }
    child
}

/// The process state letter of /proc: `T` is stopped.
fn state_of(child: &Child) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn signal(child: &Child, name: &str) {
    let done = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

/// What a lost host or a remote lock service does: the lock is free although its holder still runs.
fn take_the_lock_away(workspace: &Workspace) {
    for lock in workspace.files(".gristmill/locks") {
        std::fs::remove_file(lock).unwrap();
    }
}

/// Two states draw the same tokens: the target itself must notice that its history is not the writer's.
#[test]
fn a_second_state_cannot_write_between() {
    for target in Target::ALL {
        let workspace = workspace(target);
        let first = suspended(&workspace, "batch-ready-after:1=stop");
        workspace.gristmill(&["--state", "second", "run", "--once", "pipeline.yaml"]).expect(0);
        signal(&first, "-CONT");
        let output = first.wait_with_output().unwrap();
        assert!(matches!(output.status.code(), Some(1 | 3)), "{target:?}: {}", output.status);
    }
}
