//! The contract's two functions over the contract's own types, for any transform and without WASM.
//!
//! The component exports call exactly these, so tests and benchmarks that call them run the code that the runner runs.

use crate::batch::Batch;
use crate::outputs::Outputs;
use crate::plan::{Finished, Plan};
use crate::raw;
use crate::setup::Setup;
use crate::transform::Transform;

/// The transform's plan for a setup.
pub fn plan<T: Transform>(setup: raw::Setup) -> Result<raw::Plan, raw::Failure> {
    let (_, plan) = prepare::<T>(setup)?;
    Ok(plan.to_raw())
}

/// Transforms one batch that holds what the plan reads.
pub fn process<T: Transform>(setup: raw::Setup, batch: raw::Batch) -> Result<raw::Processed, raw::Failure> {
    let (transform, plan) = prepare::<T>(setup)?;
    let batch = Batch::from_raw(batch, &plan.reads).map_err(|failure| failure.into_raw())?;
    let mut outputs = Outputs::new(&plan, batch.rows());
    transform.process(batch, &mut outputs).map_err(|failure| failure.into_raw())?;
    Ok(outputs.finish(&plan))
}

pub(crate) fn prepare<T: Transform>(setup: raw::Setup) -> Result<(T, Finished), raw::Failure> {
    let setup = Setup::from_raw(setup).map_err(|failure| failure.into_raw())?;
    let mut plan = Plan::new(&setup);
    let transform = T::plan(&setup, &mut plan).map_err(|failure| failure.into_raw())?;
    Ok((transform, plan.finish()))
}
