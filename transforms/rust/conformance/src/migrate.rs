//! Stage migrate: every column back as it is, computed.

use gristmill_guest::{Any, Batch, Failure, In, Out, Outputs, Plan, Setup};

pub struct Migrate {
    columns: Vec<(In<Any>, Out<Any>)>,
}

impl Migrate {
    pub fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        let records = plan.output("records");
        let mut columns = Vec::with_capacity(setup.input().len());
        for field in setup.input() {
            let kind = Any(field.data_type.clone());
            let column = match field.nullable {
                true => plan.compute(records, &field.name, kind)?,
                false => plan.compute_required(records, &field.name, kind)?,
            };
            columns.push((plan.read(&field.name)?, column));
        }
        Ok(Self { columns })
    }

    pub fn process(&self, mut batch: Batch, outputs: &mut Outputs) {
        for (read, column) in &self.columns {
            outputs.set_data(column, batch.take(*read));
        }
    }
}
