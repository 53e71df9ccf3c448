use super::*;
use crate::sink::Sink;
use crate::sink::conformance::*;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use object_store::ObjectStoreExt;
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

fn texts(rows: &arrow::array::RecordBatch) -> Vec<Vec<String>> {
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

    async fn records(&self, output: &str) -> Vec<Vec<String>> {
        let options = self.options();
        let beside: Vec<_> =
            std::fs::read_dir(self.outside.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(beside, ["data"]);
        let beside: Vec<_> = std::fs::read_dir(self.outside.path().join("data"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(beside, ["set"]);
        read_current(&*options.store, &options.prefix, output)
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
