//! A task through its life: five versions of its code and three changes of its schema, deployed while a feeder adds files and
//! a killer kills the runner. At the end every row is there, once, and it can be proven which code made it.

use crate::harness::{Workspace, components};
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What the source looks like in a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Generation {
    /// id, carrier, fare with two digits.
    First,
    /// A gate more.
    WithGate,
    /// The fare is a price with three digits.
    WithPrice,
}

impl Generation {
    fn header(self) -> &'static str {
        match self {
            Self::First => "id,carrier,fare\n",
            Self::WithGate => "id,carrier,fare,gate\n",
            Self::WithPrice => "id,carrier,gate,price\n",
        }
    }
    fn line(self, id: u64, carrier: &str) -> String {
        match self {
            Self::First => format!("{id},{carrier},{}.25\n", id % 90),
            Self::WithGate => format!("{id},{carrier},{}.25,g{}\n", id % 90, id % 7),
            Self::WithPrice => format!("{id},{carrier},g{},{}.255\n", id % 7, id % 90),
        }
    }
    /// Price and gate as the newest schema has them.
    fn expected(self, id: u64) -> (String, Option<String>) {
        match self {
            Self::First => (format!("{}.250", id % 90), None),
            Self::WithGate => (format!("{}.250", id % 90), Some(format!("g{}", id % 7))),
            Self::WithPrice => (format!("{}.255", id % 90), Some(format!("g{}", id % 7))),
        }
    }
    fn columns(self) -> &'static str {
        match self {
            Self::First => "id: int64, carrier: utf8, fare: \"decimal128(8, 2)\"",
            Self::WithGate => "id: int64, carrier: utf8, fare: \"decimal128(8, 2)\", gate: utf8",
            Self::WithPrice => "id: int64, carrier: utf8, gate: utf8, price: \"decimal128(10, 3)\"",
        }
    }
}

const RESCALE: &str = "{ from: fare, to: price, precision: 10, scale: 3, factor: 10 }";

/// The pipeline as of a version. Versions 3, 4 and 5 come with a changed schema.
fn pipeline(version: u32) -> String {
    let (schema, generation, identity, migrate) = match version {
        1 | 2 => (1, Generation::First, "[id]", String::new()),
        3 => (2, Generation::WithGate, "[id]", String::new()),
        4 => (3, Generation::WithPrice, "[id]", links(3)),
        _ => (4, Generation::WithPrice, "[carrier, id]", links(4)),
    };
    format!(
        "version: 1\ntask: flights\nschema: flights-v{schema}\nsource:\n  files: {{ url: data/, format: csv, columns: {{ {columns} }} }}\n\
         identity: {identity}\nsource_version: position\nbatch: {{ max_rows: 40 }}\ntransforms:\n\
         \x20 normalize: {{ component: history@{version}.0.0, config: {{ mark: {{ column: normalized_by, value: {version} }} }} }}\n{migrate}\
         \x20 map: {{ component: history@{version}.0.0, config: {{ output: flights, mark: {{ column: mapped_by, value: {version} }} }} }}\n\
         sink:\n  sqlite: {{ url: \"sqlite://target.db\", tables: {{ flights: {{}} }} }}\n",
        columns = generation.columns(),
    )
}

/// The links up to a schema. Normalize marks its rows last, so the columns of the records are the source's and the mark.
fn links(to: u32) -> String {
    let mut text = String::from("  migrate:\n");
    let mut link = |from: u32, config: &str| {
        text += &format!(
            "    flights-v{from}: {{ component: history@{}.0.0, to: flights-v{}, config: {config} }}\n",
            to + 1,
            from + 1
        );
    };
    link(1, "{ add: [gate] }");
    link(2, &format!("{{ rescale: {RESCALE} }}"));
    if to > 3 {
        link(3, "{}");
    }
    text
}

/// The component under a version of its own: a custom section makes other bytes of the same code.
fn install(workspace: &Workspace, version: u32) {
    let mut bytes = std::fs::read(components().join("history@0.1.0.wasm")).unwrap();
    let (name, payload) = (b"version", version.to_string());
    let length = 1 + name.len() + payload.len();
    bytes.extend([0, u8::try_from(length).unwrap(), u8::try_from(name.len()).unwrap()]);
    bytes.extend(name);
    bytes.extend(payload.bytes());
    workspace.write(&format!("components/history@{version}.0.0.wasm"), bytes);
}

/// Adds files of the generation that is on, until it is stopped.
struct Feeder {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<BTreeMap<(String, u64), Generation>>,
}

