use super::*;
use crate::sink::conformance::*;
use crate::sink::{Sink, Swap, built_beside};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::TryStreamExt;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use std::sync::Mutex;
use tempfile::TempDir;

/// A dataset in a local folder, below a folder that nothing else may appear in.
struct Folder {
    outside: TempDir,
    outputs: Vec<OutputSchema>,
}

impl Folder {
    fn options(&self) -> ParquetSinkOptions {
        let options = ParquetSinkOptions::local(&self.outside.path().join("data")).unwrap();
        ParquetSinkOptions { prefix: Path::from("set"), ..options }
    }
}

fn texts(rows: &RecordBatch) -> Vec<Vec<String>> {
    let options = FormatOptions::default();
    let columns: Vec<_> =
        rows.columns().iter().map(|array| ArrayFormatter::try_new(array, &options).unwrap()).collect();
    (0..rows.num_rows()).map(|row| columns.iter().map(|column| column.value(row).to_string()).collect()).collect()
}

#[async_trait::async_trait]
impl Target for Folder {
    fn new(outputs: &[OutputSchema]) -> Self {
        Self { outside: TempDir::new().unwrap(), outputs: outputs.to_vec() }
    }

    fn sink(&self) -> Box<dyn Sink> {
        Box::new(ParquetSink::new(self.options()))
    }

    async fn records(&self, table: &str) -> Vec<Vec<String>> {
        let options = self.options();
        let beside: Vec<_> =
            std::fs::read_dir(self.outside.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(beside, ["data"]);
        let beside: Vec<_> = std::fs::read_dir(self.outside.path().join("data"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(beside, ["set"]);
        read_current(&*options.store, &options.prefix, table)
            .await
            .unwrap()
            .map(|rows| texts(&rows))
            .unwrap_or_default()
    }

    async fn visible(&self) -> String {
        let options = self.options();
        let mut visible: Vec<_> = published(&*options.store, &options.prefix).await.unwrap();
        // Fences take numbers; readers see only what is between them.
        visible.iter_mut().for_each(|published| published.number = 0);
        let mut text = format!("{visible:?}");
        for output in &self.outputs {
            text += &format!("\n{:?}", self.records(&output.name).await);
        }
        text
    }

    async fn poison(&self, output: &str, batch_id: BatchId) {
        let options = self.options();
        let path = Layout::new(options.prefix).absolute(&Layout::data(output, batch_id));
        options.store.put(&path, "not a Parquet file".into()).await.unwrap();
    }

    async fn heal(&self, output: &str, batch_id: BatchId) {
        let options = self.options();
        let path = Layout::new(options.prefix).absolute(&Layout::data(output, batch_id));
        options.store.delete(&path).await.unwrap();
    }

    fn looks_up(&self) -> bool {
        false
    }
}

suite!(Folder);

/// A store in memory that fails as told.
#[derive(Debug)]
struct Scripted {
    inner: Arc<InMemory>,
    script: Mutex<Vec<(&'static str, Fault)>>,
    requests: Mutex<Vec<String>>,
}

/// What happens, once, to a put whose path contains a text.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// Stored, but the answer is lost.
    AnswerLost,
    /// Stored, and the store answers its own retry.
    AnsweredTwice,
    /// Not stored.
    NoSpace,
    /// Not stored: another owner opens first, and then the put goes on.
    OwnerOpens,
}

impl std::fmt::Display for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("scripted")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Scripted {
    async fn put_opts(&self, at: &Path, payload: PutPayload, options: PutOptions) -> object_store::Result<PutResult> {
        self.requests.lock().unwrap().push(format!("put {at}"));
        let fault = {
            let mut script = self.script.lock().unwrap();
            let place = script.iter().position(|(part, _)| at.as_ref().contains(part));
            place.map(|place| script.remove(place).1)
        };
        let generic = |source: Box<dyn std::error::Error + Send + Sync>| Error::Generic { store: "scripted", source };
        match fault {
            None => self.inner.put_opts(at, payload, options).await,
            Some(Fault::AnswerLost) => {
                self.inner.put_opts(at, payload, options).await?;
                Err(generic("connection reset".into()))
            }
            Some(Fault::AnsweredTwice) => {
                self.inner.put_opts(at, payload.clone(), options.clone()).await?;
                self.inner.put_opts(at, payload, options).await
            }
            Some(Fault::NoSpace) => Err(generic(Box::new(std::io::Error::from(std::io::ErrorKind::StorageFull)))),
            Some(Fault::OwnerOpens) => {
                let store = self.inner.clone();
                let mut owner = ParquetSink::new(ParquetSinkOptions { store, prefix: Path::default() });
                owner.open(&tenure(2), &outputs()).await.unwrap();
                self.inner.put_opts(at, payload, options).await
            }
        }
    }
    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(at, options).await
    }
    async fn get_opts(&self, at: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        self.requests.lock().unwrap().push(format!("get {at}"));
        self.inner.get_opts(at, options).await
    }
    fn delete_stream(
        &self,
        paths: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.inner.delete_stream(paths)
    }
    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.requests.lock().unwrap().push("list".into());
        self.inner.list(prefix)
    }
    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }
    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

impl Scripted {
    fn new() -> Arc<Self> {
        Arc::new(Self { inner: Arc::new(InMemory::new()), script: Mutex::default(), requests: Mutex::default() })
    }

