//! Versions of a task: published, shown, put in force again, and taken by a run that goes on.

use super::orders::{self, HEADER, line, lines, orders};
use crate::harness::{Answer, Process, Workspace, flip_bit, until};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Orders through a version of the variant at stage map.
fn pipeline(version: &str) -> String {
    orders::pipeline(&format!("transforms: {{ map: variant@{version} }}\n"))
}

fn workspace() -> Workspace {
    let workspace = orders::workspace("");
    workspace.variant("1.0.0", "");
    workspace.variant("1.1.0", "u");
    workspace.write("pipeline.yaml", pipeline("1.0.0"));
    workspace.write("next.yaml", pipeline("1.1.0"));
    workspace
}

/// `gristmill … --components components --json`.
fn gristmill(workspace: &Workspace, args: &[&str]) -> Answer {
    workspace.gristmill(&[args, &["--components", "components", "--json"]].concat())
}

fn names(workspace: &Workspace) -> Vec<String> {
    orders(workspace).into_iter().map(|(_, name, _)| name).collect()
}

/// The version that made each batch, in the order of the batches.
fn batch_versions(workspace: &Workspace) -> Vec<u64> {
    let listed = workspace.gristmill(&["batches", "list", "orders", "--json"]);
    let result = if listed.code == Some(0) { listed.result() } else { json!({ "batches": [] }) };
    result["batches"].as_array().unwrap().iter().map(|batch| batch["taskVersion"].as_u64().unwrap()).collect()
}

