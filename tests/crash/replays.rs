//! Rebuilds, repairs and migrations, killed at every fault point that they pass, then gone on with.

use super::{Differences, converged, differences, invariants, pipeline, workspace};
use crate::harness::{Row, Target, Workspace};
use gristmill::faults::FaultPoint;

/// What a replay or a migration passes, and how often it is worth being killed there.
fn points(target: Target, also: &[FaultPoint]) -> Vec<(FaultPoint, &'static [u32])> {
    use FaultPoint::*;
    let once: &[u32] = &[1];
    let often: &[u32] = &[1, 3];
    let mut points = vec![
        (LeaseClaimAfter, once),
        (ReplayBeginBefore, once),
        (ReplayBeginAfter, once),
        (SinkFenceAfter, once),
        (BatchManifestBefore, often),
        (BatchManifestAfter, often),
        (BatchReadyAfter, often),
        (SinkCommitBefore, often),
        (SinkCommitAfter, often),
        (ReceiptBefore, often),
        (ReceiptAfter, often),
        (CheckpointBefore, often),
        (CheckpointAfter, often),
        (ReplayEndBefore, once),
        (ReplayEndAfter, once),
    ];
    points.extend(also.iter().map(|point| (*point, once)));
    if target == Target::Parquet {
        points.extend([(SinkDataBefore, often), (SinkDataAfter, often)]);
    }
    points
}

/// Runs a command until it ends well, killed once on its way. The commands that go on are tried in turn.
fn killed_and_gone_on(workspace: &Workspace, target: Target, args: &[&str], again: &[&[&str]], fault: &str) {
    let mut command = workspace.command(args);
    let killed = command.env("GRISTMILL_FAULT", fault).output().unwrap();
    assert_eq!(
        killed.status.code(),
        None,
        "{target:?} {fault}: it should have died\n{}",
        String::from_utf8_lossy(&killed.stderr)
    );
    invariants::hold(workspace, target);
    let mut answers = Vec::new();
    for args in again {
        let answer = workspace.gristmill(args);
        answers.push(format!("{args:?}: {:?} {}{}", answer.code, answer.stdout, answer.stderr));
        if answer.code == Some(0) {
            return;
        }
    }
    panic!("{target:?} {fault}: nothing went on:\n{}", answers.join("\n"));
}

fn tables(workspace: &Workspace, target: Target) -> [Vec<Row>; 2] {
    ["flights", "delays"].map(|table| target.rows(workspace, table))
}

#[test]
fn rebuilds_and_repairs() {
    let (mut kills, mut total) = (0, Differences::default());
    for target in Target::ALL {
        let reference = workspace(target);
        reference.run().expect(0);
        let expected = tables(&reference, target);
        let swaps = [FaultPoint::SinkSwapBefore, FaultPoint::SinkSwapAfter];
        let rebuild: &[&str] = &["replay", "crash", "--pins", "current"];
        let repair: &[&str] = &["replay", "crash", "--pins", "current", "--from", "2", "--to", "4"];
        for (args, also) in [(rebuild, swaps.as_slice()), (repair, &[])] {
            for (point, nths) in points(target, also) {
                for nth in nths {
                    let workspace = workspace(target);
                    workspace.run().expect(0);
                    let fault = format!("{}:{nth}", point.name());
                    // Ended although it was killed, not begun when it was, or under way.
                    let resume: &[&str] = &["replay", "crash", "--resume"];
                    killed_and_gone_on(&workspace, target, args, &[resume, args], &fault);
                    invariants::hold(&workspace, target);
                    assert_eq!(workspace.run().expect(0).result()["summary"]["recordsRead"], 0, "{target:?} {fault}");
                    let found = tables(&workspace, target);
                    let here = differences(&expected[0], &found[0]);
                    (total.lost, total.duplicated, total.stale) =
                        (total.lost + here.lost, total.duplicated + here.duplicated, total.stale + here.stale);
                    assert_eq!(found, expected, "{target:?} {args:?} {fault}: {here:?}");
                    let verified = workspace.gristmill(&["replay", "crash", "--verify"]);
                    assert_eq!(verified.code, Some(0), "{target:?} {fault}: {}{}", verified.stdout, verified.stderr);
                    kills += 1;
                }
            }
        }
    }
    println!(
        "{kills} kills of rebuilds and repairs: lost {}, duplicated {}, stale {}",
        total.lost, total.duplicated, total.stale
    );
}

/// Another identity: planned, validated and resumed, each killed on its way.
#[test]
fn migrations() {
    let next = |target| {
        pipeline(target)
            .replace("schema: crash-v1", "schema: crash-v2")
            .replace("identity: [id]", "identity: [id, carrier]")
            .replace("  map: flights-map", "  migrate: { crash-v1: identity@0.1.0 }\n  map: flights-map")
    };
    let plan: &[&str] = &["schema", "plan", "pipeline.yaml"];
    let validate: &[&str] = &["schema", "validate", "crash"];
    let resume: &[&str] = &["schema", "resume", "crash"];
    for target in Target::ALL {
        let prepared = || {
            let workspace = workspace(target);
            workspace.run().expect(0);
            workspace.write("pipeline.yaml", next(target));
            workspace
        };
        let reference = prepared();
        for args in [plan, validate, resume] {
            reference.gristmill(args).expect(0);
        }
        let expected = tables(&reference, target);
        assert!(!expected[0].is_empty());

        use FaultPoint::*;
        let changes: &[FaultPoint] = &[SchemaChangeBefore, SchemaChangeAfter];
        let planning = changes.iter().map(|point| (plan, *point, &[1_u32, 2, 3][..]));
        let validating =
            [SchemaFreezeAfter, TaskVersionBefore, TaskVersionAfter, SchemaChangeBefore, SchemaChangeAfter];
        let validating = validating.into_iter().map(|point| (validate, point, &[1_u32][..]));
        let resuming = points(target, &[SinkSwapBefore, SinkSwapAfter, SchemaChangeBefore, SchemaChangeAfter]);
        let resuming = resuming.into_iter().map(|(point, nths)| (resume, point, nths));
        for (step, point, nths) in planning.chain(validating).chain(resuming) {
            for nth in nths {
                let workspace = prepared();
                let before = [plan, validate, resume].into_iter().take_while(|args| *args != step);
                before.for_each(|args| drop(workspace.gristmill(args).expect(0)));
                let fault = format!("{}:{nth}", point.name());
                // A step that was done before the kill is refused the second time: then the next one goes on.
                let after = match step {
                    _ if step == plan => validate,
                    _ if step == validate => resume,
                    _ => &["schema", "list", "crash"],
                };
                killed_and_gone_on(&workspace, target, step, &[step, after], &fault);
                for args in [validate, resume] {
                    workspace.gristmill(args);
                }
                invariants::hold(&workspace, target);
                let state: String = workspace.state("SELECT state FROM schema_change");
                assert_eq!(state, "RESUMED", "{target:?} {step:?} {fault}");
                assert_eq!(tables(&workspace, target), expected, "{target:?} {step:?} {fault}");
                assert_eq!(workspace.run().expect(0).result()["summary"]["recordsRead"], 0, "{target:?} {fault}");
                drop(converged(&workspace, target));
            }
        }
    }
}
