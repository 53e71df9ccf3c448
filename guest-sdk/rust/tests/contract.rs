//! Plans, selections, operations and the mistakes that the SDK finds.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use gristmill_guest::testing::{Harness, Run, RunError, Table, Value};
use gristmill_guest::*;
use std::cell::Cell as Slot;

type PlanFn = fn(&Setup, &mut Plan<'_>) -> Result<Handles, Failure>;
type ProcessFn = fn(&Handles, &Batch, &mut Outputs);

#[derive(Default)]
struct Handles {
    output: Option<Output>,
    number: Option<In<Int64>>,
    copy: Option<Out<Int64>>,
}

thread_local! {
    static UNDER_TEST: Slot<Option<(PlanFn, ProcessFn)>> = const { Slot::new(None) };
}

/// Whatever the test says: a transform is a type, so what it does cannot be passed in.
struct Scripted(Handles);

impl Transform for Scripted {
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        UNDER_TEST.get().unwrap().0(setup, plan).map(Self)
    }
    fn process(&self, batch: Batch, outputs: &mut Outputs) -> Result<(), Failure> {
        UNDER_TEST.get().unwrap().1(&self.0, &batch, outputs);
        Ok(())
    }
}

fn input() -> Table {
    Table::new().column("n", DataType::Int64, [Some(1i64), None, Some(3)]).column("t", DataType::Utf8, ["a", "b", "c"])
}

fn run(harness: Harness, plan: PlanFn, process: ProcessFn) -> Result<Run, RunError> {
    UNDER_TEST.set(Some((plan, process)));
    harness.run::<Scripted>(&input())
}

fn plan_code(plan: PlanFn) -> String {
    match run(Harness::new(Stage::Normalize), plan, |_, _, _| {}) {
        Err(RunError::Failure(failure)) => failure.code.into_owned(),
        other => panic!("{other:?}"),
    }
}

fn copying(_: &Setup, plan: &mut Plan<'_>) -> Result<Handles, Failure> {
    let output = plan.output("records");
    plan.forward(output, "t")?;
    let (number, copy) = (plan.read("n")?, plan.compute(output, "n", Int64)?);
    Ok(Handles { output: Some(output), number: Some(number), copy: Some(copy) })
}

fn copy_rows(of: &Handles, batch: &Batch, outputs: &mut Outputs, rows: &[usize]) {
    let column = batch.column(of.number.unwrap());
    let out = of.copy.as_ref().unwrap();
    let mut copy = out.builder(rows.len());
    rows.iter().for_each(|row| copy.push_option(column.get(*row)));
    outputs.set(out, copy);
    outputs.select(of.output.unwrap(), rows.iter().copied().collect());
}

#[test]
fn rows_are_left_out_repeated_and_reordered() {
    let run = run(Harness::new(Stage::Map).operations([0, 1, 2]), copying, |of, batch, outputs| {
        copy_rows(of, batch, outputs, &[2, 0, 2]);
    });
    let run = run.unwrap();
    assert_eq!(run.output("records").to_string(), "t | n\nc | 3\na | 1\nc | 3\n");
    assert_eq!(run.operations("records"), [2, 0, 2], "each row has its input row's");
}

#[test]
fn a_selection_of_all_rows_in_place_is_none() {
    UNDER_TEST.set(Some((copying, |of, batch, outputs| copy_rows(of, batch, outputs, &[0, 1, 2]))));
    let harness = Harness::new(Stage::Normalize);
    let batch = harness.batch::<Scripted>(&input()).unwrap();
    let processed = native::process::<Scripted>(harness.setup(&input()), batch).unwrap();
    assert_eq!(processed.outputs[0].selection, None);
    assert_eq!(processed.outputs[0].rows, 3);
}

#[test]
fn operations_and_messages() {
    let run = run(Harness::new(Stage::Map), copying, |of, batch, outputs| {
        copy_rows(of, batch, outputs, &[0, 1]);
        outputs.operations(of.output.unwrap(), [Operation::Delete, Operation::Update]);
        outputs.message("two rows");
    });
    let run = run.unwrap();
    assert_eq!(run.operations("records"), [2, 1]);
    assert_eq!(run.messages, ["two rows"]);
}

