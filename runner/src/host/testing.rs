//! Test helpers: the guests that `make guests` builds, and hosts to run them.

use super::{Dictionaries, Host, HostLimits, PlanError, PlannedStage, Stage};
use arrow::datatypes::SchemaRef;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Where `make guests` puts components; `GRISTMILL_COMPONENTS` names another place.
pub fn components() -> PathBuf {
    match std::env::var_os("GRISTMILL_COMPONENTS") {
        Some(directory) => directory.into(),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/components")),
    }
}

/// The bytes of a component, by its label such as `identity@0.1.0`.
pub fn component(label: &str) -> Vec<u8> {
    let path = components().join(format!("{label}.wasm"));
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}: run `make guests`", path.display()))
}

/// A host with its cache in a directory of the test process.
pub fn host(limits: HostLimits) -> Host {
    static CACHE: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a temporary directory"));
    Host::new(CACHE.path(), limits).expect("a host")
}

/// Loads and plans a guest without dictionaries.
pub fn planned(
    host: &Host,
    label: &str,
    stage: Stage,
    config_json: &str,
    input: &SchemaRef,
) -> Result<PlannedStage, PlanError> {
    let component = host.load(&component(label)).unwrap_or_else(|e| panic!("{label}: {e}"));
    host.plan(&component, stage, config_json, input, &Dictionaries::new())
}
