//! Runs a transform natively, as the runner would: look-ups are joined, forwarded columns and selections applied, the
//! answer checked against the contract. So a transform's own `cargo test` sees whole output rows.
//!
//! ```
//! # use gristmill_guest::*;
//! # struct Upper { name: In<Utf8>, upper: Out<Utf8> }
//! # impl Transform for Upper {
//! #     fn plan(_: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
//! #         let records = plan.output("records");
//! #         plan.forward(records, "id")?;
//! #         Ok(Self { name: plan.read("name")?, upper: plan.compute(records, "upper", Utf8)? })
//! #     }
//! #     fn process(&self, batch: Batch, outputs: &mut Outputs) -> Result<(), Failure> {
//! #         let mut upper = self.upper.builder(batch.rows());
//! #         batch.column(self.name).iter().for_each(|name| upper.push_option(name.map(str::to_uppercase).as_deref()));
//! #         outputs.set(&self.upper, upper);
//! #         Ok(())
//! #     }
//! # }
//! use gristmill_guest::testing::{Harness, Table};
//!
//! let input = Table::from_csv("id,name\n1,ann\n2,\n", &[("id", DataType::Int64), ("name", DataType::Utf8)], "");
//! let run = Harness::new(Stage::Normalize).run::<Upper>(&input).unwrap();
//! assert_eq!(run.output("records").to_string(), "id | upper\n1 | ANN\n2 | null\n");
//! ```

mod check;
mod csv;
mod harness;
mod table;
mod value;

pub use harness::{Harness, Run, RunError};
pub use table::Table;
pub use value::Value;
