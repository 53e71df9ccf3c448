//! What every sink must do: a function for each rule of [`Sink`], numbered as the rules are.
//!
//! A sink joins by implementing [`Target`] and naming it in [`suite!`].

use super::*;
use crate::content::{digest_outputs, row_hashes};
use arrow::array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, UInt8Array, UInt32Array};
use arrow::datatypes::{DataType, Field, Schema};
use gristmill_core::record::Operation;
use gristmill_core::version;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A target on which sinks are opened, as the tests see it from outside.
#[async_trait::async_trait]
pub(super) trait Target: Sync {
    fn new(outputs: &[OutputSchema]) -> Self
    where
        Self: Sized;

    /// A new sink on this target, as a new process would make it.
    fn sink(&self) -> Box<dyn Sink>;

    /// The live records of a table, each as its values, sorted.
    async fn records(&self, table: &str) -> Vec<Vec<String>>;

    /// All that a reader can see: rows with their bookkeeping, receipts.
    async fn visible(&self) -> String;

    /// Makes the next write of this output in this batch fail, until healed.
    async fn poison(&self, output: &str, batch_id: BatchId);
    async fn heal(&self, output: &str, batch_id: BatchId);

    /// Whether the sink can look records up, and so counts stale rows and conflicts.
    fn looks_up(&self) -> bool;
}

/// A row of the test outputs: `delete` leaves a tombstone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub id: i64,
    pub version: u64,
    pub value: &'static str,
    pub delete: bool,
}

pub(super) fn put(id: i64, version: u64, value: &'static str) -> Row {
    Row { id, version, value, delete: false }
}

pub(super) fn delete(id: i64, version: u64) -> Row {
    Row { id, version, value: "", delete: true }
}

pub(super) const FLIGHTS: &str = "flights";
pub(super) const DELAYS: &str = "delays";

/// Two outputs: `flights` with an integer as identity, `delays` with two texts.
pub(super) fn outputs() -> Vec<OutputSchema> {
    named_outputs(FLIGHTS, DELAYS, ["id", "value"], ["origin", "flight", "value"])
}

fn named_outputs(first: &str, second: &str, columns: [&str; 2], others: [&str; 3]) -> Vec<OutputSchema> {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let output = |name: &str, fields: Vec<Field>, keys: usize| OutputSchema {
        name: name.into(),
        table: name.into(),
        identity: fields[..keys].iter().map(|field| field.name().clone()).collect(),
        schema: Arc::new(Schema::new(fields)),
    };
    vec![
        output(first, vec![Field::new(columns[0], DataType::Int64, true), text(columns[1])], 1),
        output(second, others.map(text).to_vec(), 2),
    ]
}

pub(super) fn tenure(token: u64) -> Tenure {
    Tenure {
        task_id: TaskId::new("flights-task").unwrap(),
        partition_id: PartitionId::whole(),
        fencing_token: FencingToken::new(token),
    }
}

pub(super) fn batch_id(number: u64) -> BatchId {
    format!("01J2S{number:021}").parse().unwrap()
}

/// A batch that puts the rows into both test outputs.
pub(super) fn batch(number: u64, token: u64, rows: &[Row]) -> MappedBatch {
    batch_for(&outputs(), number, token, rows)
}

/// The same under another epoch, as a replay makes it.
pub(super) fn batch_under(epoch: u64, number: u64, token: u64, rows: &[Row]) -> MappedBatch {
    MappedBatch { epoch: Epoch::new(epoch), ..batch(number, token, rows) }
}

pub(super) fn batch_for(outputs: &[OutputSchema], number: u64, token: u64, rows: &[Row]) -> MappedBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.id)));
    let values: ArrayRef = Arc::new(rows.iter().map(|row| (!row.delete).then_some(row.value)).collect::<StringArray>());
    let origins: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| format!("o{}", row.id % 2))));
    let flights: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| format!("f{}", row.id))));
    let flights = [vec![ids, values.clone()], vec![origins, flights, values]];
    let operation = |row: &Row| if row.delete { Operation::Delete } else { Operation::Insert };
    let outputs: Vec<MappedOutput> = outputs
        .iter()
        .zip(flights)
        .map(|(output, columns)| {
            let batch = RecordBatch::try_new(output.schema.clone(), columns).unwrap();
            MappedOutput {
                name: output.name.clone(),
                operations: UInt8Array::from_iter_values(rows.iter().map(|row| operation(row).code())),
                versions: BinaryArray::from_iter_values(rows.iter().map(|row| version::unsigned(row.version))),
                hashes: row_hashes(&batch),
                source_rows: UInt32Array::from_iter_values(0..rows.len() as u32),
                rows: batch,
            }
        })
        .collect();
    let Tenure { task_id, partition_id, fencing_token } = tenure(token);
    let digested = outputs.iter().map(|output| (&*output.name, &output.rows, &output.operations, &output.versions));
    MappedBatch {
        task_id,
        partition_id,
        fencing_token,
        epoch: Epoch::new(1),
        sequence: Sequence::new(number),
        batch_id: batch_id(number),
        schema_id: SchemaId::new("flights-v1").unwrap(),
        created_at: Micros(1_700_000_000_000_000),
        digest: digest_outputs(digested),
        outputs,
    }
}

async fn opened<T: Target>(target: &T, token: u64) -> Box<dyn Sink> {
    let mut sink = target.sink();
    sink.open(&tenure(token), &outputs()).await.unwrap();
    sink
}

