//! Dead letters as a queue: what is replayed goes through whole or returns with its new reason, and nothing else moves.

use super::orders::{HEADER, line, lines, orders};
use crate::harness::{Answer, Target, Workspace};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Orders whose version `n` reads them by other rules: `0` and `n/a` mean null in some, and fields may be longer.
fn pipeline(version: u32, nulls: &str, max_field_bytes: u32, extra: &str) -> String {
    format!(
        "version: 1\ntask: orders\nschema: orders-v{version}\nsource:\n  files:\n    url: data/\n    \
         format: {{ csv: {{ null_values: [{nulls}] }} }}\n    max_field_bytes: {max_field_bytes}\n    \
         columns: {{ id: int64, name: utf8, amount: \"decimal128(12, 2)\", at: \"timestamp(us, UTC)\" }}\n\
         identity: [id]\nsource_version: position\nsink:\n  sqlite: {{ url: \"sqlite://target.db\", table: orders }}\n\
         dead_letters: {{ max_records: 20 }}\n{extra}"
    )
}

/// `0` is null, and so are orders with that id; fields have up to 100 bytes.
fn strict(extra: &str) -> String {
    pipeline(1, "\"0\"", 100, extra)
}

/// `n/a` is null, `0` is an id, and fields have up to 1000 bytes.
fn lenient(extra: &str) -> String {
    pipeline(2, "n/a", 1000, extra)
}

/// One of each kind that the strict version refuses: lines 2 to 6, and two good ones.
fn bad_orders() -> String {
    format!(
        "{HEADER}0,zero,1.50,2026-01-01T00:00:01Z\n4,name,n/a,2026-01-01T00:00:01Z\n5,{},1.50,2026-01-01T00:00:01Z\n\
         6,short\n7,SECRET,x1,2026-01-01T00:00:01Z\n{}{}",
        "y".repeat(200),
        line(8, "good", 1),
        line(9, "good", 1)
    )
}

fn workspace(pipeline: String, data: String) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("pipeline.yaml", pipeline);
    workspace.write("data/a.csv", data);
    workspace.run().expect(0);
    workspace
}

/// Publishes a pipeline by a run that finds nothing new.
fn publish(workspace: &Workspace, pipeline: String) {
    workspace.write("pipeline.yaml", pipeline);
    workspace.run().expect(0);
}

fn dlq(workspace: &Workspace, args: &[&str]) -> Answer {
    workspace.gristmill(&[&["dlq", "--json"], args].concat())
}

/// `id state first→last replays` of every letter.
fn letters(workspace: &Workspace) -> Vec<String> {
    let listed = dlq(workspace, &["list", "orders", "--status", "all"]).expect(0).result();
    let shown = |letter: &Value| {
        let class = |of: &str| letter[of]["class"].as_str().unwrap().to_owned();
        let (first, last) = (class("first"), class("last"));
        let classes = if first == last { first } else { format!("{first}→{last}") };
        format!("{} {} {classes} {}", letter["id"], letter["state"].as_str().unwrap(), letter["replayCount"])
    };
    listed["deadLetters"].as_array().unwrap().iter().map(shown).collect()
}

