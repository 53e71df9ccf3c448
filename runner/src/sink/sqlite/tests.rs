use super::*;
use crate::sink::conformance::*;
use crate::sink::{Sink, Swap, built_beside};
use arrow::array::*;
use arrow::datatypes::{DataType, Field, Int32Type};
use rusqlite::types::Value;
use std::sync::Arc;
use tempfile::TempDir;

/// A database file in a folder of its own; the table of an output has the output's name.
struct File {
    folder: TempDir,
    outputs: Vec<OutputSchema>,
}

impl File {
    fn path(&self) -> PathBuf {
        self.folder.path().join("sub/folder/target.db")
    }

    fn sqlite(&self) -> SqliteSink {
        SqliteSink::new(SqliteSinkOptions { path: self.path() })
    }

    fn raw(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn rows(&self, sql: &str) -> Vec<Vec<Value>> {
        let connection = self.raw();
        let mut statement = connection.prepare(sql).unwrap();
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
        statement.query_map([], row).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }
}

#[async_trait::async_trait]
impl Target for File {
    fn new(outputs: &[OutputSchema]) -> Self {
        Self { folder: TempDir::new().unwrap(), outputs: outputs.to_vec() }
    }

    fn sink(&self) -> Box<dyn Sink> {
        Box::new(self.sqlite())
    }

    async fn records(&self, table: &str) -> Vec<Vec<String>> {
        let payload = "SELECT name FROM pragma_table_info(?1) WHERE name NOT LIKE 'gristmill!_%' ESCAPE '!'";
        let connection = self.raw();
        let mut payload = connection.prepare(payload).unwrap();
        let names = payload.query_map([table], |row| row.get::<_, String>(0)).unwrap();
        let names: Vec<String> = names.map(|name| table::quoted(&name.unwrap())).collect();
        if names.is_empty() {
            return Vec::new();
        }
        let from = table::quoted(table);
        let sql = format!("SELECT {} FROM {from} WHERE gristmill_deleted_at IS NULL ORDER BY 1, 2", names.join(", "));
        let text = |value: Value| match value {
            Value::Integer(value) => value.to_string(),
            Value::Text(value) => value,
            Value::Null => String::new(),
            other => format!("{other:?}"),
        };
        self.rows(&sql).into_iter().map(|row| row.into_iter().map(text).collect()).collect()
    }

    async fn visible(&self) -> String {
        let tables = self.outputs.iter().map(|output| output.name.as_str()).chain(["gristmill_batch"]);
        tables
            .map(|name| format!("{:?}\n", self.rows(&format!("SELECT * FROM {} ORDER BY 1, 2", table::quoted(name)))))
            .collect()
    }

    async fn poison(&self, output: &str, _: BatchId) {
        let sql = format!("CREATE TRIGGER poison BEFORE INSERT ON {output} BEGIN SELECT RAISE(ABORT, 'poisoned'); END");
        self.raw().execute_batch(&sql).unwrap();
    }

    async fn heal(&self, _: &str, _: BatchId) {
        self.raw().execute_batch("DROP TRIGGER poison").unwrap();
    }

