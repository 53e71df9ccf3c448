//! The flights of `pipelines/flights`, whole.
