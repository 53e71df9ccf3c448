//! Flights as the airlines report them, to change records: local `517`-style times become UTC timestamps, `NA` becomes
//! null, and whatever cannot be understood becomes a reject that names the column and never the value.
//!
//! The dictionary `airports` gives the zone of an airport: hours from UTC (`tz`) and the daylight saving rule (`dst`,
//! where `A` is that of the United States since 2007). Arrivals at an airport that it does not know stay null: their
//! local times cannot be placed.

mod parse;
mod zone;

use gristmill_guest::{
    Batch, Boolean, Date32, Failure, Float64, In, Int8, Int16, Int32, Out, Outputs, Plan, Reject, Selection, Setup,
    Stage, TextWriter, TimeUnit, Timestamp, Transform, Utf8, Utf8Column,
};
use parse::{Clock, Number, NumberColumn, Unread};
use zone::{Calendar, Zone, ZoneColumns};

pub struct FlightsNormalize {
    reads: Reads,
    origin_zone: ZoneColumns,
    dest_zone: ZoneColumns,
    columns: Columns,
}

struct Reads {
    dep_time: Number,
    sched_dep_time: Number,
    dep_delay: Number,
    arr_time: Number,
    sched_arr_time: Number,
    arr_delay: Number,
    carrier: In<Utf8>,
    flight: Number,
    tailnum: In<Utf8>,
    air_time: Number,
    distance: Number,
    time_hour: In<Utf8>,
}

/// The computed columns; the others are forwarded.
struct Columns {
    /// None where the input has an `id`, which is forwarded in its stead.
    flight_id: Option<Out<Utf8>>,
    flight_date: Out<Date32>,
    flight: Out<Int32>,
    tailnum: Out<Utf8>,
    scheduled_hour: Out<Int8>,
    scheduled_departure: Out<Timestamp>,
    departure: Out<Timestamp>,
    scheduled_arrival: Out<Timestamp>,
    arrival: Out<Timestamp>,
    dep_delay: Out<Int16>,
    arr_delay: Out<Int16>,
    air_time: Out<Int16>,
    elapsed_time: Out<Int16>,
    distance: Out<Int32>,
    ground_speed: Out<Float64>,
    cancelled: Out<Boolean>,
    diverted: Out<Boolean>,
}

impl Transform for FlightsNormalize {
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        setup.require_stage(&[Stage::Normalize])?;
        let reads = Reads {
            dep_time: Number::read(setup, plan, "dep_time")?,
            sched_dep_time: Number::read(setup, plan, "sched_dep_time")?,
            dep_delay: Number::read(setup, plan, "dep_delay")?,
            arr_time: Number::read(setup, plan, "arr_time")?,
            sched_arr_time: Number::read(setup, plan, "sched_arr_time")?,
            arr_delay: Number::read(setup, plan, "arr_delay")?,
            carrier: plan.read("carrier")?,
            flight: Number::read(setup, plan, "flight")?,
            tailnum: plan.read("tailnum")?,
            air_time: Number::read(setup, plan, "air_time")?,
            distance: Number::read(setup, plan, "distance")?,
            time_hour: plan.read("time_hour")?,
        };
        let origin_zone = ZoneColumns::read(plan, "origin")?;
        let dest_zone = ZoneColumns::read(plan, "dest")?;