    fn looks_up(&self) -> bool {
        true
    }
}

suite!(File);

fn file() -> File {
    File::new(&outputs())
}

async fn open(file: &File) -> SqliteSink {
    let mut sink = file.sqlite();
    sink.open(&tenure(1), &file.outputs).await.unwrap();
    sink
}

fn text(value: &str) -> Value {
    Value::Text(value.into())
}

fn one_output(name: &str, columns: Vec<(&str, ArrayRef)>, identity: &[&str]) -> (OutputSchema, RecordBatch) {
    let rows =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
    let identity = identity.iter().map(|name| (*name).to_owned()).collect();
    (OutputSchema { name: name.into(), table: name.into(), schema: rows.schema(), identity }, rows)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn tables_and_rows_as_a_user_sees_them() {
    let file = file();
    let mut sink = open(&file).await;
    sink.write(&batch(1, 1, &[put(1, 1, "a"), put(2, 1, "b")])).await.unwrap();
    sink.write(&batch(2, 1, &[delete(2, 7)])).await.unwrap();
    let version = |number: u64| Value::Blob(gristmill_core::version::unsigned(number).to_vec());
    let hash = |batch: &MappedBatch, row: usize| Value::Integer(batch.outputs[0].hashes.value(row).cast_signed());
    let (first, second) = (batch(1, 1, &[put(1, 1, "a")]), batch(2, 1, &[delete(2, 7)]));
    assert_eq!(
        file.rows("SELECT * FROM flights"),
        [
            vec![Value::Integer(1), text("a"), version(1), hash(&first, 0), Value::Integer(1), Value::Null],
            vec![
                Value::Integer(2),
                Value::Null,
                version(7),
                hash(&second, 0),
                Value::Integer(2),
                text("2023-11-14T22:13:20.000000Z"),
            ],
        ]
    );
    let batches = file.rows(
        "SELECT no, task_id, batch_id, partition_id, epoch, sequence, schema_id, state, fencing_token, rows FROM gristmill_batch",
    );
    let id = |number| text(&batch_id(number).to_string());
    let int = Value::Integer;
    assert_eq!(
        batches,
        [1, 2].map(|number| vec![
            int(number),
            text("flights-task"),
            id(number as u64),
            text("all"),
            int(1),
            int(number),
            text("flights-v1"),
            text("COMMITTED"),
            int(1),
            int(if number == 1 { 4 } else { 2 }),
        ])
    );
    assert_eq!(file.rows("SELECT * FROM gristmill_fence"), [[text("flights-task"), text("all"), int(1)]]);
    assert_eq!(
        file.rows("SELECT * FROM gristmill_meta ORDER BY key"),
        [
            [text("format"), text("1")],
            [text("table:delays"), text("flights-task")],
            [text("table:flights"), text("flights-task")],
        ]
    );
    let definitions = file.rows("SELECT sql FROM sqlite_schema WHERE name IN ('flights', 'delays') ORDER BY name DESC");
    assert_eq!(
        definitions[0],
        [text(
            "CREATE TABLE \"flights\" (\n  \"id\" INTEGER PRIMARY KEY,\n  \"value\" TEXT,\n  gristmill_version BLOB NOT NULL,\n  \
         gristmill_hash INTEGER NOT NULL,\n  gristmill_batch INTEGER NOT NULL,\n  gristmill_deleted_at TEXT\n)"
        )]
    );
    assert_eq!(
        definitions[1],
        [text(
            "CREATE TABLE \"delays\" (\n  \"origin\" TEXT NOT NULL,\n  \"flight\" TEXT NOT NULL,\n  \"value\" TEXT,\n  \
         gristmill_version BLOB NOT NULL,\n  gristmill_hash INTEGER NOT NULL,\n  gristmill_batch INTEGER NOT NULL,\n  \
         gristmill_deleted_at TEXT,\n  PRIMARY KEY (\"origin\", \"flight\")\n)"
        )]
    );
}

fn swaps(epoch: u64) -> Vec<Swap> {
    let swap =
        |table: &str| Swap { output: table.into(), built: built_beside(table, Epoch::new(epoch)), table: table.into() };
    [FLIGHTS, DELAYS].map(swap).into()
}

/// Builds tables from one batch and puts them in their places.
async fn rebuild(file: &File, epoch: u64, number: u64, rows: &[Row]) -> Result<(), SinkError> {
    let mut sink = file.sqlite();
    let [flights, delays] = [FLIGHTS, DELAYS].map(|table| built_beside(table, Epoch::new(epoch)));
    sink.open(&tenure(1), &outputs_into([&flights, &delays])).await?;
    sink.write(&batch_under(epoch, number, 1, rows)).await?;
    sink.swap(&tenure(1), Epoch::new(epoch), &swaps(epoch)).await
}

/// What the user has built on a table goes on with the rebuilt one; the old one is kept until the next rebuild.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_rebuilt_table_keeps_its_surroundings() {
    let file = file();
    open(&file).await.write(&batch(1, 1, &[put(1, 1, "old"), put(2, 1, "old")])).await.unwrap();
    let raw = file.raw();
    raw.execute_batch(
        "CREATE VIEW live AS SELECT id, value FROM flights WHERE gristmill_deleted_at IS NULL;
         ALTER TABLE flights ADD COLUMN mine TEXT;
         CREATE INDEX \"by \"\"value\" ON Flights (value COLLATE NOCASE DESC) WHERE value <> '';
         CREATE UNIQUE INDEX one_each ON flights (id, value);
         CREATE INDEX by_mine ON flights (\"mine\");
         CREATE TABLE note (flight INTEGER REFERENCES flights (id), text TEXT);
         CREATE TABLE seen (id INTEGER);
         CREATE TRIGGER see AFTER INSERT ON flights BEGIN INSERT INTO seen VALUES (new.id); END;
         CREATE TRIGGER watch_mine AFTER UPDATE OF value ON flights BEGIN INSERT INTO seen VALUES (new.mine); END;
         INSERT INTO note VALUES (1, 'a note')",
    )
    .unwrap();
    let defined = || {
        file.rows(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'view' OR name IN ('note', 'one_each', 'see') ORDER BY 1",
        )
    };
    let before = defined();
    rebuild(&file, 2, 11, &[put(1, 1, "new")]).await.unwrap();
    assert_eq!(defined(), before, "as they were created");
    assert_eq!(file.rows("SELECT * FROM live"), [[Value::Integer(1), text("new")]]);
    let attached = |table: &str| {
        file.rows(&format!(
            "SELECT name FROM sqlite_schema WHERE tbl_name = '{table}' AND type <> 'table' AND sql IS NOT NULL ORDER BY 1"
        ))
    };
    assert_eq!(attached("flights"), [[text("by \"value")], [text("one_each")], [text("see")]]);
    assert_eq!(attached("flights__previous"), [[text("by_mine")], [text("watch_mine")]]);
    assert_eq!(file.records("flights__previous").await, [["1", "old", ""], ["2", "old", ""]]);
    open(&file).await.write(&batch_under(2, 12, 1, &[put(3, 1, "live"), put(1, 2, "live")])).await.unwrap();
    assert_eq!(file.rows("SELECT id FROM seen"), [[Value::Integer(3)]]);

    rebuild(&file, 3, 21, &[put(1, 1, "newest")]).await.unwrap();
    assert_eq!(file.records("flights__previous").await, [["1", "live"], ["3", "live"]]);
    assert_eq!(attached("flights"), [[text("by \"value")], [text("one_each")], [text("see")]]);
    assert!(attached("flights__previous").is_empty());
    assert_eq!(
        file.rows("SELECT key, value FROM gristmill_meta WHERE key LIKE '%flights%' ORDER BY 1"),
        [
            [text("epoch:flights"), text("3")],
            [text("kept:flights"), text("flights__previous")],
            [text("table:flights"), text("flights-task")],
            [text("table:flights__previous"), text("flights-task")],
        ]
    );
    assert_eq!(file.rows("SELECT * FROM pragma_foreign_key_check"), [] as [Vec<Value>; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_swap_takes_nothing_that_is_the_users() {
    let file = file();
    open(&file).await.write(&batch(1, 1, &[put(1, 1, "old"), put(2, 1, "b")])).await.unwrap();
    let before = file.visible().await;
    let twice = [put(1, 1, "same"), put(2, 1, "same")];
    for (sql, undo, expected) in [
        ("CREATE TABLE flights__previous (mine)", "DROP TABLE flights__previous", "has a `flights__previous` already"),
        ("CREATE VIEW Delays__Previous AS SELECT 1", "DROP VIEW delays__previous", "has a `delays__previous` already"),
        ("CREATE UNIQUE INDEX u ON flights (value)", "DROP INDEX u", "do not satisfy its unique index `u`"),
    ] {
        file.raw().execute_batch(sql).unwrap();
        let what = mismatch(rebuild(&file, 2, 11, &twice).await);
        assert!(what.contains(expected), "{what}");
        assert_eq!(file.visible().await.lines().next(), before.lines().next(), "nothing was swapped");
        file.raw().execute_batch(undo).unwrap();
    }
    // The place of a new output may be taken, too.
    let mut new = swaps(2);
    new[1].table = "arrivals".into();
    file.raw().execute_batch("CREATE TABLE arrivals (mine)").unwrap();
    let what = mismatch(file.sqlite().swap(&tenure(1), Epoch::new(2), &new).await);
    assert!(what.contains("`arrivals` in the target is not a table of this task"), "{what}");
    rebuild(&file, 2, 11, &twice).await.unwrap();
    assert_eq!(file.records(FLIGHTS).await, [["1", "same"], ["2", "same"]]);
}

/// The rows of a table that was built once more after its swap would be lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn rows_that_came_after_the_swap_are_not_dropped() {
    let file = file();
    open(&file).await;
    rebuild(&file, 2, 11, &[put(1, 1, "new")]).await.unwrap();
    let refused = rebuild(&file, 2, 12, &[put(2, 1, "late")]).await.unwrap_err();
    assert!(refused.to_string().contains("rows that came after it was swapped in"), "{refused}");
    assert_eq!(file.records("flights__epoch_2").await, [["2", "late"]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_type_is_stored_as_documented() {
    let day = 86_400_i64;
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None])]);
    let member = Arc::new(Field::new("n", DataType::Utf8, true));
    let dictionary: DictionaryArray<Int32Type> = ["word"].into_iter().collect();
    let decimal = |scale| Decimal128Array::from(vec![-1205]).with_precision_and_scale(10, scale).unwrap();
    let columns: Vec<(&str, ArrayRef, Value)> = vec![
        ("id", Arc::new(UInt32Array::from(vec![7])), Value::Integer(7)),
        ("boolean", Arc::new(BooleanArray::from(vec![true])), Value::Integer(1)),
        ("int8", Arc::new(Int8Array::from(vec![-8])), Value::Integer(-8)),
        ("int64", Arc::new(Int64Array::from(vec![i64::MIN])), Value::Integer(i64::MIN)),
        ("uint64", Arc::new(UInt64Array::from(vec![9])), Value::Integer(9)),
        ("uint64 max", Arc::new(UInt64Array::from(vec![u64::MAX])), text("18446744073709551615")),
        ("float32", Arc::new(Float32Array::from(vec![1.5])), Value::Real(1.5)),
        ("float64", Arc::new(Float64Array::from(vec![3.0])), Value::Real(3.0)),
        ("infinite", Arc::new(Float64Array::from(vec![f64::INFINITY])), Value::Real(f64::INFINITY)),
        ("nan", Arc::new(Float64Array::from(vec![f64::NAN])), Value::Null),
        ("utf8", Arc::new(StringArray::from(vec!["nul \0 inside"])), text("nul \0 inside")),
        ("empty", Arc::new(LargeStringArray::from(vec![""])), text("")),
        ("view", Arc::new(StringViewArray::from(vec!["123"])), text("123")),
        ("dictionary", Arc::new(dictionary), text("word")),
        ("binary", Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..]])), Value::Blob(vec![0, 255])),
        ("no bytes", Arc::new(BinaryArray::from(vec![&b""[..]])), Value::Blob(vec![])),
        ("decimal", Arc::new(decimal(2)), text("-12.05")),
        ("small decimal", Arc::new(decimal(6)), text("-0.001205")),
        ("date32", Arc::new(Date32Array::from(vec![15_706])), text("2013-01-01")),
        ("date64", Arc::new(Date64Array::from(vec![-1])), text("1969-12-31")),
        ("time32", Arc::new(Time32SecondArray::from(vec![3661])), text("01:01:01")),
        ("time64", Arc::new(Time64NanosecondArray::from(vec![1])), text("00:00:00.000000001")),
        ("local", Arc::new(TimestampSecondArray::from(vec![15_706 * day])), text("2013-01-01T00:00:00")),
        (
            "zoned",
            Arc::new(TimestampMillisecondArray::from(vec![-1]).with_timezone("America/New_York")),
            text("1969-12-31T23:59:59.999Z"),
        ),
        ("duration", Arc::new(DurationMicrosecondArray::from(vec![-5])), Value::Integer(-5)),
        ("list", Arc::new(list), text("[1,null]")),
        (
            "struct",
            Arc::new(StructArray::from(vec![(member, Arc::new(StringArray::from(vec![None::<&str>])) as ArrayRef)])),
            text(r#"{"n":null}"#),
        ),
        ("null", Arc::new(NullArray::new(1)), Value::Null),
    ];
    let expected: Vec<Value> = columns.iter().map(|(_, _, value)| value.clone()).collect();
    let names: Vec<_> = columns.iter().map(|(name, _, _)| table::quoted(name)).collect();
    let (output, rows) =
        one_output("types", columns.into_iter().map(|(name, array, _)| (name, array)).collect(), &["id"]);
    let file = File::new(&[output]);
    let mut sink = open(&file).await;
    sink.write(&batch_of(1, 1, "types", rows)).await.unwrap();
    assert_eq!(file.rows(&format!("SELECT {} FROM types", names.join(", "))), [expected]);
    drop(sink);
    open(&file).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn unsigned_numbers_keep_their_order() {
    let numbers = [u64::MAX, 5, 1 << 63, 0, i64::MAX as u64];
    let (output, rows) = one_output("n", vec![("id", Arc::new(UInt64Array::from(numbers.to_vec())))], &["id"]);
    let file = File::new(&[output]);
    let mut sink = open(&file).await;
    let receipt = sink.write(&batch_of(1, 1, "n", rows.clone())).await.unwrap();
    assert_eq!(receipt.outputs()[0].inserted, 5);
    let again = sink.write(&batch_of(2, 1, "n", rows)).await.unwrap();
    assert_eq!(again.outputs()[0].unchanged, 5);
    let stored = file.rows("SELECT id FROM n ORDER BY id").into_iter().flatten();
    let stored = stored.map(|value| match value {
        Value::Integer(value) => value as u64,
        Value::Text(text) => text.parse().unwrap(),
        other => panic!("{other:?}"),
    });
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    assert_eq!(stored.collect::<Vec<_>>(), sorted);
}

fn mismatch(result: Result<(), SinkError>) -> String {
    match result {
        Err(SinkError::Mismatch { what, hint }) => {
            assert!(!hint.is_empty());
            what
        }
        other => panic!("{other:?}"),
    }
}

const OWN: &str = "gristmill_version BLOB NOT NULL, gristmill_hash INTEGER NOT NULL, gristmill_batch INTEGER NOT NULL, \
                   gristmill_deleted_at TEXT";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_table_that_does_not_fit_is_named_with_its_column() {
    let cases = [
        ("id INTEGER PRIMARY KEY, OWN", "has no column `value`"),
        ("id INTEGER PRIMARY KEY, value TEXT", "has no column `gristmill_version`"),
        ("id INTEGER PRIMARY KEY, value INTEGER, OWN", "column `value` of table `flights` is declared `INTEGER`"),
        ("id INTEGER PRIMARY KEY, value DECIMAL(10, 2), OWN", "is declared `DECIMAL(10, 2)`"),
        ("id INTEGER PRIMARY KEY, value TEXT NOT NULL, OWN", "column `value` of table `flights` is NOT NULL"),
        ("id INTEGER PRIMARY KEY, value TEXT AS (id), OWN", "column `value` of table `flights` is generated"),
        (
            "id INTEGER PRIMARY KEY, value TEXT, extra TEXT NOT NULL, OWN",
            "column `extra` of table `flights` is NOT NULL",
        ),
        ("id INTEGER, value TEXT, OWN", "no primary key or unique index over exactly the identity \"id\""),
        ("id INTEGER, value TEXT, OWN, UNIQUE (id, value)", "no primary key or unique index"),
        ("id TEXT PRIMARY KEY, value TEXT, OWN", "column `id` of table `flights` is declared `TEXT`"),
        ("id INTEGER PRIMARY KEY, value REAL, OWN", "is declared `REAL`"),
    ];
    for (columns, expected) in cases {
        let file = file();
        std::fs::create_dir_all(file.path().parent().unwrap()).unwrap();
        file.raw().execute_batch(&format!("CREATE TABLE flights ({})", columns.replace("OWN", OWN))).unwrap();
        let what = mismatch(file.sqlite().open(&tenure(1), &file.outputs).await);
        assert!(what.contains(expected), "{columns}: {what}");
        assert_eq!(
            file.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'gristmill_fence'"),
            [[Value::Integer(0)]]
        );
    }
    let file = file();
    std::fs::create_dir_all(file.path().parent().unwrap()).unwrap();
    file.raw().execute_batch("CREATE VIEW Flights AS SELECT 1 AS id").unwrap();
    assert!(mismatch(file.sqlite().open(&tenure(1), &file.outputs).await).contains("`flights` is a view"));
    let collated = format!(
        "CREATE TABLE delays (origin TEXT COLLATE NOCASE, flight TEXT, value TEXT, {OWN}, PRIMARY KEY (origin, flight))"
    );
    file.raw().execute_batch(&format!("DROP VIEW Flights; {collated}")).unwrap();
    assert!(mismatch(file.sqlite().open(&tenure(1), &file.outputs).await).contains("no primary key or unique index"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_table_of_the_user_is_filled() {
    let file = file();
    std::fs::create_dir_all(file.path().parent().unwrap()).unwrap();
    let sql = format!(
        "CREATE TABLE Flights (note TEXT DEFAULT 'mine', ID BIGINT NOT NULL UNIQUE, Value VARCHAR(20), {OWN});
         CREATE TABLE delays (flight TEXT, value, origin TEXT, {OWN});
         CREATE UNIQUE INDEX keys ON delays (flight, origin)"
    );
    file.raw().execute_batch(&sql).unwrap();
    let mut sink = open(&file).await;
    sink.write(&batch(1, 1, &[put(1, 1, "a"), put(2, 1, "b")])).await.unwrap();
    let receipt = sink.write(&batch(2, 1, &[put(1, 2, "c"), delete(2, 2)])).await.unwrap();
    assert!(receipt.outputs().iter().all(|output| (output.updated, output.deleted) == (1, 1)));
    assert_eq!(file.records(FLIGHTS).await, [["mine", "1", "c"]]);
    assert_eq!(file.records(DELAYS).await, [["f1", "c", "o1"]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn names_that_cannot_be_told_apart_or_are_taken_are_refused() {
    let column = |name: &'static str| {
        let int: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        one_output("out", vec![("id", int.clone()), (name, int)], &["id"]).0
    };
    let table = |name: &str| OutputSchema { name: name.into(), table: name.into(), ..column("n") };
    let real = one_output("out", vec![("id", Arc::new(Float64Array::from(vec![1.0])) as ArrayRef)], &["id"]).0;
    let months: ArrayRef = Arc::new(IntervalYearMonthArray::from(vec![1]));
    let interval =
        one_output("out", vec![("id", Arc::new(Int8Array::from(vec![1])) as ArrayRef), ("i", months)], &["id"]).0;
    let cases = [
        (vec![column("ID")], "takes the columns `id` and `ID` for one"),
        (vec![column("Gristmill_Hash")], "starts with `gristmill_`"),
        (vec![column("")], "is empty"),
        (vec![column("a\0b")], "contains a NUL"),
        (vec![table("gristmill_batch")], "starts with `gristmill_`"),
        (vec![table("SQLite_x")], "to itself"),
        (vec![table("a"), table("A")], "go to one table"),
        (vec![OutputSchema { identity: vec![], ..column("n") }], "has no identity"),
        (vec![OutputSchema { identity: vec!["x".into()], ..column("n") }], "has no column `x`"),
        (vec![real], "cannot identify a record"),
        (vec![interval], "does not store Interval"),
    ];
    for (outputs, expected) in cases {
        let file = File::new(&outputs);
        let what = mismatch(file.sqlite().open(&tenure(1), &outputs).await);
        assert!(what.contains(expected), "{what}");
        assert!(!file.path().exists(), "nothing is created");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_full_disk_is_told_and_survived() {
    let file = file();
    let mut sink = open(&file).await;
    sink.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap();
    let before = file.visible().await;
    let rows: Vec<Row> = (0..20_000).map(|id| put(id, 2, "a text of some length")).collect();
    let connection = &sink.opened.as_ref().unwrap().connection;
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    connection.pragma_update(None, "max_page_count", pages + 10).unwrap();
    let full = sink.write(&batch(2, 1, &rows)).await.unwrap_err();
    assert!(matches!(full, SinkError::NoSpace { .. }), "{full}");
    assert_eq!(file.visible().await, before);
    let connection = &sink.opened.as_ref().unwrap().connection;
    connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
    sink.write(&batch(2, 1, &rows)).await.unwrap();
    assert_eq!(file.records(FLIGHTS).await.len(), 20_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn errors_are_sorted_by_what_helps() {
    let file = file();
    let mut sink = open(&file).await;
    let connection = &sink.opened.as_ref().unwrap().connection;
    connection.busy_timeout(Duration::ZERO).unwrap();
    let other = file.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = sink.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap_err();
    assert!(matches!(busy, SinkError::Transient { .. }), "{busy}");
    other.execute_batch("ROLLBACK").unwrap();
    let connection = &sink.opened.as_ref().unwrap().connection;
    connection.pragma_update(None, "query_only", true).unwrap();
    let read_only = sink.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap_err();
    assert!(matches!(&read_only, SinkError::Permanent { hint, .. } if hint.contains("allow")), "{read_only}");
    let connection = &sink.opened.as_ref().unwrap().connection;
    connection.pragma_update(None, "query_only", false).unwrap();
    sink.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap();
    drop((sink, other));

    std::fs::write(
        file.path(),
        "no database, but text that is longer than a header of a hundred bytes would be, by far.....",
    )
    .unwrap();
    let other = file.sqlite().open(&tenure(1), &file.outputs).await.unwrap_err();
    assert!(matches!(&other, SinkError::Permanent { hint, .. } if hint.contains("another file")), "{other}");
    let path = file.folder.path().to_owned();
    let mut folder = SqliteSink::new(SqliteSinkOptions { path });
    let refused = folder.open(&tenure(1), &file.outputs).await.unwrap_err();
    assert!(matches!(refused, SinkError::Permanent { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_newer_format_is_left_alone() {
    let file = file();
    open(&file).await;
    file.raw().execute("UPDATE gristmill_meta SET value = '2'", []).unwrap();
    let refused = file.sqlite().open(&tenure(5), &file.outputs).await.unwrap_err();
    assert!(matches!(&refused, SinkError::Permanent { what, .. } if what.contains("has format 2")), "{refused}");
    assert_eq!(file.rows("SELECT fencing_token FROM gristmill_fence"), [[Value::Integer(1)]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn rows_that_upstream_should_have_refused() {
    let file = file();
    let mut sink = open(&file).await;
    let mut unknown = batch(1, 1, &[put(1, 1, "a")]);
    unknown.outputs[1].operations = UInt8Array::from(vec![3]);
    let mut nameless = batch(1, 1, &[put(1, 1, "a"), put(2, 1, "b")]);
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let output = &mut nameless.outputs[0];
    output.rows = RecordBatch::try_new(output.rows.schema(), vec![ids, output.rows.column(1).clone()]).unwrap();
    let mut short = batch(1, 1, &[put(1, 1, "a")]);
    short.outputs[0].hashes = UInt64Array::from(vec![1, 2]);
    let mut other = batch(1, 1, &[put(1, 1, "a")]);
    other.outputs[1].name = "others".into();
    let mut columns = batch(1, 1, &[put(1, 1, "a")]);
    columns.outputs.swap(0, 1);
    let rows = columns.outputs[1].rows.clone();
    columns.outputs[0].rows = rows;
    let stranger = batch(1, 2, &[put(1, 1, "a")]);
    for (batch, expected) in [
        (unknown, "row 0: its operation is not known"),
        (nameless, "row 1: a column of its identity is null"),
        (short, "lacks bookkeeping"),
        (other, "`others` is not one"),
        (columns, "has other columns"),
        (stranger, "another tenure"),
    ] {
        let refused = sink.write(&batch).await.unwrap_err();
        assert!(matches!(&refused, SinkError::Permanent { what, .. } if what.contains(expected)), "{refused}");
        assert!(file.records(FLIGHTS).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_path_is_always_a_file() {
    let folder = TempDir::new().unwrap();
    for name in [":memory:", "file:x?mode=memory"] {
        let path = folder.path().join(name);
        let mut sink = SqliteSink::new(SqliteSinkOptions { path: path.clone() });
        sink.open(&tenure(1), &outputs()).await.unwrap();
        assert!(path.is_file());
    }
}

/// The order of operations in a batch must not change what the adaptive writer does.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn new_and_known_records_in_any_mixture() {
    let file = file();
    let mut sink = open(&file).await;
    sink.write(&batch(1, 1, &(0..20).map(|id| put(id * 2, 1, "old")).collect::<Vec<_>>())).await.unwrap();
    let rows: Vec<Row> = (0..40).map(|id| if id % 5 == 0 { delete(id, 2) } else { put(id, 2, "new") }).collect();
    let receipt = sink.write(&batch(2, 1, &rows)).await.unwrap();
    for output in receipt.outputs() {
        assert_eq!((output.inserted, output.updated, output.deleted), (16, 16, 8));
    }
    assert_eq!(file.records(FLIGHTS).await.len(), 32);
    assert!(file.records(FLIGHTS).await.iter().all(|record| record[1] == "new"));
}
