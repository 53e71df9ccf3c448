//! Components on their way into the store, and what they would change.

use super::orders::{self, line, lines};
use crate::harness::{Answer, Workspace};
use serde_json::{Value, json};

fn pipeline(version: &str, extra: &str) -> String {
    orders::pipeline(&format!("transforms: {{ map: variant@{version} }}\n{extra}"))
}

fn gristmill(workspace: &Workspace, args: &[&str]) -> Answer {
    workspace.gristmill(&[args, &["--components", "components", "--json"]].concat())
}

fn deploy(workspace: &Workspace, file: &str, more: &[&str]) -> Answer {
    gristmill(workspace, &[&["transform", "deploy", file], more].concat())
}

fn problems(answer: &Answer) -> Vec<String> {
    let result = answer.result();
    let listed = result["problems"].as_array().unwrap_or_else(|| panic!("no list: {}", answer.stdout));
    listed.iter().map(|problem| problem.as_str().unwrap().to_owned()).collect()
}

/// Orders that were mapped with version 1.0.0.
fn workspace(names: &[&str]) -> Workspace {
    let workspace = orders::workspace("");
    workspace.variant("1.0.0", "");
    workspace.write("pipeline.yaml", pipeline("1.0.0", "keep_raw: true\n"));
    let rows = names.iter().enumerate().map(|(id, name)| line(id, name, 1));
    workspace.write("data/a.csv", rows.fold(orders::HEADER.to_owned(), |text, row| text + &row));
    gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(0);
    workspace
}

#[test]
fn a_component_is_planned_for_what_it_will_serve_and_stored_under_its_label() {
    let workspace = workspace(&["a"]);
    workspace.variant("1.1.0", "u");
    let deployed = deploy(&workspace, "components/variant@1.1.0.wasm", &[]).expect(0).result();
    assert_eq!((&deployed["label"], &deployed["stored"]), (&json!("variant@1.1.0"), &json!(true)));
    let planned =
        json!([{ "task": "orders", "version": 1, "place": "map", "schema": "orders-v1", "outputs": ["orders"] }]);
    assert_eq!(deployed["planned"], planned);
    assert_eq!(workspace.state::<i64>("SELECT max(version) FROM task_version"), 1, "no task runs it yet");

    let again = deploy(&workspace, "components/variant@1.1.0.wasm", &[]).expect(0).result();
    assert_eq!(again["digest"], deployed["digest"], "the same bytes again are no harm");

    // It is found without its file from here on.
    std::fs::remove_dir_all(workspace.path("components")).unwrap();
    workspace.write("next.yaml", pipeline("1.1.0", ""));
    gristmill(&workspace, &["publish", "next.yaml"]).expect(0);
    let listed = gristmill(&workspace, &["transform", "list"]).expect(0).result();
    let of = |label: &str| {
        let all = listed["components"].as_array().unwrap();
        all.iter().find(|c| c["label"] == label).unwrap_or_else(|| panic!("{label}: {listed:#}")).clone()
    };
    assert_eq!(
        of("variant@1.0.0")["usedBy"],
        json!([{ "task": "orders", "version": 1, "place": "map", "inForce": false }])
    );
    assert_eq!(of("variant@1.1.0")["usedBy"][0]["inForce"], true);
    let shown = gristmill(&workspace, &["transform", "show", "variant@1.1.0"]).expect(0).result();
    assert_eq!((&shown["digest"], &shown["intact"]), (&deployed["digest"], &json!(true)));
    let digits = deployed["digest"].as_str().unwrap().trim_start_matches("sha256:")[..12].to_owned();
    let by_digest = gristmill(&workspace, &["transform", "show", &digits]).expect(0).result();
    assert_eq!(by_digest["labels"][0]["label"], "variant@1.1.0");
    gristmill(&workspace, &["transform", "show", "variant@9.9.9"]).expect(2);
}

