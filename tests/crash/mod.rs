//! A real process killed at every fault point, for every sink, then started again.
//!
//! The target, the dead letters and the checkpoint must come out as in a run that nobody interrupted, and the
//! invariants must hold at every stop on the way.

mod dead_letters;
mod invariants;
mod replays;
mod versions;
mod zombie;

use crate::harness::{Row, Target, Workspace};
use gristmill::faults::FaultPoint;
use std::collections::BTreeMap;

/// Three files of flights in small batches: inserts, then updates of the same flights from a later file, with rows that
/// the source, the normalizer and the mapper's limits refuse.
fn workspace(target: Target) -> Workspace {
    let workspace = Workspace::new();
    let header = "id,year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour\n";
    let flight = |id: usize, delay: usize, carrier: &str| {
        format!(
            "{id},2013,1,1,517,515,{delay},830,819,{delay},{carrier},{id},N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z\n"
        )
    };
    let file = |ids: std::ops::Range<usize>, delay: usize| {
        ids.fold(header.to_owned(), |text, id| text + &flight(id, delay + id % 7, "UA"))
    };
    let mut first = file(0..90, 2);
    first += "90,2013,1,1,517\n"; // too few fields: refused by the source
    first += &flight(91, 2, "NA"); // no carrier: refused by the normalizer
    workspace.write("data/a.csv", first);
    workspace.write("data/b.csv", file(100..160, 90));
    workspace.write("data/c.csv", file(30..130, 61)); // updates of both
    workspace.write("pipeline.yaml", pipeline(target));
    workspace
}

fn pipeline(target: Target) -> String {
    let data = crate::harness::root().join("pipelines/flights/data");
    let columns = "id: int64, year: int32, month: int32, day: int32, dep_time: utf8, sched_dep_time: utf8, dep_delay: utf8, arr_time: utf8, \
                   sched_arr_time: utf8, arr_delay: utf8, carrier: utf8, flight: utf8, tailnum: utf8, origin: utf8, dest: utf8, \
                   air_time: utf8, distance: utf8, hour: utf8, minute: utf8, time_hour: utf8";
    format!(
        "version: 1\ntask: crash\nschema: crash-v1\nsource:\n  files: {{ url: data/, format: csv, columns: {{ {columns} }} }}\n\
         identity: [id]\nsource_version: position\ntransforms:\n  normalize: flights-normalize@0.1.0\n  map: flights-map@0.1.0\n  dictionaries:\n    airlines: {data}/airlines.csv\n    airports: {data}/airports.csv\n\
         batch: {{ max_rows: 40 }}\nsink:\n  {sink}\ndead_letters: {{ max_records: 10 }}\n",
        data = data.display(),
        sink = target.yaml(),
    )
}

/// All that must be the same however a history was interrupted.
#[derive(Debug, PartialEq)]
struct Converged {
    flights: Vec<Row>,
    delays: Vec<Row>,
    dead_letters: Vec<String>,
    cursor: String,
    source_state: BTreeMap<String, String>,
}

fn converged(workspace: &Workspace, target: Target) -> Converged {
    let state = rusqlite::Connection::open(workspace.path(".gristmill/state.db")).unwrap();
    let strings = |sql: &str| -> Vec<String> {
        let mut query = state.prepare(sql).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let sql = "SELECT key || '=' || value FROM source_state ORDER BY 1";
    Converged {
        flights: target.rows(workspace, "flights"),
        delays: target.rows(workspace, "delays"),
        dead_letters: strings("SELECT refused_at || ' ' || class || ' ' || position FROM dead_letter ORDER BY 1"),
        cursor: strings("SELECT cursor FROM checkpoint").concat(),
        source_state: strings(sql)
            .into_iter()
            .filter_map(|entry| entry.split_once('=').map(|(k, v)| (k.to_owned(), without_times(v))))
            .collect(),
    }
}

/// Modification times belong to the copies of the files, which each workspace makes for itself.
fn without_times(value: &str) -> String {
    let Ok(mut json) = serde_json::from_str::<serde_json::Value>(value) else { return value.to_owned() };
    json.as_object_mut().and_then(|map| map.remove("modified"));
    json.to_string()
}

impl Converged {
    fn without_times(mut self) -> Self {
        let mut cursor: serde_json::Value = serde_json::from_str(&self.cursor).unwrap();
        cursor["file"].as_object_mut().and_then(|file| file.remove("modified"));
        self.cursor = cursor.to_string();
        self
    }
}

/// What differs between two targets, as an operator would count it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Differences {
    lost: usize,
    duplicated: usize,
    stale: usize,
}

fn differences(expected: &[Row], found: &[Row]) -> Differences {
    let by_id = |rows: &[Row]| -> BTreeMap<String, Vec<Row>> {
        rows.iter().fold(BTreeMap::new(), |mut map, row| {
            map.entry(row["id"].clone()).or_insert_with(Vec::new).push(row.clone());
            map
        })
    };
    let (expected, found) = (by_id(expected), by_id(found));
    let mut differences = Differences::default();
    for (id, rows) in &expected {
        match found.get(id) {
            None => differences.lost += 1,
            Some(same) if same == rows => {}
            Some(_) => differences.stale += 1,
        }
    }
    differences.duplicated = found.values().map(|rows| rows.len() - 1).sum::<usize>()
        + found.keys().filter(|id| !expected.contains_key(*id)).count();
    differences
}