        let utc = || Timestamp::new(TimeUnit::Microsecond, "UTC");
        let records = plan.output("records");
        let flight_id = if setup.input_field("id").is_some() {
            plan.forward(records, "id")?;
            None
        } else {
            Some(plan.compute_required(records, "flight_id", Utf8)?)
        };
        let flight_date = plan.compute_required(records, "flight_date", Date32)?;
        plan.forward(records, "carrier")?;
        let flight = plan.compute_required(records, "flight", Int32)?;
        let tailnum = plan.compute(records, "tailnum", Utf8)?;
        plan.forward(records, "origin")?;
        plan.forward(records, "dest")?;
        let columns = Columns {
            flight_id,
            flight_date,
            flight,
            tailnum,
            scheduled_hour: plan.compute_required(records, "scheduled_hour", Int8)?,
            scheduled_departure: plan.compute_required(records, "scheduled_departure", utc())?,
            departure: plan.compute(records, "departure", utc())?,
            scheduled_arrival: plan.compute(records, "scheduled_arrival", utc())?,
            arrival: plan.compute(records, "arrival", utc())?,
            dep_delay: plan.compute(records, "dep_delay", Int16)?,
            arr_delay: plan.compute(records, "arr_delay", Int16)?,
            air_time: plan.compute(records, "air_time", Int16)?,
            elapsed_time: plan.compute(records, "elapsed_time", Int16)?,
            distance: plan.compute_required(records, "distance", Int32)?,
            ground_speed: plan.compute(records, "ground_speed_mph", Float64)?,
            cancelled: plan.compute_required(records, "cancelled", Boolean)?,
            diverted: plan.compute_required(records, "diverted", Boolean)?,
        };
        Ok(Self { reads, origin_zone, dest_zone, columns })
    }

    fn process(&self, batch: Batch, outputs: &mut Outputs) -> Result<(), Failure> {
        let rows = batch.rows();
        let views = Views::new(self, &batch);
        let mut calendar = Calendar::new();
        let out = &self.columns;
        let mut selection = Selection::with_capacity(rows);
        let mut flight_id = out.flight_id.as_ref().map(|column| column.builder(rows * 3 / 2));
        let mut flight_date = out.flight_date.builder(rows);
        let mut flight = out.flight.builder(rows);
        let mut tailnum = out.tailnum.builder(rows);
        let mut scheduled_hour = out.scheduled_hour.builder(rows);
        let mut scheduled_departure = out.scheduled_departure.builder(rows);
        let mut departure = out.departure.builder(rows);
        let mut scheduled_arrival = out.scheduled_arrival.builder(rows);
        let mut arrival = out.arrival.builder(rows);
        let mut dep_delay = out.dep_delay.builder(rows);
        let mut arr_delay = out.arr_delay.builder(rows);
        let mut air_time = out.air_time.builder(rows);
        let mut elapsed_time = out.elapsed_time.builder(rows);
        let mut distance = out.distance.builder(rows);
        let mut ground_speed = out.ground_speed.builder(rows);
        let mut cancelled = out.cancelled.builder(rows);
        let mut diverted = out.diverted.builder(rows);

        for row in 0..rows {
            let record = match views.record(row, &mut calendar) {
                Ok(record) => record,
                Err(unread) => {
                    outputs.reject(row, unread.into());
                    continue;
                }
            };
            selection.push(row);
            if let Some(flight_id) = &mut flight_id {
                let carrier = views.carrier.value(row);
                flight_id.push_with(|id| record.write_id(carrier, id));
            }
            flight_date.push(record.date);
            flight.push(record.flight);
            tailnum.push_option(parse::present(&views.tailnum, row).then(|| views.tailnum.value(row)));
            scheduled_hour.push(record.scheduled_hour);
            scheduled_departure.push(micros(record.scheduled_departure));
            departure.push_option(record.departure.map(micros));
            scheduled_arrival.push_option(record.scheduled_arrival.map(micros));
            arrival.push_option(record.arrival.map(micros));
            dep_delay.push_option(record.dep_delay);
            arr_delay.push_option(record.arr_delay);
            air_time.push_option(record.air_time);
            elapsed_time.push_option(record.elapsed_time());
            distance.push(record.distance);
            ground_speed.push_option(record.ground_speed_mph());
            cancelled.push(record.departure.is_none());
            diverted.push(record.departure.is_some() && record.arr_delay.is_none());
        }

        if let (Some(column), Some(flight_id)) = (&out.flight_id, flight_id) {
            outputs.set(column, flight_id);
        }
        outputs.set(&out.flight_date, flight_date);
        outputs.set(&out.flight, flight);
        outputs.set(&out.tailnum, tailnum);
        outputs.set(&out.scheduled_hour, scheduled_hour);
        outputs.set(&out.scheduled_departure, scheduled_departure);
        outputs.set(&out.departure, departure);
        outputs.set(&out.scheduled_arrival, scheduled_arrival);
        outputs.set(&out.arrival, arrival);
        outputs.set(&out.dep_delay, dep_delay);
        outputs.set(&out.arr_delay, arr_delay);
        outputs.set(&out.air_time, air_time);
        outputs.set(&out.elapsed_time, elapsed_time);
        outputs.set(&out.distance, distance);
        outputs.set(&out.ground_speed, ground_speed);
        outputs.set(&out.cancelled, cancelled);
        outputs.set(&out.diverted, diverted);
        outputs.select(out.flight_date.output(), selection);
        Ok(())
    }
}

/// What was understood of a row. Instants are minutes since 1970-01-01T00:00Z.
struct Record {
    /// Days since 1970-01-01, in the origin's zone.
    date: i32,
    flight: i32,
    /// Local.
    scheduled_hour: i8,
    scheduled_departure: i64,
    departure: Option<i64>,
    scheduled_arrival: Option<i64>,
    arrival: Option<i64>,
    dep_delay: Option<i16>,
    arr_delay: Option<i16>,
    air_time: Option<i16>,
    distance: i32,
}

struct Views<'a> {
    dep_time: NumberColumn<'a>,
    sched_dep_time: NumberColumn<'a>,
    dep_delay: NumberColumn<'a>,
    arr_time: NumberColumn<'a>,
    sched_arr_time: NumberColumn<'a>,
    arr_delay: NumberColumn<'a>,
    carrier: Utf8Column<'a>,
    flight: NumberColumn<'a>,
    tailnum: Utf8Column<'a>,
    air_time: NumberColumn<'a>,
    distance: NumberColumn<'a>,
    time_hour: Utf8Column<'a>,
    origin_zone: zone::ZoneViews<'a>,
    dest_zone: zone::ZoneViews<'a>,
}