/// Writes the case that `variant` is expected to shout.
fn shouting_case(workspace: &Workspace, folder: &str) {
    workspace.write(&format!("{folder}/shouts.in.jsonl"), "{\"id\":1,\"name\":\"ada\"}\n");
    workspace.write(&format!("{folder}/shouts.out.jsonl"), "{\"id\":1,\"name\":\"ADA\"}\n");
}

#[test]
fn a_component_whose_cases_fail_is_not_deployed() {
    let workspace = workspace(&["a"]);
    let components = || workspace.state::<i64>("SELECT count(*) FROM component");
    let before = components();
    workspace.variant("1.1.0", "u");
    workspace.variant("1.2.0", "");
    shouting_case(&workspace, "components/variant@1.2.0.cases");
    let refused = deploy(&workspace, "components/variant@1.2.0.wasm", &[]).expect(2);
    let found = problems(&refused);
    assert_eq!(found.len(), 1, "{found:#?}");
    for part in ["case `shouts` fails", "ADA", "ada"] {
        assert!(found[0].contains(part), "{found:#?}");
    }
    assert_eq!(refused.result()["cases"][0]["passed"], false);
    assert_eq!(components(), before, "nothing was stored");

    // Cases that lie elsewhere; and none at all, which is said.
    shouting_case(&workspace, "elsewhere");
    let passed = deploy(&workspace, "components/variant@1.1.0.wasm", &["--cases", "elsewhere"]).expect(0).result();
    assert_eq!((&passed["cases"][0]["name"], &passed["cases"][0]["passed"]), (&json!("shouts"), &json!(true)));
    let none = deploy(&workspace, "components/variant@1.1.0.wasm", &[]).expect(0).result();
    assert!(none["cases"].is_null() && none["notes"].to_string().contains("no cases"), "{none:#}");
    deploy(&workspace, "components/variant@1.1.0.wasm", &["--cases", "nowhere"]).expect(2);
}

#[test]
fn a_fresh_state_takes_a_component_too() {
    let workspace = Workspace::new();
    let file = workspace.variant("1.0.0", "");
    std::fs::rename(file, workspace.path("built.wasm")).unwrap();
    let unnamed = deploy(&workspace, "built.wasm", &[]).expect(2);
    assert!(!workspace.path(".gristmill").exists(), "{}", unnamed.stdout);
    deploy(&workspace, "built.wasm", &["--name", "variant", "--version", "1.0.0"]).expect(0);
    let text = workspace.gristmill(&["transform", "list"]).expect(0).stdout;
    assert!(text.contains("variant@1.0.0") && text.contains("no task"), "{text}");
}