/// The live orders.
fn ids(workspace: &Workspace) -> Vec<i64> {
    let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
    let mut query = target.prepare("SELECT id FROM orders WHERE gristmill_deleted_at IS NULL ORDER BY id").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn what_a_new_version_takes_goes_through_and_the_rest_returns_with_its_reason() {
    for keep in ["", "keep_raw: true\n"] {
        let workspace = workspace(strict(keep), bad_orders());
        assert_eq!(ids(&workspace), [8, 9]);
        let cursor: String = workspace.state("SELECT cursor FROM checkpoint");
        let sorted = |mut letters: Vec<String>| {
            letters.sort();
            letters
        };
        assert_eq!(
            sorted(letters(&workspace)),
            [
                "1 open unparsable-value 0",
                "2 open over-size 0",
                "3 open field-count 0",
                "4 open unparsable-value 0",
                "5 open missing-key 0"
            ]
        );

        // The version that refused them refuses them again: attempts are counted, the first failure stays.
        let again = dlq(&workspace, &["replay", "orders"]).expect(1).result();
        assert_eq!((&again["replayed"], &again["notTried"]), (&json!(0), &json!([])));
        assert_eq!(again["failedAgain"][0], json!({ "class": "field-count", "code": "field-count", "count": 1 }));
        assert_eq!(workspace.state::<i64>("SELECT sum(replay_count) FROM dead_letter"), 5);
        let times = "SELECT count(*) FROM dead_letter WHERE last_failed_at > first_failed_at AND last_task_version = 1";
        assert_eq!(workspace.state::<i64>(times), 5);
        assert_eq!(workspace.state::<i64>("SELECT count(*) FROM batch WHERE partition_id = 'dead-letters'"), 0);

        publish(&workspace, lenient(keep));
        let done = dlq(&workspace, &["replay", "orders"]).expect(1).result();
        assert_eq!((&done["replayed"], &done["taskVersion"]), (&json!(3), &json!(2)));
        let failed = [
            json!({ "class": "field-count", "code": "field-count", "count": 1 }),
            json!({ "class": "unparsable-value", "code": "unparsable-value", "count": 1 }),
        ];
        assert_eq!(done["failedAgain"], json!(failed));
        assert_eq!(ids(&workspace), [0, 4, 5, 8, 9]);
        assert_eq!(
            sorted(letters(&workspace)),
            [
                "1 replayed unparsable-value 2",
                "2 replayed over-size 2",
                "3 open field-count 2",
                "4 open unparsable-value 2",
                "5 replayed missing-key 2"
            ]
        );
        // Their places in the source: file version 1, records 0 to 2.
        let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
        let sql = "SELECT group_concat(hex(gristmill_version)) FROM orders WHERE id IN (0, 4, 5) ORDER BY id";
        let versions: String = target.query_row(sql, [], |row| row.get(0)).unwrap();
        let place = |record: u64| format!("02{:016X}{record:016X}", 1);
        assert_eq!(versions, [place(0), place(1), place(2)].join(","), "a letter stands where its record stood");

        // The source's checkpoint has not moved, and the history is whole.
        let source: String = workspace.state("SELECT cursor FROM checkpoint WHERE partition_id = 'all'");
        assert_eq!(source, cursor);
        assert_eq!(workspace.run().expect(0).result()["summary"]["recordsRead"], 0);
        let verified = workspace.gristmill(&["replay", "orders", "--verify", "--json"]).expect(0).result();
        assert_eq!((&verified["equal"], &verified["different"]), (&json!(2), &json!([])));
        assert_eq!(verified["normalized"], if keep.is_empty() { 0 } else { 2 }, "its page is kept as others are");
        workspace.gristmill(&["batches", "verify", "orders"]).expect(0);
    }
}

#[test]
fn the_command_line_lists_shows_and_discards() {
    let workspace = workspace(strict(""), bad_orders());
    let list = workspace.gristmill(&["dlq", "list", "orders", "--class", "unparsable-value"]).expect(0).stdout;
    assert!(list.contains("a.csv:3") && list.contains("a.csv:6") && !list.contains("field-count"), "{list}");
    let limited = workspace.gristmill(&["dlq", "list", "orders", "--limit", "2"]).expect(0).stdout;
    assert!(limited.ends_with("and 3 more: raise --limit\n"), "{limited}");
    assert_eq!(dlq(&workspace, &["list", "orders", "--code", "over-size"]).expect(0).result()["total"], 1);

    dlq(&workspace, &["replay", "orders", "4"]).expect(1);
    let show = workspace.gristmill(&["dlq", "show", "4"]).expect(0).stdout;
    for part in ["4 of orders, open", "a.csv:6, record 4 of file version 1", "first failure", "last failure", "amount"]
    {
        assert!(show.contains(part), "{part}: {show}");
    }
    assert!(!show.contains("SECRET") && !show.contains("x1"), "no value is shown: {show}");

    for (args, said) in [
        (&["show", "99"][..], "there is no dead letter 99"),
        (&["replay", "orders", "4", "98"], "there is no dead letter 98"),
        (&["replay", "nothing"], "no task `nothing`"),
        (&["replay", "orders", "--version", "7"], "version 7 of task `orders`"),
        (&["discard", "--task", "orders"], "a class or a code"),
    ] {
        let refused = workspace.gristmill(&[&["dlq"], args].concat());
        assert!(matches!(refused.code, Some(2 | 3)) && refused.stderr.contains(said), "{args:?}: {}", refused.stderr);
    }

    assert_eq!(dlq(&workspace, &["discard", "3", "4"]).expect(0).result()["discarded"], 2);
    let discarded = workspace.gristmill(&["dlq", "discard", "3"]).expect(2).stderr;
    assert!(discarded.contains("dead letter 3 is discarded"), "{discarded}");
    dlq(&workspace, &["discard", "--task", "orders", "--class", "missing-key"]).expect(0);
    assert_eq!(dlq(&workspace, &["list", "orders", "--status", "discarded"]).expect(0).result()["total"], 3);
    publish(&workspace, lenient(""));
    assert_eq!(dlq(&workspace, &["replay", "orders"]).expect(0).result()["replayed"], 2);
    assert_eq!(ids(&workspace), [4, 5, 8, 9], "what was discarded is done without");
    let none = workspace.gristmill(&["dlq", "list", "orders"]).expect(0).stdout;
    assert_eq!(none, "no open dead letters\n");

    let status = workspace.gristmill(&["status", "orders"]).expect(0).stdout;
    assert!(status.contains("dead letters  none") && status.contains("dead-letters: 1 batch replayed"), "{status}");
    assert_eq!(workspace.gristmill(&["status", "--json"]).expect(0).result()["tasks"][0]["recordsRead"], 7);
    let batches = workspace.gristmill(&["batches", "list", "orders"]).expect(0).stdout;
    assert!(batches.lines().last().unwrap().contains("dead-letters"), "{batches}");
}

#[test]
fn a_chosen_version_decides() {
    let workspace = workspace(strict(""), bad_orders());
    publish(&workspace, lenient(""));
    let old = dlq(&workspace, &["replay", "orders", "--version", "1", "--code", "over-size"]).expect(1).result();
    assert_eq!((&old["taskVersion"], &old["replayed"]), (&json!(1), &json!(0)));
    let new = dlq(&workspace, &["replay", "orders", "--version", "2", "--class", "over-size"]).expect(0).result();
    assert_eq!((&new["taskVersion"], &new["replayed"]), (&json!(2), &json!(1)));
    assert_eq!(workspace.state::<i64>("SELECT last_task_version FROM dead_letter WHERE state = 'REPLAYED'"), 1);
    let settled = "SELECT count(*) FROM dead_letter d JOIN batch b ON b.batch_id = d.settled_by AND b.task_version = 2";
    assert_eq!(workspace.state::<i64>(settled), 1);
}

#[test]
fn the_limit_counts_open_letters_alone() {
    let limited = |pipeline: String| pipeline.replace("max_records: 20", "max_records: 1");
    let order = |id: u32| format!("{HEADER}{id},name,n/a,2026-01-01T00:00:01Z\n{}", line(id as usize + 1, "good", 1));
    let workspace = workspace(limited(strict("")), order(10));
    workspace.write("data/b.csv", order(20));
    workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);

    // Replayed with a version that takes it, under the strict one again.
    let lenient = limited(lenient(""));
    workspace.write("pipeline.yaml", lenient.replace("url: data/", "url: data/\n    pattern: \"a.csv\""));
    workspace.run().expect(0);
    dlq(&workspace, &["replay", "orders"]).expect(0);
    workspace.write("pipeline.yaml", limited(strict("batch: { max_rows: 100 }\n")));
    workspace.run().expect(0);
    assert_eq!(ids(&workspace), [10, 11, 21]);

    workspace.write("data/c.csv", order(30));
    workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);
    dlq(&workspace, &["discard", "--task", "orders", "--class", "unparsable-value"]).expect(0);
    workspace.run().expect(0);
    assert_eq!(ids(&workspace), [10, 11, 21, 31]);
}

