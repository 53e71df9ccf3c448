//! Guests that misbehave: contained, classified, and the data's fate said.

use crate::harness::{Target, Workspace};

/// Ten values through the hostile component in one stage; row 4 is `poison`.
fn workspace(stage: &str, behaviour: &str) -> Workspace {
    let workspace = Workspace::new();
    let value = |n: usize| if n == 4 { "poison\n".to_owned() } else { format!("v{n}\n") };
    workspace.write("data/a.csv", (0..10).fold("value\n".to_owned(), |text, n| text + &value(n)));
    workspace.write("pipeline.yaml", pipeline(stage, behaviour));
    workspace
}

fn pipeline(stage: &str, behaviour: &str) -> String {
    format!(
        "version: 1\ntask: hostile\nschema: hostile-v1\nsource:\n  files: {{ url: data/, format: csv, columns: {{ value: utf8 }} }}\n\
         identity: [value]\ntransforms:\n  {stage}: {{ component: hostile@0.1.0, config: {{ do: {behaviour} }} }}\n  \
         limits: {{ deadline: 200ms, memory: 64MiB, output: 256KiB }}\n\
         sink:\n  {}\ndead_letters: {{ max_records: 1 }}\n",
        Target::Sqlite.yaml()
    )
}

fn rows(workspace: &Workspace, table: &str) -> usize {
    Target::Sqlite.rows(workspace, table).len()
}

/// (stage, table that its rows end in).
const STAGES: [(&str, &str); 2] = [("normalize", "hostile"), ("map", "records")];

#[test]
fn a_poison_row_is_isolated_and_the_others_go_on() {
    for (stage, table) in STAGES {
        for (behaviour, code) in
            [("trap-on-poison", "trap"), ("loop-on-poison", "deadline"), ("eat-memory-on-poison", "memory")]
        {
            let workspace = workspace(stage, behaviour);
            workspace.run().expect(0);
            assert_eq!(rows(&workspace, table), 9, "{stage} {behaviour}");
            let letter: String = workspace.state("SELECT refused_at || ' ' || class || ' ' || code FROM dead_letter");
            assert_eq!(letter, format!("{stage} poison-row {code}"));
            let (place, expected) = match stage {
                "map" => ("position ->> 'row'", 4),
                _ => ("position ->> 'line'", 6),
            };
            assert_eq!(
                workspace.state::<i64>(&format!("SELECT {place} FROM dead_letter")),
                expected,
                "{stage} {behaviour}"
            );
        }
    }
}

#[test]
fn a_broken_guest_stops_the_task_and_loses_nothing() {
    let cases = [
        ("trap", "trap"),
        ("loop", "deadline"),
        ("eat-memory", "memory"),
        ("recurse", "trap"),
        ("decreasing-offsets", "offset"),
        ("invalid-utf8", "UTF-8"),
        ("wrong-node-length", "invalid"),
        ("short-offsets", "invalid"),
        ("extra-column", "invalid"),
        ("selection-out-of-range", "invalid"),
        ("bad-operation", "operation"),
        ("explode-rows", "returned more than"),
        ("failure", "refuse"),
    ];
    for (stage, table) in STAGES {
        for (behaviour, said) in cases {
            let workspace = workspace(stage, behaviour);
            let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);
            assert!(answer.stderr.contains(said), "{stage} {behaviour} should say `{said}`: {}", answer.stderr);
            let batch = "SELECT ifnull(group_concat(state), 'none') FROM batch";
            let (fate, state) = match stage {
                "map" => ("stays READY in the store", "READY"),
                _ => ("nothing of the page in hand was stored", "none"),
            };
            assert!(answer.stderr.contains(fate), "{stage} {behaviour}: {}", answer.stderr);
            assert_eq!(workspace.state::<String>(batch), state, "{stage} {behaviour}");

            // A repaired component, as the hint says.
            workspace.write("pipeline.yaml", pipeline(stage, "behave"));
            if stage == "map" {
                let batch: String = workspace.state("SELECT batch_id FROM batch");
                assert!(answer.stderr.contains(&format!("gristmill batches quarantine {batch}")), "{}", answer.stderr);
                workspace.gristmill(&["batches", "quarantine", &batch]).expect(0);
            }
            workspace.run().expect(0);
            assert_eq!(rows(&workspace, table), 10, "{stage} {behaviour}: nothing was lost");
        }
    }
}

/// Two thousand rows, each a hundred thousand times: small parts keep to the limits, their sum does not.
#[test]
fn a_guest_that_explodes_rows_is_stopped_before_they_fill_the_memory() {
    for (stage, _) in STAGES {
        let workspace = workspace(stage, "explode-rows");
        workspace.write("data/a.csv", (0..2000).fold("value\n".to_owned(), |text, n| text + &format!("v{n}\n")));
        let limits = "limits: { deadline: 200ms, memory: 64MiB, output: 256KiB }";
        let pipeline = pipeline(stage, "explode-rows").replace(limits, "limits: { output: 96MiB }");
        workspace.write("pipeline.yaml", pipeline);
        let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);
        let said = "the parts of the batch return too much together";
        assert!(answer.stderr.contains("returned more than 100663296 bytes"), "{stage}: {}", answer.stderr);
        assert!(answer.stderr.contains(said), "{stage}: {}", answer.stderr);
    }
}

#[test]
fn a_guest_that_cannot_plan_is_refused_before_anything_is_written() {
    for (stage, _) in STAGES {
        for behaviour in [
            "plan-trap",
            "plan-loop",
            "plan-failure",
            "plan-unknown-column",
            "plan-unknown-dictionary",
            "plan-zero-outputs",
        ] {
            let workspace = workspace(stage, behaviour);
            let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(2);
            assert!(answer.stderr.contains("pipeline.yaml:"), "{stage} {behaviour}: {}", answer.stderr);
            assert!(!workspace.path(".gristmill").exists(), "{stage} {behaviour}");
        }
    }
}

#[test]
fn a_damaged_compiled_component_is_compiled_anew() {
    let workspace = workspace("normalize", "reject-poison");
    let run = || {
        let mut command = workspace.command(&["run", "--once", "pipeline.yaml"]);
        command.env("GRISTMILL_CACHE", workspace.path("compiled")).output().unwrap()
    };
    assert!(run().status.success());
    let compiled = workspace.files("compiled");
    assert!(!compiled.is_empty(), "components are compiled once");
    for file in &compiled {
        crate::harness::flip_bit(file);
    }
    workspace.write("data/b.csv", "value\nw\n");
    let output = run();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.contains("damaged"), "it is said: {stderr}");
    assert_eq!(rows(&workspace, "hostile"), 10);
}

#[test]
fn a_label_never_moves_to_other_bytes() {
    let workspace = workspace("normalize", "reject-poison");
    workspace.run().expect(0);
    // Another component under the same label.
    let other = std::fs::read(crate::harness::components().join("identity@0.1.0.wasm")).unwrap();
    workspace.write("components/hostile@0.1.0.wasm", other);
    workspace.write("data/b.csv", "value\nw\n");
    let mut command = workspace.command(&["run", "--once", "pipeline.yaml"]);
    let output = command.env("GRISTMILL_COMPONENTS", workspace.path("components")).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("a label never moves"), "{stderr}");
}