/// The outputs, going to other tables.
pub(super) fn outputs_into(tables: [&str; 2]) -> Vec<OutputSchema> {
    let mut outputs = outputs();
    outputs.iter_mut().zip(tables).for_each(|(output, table)| output.table = table.into());
    outputs
}

async fn flights<T: Target>(target: &T) -> Vec<(i64, String)> {
    records_in(target, [FLIGHTS, DELAYS]).await
}

async fn records_in<T: Target>(target: &T, tables: [&str; 2]) -> Vec<(i64, String)> {
    let records = target.records(tables[0]).await;
    let flights: Vec<_> = records.into_iter().map(|record| (record[0].parse().unwrap(), record[1].clone())).collect();
    let delays = target.records(tables[1]).await;
    let same = delays.into_iter().map(|record| (record[1][1..].parse().unwrap(), record[2].clone()));
    let mut same: Vec<(i64, String)> = same.collect();
    same.sort();
    assert_eq!(flights, same, "both outputs got the same rows");
    flights
}

fn json(receipt: &Receipt) -> String {
    receipt.to_json().unwrap()
}

pub(super) async fn rule_1_open_raises_the_fence<T: Target>() {
    let target = T::new(&outputs());
    opened(&target, 2).await;
    let refused = target.sink().open(&tenure(1), &outputs()).await.unwrap_err();
    assert!(matches!(&refused, SinkError::Fenced { seen, held } if (seen.get(), held.get()) == (2, 1)), "{refused}");
    opened(&target, 2).await;
    opened(&target, 3).await;
    assert!(matches!(target.sink().open(&tenure(2), &outputs()).await, Err(SinkError::Fenced { .. })));
    // Another partition has a fence of its own.
    let other = Tenure { partition_id: PartitionId::new("other").unwrap(), ..tenure(1) };
    target.sink().open(&other, &outputs()).await.unwrap();
}

pub(super) async fn rule_2_write_is_atomic<T: Target>() {
    let target = T::new(&outputs());
    let mut sink = opened(&target, 1).await;
    sink.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap();
    let before = target.visible().await;
    let second = batch(2, 1, &[put(1, 2, "b"), put(2, 1, "c")]);
    target.poison(DELAYS, second.batch_id).await;
    sink.write(&second).await.unwrap_err();
    assert_eq!(target.visible().await, before);
    assert_eq!(sink.find_receipt(&second.task_id, second.batch_id).await.unwrap(), None);
    target.heal(DELAYS, second.batch_id).await;
    sink.write(&second).await.unwrap();
    assert_eq!(flights(&target).await, [(1, "b".into()), (2, "c".into())]);
}

pub(super) async fn rule_3_a_zombie_commits_nothing<T: Target>() {
    let target = T::new(&outputs());
    let mut zombie = opened(&target, 1).await;
    zombie.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap();
    let mut owner = opened(&target, 2).await;
    let before = target.visible().await;
    let refused = zombie.write(&batch(2, 1, &[put(1, 5, "zombie")])).await.unwrap_err();
    assert!(matches!(&refused, SinkError::Fenced { seen, held } if (seen.get(), held.get()) == (2, 1)), "{refused}");
    assert_eq!(target.visible().await, before);
    // The owner delivers the very batch that the zombie began, and the zombie stays out between and after its writes.
    owner.write(&batch(2, 2, &[put(1, 5, "zombie")])).await.unwrap();
    assert!(matches!(zombie.write(&batch(3, 1, &[put(1, 9, "zombie")])).await, Err(SinkError::Fenced { .. })));
    owner.write(&batch(4, 2, &[put(1, 6, "owner")])).await.unwrap();
    assert!(matches!(zombie.write(&batch(5, 1, &[put(1, 9, "zombie")])).await, Err(SinkError::Fenced { .. })));
    assert_eq!(flights(&target).await, [(1, "owner".into())]);
    // A question does not make a zombie an owner.
    zombie.find_receipt(&tenure(1).task_id, batch_id(4)).await.unwrap().unwrap();
    assert!(matches!(zombie.write(&batch(6, 1, &[put(1, 9, "zombie")])).await, Err(SinkError::Fenced { .. })));
}

pub(super) async fn rule_4_a_duplicate_gets_the_first_receipt<T: Target>() {
    let target = T::new(&outputs());
    let mut sink = opened(&target, 1).await;
    let rows = [put(1, 1, "a"), put(2, 1, "b"), delete(3, 1)];
    let first = sink.write(&batch(1, 1, &rows)).await.unwrap();
    sink.write(&batch(2, 1, &[put(1, 2, "newer")])).await.unwrap();
    let before = target.visible().await;
    assert_eq!(json(&sink.write(&batch(1, 1, &rows)).await.unwrap()), json(&first));
    // Also from a new owner: the receipt still names the token under which the batch was committed.
    let mut owner = opened(&target, 2).await;
    let fenced = target.visible().await;
    let again = owner.write(&batch(1, 2, &rows)).await.unwrap();
    assert_eq!(json(&again), json(&first));
    assert_eq!(again.fencing_token(), FencingToken::new(1));
    assert_eq!(target.visible().await, fenced);
    assert_eq!(before, fenced, "a fence is not visible to readers");
}

