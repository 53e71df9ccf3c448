//! Logical schemas: what is frozen under a schema id.
