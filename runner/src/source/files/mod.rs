//! Files, locally or in an object store.