pub(super) async fn rule_5_find_receipt_is_exact<T: Target>() {
    let target = T::new(&outputs());
    let mut sink = opened(&target, 1).await;
    let task_id = tenure(1).task_id;
    assert_eq!(sink.find_receipt(&task_id, batch_id(1)).await.unwrap(), None);
    let mut receipts = Vec::new();
    for number in 1..=5 {
        let rows = [put(1, number, "a"), put(number as i64, 1, "b")];
        receipts.push(sink.write(&batch(number, 1, if number == 3 { &[] } else { &rows })).await.unwrap());
    }
    let mut fresh = opened(&target, 2).await;
    // A sink of another partition may be the one that is asked.
    let mut other = target.sink();
    let tenure_of_other = Tenure { partition_id: PartitionId::new("other").unwrap(), ..tenure(9) };
    other.open(&tenure_of_other, &outputs()).await.unwrap();
    for (number, receipt) in (1..).zip(&receipts) {
        for sink in [&mut sink, &mut fresh, &mut other] {
            let found = sink.find_receipt(&task_id, batch_id(number)).await.unwrap();
            assert_eq!(found.as_ref().map(json), Some(json(receipt)));
        }
    }
    for sink in [&mut sink, &mut fresh, &mut other] {
        assert_eq!(sink.find_receipt(&task_id, batch_id(6)).await.unwrap(), None);
        let stranger = TaskId::new("stranger").unwrap();
        assert_eq!(sink.find_receipt(&stranger, batch_id(1)).await.unwrap(), None);
    }
}

pub(super) async fn rule_6_newer_versions_stay<T: Target>() {
    let target = T::new(&outputs());
    let mut sink = opened(&target, 1).await;
    sink.write(&batch(1, 1, &[put(1, 5, "newer"), put(2, 1, "old"), put(2, 3, "newest"), put(2, 2, "older")]))
        .await
        .unwrap();
    let receipt =
        sink.write(&batch(2, 1, &[put(1, 4, "older"), put(3, 1, "new"), put(2, 9, "newer still")])).await.unwrap();
    assert_eq!(flights(&target).await, [(1, "newer".into()), (2, "newer still".into()), (3, "new".into())]);
    for output in receipt.outputs() {
        assert_eq!(output.rows, 3);
        if target.looks_up() {
            assert_eq!((output.inserted, output.updated, output.stale), (1, 1, 1));
        }
    }
}

pub(super) async fn rule_7_a_conflict_is_not_written<T: Target>() {
    let target = T::new(&outputs());
    let mut sink = opened(&target, 1).await;
    sink.write(&batch(1, 1, &[put(1, 5, "first"), put(2, 5, "same")])).await.unwrap();
    let rows = [put(3, 1, "new"), put(1, 5, "second"), put(2, 5, "same"), delete(2, 5)];
    let receipt = sink.write(&batch(2, 1, &rows)).await.unwrap();
    assert_eq!(flights(&target).await, [(1, "first".into()), (2, "same".into()), (3, "new".into())]);
    for output in receipt.outputs() {
        if target.looks_up() {
            assert_eq!((output.inserted, output.unchanged, output.conflicts), (1, 1, 2));
            assert_eq!(output.conflict_rows, [1, 3]);
        }
    }
}

pub(super) async fn rule_7_the_larger_epoch_holds<T: Target>() {
    let live = |id: i64, value: &str| (id, value.to_owned());
    let target = T::new(&outputs());
    let mut sink = opened(&target, 1).await;
    let rows = [put(1, 5, "old"), put(2, 5, "same"), put(3, 5, "old"), delete(4, 5), put(5, 9, "newer"), delete(6, 5)];
    sink.write(&batch_under(1, 1, 1, &rows)).await.unwrap();

    let rows = [put(1, 5, "new"), put(2, 5, "same"), delete(3, 5), put(4, 5, "back"), put(5, 5, "older"), delete(6, 5)];
    let receipt = sink.write(&batch_under(2, 2, 1, &rows)).await.unwrap();
    let mut expected = vec![live(1, "new"), live(2, "same"), live(4, "back"), live(5, "newer")];
    assert_eq!(flights(&target).await, expected);
    for output in receipt.outputs() {
        if target.looks_up() {
            let counts = (output.updated, output.deleted, output.unchanged, output.stale, output.conflicts);
            assert_eq!(counts, (2, 1, 2, 1, 0));
        }
    }

    // What comes late under the smaller epoch is stale: the live part goes on, and undoes nothing of the repair.
    let rows = [put(1, 5, "late"), put(3, 5, "late"), delete(4, 5), put(7, 1, "live")];
    let receipt = sink.write(&batch_under(1, 3, 1, &rows)).await.unwrap();
    expected.push(live(7, "live"));
    assert_eq!(flights(&target).await, expected);
    for output in receipt.outputs() {
        if target.looks_up() {
            assert_eq!((output.inserted, output.stale, output.conflicts), (1, 3, 0));
        }
    }

    // Within the larger epoch the first holds, in one batch and across batches.
    let rows = [put(1, 5, "other"), put(8, 1, "first"), put(8, 1, "second"), delete(8, 1)];
    let receipt = sink.write(&batch_under(2, 4, 1, &rows)).await.unwrap();
    expected.push(live(8, "first"));
    assert_eq!(flights(&target).await, expected);
    for output in receipt.outputs() {
        if target.looks_up() {
            assert_eq!((output.inserted, output.conflicts), (1, 3));
            assert_eq!(output.conflict_rows, [0, 2, 3]);
        }
    }

    // Versions decide first: a newer one under the smaller epoch passes all of it.
    sink.write(&batch_under(1, 5, 1, &[put(1, 6, "live"), put(3, 6, "live"), delete(8, 2)])).await.unwrap();
    sink.write(&batch_under(2, 6, 1, &[put(1, 5, "replayed"), put(8, 1, "replayed")])).await.unwrap();
    let expected =
        [live(1, "live"), live(2, "same"), live(3, "live"), live(4, "back"), live(5, "newer"), live(7, "live")];
    assert_eq!(flights(&target).await, expected);
}

