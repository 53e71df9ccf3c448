//! Content hashes of rows and digests of mapped outputs, over logical values.
