//! Gives back every input column as a computed one, so that all of it crosses the boundary both ways.
//!
//! It serves every stage. Its one output is named `records`; the configuration `{"output": "flights"}` renames it for
//! stage map. Use it to measure the boundary, never to move data: a forwarded column does not cross at all.

use gristmill_guest::{Any, Batch, Failure, In, Out, Outputs, Plan, Setup, Transform};

pub struct Identity {
    columns: Vec<(In<Any>, Out<Any>)>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(default = "records")]
    output: String,
}

fn records() -> String {
    "records".to_owned()
}

impl Transform for Identity {
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        let config: Config = setup.config()?;
        let output = plan.output(&config.output);
        let mut columns = Vec::with_capacity(setup.input().len());
        for field in setup.input() {
            let read = plan.read::<Any>(&field.name)?;
            let kind = Any(field.data_type.clone());
            let column = if field.nullable {
                plan.compute(output, &field.name, kind)?
            } else {
                plan.compute_required(output, &field.name, kind)?
            };
            columns.push((read, column));
        }
        Ok(Self { columns })
    }

    fn process(&self, mut batch: Batch, outputs: &mut Outputs) -> Result<(), Failure> {
        for (read, column) in &self.columns {
            outputs.set_data(column, batch.take(*read));
        }
        Ok(())
    }
}

gristmill_guest::export!(Identity);

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_guest::testing::{Harness, Table};
    use gristmill_guest::{DataType, Field, Stage};

    #[test]
    fn every_column_comes_back_from_the_component() {
        let input = Table::new()
            .field(Field::required("n", DataType::Int64), [1i64, 2])
            .column("t", DataType::Utf8, [Some("a"), None])
            .column("l", DataType::list(DataType::Utf8), [None::<&str>, None]);
        let harness = Harness::new(Stage::Map).config(r#"{"output": "flights"}"#);
        assert_eq!(harness.run::<Identity>(&input).unwrap().output("flights"), &input);
        assert_eq!(harness.batch::<Identity>(&input).unwrap().columns.nodes.len(), 4, "all of it crosses");
    }
}
