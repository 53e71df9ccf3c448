//! The trait that a transform implements.

use crate::batch::Batch;
use crate::failure::Failure;
use crate::outputs::Outputs;
use crate::plan::Plan;
use crate::setup::Setup;

/// A transform: plans once, then works batch by batch on whole columns.
///
/// For a first transform, or one that is not hot, [`crate::RowTransform`] is simpler.
///
/// # Rules
/// 1. `plan` MUST depend on the setup alone. The runner plans again for every batch, in a fresh instance, and refuses
///    a component whose plans differ.
/// 2. `process` MUST set every computed column of the plan, with one value for each output row.
/// 3. A row that cannot be transformed is a reject ([`Outputs::reject`]), never a panic and never a [`Failure`]. In
///    stages normalize and migrate it MUST also be left out of the selection.
/// 4. Rejects and failures MUST NOT say what a row holds: they are kept and shown to operators.
///
/// A panic ends the call. The runner tries again, then isolates the rows at fault as dead letters.
pub trait Transform: Sized {
    /// Reads the configuration and declares columns, look-ups and outputs. What it returns holds the handles.
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure>;

    /// Transforms one batch.
    fn process(&self, batch: Batch, outputs: &mut Outputs) -> Result<(), Failure>;
}
