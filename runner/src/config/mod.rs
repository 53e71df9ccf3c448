//! From a pipeline file to a typed pipeline.
