//! Stage normalize: of the output's columns those whose inputs are there.

use crate::values::{MICROS_PER_DAY, SCALE, decimal_sum, trim, write_decimal};
use crate::{has, is};
use gristmill_guest::{
    Batch, Binary, Boolean, Builder, BytesBuilder, DataType, Date32, Decimal128, Failure, Field, Float64, In, Int8,
    Int32, Int64, Kind, List, Out, Output, Outputs, Plan, Reject, Selection, Setup, Struct, Time64, TimeUnit,
    Timestamp, UInt8, Utf8,
};
use std::ops::Range;

const DECIMAL: Decimal128 = Decimal128 { precision: 38, scale: SCALE as i8 };

type Visits = List<Struct>;

/// A mebibyte of this instance's memory, written so that it is truly taken.
fn hoard() {
    std::hint::black_box(Vec::leak(vec![1_u8; 1 << 20]));
}

#[derive(serde::Deserialize)]
struct Config {
    #[serde(default = "one")]
    step: i64,
}

fn one() -> i64 {
    1
}

pub struct Normalize {
    step: i64,
    records: Output,
    weight: Option<(In<Int64>, Out<Int64>)>,
    text: Option<Text>,
    decimals: Option<Decimals>,
    at: Option<(In<Timestamp>, Out<Date32>, Out<Time64>)>,
    count: Option<(In<Int64>, Out<Int64>, Out<Int64>)>,
    ratio: Option<(In<Float64>, Out<Float64>, Out<Boolean>)>,
    data: Option<(In<Binary>, Out<Binary>)>,
    numbers: Option<(In<List<Int64>>, Out<Int64>)>,
    place: Option<(In<Struct>, Out<Utf8>)>,
    visits: Option<(In<Visits>, Out<Visits>)>,
}

struct Text {
    read: In<Utf8>,
    text: Out<Utf8>,
    state: Out<UInt8>,
}

struct Decimals {
    amount: In<Decimal128>,
    fee: In<Decimal128>,
    total: Out<Decimal128>,
    negated: Out<Decimal128>,
    order: Out<Int8>,
    text: Out<Utf8>,
}

/// The rows that are not rejected.
enum Accepted {
    All(Range<usize>),
    Some(Vec<usize>),
}

impl Accepted {
    fn len(&self) -> usize {
        match self {
            Self::All(rows) => rows.len(),
            Self::Some(rows) => rows.len(),
        }
    }

    fn each(&self, mut take: impl FnMut(usize)) {
        match self {
            Self::All(rows) => rows.clone().for_each(take),
            Self::Some(rows) => rows.iter().for_each(|row| take(*row)),
        }
    }
}

