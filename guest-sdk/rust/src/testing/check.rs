//! Checks columns against the contract, as the runner does.

use crate::column::{Array, OffsetSize, RawBytes};
use crate::types::DataType;

/// What is wrong with a column; nothing if it keeps the contract.
pub(super) fn column(array: Array<'_>) -> Result<(), String> {
    let len = array.len();
    let fail = |problem: String| Err(format!("column `{}` ({}): {problem}", array.field().name, array.data_type()));
    let buffers = array.buffers();
    if *array.data_type() != DataType::Null {
        let bits = &buffers[0];
        if bits.is_empty() {
            if array.null_count() != 0 {
                return fail(format!("{} nulls without a validity buffer", array.null_count()));
            }
        } else if bits.len() != len.div_ceil(8) {
            return fail(format!("{} bytes of validity for {len} values", bits.len()));
        } else {
            let nulls = (0..len).filter(|i| bits[i >> 3] >> (i & 7) & 1 == 0).count();
            if nulls != array.null_count() {
                return fail(format!("{nulls} nulls, but a null count of {}", array.null_count()));
            }
        }
    }
    let (bytes, ends) = match array.data_type() {
        DataType::Boolean => (Some(len.div_ceil(8)), None),
        DataType::Utf8 | DataType::Binary => (None, Some(offsets::<i32>(&buffers[1], len, buffers[2].len()))),
        DataType::LargeUtf8 | DataType::LargeBinary => (None, Some(offsets::<i64>(&buffers[1], len, buffers[2].len()))),
        DataType::List(_) | DataType::Map { .. } => (None, Some(offsets::<i32>(&buffers[1], len, child_len(array)))),
        DataType::LargeList(_) => (None, Some(offsets::<i64>(&buffers[1], len, child_len(array)))),
        other => (other.width().map(|width| width * len), None),
    };
    if let Some(bytes) = bytes.filter(|bytes| *bytes != buffers[1].len()) {
        return fail(format!("{} bytes of values, not {bytes}", buffers[1].len()));
    }
    let ends = match ends {
        Some(Err(problem)) => return fail(problem),
        Some(Ok(ends)) => ends,
        None => Vec::new(),
    };
    if matches!(array.data_type(), DataType::Utf8 | DataType::LargeUtf8) {
        let validity = array.validity();
        for (i, pair) in ends.windows(2).enumerate() {
            if validity.is_valid(i) && std::str::from_utf8(&buffers[2][pair[0]..pair[1]]).is_err() {
                return fail(format!("value {i} is not UTF-8"));
            }
        }
    }
    for child in array.children() {
        let expected = match array.data_type() {
            DataType::Struct(_) => len,
            DataType::FixedSizeList(_, size) => len * *size as usize,
            _ => child.len(),
        };
        if child.len() != expected {
            return fail(format!("child `{}` has {} values, not {expected}", child.field().name, child.len()));
        }
        column(child)?;
    }
    Ok(())
}

fn child_len(array: Array<'_>) -> usize {
    array.children().next().map_or(0, |child| child.len())
}

fn offsets<O: OffsetSize>(buffer: &[u8], len: usize, end: usize) -> Result<Vec<usize>, String> {
    let raw = O::Bytes::of(buffer);
    if raw.len() != len + 1 || buffer.len() != std::mem::size_of_val(raw) {
        return Err(format!("{} bytes of offsets for {len} values", buffer.len()));
    }
    let ends: Vec<usize> = raw.iter().map(|bytes| O::from_bytes(*bytes).to_index()).collect();
    let falls = ends.windows(2).any(|pair| pair[0] > pair[1]);
    if falls || ends[0] != 0 || ends[len] != end {
        return Err(format!("offsets do not rise from 0 to {end}"));
    }
    Ok(ends)
}