    fn will(&self, part: &'static str, fault: Fault) {
        self.script.lock().unwrap().push((part, fault));
    }

    fn requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }

    async fn text(&self, path: &str) -> String {
        let bytes = self.inner.get(&Path::from(path)).await.unwrap().bytes().await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    async fn published(&self) -> Vec<Published> {
        published(&*self.inner, &Path::default()).await.unwrap()
    }

    async fn flights(&self) -> Vec<Vec<String>> {
        read_current(&*self.inner, &Path::default(), FLIGHTS)
            .await
            .unwrap()
            .map(|rows| texts(&rows))
            .unwrap_or_default()
    }
}

async fn open(store: &Arc<Scripted>, token: u64) -> ParquetSink {
    let mut sink = ParquetSink::new(ParquetSinkOptions { store: store.clone(), prefix: Path::default() });
    sink.open(&tenure(token), &outputs()).await.unwrap();
    sink
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn stored_json_is_fixed() {
    let store = Scripted::new();
    let mut sink = open(&store, 7).await;
    sink.write(&batch(1, 7, &[put(1, 1, "a"), delete(2, 1)])).await.unwrap();
    let log = "_gristmill/log/flights-task/all";
    assert_eq!(store.text(&format!("{log}/00000000000000000001.json")).await, r#"{"kind":"fence/1","fencingToken":7}"#);
    let entry = store.text(&format!("{log}/00000000000000000002.json")).await;
    let parsed: serde_json::Value = serde_json::from_str(&entry).unwrap();
    let receipt = sink.find_receipt(&tenure(7).task_id, batch_id(1)).await.unwrap().unwrap();
    let file = |output: &str, place: usize| {
        serde_json::json!({
            "output": output,
            "path": format!("{output}/{}.parquet", batch_id(1)),
            "rows": 2,
            "bytes": parsed["files"][place]["bytes"],
            "digest": parsed["files"][place]["digest"],
        })
    };
    let expected = serde_json::json!({
        "kind": "publish/1",
        "epoch": 1,
        "sequence": 1,
        "schemaId": "flights-v1",
        "receipt": serde_json::from_str::<serde_json::Value>(&receipt.to_json().unwrap()).unwrap(),
        "files": [file(FLIGHTS, 0), file(DELAYS, 1)],
    });
    assert_eq!(parsed, expected);
    let attempt = store.text(&format!("_gristmill/attempt/flights-task/{}.json", batch_id(1))).await;
    let digest = batch(1, 7, &[put(1, 1, "a"), delete(2, 1)]).digest;
    assert_eq!(attempt, format!(r#"{{"kind":"attempt/1","partitionId":"all","digest":"{digest}","logHead":1}}"#));
    let schema: serde_json::Value = serde_json::from_str(&store.text("_gristmill/schema/flights.json").await).unwrap();
    let expected = serde_json::json!({
        "kind": "schema/1", "taskId": "flights-task", "output": "flights", "identity": ["id"],
        "columns": [{"name": "id", "type": "int64"}, {"name": "value", "type": "utf8"}],
    });
    assert_eq!(schema, expected);
    let mut grown = outputs();
    let note = Field::new("note", DataType::Int8, true);
    grown[0].schema = Arc::new(Schema::new([grown[0].schema.fields(), [Arc::new(note)].as_slice()].concat()));
    sink.open(&tenure(7), &grown).await.unwrap();
    let added = store.text("_gristmill/columns/flights/00000000000000000001.json").await;
    let added: serde_json::Value = serde_json::from_str(&added).unwrap();
    let expected = serde_json::json!({ "kind": "columns/1", "columns": [{ "name": "note", "type": "int8" }] });
    assert_eq!(added, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_new_batch_costs_four_puts_and_no_reads() {
    let store = Scripted::new();
    let mut sink = open(&store, 1).await;
    sink.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap();
    store.requests();
    for number in 2..50 {
        sink.write(&batch(number, 1, &[put(1, number, "a")])).await.unwrap();
        let requests = store.requests();
        assert_eq!(requests.len(), 4, "{requests:?}");
        assert!(requests.iter().all(|request| request.starts_with("put")), "{requests:?}");
    }
    let mut owner = open(&store, 2).await;
    assert_eq!(store.requests().iter().filter(|request| *request == "list").count(), 1);
    // However long the log is, the entry is looked for where it can be.
    owner.find_receipt(&tenure(2).task_id, batch_id(10)).await.unwrap().unwrap();
    assert_eq!(store.requests().len(), 2);
    assert_eq!(owner.find_receipt(&tenure(2).task_id, batch_id(99)).await.unwrap(), None);
    assert_eq!(store.requests().len(), 1);
}

fn swaps(epoch: u64) -> Vec<Swap> {
    let swap =
        |table: &str| Swap { output: table.into(), built: built_beside(table, Epoch::new(epoch)), table: table.into() };
    [FLIGHTS, DELAYS].map(swap).into()
}

/// Builds tables from one batch.
async fn rebuilt(store: &Arc<Scripted>, epoch: u64, number: u64) -> ParquetSink {
    let mut sink = ParquetSink::new(ParquetSinkOptions { store: store.clone(), prefix: Path::default() });
    let [flights, delays] = [FLIGHTS, DELAYS].map(|table| built_beside(table, Epoch::new(epoch)));
    sink.open(&tenure(1), &outputs_into([&flights, &delays])).await.unwrap();
    sink.write(&batch_under(epoch, number, 1, &[put(1, 1, "new")])).await.unwrap();
    sink
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_swap_is_one_entry() {
    let store = Scripted::new();
    open(&store, 1).await.write(&batch(1, 1, &[put(1, 1, "old")])).await.unwrap();
    let mut sink = rebuilt(&store, 2, 11).await;
    sink.swap(&tenure(1), Epoch::new(2), &swaps(2)).await.unwrap();
    let line = async |number: u64| -> serde_json::Value {
        serde_json::from_str(&store.text(&format!("_gristmill/log/flights-task/all/{number:020}.json")).await).unwrap()
    };
    let table = |output: &str, epoch: u64| serde_json::json!({ "output": output, "table": output, "folder": format!("{output}__epoch_{epoch}"), "epoch": epoch });
    let expected = serde_json::json!({
        "kind": "tables/1",
        "fencingToken": 1,
        "tables": [table(FLIGHTS, 2), table(DELAYS, 2)],
        "before": { "epochs": { "1": 2, "2": 4 } },
    });
    assert_eq!(line(6).await, expected);

    // The folder goes on under the table's name, and what comes later says where the swap is.
    open(&store, 1).await.write(&batch_under(2, 12, 1, &[put(2, 1, "live")])).await.unwrap();
    assert_eq!(line(8).await["before"], serde_json::json!({ "epochs": { "1": 2, "2": 4 }, "tables": 6 }));
    assert_eq!(line(8).await["files"][0]["path"], format!("flights__epoch_2/{}.parquet", batch_id(12)));
    let published = store.published().await;
    let files =
        |place: usize| -> Vec<&str> { published[place].batch.files.iter().map(|file| file.output.as_str()).collect() };
    assert_eq!([files(0), files(1), files(2)], [vec![], vec![FLIGHTS, DELAYS], vec![FLIGHTS, DELAYS]]);

    // The next swap names all tables that were ever rebuilt.
    let mut sink = rebuilt(&store, 3, 21).await;
    sink.swap(&tenure(1), Epoch::new(3), &swaps(3)[..1]).await.unwrap();
    assert_eq!(line(12).await["tables"], serde_json::json!([table(DELAYS, 2), table(FLIGHTS, 3)]));
    assert_eq!(store.flights().await, [["1", "new"]]);
    let delays = read_current(&*store.inner, &Path::default(), DELAYS).await.unwrap().unwrap();
    assert_eq!(texts(&delays), [["o0", "f2", "live"], ["o1", "f1", "new"]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_swap_with_a_lost_answer_is_settled_by_the_next() {
    for fault in [Fault::AnswerLost, Fault::AnsweredTwice, Fault::NoSpace] {
        let store = Scripted::new();
        open(&store, 1).await.write(&batch(1, 1, &[put(1, 1, "old")])).await.unwrap();
        let mut sink = rebuilt(&store, 2, 11).await;
        store.will("00000000000000000006", fault);
        let first = sink.swap(&tenure(1), Epoch::new(2), &swaps(2)).await;
        match fault {
            Fault::AnswerLost => assert!(matches!(first, Err(SinkError::Transient { .. })), "{first:?}"),
            Fault::NoSpace => assert!(matches!(first, Err(SinkError::NoSpace { .. })), "{first:?}"),
            _ => first.unwrap(),
        }
        sink.swap(&tenure(1), Epoch::new(2), &swaps(2)).await.unwrap();
        assert_eq!(store.flights().await, [["1", "new"]]);
        let log: Vec<_> = store.inner.list(Some(&Path::from("_gristmill/log"))).try_collect().await.unwrap();
        let mut swapped = 0;
        for object in log {
            swapped += usize::from(store.text(object.location.as_ref()).await.contains("tables/1"));
        }
        assert_eq!(swapped, 1, "{fault:?}");
    }
    let store = Scripted::new();
    open(&store, 1).await.write(&batch(1, 1, &[put(1, 1, "old")])).await.unwrap();
    let mut zombie = rebuilt(&store, 2, 11).await;
    store.will("00000000000000000006", Fault::OwnerOpens);
    let refused = zombie.swap(&tenure(1), Epoch::new(2), &swaps(2)).await.unwrap_err();
    assert!(matches!(refused, SinkError::Fenced { .. }), "{refused}");
    assert_eq!(store.flights().await, [["1", "old"]]);
}

/// A log of one epoch says nothing about epochs, as the logs of builds before there were several; a second one is found
/// without reading through the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_last_batch_of_an_epoch_costs_few_reads() {
    let store = Scripted::new();
    let mut sink = open(&store, 1).await;
    let under = |epoch, number| batch_under(epoch, number, 1, &[put(1, number, "a")]);
    for number in 1..30 {
        sink.write(&under(1, number)).await.unwrap();
    }
    for number in 30..60 {
        sink.write(&under(2, number)).await.unwrap();
    }
    open(&store, 1).await.write(&under(2, 60)).await.unwrap();
    let line = async |number: u64| -> serde_json::Value {
        serde_json::from_str(&store.text(&format!("_gristmill/log/flights-task/all/{number:020}.json")).await).unwrap()
    };
    assert_eq!(line(30).await["before"], serde_json::Value::Null);
    assert_eq!(line(31).await["before"], serde_json::json!({ "epochs": { "1": 30 } }));
    assert_eq!(line(61).await["before"], serde_json::json!({ "epochs": { "1": 30, "2": 60 } }), "a fence");
    store.requests();
    for (epoch, expected) in [(1, Some(29)), (2, Some(60)), (3, None)] {
        assert_eq!(sink.last_batch(&tenure(1), Epoch::new(epoch)).await.unwrap(), expected.map(batch_id));
        let requests = store.requests();
        assert!(requests.len() <= 3, "{requests:?}");
    }
    // Starts that published nothing, of a build that did not say what was before them.
    for number in 63..70_u64 {
        let path = Path::from(format!("_gristmill/log/flights-task/all/{number:020}.json"));
        store.inner.put(&path, r#"{"kind":"fence/1","fencingToken":1}"#.into()).await.unwrap();
    }
    assert_eq!(sink.last_batch(&tenure(1), Epoch::new(1)).await.unwrap(), Some(batch_id(29)));
    assert_eq!(sink.last_batch(&tenure(1), Epoch::new(2)).await.unwrap(), Some(batch_id(60)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn lost_answers_are_settled() {
    for part in ["attempt/", "flights/", "delays/", "_gristmill/log/"] {
        for fault in [Fault::AnswerLost, Fault::AnsweredTwice] {
            let store = Scripted::new();
            let mut sink = open(&store, 1).await;
            let batch = batch(1, 1, &[put(1, 1, "a")]);
            store.will(part, fault);
            let first = sink.write(&batch).await;
            let receipt = match fault {
                Fault::AnswerLost => {
                    assert!(matches!(first, Err(SinkError::Transient { .. })), "{part}: {first:?}");
                    let found = sink.find_receipt(&batch.task_id, batch.batch_id).await.unwrap();
                    assert_eq!(found.is_some(), part == "_gristmill/log/");
                    let again = sink.write(&batch).await.unwrap();
                    assert!(found.is_none_or(|found| found == again));
                    again
                }
                _ => first.unwrap(),
            };
            let published = store.published().await;
            assert_eq!(published.len(), 1, "{part} {fault:?}");
            assert_eq!(published[0].batch.receipt, receipt);
            sink.write(&super::super::conformance::batch(2, 1, &[put(1, 2, "b")])).await.unwrap();
            assert_eq!(store.flights().await, [["1", "b"]]);
        }
    }
    let store = Scripted::new();
    store.will("_gristmill/log/", Fault::AnsweredTwice);
    open(&store, 1).await.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap();
}

/// The answer of an entry is lost, and the sink goes on with the next batch instead.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_entry_that_landed_unseen_is_passed() {
    let store = Scripted::new();
    let mut sink = open(&store, 1).await;
    store.will("_gristmill/log/", Fault::AnswerLost);
    sink.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap_err();
    sink.write(&batch(2, 1, &[put(2, 1, "b")])).await.unwrap();
    assert_eq!(store.published().await.len(), 2);
    assert_eq!(store.flights().await, [["1", "a"], ["2", "b"]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_fence_stops_a_write_at_every_step() {
    for part in ["attempt/", "flights/", "delays/", "_gristmill/log/"] {
        let store = Scripted::new();
        let mut zombie = open(&store, 1).await;
        store.will(part, Fault::OwnerOpens);
        let refused = zombie.write(&batch(1, 1, &[put(1, 1, "zombie")])).await.unwrap_err();
        assert!(matches!(refused, SinkError::Fenced { .. }), "{part}: {refused}");
        assert!(store.published().await.is_empty());
        open(&store, 2).await.write(&batch(1, 2, &[put(1, 1, "zombie")])).await.unwrap();
        assert_eq!(store.published().await.len(), 1);
        assert!(matches!(zombie.write(&batch(2, 1, &[put(1, 2, "x")])).await, Err(SinkError::Fenced { .. })));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_full_store_is_told_and_survived() {
    for part in ["attempt/", "flights/", "delays/", "_gristmill/log/"] {
        let store = Scripted::new();
        let mut sink = open(&store, 1).await;
        store.will(part, Fault::NoSpace);
        let full = sink.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap_err();
        assert!(matches!(full, SinkError::NoSpace { .. }), "{full}");
        assert!(store.published().await.is_empty());
        sink.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap();
        assert_eq!(store.flights().await, [["1", "a"]]);
    }
}

fn whole(number: u64, rows: RecordBatch) -> (OutputSchema, MappedBatch) {
    let output =
        OutputSchema { name: "wide".into(), table: "wide".into(), schema: rows.schema(), identity: vec!["c3".into()] };
    (output, batch_of(number, 1, "wide", rows))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_type_comes_back_as_it_was() {
    let (output, batch) = whole(1, crate::content::tests::wide());
    let mapped = &batch.outputs[0];
    let path = Path::from("x");
    let there = data::decode(&path, data::encode(mapped, batch.batch_id).unwrap()).unwrap();
    assert_eq!(content(&there), batch.digest);
    assert_eq!(there.hashes, mapped.hashes);
    assert_eq!(crate::content::row_hashes(&there.rows), mapped.hashes);
    let (_, nothing) = whole(2, mapped.rows.slice(0, 0));
    let empty = data::decode(&path, data::encode(&nothing.outputs[0], batch.batch_id).unwrap()).unwrap();
    assert_eq!(empty.rows, nothing.outputs[0].rows);
    assert_eq!(content(&empty), nothing.digest);
    schema::check(&output).unwrap();
    let required = DataType::Struct(vec![Field::new("n", DataType::Int32, false)].into());
    data::try_schema(&Schema::new(vec![Field::new("s", required, false)])).unwrap();
}

fn content(rows: &data::DataRows) -> Digest {
    crate::content::digest_outputs(std::iter::once(("wide", &rows.rows, &rows.operations, &rows.versions)))
}

/// Another build writes other bytes for the same rows; the batch is the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn other_bytes_with_the_same_rows_are_accepted() {
    let store = Scripted::new();
    let mut sink = open(&store, 1).await;
    let batch = batch(1, 1, &[put(1, 1, "a"), put(2, 1, "b")]);
    let bytes = data::encode(&batch.outputs[0], batch_id(9)).unwrap();
    let path = Layout::data(FLIGHTS, batch.batch_id);
    store.inner.put(&path, bytes.clone().into()).await.unwrap();
    sink.write(&batch).await.unwrap();
    assert_eq!(store.published().await[0].batch.files[0].digest, Digest::of(&bytes));
    assert_eq!(store.flights().await, [["1", "a"], ["2", "b"]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_output_keeps_its_identity_and_columns() {
    let folder = Folder::new(&outputs());
    folder.sink().open(&tenure(1), &outputs()).await.unwrap();
    let mut identity = outputs();
    identity[1].identity.reverse();
    let mut column = outputs();
    column[0].schema =
        Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, true), Field::new("value", DataType::Int8, true)]));
    let mut fewer = outputs();
    fewer[0].schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, true)]));
    for (outputs, expected) in [
        (identity, "has the identity flight, origin, the dataset was written with origin, flight"),
        (column, "column 2: `value` int8, the dataset was written with `value` utf8"),
        (fewer, "column 2: no such column, the dataset was written with `value` utf8"),
    ] {
        match folder.sink().open(&tenure(2), &outputs).await {
            Err(SinkError::Mismatch { what, .. }) => assert!(what.contains(expected), "{what}"),
            other => panic!("{other:?}"),
        }
    }
    folder.sink().open(&tenure(1), &outputs()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn outputs_that_a_dataset_cannot_hold() {
    let with = |name: &str, column: &str, data_type: DataType, identity: &str| OutputSchema {
        name: name.into(),
        table: name.into(),
        schema: Arc::new(Schema::new(vec![
            Field::new("id", DataType::Int64, true),
            Field::new(column, data_type, true),
        ])),
        identity: vec![identity.into()],
    };
    let months = DataType::Interval(arrow::datatypes::IntervalUnit::MonthDayNano);
    for (outputs, expected) in [
        (vec![with("_Gristmill", "n", DataType::Int8, "id")], "cannot be a folder"),
        (vec![with("", "n", DataType::Int8, "id")], "cannot be a folder"),
        (vec![with(&"x".repeat(81), "n", DataType::Int8, "id")], "cannot be a folder"),
        (vec![with("a", "n", DataType::Int8, "id"), with("A", "n", DataType::Int8, "id")], "go to one folder `A`"),
        (vec![with("a", "Gristmill_hash", DataType::Int8, "id")], "starts with `gristmill_`"),
        (vec![with("a", "n", months, "id")], "does not fit Parquet"),
        (vec![with("a", "n", DataType::Float32, "n")], "cannot identify"),
        (vec![with("a", "n", DataType::Int8, "x")], "has no column `x`"),
    ] {
        let folder = Folder::new(&outputs);
        match folder.sink().open(&tenure(1), &outputs).await {
            Err(SinkError::Mismatch { what, .. }) => assert!(what.contains(expected), "{what}"),
            other => panic!("{expected}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn damage_is_found_before_rows_are_believed() {
    let written = async || {
        let store = Scripted::new();
        let mut sink = open(&store, 1).await;
        for number in 1..4 {
            sink.write(&batch(number, 1, &[put(number as i64, 1, "a")])).await.unwrap();
        }
        store
    };
    let entry = |number| Path::from(format!("_gristmill/log/flights-task/all/{number:020}.json"));
    let data = Layout::data(FLIGHTS, batch_id(2));
    let read = async |store: &Scripted| read_current(&*store.inner, &Path::default(), FLIGHTS).await;

    let store = written().await;
    let mut bytes = store.inner.get(&data).await.unwrap().bytes().await.unwrap().to_vec();
    bytes[100] ^= 1;
    store.inner.put(&data, bytes.into()).await.unwrap();
    assert!(read(&store).await.unwrap_err().to_string().contains("is not the one that was published"));

    let store = written().await;
    store.inner.delete(&data).await.unwrap();
    assert!(read(&store).await.unwrap_err().to_string().contains("is gone"));

    let store = written().await;
    store.inner.delete(&entry(2)).await.unwrap();
    assert!(read(&store).await.unwrap_err().to_string().contains("entry 2 of the log"));

    let store = written().await;
    store.inner.put(&entry(4), "{\"kind\":\"fence/2\"}".into()).await.unwrap();
    assert!(read(&store).await.unwrap_err().to_string().contains("cannot be read"));
    let mut sink = ParquetSink::new(ParquetSinkOptions { store: store.clone(), prefix: Path::default() });
    let refused = sink.open(&tenure(2), &outputs()).await.unwrap_err();
    assert!(matches!(refused, SinkError::Permanent { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn objects_that_no_log_names_do_not_count() {
    let store = Scripted::new();
    let mut sink = open(&store, 1).await;
    sink.write(&batch(1, 1, &[put(1, 1, "a")])).await.unwrap();
    let orphan = data::encode(&batch(2, 1, &[put(1, 9, "orphan")]).outputs[0], batch_id(2)).unwrap();
    store.inner.put(&Layout::data(FLIGHTS, batch_id(2)), orphan.into()).await.unwrap();
    assert_eq!(store.flights().await, [["1", "a"]]);
    assert_eq!(read_current(&*store.inner, &Path::default(), "nowhere").await.unwrap(), None);
}
