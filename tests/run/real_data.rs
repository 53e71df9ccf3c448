//! The flights of `pipelines/flights`, whole.

use crate::harness::{Workspace, copy, root};
use std::fs;

/// The pipeline and its data, copied; files at rest.
fn flights() -> Workspace {
    let workspace = Workspace::new();
    let source = root().join("pipelines/flights");
    copy(&source.join("data"), &workspace.path("data"));
    fs::copy(source.join("pipeline.yaml"), workspace.path("pipeline.yaml")).unwrap();
    workspace
}

fn query<T: rusqlite::types::FromSql>(workspace: &Workspace, sql: &str) -> T {
    let target = rusqlite::Connection::open(workspace.path("flights.db")).unwrap();
    target.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

#[test]
fn three_months_then_corrections_then_replay() {
    let workspace = flights();
    let first = workspace.run().expect(0).result();
    assert_eq!(first["summary"]["recordsRead"], 80_789);
    assert_eq!(first["summary"]["deadLetters"], serde_json::json!({}));
    assert_eq!(query::<i64>(&workspace, "SELECT count(*) FROM flights"), 80_789);

    // The first flight of the file: 517 local time in Newark, 5 hours behind UTC, to Houston, 6 behind.
    let row: String = query(
        &workspace,
        "SELECT airline_name || '|' || origin_name || '|' || dest_name || '|' || departure || '|' || arrival
         FROM flights WHERE carrier = 'UA' AND flight = 1545 AND flight_date = '2013-01-01'",
    );
    assert_eq!(
        row,
        "United Air Lines Inc.|Newark Liberty Intl|George Bush Intercontinental|2013-01-01T10:17:00.000000Z|2013-01-01T14:30:00.000000Z"
    );
    let cancelled = "SELECT count(*) FROM flights WHERE cancelled AND departure IS NOT NULL";
    assert_eq!(query::<i64>(&workspace, cancelled), 0);
    let late = "SELECT count(*) FROM flights WHERE max(ifnull(dep_delay, 0), ifnull(arr_delay, 0)) > 60";
    assert_eq!(query::<i64>(&workspace, late), query::<i64>(&workspace, "SELECT count(*) FROM delays"));

    let before: i64 = query(&workspace, "SELECT sum(gristmill_hash % 1000003) FROM flights");
    let second = workspace.run().expect(0).result();
    assert_eq!(second["summary"]["batchesStored"], 0);

    let corrections = root().join("pipelines/flights/corrections/flights-2013-01-corrections.csv");
    let lines = fs::read_to_string(&corrections).unwrap().lines().count() as i64 - 1;
    workspace.write("data/flights/flights-2013-01-corrections.csv", fs::read(corrections).unwrap());
    let third = workspace.run().expect(0).result();
    let output = &third["summary"]["outputs"]["flights"];
    assert_eq!((&output["inserted"], &output["updated"]), (&0.into(), &lines.into()), "only the corrected rows change");
    assert_eq!(query::<i64>(&workspace, "SELECT count(*) FROM flights"), 80_789);
    assert_ne!(query::<i64>(&workspace, "SELECT sum(gristmill_hash % 1000003) FROM flights"), before);

    let replay = workspace.gristmill(&["replay", "flights", "--verify", "--json"]).expect(0).result();
    assert_eq!(replay["different"], serde_json::json!([]));
    assert_eq!(replay["records"], 80_789 + lines);
}

#[test]
fn broken_rows_are_dead_letters_with_their_place() {
    let workspace = flights();
    let broken = root().join("pipelines/flights/broken-rows");
    for name in ["flights-2013-04-broken.csv", "flights-2013-05-overlong.csv.gz"] {
        workspace.write(&format!("data/flights/{name}"), fs::read(broken.join(name)).unwrap());
    }
    workspace.run().expect(0);
    let places: String = workspace.state(
        "SELECT group_concat(place, ', ') FROM (SELECT class || ' ' || ifnull(field, '-') || ' ' || (position ->> 'line') AS place
         FROM dead_letter ORDER BY position ->> 'object', position ->> 'line')",
    );
    assert_eq!(
        places,
        "field-count - 3, field-count - 4, invalid-utf8 tailnum 5, unparsable-value distance 6, rejected dep_time 7, \
         rejected carrier 8, over-size tailnum 3"
    );
    assert_eq!(query::<i64>(&workspace, "SELECT count(*) FROM flights"), 80_789 + 4);
}