impl Normalize {
    pub fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        let Config { step } = setup.config()?;
        if !(-1000..=1000).contains(&step) {
            return Err(Failure::new("bad-config", "step must be from -1000 to 1000"));
        }
        has(setup, "id", is(Int64))?;
        let records = plan.output("records");
        plan.forward(records, "id")?;
        let weight = match has(setup, "code", is(Utf8))? {
            true => {
                let name = plan.lookup("codes", "code", "name")?;
                plan.forward_lookup(records, "name", &name)?;
                let weight = plan.lookup("codes", "code", "weight")?;
                Some((plan.read_lookup(&weight)?, plan.compute_required(records, "weight", Int64)?))
            }
            false => None,
        };
        let text = match has(setup, "text", is(Utf8))? {
            true => Some(Text {
                read: plan.read("text")?,
                text: plan.compute(records, "text", Utf8)?,
                state: plan.compute_required(records, "text_state", UInt8)?,
            }),
            false => None,
        };
        let both = [has(setup, "amount", is(DECIMAL))?, has(setup, "fee", is(DECIMAL))?];
        let decimals = match both == [true; 2] {
            true => Some(Decimals {
                amount: plan.read("amount")?,
                fee: plan.read("fee")?,
                total: plan.compute(records, "total", DECIMAL)?,
                negated: plan.compute(records, "negated", DECIMAL)?,
                order: plan.compute(records, "order", Int8)?,
                text: plan.compute(records, "amount_text", Utf8)?,
            }),
            false => None,
        };
        let is_micros = |t: &DataType| matches!(t, DataType::Timestamp { unit: TimeUnit::Microsecond, .. });
        let at = match has(setup, "at", is_micros)? {
            true => {
                let day = plan.compute(records, "day", Date32)?;
                let time = plan.compute(records, "time", Time64(TimeUnit::Microsecond))?;
                Some((plan.read("at")?, day, time))
            }
            false => None,
        };
        let count = match has(setup, "count", is(Int64))? {
            true => {
                let next = plan.compute(records, "next", Int64)?;
                Some((plan.read("count")?, next, plan.compute(records, "mixed", Int64)?))
            }
            false => None,
        };
        let ratio = match has(setup, "ratio", is(Float64))? {
            true => {
                let half = plan.compute(records, "half", Float64)?;
                Some((plan.read("ratio")?, half, plan.compute(records, "finite", Boolean)?))
            }
            false => None,
        };
        let data = match has(setup, "data", is(Binary))? {
            true => Some((plan.read("data")?, plan.compute(records, "reversed", Binary)?)),
            false => None,
        };
        let numbers = match has(setup, "numbers", List::<Int64>::accepts)? {
            true => Some((plan.read("numbers")?, plan.compute(records, "sum", Int64)?)),
            false => None,
        };
        let place = match has(setup, "place", has_members([("city", DataType::Utf8), ("score", DataType::Int32)]))? {
            true => Some((plan.read("place")?, plan.compute(records, "city", Utf8)?)),
            false => None,
        };
        let visit = has_members([("page", DataType::Utf8), ("seconds", DataType::Int32)]);
        let is_visits = |t: &DataType| matches!(t, DataType::List(item) if visit(&item.data_type));
        let visits = match has(setup, "visits", is_visits)? {
            true => {
                let visit = Struct(vec![Field::new("page", DataType::Utf8), Field::new("seconds", DataType::Int32)]);
                Some((plan.read("visits")?, plan.compute(records, "visits", List(visit))?))
            }
            false => None,
        };
        Ok(Self { step, records, weight, text, decimals, at, count, ratio, data, numbers, place, visits })
    }

    pub fn process(&self, batch: Batch, outputs: &mut Outputs) {
        // A whole column of texts becomes lower case at once.
        let lower = self.text.as_ref().map(|text| batch.column(text.read).as_bytes().data().to_ascii_lowercase());
        let lower = lower.unwrap_or_default();
        let accepted = self.accepted(&batch, &lower, outputs);
        self.weights(&batch, &accepted, outputs);
        self.texts(&batch, &lower, &accepted, outputs);
        self.decimals(&batch, &accepted, outputs);
        self.numbers(&batch, &accepted, outputs);
        self.bytes(&batch, &accepted, outputs);
        self.nested(batch, &accepted, outputs);
        if let Accepted::Some(rows) = accepted {
            outputs.select(self.records, rows.into_iter().collect::<Selection>());
        }
    }

    fn accepted(&self, batch: &Batch, lower: &[u8], outputs: &mut Outputs) -> Accepted {
        let text = self.text.as_ref().map(|text| batch.column(text.read).as_bytes());
        let decimals = self.decimals.as_ref().map(|d| (batch.column(d.amount), batch.column(d.fee)));
        let count = self.count.as_ref().map(|(count, ..)| batch.column(*count));
        let reject_of = |row: usize| {
            if let Some(text) = &text
                && !text.is_null(row)
            {
                match trim(&lower[text.range(row)]) {
                    b"raise" => panic!("asked to raise"),
                    b"leave" => std::process::exit(3),
                    b"hoard" => hoard(),
                    b"reject" => return Some(Reject::new("refused", "the text asks to be refused").field("text")),
                    _ => {}
                }
            }
            if let Some((amount, fee)) = &decimals
                && let (Some(amount), Some(fee)) = (amount.get(row), fee.get(row))
                && decimal_sum(amount, fee).is_none()
            {
                return Some(Reject::new("overflow", "the total has more than 38 digits").field("amount"));
            }
            if let Some(count) = count.and_then(|count| count.get(row))
                && count.checked_add(self.step).is_none()
            {
                return Some(Reject::new("overflow", "the next count does not fit int64").field("count"));
            }
            None
        };
        let mut kept = Vec::new();
        let mut rejected = 0;
        for row in 0..batch.rows() {
            match reject_of(row) {
                Some(reject) => {
                    if rejected == 0 {
                        kept.extend(0..row);
                    }
                    rejected += 1;
                    outputs.reject(row, reject);
                }
                None if rejected > 0 => kept.push(row),
                None => {}
            }
        }
        if rejected == 0 {
            return Accepted::All(0..batch.rows());
        }
        outputs.message(format!("{rejected} of {} rows rejected", batch.rows()));
        Accepted::Some(kept)
    }

    fn weights(&self, batch: &Batch, accepted: &Accepted, outputs: &mut Outputs) {
        let Some((read, out)) = &self.weight else { return };
        let column = batch.column(*read);
        let mut weight = out.builder(accepted.len());
        accepted.each(|row| weight.push(column.get(row).unwrap_or(-1)));
        outputs.set(out, weight);
    }

    fn texts(&self, batch: &Batch, lower: &[u8], accepted: &Accepted, outputs: &mut Outputs) {
        let Some(Text { read, text: out, state }) = &self.text else { return };
        let column = batch.column(*read).as_bytes();
        let mut text = BytesBuilder::<i32>::with_capacity(accepted.len(), lower.len());
        let mut states = state.builder(accepted.len());
        accepted.each(|row| {
            if column.is_null(row) {
                text.push_null();
                states.push(0);
                return;
            }
            let folded = trim(&lower[column.range(row)]);
            text.push(folded);
            states.push(if folded.is_empty() { 1 } else { 2 });
        });
        outputs.set_data(out, text.finish());
        outputs.set(state, states);
    }

    fn decimals(&self, batch: &Batch, accepted: &Accepted, outputs: &mut Outputs) {
        let Some(decimals) = &self.decimals else { return };
        let (amount, fee) = (batch.column(decimals.amount), batch.column(decimals.fee));
        let mut total = decimals.total.builder(accepted.len());
        let mut negated = decimals.negated.builder(accepted.len());
        let mut order = decimals.order.builder(accepted.len());
        let mut text = BytesBuilder::<i32>::with_capacity(accepted.len(), accepted.len() * 24);
        accepted.each(|row| {
            let (amount, fee) = (amount.get(row), fee.get(row));
            let both = amount.zip(fee);
            total.push_option(both.and_then(|(amount, fee)| decimal_sum(amount, fee)));
            negated.push_option(amount.map(|amount| -amount));
            order.push_option(both.map(|(amount, fee)| amount.cmp(&fee) as i8));
            match amount {
                Some(amount) => text.push_with(|out| write_decimal(amount, out)),
                None => text.push_null(),
            }
        });
        outputs.set(&decimals.total, total);
        outputs.set(&decimals.negated, negated);
        outputs.set(&decimals.order, order);
        outputs.set_data(&decimals.text, text.finish());
    }

    fn numbers(&self, batch: &Batch, accepted: &Accepted, outputs: &mut Outputs) {
        if let Some((read, day_out, time_out)) = &self.at {
            let column = batch.column(*read);
            let mut day = day_out.builder(accepted.len());
            let mut time = time_out.builder(accepted.len());
            accepted.each(|row| {
                let at = column.get(row);
                // A day count of 64-bit microseconds always fits 32 bits.
                day.push_option(at.map(|at| at.div_euclid(MICROS_PER_DAY) as i32));
                time.push_option(at.map(|at| at.rem_euclid(MICROS_PER_DAY)));
            });
            outputs.set(day_out, day);
            outputs.set(time_out, time);
        }
        if let Some((read, next_out, mixed_out)) = &self.count {
            let column = batch.column(*read);
            let mut next = next_out.builder(accepted.len());
            let mut mixed = mixed_out.builder(accepted.len());
            accepted.each(|row| {
                let count = column.get(row);
                next.push_option(count.map(|count| count.wrapping_add(self.step)));
                mixed.push_option(count.map(|count| count.wrapping_mul(31).wrapping_add(7)));
            });
            outputs.set(next_out, next);
            outputs.set(mixed_out, mixed);
        }
        if let Some((read, half_out, finite_out)) = &self.ratio {
            let column = batch.column(*read);
            let mut half = half_out.builder(accepted.len());
            let mut finite = finite_out.builder(accepted.len());
            accepted.each(|row| {
                let ratio = column.get(row);
                half.push_option(ratio.map(|ratio| if ratio.is_nan() { f64::NAN } else { ratio * 0.5 }));
                finite.push_option(ratio.map(f64::is_finite));
            });
            outputs.set(half_out, half);
            outputs.set(finite_out, finite);
        }
    }

    fn bytes(&self, batch: &Batch, accepted: &Accepted, outputs: &mut Outputs) {
        let Some((read, out)) = &self.data else { return };
        let column = batch.column(*read);
        let mut reversed = BytesBuilder::<i32>::with_capacity(accepted.len(), column.data().len());
        accepted.each(|row| match column.get(row) {
            Some(data) => reversed.push_with(|out| out.extend(data.iter().rev())),
            None => reversed.push_null(),
        });
        outputs.set(out, reversed);
    }

    fn nested(&self, mut batch: Batch, accepted: &Accepted, outputs: &mut Outputs) {
        if let Some((read, out)) = &self.numbers {
            let column = batch.column(*read);
            let items = column.items();
            let mut sum = out.builder(accepted.len());
            accepted.each(|row| {
                let add = |sum: i64, item: usize| sum.wrapping_add(items.get(item).unwrap_or(0));
                sum.push_option(column.get(row).map(|range| range.fold(0, add)));
            });
            outputs.set(out, sum);
        }
        if let Some((read, out)) = &self.place {
            let places = batch.column(*read);
            let mut city = out.builder(accepted.len());
            if let Some(cities) = places.member::<Utf8>("city") {
                accepted.each(|row| city.push_option(cities.get(row).filter(|_| !places.is_null(row))));
            }
            outputs.set(out, city);
        }
        if let Some((read, out)) = &self.visits {
            match accepted {
                Accepted::All(_) => outputs.set_data(out, batch.take(*read)),
                Accepted::Some(_) => {
                    let visits = copy_visits(&batch, *read, out, accepted);
                    outputs.set(out, visits);
                }
            }
        }
    }
}

