//! The row view.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use gristmill_guest::testing::{Harness, RunError, Table, Value};
use gristmill_guest::*;

/// Reads one column of each sort, by every getter; writes one row, two rows or none.
struct Orders {
    records: Output,
    lines: Output,
}

impl RowTransform for Orders {
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        for field in setup.input() {
            plan.read::<Any>(&field.name)?;
        }
        if setup.dictionary("rates").is_ok() {
            let rate = plan.lookup("rates", "currency", "rate")?;
            plan.read_lookup::<Float64>(&rate)?;
        }
        let records = plan.output("records");
        plan.forward(records, "id")?;
        plan.compute_required(records, "name", Utf8)?;
        plan.compute(records, "cents", Int16)?;
        plan.compute(records, "rate", Float32)?;
        let lines = plan.output("lines");
        plan.compute_required(lines, "line", UInt8)?;
        Ok(Self { records, lines })
    }

    fn row(&self, row: &Row<'_>, out: &mut RowOutputs) -> Result<(), Reject> {
        let lines = row.i64("lines")?;
        for line in 0..lines {
            out.row(self.lines).set("line", line)?;
        }
        let rate = if row.bool("abroad")? { row.opt_f64("rates.rate")? } else { None };
        let mut record = out.row(self.records);
        record.set("name", row.str("name")?.trim())?;
        record.set("rate", rate)?.set("cents", row.opt_i64("cents")?)?;
        if row.bytes("name")?.starts_with(b"drop") {
            record.operation(Operation::Delete);
        }
        Ok(())
    }
}

fn input() -> Table {
    Table::new()
        .column("id", DataType::Int32, [1, 2, 3, 4])
        .column("lines", DataType::UInt16, [2, 1, 0, 1])
        .column("abroad", DataType::Boolean, [false, true, false, true])
        .column("currency", DataType::Utf8, ["EUR", "USD", "EUR", "???"])
        .column("name", DataType::LargeUtf8, [Some(" ann "), Some("ben"), None, Some("dan")])
        .column("cents", DataType::Int64, [Some(7i64), Some(40_000), Some(1), None])
}

fn harness() -> Harness {
    let rates = Table::new().column("currency", DataType::Utf8, ["USD"]).column("rate", DataType::Float64, [0.5]);
    Harness::new(Stage::Map).dictionary("rates", "currency", rates)
}

#[test]
fn rows_in_and_out() {
    let run = harness().run::<Rows<Orders>>(&input()).unwrap();
    assert_eq!(
        run.output("records").to_string(),
        "id | name | cents | rate\n1 | ann | 7 | null\n4 | dan | null | null\n"
    );
    assert_eq!(run.reject_codes(), [(1, "out-of-range", Some("cents")), (2, "missing-value", Some("name"))]);
    assert_eq!(run.selection("lines"), [0, 0, 3], "what a rejected row wrote is taken back");
    assert_eq!(run.output("lines").values("line"), [0.into(), 1.into(), Value::from(0)]);
}

#[test]
fn operations_are_all_or_none() {
    let run_names = |names: [&str; 2]| {
        let table = input().take(&[0, 3]);
        let renamed = table.fields().fold(Table::new(), |renamed, field| match field.name.as_str() {
            "name" => renamed.column("name", DataType::Utf8, names),
            other => renamed.field(field.clone(), table.values(other)),
        });
        harness().run::<Rows<Orders>>(&renamed).unwrap()
    };
    let all = run_names(["drop a", "drop b"]);
    assert_eq!((all.operations("records"), all.rejects.len()), ([2, 2].as_slice(), 0));
    let mixed = run_names(["keep", "drop b"]);
    assert_eq!(mixed.reject_codes(), [(1, "mixed-operations", None)]);
    assert_eq!(mixed.operations("records"), [0]);
    let other_way = run_names(["drop a", "keep"]);
    assert_eq!(other_way.reject_codes(), [(1, "mixed-operations", None)]);
    assert_eq!(other_way.operations("records"), [2]);
}

#[test]
fn mistakes_name_the_column() {
    let typed = |data_type: DataType, value: Value| {
        let table = input().take(&[0]);
        let changed = table.fields().fold(Table::new(), |changed, field| match field.name.as_str() {
            "lines" => changed.column("lines", data_type.clone(), [value.clone()]),
            other => changed.field(field.clone(), table.values(other)),
        });
        harness().run::<Rows<Orders>>(&changed)
    };
    let run = typed(DataType::Utf8, "two".into()).unwrap();
    assert_eq!(run.reject_codes(), [(0, "wrong-type", Some("lines"))]);
    match typed(DataType::list(DataType::Int8), Value::Null) {
        Err(RunError::Failure(failure)) => assert_eq!(failure.code, "wrong-type", "nested columns have no row view"),
        other => panic!("{other:?}"),
    }
    let unread = Harness::new(Stage::Map).run::<Rows<Orders>>(&input().take(&[1])).unwrap();
    assert_eq!(unread.reject_codes(), [(0, "wrong-type", Some("rates.rate"))]);
}