impl<'a> Views<'a> {
    fn new(of: &FlightsNormalize, batch: &'a Batch) -> Self {
        let reads = &of.reads;
        Self {
            dep_time: reads.dep_time.view(batch),
            sched_dep_time: reads.sched_dep_time.view(batch),
            dep_delay: reads.dep_delay.view(batch),
            arr_time: reads.arr_time.view(batch),
            sched_arr_time: reads.sched_arr_time.view(batch),
            arr_delay: reads.arr_delay.view(batch),
            carrier: batch.column(reads.carrier),
            flight: reads.flight.view(batch),
            tailnum: batch.column(reads.tailnum),
            air_time: reads.air_time.view(batch),
            distance: reads.distance.view(batch),
            time_hour: batch.column(reads.time_hour),
            origin_zone: of.origin_zone.view(batch),
            dest_zone: of.dest_zone.view(batch),
        }
    }

    fn record(&self, row: usize, calendar: &mut Calendar) -> Result<Record, Unread> {
        if !parse::present(&self.carrier, row) {
            return Err(Unread::Missing("carrier"));
        }
        let flight = self.flight.required(row, "flight")?;
        let distance = self.distance.required(row, "distance")?;
        let dep_delay = self.dep_delay.minutes(row, "dep_delay")?;
        let arr_delay = self.arr_delay.minutes(row, "arr_delay")?;
        let air_time = self.air_time.minutes(row, "air_time")?;
        let sched_dep_time = self.sched_dep_time.clock(row, "sched_dep_time")?;
        let sched_arr_time = self.sched_arr_time.clock(row, "sched_arr_time")?;
        let dep_time = self.dep_time.clock(row, "dep_time")?;
        let arr_time = self.arr_time.clock(row, "arr_time")?;

        let sched_dep_time = sched_dep_time.ok_or(Unread::Missing("sched_dep_time"))?;
        let hour = calendar.hour(self.time_hour.bytes(row)).ok_or(Unread::Time("time_hour"))?;
        let scheduled_departure = hour + sched_dep_time.minute_of_hour();

        // Where the dictionary does not know the origin, the two ways in which the schedule is written give its offset.
        let local = sched_dep_time.minute_of_day();
        let origin = self.origin_zone.get(row).unwrap_or_else(|| Zone::of_clock(scheduled_departure, local));
        let date = calendar.local_day(origin, scheduled_departure);
        let departure = dep_time.map(|clock| {
            let expected = scheduled_departure + i64::from(dep_delay.unwrap_or(0));
            calendar.nearest(origin, expected, clock)
        });
        let dest = self.dest_zone.get(row);
        let after = |calendar: &mut Calendar, start: Option<i64>, clock: Option<Clock>| {
            Some(calendar.first_after(dest?, start?, clock?))
        };
        let scheduled_arrival = after(calendar, Some(scheduled_departure), sched_arr_time);
        let arrival = after(calendar, departure, arr_time);
        Ok(Record {
            date,
            flight,
            scheduled_hour: sched_dep_time.hour(),
            scheduled_departure,
            departure,
            scheduled_arrival,
            arrival,
            dep_delay,
            arr_delay,
            air_time,
            distance,
        })
    }
}

impl Record {
    /// Scheduled departure in UTC, carrier and flight number: `20130101T1015-UA-1545`.
    fn write_id(&self, carrier: &str, id: &mut TextWriter<'_>) {
        let (year, month, day) = zone::date_of(self.scheduled_departure.div_euclid(zone::DAY));
        let minute = self.scheduled_departure.rem_euclid(zone::DAY);
        id.padded(year * 10_000 + month * 100 + day, 8);
        id.ascii(b'T').padded(minute / 60 * 100 + minute % 60, 4);
        id.ascii(b'-').str(carrier).ascii(b'-').integer(self.flight.into());
    }

    /// Gate to gate, in minutes.
    fn elapsed_time(&self) -> Option<i16> {
        i16::try_from(self.arrival? - self.departure?).ok()
    }

    fn ground_speed_mph(&self) -> Option<f64> {
        let minutes = self.air_time.filter(|minutes| *minutes > 0)?;
        Some(f64::from(self.distance) * 60.0 / f64::from(minutes))
    }
}

fn micros(minutes: i64) -> i64 {
    minutes * 60_000_000
}

impl From<Unread> for Reject {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Missing("carrier") => Self::new("missing-carrier", "there is no carrier").field("carrier"),
            Unread::Missing(field) => Self::new("missing-value", "there is no value").field(field),
            Unread::Number(field) => Self::new("bad-number", "it is not a whole number of the range").field(field),
            Unread::Time(field) => Self::new("bad-time", "it is not a time of day").field(field),
        }
    }
}

gristmill_guest::export!(FlightsNormalize);
