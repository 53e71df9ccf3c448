//! The contract as generated from `wit/transform.wit`. Use it only where the typed SDK stands in the way.

// Generated code crosses the canonical ABI, which cannot be done without `unsafe`.
#[allow(unsafe_code, clippy::all, clippy::unwrap_used, missing_docs, rust_2018_idioms)]
#[doc(hidden)]
pub mod bindings {
    wit_bindgen::generate!({
        path: "wit",
        world: "transformer",
        generate_all,
        generate_unused_types: true,
        additional_derives: [Clone, PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_component",
        default_bindings_module: "gristmill_guest::raw::bindings",
    });
}

pub use bindings::exports::gristmill::transform::transform::Guest;
pub use bindings::gristmill::transform::types::*;