impl Feeder {
    fn start(workspace: &Arc<Workspace>, generation: Generation, next_id: &Arc<AtomicU64>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, workspace, next_id) = (stop.clone(), workspace.clone(), next_id.clone());
        let thread = thread::spawn(move || {
            let mut fed = BTreeMap::new();
            let mut files = 0;
            // A few files at least, so that every generation has batches.
            while !stopped.load(Ordering::SeqCst) || files < 3 {
                let first = next_id.fetch_add(30, Ordering::SeqCst);
                let mut text = generation.header().to_owned();
                for id in first..first + 30 {
                    let carrier = ["AA", "UA"][usize::from(id % 3 == 0)];
                    text += &generation.line(id, carrier);
                    fed.insert((carrier.to_owned(), id), generation);
                }
                // Readers see a file whole: it is renamed into place.
                let written = workspace.write(&format!("data/{first:06}.csv.tmp"), text);
                std::fs::rename(&written, workspace.path(&format!("data/{first:06}.csv"))).unwrap();
                files += 1;
                thread::sleep(Duration::from_millis(120));
            }
            fed
        });
        Self { stop, thread }
    }

    fn stop(self) -> BTreeMap<(String, u64), Generation> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap()
    }
}

/// Keeps a runner going and kills it at random moments.
struct Killer {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<u32>,
}

impl Killer {
    fn start(workspace: &Arc<Workspace>, seed: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, workspace) = (stop.clone(), workspace.clone());
        let thread = thread::spawn(move || {
            let (mut kills, mut random) = (0, seed);
            while !stopped.load(Ordering::SeqCst) {
                let mut child = run(&workspace);
                // xorshift: a seed repeats a history as far as the machine lets it.
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let until = Instant::now() + Duration::from_millis(150 + random % 900);
                while Instant::now() < until && !stopped.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(10));
                }
                if child.try_wait().unwrap().is_none() {
                    child.kill().unwrap();
                    kills += 1;
                }
                child.wait().unwrap();
            }
            kills
        });
        Self { stop, thread }
    }

    fn stop(self) -> u32 {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap()
    }
}