#[test]
fn a_later_correction_wins_over_a_letter() {
    for version in ["position", "arrival"] {
        let of = |pipeline: String| pipeline.replace("source_version: position", &format!("source_version: {version}"));
        let workspace = workspace(of(strict("")), bad_orders());
        // Order 4 arrives again, corrected, before its dead letter is replayed.
        workspace.write("data/b.csv", lines(4..5, "corrected", 3));
        workspace.run().expect(0);
        publish(&workspace, of(lenient("")));
        assert_eq!(dlq(&workspace, &["replay", "orders"]).expect(1).result()["replayed"], 3);
        assert_eq!(ids(&workspace), [0, 4, 5, 8, 9], "{version}");
        let order: Vec<_> = orders(&workspace).into_iter().filter(|(id, ..)| *id == 4).collect();
        assert_eq!(order, [(4, "corrected".into(), "3.50".into())], "{version}");
        workspace.gristmill(&["replay", "orders", "--verify"]).expect(0);
    }
}

#[test]
fn letters_of_a_changed_file_stay_open_with_the_reason() {
    let workspace = workspace(strict(""), bad_orders());
    publish(&workspace, lenient(""));
    let reason = || {
        let answer = dlq(&workspace, &["replay", "orders"]).expect(1).result();
        assert_eq!((&answer["replayed"], &answer["failedAgain"]), (&json!(0), &json!([])));
        let reasons = answer["notTried"].as_array().unwrap();
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        assert_eq!(reasons[0]["deadLetters"].as_array().unwrap().len(), 5);
        reasons[0]["reason"].as_str().unwrap().to_owned()
    };
    let original = std::fs::read(workspace.path("data/a.csv")).unwrap();
    std::fs::remove_file(workspace.path("data/a.csv")).unwrap();
    assert_eq!(reason(), "a.csv is gone");
    workspace.write("data/a.csv", lines(4..7, "rewritten", 2));
    assert!(reason().contains("has changed since; its new version is read whole"), "{}", reason());
    assert_eq!(workspace.state::<i64>("SELECT sum(replay_count) FROM dead_letter"), 0, "that was no attempt");

    // Put back as it was, the same letters can be read again.
    workspace.write("data/a.csv", original);
    assert_eq!(dlq(&workspace, &["replay", "orders", "1"]).expect(0).result()["replayed"], 1);
    workspace.write("data/a.csv", lines(5..7, "rewritten", 2));
    workspace.run().expect(0);
    let answer = dlq(&workspace, &["replay", "orders"]).expect(1).result();
    assert_eq!(answer["notTried"][0]["reason"], "a later version of a.csv was read whole");
}