fn message(answer: &Answer) -> String {
    answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn publishing_puts_a_version_in_force_and_runs_nothing() {
    let workspace = workspace();
    workspace.write("data/a.csv", lines(0..3, "a", 1));
    let first = gristmill(&workspace, &["publish", "pipeline.yaml"]).expect(0).result();
    assert_eq!((&first["version"], &first["published"], &first["before"]), (&json!(1), &json!(true), &Value::Null));
    assert!(!workspace.path("target.db").exists(), "nothing is run");
    assert_eq!(workspace.state::<i64>("SELECT count(*) FROM batch"), 0);

    let again = gristmill(&workspace, &["publish", "pipeline.yaml"]).expect(0).result();
    assert_eq!((&again["version"], &again["published"]), (&json!(1), &json!(false)), "nothing has changed");

    let second = gristmill(&workspace, &["publish", "next.yaml"]).expect(0).result();
    assert_eq!(second["version"], 2);
    assert_eq!(second["differences"][0]["subject"], "component");
    gristmill(&workspace, &["run", "--once", "next.yaml"]).expect(0);
    assert_eq!(names(&workspace), ["A", "A", "A"]);
    assert_eq!(workspace.state::<i64>("SELECT max(version) FROM task_version"), 2, "the run has published nothing");
}

#[test]
fn what_the_target_cannot_take_is_not_published() {
    let workspace = workspace();
    workspace.write("data/a.csv", lines(0..3, "a", 1));
    gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(0);
    let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
    target.execute_batch("ALTER TABLE orders RENAME COLUMN amount TO price").unwrap();
    // `amount` can be added, as nullable; a view in the table's place takes nothing.
    gristmill(&workspace, &["publish", "next.yaml"]).expect(0);
    target.execute_batch("ALTER TABLE orders RENAME TO kept; CREATE VIEW orders AS SELECT * FROM kept").unwrap();
    let refused = gristmill(&workspace, &["publish", "pipeline.yaml"]).expect(3);
    assert!(message(&refused).contains("`orders` is a view"), "{}", refused.stdout);
    assert_eq!(workspace.state::<i64>("SELECT max(version) FROM task_version"), 2, "nothing was published");
}

/// The first publisher is held between its check and its publication; the second is faster.
#[test]
fn of_two_publishers_one_is_told_which_version_it_lost_to() {
    let workspace = workspace();
    gristmill(&workspace, &["publish", "pipeline.yaml"]).expect(0);
    workspace.variant("1.2.0", "x");
    workspace.write("other.yaml", pipeline("1.2.0"));
    let args = ["publish", "other.yaml", "--components", "components", "--json"];
    let slow = Process::suspended(&workspace, &args, "schema-freeze-after");
    let fast = gristmill(&workspace, &["publish", "next.yaml"]).expect(0).result();
    assert_eq!(fast["version"], 2);
    slow.wake();
    let lost = slow.end().expect(3);
    assert!(message(&lost).contains("version 2 of task `orders` was published meanwhile"), "{}", lost.stdout);
    let shown = gristmill(&workspace, &["tasks", "show", "orders"]).expect(0).result();
    assert_eq!((&shown["inForce"], shown["versions"].as_array().unwrap().len()), (&json!(2), 2), "one of them won");

    // Told so, the loser decides anew.
    let decided = gristmill(&workspace, &["publish", "other.yaml"]).expect(0).result();
    assert_eq!((&decided["version"], &decided["before"]), (&json!(3), &json!(2)));
}

/// A run publishes too. Overtaken, it looks again, as if it had started a moment later.
#[test]
fn a_run_that_is_overtaken_looks_again() {
    let workspace = workspace();
    workspace.write("data/a.csv", lines(0..3, "a", 1));
    gristmill(&workspace, &["publish", "pipeline.yaml"]).expect(0);
    workspace.variant("1.2.0", "x");
    workspace.write("other.yaml", pipeline("1.2.0"));
    let args = ["run", "--once", "other.yaml", "--components", "components", "--json"];
    let run = Process::suspended(&workspace, &args, "schema-freeze-after");
    gristmill(&workspace, &["publish", "next.yaml"]).expect(0);
    run.wake();
    run.end().expect(0);
    assert_eq!(workspace.state::<i64>("SELECT max(version) FROM task_version"), 3);
    assert_eq!(workspace.state::<i64>("SELECT min(task_version) FROM batch"), 3, "nothing ran under the others");
}

/// Two at once, many times, with nobody held back: each version has one publisher, and whoever did not get one is told.
#[test]
fn racing_publishers_never_share_a_version() {
    let workspace = workspace();
    gristmill(&workspace, &["publish", "pipeline.yaml"]).expect(0);
    for round in 0..4 {
        let start = |name: &str| {
            let file = format!("{name}.yaml");
            let rows = 1000 + 2 * round + usize::from(name == "left");
            workspace.write(&file, pipeline("1.0.0") + &format!("batch: {{ max_rows: {rows} }}\n"));
            Process::start(&workspace, &["publish", &file, "--components", "components", "--json"])
        };
        let before: i64 = workspace.state("SELECT max(version) FROM task_version");
        let racers = [start("left"), start("right")];
        let answers: Vec<Answer> = racers.into_iter().map(Process::end).collect();
        let published: Vec<i64> =
            answers.iter().filter(|a| a.code == Some(0)).map(|a| a.result()["version"].as_i64().unwrap()).collect();
        let after: i64 = workspace.state("SELECT max(version) FROM task_version");
        assert_eq!(published.len() as i64, after - before, "each version has one publisher");
        for lost in answers.iter().filter(|a| a.code != Some(0)) {
            assert!(message(lost).contains(&format!("version {after} of task")), "{}", lost.stdout);
        }
        assert!(!published.is_empty());
    }
}

#[test]
fn a_version_says_which_code_runs_for_which_schema() {
    let workspace = orders::workspace("");
    workspace.variant("1.0.0", "");
    workspace.variant("1.1.0", "u");
    workspace.write("airlines.csv", "code,airline\nAA,American\n");
    let transforms = |version: &str, secret: &str, rest: &str| {
        format!(
            "transforms:\n  map: {{ component: variant@{version}, config: {{ api_key: {secret} }} }}\n  dictionaries: {{ airlines: airlines.csv }}\n{rest}"
        )
    };
    workspace.write("pipeline.yaml", orders::pipeline(&transforms("1.0.0", "hunter2", "")));
    workspace.write("data/a.csv", lines(0..3, "a", 1));
    gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(0);
    workspace.write("airlines.csv", "code,airline\nAA,American\nUA,United\n");
    let next = orders::pipeline(&transforms("1.1.0", "swordfish", "  migrate: { orders-v1: variant@1.0.0 }\n"));
    workspace.write("next.yaml", next.replace("schema: orders-v1", "schema: orders-v2"));
    gristmill(&workspace, &["publish", "next.yaml"]).expect(0);

    let listed = gristmill(&workspace, &["tasks", "list"]).expect(0).result();
    assert_eq!((&listed["tasks"][0]["task"], &listed["tasks"][0]["version"]), (&json!("orders"), &json!(2)));

    let shown = gristmill(&workspace, &["tasks", "show", "orders", "--version", "2"]).expect(0);
    let version = shown.result();
    assert_eq!((&version["inForce"], &version["schemaId"]), (&json!(true), &json!("orders-v2")));
    assert_eq!(version["map"]["label"], "variant@1.1.0");
    let ways = version["schemas"].as_array().unwrap();
    assert_eq!(ways.len(), 2, "its own schema, and that of the stored batch: {ways:#?}");
    assert_eq!((&ways[0]["schemaId"], &ways[0]["own"]), (&json!("orders-v2"), &json!(true)));
    assert_eq!((&ways[1]["schemaId"], &ways[1]["batches"]), (&json!("orders-v1"), &json!(1)));
    assert_eq!(ways[1]["migrate"][0]["pin"]["label"], "variant@1.0.0");
    assert_eq!((&ways[1]["migrate"][0]["to"], &ways[1]["arrives"]), (&json!("orders-v2"), &json!(true)));
    assert_eq!(version["dictionaries"]["airlines"]["key"], "code");
    let subjects: BTreeMap<String, String> = version["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| (d["subject"].as_str().unwrap().to_owned(), d["what"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(subjects.keys().collect::<Vec<_>>(), ["component", "config", "dictionary", "schema"], "{subjects:#?}");

    // The first version cannot take batches of the second.
    let first = gristmill(&workspace, &["tasks", "show", "orders", "--version", "1"]).expect(0).result();
    assert_eq!(first["schemas"].as_array().unwrap().len(), 1);

    for args in [["tasks", "show", "orders"].as_slice(), &["tasks", "show", "orders", "--version", "2"]] {
        let text = workspace.gristmill(args).expect(0).stdout;
        let json = gristmill(&workspace, args).expect(0).stdout;
        for secret in ["hunter2", "swordfish"] {
            assert!(!text.contains(secret) && !json.contains(secret), "{secret} is shown:\n{text}");
        }
    }
    let text = workspace.gristmill(&["tasks", "show", "orders", "--version", "2"]).expect(0).stdout;
    for said in [
        "version         2, in force",
        "map with variant@1.1.0",
        "orders-v1 (1 stored batch): migrate with variant@1.0.0",
        "its configuration differs (values are not shown)",
        "api_key: *****",
    ] {
        assert!(text.contains(said), "it should say `{said}`:\n{text}");
    }
    let unknown = gristmill(&workspace, &["tasks", "show", "orders", "--version", "9"]).expect(2);
    assert!(message(&unknown).contains("no version 9"), "{}", unknown.stdout);
}

#[test]
fn a_rollback_is_a_new_version_and_a_run_of_either_file_leaves_it() {
    let workspace = workspace();
    workspace.write("data/a.csv", lines(0..2, "a", 1));
    gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(0);
    workspace.write("data/b.csv", lines(2..4, "b", 1));
    gristmill(&workspace, &["run", "--once", "next.yaml"]).expect(0);
    assert_eq!(names(&workspace), ["a", "a", "B", "B"]);

    gristmill(&workspace, &["rollback", "orders", "--to", "1", "--dry-run"]).expect(0);
    assert_eq!(workspace.state::<i64>("SELECT max(version) FROM task_version"), 2, "a dry run publishes nothing");
    let back = gristmill(&workspace, &["rollback", "orders", "--to", "1"]).expect(0).result();
    assert_eq!((&back["version"], &back["before"]), (&json!(3), &json!(2)));
    assert!(back["checks"].as_array().unwrap().iter().all(|check| check["result"] == "fits"), "{back:#}");
    let versions = gristmill(&workspace, &["tasks", "show", "orders"]).expect(0).result();
    assert_eq!(versions["versions"][2]["origin"], "rolled back to 1");
    let same = "SELECT count(DISTINCT digest) FROM task_version WHERE version IN (1, 3)";
    assert_eq!(workspace.state::<i64>(same), 1, "it is the snapshot of version 1, to the byte");

    // The old file is what is in force; the newer file is an older version by now, and does not come back by itself.
    for (file, name) in [("pipeline.yaml", "c"), ("next.yaml", "d")] {
        workspace.write(&format!("data/{name}.csv"), lines(4..6, name, 2 + usize::from(name == "d")));
        gristmill(&workspace, &["run", "--once", file]).expect(0);
        assert_eq!(names(&workspace)[4..], [name, name], "{file}: version 1's code runs");
    }
    assert_eq!(workspace.state::<i64>("SELECT max(version) FROM task_version"), 3);
    assert_eq!(batch_versions(&workspace), [1, 2, 3, 3]);

    // Rolling back to what is in force is done already.
    let again = gristmill(&workspace, &["rollback", "orders", "--to", "1"]).expect(0).result();
    assert_eq!((&again["published"], &again["version"]), (&json!(false), &json!(3)));
    // Publishing the newer file is the way forward.
    let forward = gristmill(&workspace, &["publish", "next.yaml"]).expect(0).result();
    assert_eq!(forward["version"], 4);
    let verified = gristmill(&workspace, &["replay", "orders", "--verify"]).expect(0).result();
    assert_eq!((&verified["equal"], &verified["different"]), (&json!(4), &json!([])));
}

/// Feeder files while versions come and go: nothing restarts, nothing is read twice, no batch mixes versions.
#[test]
fn a_run_that_goes_on_takes_versions_at_batch_boundaries() {
    let workspace = workspace();
    workspace.write("data/0.csv", lines(0..10, "a", 1));
    let run = Process::start(&workspace, &["run", "pipeline.yaml", "--components", "components", "--json"]);
    let feed_until = |from: usize, version: u64| {
        let mut fed = from;
        until(&format!("a batch of version {version}"), || {
            if batch_versions(&workspace).contains(&version) {
                return true;
            }
            // One more file once the last is in the target: the run is at a boundary again and again.
            if workspace.path("target.db").exists() && orders(&workspace).len() == fed * 10 {
                workspace.write(&format!("data/{fed}.csv"), lines(fed * 10..fed * 10 + 10, "a", 1));
                fed += 1;
            }
            false
        });
        fed
    };
    let fed = feed_until(1, 1);
    gristmill(&workspace, &["publish", "next.yaml"]).expect(0);
    let status = gristmill(&workspace, &["status", "orders"]).expect(0).result();
    assert_eq!(status["tasks"][0]["version"], 2);
    let fed = feed_until(fed, 2);
    gristmill(&workspace, &["rollback", "orders", "--to", "1"]).expect(0);
    let fed = feed_until(fed, 3);
    until("the last file", || orders(&workspace).len() == fed * 10);
    let ended = run.interrupt().expect(130).result();

    let versions = batch_versions(&workspace);
    assert!(versions.is_sorted(), "versions are taken in order: {versions:?}");
    assert_eq!(ended["summary"]["recordsRead"], (fed * 10) as u64, "one run read each record once");
    let unchanged = ended["summary"]["outputs"]["orders"]["unchanged"].as_u64().unwrap();
    assert_eq!(unchanged, 0, "nothing arrived twice");
    // Each batch's rows show the code of its version alone.
    let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
    let mut query = target
        .prepare("SELECT DISTINCT b.batch_id, o.name FROM orders o JOIN gristmill_batch b ON b.no = o.gristmill_batch")
        .unwrap();
    let made: Vec<(String, String)> =
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    assert_eq!(made.len(), versions.len(), "no batch mixes the names of two versions");
    for (batch, name) in made {
        let version: i64 = workspace.state(&format!("SELECT task_version FROM batch WHERE batch_id = '{batch}'"));
        assert_eq!(name, if version == 2 { "A" } else { "a" }, "batch {batch} of version {version}");
    }
    gristmill(&workspace, &["replay", "orders", "--verify"]).expect(0);
}

fn failed_checks(answer: &Answer) -> Vec<(String, String)> {
    let result = answer.result();
    let checks = result["checks"].as_array().unwrap_or_else(|| panic!("no checks: {}", answer.stdout));
    let failed = checks.iter().filter(|check| check["result"] == "fails");
    failed.map(|check| (check["aspect"].as_str().unwrap().to_owned(), check["what"].to_string())).collect()
}

#[test]
fn a_rollback_that_does_not_fit_is_refused_with_each_reason() {
    let workspace = workspace();
    workspace.write("airlines.csv", "code,airline\nAA,American\n");
    let with = "transforms: { map: variant@1.0.0, dictionaries: { airlines: airlines.csv } }\n";
    workspace.write("pipeline.yaml", orders::pipeline(with));
    workspace.write("data/a.csv", lines(0..3, "a", 1));
    gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(0);
    gristmill(&workspace, &["publish", "next.yaml"]).expect(0);
    let refused = |aspects: &[&str], said: &[&str]| {
        let answer = gristmill(&workspace, &["rollback", "orders", "--to", "1"]).expect(3);
        let failed = failed_checks(&answer);
        assert_eq!(failed.iter().map(|(aspect, _)| aspect.as_str()).collect::<Vec<_>>(), aspects, "{}", answer.stdout);
        for said in said {
            assert!(failed.iter().any(|(_, what)| what.contains(said)), "it should say `{said}`: {failed:#?}");
        }
        let text = workspace.gristmill(&["rollback", "orders", "--to", "1"]).expect(3);
        assert!(aspects.iter().all(|aspect| text.stderr.contains(aspect)), "{}", text.stderr);
        assert_eq!(workspace.state::<i64>("SELECT max(version) FROM task_version"), 2, "nothing was published");
    };

    // A component with a flipped bit, and a dictionary that is gone.
    let files = |folder: &str| workspace.files(&format!(".gristmill/store/{folder}/sha256"));
    let digest: String = workspace.state("SELECT digest FROM component WHERE label = 'variant@1.0.0'");
    let component =
        files("components").into_iter().find(|path| digest.ends_with(path.file_name().unwrap().to_str().unwrap()));
    let component = component.unwrap();
    let dictionary = files("dictionaries")[0].clone();
    let (component_bytes, dictionary_bytes) = (std::fs::read(&component).unwrap(), std::fs::read(&dictionary).unwrap());
    flip_bit(&component);
    std::fs::remove_file(&dictionary).unwrap();
    refused(&["store"], &["variant@1.0.0 (map, ", "is damaged", "dictionary `airlines`", "is missing"]);
    std::fs::write(&component, component_bytes).unwrap();
    std::fs::write(&dictionary, dictionary_bytes).unwrap();

    // A target that has lost what names its records.
    let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
    target.execute_batch("ALTER TABLE orders RENAME TO kept; CREATE TABLE orders AS SELECT * FROM kept").unwrap();
    refused(&["target"], &["no primary key or unique index"]);
    target.execute_batch("DROP TABLE orders; ALTER TABLE kept RENAME TO orders").unwrap();
    gristmill(&workspace, &["rollback", "orders", "--to", "1", "--dry-run"]).expect(0);

    // A source that has gone on to other columns.
    let renamed = orders::pipeline("transforms: { map: variant@1.1.0 }\n")
        .replace("orders-v1", "orders-v2")
        .replace("amount: \"decimal128(12, 2)\"", "amount: \"decimal128(14, 4)\", note: utf8");
    workspace.write("later.yaml", renamed);
    gristmill(&workspace, &["publish", "later.yaml"]).expect(0);
    let answer = gristmill(&workspace, &["rollback", "orders", "--to", "1"]).expect(3);
    let failed = failed_checks(&answer);
    assert_eq!(failed.len(), 1, "{failed:#?}");
    assert_eq!(failed[0].0, "source");
    assert!(failed[0].1.contains("`amount` is Decimal128(14, 4) now"), "{failed:#?}");
    assert!(failed[0].1.contains("it has a column `note` now"), "{failed:#?}");
    let unknown = gristmill(&workspace, &["rollback", "orders", "--to", "7"]).expect(2);
    assert!(message(&unknown).contains("no version 7"), "{}", unknown.stdout);
}

/// While the target waits to be rebuilt for the version in force, no other one can overtake it.
#[test]
fn a_version_that_waits_for_its_target_is_not_overtaken() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..3, "a", 1));
    gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(0);
    let next = orders::pipeline("transforms: { migrate: { orders-v1: identity@0.1.0 } }\n")
        .replace("orders-v1\nsource", "orders-v2\nsource")
        .replace("identity: [id]", "identity: [id, name]");
    workspace.write("next.yaml", &next);
    workspace.write("later.yaml", next + "batch: { max_rows: 7 }\n");
    workspace.gristmill(&["schema", "plan", "next.yaml"]).expect(0);
    workspace.gristmill(&["schema", "validate", "orders"]).expect(0);
    let back = workspace.gristmill(&["rollback", "orders", "--to", "1", "--json"]).expect(3);
    let failed: Vec<String> = failed_checks(&back).into_iter().map(|(aspect, _)| aspect).collect();
    assert_eq!(failed, ["identity", "change"], "{}", back.stdout);
    let on = workspace.gristmill(&["publish", "later.yaml", "--json"]).expect(3);
    assert!(message(&on).contains("holds the task"), "{}", on.stdout);
    workspace.gristmill(&["publish", "next.yaml"]).expect(0);
    assert_eq!(workspace.state::<i64>("SELECT max(version) FROM task_version"), 2, "nothing was published");
    workspace.gristmill(&["schema", "resume", "orders"]).expect(0);
    workspace.gristmill(&["publish", "later.yaml"]).expect(0);
}