fn run(workspace: &Workspace) -> Child {
    command(workspace, &["run", "pipeline.yaml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn command(workspace: &Workspace, args: &[&str]) -> Command {
    let mut command = workspace.command(args);
    command.env("GRISTMILL_COMPONENTS", workspace.path("components"));
    command
}

fn gristmill(workspace: &Workspace, args: &[&str]) -> String {
    let output = command(workspace, args).output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{args:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Waits until a batch of this version is stored.
fn await_version(workspace: &Workspace, version: u32) {
    let end = Instant::now() + Duration::from_secs(120);
    let sql = format!("SELECT count(*) FROM batch WHERE task_version = {version} AND state = 'COMMITTED'");
    while workspace.state::<i64>(&sql) == 0 {
        assert!(Instant::now() < end, "no batch of version {version}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn five_versions_and_three_schema_changes_under_fire() {
    let workspace = Arc::new(Workspace::new());
    std::fs::create_dir_all(workspace.path("data")).unwrap();
    (1..=5).for_each(|version| install(&workspace, version));
    let next_id = Arc::new(AtomicU64::new(1));
    let mut fed: BTreeMap<(String, u64), Generation> = BTreeMap::new();
    let mut kills = 0;

    for version in 1..=5 {
        workspace.write("pipeline.yaml", pipeline(version));
        let generation = match version {
            1 | 2 => Generation::First,
            3 => Generation::WithGate,
            _ => Generation::WithPrice,
        };
        match version {
            // The first is published by its run, the second into a running one, which takes it at a batch boundary.
            1 => {}
            2 => {
                workspace.write("old.yaml", pipeline(1));
                let feeder = Feeder::start(&workspace, generation, &next_id);
                let mut runner = command(&workspace, &["run", "old.yaml"])
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                // A run that is still starting would lose to the publication.
                let before: i64 = workspace.state("SELECT count(*) FROM batch");
                while workspace.state::<i64>("SELECT count(*) FROM batch") == before {
                    thread::sleep(Duration::from_millis(50));
                }
                gristmill(&workspace, &["publish", "pipeline.yaml"]);
                await_version(&workspace, 2);
                fed.append(&mut feeder.stop());
                assert!(runner.try_wait().unwrap().is_none(), "it goes on as the process that it was");
                runner.kill().unwrap();
                runner.wait().unwrap();
            }
            _ => {
                gristmill(&workspace, &["schema", "plan", "pipeline.yaml"]);
                gristmill(&workspace, &["schema", "validate", "flights"]);
                gristmill(&workspace, &["schema", "resume", "flights"]);
            }
        }
        let feeder = Feeder::start(&workspace, generation, &next_id);
        let killer = Killer::start(&workspace, 0x9E37_79B9 + u64::from(version));
        thread::sleep(Duration::from_secs(3));
        fed.append(&mut feeder.stop());
        kills += killer.stop();
        // What the last kill left is delivered, and all that was fed is read before the source changes.
        gristmill(&workspace, &["run", "--once", "pipeline.yaml"]);
    }
    assert!(kills >= 5, "only {kills} kills");

    proven(&workspace);
    complete(&workspace, &fed);
    println!("{} flights through 5 versions and 4 schemas, {kills} kills: lost 0, duplicated 0", fed.len());
}

/// The target is what a run from scratch over the newest schema would give.
fn complete(workspace: &Workspace, fed: &BTreeMap<(String, u64), Generation>) {
    let rows = |file: &str| -> BTreeMap<(String, u64), (String, Option<String>, i64)> {
        let target = rusqlite::Connection::open(workspace.path(file)).unwrap();
        let mut query = target.prepare("SELECT carrier, id, price, gate, mapped_by FROM flights").unwrap();
        let rows = query.query_map([], |row| {
            Ok(((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()), (row.get(2)?, row.get(3)?, row.get(4)?)))
        });
        let rows: Vec<_> = rows.unwrap().map(Result::unwrap).collect();
        let count = rows.len();
        let rows: BTreeMap<_, _> = rows.into_iter().collect();
        assert_eq!(rows.len(), count, "no flight is there twice");
        rows
    };
    let found = rows("target.db");
    let expected: BTreeMap<_, _> = fed
        .iter()
        .map(|(key, generation)| {
            let (price, gate) = generation.expected(key.1);
            (key.clone(), (price, gate, 5))
        })
        .collect();
    assert_eq!(found.len(), expected.len(), "flights lost or made up");
    assert_eq!(found, expected);
    gristmill(workspace, &["replay", "flights", "--pins", "original", "--into", "sqlite://scratch.db"]);
    assert_eq!(rows("scratch.db"), expected, "the stored batches alone give the same target");
}

/// No batch mixes versions, each has the pins of the version in force at its boundary, and all still map to the same rows.
fn proven(workspace: &Workspace) {
    let state = rusqlite::Connection::open(workspace.path(".gristmill/state.db")).unwrap();
    let mut query = state
        .prepare(
            "SELECT b.batch_id, b.task_version, b.schema_id, v.schema_id, v.pins, b.replay_of IS NOT NULL,
             'batches/' || b.task_id || '/' || b.epoch || '/' || b.partition_id || '/' || b.batch_id || '/manifest.json'
             FROM batch b JOIN task_version v ON v.task_id = b.task_id AND v.version = b.task_version
             WHERE b.state = 'COMMITTED' ORDER BY b.epoch, b.sequence",
        )
        .unwrap();
    let rows = query.query_map([], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, u32>(1)?,
            row.get::<_, String>(2)?,
            row.get::<_, String>(3)?,
            row.get::<_, String>(4)?,
            row.get::<_, bool>(5)?,
            row.get::<_, String>(6)?,
        ))
    });
    let mut versions = Vec::new();
    for row in rows.unwrap() {
        let (batch, version, schema, of_version, pins, replayed, manifest) = row.unwrap();
        let manifest = std::fs::read(workspace.path(&format!(".gristmill/store/{manifest}"))).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        let pins: serde_json::Value = serde_json::from_str(&pins).unwrap();
        assert_eq!(manifest["taskVersion"], version, "{batch}");
        for stage in ["migrate", "map", "dictionaries", "limits"] {
            assert_eq!(manifest["pins"][stage], pins[stage], "{batch}: {stage}");
        }
        if !replayed {
            assert_eq!(manifest["pins"]["normalize"], pins["normalize"], "{batch}");
            assert_eq!(schema, of_version, "{batch}");
            versions.push(version);
        }
    }
    assert!(versions.is_sorted(), "versions only go on: {versions:?}");
    versions.dedup();
    assert_eq!(versions, [1, 2, 3, 4, 5], "every version made batches of its own");

    // Which code made a row stands in the row: within a batch it is one version.
    let target = rusqlite::Connection::open(workspace.path("target.db")).unwrap();
    let mixed: i64 = target
        .query_row(
            "SELECT count(*) FROM (SELECT gristmill_batch FROM flights GROUP BY gristmill_batch
             HAVING count(DISTINCT mapped_by) > 1 OR count(DISTINCT normalized_by) > 1)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(mixed, 0, "a batch mixes versions");
    let verified = gristmill(workspace, &["replay", "flights", "--verify"]);
    assert!(verified.contains(" 0 different"), "{verified}");
}