#[test]
fn a_conflict_is_one_again() {
    let workspace = Workspace::new();
    let by_column = |pipeline: String| pipeline.replace("source_version: position", "source_version: { column: at }");
    workspace.write("pipeline.yaml", by_column(strict("")));
    workspace.write("data/a.csv", lines(1..3, "first", 1));
    workspace.run().expect(0);
    // Two of the same version with other content: the target keeps what it has, however often it is asked.
    workspace.write("data/b.csv", lines(1..3, "other", 1));
    workspace.run().expect(0);
    let again = dlq(&workspace, &["replay", "orders"]).expect(1).result();
    let failed = json!([{ "class": "version-conflict", "code": "version-conflict", "count": 2 }]);
    assert_eq!((&again["replayed"], &again["failedAgain"]), (&json!(0), &failed));
    assert_eq!(letters(&workspace), ["1 open version-conflict 1", "2 open version-conflict 1"]);
    assert!(orders(&workspace).iter().all(|(_, name, _)| name == "first"));
    // Where the target gives way, the same letter goes through.
    let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
    target.execute("DELETE FROM orders WHERE id = 2", []).unwrap();
    assert_eq!(dlq(&workspace, &["replay", "orders", "2"]).expect(0).result()["replayed"], 1);
    assert_eq!(orders(&workspace)[1].1, "other");
    assert_eq!(workspace.state::<i64>("SELECT count(*) FROM dead_letter"), 2, "a failure is no second letter");
}