/// A run that is asked to take a version whose component was damaged since stops before it reads on.
#[test]
fn a_version_whose_code_is_damaged_stops_the_task_before_it_reads() {
    let workspace = workspace();
    workspace.write("data/a.csv", lines(0..3, "a", 1));
    gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(0);
    let digest: String = workspace.state("SELECT digest FROM component WHERE label = 'variant@1.0.0'");
    let hex = digest.trim_start_matches("sha256:");
    flip_bit(&workspace.path(&format!(".gristmill/store/components/sha256/{hex}")));
    workspace.write("data/b.csv", lines(3..6, "b", 1));
    let stopped = gristmill(&workspace, &["run", "--once", "pipeline.yaml"]).expect(3);
    assert!(message(&stopped).contains("is damaged"), "{}", stopped.stdout);
    assert_eq!(workspace.state::<i64>("SELECT count(*) FROM batch"), 1, "nothing was read");
}

#[test]
fn doctor_says_where_a_file_stands_among_its_versions() {
    let workspace = workspace();
    workspace.write("data/a.csv", HEADER.to_owned() + &line(1, "a", 1));
    let said = |file: &str| {
        let checks = gristmill(&workspace, &["doctor", file]).expect(0).result();
        let checks = checks["checks"].as_array().unwrap().clone();
        let of_file = checks.iter().rfind(|check| check["check"] == "version").unwrap();
        of_file["detail"].as_str().unwrap().to_owned()
    };
    assert!(said("pipeline.yaml").contains("not published yet"));
    gristmill(&workspace, &["publish", "pipeline.yaml"]).expect(0);
    assert!(said("pipeline.yaml").contains("version 1, which is in force"));
    assert!(said("next.yaml").contains("a run publishes this file as the next"));
    gristmill(&workspace, &["publish", "next.yaml"]).expect(0);
    assert!(said("pipeline.yaml").contains("version 2 is in force, and a run leaves it so"));
}