pub(super) async fn rule_8_tombstones<T: Target>() {
    let target = T::new(&outputs());
    let mut sink = opened(&target, 1).await;
    sink.write(&batch(1, 1, &[put(1, 1, "a"), put(2, 1, "b")])).await.unwrap();
    let receipt = sink.write(&batch(2, 1, &[delete(1, 3), delete(9, 3)])).await.unwrap();
    assert_eq!(flights(&target).await, [(2, "b".into())]);
    assert!(receipt.outputs().iter().all(|output| output.deleted == 2), "an unknown record gets a tombstone too");
    let receipt = sink.write(&batch(3, 1, &[put(1, 2, "late"), put(9, 2, "late"), delete(1, 3)])).await.unwrap();
    assert_eq!(flights(&target).await, [(2, "b".into())], "older rows do not pass a tombstone");
    if target.looks_up() {
        assert!(receipt.outputs().iter().all(|output| (output.stale, output.unchanged) == (2, 1)));
    }
    let receipt = sink.write(&batch(4, 1, &[put(1, 4, "back"), delete(1, 1)])).await.unwrap();
    assert_eq!(flights(&target).await, [(1, "back".into()), (2, "b".into())]);
    if target.looks_up() {
        assert!(receipt.outputs().iter().all(|output| (output.updated, output.stale) == (1, 1)));
    }
    sink.write(&batch(5, 1, &[delete(1, 5), put(1, 6, "again"), delete(2, 2), put(2, 1, "old")])).await.unwrap();
    assert_eq!(flights(&target).await, [(1, "again".into())]);
}

pub(super) async fn rule_9_another_digest_is_refused<T: Target>() {
    let target = T::new(&outputs());
    let mut sink = opened(&target, 1).await;
    let first = sink.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap();
    let before = target.visible().await;
    for rows in [&[put(1, 1, "b")][..], &[put(1, 2, "a")], &[], &[put(1, 1, "a"), put(2, 1, "b")]] {
        let refused = sink.write(&batch(1, 1, rows)).await.unwrap_err();
        assert!(matches!(refused, SinkError::Permanent { .. }), "{refused}");
    }
    assert_eq!(target.visible().await, before);
    let found = sink.find_receipt(&tenure(1).task_id, batch_id(1)).await.unwrap();
    assert_eq!(found.as_ref().map(json), Some(json(&first)));
}