/// Values through the hostile component in one stage; some rows are `poison`, one value is too long for the source.
fn hostile(target: Target, stage: &str, behaviour: &str, extra: &str) -> String {
    format!(
        "version: 1\ntask: orders\nschema: hostile-v1\nsource:\n  files: {{ url: data/, format: csv, columns: {{ value: utf8 }} }}\n\
         identity: [value]\nsource_version: position\ntransforms:\n  \
         {stage}: {{ component: hostile@0.1.0, config: {{ do: {behaviour} }} }}\n  \
         limits: {{ deadline: 500ms, memory: 64MiB, output: 256KiB }}\n\
         sink:\n  {}\ndead_letters: {{ max_records: 50 }}\n{extra}",
        target.yaml()
    )
}

/// (stage, table that its rows end in).
const STAGES: [(&str, &str); 2] = [("normalize", "orders"), ("map", "records")];

const VALUES: &str = "value\nv0\npoison\nv2\npoison\n";

#[test]
fn a_fixed_component_takes_what_the_broken_one_refused() {
    for target in Target::ALL {
        for (stage, table) in STAGES {
            for (broken, first, keep) in [
                ("reject-poison", "rejected", "keep_raw: true\n"),
                ("trap-on-poison", "poison-row", ""),
                ("eat-memory-on-poison", "poison-row", "keep_raw: true\n"),
            ] {
                let at = format!("{target:?} {stage} {broken}");
                let workspace = workspace(hostile(target, stage, broken, keep), VALUES.into());
                assert_eq!(target.rows(&workspace, table).len(), 2, "{at}");
                if !keep.is_empty() {
                    std::fs::remove_file(workspace.path("data/a.csv")).unwrap();
                }
                // Alone in their batch, poison rows break the whole of it, and are told apart all the same.
                let again = dlq(&workspace, &["replay", "orders"]).expect(1).result();
                assert_eq!(again["failedAgain"].as_array().unwrap().len(), 1, "{at}: {again}");
                assert_eq!(letters(&workspace), [format!("1 open {first} 1"), format!("2 open {first} 1")], "{at}");

                publish(&workspace, hostile(target, stage, "behave", keep));
                let done = dlq(&workspace, &["replay", "orders"]).expect(0).result();
                assert_eq!((&done["replayed"], &done["notTried"]), (&json!(2), &json!([])), "{at}");
                let settled = [format!("1 replayed {first} 2"), format!("2 replayed {first} 2")];
                assert_eq!(letters(&workspace), settled, "{at}");
                assert_eq!(target.rows(&workspace, table).len(), 3, "{at}: the two have one identity");
                assert_eq!(workspace.state::<i64>("SELECT count(*) FROM dead_letter_row"), 2, "{at}: in one batch");
                let verified = workspace.gristmill(&["replay", "orders", "--verify", "--json"]).expect(0).result();
                assert_eq!(verified["different"], json!([]), "{at}");
            }
        }
    }
}

#[test]
fn a_letter_that_fails_elsewhere_stays_one_letter() {
    let workspace = workspace(hostile(Target::Sqlite, "normalize", "reject-poison", ""), VALUES.into());
    publish(&workspace, hostile(Target::Sqlite, "normalize", "trap-on-poison", ""));
    dlq(&workspace, &["replay", "orders"]).expect(1);
    assert_eq!(letters(&workspace), ["1 open rejected→poison-row 1", "2 open rejected→poison-row 1"]);
    let both = hostile(Target::Sqlite, "normalize", "behave", "")
        .replace("  limits:", "  map: { component: hostile@0.1.0, config: { do: reject-poison } }\n  limits:");
    // Its output is a table of its own, beside that of a task without a mapper.
    publish(&workspace, both);
    dlq(&workspace, &["replay", "orders"]).expect(1);
    let last: String = workspace.state(
        "SELECT group_concat(refused_at || ' ' || last_refused_at || ' ' || last_task_version || ' ' || replay_count, ', ') FROM dead_letter",
    );
    assert_eq!(last, "normalize map 3 2, normalize map 3 2");
    let show = workspace.gristmill(&["dlq", "show", "1"]).expect(0).stdout;
    assert!(show.contains("refused at  normalize") && show.contains("refused at  map"), "{show}");
    assert_eq!(workspace.state::<i64>("SELECT count(*) FROM dead_letter"), 2);
}

