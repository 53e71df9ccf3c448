//! Bad input gets a dead letter with its place, or stops the task with a reason; it never takes good rows along.

use super::orders::{self, HEADER, line, lines, orders};
use crate::harness::{Workspace, root, settle};
use std::fs;

/// (class, field, line) of every dead letter.
fn dead_letters(workspace: &Workspace) -> Vec<(String, Option<String>, i64)> {
    let state = rusqlite::Connection::open(workspace.path(".gristmill/state.db")).unwrap();
    let sql = "SELECT class, field, position ->> 'line' FROM dead_letter ORDER BY id";
    let mut query = state.prepare(sql).unwrap();
    query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap().map(Result::unwrap).collect()
}

#[test]
fn each_kind_of_bad_row_becomes_a_dead_letter_with_its_place() {
    let workspace = orders::workspace("dead_letters: { max_records: 10 }\n");
    let mut file = HEADER.as_bytes().to_vec();
    file.extend(line(1, "\"two\nlines\"", 1).bytes()); // lines 2 and 3
    file.extend(b"2,short\n"); // 4
    file.extend(b"3,\xff\xfe,1.50,2026-01-01T00:00:01Z\n"); // 5
    file.extend(b"4,name,SECRET,2026-01-01T00:00:01Z\n"); // 6
    file.extend(format!("5,{},1.50,2026-01-01T00:00:01Z\n", "x".repeat(101)).bytes()); // 7
    file.extend(b",name,1.50,2026-01-01T00:00:01Z\n"); // 8: no identity
    file.extend(b"6,name,1.50,\n"); // 9: no version
    file.extend(line(7, "good", 1).bytes());
    workspace.write("data/a.csv", file);
    let answer = workspace.run().expect(0);
    let found = dead_letters(&workspace);
    let expected = [
        ("field-count", None, 4),
        ("invalid-utf8", Some("name"), 5),
        ("unparsable-value", Some("amount"), 6),
        ("over-size", Some("name"), 7),
        ("missing-key", Some("id"), 8),
        ("missing-key", Some("at"), 9),
    ];
    let expected: Vec<_> = expected.iter().map(|(c, f, l)| (c.to_string(), f.map(str::to_owned), *l)).collect();
    assert_eq!(found, expected);
    assert_eq!(orders(&workspace).iter().map(|(id, ..)| *id).collect::<Vec<_>>(), [1, 7]);

    let show =
        workspace.gristmill(&["batches", "show", &workspace.state::<String>("SELECT batch_id FROM batch")]).expect(0);
    assert!(show.stdout.contains("a.csv:6"), "{}", show.stdout);
    for text in [&answer.stdout, &answer.stderr, &show.stdout] {
        assert!(!text.contains("SECRET"), "a value was shown: {text}");
    }
    let messages: String = workspace.state("SELECT group_concat(message) FROM dead_letter");
    assert!(!messages.contains("SECRET"), "{messages}");
}

#[test]
fn too_many_dead_letters_stop_the_task_before_the_page_counts_as_read() {
    let workspace = orders::workspace("batch: { max_rows: 10 }\ndead_letters: { max_records: 2 }\n");
    workspace.write("data/a.csv", lines(0..10, "good", 1));
    workspace.write("data/b.csv", format!("{HEADER}x\ny\nz\n{}", line(20, "good", 1)));
    let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);
    assert!(answer.stderr.contains("b.csv:2"), "the first places are named: {}", answer.stderr);
    assert!(answer.stderr.contains("nothing of the page in hand was stored"), "{}", answer.stderr);
    assert_eq!(orders(&workspace).len(), 10, "the good page before is committed");
    assert_eq!(workspace.state::<i64>("SELECT count(*) FROM dead_letter"), 0);

    // With a higher limit the same page is read again, whole.
    workspace.write("pipeline.yaml", orders::pipeline("batch: { max_rows: 10 }\ndead_letters: { max_records: 5 }\n"));
    workspace.run().expect(0);
    assert_eq!(orders(&workspace).len(), 11);
    assert_eq!(workspace.state::<i64>("SELECT count(*) FROM dead_letter"), 3);
}

