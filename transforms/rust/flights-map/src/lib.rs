//! Flights to the rows of two tables.
//!
//! `flights` is the payload with the names of its airline and airports; all of it is forwarded, so none of it crosses
//! the boundary. `delays` holds the flights that left or arrived late, with how late and how bad.
//!
//! A flight that an update makes punctual again leaves `delays`: its row there is deleted.

use gristmill_guest::{
    Batch, Failure, In, Int16, Operation, Out, Output, Outputs, Plan, Selection, Setup, Stage, Transform, UInt8, Utf8,
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// A flight is delayed if it left or arrived more than this late.
    delay_minutes: i16,
    /// A delay of at least this is large.
    large_minutes: i16,
}

impl Default for Config {
    fn default() -> Self {
        Self { delay_minutes: 60, large_minutes: 180 }
    }
}

pub struct FlightsMap {
    config: Config,
    dep_delay: In<Int16>,
    arr_delay: In<Int16>,
    operation: In<UInt8>,
    delays: Output,
    delay: Out<Int16>,
    class: Out<Utf8>,
}

impl Transform for FlightsMap {
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        setup.require_stage(&[Stage::Map])?;
        let config: Config = setup.config()?;
        if config.delay_minutes < 0 || config.large_minutes <= config.delay_minutes {
            let message = "delay_minutes must not be negative, and large_minutes must be larger";
            return Err(Failure::new("bad-config", message));
        }
        let airline = plan.lookup("airlines", "carrier", "name")?;
        let origin = plan.lookup("airports", "origin", "name")?;
        let dest = plan.lookup("airports", "dest", "name")?;

        let flights = plan.output("flights");
        for field in setup.input() {
            plan.forward(flights, &field.name)?;
            match field.name.as_str() {
                "carrier" => plan.forward_lookup(flights, "airline_name", &airline)?,
                "origin" => plan.forward_lookup(flights, "origin_name", &origin)?,
                "dest" => plan.forward_lookup(flights, "dest_name", &dest)?,
                _ => {}
            }
        }

        let delays = plan.output("delays");
        let identity = if setup.input_field("id").is_some() { "id" } else { "flight_id" };
        plan.forward(delays, identity)?;
        plan.forward(delays, "carrier")?;
        Ok(Self {
            config,
            dep_delay: plan.read("dep_delay")?,
            arr_delay: plan.read("arr_delay")?,
            operation: plan.read_operation(),
            delays,
            delay: plan.compute(delays, "delay_minutes", Int16)?,
            class: plan.compute(delays, "class", Utf8)?,
        })
    }

    fn process(&self, batch: Batch, outputs: &mut Outputs) -> Result<(), Failure> {
        let dep_delay = batch.column(self.dep_delay);
        let arr_delay = batch.column(self.arr_delay);
        let operations = batch.column(self.operation);
        // Most batches have few delays: about one flight in ten.
        let expected = batch.rows() / 8;
        let mut selection = Selection::with_capacity(expected);
        let mut of_row = Vec::with_capacity(expected);
        let mut delay = self.delay.builder(expected);
        let mut class = self.class.builder(expected);
        for row in 0..batch.rows() {
            let worst = dep_delay.get(row).max(arr_delay.get(row));
            let operation = Operation::from_code(operations.value(row));
            let delayed = worst.filter(|minutes| *minutes > self.config.delay_minutes);
            match (delayed, operation) {
                (None, Operation::Insert) => continue,
                (None, _) => {
                    delay.push_option(worst);
                    class.push_option(None);
                    of_row.push(Operation::Delete);
                }
                (Some(minutes), operation) => {
                    delay.push(minutes);
                    class.push(if minutes >= self.config.large_minutes { "large" } else { "small" });
                    of_row.push(operation);
                }
            }
            selection.push(row);
        }
        outputs.set(&self.delay, delay);
        outputs.set(&self.class, class);
        outputs.select(self.delays, selection);
        outputs.operations(self.delays, of_row);
        Ok(())
    }
}

gristmill_guest::export!(FlightsMap);
