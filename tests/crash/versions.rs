//! Publications, rollbacks and deployments, killed at every durable step that they pass, then repeated.

use crate::harness::Workspace;
use crate::run::orders;
use gristmill::faults::FaultPoint::{self, *};

/// Orders with one version or two: the second has another mapper.
fn workspace(versions: usize) -> Workspace {
    let pipeline = |version: &str| orders::pipeline(&format!("transforms: {{ map: variant@{version} }}\n"));
    let workspace = orders::workspace("");
    workspace.variant("1.0.0", "");
    workspace.variant("1.1.0", "u");
    workspace.write("pipeline.yaml", pipeline("1.0.0"));
    workspace.write("next.yaml", pipeline("1.1.0").replace("orders-v1", "orders-v2"));
    workspace.write("data/a.csv", orders::lines(0..5, "a", 1));
    run(&workspace, &["run", "--once", "pipeline.yaml"]);
    if versions == 2 {
        run(&workspace, &["publish", "next.yaml"]);
    }
    workspace
}

fn run(workspace: &Workspace, args: &[&str]) -> crate::harness::Answer {
    workspace.gristmill(&[args, &["--components", "components", "--json"]].concat()).expect(0)
}

fn latest(workspace: &Workspace) -> i64 {
    workspace.state("SELECT max(version) FROM task_version")
}

#[test]
fn publications_rollbacks_and_deployments() {
    let publish = ["publish", "next.yaml"];
    let rollback = ["rollback", "orders", "--to", "1"];
    let deploy = ["transform", "deploy", "components/variant@1.1.0.wasm"];
    let stored = [ComponentStoreBefore, ComponentStoreAfter];
    let published = [SchemaFreezeBefore, SchemaFreezeAfter, TaskVersionBefore, TaskVersionAfter];
    let all: [(&[&str], usize, i64, Vec<FaultPoint>); 3] = [
        (&publish, 1, 2, stored.into_iter().chain(published).collect()),
        (&rollback, 2, 3, vec![TaskVersionBefore, TaskVersionAfter]),
        (&deploy, 1, 1, stored.to_vec()),
    ];
    let mut kills = 0;
    for (args, versions, last, points) in all {
        for point in points {
            let workspace = workspace(versions);
            let mut command = workspace.command(&[args, &["--components", "components"]].concat());
            let killed = command.env("GRISTMILL_FAULT", point.name()).output().unwrap();
            assert_eq!(killed.status.code(), None, "{args:?} {point:?}: {}", String::from_utf8_lossy(&killed.stderr));
            kills += 1;

            let now = latest(&workspace);
            let expected = if point == TaskVersionAfter { last } else { versions as i64 };
            assert_eq!(now, expected, "{args:?} {point:?}: it is published whole or not at all");
            // Whatever there is, can be run: nothing is named that is not stored.
            run(&workspace, &["tasks", "show", "orders", "--version", &now.to_string()]);
            let back = run(&workspace, &["rollback", "orders", "--to", "1", "--dry-run"]).result();
            assert!(
                back["checks"].as_array().is_none_or(|checks| checks.iter().all(|c| c["result"] == "fits")),
                "{back:#}"
            );

            run(&workspace, args);
            assert_eq!(latest(&workspace), last, "{args:?} {point:?}: repeated, it comes to the same");
            let label = "SELECT count(*) FROM component WHERE label = 'variant@1.1.0'";
            assert_eq!(workspace.state::<i64>(label), 1, "{args:?} {point:?}");
            assert_eq!(run(&workspace, &["transform", "show", "variant@1.1.0"]).result()["intact"], true);
            run(&workspace, &["replay", "orders", "--verify"]);
        }
    }
    assert_eq!(kills, 10);
}
