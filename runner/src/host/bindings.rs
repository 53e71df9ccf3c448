//! The contract of `wit/`, as generated. Parameters borrow, so that a batch goes from Arrow's buffers straight into the
//! guest's memory.

wasmtime::component::bindgen!({
    path: "../wit",
    world: "transformer",
    ownership: Borrowing { duplicate_if_necessary: true },
    additional_derives: [PartialEq],
});

pub(super) use self::gristmill::transform::types as wit;
pub(super) use exports::gristmill::transform::transform::{Failure, Processed, Setup, TransformPlan as Plan};
