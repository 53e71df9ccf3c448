//! The flights of January 2013: times agree with delays and with time in the air, and ids are unique.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flights_normalize::FlightsNormalize;
use gristmill_guest::testing::{Harness, Table, Value};
use gristmill_guest::{DataType, Stage};
use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../pipelines/flights/data").join(file)
}

fn january() -> String {
    let file = std::fs::File::open(data("flights/flights-2013-01.csv.gz")).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

/// The types of `pipeline.yaml`.
fn flights() -> Table {
    let texts = [
        "dep_time",
        "dep_delay",
        "arr_time",
        "arr_delay",
        "carrier",
        "tailnum",
        "origin",
        "dest",
        "air_time",
        "time_hour",
    ];
    let numbers = ["year", "month", "day", "sched_dep_time", "sched_arr_time", "flight", "distance", "hour", "minute"];
    let mut types: Vec<_> = texts.iter().map(|name| (*name, DataType::Utf8)).collect();
    types.extend(numbers.iter().map(|name| (*name, DataType::Int32)));
    Table::from_csv(&january(), &types, "")
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(value) => Some(*value as i64),
        _ => None,
    }
}

#[test]
fn january_is_plausible() {
    let airports = std::fs::read_to_string(data("airports.csv")).unwrap();
    let types = [("faa", DataType::Utf8), ("tz", DataType::Utf8), ("dst", DataType::Utf8)];
    let harness = Harness::new(Stage::Normalize).dictionary("airports", "faa", Table::from_csv(&airports, &types, ""));
    let run = harness.run::<FlightsNormalize>(&flights()).unwrap();
    let records = run.output("records");
    assert_eq!((records.rows(), run.rejects.len()), (27_004, 0));

    let ids: HashSet<String> = records.values("flight_id").iter().map(Value::to_string).collect();
    assert_eq!(ids.len(), records.rows(), "ids are unique");

    let minutes = |name: &str| -> Vec<Option<i64>> {
        records.values(name).iter().map(|value| integer(value).map(|micros| micros / 60_000_000)).collect()
    };
    let numbers = |name: &str| -> Vec<Option<i64>> { records.values(name).iter().map(integer).collect() };
    let (scheduled, departure) = (minutes("scheduled_departure"), minutes("departure"));
    let (due, arrival) = (minutes("scheduled_arrival"), minutes("arrival"));
    let (dep_delay, arr_delay, air_time) = (numbers("dep_delay"), numbers("arr_delay"), numbers("air_time"));
    let (mut left, mut arrived, mut late, mut fast) = (0, 0, 0, 0);
    for row in 0..records.rows() {
        if let Some(departure) = departure[row] {
            left += 1;
            assert_eq!(
                departure - scheduled[row].unwrap(),
                dep_delay[row].unwrap(),
                "row {row}: the delay says when it left"
            );
        }
        let (Some(arrival), Some(due), Some(arr_delay)) = (arrival[row], due[row], arr_delay[row]) else { continue };
        arrived += 1;
        late += usize::from(arrival - due != arr_delay);
        fast += usize::from(arrival - departure[row].unwrap() < air_time[row].unwrap());
    }
    assert_eq!(left, 26_483, "521 were cancelled");
    assert_eq!(arrived, 25_720, "all but those diverted or bound for an airport without a zone");
    assert_eq!((late, fast), (0, 0), "arrivals at odds with their delay, and faster than their time in the air");
}
