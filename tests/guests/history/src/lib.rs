//! Follows flights through their schemas, in any stage, as its configuration says: forwards every column, and may add empty
//! ones, give a decimal another name and scale, and mark each row with the version that made it.

use gristmill_guest::{Batch, Decimal128, Failure, In, Int64, Out, Outputs, Plan, Setup, Transform, Utf8};

pub struct History {
    added: Vec<Out<Utf8>>,
    rescaled: Option<(In<Decimal128>, Out<Decimal128>, i128)>,
    mark: Option<(Out<Int64>, i64)>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(default)]
    output: Option<String>,
    #[serde(default)]
    add: Vec<String>,
    #[serde(default)]
    rescale: Option<Rescale>,
    #[serde(default)]
    mark: Option<Mark>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Rescale {
    from: String,
    to: String,
    precision: u8,
    scale: i8,
    /// Of the unscaled values.
    factor: i64,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    column: String,
    value: i64,
}

impl Transform for History {
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        let config: Config = setup.config()?;
        let output = plan.output(config.output.as_deref().unwrap_or("records"));
        let rescaled_from = config.rescale.as_ref().map(|rescale| rescale.from.as_str());
        for field in setup.input().iter().filter(|field| Some(field.name.as_str()) != rescaled_from) {
            plan.forward(output, &field.name)?;
        }
        let rescaled = match &config.rescale {
            None => None,
            Some(rescale) => {
                let kind = Decimal128 { precision: rescale.precision, scale: rescale.scale };
                Some((plan.read(&rescale.from)?, plan.compute(output, &rescale.to, kind)?, rescale.factor.into()))
            }
        };
        let mut added = Vec::new();
        for column in &config.add {
            added.push(plan.compute(output, column, Utf8)?);
        }
        let mark = match config.mark {
            None => None,
            Some(mark) => Some((plan.compute(output, &mark.column, Int64)?, mark.value)),
        };
        Ok(Self { added, rescaled, mark })
    }

    fn process(&self, batch: Batch, outputs: &mut Outputs) -> Result<(), Failure> {
        if let Some((from, to, factor)) = &self.rescaled {
            let values = batch.column(*from);
            let mut column = to.builder(batch.rows());
            for row in 0..batch.rows() {
                column.push_option(values.get(row).map(|value| value * factor));
            }
            outputs.set(to, column);
        }
        for added in &self.added {
            let mut column = added.builder(batch.rows());
            for _ in 0..batch.rows() {
                column.push_option(None::<&str>);
            }
            outputs.set(added, column);
        }
        if let Some((mark, value)) = &self.mark {
            let mut column = mark.builder(batch.rows());
            for _ in 0..batch.rows() {
                column.push(*value);
            }
            outputs.set(mark, column);
        }
        Ok(())
    }
}

gristmill_guest::export!(History);
