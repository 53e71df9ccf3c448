//! The conformance transform, as `tests/conformance/README.md` specifies it: the reference for every other language.

mod map;
mod migrate;
mod normalize;
mod values;

use gristmill_guest::{Batch, DataType, Failure, Kind, Outputs, Plan, Setup, Stage, Transform};

pub enum Conformance {
    Normalize(Box<normalize::Normalize>),
    Migrate(migrate::Migrate),
    Map(map::Map),
}

impl Transform for Conformance {
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        Ok(match setup.stage() {
            Stage::Normalize => Self::Normalize(Box::new(normalize::Normalize::plan(setup, plan)?)),
            Stage::Migrate => Self::Migrate(migrate::Migrate::plan(setup, plan)?),
            Stage::Map => Self::Map(map::Map::plan(setup, plan)?),
        })
    }

    fn process(&self, batch: Batch, outputs: &mut Outputs) -> Result<(), Failure> {
        match self {
            Self::Normalize(normalize) => normalize.process(batch, outputs),
            Self::Migrate(migrate) => migrate.process(batch, outputs),
            Self::Map(map) => map.process(batch, outputs),
        }
        Ok(())
    }
}

/// Whether the input has the column; a failure if it has it in a type that does not pass.
fn has(setup: &Setup, name: &str, passes: impl Fn(&DataType) -> bool) -> Result<bool, Failure> {
    match setup.input_field(name) {
        None => Ok(false),
        Some(field) if passes(&field.data_type) => Ok(true),
        Some(field) => {
            Err(Failure::new("wrong-type", format!("column `{name}` has the unexpected type {}", field.data_type)))
        }
    }
}

/// Whether a type is exactly the one that a kind computes.
fn is<K: Kind>(kind: K) -> impl Fn(&DataType) -> bool {
    move |data_type| *data_type == kind.data_type()
}

gristmill_guest::export!(Conformance);