#[test]
fn letters_of_an_older_schema_go_through_its_migrations() {
    let first = hostile(Target::Sqlite, "map", "reject-poison", "");
    let next = |migrate: &str| {
        let next = hostile(Target::Sqlite, "map", "behave", "").replace("hostile-v1", "hostile-v2");
        next.replace("  limits:", &format!("{migrate}  limits:"))
    };
    let link = |behaviour: &str| {
        format!("  migrate: {{ hostile-v1: {{ component: hostile@0.1.0, config: {{ do: {behaviour} }} }} }}\n")
    };
    let workspace = workspace(first, VALUES.into());
    publish(&workspace, next(""));
    let answer = dlq(&workspace, &["replay", "orders"]).expect(1).result();
    let reason = answer["notTried"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("no migration from `hostile-v1` to `hostile-v2`"), "{reason}");
    publish(&workspace, next(&link("reject-poison")));
    dlq(&workspace, &["replay", "orders"]).expect(1);
    let last = "SELECT group_concat(refused_at || ' ' || last_refused_at, ', ') FROM dead_letter";
    assert_eq!(workspace.state::<String>(last), "map migrate, map migrate");
    publish(&workspace, next(&link("behave")));
    assert_eq!(dlq(&workspace, &["replay", "orders"]).expect(0).result()["replayed"], 2);
    assert_eq!(Target::Sqlite.rows(&workspace, "records").len(), 3);
    let schema = "SELECT schema_id FROM batch WHERE partition_id = 'dead-letters'";
    assert_eq!(workspace.state::<String>(schema), "hostile-v1", "the records are stored as they were");
    workspace.gristmill(&["replay", "orders", "--verify"]).expect(0);
}

#[test]
fn a_component_that_refuses_the_whole_call_leaves_the_letters_open() {
    let workspace = workspace(hostile(Target::Sqlite, "map", "reject-poison", ""), VALUES.into());
    publish(&workspace, hostile(Target::Sqlite, "map", "failure-on-poison", ""));
    let stopped = workspace.gristmill(&["dlq", "replay", "orders"]).expect(3).stderr;
    assert!(stopped.contains("told-to-fail") && stopped.contains("they stay open"), "{stopped}");
    assert_eq!(letters(&workspace), ["1 open rejected 0", "2 open rejected 0"]);
    publish(&workspace, hostile(Target::Sqlite, "map", "behave", ""));
    dlq(&workspace, &["replay", "orders"]).expect(0);
}

#[test]
fn batches_of_letters_keep_to_the_limits_of_the_version() {
    let bad = |id: usize| format!("{id},name,n/a,2026-01-01T00:00:01Z\n");
    let workspace = Workspace::new();
    workspace.write("pipeline.yaml", strict(""));
    for file in 0..3 {
        let rows = (0..5)
            .fold(HEADER.to_owned(), |text, id| text + &bad(file * 10 + id) + &line(file * 10 + id + 5, "good", 1));
        workspace.write(&format!("data/{file}.csv"), rows);
    }
    workspace.run().expect(0);
    publish(&workspace, lenient("batch: { max_rows: 4 }\n"));
    let done = dlq(&workspace, &["replay", "orders"]).expect(0).result();
    assert_eq!(done["replayed"], 15);
    let batches = "SELECT group_concat(record_count) FROM (SELECT record_count FROM batch WHERE partition_id = 'dead-letters' ORDER BY sequence)";
    assert_eq!(
        workspace.state::<String>(batches),
        "4,4,4,3",
        "several letters travel together, whatever file they are of"
    );
    assert_eq!(ids(&workspace).len(), 30);
}

