//! Comparisons of results that are made by hand.

use super::{Differences, ExampleKind, Report, Show, compare};
use crate::content::digest_outputs;
use crate::drive::mapping::Mapped;
use crate::record::MappedOutput;
use arrow::array::{
    ArrayRef, BinaryArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, UInt8Array,
    UInt32Array, UInt64Array,
};
use arrow::datatypes::Int32Type;
use gristmill_core::dead_letter::{DeadLetter, DeadLetterClass, RecordPosition, RefusedAt};
use gristmill_core::id::BatchId;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

fn batch() -> BatchId {
    "01J2S0000000000000000000ZZ".parse().unwrap()
}

fn result(columns: &[(&str, ArrayRef)], versions: &[u8], letters: Vec<DeadLetter>) -> Mapped {
    let rows = RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(n, c)| (*n, c.clone(), true))).unwrap();
    let count = rows.num_rows();
    let operations = UInt8Array::from(vec![0; count]);
    let versions = BinaryArray::from_iter_values(versions.iter().map(|v| [*v]));
    let digest = digest_outputs([("o", &rows, &operations, &versions)].into_iter());
    let output = MappedOutput {
        name: "o".into(),
        rows,
        operations,
        versions,
        hashes: UInt64Array::from(vec![0; count]),
        source_rows: UInt32Array::from_iter_values(0..count as u32),
    };
    Mapped { outputs: vec![output], digest, dead_letters: letters, messages: Vec::new() }
}

fn named(ids: &[i64], names: &[&str]) -> Mapped {
    let columns: [(&str, ArrayRef); 2] =
        [("id", Arc::new(Int64Array::from(ids.to_vec()))), ("name", Arc::new(StringArray::from(names.to_vec())))];
    result(&columns, &vec![1; ids.len()], Vec::new())
}

fn show(redact: &[&str]) -> Show {
    Show { redact: redact.iter().map(|c| (*c).to_owned()).collect(), examples: 2 }
}

fn compared(old: &Mapped, new: &Mapped, redact: &[&str]) -> Differences {
    compare(batch(), old, new, |_| vec!["id".into()], &show(redact)).unwrap()
}

#[test]
fn rows_are_told_apart_by_identity() {
    let old = named(&[1, 2, 3, 4], &["a", "b", "c", "d"]);
    let new = named(&[5, 4, 2, 1], &["e", "D", "b", "A"]);
    let found = &compared(&old, &new, &[]).outputs["o"];
    assert_eq!((found.equal, found.changed, found.added, found.removed), (1, 2, 1, 1));
    assert_eq!(found.columns, BTreeMap::from([("name".to_owned(), 2)]));
    let shown: Vec<_> = found
        .examples
        .iter()
        .map(|e| {
            let columns: Vec<_> = e.columns.iter().map(|c| format!("{} {}→{}", c.column, c.old, c.new)).collect();
            (e.kind, e.identity[0].value.clone(), columns.join(","))
        })
        .collect();
    assert!(shown.contains(&(ExampleKind::Changed, "4".into(), "name d→D".into())), "{shown:?}");
    assert!(shown.contains(&(ExampleKind::Added, "5".into(), String::new())), "{shown:?}");
    assert!(shown.contains(&(ExampleKind::Removed, "3".into(), String::new())), "{shown:?}");
}

#[test]
fn redacted_values_are_in_no_example() {
    let old = named(&[1, 2], &["hunter2", "x"]);
    let new = named(&[1, 3], &["swordfish", "x"]);
    let found = compared(&old, &new, &["name", "id"]);
    let json = serde_json::to_string(&found.outputs).unwrap();
    assert!(!json.contains("hunter2") && !json.contains("swordfish"), "{json}");
    let example = &found.outputs["o"].examples.iter().find(|e| e.kind == ExampleKind::Changed).unwrap();
    assert_eq!((example.identity[0].value.as_str(), example.columns[0].new.as_str()), ("‹redacted›", "‹redacted›"));
}

#[test]
fn the_same_record_in_several_versions_is_paired_by_version() {
    let columns = |names: Vec<&str>| -> Vec<(&str, ArrayRef)> {
        vec![
            ("id", Arc::new(Int64Array::from(vec![1; names.len()])) as ArrayRef),
            ("name", Arc::new(StringArray::from(names)) as ArrayRef),
        ]
    };
    let old = result(&columns(vec!["first", "second"]), &[1, 2], Vec::new());
    // The first version is gone; what is left is the second, unchanged.
    let new = result(&columns(vec!["second"]), &[2], Vec::new());
    let found = &compared(&old, &new, &[]).outputs["o"];
    assert_eq!((found.equal, found.changed, found.removed), (1, 0, 1));
    // Another version of the same record is a change of it, not another record.
    let new = result(&columns(vec!["first", "second"]), &[1, 3], Vec::new());
    let found = &compared(&old, &new, &[]).outputs["o"];
    assert_eq!(
        (found.equal, found.changed, found.columns.clone()),
        (1, 1, BTreeMap::from([("(version)".to_owned(), 1)]))
    );
}

#[test]
fn columns_that_come_go_or_change_are_told_once() {
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let old = result(
        &[("id", ids.clone()), ("gone", ids.clone()), ("typed", Arc::new(Int32Array::from(vec![1, 2])))],
        &[1, 1],
        Vec::new(),
    );
    let new = result(&[("typed", ids.clone()), ("id", ids.clone()), ("new", ids)], &[1, 1], Vec::new());
    let found = &compared(&old, &new, &[]).outputs["o"];
    let schema: Vec<_> = found.schema.iter().map(String::as_str).collect();
    assert_eq!(
        schema,
        [
            "column `gone` is gone",
            "column `new` is new: int64",
            "column `typed`: int32 → int64",
            "its columns are in another order"
        ]
    );
    assert_eq!((found.equal, found.changed), (2, 0), "no row is told of for it");
    assert!(!found.is_equal());
}

