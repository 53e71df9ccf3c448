//! What a guest leaks goes with its instance.

use super::{conformance, host};
use arrow::array::{Int64Array, RecordBatch, StringArray, UInt8Array};
use gristmill::host::{Dictionaries, PlannedStage, Stage};
use gristmill::toolchain::Language;
use std::process::Command;
use std::sync::Arc;

/// Each of them leaks a mebibyte, so that together they would take a gibibyte.
const BATCHES: usize = 1000;
/// How much more may be resident after them than before.
const GROWTH_MAX_BYTES: usize = 32 << 20;
/// Set in the process that measures.
const ALONE: &str = "GRISTMILL_TEST_ALONE";

#[test]
fn a_thousand_leaking_batches_leave_memory_flat() {
    if std::env::var_os(ALONE).is_some() {
        for language in Language::ALL {
            let (before, after) = leak(language);
            println!("{language}: {} MiB, after {BATCHES} batches {} MiB", before >> 20, after >> 20);
            assert!(after < before + GROWTH_MAX_BYTES, "{language}: {before} bytes became {after}");
        }
        return;
    }
    // In a process of its own: in this one other tests take memory and give it back.
    let name = "languages::leaks::a_thousand_leaking_batches_leave_memory_flat";
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args([name, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    println!("{said}");
}

/// What this process has in memory before and after the batches.
fn leak(language: Language) -> (usize, usize) {
    let host = host();
    let component = host.load(&conformance(language)).unwrap();
    let (row, _) = rows(1, "hoard");
    let planned = host.plan(&component, Stage::Normalize, "{}", &row.schema(), &Dictionaries::new()).unwrap();

    // That the guest leaks: 64 rows that ask for it take 64 MiB more than 64 that do not.
    let taken = |text| {
        let (rows, operations) = rows(64, text);
        planned.process_in_parts(&rows, &operations).unwrap().1.memory_bytes
    };
    let (plain, leaking) = (taken("plain"), taken("hoard"));
    assert!(leaking - plain >= 60 << 20, "{language} does not leak: {plain} and {leaking} bytes");

    (resident_after(&planned, 50), resident_after(&planned, BATCHES))
}

fn rows(rows: usize, text: &str) -> (RecordBatch, UInt8Array) {
    let ids: Int64Array = (0..rows as i64).collect();
    let texts: StringArray = std::iter::repeat_n(Some(text), rows).collect();
    let batch = RecordBatch::try_from_iter([("id", Arc::new(ids) as _), ("text", Arc::new(texts) as _)]).unwrap();
    (batch, vec![0; rows].into())
}

/// What this process has in memory once so many batches have gone through.
fn resident_after(planned: &PlannedStage, batches: usize) -> usize {
    let (row, operations) = rows(1, "hoard");
    for _ in 0..batches {
        let output = planned.process(&row, &operations).unwrap();
        assert_eq!(output.outputs[0].rows.num_rows(), 1);
    }
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}
