//! Canonical content: what a row *says*, as bytes that do not depend on how Arrow happens to hold it.
//!
//! Two functions stand on the same encoding: [`row_hashes`] tells a sink whether a row of the same version says the
//! same, and [`digest_outputs`] lets a replay prove that the pinned code still gives the same rows. Both results are
//! stored in targets and receipts, so the encoding is **version 1** ([`VERSION`]) and never changes under that number.
//!
//! # What does not matter
//! Slices and offsets, spare bits, whatever lies behind a null, dictionary or run-end encoding, views, the width of
//! offsets (`utf8` and `large_utf8` are one type, and so are `list`, `large_list` and list views), nullability flags,
//! field metadata, the names of list items and map entries, the payload and sign of a NaN.
//!
//! # What does
//! Every value, every null (`NULL` is not the empty text), the order of rows and columns, types with their parameters
//! (`decimal128(10,2)` is not `decimal128(11,2)`), and the sign of zero (`-0.0` is not `0.0`).
//!
//! # Types as text
//! `null`, `boolean`, `int8`…`uint64`, `float16`…`float64`, `decimal128(p,s)` (also 32, 64, 256), `utf8`, `binary`,
//! `fixed-size-binary(n)`, `date32`, `date64`, `time32(unit)`, `time64(unit)`, `timestamp(unit)` or
//! `timestamp(unit,zone)`, `duration(unit)`, `interval(unit)`, `list(T)`, `fixed-size-list(n,T)`,
//! `struct(l:name T,…)` where `l` is the length of the name in bytes, `map(K,V)`, `union(id l:name T,…)`. Units are `s`,
//! `ms`, `us` and `ns`.
//!
//! # Row hash
//! `X(bytes, seed)` is XXH3 with 64 bits, `K(T)` is `X(text of T, 0)`, and sums wrap around. A row's hash starts as
//! `X("gristmill/row/1", 0)` and takes in one column after the other; `h` becomes
//!
//! | value of type T | the new `h` |
//! |---|---|
//! | null | `X("", h + K(null))` |
//! | boolean | `X(one byte 0 or 1, h + K(T))` |
//! | fixed width | `X(the value's bytes, little-endian, h + K(T))` |
//! | text, binary | `X(the bytes, h + K(T))` |
//! | list, map | `X(number of items as u64 little-endian, h + K(T))`, then each item in turn (of a map: a struct `key`, `value`) |
//! | struct | `X(one byte 1, h + K(T))`, then each member in turn |
//! | union | `X(one byte type id, h + K(T))`, then the member |
//!
//! # Digest
//! SHA-256 over `gristmill/rows/1`, then for each output a byte 1 followed by: its name, the number of its columns, name
//! and type text of each column, the number of rows, then the operations (as a `uint8` column), the versions (as a
//! `binary` column) and the columns in order; after the last output a byte 0. Numbers are LEB128; names and texts are
//! their length as a number and their bytes. A column is its validity and the values of its non-null slots:
//!
//! | part | bytes |
//! |---|---|
//! | validity | a byte 0 when nothing is null, else a byte 1 and one bit for each slot, lowest bit first, spare bits 0 |
//! | null | nothing at all, not even validity |
//! | boolean | one bit for each value, lowest bit first, spare bits 0 |
//! | fixed width | the values, little-endian |
//! | text, binary | the length of each value as a number; then the bytes of all values |
//! | list, map | the length of each value as a number; then the items of all values as a column |
//! | fixed-size list | the items of all values as a column |
//! | struct | each member as a column |
//! | union | one byte type id for each value; then each member's values as a column |

mod column;
mod types;

use arrow::array::{Array, ArrayRef, BinaryArray, RecordBatch, UInt8Array, UInt64Array};
use column::{Column, put_number, put_text};
use gristmill_core::digest::{Digest, Hasher};
use std::sync::Arc;
pub(crate) use types::type_text;
use xxhash_rust::xxh3::xxh3_64;

/// The version of the encoding that this module describes.
pub const VERSION: u32 = 1;

/// The content hash of each row, over all columns in order; never null.
pub fn row_hashes(rows: &RecordBatch) -> UInt64Array {
    let mut hashes = vec![xxh3_64(b"gristmill/row/1"); rows.num_rows()];
    for array in rows.columns() {
        Column::of(array).fold_into(&mut hashes);
    }
    UInt64Array::from(hashes)
}

/// Digest of the logical values of all outputs of a batch: name, rows, operation codes and versions of each, in
/// the mapper's order.
pub fn digest_outputs<'a>(
    outputs: impl Iterator<Item = (&'a str, &'a RecordBatch, &'a UInt8Array, &'a BinaryArray)>,
) -> Digest {
    let mut hasher = Hasher::new();
    encode_outputs(outputs, &mut |bytes| hasher.update(bytes));
    hasher.finish()
}

fn encode_outputs<'a>(
    outputs: impl Iterator<Item = (&'a str, &'a RecordBatch, &'a UInt8Array, &'a BinaryArray)>,
    put: &mut dyn FnMut(&[u8]),
) {
    put(b"gristmill/rows/1");
    for (name, rows, operations, versions) in outputs {
        put(&[1]);
        put_text(name, put);
        put_number(rows.num_columns(), put);
        for field in rows.schema_ref().fields() {
            put_text(field.name(), put);
            put_text(&type_text(field.data_type()), put);
        }
        put_number(rows.num_rows(), put);
        let bookkeeping: [ArrayRef; 2] = [Arc::new(operations.clone()), Arc::new(versions.clone())];
        for array in bookkeeping.iter().chain(rows.columns()) {
            Column::of(array).encode(std::slice::from_ref(&(0..array.len())), put);
        }
    }
    put(&[0]);
}

#[cfg(test)]
pub(crate) mod tests;