/// Points that a run does not pass, or not with this kind of sink.
fn passes(target: Target, point: FaultPoint) -> bool {
    use FaultPoint::*;
    match point {
        // These are of replays and schema changes: see `replays`.
        SinkSwapBefore | SinkSwapAfter | ReplayBeginBefore | ReplayBeginAfter | ReplayEndBefore | ReplayEndAfter => {
            false
        }
        SchemaChangeBefore | SchemaChangeAfter => false,
        DeadLettersBefore | DeadLettersAfter => false,
        SinkDataBefore | SinkDataAfter => target == Target::Parquet,
        _ => true,
    }
}

/// Points that are passed once in a run, however many batches it has.
fn once_only(point: FaultPoint) -> bool {
    use FaultPoint::*;
    matches!(
        point,
        SchemaFreezeBefore
            | SchemaFreezeAfter
            | TaskVersionBefore
            | TaskVersionAfter
            | LeaseClaimBefore
            | LeaseClaimAfter
            | SinkFenceBefore
            | SinkFenceAfter
    )
}

#[test]
fn killed_at_every_fault_point() {
    let (mut points, mut total) = (0, Differences::default());
    for target in Target::ALL {
        let reference = workspace(target);
        reference.run().expect(0);
        invariants::hold(&reference, target);
        let expected = converged(&reference, target).without_times();
        assert_eq!(expected.flights.len(), 160, "90 and 60 flights, then 100 of which 90 are known");
        assert_eq!(expected.dead_letters.len(), 2);

        for point in FaultPoint::ALL.iter().copied().filter(|point| passes(target, *point)) {
            let nths: &[u32] = if once_only(point) { &[1] } else { &[1, 2, 4] };
            for nth in nths {
                let workspace = workspace(target);
                let fault = format!("{}:{nth}", point.name());
                let killed = workspace.run_with_fault(&fault);
                assert_eq!(killed.code, None, "{target:?} {fault}: the process should have died\n{}", killed.stderr);
                invariants::hold(&workspace, target);

                workspace.run().expect(0);
                invariants::hold(&workspace, target);
                let found = converged(&workspace, target).without_times();
                let here = differences(&expected.flights, &found.flights);
                total.lost += here.lost;
                total.duplicated += here.duplicated;
                total.stale += here.stale;
                assert_eq!(found, expected, "{target:?} {fault}: {here:?}");
                points += 1;
            }
        }
    }
    println!(
        "{points} kills at {} points × {} sinks: lost {}, duplicated {}, stale {}",
        FaultPoint::ALL.len(),
        Target::ALL.len(),
        total.lost,
        total.duplicated,
        total.stale
    );
}

/// Kills at the same and at other points, one start after the other, until a run gets through.
#[test]
fn killed_again_and_again() {
    for target in Target::ALL {
        let reference = workspace(target);
        reference.run().expect(0);
        let expected = converged(&reference, target).without_times();

        let workspace = workspace(target);
        for point in FaultPoint::ALL.iter().copied().filter(|point| passes(target, *point)) {
            // A point that recovery no longer passes lets the run through, which is as good.
            let killed = workspace.run_with_fault(point.name());
            assert!(matches!(killed.code, None | Some(0)), "{target:?} {}: {}", point.name(), killed.stderr);
            invariants::hold(&workspace, target);
        }
        workspace.run().expect(0);
        invariants::hold(&workspace, target);
        assert_eq!(converged(&workspace, target).without_times(), expected, "{target:?}");
    }
}

/// Nothing is left of what never became READY, and nothing that did is read from the source again.
#[test]
fn stored_batches_are_delivered_without_the_source() {
    for target in Target::ALL {
        let reference = workspace(target);
        reference.run().expect(0);
        let expected = converged(&reference, target).without_times();

        let workspace = workspace(target);
        workspace.run_with_fault("sink-commit-before:1");
        let ready: i64 = workspace.state("SELECT count(*) FROM batch WHERE state = 'READY'");
        assert!(ready >= 1, "a batch waits for the sink");
        let ids =
            "SELECT group_concat(batch_id) FROM (SELECT batch_id FROM batch WHERE state = 'READY' ORDER BY sequence)";
        let waiting: String = workspace.state(ids);

        // The source loses what was already read: the stored batches are all there is.
        let first_rows = std::fs::read_to_string(workspace.path("data/a.csv")).unwrap();
        let hidden = workspace.path("hidden.csv");
        std::fs::rename(workspace.path("data/a.csv"), &hidden).unwrap();
        let answer = workspace.run();
        let redelivered: Vec<String> = target.batches(&workspace);
        for id in waiting.split(',') {
            assert!(redelivered.iter().any(|found| found == id), "{target:?}: {id} was stored and must be delivered");
        }
        invariants::hold(&workspace, target);
        assert!(matches!(answer.code, Some(0 | 3)), "{}", answer.stderr);

        std::fs::rename(&hidden, workspace.path("data/a.csv")).unwrap();
        assert_eq!(std::fs::read_to_string(workspace.path("data/a.csv")).unwrap(), first_rows);
        workspace.run().expect(0);
        let found = converged(&workspace, target).without_times();
        assert_eq!(differences(&expected.flights, &found.flights), Differences::default());
    }
}
