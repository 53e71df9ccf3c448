//! Measures the SQLite sink against a bare loop of prepared inserts of the same rows: 20 columns, one transaction for
//! each batch, WAL and `synchronous=FULL` on both sides. The bare rows are given as SQLite values, moments as text; the
//! sink gets Arrow batches and adds its bookkeeping.
//!
//! `cargo run --release -p gristmill --example sink_speed [integer|text] [rows] [folder]`

use arrow::array::*;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use gristmill::content::{digest_outputs, row_hashes};
use gristmill::record::{MappedOutput, OutputSchema};
use gristmill::sink::sqlite::{SqliteSink, SqliteSinkOptions};
use gristmill::sink::{MappedBatch, Sink, Tenure};
use gristmill_core::id::{Epoch, FencingToken, Micros, PartitionId, SchemaId, Sequence, TaskId};
use gristmill_core::version::{TAG_POSITION, pair};
use rusqlite::types::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error>;

const BATCH_ROWS: usize = 50_000;
const ROUNDS: usize = 3;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let text_identity = arguments.next().is_some_and(|kind| kind == "text");
    let rows: usize = arguments.next().map_or(Ok(1_000_000), |rows| rows.parse())?;
    let folder = arguments.next().map_or_else(std::env::temp_dir, Into::into);
    let folder = tempfile::tempdir_in(folder)?;
    let batches: Vec<RecordBatch> =
        (0..rows.div_ceil(BATCH_ROWS)).map(|batch| flights(batch, text_identity)).collect::<Result<_, _>>()?;
    let values: Vec<Vec<Vec<Value>>> = batches.iter().map(values).collect();
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let bare = bare_loop(&folder.path().join(format!("bare-{round}.db")), &batches[0], &values)?;
        let path = folder.path().join(format!("sink-{round}.db"));
        let first = through_sink(&path, &batches, 1).await?;
        let again = through_sink(&path, &batches, 1 + batches.len() as u64).await?;
        let rate = |time: Duration| (batches.len() * BATCH_ROWS) as f64 / time.as_secs_f64();
        ratios.push(rate(first) / rate(bare));
        eprintln!(
            "bare {:.0} rows/s, sink {:.0} rows/s (ratio {:.3}), updates {:.0} rows/s",
            rate(bare),
            rate(first),
            ratios[round],
            rate(again)
        );
    }
    ratios.sort_by(f64::total_cmp);
    eprintln!("median ratio {:.3}", ratios[ROUNDS / 2]);
    Ok(())
}

fn bare_loop(path: &Path, first: &RecordBatch, batches: &[Vec<Vec<Value>>]) -> Result<Duration, Failure> {
    let mut connection = rusqlite::Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let kind = |field: &Field| match field.data_type() {
        DataType::Utf8 | DataType::Timestamp(..) => "TEXT",
        DataType::Float64 => "REAL",
        _ => "INTEGER",
    };
    let columns: Vec<_> =
        first.schema().fields().iter().map(|field| format!("{} {}", field.name(), kind(field))).collect();
    connection.execute_batch(&format!("CREATE TABLE flights ({}, PRIMARY KEY (id))", columns.join(", ")))?;
    let parameters: Vec<_> = (1..=columns.len()).map(|number| format!("?{number}")).collect();
    let insert = format!("INSERT INTO flights VALUES ({})", parameters.join(", "));
    let clock = Instant::now();
    for rows in batches {
        let transaction = connection.transaction()?;
        let mut statement = transaction.prepare(&insert)?;
        for row in rows {
            statement.execute(rusqlite::params_from_iter(row))?;
        }
        drop(statement);
        transaction.commit()?;
    }
    Ok(clock.elapsed())
}

async fn through_sink(path: &Path, batches: &[RecordBatch], first: u64) -> Result<Duration, Failure> {
    let schema = batches[0].schema();
    let mut sink = SqliteSink::new(SqliteSinkOptions { path: path.to_owned() });
    let tenure = Tenure {
        task_id: TaskId::new("speed")?,
        partition_id: PartitionId::whole(),
        fencing_token: FencingToken::new(first),
    };
    let output = OutputSchema { name: "flights".into(), table: "flights".into(), schema, identity: vec!["id".into()] };
    sink.open(&tenure, &[output]).await?;
    let mut time = Duration::ZERO;
    for (sequence, rows) in (first..).zip(batches) {
        let count = rows.num_rows();
        let versions = (0..count as u64).map(|row| pair(TAG_POSITION, sequence, row));
        let output = MappedOutput {
            name: "flights".into(),
            operations: UInt8Array::from(vec![0; count]),
            versions: BinaryArray::from_iter_values(versions),
            hashes: row_hashes(rows),
            source_rows: UInt32Array::from_iter_values(0..count as u32),
            rows: rows.clone(),
        };
        let batch = MappedBatch {
            task_id: tenure.task_id.clone(),
            partition_id: tenure.partition_id.clone(),
            fencing_token: tenure.fencing_token,
            epoch: Epoch::new(1),
            sequence: Sequence::new(sequence),
            batch_id: format!("01J2S{sequence:021}").parse()?,
            schema_id: SchemaId::new("speed-v1")?,
            created_at: Micros(0),
            digest: digest_outputs([("flights", &output.rows, &output.operations, &output.versions)].into_iter()),
            outputs: vec![output],
        };
        let clock = Instant::now();
        sink.write(&batch).await?;
        time += clock.elapsed();
    }
    Ok(time)
}

