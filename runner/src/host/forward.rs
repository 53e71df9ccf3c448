//! Selections, and the columns that the runner hands through them without the guest ever seeing a value.

use super::budget::{Budget, Cost};
use super::fault::Fault;
use super::limits::ITEMS_MAX;
use arrow::array::{Array, ArrayData, ArrayRef, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{ArrowNativeType, DataType};

/// The rows of the input that an output's rows come from, checked.
#[derive(Debug)]
pub(super) enum Checked {
    /// Each row once, in order.
    All,
    Rows {
        rows: UInt32Array,
        /// No row comes twice, so nothing grows.
        ascending: bool,
    },
}

impl Checked {
    /// `output_rows` is what the guest says that the output has.
    pub(super) fn new(selection: Option<Vec<u32>>, output_rows: u32, input_rows: usize) -> Result<Self, String> {
        let output_rows = output_rows as usize;
        let Some(rows) = selection else {
            return match output_rows {
                n if n == input_rows => Ok(Self::All),
                n => Err(format!("it has {n} rows without a selection, the input has {input_rows}")),
            };
        };
        if rows.len() != output_rows {
            return Err(format!("its selection has {} rows, it has {output_rows}", rows.len()));
        }
        if rows.len() > ITEMS_MAX {
            return Err(format!("its selection has {} rows, more than {ITEMS_MAX}", rows.len()));
        }
        if rows.iter().max().is_some_and(|largest| *largest as usize >= input_rows) {
            return Err(format!("its selection leads beyond the input's {input_rows} rows"));
        }
        let ascending = rows.windows(2).all(|pair| pair[0] < pair[1]);
        if ascending && rows.len() == input_rows {
            return Ok(Self::All);
        }
        Ok(Self::Rows { rows: rows.into(), ascending })
    }
}

impl Budget {
    /// A column as the selection has it. A selection may repeat a large row millions of times: the size is computed
    /// before a byte of it is made.
    pub(super) fn forward(&mut self, column: &ArrayRef, selection: &Checked) -> Result<ArrayRef, Fault> {
        let Checked::Rows { rows, ascending } = selection else { return Ok(column.clone()) };
        let data = column.to_data();
        let bytes_before = cumulative_bytes(&data);
        let bytes = if *ascending {
            bytes_before(column.len())
        } else {
            rows.values().iter().map(|row| bytes_before(*row as usize + 1) - bytes_before(*row as usize)).sum()
        };
        self.charge(Cost { forwarded_bytes: bytes, ..Cost::default() })?;
        take(column, rows, None).map_err(|e| Fault::Runner { message: e.to_string() })
    }
}

/// Bytes of the first n values, about. Never falls as n grows.
fn cumulative_bytes(data: &ArrayData) -> Box<dyn Fn(usize) -> u64 + '_> {
    use DataType as T;
    let start = data.offset();
    match data.data_type() {
        T::Utf8 | T::Binary => cumulative_offsets::<i32>(data, |end| end as u64),
        T::LargeUtf8 | T::LargeBinary => cumulative_offsets::<i64>(data, |end| end as u64),
        T::List(_) | T::Map(..) => cumulative_offsets::<i32>(data, cumulative_bytes(&data.child_data()[0])),
        T::LargeList(_) => cumulative_offsets::<i64>(data, cumulative_bytes(&data.child_data()[0])),
        T::FixedSizeList(_, size) => {
            let (size, items) = (size.as_usize(), cumulative_bytes(&data.child_data()[0]));
            Box::new(move |n| items((start + n) * size) - items(start * size))
        }
        T::Struct(_) => {
            let members: Vec<_> = data.child_data().iter().map(cumulative_bytes).collect();
            Box::new(move |n| members.iter().map(|member| member(start + n) - member(start)).sum())
        }
        T::FixedSizeBinary(width) => fixed(width.as_usize()),
        T::Dictionary(keys, _) => fixed(keys.primitive_width().unwrap_or(8)),
        // What these share is not copied; 16 bytes is what a view takes.
        other => fixed(other.primitive_width().unwrap_or(16)),
    }
}