#[test]
fn plans_that_fail() {
    assert_eq!(plan_code(|_, plan| plan.read::<Int64>("x").map(|_| Handles::default())), "missing-column");
    assert_eq!(plan_code(|_, plan| plan.read::<Int32>("n").map(|_| Handles::default())), "wrong-type");
    assert_eq!(plan_code(|_, plan| plan.lookup("d", "t", "v").map(|_| Handles::default())), "missing-dictionary");
    assert_eq!(plan_code(|setup, _| setup.config::<Vec<u8>>().map(|_| Handles::default())), "bad-config");
    assert_eq!(plan_code(|setup, _| setup.require_stage(&[Stage::Map]).map(|_| Handles::default())), "wrong-stage");
    let twice: PlanFn = |_, plan| {
        let output = plan.output("records");
        plan.forward(output, "t")?;
        plan.compute(output, "t", Utf8).map(|_| Handles::default())
    };
    assert_eq!(plan_code(twice), "duplicate-column");
}

#[test]
fn what_is_read_twice_crosses_once() {
    let plan: PlanFn = |_, plan| {
        let name = plan.lookup("d", "t", "name")?;
        let again = plan.lookup("d", "t", "name")?;
        plan.read_lookup::<Utf8>(&name)?;
        plan.read_lookup::<Utf8>(&again)?;
        plan.read::<Int64>("n")?;
        plan.read::<Any>("n")?;
        let output = plan.output("records");
        plan.forward_lookup(output, "name", &again)?;
        plan.forward_operation(output, "operation")?;
        Ok(Handles::default())
    };
    UNDER_TEST.set(Some((plan, |_, _, _| {})));
    let names = Table::new().column("t", DataType::Utf8, ["c", "a"]).column("name", DataType::Utf8, ["C", "A"]);
    let harness = Harness::new(Stage::Map).dictionary("d", "t", names);
    let planned = native::plan::<Scripted>(harness.setup(&input())).unwrap();
    assert_eq!((planned.reads.len(), planned.lookups.len()), (2, 1));
    let run = harness.run::<Scripted>(&input()).unwrap();
    assert_eq!(run.output("records").to_string(), "name | operation\nA | 0\nnull | 0\nC | 0\n");
}

#[test]
fn a_rejected_row_may_not_be_selected_by_normalize() {
    let process: ProcessFn = |of, batch, outputs| {
        copy_rows(of, batch, outputs, &[0, 1, 2]);
        outputs.reject(1, Reject::new("bad", "it is bad").field("n"));
    };
    let error = run(Harness::new(Stage::Normalize), copying, process).unwrap_err();
    assert!(matches!(&error, RunError::Contract(problem) if problem.contains("rejected")), "{error}");
    assert_eq!(run(Harness::new(Stage::Map), copying, process).unwrap().reject_codes(), [(1, "bad", Some("n"))]);
}

#[test]
#[should_panic(expected = "column `n` of output `records` was not set")]
fn a_column_that_was_not_set() {
    let _ = run(Harness::new(Stage::Map), copying, |_, _, _| {});
}

#[test]
#[should_panic(expected = "values and output rows differ")]
fn a_column_of_the_wrong_length() {
    let _ = run(Harness::new(Stage::Map), copying, |of, batch, outputs| {
        copy_rows(of, batch, outputs, &[0, 1]);
        outputs.select(of.output.unwrap(), Selection::default());
    });
}

#[test]
#[should_panic(expected = "is required but holds nulls")]
fn a_null_in_a_required_column() {
    let required: PlanFn = |_, plan| {
        let output = plan.output("records");
        let (number, copy) = (plan.read("n")?, plan.compute_required(output, "n", Int64)?);
        Ok(Handles { output: Some(output), number: Some(number), copy: Some(copy) })
    };
    let _ = run(Harness::new(Stage::Map), required, |of, batch, outputs| copy_rows(of, batch, outputs, &[1]));
}

#[test]
fn a_batch_that_is_not_what_the_plan_reads() {
    UNDER_TEST.set(Some((copying, |_, _, _| {})));
    let setup = Harness::new(Stage::Normalize).setup(&input());
    let empty = raw::Batch { rows: 3, columns: raw::Columns { nodes: vec![], buffers: vec![] } };
    assert_eq!(native::process::<Scripted>(setup, empty).unwrap_err().code, "bad-batch");
}

#[test]
fn values_print_for_people() {
    let table = Table::new().column(
        "m",
        DataType::map(DataType::Utf8, DataType::Binary),
        [Value::Map(vec![("k".into(), Value::Bytes(vec![1, 171]))])],
    );
    assert_eq!(table.to_string(), "m\n{k: 01ab}\n");
}

/// The package has a copy of its own, so that it builds wherever it lies.
#[test]
fn the_contract_is_that_of_the_runner() {
    let of_runner = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit/transform.wit");
    assert_eq!(include_str!("../wit/transform.wit"), std::fs::read_to_string(of_runner).unwrap());
}
