//! Real guests, across the real boundary: one that hands back what it gets, and one that breaks each rule on demand.

use super::arbitrary::batches;
use super::testing::{component, host, planned};
use super::types::unpacked_fields;
use super::{
    Component, Dictionaries, Fault, Host, HostLimits, IsolationEnd, PlanError, PlannedStage, RejectKind, Selection,
    Stage, StageFault, StageOutput,
};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, UInt8Array, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use gristmill_core::dead_letter::MESSAGE_MAX_BYTES;
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

const IDENTITY: &str = "identity@0.1.0";
const HOSTILE: &str = "hostile@0.1.0";

static SMALL: LazyLock<(Host, Component)> = LazyLock::new(|| {
    let limits =
        HostLimits { deadline: Duration::from_millis(500), memory_max_bytes: 64 << 20, output_max_bytes: 4 << 20 };
    let host = host(limits);
    let hostile = host.load(&component(HOSTILE)).unwrap();
    (host, hostile)
});

fn value_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("value", DataType::Utf8, true)]))
}

fn rows(values: &[&str]) -> RecordBatch {
    let values: ArrayRef = Arc::new(StringArray::from_iter_values(values));
    RecordBatch::try_new(value_schema(), vec![values]).unwrap()
}

fn config(behaviour: &str) -> String {
    format!(r#"{{"do": "{behaviour}"}}"#)
}

fn hostile(behaviour: &str, stage: Stage) -> Result<PlannedStage, PlanError> {
    let (host, hostile) = &*SMALL;
    host.plan(hostile, stage, &config(behaviour), &value_schema(), &Dictionaries::new())
}

fn inserts(rows: &RecordBatch) -> UInt8Array {
    vec![0; rows.num_rows()].into()
}

fn process(behaviour: &str, batch: &RecordBatch) -> Result<StageOutput, StageFault> {
    hostile(behaviour, Stage::Normalize).unwrap().process(batch, &inserts(batch))
}

fn texts(output: &StageOutput) -> Vec<&str> {
    output.outputs[0].rows.column(0).as_string::<i32>().iter().map(|text| text.unwrap_or("null")).collect()
}

/// One call, without retry and isolation.
fn fault_of(behaviour: &str) -> Fault {
    let values: Vec<String> = (0..20).map(|i| format!("value {i}")).collect();
    let batch = rows(&values.iter().map(String::as_str).collect::<Vec<_>>());
    let stage = hostile(behaviour, Stage::Normalize).unwrap();
    stage.process_once(&batch, &inserts(&batch)).expect_err(behaviour)
}

#[test]
fn each_breach_of_the_contract_is_classified() {
    let cases = [
        ("trap", "trap", "unreachable"),
        ("unreachable", "trap", "unreachable"),
        // A guest keeps its own stack in its memory, below which there is nothing.
        ("recurse", "trap", "out of bounds"),
        ("loop", "deadline", "500 ms"),
        ("eat-memory", "memory", "67108864 bytes"),
        ("decreasing-offsets", "invalid-output", "offsets fall"),
        ("offsets-past-end", "invalid-output", "do not end at"),
        ("negative-offset", "invalid-output", "offsets fall"),
        ("offsets-start-late", "invalid-output", "do not start at 0"),
        ("offsets-end-early", "invalid-output", "do not end at"),
        ("invalid-utf8", "invalid-output", "not UTF-8"),
        ("split-character", "invalid-output", "not UTF-8"),
        ("short-offsets", "invalid-output", "80 bytes, not 84"),
        ("long-offsets", "invalid-output", "88 bytes, not 84"),
        ("short-validity", "invalid-output", "2 bytes, not 3"),
        ("long-validity", "invalid-output", "4 bytes, not 3"),
        ("wrong-node-length", "invalid-output", "length 21, not 20"),
        ("wrong-null-count", "invalid-output", "1 nulls are counted, the validity bits have 0"),
        ("null-count-without-validity", "invalid-output", "without a validity buffer"),
        ("null-in-required", "invalid-output", "the plan says that it has none"),
        ("missing-node", "invalid-output", "fewer nodes"),
        ("extra-node", "invalid-output", "1 nodes and 0 buffers more"),
        ("missing-buffer", "invalid-output", "fewer buffers"),
        ("extra-buffer", "invalid-output", "0 nodes and 1 buffers more"),
        ("missing-output", "invalid-output", "0 outputs, the plan has 1"),
        ("extra-output", "invalid-output", "2 outputs, the plan has 1"),
        ("missing-column", "invalid-output", "fewer nodes"),
        ("extra-column", "invalid-output", "1 nodes and 3 buffers more"),
        ("wrong-rows", "invalid-output", "21 rows without a selection, the input has 20"),
        ("selection-out-of-range", "invalid-output", "beyond the input's 20 rows"),
        ("selection-wrong-length", "invalid-output", "selection has 19 rows"),
        ("reject-out-of-range", "invalid-output", "beyond the input's 20 rows"),
        ("reject-selected", "invalid-output", "also rejected"),
        ("bad-operation", "invalid-output", "operation code"),
        ("operations-wrong-length", "invalid-output", "21 operations for 20 rows"),
        ("explode-rows", "output", "4194304 bytes"),
        ("giant-reject-list", "memory", "67108864 bytes"),
        ("huge-reject", "output", "4194304 bytes"),
        ("failure", "refused", "told-to-fail"),
        ("exception", "exception", "ValueError: told to raise"),
    ];
    for (behaviour, code, expected) in cases {
        let fault = fault_of(behaviour);
        assert_eq!(fault.code(), code, "{behaviour}: {fault}");
        assert!(fault.to_string().contains(expected), "{behaviour}: {fault:?} should say {expected:?}");
    }
}

#[test]
fn each_bad_plan_is_refused() {
    let cases = [
        ("plan-trap", "broke while planning: trap"),
        ("plan-loop", "broke while planning: ran longer than the deadline"),
        ("plan-failure", "refuses: told-to-fail: the configuration says so"),
        ("plan-unknown-column", "no column `no-such-column`"),
        ("plan-unknown-lookup", "no look-up 7"),
        ("plan-unknown-dictionary", "`no-such-dictionary`"),
        ("plan-forward-unknown", "no column `no-such-column`"),
        ("plan-duplicate-column", "two columns are named `value`"),
        ("plan-zero-outputs", "no output"),
        ("plan-duplicate-output", "two outputs are named `records`"),
        ("plan-no-columns", "no columns"),
        ("plan-broken-tree", "has 0 children"),
        ("plan-bad-type", "precision 200"),
        ("plan-bad-name", "is a path"),
    ];
    for (behaviour, expected) in cases {
        let error = hostile(behaviour, Stage::Map).expect_err(behaviour).to_string();
        assert!(error.contains(expected), "{behaviour}: {error:?} should say {expected:?}");
    }
    // Two million columns: which limit stops them first is not promised, that one does is.
    let error = hostile("plan-huge", Stage::Map).expect_err("plan-huge");
    assert!(matches!(error, PlanError::Fault { .. } | PlanError::Invalid { .. }), "{error}");
}

#[test]
fn rows_that_trap_become_rejects_and_the_rest_goes_on() {
    let values: Vec<String> =
        (0..1000).map(|i| if [0, 500, 501, 999].contains(&i) { "poison".into() } else { i.to_string() }).collect();
    let batch = rows(&values.iter().map(String::as_str).collect::<Vec<_>>());
    for (behaviour, code) in
        [("trap-on-poison", "trap"), ("eat-memory-on-poison", "memory"), ("exception-on-poison", "exception")]
    {
        let output = process(behaviour, &batch).unwrap();
        let rejected: Vec<_> =
            output.rejects.iter().map(|reject| (reject.row, reject.kind, reject.code.as_str())).collect();
        assert_eq!(rejected, [0, 500, 501, 999].map(|row| (row, RejectKind::Poison, code)), "{behaviour}");
        let kept: Vec<u32> = (0..1000).filter(|row| ![0, 500, 501, 999].contains(row)).collect();
        assert_eq!(texts(&output), kept.iter().map(|row| row.to_string()).collect::<Vec<_>>());
        assert_eq!(output.outputs[0].operations.len(), kept.len());
        assert_eq!(output.outputs[0].selection, Selection::Rows(UInt32Array::from(kept)));
    }
}

/// Each call loses 8 MB: a thousand of them would take 8 GB if anything of one outlived it.
#[cfg(target_os = "linux")]
#[test]
fn a_thousand_batches_through_a_leaking_guest_take_no_more_memory_than_ten() {
    let resident_mib = || {
        let pages: u64 =
            std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        (pages * 4096) >> 20
    };
    let stage = hostile("leak", Stage::Normalize).unwrap();
    let batch = rows(&["a", "b", "c"]);
    let run = |calls: usize| (0..calls).for_each(|_| drop(stage.process(&batch, &inserts(&batch)).unwrap()));
    run(10);
    let before = resident_mib();
    run(1000);
    // Other tests run in this process at the same time.
    let grown = resident_mib().saturating_sub(before);
    assert!(grown < 1024, "{grown} MiB more than after ten batches");
}

#[test]
fn a_row_that_loops_is_found_within_the_time_for_it() {
    let mut values = vec!["fine"; 64];
    values[40] = "poison";
    let output = process("loop-on-poison", &rows(&values)).unwrap();
    assert_eq!(output.rejects.len(), 1);
    assert_eq!((output.rejects[0].row, output.rejects[0].code.as_str()), (40, "deadline"));
    assert_eq!(output.outputs[0].rows.num_rows(), 63);
}

#[test]
fn a_guest_that_fails_on_every_row_fails_the_batch() {
    let fault = process("trap", &rows(&["a", "b", "c"])).unwrap_err();
    assert_eq!(fault.fault.code(), "trap");
    let isolation = *fault.isolation.unwrap();
    assert_eq!((isolation.end, isolation.passed, isolation.poison), (IsolationEnd::NoRowPassed, 0, vec![0, 1, 2]));

    let fault = process("trap", &rows(&["x"; 100])).unwrap_err();
    assert_eq!(fault.isolation.unwrap().end, IsolationEnd::TooManyRows);

    let fault = process("trap", &rows(&[])).unwrap_err();
    assert_eq!(fault.isolation.unwrap().rows, 0);
}

/// Each part of the batch keeps to the limits of a call, all together would be 200 million rows.
#[test]
fn parts_return_no_more_together_than_the_whole_may() {
    let host = host(HostLimits::default());
    let batch = rows(&["value"; 2000]);
    for stage in [Stage::Normalize, Stage::Map] {
        let stage = planned(&host, HOSTILE, stage, &config("explode-rows"), &value_schema()).unwrap();
        let fault = stage.process(&batch, &inserts(&batch)).unwrap_err();
        let output_max_bytes = HostLimits::default().output_max_bytes;
        assert_eq!(fault.fault, Fault::OutputCap { output_max_bytes });
        let isolation = *fault.isolation.unwrap();
        assert_eq!(isolation.end, IsolationEnd::TooMuchOutput);
        // A row returned a hundred thousand: what was held of them was within the limit.
        assert!(isolation.passed > 0, "{isolation:?}");
        assert!(isolation.passed as usize * 100_000 * 32 <= output_max_bytes, "{isolation:?}");
    }
}

#[test]
fn a_refusal_is_not_searched_for_rows() {
    let fault = process("failure-on-poison", &rows(&["a", "poison"])).unwrap_err();
    assert!(matches!(&fault.fault, Fault::Refused { code, .. } if code == "told-to-fail"), "{fault}");
    assert_eq!(fault.isolation, None);
}

#[test]
fn rejects_of_the_transform_leave_the_rest() {
    let output = process("reject-poison", &rows(&["a", "poison", "b", "poison"])).unwrap();
    assert_eq!(texts(&output), ["a", "b"]);
    assert_eq!(output.outputs[0].selection, Selection::Rows(UInt32Array::from(vec![0, 2])));
    let rejected: Vec<_> = output.rejects.iter().map(|reject| (reject.row, reject.kind)).collect();
    assert_eq!(rejected, [(1, RejectKind::ByTransform), (3, RejectKind::ByTransform)]);

    let output = process("repeated-rejects", &rows(&["a", "b"])).unwrap();
    assert_eq!(output.rejects.len(), 1, "a row is rejected once");

    let output = process("reject-all", &rows(&["a", "b"])).unwrap();
    assert_eq!((output.outputs[0].rows.num_rows(), output.rejects.len()), (0, 2));
}

#[test]
fn an_empty_batch_works() {
    let output = process("behave", &rows(&[])).unwrap();
    assert_eq!(output.outputs[0].rows.num_rows(), 0);
    assert_eq!(output.outputs[0].selection, Selection::All);
}

#[test]
fn texts_of_guests_are_bounded() {
    // 200 MB take a while on a machine that is busy.
    let deadline = Duration::from_secs(120);
    let host = host(HostLimits { deadline, output_max_bytes: 256 << 20, ..HostLimits::default() });
    let run = |behaviour: &str| {
        let stage = planned(&host, HOSTILE, Stage::Normalize, &config(behaviour), &value_schema()).unwrap();
        stage.process(&rows(&["a"]), &vec![0].into())
    };
    let longest = MESSAGE_MAX_BYTES + '…'.len_utf8();
    let output = run("huge-reject").unwrap();
    let reject = &output.rejects[0];
    assert!(reject.message.len() <= longest && reject.code.len() <= 67, "{} bytes", reject.message.len());
    assert!(reject.field.as_ref().is_some_and(|field| field.len() <= 259));
    let output = run("huge-messages").unwrap();
    assert!(output.messages.len() <= 16 && output.messages.iter().all(|message| message.len() <= longest));
    for behaviour in ["huge-failure", "huge-exception"] {
        let fault = run(behaviour).unwrap_err();
        assert!(fault.to_string().len() < 2 * longest, "{behaviour}");
    }
    let fault = run("huge-output").unwrap();
    assert_eq!(fault.outputs[0].rows.num_rows(), 1, "200 MB are allowed where the limit allows them");
}

#[test]
fn traps_name_where_they_happened() {
    let Fault::Trap { backtrace, .. } = fault_of("recurse") else { panic!("a trap") };
    assert!(!backtrace.is_empty() && backtrace.len() <= 8, "{backtrace:?}");
}

fn operations(len: usize) -> UInt8Array {
    (0..len).map(|row| row as u8 % 3).collect::<Vec<_>>().into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every type, sliced and with nulls, into the guest's memory and back.
    #[test]
    fn any_batch_crosses_and_comes_back_equal(batch in batches(4, 40)) {
        static IDENTITY_HOST: LazyLock<(Host, Component)> = LazyLock::new(|| {
            let host = host(HostLimits::default());
            let identity = host.load(&component(IDENTITY)).unwrap();
            (host, identity)
        });
        let (host, identity) = &*IDENTITY_HOST;
        let stage = host.plan(identity, Stage::Normalize, "{}", &batch.schema(), &Dictionaries::new()).unwrap();
        let crossing = unpacked_fields(batch.schema_ref().fields()).unwrap();
        prop_assert_eq!(stage.outputs()[0].schema.fields(), &crossing);
        let operations = operations(batch.num_rows());
        let output = stage.process(&batch, &operations).unwrap();
        let back = &output.outputs[0];
        prop_assert_eq!(&back.selection, &Selection::All);
        prop_assert_eq!(&back.operations, &operations);
        for (column, back) in batch.columns().iter().zip(back.rows.columns()) {
            prop_assert_eq!(&cast(column, back.data_type()).unwrap(), back);
        }
    }
}

/// `cargo test --release -- --ignored --nocapture crossing_costs`: what the boundary costs a row.
#[test]
#[ignore = "a measurement, of use in a release build only"]
fn crossing_costs() {
    let host = host(HostLimits::default());
    for rows in [500usize, 5_000, 50_000] {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("name", Arc::new(StringArray::from_iter_values((0..rows).map(|i| format!("customer {i:06}"))))),
            ("amount", Arc::new(arrow::array::Int64Array::from_iter_values(0..rows as i64))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let stage = planned(&host, IDENTITY, Stage::Normalize, "{}", &batch.schema()).unwrap();
        let operations = inserts(&batch);
        let mut times: Vec<Duration> = (0..400)
            .map(|_| {
                let started = Instant::now();
                std::hint::black_box(stage.process(&batch, &operations).unwrap());
                started.elapsed()
            })
            .collect();
        times.sort();
        let (best, median) = (times[times.len() / 20], times[times.len() / 2]);
        let per_row = |time: Duration| time.as_nanos() as f64 / rows as f64;
        println!("{rows} rows: {:.1} ns/row at best, {:.1} median ({median:?} a call)", per_row(best), per_row(median));
    }
}
