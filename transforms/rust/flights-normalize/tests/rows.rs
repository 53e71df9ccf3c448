//! Single rows: what each becomes, and why some are rejected.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flights_normalize::FlightsNormalize;
use gristmill_guest::testing::{Harness, Run, RunError, Table, Value};
use gristmill_guest::{DataType, Field, Stage};

const HEADER: &str = "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,\
                      tailnum,origin,dest,air_time,distance,hour,minute,time_hour\n";
const TYPES: &[(&str, DataType)] = &[
    ("dep_time", DataType::Utf8),
    ("sched_dep_time", DataType::Int32),
    ("dep_delay", DataType::Utf8),
    ("arr_time", DataType::Utf8),
    ("sched_arr_time", DataType::Int32),
    ("arr_delay", DataType::Utf8),
    ("carrier", DataType::Utf8),
    ("flight", DataType::Int32),
    ("tailnum", DataType::Utf8),
    ("origin", DataType::Utf8),
    ("dest", DataType::Utf8),
    ("air_time", DataType::Utf8),
    ("distance", DataType::Int32),
    ("time_hour", DataType::Utf8),
];

fn input(rows: &str) -> Table {
    Table::from_csv(&format!("{HEADER}{rows}"), TYPES, "")
}

fn harness(tz: DataType) -> Harness {
    let airports = "faa,tz,dst\nEWR,-5,A\nJFK,-5,A\nLGA,-5,A\nIAH,-6,A\nLAX,-8,A\nPHX,-7,N\nMIA,-5,A\n";
    let types = [("faa", DataType::Utf8), ("tz", tz), ("dst", DataType::Utf8)];
    Harness::new(Stage::Normalize).dictionary("airports", "faa", Table::from_csv(airports, &types, ""))
}

fn run(rows: &str) -> Run {
    harness(DataType::Utf8).run::<FlightsNormalize>(&input(rows)).unwrap()
}

fn utc(text: &str) -> Value {
    // Only for 2013: day of the year and time of day.
    let (day, time) = text.split_once(' ').unwrap();
    let (month, day) = day.split_once('-').unwrap();
    let months = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before: i64 = months[..month.parse::<usize>().unwrap() - 1].iter().sum();
    let (hour, minute) = time.split_once(':').unwrap();
    let days = 15_706 + before + day.parse::<i64>().unwrap() - 1;
    let minutes = days * 1440 + hour.parse::<i64>().unwrap() * 60 + minute.parse::<i64>().unwrap();
    Value::from(minutes * 60_000_000)
}

fn column(run: &Run, name: &str) -> Vec<Value> {
    run.output("records").values(name)
}

#[test]
fn a_whole_row() {
    let run = run("2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z\n");
    let records = run.output("records");
    let names: Vec<_> = records.fields().map(|field| field.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "flight_id",
            "flight_date",
            "carrier",
            "flight",
            "tailnum",
            "origin",
            "dest",
            "scheduled_hour",
            "scheduled_departure",
            "departure",
            "scheduled_arrival",
            "arrival",
            "dep_delay",
            "arr_delay",
            "air_time",
            "elapsed_time",
            "distance",
            "ground_speed_mph",
            "cancelled",
            "diverted"
        ]
    );
    let expected: Vec<Value> = vec![
        "20130101T1015-UA-1545".into(),
        15_706.into(),
        "UA".into(),
        1545.into(),
        "N14228".into(),
        "EWR".into(),
        "IAH".into(),
        5.into(),
        utc("1-1 10:15"),
        utc("1-1 10:17"),
        utc("1-1 14:19"),
        utc("1-1 14:30"),
        2.into(),
        11.into(),
        227.into(),
        253.into(),
        1400.into(),
        (1400.0 * 60.0 / 227.0).into(),
        false.into(),
        false.into(),
    ];
    assert_eq!(records.row(0), expected);
}

#[test]
fn na_is_null() {
    let run = run("2013,1,1,NA,1630,NA,NA,1815,NA,EV,4308,NA,EWR,MIA,NA,1085,16,30,2013-01-01T21:00:00Z\n\
                   2013,1,1,1525,1530,-5,1934,1805,NA,MQ,4525,N719MQ,LGA,MIA,NA,1147,15,30,2013-01-01T20:00:00Z\n");
    for name in ["departure", "arrival", "dep_delay", "arr_delay", "air_time", "elapsed_time", "ground_speed_mph"] {
        assert_eq!(column(&run, name)[0], Value::Null, "{name}");
    }
    assert_eq!(column(&run, "tailnum"), [Value::Null, "N719MQ".into()]);
    assert_eq!(column(&run, "cancelled"), [true.into(), false.into()]);
    assert_eq!(column(&run, "diverted"), [false.into(), true.into()], "it left but has no arrival delay");
    assert_eq!(column(&run, "scheduled_arrival"), [utc("1-1 23:15"), utc("1-1 23:05")]);
}