fn fixed(width: usize) -> Box<dyn Fn(usize) -> u64> {
    Box::new(move |n| (n * width.max(1)) as u64)
}

/// For types with offsets: what their content takes up to the n-th offset, and the offsets themselves.
fn cumulative_offsets<'a, O: ArrowNativeType>(
    data: &'a ArrayData,
    content: impl Fn(usize) -> u64 + 'a,
) -> Box<dyn Fn(usize) -> u64 + 'a> {
    let offsets = data.buffers()[0].typed_data::<O>().get(data.offset()..).unwrap_or_default();
    let first = offsets.first().map_or(0, |first| content(first.as_usize()));
    Box::new(move |n| match offsets.get(n) {
        Some(end) => content(end.as_usize()) - first + (n * size_of::<O>()) as u64,
        None => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Int64Array, ListArray, StringArray, StructArray};
    use arrow::datatypes::{Field, Int64Type};
    use std::sync::Arc;

    fn rows(rows: Vec<u32>, input_rows: usize) -> Checked {
        let output_rows = rows.len() as u32;
        Checked::new(Some(rows), output_rows, input_rows).unwrap()
    }

    #[test]
    fn selections_are_checked() {
        assert!(matches!(Checked::new(None, 3, 3), Ok(Checked::All)));
        assert!(Checked::new(None, 2, 3).unwrap_err().contains("without a selection"));
        assert!(Checked::new(Some(vec![0, 1]), 3, 3).unwrap_err().contains("selection has 2 rows"));
        assert!(Checked::new(Some(vec![0, 3]), 2, 3).unwrap_err().contains("beyond the input"));
        assert!(Checked::new(Some(vec![0]), 1, 0).unwrap_err().contains("beyond the input"));
        assert!(matches!(rows(vec![0, 1, 2], 3), Checked::All), "the whole input, spelt out");
        assert!(matches!(rows(vec![0, 2], 3), Checked::Rows { ascending: true, .. }));
        assert!(matches!(rows(vec![0, 0], 3), Checked::Rows { ascending: false, .. }));
    }

    #[test]
    fn forwarding_selects_repeats_and_reorders() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
        let mut budget = Budget::new(1 << 20, 24);
        let forwarded = budget.forward(&column, &rows(vec![2, 0, 0, 1], 3)).unwrap();
        assert_eq!(forwarded.as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(3), Some(1), Some(1), None]));
    }

    /// A kilobyte repeated a million times is a gigabyte: refused for its computed size, in each nesting.
    #[test]
    fn a_selection_cannot_blow_up_a_row() {
        let text: ArrayRef = Arc::new(StringArray::from(vec!["", &"x".repeat(1024), ""]));
        let field = |array: &ArrayRef| Arc::new(Field::new("item", array.data_type().clone(), true));
        let structure: ArrayRef = Arc::new(StructArray::from(vec![(field(&text), text.clone())]));
        let offsets = arrow::buffer::OffsetBuffer::from_lengths([1, 1, 1]);
        let list: ArrayRef = Arc::new(ListArray::new(field(&structure), offsets, structure.clone(), None));
        for column in [text, structure, list] {
            let mut budget = Budget::new(1 << 20, 4096);
            let blown_up = rows(vec![1; 1 << 20], 3);
            assert!(matches!(budget.forward(&column, &blown_up), Err(Fault::OutputCap { .. })));
            let sliced = column.slice(1, 2);
            let mut budget = Budget::new(1 << 20, 4096);
            let blown_up = rows(vec![0; 1 << 20], 2);
            assert!(matches!(budget.forward(&sliced, &blown_up), Err(Fault::OutputCap { .. })), "sliced");
            let mut budget = Budget::new(8 << 20, 4096);
            budget.forward(&column, &rows(vec![0; 100_000], 3)).unwrap();
        }
    }
}