/// The lists of the accepted rows.
fn copy_visits(batch: &Batch, read: In<Visits>, out: &Out<Visits>, accepted: &Accepted) -> <Visits as Kind>::Builder {
    let column = batch.column(read);
    let items = column.items();
    let mut visits = out.builder(accepted.len());
    let mut page = Utf8.builder(items.len());
    let mut seconds = Int32.builder(items.len());
    let members = items.member::<Utf8>("page").zip(items.member::<Int32>("seconds"));
    accepted.each(|row| match column.get(row) {
        None => visits.push_null(),
        Some(range) => {
            for item in range {
                match items.is_null(item) {
                    true => visits.items().push_null(),
                    false => visits.items().push_valid(),
                }
                if let Some((pages, of_pages)) = &members {
                    page.push_option(pages.get(item));
                    seconds.push_option(of_pages.get(item));
                }
            }
            visits.end_value();
        }
    });
    visits.items().set_member(0, page);
    visits.items().set_member(1, seconds);
    visits
}

fn has_members<const N: usize>(expected: [(&'static str, DataType); N]) -> impl Fn(&DataType) -> bool {
    move |data_type| match data_type {
        DataType::Struct(members) => {
            let found = members.iter().map(|member| (member.name.as_str(), &member.data_type));
            found.eq(expected.iter().map(|(name, data_type)| (*name, data_type)))
        }
        _ => false,
    }
}