#[test]
fn midnight_and_the_change_of_clocks() {
    let run = run("2013,1,1,30,2359,31,400,310,50,B6,1,N1,JFK,MIA,150,1089,23,59,2013-01-02T04:00:00Z\n\
                   2013,1,1,2355,5,-10,2400,15,-15,B6,2,N2,JFK,MIA,150,1089,0,5,2013-01-02T05:00:00Z\n\
                   2013,3,9,2355,2350,5,258,250,8,B6,3,N3,JFK,PHX,280,2153,23,50,2013-03-10T04:00:00Z\n\
                   2013,3,9,2355,2350,5,640,630,10,B6,4,N4,JFK,MIA,280,2153,23,50,2013-03-10T04:00:00Z\n");
    assert_eq!(column(&run, "departure"), [utc("1-2 5:30"), utc("1-2 4:55"), utc("3-10 4:55"), utc("3-10 4:55")]);
    assert_eq!(column(&run, "flight_date"), [15_706.into(), 15_707.into(), 15_773.into(), Value::from(15_773)]);
    // Phoenix keeps standard time; Miami's clocks went forward during the flight.
    assert_eq!(column(&run, "arrival"), [utc("1-2 9:00"), utc("1-2 5:00"), utc("3-10 9:58"), utc("3-10 10:40")]);
}

#[test]
fn an_airport_that_the_dictionary_lacks() {
    let run = run("2013,7,1,544,545,-1,1004,1022,-18,B6,725,N804JB,JFK,BQN,183,1576,5,45,2013-07-01T09:00:00Z\n\
                   2013,7,1,544,545,-1,804,822,-18,B6,726,N804JB,XXX,MIA,183,1576,5,45,2013-07-01T09:00:00Z\n");
    assert!(run.rejects.is_empty());
    assert_eq!(column(&run, "arrival"), [Value::Null, utc("7-1 12:04")]);
    assert_eq!(column(&run, "flight_date"), [15_887.into(), Value::from(15_887)]);
    assert_eq!(column(&run, "departure"), [utc("7-1 9:44"), utc("7-1 9:44")], "the schedule gives the origin's offset");
}

#[test]
fn bad_values_are_rejects_that_say_no_value() {
    let rows = [
        ("2013,1,1,2561,515,2,830,819,11,UA,1,N,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z", "bad-time", "dep_time"),
        ("2013,1,1,secret,515,2,830,819,11,UA,1,N,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z", "bad-time", "dep_time"),
        ("2013,1,1,517,515,2,1260,819,11,UA,1,N,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z", "bad-time", "arr_time"),
        (
            "2013,1,1,517,-5,2,830,819,11,UA,1,N,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z",
            "bad-time",
            "sched_dep_time",
        ),
        ("2013,1,1,517,515,2,830,819,11,UA,1,N,EWR,IAH,227,1400,5,15,2013-01-01", "bad-time", "time_hour"),
        (
            "2013,1,1,517,515,99999,830,819,11,UA,1,N,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z",
            "bad-number",
            "dep_delay",
        ),
        ("2013,1,1,517,515,2,830,819,1.5,UA,1,N,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z", "bad-number", "arr_delay"),
        ("2013,2,30,517,515,2,830,819,11,UA,1,N,EWR,IAH,227,1400,5,15,2013-02-30T10:00:00Z", "bad-time", "time_hour"),
        ("2013,1,1,517,515,2,830,819,11,,1,N,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z", "missing-carrier", "carrier"),
        (
            "2013,1,1,517,515,2,830,819,11,NA,1,N,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z",
            "missing-carrier",
            "carrier",
        ),
        ("2013,1,1,517,515,2,830,819,11,UA,,N,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z", "missing-value", "flight"),
    ];
    let good = "2013,1,1,517,515,2,830,819,11,UA,7,N,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z";
    let text = rows.iter().map(|(row, ..)| format!("{row}\n")).collect::<String>() + good + "\n";
    let run = run(&text);
    let expected: Vec<_> = rows.iter().enumerate().map(|(i, (_, code, field))| (i, *code, Some(*field))).collect();
    assert_eq!(run.reject_codes(), expected);
    assert_eq!(run.selection("records"), [rows.len() as u32], "only the good row is left");
    assert!(run.rejects.iter().all(|(_, reject)| !reject.message.contains("secret")));
}

#[test]
fn an_id_takes_the_place_of_the_flight_id() {
    let row = "2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z\n";
    let table = input(row).column("id", DataType::Utf8, ["one"]);
    let run = harness(DataType::Int64).run::<FlightsNormalize>(&table).unwrap();
    let first = run.output("records").fields().next().unwrap();
    assert_eq!(first, &Field::new("id", DataType::Utf8));
    assert_eq!(column(&run, "arrival"), [utc("1-1 14:30")], "an int64 zone does as well");
}

#[test]
fn what_is_missing_is_named() {
    let row = input("2013,1,1,517,515,2,830,819,11,UA,1,N,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z\n");
    let failure = |harness: Harness, table: &Table| match harness.run::<FlightsNormalize>(table) {
        Err(RunError::Failure(failure)) => failure.to_string(),
        other => panic!("{other:?}"),
    };
    let none = Harness::new(Stage::Normalize);
    assert!(failure(none.clone(), &row).starts_with("missing-dictionary: the pipeline has no dictionary `airports`"));
    assert!(failure(none, &Table::new()).starts_with("missing-column: the input has no column `dep_time`"));
    assert!(failure(Harness::new(Stage::Map), &row).starts_with("wrong-stage: "));
}