#[test]
fn everything_that_is_wrong_is_listed_and_nothing_is_stored() {
    let workspace = workspace(&["a"]);
    let imports =
        wat::parse_str(r#"(component (import "wasi:http/types@0.2.0" (instance (export "now" (func (result u64))))))"#);
    let cases: [(&str, Vec<u8>, &[&str]); 5] = [
        (
            "no-world@1.0.0",
            wat::parse_str("(component)").unwrap(),
            &["does not export gristmill:transform/transform@0.1.0"],
        ),
        ("imports@1.0.0", imports.unwrap(), &["imports wasi:http/types@0.2.0#now"]),
        ("core@1.0.0", b"\0asm\x01\0\0\0".to_vec(), &["core module"]),
        ("large@1.0.0", vec![0; (64 << 20) + 1], &["more than"]),
        ("broken@1.0", b"not wasm".to_vec(), &["a version has three numbers", "not WebAssembly"]),
    ];
    let stored =
        || (workspace.files(".gristmill/store/components"), workspace.state::<i64>("SELECT count(*) FROM component"));
    let before = stored();
    for (label, bytes, said) in cases {
        let file = format!("built/{label}.wasm");
        workspace.write(&file, bytes);
        let answer = deploy(&workspace, &file, &[]).expect(2);
        let problems = problems(&answer);
        for said in said {
            assert!(
                problems.iter().any(|problem| problem.contains(said)),
                "{label} should say `{said}`: {problems:#?}"
            );
        }
        let text = workspace.gristmill(&["transform", "deploy", &file]).expect(2).stderr;
        assert!(said.iter().all(|said| text.contains(said)) && text.contains("nothing was stored"), "{text}");
        assert_eq!(stored(), before, "{label}");
    }

    // Bytes that differ under a label, and a plan that asks for what the schema lacks: both are said at once.
    workspace.write("built/variant@1.0.0.wasm", std::fs::read(workspace.variant("2.0.0", "p")).unwrap());
    let found = problems(&deploy(&workspace, "built/variant@1.0.0.wasm", &[]).expect(2));
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].contains("a label never moves"), "{found:#?}");
    assert!(
        found[1].contains("for orders version 1, map (orders-v1)") && found[1].contains("no_such_column"),
        "{found:#?}"
    );
    // An identity that the target needs.
    workspace.variant("2.1.0", "i");
    let found = problems(&deploy(&workspace, "components/variant@2.1.0.wasm", &[]).expect(2));
    assert!(found[0].contains("no identity column `id`"), "{found:#?}");
    assert_eq!(stored(), before);
    // It is right for a task that is to come.
    deploy(&workspace, "components/variant@2.1.0.wasm", &["--without", "orders"]).expect(0);
}

#[test]
fn a_component_can_be_planned_for_a_place_that_it_does_not_serve_yet() {
    let workspace = workspace(&["a"]);
    let bytes = std::fs::read(workspace.variant("9.0.0", "c")).unwrap();
    workspace.write("built/cleaner@1.0.0.wasm", bytes);
    let alone = deploy(&workspace, "built/cleaner@1.0.0.wasm", &[]).expect(0).result();
    assert_eq!(alone["planned"], json!([]));
    let more = ["--task", "orders", "--stage", "normalize"];
    let planned = deploy(&workspace, "built/cleaner@1.0.0.wasm", &more).expect(0).result();
    assert_eq!(planned["planned"][0]["place"], "normalize");
    let note = planned["notes"][0].as_str().unwrap();
    assert!(note.contains("it gives other records") && note.contains("length"), "{note}");
    deploy(&workspace, "built/cleaner@1.0.0.wasm", &["--task", "orders", "--stage", "migrate:orders-v0"]).expect(2);
    deploy(&workspace, "built/cleaner@1.0.0.wasm", &["--task", "no-such", "--stage", "map"]).expect(2);
}

fn diff(workspace: &Workspace, args: &[&str], code: i32) -> Value {
    gristmill(workspace, &[&["transform", "diff"], args, &["--task", "orders"]].concat()).expect(code).result()
}

