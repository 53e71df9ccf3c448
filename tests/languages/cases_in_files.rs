//! Cases in each format of files, through a component that gives back what it gets.

use super::host;
use crate::harness::{Workspace, components};
use arrow::array::{Int64Array, RecordBatch, StringArray};
use gristmill::cases::{self, Report};
use gristmill::host::Stage;
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

fn run(workspace: &Workspace) -> Report {
    let identity = std::fs::read(components().join("identity@0.1.0.wasm")).unwrap();
    cases::run(&host(), &identity, Stage::Normalize, &workspace.path("cases")).unwrap()
}

#[test]
fn each_format_makes_cases_and_says_what_differs() {
    let workspace = Workspace::new();
    let ids = Arc::new(Int64Array::from(vec![Some(1), None]));
    let names = Arc::new(StringArray::from(vec![Some("Ada"), Some("Grace")]));
    let rows = RecordBatch::try_from_iter([("id", ids as _), ("name", names as _)]).unwrap();
    let mut parquet = ArrowWriter::try_new(Vec::new(), rows.schema(), None).unwrap();
    parquet.write(&rows).unwrap();
    let files = [
        ("jsonl", b"{\"id\":1,\"name\":\"Ada\"}\n{\"name\":\"Grace\"}\n".to_vec()),
        ("csv", b"id,name\n1,Ada\n,Grace\n".to_vec()),
        ("parquet", parquet.into_inner().unwrap()),
    ];
    for (format, content) in &files {
        for part in ["in", "out"] {
            workspace.write(&format!("cases/{format}.{part}.{format}"), content);
        }
    }
    let report = run(&workspace);
    assert!(report.passed(), "{report}");
    assert_eq!(report.cases.len(), 3);
    let digests: Vec<_> = report.cases.iter().map(|case| case.outcome.digests.unwrap().outputs).collect();
    assert!(digests.iter().all(|digest| *digest == digests[0]), "the same rows: {report}");

    // Each against what another format expects of another row.
    for (format, _) in &files {
        std::fs::remove_file(workspace.path(&format!("cases/{format}.out.{format}"))).unwrap();
        workspace.write(&format!("cases/{format}.out.csv"), "id,name\n1,Ada\n2,Grace\n");
    }
    let report = run(&workspace);
    assert!(report.cases.iter().all(|case| !case.outcome.passed()), "{report}");
    let text = report.to_string();
    assert_eq!(text.matches("id: expected 2, got null").count(), 3, "{text}");
}
