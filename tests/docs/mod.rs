//! Commands and pipelines of the documentation.