#[test]
fn two_versions_are_compared_on_stored_batches() {
    let workspace = workspace(&["ann", "drop", "twice", "reject", "BOB"]);
    workspace.write("data/b.csv", lines(10..20, "eve", 1));
    gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(0);
    workspace.variant("1.0.1", "");
    let copy = std::fs::read(workspace.path("components/variant@1.0.1.wasm")).unwrap();
    let equal = diff(&workspace, &["variant@1.0.0", "components/variant@1.0.1.wasm"], 0);
    assert_eq!(copy.len(), std::fs::read(workspace.path("components/variant@1.0.0.wasm")).unwrap().len());
    assert_eq!((&equal["equal"], &equal["batches"], &equal["records"]), (&json!(true), &json!(2), &json!(15)));

    // The names in upper case, without `drop`, with `reject` refused and `twice` twice; and a column more.
    workspace.variant("1.1.0", "udrxc");
    let found = diff(&workspace, &["variant@1.0.0", "variant@1.1.0"], 1);
    let output = &found["outputs"]["orders"];
    let counts =
        ["oldRows", "newRows", "equal", "changed", "added", "removed"].map(|key| output[key].as_u64().unwrap());
    assert_eq!(counts, [15, 14, 1, 12, 1, 2], "{output:#}");
    assert_eq!(output["columns"], json!({ "name": 12 }));
    assert_eq!(output["schema"], json!(["column `length` is new: int32"]));
    let rejects = json!([found["rejects"][0]["code"], found["rejects"][0]["appear"], found["rejects"][0]["vanish"]]);
    assert_eq!(rejects, json!(["unwanted", 1, 0]));
    assert_eq!(found["rejects"][0]["appearAt"][0]["position"], json!({ "in": "batch", "row": 3 }));
    let changed = output["examples"].as_array().unwrap().iter().find(|e| e["kind"] == "changed").unwrap();
    assert_eq!(changed["columns"], json!([{ "column": "name", "old": "ann", "new": "ANN" }]));
    assert_eq!(changed["identity"], json!([{ "column": "id", "value": "0" }]));
    assert!(found["old"]["speed"]["recordsPerSecond"].as_u64().unwrap() > 0);

    // The other way round, what appeared vanishes.
    let back = diff(&workspace, &["variant@1.1.0", "variant@1.0.0"], 1);
    let output = &back["outputs"]["orders"];
    assert_eq!((output["added"].as_u64(), output["removed"].as_u64()), (Some(2), Some(1)), "{output:#}");
    assert_eq!(back["rejects"][0]["vanish"], 1);

    // A part of the batches; nothing differs where no name tells the two apart.
    let last = diff(&workspace, &["variant@1.0.0", "variant@1.1.0", "--last", "1"], 1);
    assert_eq!(last["records"], 10);
    assert_eq!(diff(&workspace, &["variant@1.0.0", "variant@1.1.0", "--from", "1", "--to", "1"], 1)["records"], 5);
    let text = workspace.gristmill(&[
        "transform",
        "diff",
        "variant@1.0.0",
        "variant@1.1.0",
        "--task",
        "orders",
        "--components",
        "components",
    ]);
    let text = text.expect(1).stdout;
    for said in ["name differs in 12", "name: ann → ANN", "map unwanted: 1 more (row 3 of", "different", "records/s"]
    {
        assert!(text.contains(said), "it should say `{said}`:\n{text}");
    }
    assert_eq!(
        workspace.state::<i64>("SELECT count(*) FROM component WHERE label <> 'variant@1.0.0'"),
        0,
        "nothing is stored"
    );
}

#[test]
fn values_of_redacted_columns_are_never_shown() {
    let workspace = workspace(&["hunter2", "swordfish"]);
    workspace.variant("1.1.0", "u");
    let shown = |args: &[&str]| {
        let args = [
            &["transform", "diff", "variant@1.0.0", "variant@1.1.0", "--task", "orders", "--components", "components"],
            args,
        ]
        .concat();
        let (text, json) = (
            workspace.gristmill(&args).expect(1).stdout,
            workspace.gristmill(&[args.as_slice(), &["--json"]].concat()).expect(1).stdout,
        );
        text + &json
    };
    assert!(shown(&[]).contains("hunter2"), "without a rule values are shown");
    let redacted = shown(&["--redact", "name,at"]);
    assert!(redacted.contains("‹redacted›") && !redacted.to_lowercase().contains("hunter2"), "{redacted}");
    // What the pipeline redacts stays so without a word on the command line.
    workspace.write("pipeline.yaml", pipeline("1.0.0", "keep_raw: false\nredact: [name]\n"));
    gristmill(&workspace, &["publish", "pipeline.yaml"]).expect(0);
    let redacted = shown(&[]);
    assert!(redacted.contains("‹redacted›") && !redacted.to_lowercase().contains("hunter2"), "{redacted}");
    assert!(!redacted.to_lowercase().contains("swordfish"), "{redacted}");
}

