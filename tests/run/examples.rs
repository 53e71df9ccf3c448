//! Every pipeline of `pipelines/`, run as its README says, and every example transform run by one of them.
//!
//! The flights have tests of their own: `real_data`.

use crate::harness::{Workspace, components, copy, root};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A pipeline, and what it must come to.
struct Example {
    name: &'static str,
    /// The folder of `transforms/` that its transform lies in.
    language: &'static str,
    read: u64,
    /// Code and field of each rejected row, in the order of the source.
    rejected: &'static [&'static str],
    /// Queries of its target, each with what it gives.
    holds: &'static [(&'static str, &'static str)],
}

const EXAMPLES: &[Example] = &[
    Example {
        name: "bank-statement",
        language: "c",
        read: 50,
        rejected: &["bad-account line", "bad-date line"],
        holds: &[
            ("SELECT count(*) FROM movements", "36"),
            // Lines are fixed in their width, and signs are letters.
            (
                "SELECT booked || ' ' || valued || ' ' || amount || ' ' || currency || ' ' || text FROM movements
                 WHERE reference = 'R10-0000'",
                "2026-01-03 2026-01-05 1698.81 EUR Coffee",
            ),
            ("SELECT amount FROM movements WHERE reference = 'R10-0001'", "-2071.01"),
            ("SELECT group_concat(DISTINCT currency) FROM (SELECT currency FROM movements ORDER BY 1)", "EUR,GBP"),
        ],
    },
    Example {
        name: "contacts",
        language: "javascript",
        read: 9,
        rejected: &["bad-mail mail", "missing-value mail"],
        holds: &[
            ("SELECT group_concat(contact_id) FROM (SELECT contact_id FROM contacts ORDER BY 1)", "1,2,4,5,6,7"),
            (
                "SELECT name || ' ' || mail || ' ' || phone FROM contacts WHERE contact_id = 1",
                "Ada Lovelace ada@example.org +442079460958",
            ),
            // The later file has corrected it.
            ("SELECT phone FROM contacts WHERE contact_id = 4", "+31402479111"),
            ("SELECT phone FROM contacts WHERE contact_id = 7", "+4930901820"),
        ],
    },
    Example {
        name: "free-text",
        language: "python",
        read: 12,
        rejected: &["empty-text body", "broken-encoding body", "empty-text body"],
        holds: &[
            ("SELECT count(*) FROM messages", "9"),
            (
                "SELECT body || ' ' || words || ' ' || masked || ' ' || tags FROM messages WHERE id = 1",
                "Hello, the parcel arrived broken. Please refund it to [e-mail]. #Refund 11 1 [\"refund\"]",
            ),
            ("SELECT count(*) FROM messages WHERE body LIKE '%@%' OR body LIKE '%+49%'", "0"),
        ],
    },
    Example {
        name: "invoices",
        language: "typescript",
        read: 11,
        rejected: &["bad-date issued", "bad-line lines"],
        holds: &[
            ("SELECT count(*) FROM invoices", "9"),
            ("SELECT count(*) FROM invoice_lines", "13"),
            // 2 × 1,234.50 and 0.333 × 9.99, rounded, and 19 %.
            (
                "SELECT net || ' ' || vat || ' ' || gross || ' ' || gross_eur FROM invoices WHERE invoice = 'R-2025-0101'",
                "2472.33 469.74 2942.07 2942.07",
            ),
            ("SELECT group_concat(currency) FROM invoices WHERE gross_eur IS NULL", "NOK"),
        ],
    },
    Example {
        name: "sensors",
        language: "zig",
        read: 146,
        rejected: &["no-value value", "unknown-sensor sensor", "unknown-unit unit"],
        holds: &[
            ("SELECT count(*) FROM readings", "143"),
            ("SELECT count(*) FROM alarms", "11"),
            ("SELECT count(*) FROM alarms WHERE site = 'roof' AND value BETWEEN 900 AND 1100", "0"),
            (
                "SELECT group_concat(DISTINCT quantity) FROM (SELECT quantity FROM readings ORDER BY 1)",
                "humidity,pressure,speed,temperature",
            ),
        ],
    },
    Example {
        name: "web-log",
        language: "go",
        read: 200,
        rejected: &["bad-request log", "bad-line log"],
        holds: &[
            ("SELECT count(*) FROM requests", "198"),
            ("SELECT count(*) FROM requests WHERE client NOT LIKE '%/24' AND client NOT LIKE '%/48'", "0"),
            ("SELECT query FROM requests WHERE host = 'web-1' AND offset = 431", "q=lamp&page=1"),
        ],
    },
];

#[test]
fn each_comes_to_what_it_must() {
    for Example { name, language, read, rejected, holds } in EXAMPLES {
        let workspace = Workspace::new();
        copy(&root().join("pipelines").join(name), &workspace.path("."));
        let mut command = workspace.command(&["run", "--once", "--json", "pipeline.yaml"]);
        let output = command.env("GRISTMILL_COMPONENTS", components().join(language)).output().unwrap();
        let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{name}: {stdout}{stderr}");
        let answer: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        let summary = &answer["result"]["summary"];
        assert_eq!(summary["recordsRead"], *read, "{name}");
        assert_eq!(summary["deadLetters"], json!({ "rejected": rejected.len() }), "{name}");
        let letters: String = workspace.state(
            "SELECT group_concat(letter, ', ') FROM
             (SELECT code || ' ' || field AS letter FROM dead_letter
              ORDER BY position ->> 'object', position ->> 'line', position ->> 'row')",
        );
        assert_eq!(letters, rejected.join(", "), "{name}");
        let target = rusqlite::Connection::open(workspace.path(&format!("{name}.db"))).unwrap();
        for (sql, expected) in *holds {
            let sql = format!("SELECT CAST(({sql}) AS TEXT)");
            let found: String = target.query_row(&sql, [], |row| row.get(0)).unwrap_or_else(|e| panic!("{sql}: {e}"));
            assert_eq!(found, *expected, "{name}: {sql}");
        }
    }
}

/// Names of folders.
fn folders(path: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn none_is_left_out() {
    let pipelines = root().join("pipelines");
    let mut known: BTreeSet<String> = EXAMPLES.iter().map(|example| example.name.to_owned()).collect();
    // `broken` holds pipelines that are refused, with what is said of each.
    known.extend(["flights".to_owned(), "broken".to_owned()]);
    assert_eq!(folders(&pipelines), known);

    let read = |name: &String| fs::read_to_string(pipelines.join(name).join("pipeline.yaml")).unwrap_or_default();
    let texts: Vec<String> = known.iter().map(read).collect();
    let transforms = root().join("transforms");
    for language in folders(&transforms) {
        for transform in folders(&transforms.join(&language)) {
            // What every language has, and what changes nothing.
            let is_no_example = ["conformance", "identity"].contains(&transform.as_str());
            let is_used = texts.iter().any(|text| text.contains(&format!("{transform}@")));
            assert!(is_no_example || is_used, "no pipeline uses {language}/{transform}");
        }
    }
}