#[test]
fn a_truncated_file_stops_the_task_before_any_of_it_is_read() {
    let data = root().join("pipelines/flights/data/flights");
    let whole = fs::read_dir(&data)
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().is_some_and(|e| e == "gz"))
        .unwrap();
    let bytes = fs::read(&whole).unwrap();
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..4, "good", 1));
    workspace.write("data/b.csv.gz", &bytes[..bytes.len() / 2]);
    let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);
    assert!(answer.stderr.contains("b.csv.gz"), "{}", answer.stderr);
    let cursor: String = workspace.state("SELECT cursor FROM checkpoint");
    assert!(cursor.contains("a.csv") && !cursor.contains("b.csv"), "nothing of it counts as read: {cursor}");
    assert_eq!(orders(&workspace).len(), 4, "the file before is committed");

    fs::remove_file(workspace.path("data/b.csv.gz")).unwrap();
    workspace.write("data/c.csv", lines(4..6, "good", 1));
    workspace.run().expect(0);
    assert_eq!(orders(&workspace).len(), 6);
}

#[test]
fn a_file_still_being_written_is_not_read_half() {
    let workspace = orders::workspace("").settled_after("300ms");
    let path = workspace.write("data/a.csv", lines(0..2, "a", 1));
    settle(&path, 0); // written this very moment
    let started = std::time::Instant::now();
    workspace.run().expect(0);
    assert!(started.elapsed().as_millis() >= 300, "it waited until the file was at rest");
    assert_eq!(orders(&workspace).len(), 2);
}

impl Workspace {
    /// Sets `settle` in the pipeline.
    fn settled_after(self, settle: &str) -> Self {
        let pipeline = fs::read_to_string(self.path("pipeline.yaml")).unwrap();
        self.write(
            "pipeline.yaml",
            pipeline.replace("    format: csv\n", &format!("    format: csv\n    settle: {settle}\n")),
        );
        self
    }
}

#[test]
fn a_bad_pipeline_leaves_nothing_behind() {
    let workspace = orders::workspace("tranforms: {}\n");
    workspace.write("data/a.csv", lines(0..2, "a", 1));
    let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(2);
    assert!(answer.stderr.contains("transforms"), "a near miss is named: {}", answer.stderr);
    assert!(!workspace.path(".gristmill").exists());
    assert!(!workspace.path("target.db").exists());

    let json = workspace.run().expect(2).json();
    let diagnosis = &json["error"]["diagnoses"][0];
    assert_eq!(diagnosis["line"], 14, "{json}");
}

#[test]
fn what_the_pipeline_names_must_be_there() {
    let cases = [
        ("transforms: { normalize: nothing@1.0.0 }\n", "nothing@1.0.0"),
        ("transforms: { map: missing.wasm }\n", "missing.wasm"),
        ("transforms: { dictionaries: { d: none.csv } }\n", "none.csv"),
    ];
    for (extra, named) in cases {
        let workspace = orders::workspace(extra);
        workspace.write("data/a.csv", lines(0..2, "a", 1));
        for verb in [["validate", "pipeline.yaml"].as_slice(), ["run", "--once", "pipeline.yaml"].as_slice()] {
            let answer = workspace.gristmill(verb).expect(2);
            assert!(answer.stderr.contains(named) && answer.stderr.contains("pipeline.yaml:"), "{}", answer.stderr);
        }
        assert!(!workspace.path(".gristmill").exists());
    }
    let workspace = orders::workspace("");
    workspace.write("pipeline.yaml", orders::pipeline("").replace("identity: [id]", "identity: [no_such]"));
    let answer = workspace.gristmill(&["validate", "pipeline.yaml"]).expect(2);
    assert!(answer.stderr.contains("no_such") && answer.stderr.contains("id, name, amount, at"), "{}", answer.stderr);
}

#[test]
fn a_file_with_other_columns_is_refused() {
    let workspace = orders::workspace("");
    workspace.write("data/a.csv", lines(0..2, "a", 1));
    workspace.write("data/b.csv", "id,name,total,at\n");
    let answer = workspace.gristmill(&["run", "--once", "pipeline.yaml"]).expect(3);
    assert!(answer.stderr.contains("b.csv") && answer.stderr.contains("total"), "{}", answer.stderr);
    assert_eq!(orders(&workspace).len(), 2);
}