#[test]
fn what_cannot_be_compared_is_refused_and_a_failing_version_is_told() {
    let workspace = workspace(&["a", "b"]);
    let refused = |args: &[&str], said: &str| {
        let args = [&["transform", "diff"], args, &["--task", "orders"]].concat();
        let answer = gristmill(&workspace, &args).expect(2);
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(said), "{args:?} should say `{said}`: {message}");
    };
    workspace.variant("1.1.0", "p");
    refused(&["variant@1.0.0", "variant@1.1.0"], "the new component (variant@1.1.0) cannot serve map for orders-v1");
    refused(&["variant@1.0.0", "variant@7.0.0"], "no component `variant@7.0.0`");
    refused(&["variant@1.0.0", "variant@1.0.0", "--stage", "normalize"], "runs no component at normalize");
    refused(&["hostile@0.1.0", "identity@0.1.0"], "no component `hostile@0.1.0`");
    refused(&["variant@1.0.0", "variant@1.0.0", "--from", "9"], "no stored batches");

    workspace.variant("1.2.0", "t");
    let failed = diff(&workspace, &["variant@1.0.0", "variant@1.2.0"], 1);
    assert_eq!(failed["failures"].as_array().unwrap().len(), 1);
    assert_eq!(failed["failures"][0]["side"], "new");
    assert!(failed["failures"][0]["what"].as_str().unwrap().contains("trap"), "{failed:#}");
}

#[test]
fn normalize_is_compared_on_pages_and_migrate_on_older_batches() {
    let workspace = orders::workspace("");
    workspace.variant("1.0.0", "");
    workspace.variant("1.1.0", "ur");
    let normalized = |version: &str, extra: &str| {
        orders::pipeline(&format!("transforms: {{ normalize: variant@{version} }}\n{extra}"))
    };
    workspace.write("pipeline.yaml", normalized("1.0.0", ""));
    workspace.write("data/a.csv", orders::HEADER.to_owned() + &line(0, "a", 1) + &line(1, "reject", 1));
    gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(0);
    let args = ["transform", "diff", "variant@1.0.0", "variant@1.1.0", "--task", "orders"];
    let refused = gristmill(&workspace, &args).expect(2);
    assert!(
        refused.json()["error"]["message"].as_str().unwrap().contains("1 of 1 batches do not have the page"),
        "{}",
        refused.stdout
    );

    workspace.write("pipeline.yaml", normalized("1.0.0", "keep_raw: true\n"));
    workspace.write("data/b.csv", orders::HEADER.to_owned() + &line(2, "b", 1) + &line(3, "reject", 1));
    gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(0);
    let found = diff(&workspace, &["variant@1.0.0", "variant@1.1.0", "--last", "1"], 1);
    assert_eq!(found["stage"], "normalize");
    let output = &found["outputs"]["records"];
    assert_eq!((output["changed"].as_u64(), output["removed"].as_u64()), (Some(1), Some(1)), "{output:#}");
    assert_eq!(found["rejects"][0]["refusedAt"], "normalize");
    let position = &found["rejects"][0]["appearAt"][0]["position"];
    assert_eq!(
        (&position["in"], &position["object"], &position["line"]),
        (&json!("source"), &json!("b.csv"), &json!(3))
    );

    // Batches of the first schema come to the second through the link.
    let migrated = orders::pipeline("transforms: { migrate: { orders-v1: variant@1.0.0 } }\n")
        .replace("schema: orders-v1", "schema: orders-v2");
    workspace.write("pipeline.yaml", migrated);
    gristmill(&workspace, &["publish", "pipeline.yaml"]).expect(0);
    let found = diff(&workspace, &["variant@1.0.0", "variant@1.1.0"], 1);
    assert_eq!((&found["stage"], &found["batches"]), (&json!("migrate:orders-v1"), &json!(2)));
    assert_eq!(found["rejects"][0]["refusedAt"], "migrate");
    assert_eq!(found["rejects"][0]["appear"], 2);
}
