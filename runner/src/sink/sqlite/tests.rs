use super::*;
use crate::sink::conformance::*;
use crate::sink::Sink;
use rusqlite::types::Value;
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
        let tables = self.outputs.iter().map(|output| (output.name.clone(), output.name.clone())).collect();
        SqliteSink::new(SqliteSinkOptions { path: self.path(), tables })
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

    async fn records(&self, output: &str) -> Vec<Vec<String>> {
        let output = self.outputs.iter().find(|known| known.name == output).unwrap();
        let names: Vec<_> = output.schema.fields().iter().map(|field| table::quoted(field.name())).collect();
        let from = table::quoted(&output.name);
        let sql = format!("SELECT {} FROM {from} WHERE gristmill_deleted_at IS NULL ORDER BY 1, 2", names.join(", "));
        let text = |value: Value| match value {
            Value::Integer(value) => value.to_string(),
            Value::Text(value) => value,
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
