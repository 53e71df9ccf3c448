//! The WASM host: engine, limits, the columnar boundary, stages.
