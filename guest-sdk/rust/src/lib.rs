#![doc = include_str!("../README.md")]

mod batch;
mod build;
mod column;
mod failure;
mod kind;
pub mod native;
mod number;
mod outputs;
mod plan;
pub mod raw;
mod row;
mod setup;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod transform;
mod types;

pub use batch::Batch;
pub use build::*;
pub use column::*;
pub use failure::{Failure, Reject};
pub use kind::*;
pub use number::{F16, I256};
pub use outputs::{Operation, Outputs, Selection};
pub use plan::{In, LookupColumn, Out, Output, Plan};
pub use row::{OutputRow, Row, RowOutputs, RowTransform, Rows};
pub use setup::{Dictionary, Setup};
pub use transform::Transform;
pub use types::{DataType, Field, Stage, TimeUnit};

/// Exports a [`Transform`] as the component. Once in a crate, at its root.
///
/// Outside WASM it exports nothing, so that a test or a benchmark may link any number of transforms.
#[macro_export]
macro_rules! export {
    ($transform:ty) => {
        // The exports are those of the canonical ABI, which is `unsafe` by nature.
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            struct Component;
            impl $crate::raw::Guest for Component {
                fn plan(setup: $crate::raw::Setup) -> Result<$crate::raw::Plan, $crate::raw::Failure> {
                    $crate::native::plan::<$transform>(setup)
                }
                fn process(
                    setup: $crate::raw::Setup,
                    batch: $crate::raw::Batch,
                ) -> Result<$crate::raw::Processed, $crate::raw::Failure> {
                    $crate::native::process::<$transform>(setup, batch)
                }
            }
    $crate::raw::bindings::export_component!(Component with_types_in $crate::raw::bindings);
        };
    };
}