#[test]
fn an_identity_that_is_not_in_both_is_said_and_rows_are_counted() {
    let old = named(&[1, 2], &["a", "b"]);
    let columns: [(&str, ArrayRef); 1] = [("name", Arc::new(StringArray::from(vec!["a"])))];
    let found = &compared(&old, &result(&columns, &[1], Vec::new()), &[]).outputs["o"];
    assert!(found.unpaired.as_ref().unwrap().contains("`id`"), "{found:?}");
    assert_eq!((found.old_rows, found.new_rows, found.is_equal()), (2, 1, false));
}

#[test]
fn nested_values_nulls_and_nans_are_values() {
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let list = |values: Vec<Option<Vec<Option<i32>>>>| -> ArrayRef {
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(values))
    };
    let of = |lists: ArrayRef, floats: Vec<Option<f64>>| {
        result(
            &[("id", ids.clone()), ("l", lists), ("f", Arc::new(Float64Array::from(floats)))],
            &[1, 1, 1],
            Vec::new(),
        )
    };
    let floats = vec![Some(f64::NAN), None, Some(1.0)];
    let old = of(list(vec![Some(vec![Some(1)]), None, Some(vec![])]), floats.clone());
    let same = of(list(vec![Some(vec![Some(1)]), None, Some(vec![])]), floats.clone());
    assert!(compared(&old, &same, &[]).outputs["o"].is_equal());
    let other =
        of(list(vec![Some(vec![None]), Some(vec![]), Some(vec![])]), vec![Some(f64::NAN), Some(0.0), Some(1.0)]);
    let found = &compared(&old, &other, &[]).outputs["o"];
    assert_eq!(found.columns, BTreeMap::from([("f".to_owned(), 1), ("l".to_owned(), 2)]));
    assert_eq!(found.changed, 2);
}

#[test]
fn rejects_that_appear_or_vanish_are_counted_by_code() {
    let letter = |row: u32, code: &str| DeadLetter {
        refused_at: RefusedAt::Map,
        class: DeadLetterClass::Rejected,
        code: code.into(),
        field: None,
        output: None,
        position: RecordPosition::Batch { row },
        message: "why".into(),
    };
    let of = |letters: Vec<DeadLetter>| Mapped { dead_letters: letters, ..named(&[1], &["a"]) };
    let old = of(vec![letter(1, "bad-time"), letter(2, "bad-time"), letter(9, "bad-place")]);
    let new = of(vec![letter(2, "bad-time"), letter(3, "bad-time"), letter(4, "bad-time"), letter(5, "bad-time")]);
    let found = compared(&old, &new, &[]);
    let counts: Vec<_> = found.rejects.iter().map(|r| (r.code.as_str(), r.appear, r.vanish)).collect();
    assert_eq!(counts, [("bad-place", 0, 1), ("bad-time", 3, 1)]);
    assert_eq!(found.rejects[1].appear_at.len(), 2, "as many places as examples are asked for");
    let mut report = Report::default();
    report.add(found, 2);
    report.add(compared(&old, &new, &[]), 2);
    assert_eq!((report.rejects[1].appear, report.rejects[1].appear_at.len()), (6, 2));
    assert!(!report.is_equal());
}

proptest! {
    /// Rows of either side are equal, changed, or on one side only; and nothing differs from itself, in any order.
    #[test]
    fn every_row_is_counted_once(
        old in prop::collection::vec((0_i64..6, "[ab]", 0_u8..3), 0..12),
        new in prop::collection::vec((0_i64..6, "[ab]", 0_u8..3), 0..12),
        turn in 0_usize..12,
    ) {
        let of = |rows: &[(i64, String, u8)]| {
            let ids: Vec<_> = rows.iter().map(|(id, _, _)| *id).collect();
            let names: Vec<_> = rows.iter().map(|(_, name, _)| name.as_str()).collect();
            let columns: [(&str, ArrayRef); 2] =
                [("id", Arc::new(Int64Array::from(ids))), ("name", Arc::new(StringArray::from(names)))];
            let versions: Vec<_> = rows.iter().map(|(_, _, version)| *version).collect();
            result(&columns, &versions, Vec::new())
        };
        let (a, b) = (of(&old), of(&new));
        let found = &compared(&a, &b, &[]).outputs["o"];
        prop_assert_eq!(found.equal + found.changed + found.removed, old.len() as u64);
        prop_assert_eq!(found.equal + found.changed + found.added, new.len() as u64);
        if found.is_equal() {
            let (mut old, mut new) = (old.clone(), new);
            old.sort();
            new.sort();
            prop_assert_eq!(old, new);
        }
        let mut turned = old;
        if !turned.is_empty() {
            let turn = turn % turned.len();
            turned.rotate_left(turn);
        }
        // Only where a record comes twice in one version may its rows be mistaken for each other.
        let mut keys: Vec<_> = turned.iter().map(|(id, _, version)| (*id, *version)).collect();
        keys.sort_unstable();
        keys.dedup();
        prop_assume!(keys.len() == turned.len());
        prop_assert!(compared(&a, &of(&turned), &[]).outputs["o"].is_equal());
    }
}