/// Two partitions of one task write to one target at the same time.
#[test]
fn letters_are_replayed_while_the_task_runs() {
    for target in Target::ALL {
        let of = |pipeline: String| {
            pipeline.replace("sqlite: { url: \"sqlite://target.db\", table: orders }", target.yaml())
                + "batch: { max_rows: 5 }\n"
        };
        let workspace = workspace(of(strict("")), bad_orders());
        publish(&workspace, of(lenient("")));
        let task = workspace
            .command(&["run", "--json", "--quiet", "pipeline.yaml"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        for round in 1..6 {
            workspace.write(&format!("data/b{round}.csv"), lines(round * 100..round * 100 + 20, "new", 1));
            dlq(&workspace, &["replay", "orders"]).expect(1);
        }
        let committed = "SELECT sum(record_count) FROM batch WHERE partition_id = 'all' AND state = 'COMMITTED'";
        let deadline = Instant::now() + Duration::from_secs(180);
        while workspace.state::<i64>(committed) < 102 {
            assert!(Instant::now() < deadline, "{target:?}: the task did not keep up");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(std::process::Command::new("kill").args(["-INT", &task.id().to_string()]).status().unwrap().success());
        let output = task.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{target:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(target.rows(&workspace, "orders").len(), 5 + 100, "{target:?}");
        assert_eq!(workspace.state::<i64>("SELECT count(*) FROM dead_letter WHERE state = 'OPEN'"), 2, "{target:?}");
        workspace.run().expect(0);
        let verified = workspace.gristmill(&["replay", "orders", "--verify", "--json"]).expect(0).result();
        assert_eq!(verified["different"], json!([]), "{target:?}");
    }
}

/// A rebuild makes the target anew from stored batches: those of replayed letters are a part of the history.
#[test]
fn a_rebuild_takes_replayed_letters_along() {
    for (stage, carried) in [("normalize", 1), ("map", 0)] {
        let target = Target::Sqlite;
        let workspace = workspace(hostile(target, stage, "reject-poison", ""), VALUES.into());
        publish(&workspace, hostile(target, stage, "behave", ""));
        dlq(&workspace, &["replay", "orders"]).expect(0);
        workspace.write("data/b.csv", "value\nw0\nw1\n");
        workspace.run().expect(0);
        workspace.gristmill(&["replay", "orders", "--pins", "current"]).expect(0);
        // What map refused is in its own batch, which the rebuild maps anyway.
        let taken =
            "SELECT count(*) FROM batch r JOIN batch d ON d.batch_id = r.replay_of AND d.partition_id = 'dead-letters'
                     WHERE r.partition_id = 'all' AND r.epoch = 2 AND r.state = 'COMMITTED'";
        assert_eq!(workspace.state::<i64>(taken), carried, "{stage}");
        assert_eq!(workspace.state::<i64>("SELECT count(*) FROM batch WHERE epoch = 2"), 2 + carried, "{stage}");

        // The task goes on from its place in the source, and letters under the new epoch.
        publish(&workspace, hostile(target, stage, "reject-poison", "batch: { max_rows: 100 }\n"));
        workspace.write("data/c.csv", "value\nx0\npoison\n");
        assert_eq!(workspace.run().expect(0).result()["summary"]["recordsRead"], 2, "{stage}");
        assert_eq!(
            dlq(&workspace, &["replay", "orders", "--version", "2"]).expect(0).result()["replayed"],
            1,
            "{stage}"
        );
        let epochs = "SELECT group_concat(epoch) FROM (SELECT epoch FROM batch WHERE partition_id = 'dead-letters' ORDER BY epoch)";
        assert_eq!(workspace.state::<String>(epochs), "1,2", "{stage}");
        let verified = workspace.gristmill(&["replay", "orders", "--verify", "--json"]).expect(0).result();
        assert_eq!(verified["different"], json!([]), "{stage}");
    }
}
