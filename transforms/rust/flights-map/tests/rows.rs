//! Both outputs, row by row.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flights_map::FlightsMap;
use gristmill_guest::testing::{Harness, RunError, Table, Value};
use gristmill_guest::{DataType, Stage};

fn input() -> Table {
    let null = None::<i64>;
    Table::new()
        .column("flight_id", DataType::Utf8, ["a", "b", "c", "d"])
        .column("carrier", DataType::Utf8, ["UA", "XX", "UA", "B6"])
        .column("origin", DataType::Utf8, ["EWR", "JFK", "EWR", "JFK"])
        .column("dest", DataType::Utf8, ["JFK", "EWR", "SJU", "EWR"])
        .column("dep_delay", DataType::Int16, [Some(60), Some(200), null, Some(5)])
        .column("arr_delay", DataType::Int16, [Some(61), null, null, Some(-3)])
}

fn harness() -> Harness {
    let text = |names: [&'static str; 2]| [(names[0], DataType::Utf8), (names[1], DataType::Utf8)];
    let airlines = Table::from_csv("carrier,name\nUA,United\nB6,JetBlue\n", &text(["carrier", "name"]), "");
    let airports = Table::from_csv("faa,name\nEWR,Newark\nJFK,Kennedy\n", &text(["faa", "name"]), "");
    Harness::new(Stage::Map).dictionary("airlines", "carrier", airlines).dictionary("airports", "faa", airports)
}

#[test]
fn names_are_looked_up_and_delays_selected() {
    let run = harness().run::<FlightsMap>(&input()).unwrap();
    assert_eq!(
        run.output("flights").to_string(),
        "flight_id | carrier | airline_name | origin | origin_name | dest | dest_name | dep_delay | arr_delay\n\
         a | UA | United | EWR | Newark | JFK | Kennedy | 60 | 61\n\
         b | XX | null | JFK | Kennedy | EWR | Newark | 200 | null\n\
         c | UA | United | EWR | Newark | SJU | null | null | null\n\
         d | B6 | JetBlue | JFK | Kennedy | EWR | Newark | 5 | -3\n"
    );
    assert_eq!(
        run.output("delays").to_string(),
        "flight_id | carrier | delay_minutes | class\na | UA | 61 | small\nb | XX | 200 | large\n"
    );
    assert_eq!(run.selection("delays"), [0, 1]);
    assert_eq!(run.operations("delays"), [0, 0]);
}

#[test]
fn only_what_delays_need_crosses_the_boundary() {
    let batch = harness().batch::<FlightsMap>(&input()).unwrap();
    assert_eq!(batch.columns.nodes.len(), 3, "two delays and the operation");
}

#[test]
fn an_update_that_is_punctual_leaves_delays() {
    let run = harness().operations([1, 2, 1, 0]).run::<FlightsMap>(&input()).unwrap();
    assert_eq!(run.selection("delays"), [0, 1, 2]);
    assert_eq!(run.operations("delays"), [1, 2, 2]);
    assert_eq!(run.output("delays").values("class"), ["small".into(), "large".into(), Value::Null]);
}

#[test]
fn thresholds_are_configured() {
    let run = harness().config(r#"{"delay_minutes": 199, "large_minutes": 300}"#).run::<FlightsMap>(&input()).unwrap();
    assert_eq!(run.output("delays").values("class"), ["small".into()]);
    for (config, code) in [(r#"{"delay": 1}"#, "bad-config"), (r#"{"large_minutes": 10}"#, "bad-config")] {
        match harness().config(config).run::<FlightsMap>(&input()) {
            Err(RunError::Failure(failure)) => assert_eq!(failure.code, code, "{config}"),
            other => panic!("{config}: {other:?}"),
        }
    }
}
