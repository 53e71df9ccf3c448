//! The size of values in memory: what a page's `max_bytes` counts.
//!
//! A fixed-width value counts its width (a boolean 1), a text or binary its bytes and one offset, a list one offset and
//! its items, a struct its members. Validity is not counted.

use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait, RecordBatch};
use arrow::datatypes::DataType;

/// What a value of the type takes without its variable part.
pub(super) fn fixed_bytes(data_type: &DataType) -> usize {
    match data_type {
        DataType::Null => 0,
        DataType::Boolean => 1,
        DataType::Utf8 | DataType::Binary | DataType::List(_) | DataType::Map(_, _) => 4,
        DataType::LargeUtf8 | DataType::LargeBinary | DataType::LargeList(_) => 8,
        DataType::FixedSizeBinary(width) => usize::try_from(*width).unwrap_or(0),
        other => other.primitive_width().unwrap_or(0),
    }
}

/// The size of each row.
pub(super) fn row_bytes(batch: &RecordBatch) -> Vec<usize> {
    let mut sizes = vec![0; batch.num_rows()];
    for column in batch.columns() {
        add(column, &mut sizes);
    }
    sizes
}

fn add(array: &ArrayRef, sizes: &mut [usize]) {
    let fixed = fixed_bytes(array.data_type());
    sizes.iter_mut().for_each(|size| *size += fixed);
    match array.data_type() {
        DataType::Utf8 => add_lengths(array.as_string::<i32>().offsets(), sizes),
        DataType::LargeUtf8 => add_lengths(array.as_string::<i64>().offsets(), sizes),
        DataType::Binary => add_lengths(array.as_binary::<i32>().offsets(), sizes),
        DataType::LargeBinary => add_lengths(array.as_binary::<i64>().offsets(), sizes),
        DataType::List(_) => add_items(array.as_list::<i32>().values(), array.as_list::<i32>().offsets(), sizes),
        DataType::LargeList(_) => add_items(array.as_list::<i64>().values(), array.as_list::<i64>().offsets(), sizes),
        DataType::Map(_, _) => {
            for column in array.as_map().entries().columns() {
                add_items(column, array.as_map().offsets(), sizes);
            }
        }
        DataType::FixedSizeList(_, length) => {
            let items = item_bytes(array.as_fixed_size_list().values());
            let length = usize::try_from(*length).unwrap_or(0);
            if length > 0 {
                sizes
                    .iter_mut()
                    .zip(items.chunks(length))
                    .for_each(|(size, items)| *size += items.iter().sum::<usize>());
            }
        }
        DataType::Struct(_) => array.as_struct().columns().iter().for_each(|column| add(column, sizes)),
        _ => {}
    }
}

fn add_lengths<O: OffsetSizeTrait>(offsets: &[O], sizes: &mut [usize]) {
    for (size, ends) in sizes.iter_mut().zip(offsets.windows(2)) {
        *size += ends[1].as_usize() - ends[0].as_usize();
    }
}

fn item_bytes(items: &ArrayRef) -> Vec<usize> {
    let mut sizes = vec![0; items.len()];
    add(items, &mut sizes);
    sizes
}

fn add_items<O: OffsetSizeTrait>(items: &ArrayRef, offsets: &[O], sizes: &mut [usize]) {
    let items = item_bytes(items);
    for (size, ends) in sizes.iter_mut().zip(offsets.windows(2)) {
        *size += items[ends[0].as_usize()..ends[1].as_usize()].iter().sum::<usize>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, ListArray, StringArray};
    use arrow::datatypes::Int64Type;
    use std::sync::Arc;

    #[test]
    fn sizes_of_rows() {
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
        let batch = RecordBatch::try_from_iter([
            ("a", Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])) as ArrayRef),
            ("b", Arc::new(StringArray::from(vec!["", "xyz", "é"]))),
            ("c", Arc::new(lists)),
        ])
        .unwrap();
        assert_eq!(row_bytes(&batch), [4 + 4 + 4 + 16, 4 + 4 + 3 + 4, 4 + 4 + 2 + 4]);
        assert_eq!(row_bytes(&batch.slice(1, 1)), [15]);
    }
}