fn flights(batch: usize, text_identity: bool) -> Result<RecordBatch, Failure> {
    let row = |place: usize| batch * BATCH_ROWS + place;
    let mix = |place: usize, salt: u64| (row(place) as u64 + salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
    let places = || 0..BATCH_ROWS;
    let text =
        |make: &dyn Fn(usize) -> String| -> ArrayRef { Arc::new(StringArray::from_iter_values(places().map(make))) };
    let int = |salt: u64, max: u64| -> ArrayRef {
        Arc::new(
            places()
                .map(|place| (mix(place, salt) % 33 != 0).then(|| (mix(place, salt + 1) % max) as i32))
                .collect::<Int32Array>(),
        )
    };
    let real = |salt: u64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(places().map(|place| mix(place, salt) as f64 / 1e10)))
    };
    let moment = |salt: u64| -> ArrayRef {
        let micros = |place| {
            (mix(place, salt) % 33 != 0).then(|| 1_357_000_000_000_000 + row(place) as i64 * 60_000_000 + salt as i64)
        };
        Arc::new(places().map(micros).collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
    };
    let id: ArrayRef = match text_identity {
        true => text(&|place| format!("{:016x}", mix(place, 0).wrapping_mul(0xD134_2543_DE82_EF95))),
        false => Arc::new(Int64Array::from_iter_values(places().map(|place| row(place) as i64))),
    };
    let cancelled = places().map(|place| Some(mix(place, 9) % 33 == 0)).collect::<BooleanArray>();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", id),
        ("carrier", text(&|place| ["UA", "AA", "B6", "DL"][row(place) % 4].into())),
        ("flight", int(1, 6000)),
        ("tailnum", text(&|place| format!("N{:05}", mix(place, 2) % 100_000))),
        ("origin", text(&|place| ["EWR", "JFK", "LGA"][row(place) % 3].into())),
        ("dest", text(&|place| ["IAH", "MIA", "BQN", "ATL", "ORD"][row(place) % 5].into())),
        ("sched_dep", moment(10)),
        ("dep", moment(20)),
        ("sched_arr", moment(30)),
        ("arr", moment(40)),
        ("dep_delay", int(3, 300)),
        ("arr_delay", int(4, 300)),
        ("air_time", int(5, 600)),
        ("distance", int(6, 5000)),
        (
            "airline_name",
            text(&|place| {
                ["United Air Lines Inc.", "American Airlines Inc.", "JetBlue Airways"][row(place) % 3].into()
            }),
        ),
        (
            "origin_name",
            text(&|place| ["Newark Liberty Intl", "John F Kennedy Intl", "La Guardia"][row(place) % 3].into()),
        ),
        (
            "dest_name",
            text(&|place| {
                ["Hartsfield Jackson Atlanta Intl", "Miami Intl", "Chicago Ohare Intl"][row(place) % 3].into()
            }),
        ),
        ("dest_lat", real(7)),
        ("dest_lon", real(8)),
        ("cancelled", Arc::new(cancelled)),
    ];
    let fields: Vec<_> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, array)| array).collect())?)
}

/// The rows as the bare loop gets them.
fn values(batch: &RecordBatch) -> Vec<Vec<Value>> {
    let value = |array: &ArrayRef, row: usize| match array.data_type() {
        _ if array.is_null(row) => Value::Null,
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).into()),
        DataType::Int32 => Value::Integer(array.as_primitive::<arrow::datatypes::Int32Type>().value(row).into()),
        DataType::Int64 => Value::Integer(array.as_primitive::<arrow::datatypes::Int64Type>().value(row)),
        DataType::Float64 => Value::Real(array.as_primitive::<arrow::datatypes::Float64Type>().value(row)),
        DataType::Boolean => Value::Integer(array.as_boolean().value(row).into()),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let micros = array.as_primitive::<arrow::datatypes::TimestampMicrosecondType>().value(row);
            let moment = chrono::DateTime::from_timestamp_micros(micros).unwrap_or_default();
            Value::Text(moment.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string())
        }
        other => unreachable!("{other}"),
    };
    (0..batch.num_rows()).map(|row| batch.columns().iter().map(|array| value(array, row)).collect()).collect()
}
