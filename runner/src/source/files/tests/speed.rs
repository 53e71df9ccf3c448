//! A rough figure: `cargo test --release -p gristmill --lib files::tests::speed -- --ignored --nocapture`.

use super::*;
use arrow::datatypes::TimeUnit;
use std::time::Instant;

const ROWS: usize = 1_000_000;

/// 20 columns as flights have them: integers, floats, short texts and a time.
fn schema() -> SchemaRef {
    let mut fields = vec![Field::new("id", DataType::Int64, false)];
    for i in 0..11 {
        fields.push(Field::new(format!("int{i}"), DataType::Int64, true));
    }
    for i in 0..2 {
        fields.push(Field::new(format!("float{i}"), DataType::Float64, true));
    }
    for i in 0..5 {
        fields.push(Field::new(format!("text{i}"), DataType::Utf8, true));
    }
    fields.push(Field::new("time", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true));
    Arc::new(Schema::new(fields))
}

#[tokio::test]
#[ignore = "a measurement"]
async fn csv_rows_per_second() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = schema().fields().iter().map(|f| f.name().clone()).collect();
    let mut text = names.join(",") + "\n";
    for id in 0..ROWS {
        text += &format!(
            "{id},2013,1,{},517,515,2,830,819,NA,{},227,1400.5,{}.25,UA,N{},EWR,IAH,x,2013-01-01T05:00:00Z\n",
            id % 28,
            id % 97,
            id % 1000,
            id % 5000
        );
    }
    let bytes = text.len();
    write(dir.path(), "a.csv", text);
    let csv = CsvOptions { null_values: vec!["NA".into()], ..CsvOptions::default() };
    let options = FilesOptions { columns: schema(), ..options(dir.path(), FileFormat::Csv(csv)) };
    for _ in 0..3 {
        let mut source = FilesSource::new(options.clone()).unwrap().with_clock(TestClock::later());
        let start = Instant::now();
        let pages = drain(&mut source, PageLimits { max_rows: 50_000, max_bytes: 32 << 20, ..WIDE }).await.unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let rows: usize = pages.iter().map(|page| page.rows.num_rows()).sum();
        assert_eq!(rows, ROWS);
        println!(
            "{:.2} M rows/s, {:.0} MB/s, admission included",
            rows as f64 / seconds / 1e6,
            bytes as f64 / seconds / 1e6
        );
    }
}