pub(super) async fn rule_10_names_are_only_names<T: Target>() {
    let names = [
        ("select", r#"robert"); DROP TABLE gristmill_batch;--"#),
        ("../../outside", "/etc/passwd"),
        ("été 🚲", "a'b`c[d]"),
        ("semi;colon", "per%2Fcent #1"),
        ("..", "new\nline\t?1 :x @y $z"),
    ];
    for (first, second) in names {
        let outputs = named_outputs(first, second, [second, "order"], ["table", first, r#"quo"ted; --"#]);
        let target = T::new(&outputs);
        let mut sink = target.sink();
        sink.open(&tenure(1), &outputs).await.unwrap();
        sink.write(&batch_for(&outputs, 1, 1, &[put(1, 1, "a"), put(2, 1, r#"'); DROP TABLE "select";"#)]))
            .await
            .unwrap();
        sink.write(&batch_for(&outputs, 2, 1, &[put(1, 2, "b"), delete(2, 2), put(3, 1, "c")])).await.unwrap();
        // A second process finds what the first one made.
        target.sink().open(&tenure(2), &outputs).await.unwrap();
        assert_eq!(target.records(first).await, [["1", "b"], ["3", "c"]]);
        assert_eq!(target.records(second).await, [["o1", "f1", "b"], ["o1", "f3", "c"]]);
    }
}

/// Epochs may come in turns; the last batch is asked for by epoch, and without `open`.
pub(super) async fn the_last_batch_of_an_epoch<T: Target>() {
    let target = T::new(&outputs());
    let last = async |epoch| target.sink().last_batch(&tenure(1), Epoch::new(epoch)).await.unwrap();
    assert_eq!(last(1).await, None);
    let mut token = 1;
    let mut sink = opened(&target, token).await;
    assert_eq!(last(1).await, None);
    for (number, epoch) in [(1, 1), (2, 1), (3, 2), (4, 1), (5, 3), (6, 2)] {
        sink.write(&batch_under(epoch, number, token, &[put(1, number, "a")])).await.unwrap();
        assert_eq!(last(epoch).await, Some(batch_id(number)));
        if number % 2 == 0 {
            token += 1;
            sink = opened(&target, token).await;
        }
    }
    assert_eq!([last(1).await, last(2).await, last(3).await], [4, 6, 5].map(|number| Some(batch_id(number))));
    assert_eq!(last(4).await, None);
    let other = Tenure { partition_id: PartitionId::new("other").unwrap(), ..tenure(1) };
    assert_eq!(target.sink().last_batch(&other, Epoch::new(1)).await.unwrap(), None);
}

/// Two states may hold the same token. Neither goes on behind a batch of the other, whatever its epoch.
pub(super) async fn a_foreign_history_is_left_alone<T: Target>() {
    for epoch in [1, 2] {
        let target = T::new(&outputs());
        let mut ours = opened(&target, 1).await;
        ours.write(&batch_under(1, 1, 1, &[put(1, 1, "a")])).await.unwrap();
        let mut theirs = opened(&target, 1).await;
        theirs.write(&batch_under(epoch, 2, 1, &[put(1, 2, "b")])).await.unwrap();
        let before = target.visible().await;
        let refused = ours.write(&batch_under(1, 3, 1, &[put(1, 3, "c")])).await.unwrap_err();
        assert!(matches!(&refused, SinkError::Permanent { what, .. } if what.contains("not ours")), "{refused}");
        assert_eq!(target.visible().await, before);
        // Whoever opens knows the history as it is then.
        ours.open(&tenure(1), &outputs()).await.unwrap();
        ours.write(&batch_under(2, 4, 1, &[put(1, 4, "d")])).await.unwrap();
        ours.write(&batch_under(1, 5, 1, &[put(1, 5, "e")])).await.unwrap();
        assert_eq!(flights(&target).await, [(1, "e".into())]);
    }
}

/// The first output with one more column between the others.
fn with_column(field: Field) -> Vec<OutputSchema> {
    let mut outputs = outputs();
    let mut fields: Vec<_> = outputs[0].schema.fields().iter().cloned().collect();
    fields.insert(1, Arc::new(field));
    outputs[0].schema = Arc::new(Schema::new(fields));
    outputs
}

/// A batch whose first output says a note with every row.
fn noted(batch: MappedBatch, outputs: &[OutputSchema], note: &str) -> MappedBatch {
    let MappedBatch { outputs: mut mapped, .. } = batch;
    let first = &mut mapped[0];
    let mut columns = first.rows.columns().to_vec();
    columns.insert(1, Arc::new(StringArray::from(vec![note; first.rows.num_rows()])));
    first.rows = RecordBatch::try_new(outputs[0].schema.clone(), columns).unwrap();
    first.hashes = row_hashes(&first.rows);
    let digested = mapped.iter().map(|output| (&*output.name, &output.rows, &output.operations, &output.versions));
    MappedBatch { digest: digest_outputs(digested), outputs: mapped, ..batch }
}

/// A mapper that adds a nullable column goes on in the same table, and so does the mapper before it.
pub(super) async fn rule_12_nullable_columns_are_added<T: Target>() {
    let target = T::new(&outputs());
    let mut sink = opened(&target, 1).await;
    sink.write(&batch(1, 1, &[put(1, 1, "a"), put(2, 1, "b")])).await.unwrap();
    let grown = with_column(Field::new("note", DataType::Utf8, true));
    sink.open(&tenure(1), &grown).await.unwrap();
    assert_eq!(target.records(FLIGHTS).await.concat().concat(), "1a2b", "no row was touched");
    sink.write(&noted(batch(2, 1, &[put(2, 2, "c"), put(3, 1, "d"), delete(4, 1)]), &grown, "new")).await.unwrap();
    let expected = [["1", "a", ""], ["2", "c", "new"], ["3", "d", "new"]];
    assert_eq!(target.records(FLIGHTS).await, expected);

    // A second process finds what the first one added, and an older mapper leaves the column alone.
    target.sink().open(&tenure(2), &grown).await.unwrap();
    let mut older = opened(&target, 2).await;
    older.write(&batch(3, 2, &[put(1, 2, "e"), put(5, 1, "f")])).await.unwrap();
    let expected = [["1", "e", ""], ["2", "c", "new"], ["3", "d", "new"], ["5", "f", ""]];
    assert_eq!(target.records(FLIGHTS).await, expected);
    older.open(&tenure(2), &grown).await.unwrap();
    older.write(&noted(batch(4, 2, &[put(5, 2, "f")]), &grown, "newer")).await.unwrap();
    assert_eq!(target.records(FLIGHTS).await[3], ["5", "f", "newer"]);
}

/// What is no nullable addition stays a mismatch, and alters nothing.
pub(super) async fn rule_12_other_columns_are_a_mismatch<T: Target>() {
    let target = T::new(&outputs());
    opened(&target, 1).await.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap();
    let before = target.visible().await;
    let required = with_column(Field::new("note", DataType::Utf8, false));
    let mut identity = with_column(Field::new("note", DataType::Utf8, true));
    identity[0].identity.push("note".into());
    let mut other_type = with_column(Field::new("note", DataType::Utf8, true));
    other_type[0].schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("note", DataType::Utf8, true),
        Field::new("value", DataType::Float64, true),
    ]));
    let stranger = Tenure { task_id: TaskId::new("stranger").unwrap(), ..tenure(2) };
    let nullable = with_column(Field::new("note", DataType::Utf8, true));
    for (tenure, outputs) in
        [(tenure(2), &required), (tenure(2), &identity), (tenure(2), &other_type), (stranger, &nullable)]
    {
        let refused = target.sink().open(&tenure, outputs).await.unwrap_err();
        assert!(matches!(&refused, SinkError::Mismatch { hint, .. } if !hint.is_empty()), "{refused}");
    }
    assert_eq!(target.visible().await, before);
    opened(&target, 1).await.write(&batch(2, 1, &[put(1, 2, "b")])).await.unwrap();
}

/// What `open` would refuse is found without opening, by a sink that never changes anything.
pub(super) async fn rule_13_fits_judges_as_open_does_and_changes_nothing<T: Target>() {
    let target = T::new(&outputs());
    let fits = async |tenure: &Tenure, outputs: &[OutputSchema]| {
        target.sink().fits(&tenure.task_id, &tenure.partition_id, outputs).await
    };
    fits(&tenure(1), &outputs()).await.expect("a target that is not there yet takes all");
    opened(&target, 1).await.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap();
    let before = target.visible().await;
    let nullable = with_column(Field::new("note", DataType::Utf8, true));
    let required = with_column(Field::new("note", DataType::Utf8, false));
    let mut identity = nullable.clone();
    identity[0].identity.push("note".into());
    let mut other_type = outputs();
    other_type[0].schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("value", DataType::Float64, true),
    ]));
    let stranger = Tenure { task_id: TaskId::new("stranger").unwrap(), ..tenure(2) };
    fits(&tenure(1), &outputs()).await.unwrap();
    fits(&tenure(1), &nullable).await.expect("what `open` would add is not missing");
    for (tenure, outputs) in
        [(tenure(2), &required), (tenure(2), &identity), (tenure(2), &other_type), (stranger, &nullable)]
    {
        let refused = fits(&tenure, outputs).await.unwrap_err();
        assert!(matches!(&refused, SinkError::Mismatch { hint, .. } if !hint.is_empty()), "{refused}");
        target.sink().open(&tenure, outputs).await.expect_err("`open` agrees");
    }
    assert_eq!(target.visible().await, before);
    // The columns are still to be added, and no fence was raised.
    let mut sink = opened(&target, 1).await;
    sink.write(&batch(2, 1, &[put(1, 2, "b")])).await.unwrap();
    sink.open(&tenure(1), &nullable).await.unwrap();
}

/// One sink, opened anew for other tables, leaves what it wrote before.
pub(super) async fn outputs_go_to_their_tables<T: Target>() {
    let target = T::new(&outputs());
    let mut sink = opened(&target, 1).await;
    sink.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap();
    let others = ["other flights", "other delays"];
    sink.open(&tenure(1), &outputs_into(others)).await.unwrap();
    sink.write(&batch(2, 1, &[put(1, 2, "b"), put(2, 1, "c")])).await.unwrap();
    assert_eq!(flights(&target).await, [(1, "a".into())]);
    assert_eq!(records_in(&target, others).await, [(1, "b".into()), (2, "c".into())]);
    assert_eq!(sink.count().await.unwrap(), [(FLIGHTS.to_owned(), 2), (DELAYS.to_owned(), 2)].into());
}

const TABLES: [&str; 2] = [FLIGHTS, DELAYS];

fn beside(epoch: u64) -> [String; 2] {
    TABLES.map(|table| built_beside(table, Epoch::new(epoch)))
}

fn swaps(epoch: u64) -> Vec<Swap> {
    let swap = |(table, built): (&str, String)| Swap { output: table.into(), built, table: table.into() };
    TABLES.into_iter().zip(beside(epoch)).map(swap).collect()
}

/// Opens a sink for tables beside and builds them from one batch.
async fn rebuilt<T: Target>(target: &T, epoch: u64, token: u64, batch: &MappedBatch) -> Box<dyn Sink> {
    let mut sink = target.sink();
    let built = beside(epoch);
    sink.open(&tenure(token), &outputs_into([&built[0], &built[1]])).await.unwrap();
    sink.write(batch).await.unwrap();
    sink
}

pub(super) async fn rule_11_a_swap_takes_effect_at_once<T: Target>() {
    let live = |id: i64, value: &str| (id, value.to_owned());
    let target = T::new(&outputs());
    let mut sink = opened(&target, 1).await;
    let old = batch(1, 1, &[put(1, 7, "old"), put(2, 7, "old"), put(3, 7, "gone")]);
    let first = sink.write(&old).await.unwrap();
    let before = flights(&target).await;

    // Built beside: with smaller versions too, since nothing of the old table counts for the new one.
    let [one, two] = [&[put(1, 7, "new"), delete(3, 7)][..], &[put(2, 3, "new")]];
    let (one, two) = (batch_under(2, 11, 1, one), batch_under(2, 12, 1, two));
    let mut sink = rebuilt(&target, 2, 1, &one).await;
    sink.write(&two).await.unwrap();
    assert_eq!(flights(&target).await, before, "readers see the old rows");
    let built = beside(2);
    assert_eq!(records_in(&target, [&built[0], &built[1]]).await, [live(1, "new"), live(2, "new")]);

    sink.swap(&tenure(1), Epoch::new(2), &swaps(2)).await.unwrap();
    let after = [live(1, "new"), live(2, "new")];
    assert_eq!(flights(&target).await, after);
    assert!(target.records(&built[0]).await.is_empty());

    // Once more, as after a crash behind the step: before anything was opened, and after the build was resumed.
    let visible = target.visible().await;
    target.sink().swap(&tenure(1), Epoch::new(2), &swaps(2)).await.unwrap();
    let mut resumed = rebuilt(&target, 2, 1, &two).await;
    resumed.swap(&tenure(1), Epoch::new(2), &swaps(2)).await.unwrap();
    assert_eq!(target.visible().await, visible);

    // What was committed before keeps its receipt; what was not is refused; live batches go on under the new epoch.
    let mut sink = opened(&target, 2).await;
    let old = MappedBatch { fencing_token: FencingToken::new(2), ..old };
    assert_eq!(json(&sink.write(&old).await.unwrap()), json(&first));
    let refused = sink.write(&batch(2, 2, &[put(1, 9, "late"), put(5, 9, "late")])).await.unwrap_err();
    assert!(matches!(&refused, SinkError::Permanent { what, .. } if what.contains("epoch 2")), "{refused}");
    assert_eq!(sink.find_receipt(&old.task_id, batch_id(2)).await.unwrap(), None);
    assert_eq!(target.visible().await, visible);
    sink.write(&batch_under(2, 13, 2, &[put(2, 4, "live"), put(4, 1, "live")])).await.unwrap();
    assert_eq!(flights(&target).await, [live(1, "new"), live(2, "live"), live(4, "live")]);
    assert_eq!(sink.count().await.unwrap()[FLIGHTS], 3);
    assert_eq!(sink.last_batch(&tenure(2), Epoch::new(1)).await.unwrap(), Some(batch_id(1)));

    // The next rebuild takes its place in turn, and the one before cannot come back.
    let mut sink = rebuilt(&target, 3, 2, &batch_under(3, 21, 2, &[put(1, 1, "newest")])).await;
    sink.swap(&tenure(2), Epoch::new(3), &swaps(3)).await.unwrap();
    assert_eq!(flights(&target).await, [live(1, "newest")]);
    let refused = sink.swap(&tenure(2), Epoch::new(2), &swaps(2)).await.unwrap_err();
    assert!(matches!(&refused, SinkError::Permanent { what, .. } if what.contains("epoch 3")), "{refused}");
    opened(&target, 2).await.write(&batch_under(3, 22, 2, &[put(1, 2, "live")])).await.unwrap();
    assert_eq!(flights(&target).await, [live(1, "live")]);
}

pub(super) async fn rule_11_a_zombie_does_not_swap<T: Target>() {
    let target = T::new(&outputs());
    opened(&target, 1).await.write(&batch(1, 1, &[put(1, 1, "old")])).await.unwrap();
    let mut zombie = rebuilt(&target, 2, 1, &batch_under(2, 11, 1, &[put(1, 1, "zombie")])).await;
    let mut owner = opened(&target, 2).await;
    let before = target.visible().await;
    for sink in [&mut zombie, &mut target.sink()] {
        let refused = sink.swap(&tenure(1), Epoch::new(2), &swaps(2)).await.unwrap_err();
        assert!(
            matches!(&refused, SinkError::Fenced { seen, held } if (seen.get(), held.get()) == (2, 1)),
            "{refused}"
        );
    }
    assert_eq!(target.visible().await, before);
    owner.write(&batch(2, 2, &[put(1, 2, "owner")])).await.unwrap();
    assert_eq!(flights(&target).await, [(1, "owner".into())]);
    // The owner takes what the zombie has built, and the zombie can do nothing about what is swapped in either.
    owner.swap(&tenure(2), Epoch::new(2), &swaps(2)).await.unwrap();
    assert!(matches!(zombie.swap(&tenure(1), Epoch::new(2), &swaps(2)).await, Err(SinkError::Fenced { .. })));
    assert_eq!(flights(&target).await, [(1, "zombie".into())]);
}

pub(super) async fn rule_11_all_tables_or_none<T: Target>() {
    let target = T::new(&outputs());
    opened(&target, 1).await.write(&batch(1, 1, &[put(1, 1, "old")])).await.unwrap();
    let stranger = Tenure { task_id: TaskId::new("stranger").unwrap(), ..tenure(1) };
    let theirs = ["their flights", "their delays"];
    target.sink().open(&stranger, &outputs_into(theirs)).await.unwrap();
    let mut sink = rebuilt(&target, 2, 1, &batch_under(2, 11, 1, &[put(1, 1, "new")])).await;
    let before = target.visible().await;
    let swap = |built: &str, table: &str| {
        vec![swaps(2)[0].clone(), Swap { output: DELAYS.into(), built: built.into(), table: table.into() }]
    };
    let built = beside(2);
    for (swaps, expected) in [
        (swap("nowhere", DELAYS), "has no such table of this task"),
        (swap(theirs[1], DELAYS), "has no such table of this task"),
        (swap(&built[1], theirs[1]), "belongs to task `stranger`"),
    ] {
        let refused = sink.swap(&tenure(1), Epoch::new(2), &swaps).await.unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
        assert_eq!(target.visible().await, before);
    }
    sink.swap(&tenure(1), Epoch::new(2), &swaps(2)).await.unwrap();
    assert_eq!(flights(&target).await, [(1, "new".into())]);
}

/// A rebuild may have other columns and identities, new outputs, and no more of others.
pub(super) async fn rule_11_tables_of_another_mapper<T: Target>() {
    let target = T::new(&outputs());
    opened(&target, 1).await.write(&batch(1, 1, &[put(1, 1, "old"), put(2, 1, "old")])).await.unwrap();
    let mut outputs = with_column(Field::new("note", DataType::Utf8, false));
    outputs[0].identity = vec!["note".into(), "id".into()];
    outputs[1].name = "arrivals".into();
    let of_mapper = |batch: MappedBatch, outputs: &[OutputSchema]| {
        let mut batch = noted(batch, outputs, "note");
        batch.outputs[1].name = "arrivals".into();
        batch
    };
    let (built, new) = (beside(2)[0].clone(), built_beside("arrivals", Epoch::new(2)));
    (outputs[0].table, outputs[1].table) = (built.clone(), new.clone());
    let mut sink = target.sink();
    sink.open(&tenure(1), &outputs).await.unwrap();
    sink.write(&of_mapper(batch_under(2, 11, 1, &[put(1, 1, "new")]), &outputs)).await.unwrap();
    let swap = |table: &str, built: &str| Swap { output: table.into(), built: built.into(), table: table.into() };
    let swaps = [swap(FLIGHTS, &built), swap("arrivals", &new)];
    sink.swap(&tenure(1), Epoch::new(2), &swaps).await.unwrap();
    assert_eq!(target.records(FLIGHTS).await, [["1", "note", "new"]]);
    assert_eq!(target.records("arrivals").await, [["o1", "f1", "new"]]);
    assert_eq!(target.records(DELAYS).await.len(), 2, "an output that is gone keeps its table");

    (outputs[0].table, outputs[1].table) = (FLIGHTS.into(), "arrivals".into());
    sink.open(&tenure(1), &outputs).await.unwrap();
    sink.write(&of_mapper(batch_under(2, 12, 1, &[put(2, 1, "live")]), &outputs)).await.unwrap();
    assert_eq!(target.records(FLIGHTS).await, [["1", "note", "new"], ["2", "note", "live"]]);
    assert_eq!(target.records("arrivals").await.len(), 2);
    sink.swap(&tenure(1), Epoch::new(2), &swaps).await.unwrap();
    let refused = target.sink().open(&tenure(1), &super::conformance::outputs()).await.unwrap_err();
    assert!(matches!(refused, SinkError::Mismatch { .. }), "{refused}");
}

/// Version and epoch say all about a row here: wherever they turn up, a record has the same content.
fn history() -> impl Strategy<Value = (Vec<(u64, Vec<Row>)>, Vec<prop::sample::Index>)> {
    let values = ["", "a", "b", "c", "d", "e", "f"];
    let row = move |epoch: u64| {
        (0..5_i64, 0..14_u64).prop_map(move |(id, version)| {
            let value = values[(id as u64 + version * epoch) as usize % values.len()];
            Row { id, version, value, delete: (version + epoch * id as u64).is_multiple_of(3) }
        })
    };
    let batch = (1..3_u64).prop_flat_map(move |epoch| (Just(epoch), prop::collection::vec(row(epoch), 0..6)));
    (prop::collection::vec(batch, 1..7), prop::collection::vec(any::<prop::sample::Index>(), 0..12))
}

/// Any order and repetition of batches, with a new owner now and then, ends in the same records.
pub(super) fn any_order_ends_the_same<T: Target>() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    proptest!(ProptestConfig::with_cases(24), |((batches, order) in history())| {
        let mut newest: BTreeMap<i64, (u64, Row)> = BTreeMap::new();
        for (epoch, row) in batches.iter().flat_map(|(epoch, rows)| rows.iter().map(move |row| (*epoch, *row))) {
            let known = newest.entry(row.id).or_insert((epoch, row));
            if (row.version, epoch) > (known.1.version, known.0) {
                *known = (epoch, row);
            }
        }
        let live = newest.values().filter(|(_, row)| !row.delete);
        let expected: Vec<(i64, String)> = live.map(|(_, row)| (row.id, row.value.to_owned())).collect();
        let order: Vec<usize> = order.iter().map(|at| at.index(batches.len())).chain(0..batches.len()).collect();
        let ends = runtime.block_on(async {
            let target = T::new(&outputs());
            let mut token = 1;
            let mut sink = opened(&target, token).await;
            let mut receipts: BTreeMap<usize, String> = BTreeMap::new();
            for (step, at) in order.iter().enumerate() {
                if step % 4 == 3 {
                    token += 1;
                    sink = opened(&target, token).await;
                }
                let (epoch, rows) = &batches[*at];
                let receipt = json(&sink.write(&batch_under(*epoch, *at as u64, token, rows)).await.unwrap());
                assert_eq!(*receipts.entry(*at).or_insert_with(|| receipt.clone()), receipt);
            }
            flights(&target).await
        });
        prop_assert_eq!(ends, expected);
    });
}

