//! Rules 11 and 12: tables that change their columns, or are built anew beside.

use super::*;

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

pub(in crate::sink) async fn rule_11_a_swap_takes_effect_at_once<T: Target>() {
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

pub(in crate::sink) async fn rule_11_a_zombie_does_not_swap<T: Target>() {
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

pub(in crate::sink) async fn rule_11_all_tables_or_none<T: Target>() {
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
pub(in crate::sink) async fn rule_11_tables_of_another_mapper<T: Target>() {
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
    let refused = target.sink().open(&tenure(1), &super::outputs()).await.unwrap_err();
    assert!(matches!(refused, SinkError::Mismatch { .. }), "{refused}");
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
pub(in crate::sink) async fn rule_12_nullable_columns_are_added<T: Target>() {
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
pub(in crate::sink) async fn rule_12_other_columns_are_a_mismatch<T: Target>() {
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
pub(in crate::sink) async fn rule_13_fits_judges_as_open_does_and_changes_nothing<T: Target>() {
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
