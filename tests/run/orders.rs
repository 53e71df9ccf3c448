//! A pipeline without transforms, for tests of everything around them.

use crate::harness::Workspace;

pub const HEADER: &str = "id,name,amount,at\n";

/// Orders from `data/` into the table `orders`; `extra` goes at the end of the file.
pub fn workspace(extra: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("pipeline.yaml", pipeline(extra));
    std::fs::create_dir_all(workspace.path("data")).unwrap();
    workspace
}

pub fn pipeline(extra: &str) -> String {
    format!(
        "version: 1\ntask: orders\nschema: orders-v1\nsource:\n  files:\n    url: data/\n    format: csv\n    max_field_bytes: 100\n    \
         columns: {{ id: int64, name: utf8, amount: \"decimal128(12, 2)\", at: \"timestamp(us, UTC)\" }}\n\
         identity: [id]\nsource_version: {{ column: at }}\nsink:\n  sqlite: {{ url: \"sqlite://target.db\", table: orders }}\n{extra}"
    )
}

/// A line of an order whose amount and time follow from `revision`.
pub fn line(id: usize, name: &str, revision: usize) -> String {
    format!("{id},{name},{revision}.50,2026-01-01T00:00:{:02}Z\n", revision % 60)
}

pub fn lines(ids: std::ops::Range<usize>, name: &str, revision: usize) -> String {
    ids.fold(HEADER.to_owned(), |text, id| text + &line(id, name, revision))
}

/// (id, name, amount) of the live orders.
pub fn orders(workspace: &Workspace) -> Vec<(i64, String, String)> {
    let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
    let sql = "SELECT id, name, amount FROM orders WHERE gristmill_deleted_at IS NULL ORDER BY id";
    let mut query = match target.prepare(sql) {
        Ok(query) => query,
        // Before the first run has made it.
        Err(e) if e.to_string().contains("no such table") => return Vec::new(),
        Err(e) => panic!("{e}"),
    };
    query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap().map(Result::unwrap).collect()
}