/// Runs every rule on a target.
macro_rules! suite {
    ($target:ty) => {
        mod conforms {
            use super::*;
            use crate::sink::conformance;

            $crate::sink::conformance::suite! { @ $target:
                rule_1_open_raises_the_fence
                rule_2_write_is_atomic
                rule_3_a_zombie_commits_nothing
                rule_4_a_duplicate_gets_the_first_receipt
                rule_5_find_receipt_is_exact
                rule_6_newer_versions_stay
                rule_7_a_conflict_is_not_written
                rule_7_the_larger_epoch_holds
                rule_8_tombstones
                rule_9_another_digest_is_refused
                rule_10_names_are_only_names
                the_last_batch_of_an_epoch
                a_foreign_history_is_left_alone
                rule_11_a_swap_takes_effect_at_once
                rule_11_a_zombie_does_not_swap
                rule_11_all_tables_or_none
                rule_11_tables_of_another_mapper
                outputs_go_to_their_tables
                rule_12_nullable_columns_are_added
                rule_12_other_columns_are_a_mismatch
                rule_13_fits_judges_as_open_does_and_changes_nothing
            }

            #[test]
            fn any_order_ends_the_same() {
                conformance::any_order_ends_the_same::<$target>();
            }
        }
    };
    (@ $target:ty: $($rule:ident)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
            async fn $rule() {
                conformance::$rule::<$target>().await;
            }
        )+
    };
}
pub(super) use suite;

/// A batch of one output, with rows of any kind, all inserts of version 1.
pub(super) fn batch_of(number: u64, token: u64, output: &str, rows: RecordBatch) -> MappedBatch {
    let count = rows.num_rows();
    let output = MappedOutput {
        name: output.to_owned(),
        operations: UInt8Array::from(vec![Operation::Insert.code(); count]),
        versions: BinaryArray::from_iter_values(std::iter::repeat_n(version::unsigned(1), count)),
        hashes: row_hashes(&rows),
        source_rows: UInt32Array::from_iter_values(0..count as u32),
        rows,
    };
    let digest = digest_outputs([(&*output.name, &output.rows, &output.operations, &output.versions)].into_iter());
    MappedBatch { digest, outputs: vec![output], ..batch(number, token, &[]) }
}
