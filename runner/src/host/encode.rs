//! Arrow arrays as the nodes and buffers of the contract. Buffers that already are what the contract asks for are
//! borrowed; the rest is un-sliced, rebased or unpacked into new ones.

use super::bindings::wit::Node;
use arrow::array::types::ByteArrayType;
use arrow::array::{Array, ArrayData, ArrayRef, AsArray, GenericByteArray, OffsetSizeTrait};
use arrow::buffer::{BooleanBuffer, Buffer, OffsetBuffer};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{ArrowNativeType, DataType};
use arrow::error::ArrowError;
use arrow::util::display::FormatOptions;

/// Columns in the shape of the contract.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    pub(super) nodes: Vec<Node>,
    pub(super) buffers: Vec<Buffer>,
}

impl Encoded {
    /// `columns` with the type as which each crosses ([`super::types::unpacked`]).
    pub(super) fn of<'a>(columns: impl IntoIterator<Item = (&'a ArrayRef, &'a DataType)>) -> Result<Self, ArrowError> {
        let mut encoded = Self::default();
        for (array, crossing) in columns {
            encoded.push(&unpack(array, crossing)?)?;
        }
        Ok(encoded)
    }

    pub(super) fn slices(&self) -> Vec<&[u8]> {
        self.buffers.iter().map(Buffer::as_slice).collect()
    }

    fn push(&mut self, array: &dyn Array) -> Result<(), ArrowError> {
        use DataType as T;
        let len = array.len();
        if *array.data_type() == T::Null {
            self.nodes.push(Node { length: count(len)?, null_count: count(len)? });
            return Ok(());
        }
        self.nodes.push(Node { length: count(len)?, null_count: count(array.null_count())? });
        self.buffers.push(match array.nulls() {
            Some(nulls) if nulls.null_count() > 0 => bits(nulls.inner()),
            _ => no_buffer(),
        });
        match array.data_type() {
            T::Boolean => self.buffers.push(bits(array.as_boolean().values())),
            T::Utf8 => self.push_bytes(array.as_string::<i32>()),
            T::LargeUtf8 => self.push_bytes(array.as_string::<i64>()),
            T::Binary => self.push_bytes(array.as_binary::<i32>()),
            T::LargeBinary => self.push_bytes(array.as_binary::<i64>()),
            T::List(_) => self.push_items(array.as_list::<i32>().offsets(), array.as_list::<i32>().values())?,
            T::LargeList(_) => self.push_items(array.as_list::<i64>().offsets(), array.as_list::<i64>().values())?,
            T::Map(..) => self.push_items(array.as_map().offsets(), array.as_map().entries())?,
            // The items and members of a slice are slices themselves.
            T::FixedSizeList(..) => self.push(array.as_fixed_size_list().values())?,
            T::Struct(_) => array.as_struct().columns().iter().try_for_each(|member| self.push(member))?,
            T::FixedSizeBinary(width) => self.push_fixed(&array.to_data(), width.as_usize()),
            other => match other.primitive_width() {
                Some(width) => self.push_fixed(&array.to_data(), width),
                None => return Err(ArrowError::NotYetImplemented(format!("{other} across the boundary"))),
            },
        }
        Ok(())
    }

    fn push_fixed(&mut self, data: &ArrayData, width: usize) {
        self.buffers.push(data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width));
    }

    fn push_bytes<T: ByteArrayType>(&mut self, array: &GenericByteArray<T>) {
        let (first, length) = self.push_offsets(array.offsets());
        self.buffers.push(array.values().slice_with_length(first, length));
    }

    fn push_items<O: OffsetSizeTrait>(
        &mut self,
        offsets: &OffsetBuffer<O>,
        items: &dyn Array,
    ) -> Result<(), ArrowError> {
        let (first, length) = self.push_offsets(offsets);
        self.push(&items.slice(first, length))
    }

    /// Pushes offsets that start at 0. Returns where the content starts and how long it is.
    fn push_offsets<O: OffsetSizeTrait>(&mut self, offsets: &OffsetBuffer<O>) -> (usize, usize) {
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        self.buffers.push(if first == O::zero() {
            offsets.inner().inner().clone()
        } else {
            offsets.iter().map(|offset| *offset - first).collect::<Vec<O>>().into()
        });
        (first.as_usize(), (last - first).as_usize())
    }
}

/// The array in the type as which it crosses.
fn unpack(array: &ArrayRef, crossing: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == crossing {
        return Ok(array.clone());
    }
    let strict = CastOptions { safe: false, format_options: FormatOptions::default() };
    cast_with_options(array, crossing, &strict)
}

/// The bits from bit 0 on, in exactly as many bytes as they need.
fn bits(bits: &BooleanBuffer) -> Buffer {
    bits.sliced().slice_with_length(0, bits.len().div_ceil(8))
}

fn no_buffer() -> Buffer {
    Buffer::from_vec(Vec::<u8>::new())
}

fn count(n: usize) -> Result<u32, ArrowError> {
    u32::try_from(n).map_err(|_| ArrowError::InvalidArgumentError(format!("{n} values in one array are too many")))
}

#[cfg(test)]
mod tests {
    use super::super::arbitrary::{Draw, array, batches, data_types};
    use super::super::bindings::wit::Node;
    use super::super::decode::decode;
    use super::super::types::{unpacked, unpacked_fields};
    use super::*;
    use arrow::array::{Int64Array, StringArray};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn owned(buffers: &[Buffer]) -> Vec<Vec<u8>> {
        buffers.iter().map(|buffer| buffer.to_vec()).collect()
    }

    /// Changes one thing about an encoding.
    fn mutate(draw: &mut Draw, nodes: &mut Vec<Node>, buffers: &mut Vec<Vec<u8>>) {
        let (node, buffer) = (draw.below(nodes.len()), draw.below(buffers.len()));
        let odd = [0, 1, 2, 7, 8, 9, 64, 255, 256, u32::MAX / 2, u32::MAX - 1, u32::MAX][draw.below(12)];
        match draw.below(9) {
            0 if !nodes.is_empty() => nodes[node].length = odd,
            1 if !nodes.is_empty() => nodes[node].null_count = odd,
            2 if !nodes.is_empty() => drop(nodes.remove(node)),
            3 => nodes.push(Node { length: odd, null_count: 0 }),
            4 if !buffers.is_empty() => drop(buffers.remove(buffer)),
            5 => buffers.push(vec![0; draw.below(9)]),
            6 if !buffers.is_empty() => {
                let len = draw.below(buffers[buffer].len() + 9);
                buffers[buffer].resize(len, 0xff);
            }
            _ if !buffers.is_empty() && !buffers[buffer].is_empty() => {
                let at = draw.below(buffers[buffer].len());
                buffers[buffer][at] ^= 1 << draw.below(8);
            }
            _ => {}
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn what_is_encoded_decodes_to_equal_columns(batch in batches(4, 40)) {
            let crossing = unpacked_fields(batch.schema_ref().fields()).unwrap();
            let encoded = Encoded::of(batch.columns().iter().zip(crossing.iter().map(|f| f.data_type()))).unwrap();
            let decoded = decode(&crossing, batch.num_rows(), &encoded.nodes, owned(&encoded.buffers)).unwrap();
            for ((field, column), decoded) in crossing.iter().zip(batch.columns()).zip(&decoded) {
                decoded.to_data().validate_full().unwrap();
                prop_assert_eq!(decoded, &unpack(column, field.data_type()).unwrap());
            }
        }

        #[test]
        fn a_changed_encoding_decodes_to_valid_columns_or_is_refused(
            data_type in data_types(), rows in 0usize..40, seed: u64, changes in 1usize..4,
        ) {
            let draw = &mut Draw::new(seed);
            let column = array(draw, &data_type, rows, true);
            let crossing = unpacked(&data_type).unwrap();
            let field = Arc::new(arrow::datatypes::Field::new("c", crossing.clone(), true));
            let Encoded { mut nodes, buffers } = Encoded::of([(&column, &crossing)]).unwrap();
            let mut buffers = owned(&buffers);
            (0..changes).for_each(|_| mutate(draw, &mut nodes, &mut buffers));
            if let Ok(columns) = decode(&[field], rows, &nodes, buffers) {
                columns[0].to_data().validate_full().unwrap();
            }
        }
    }

    #[test]
    fn exact_buffers_are_borrowed_and_slices_rebased() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4]));
        let encoded = Encoded::of([(&numbers, &DataType::Int64)]).unwrap();
        assert_eq!(encoded.buffers[1].as_ptr(), numbers.to_data().buffers()[0].as_ptr());

        let texts: ArrayRef = Arc::new(StringArray::from(vec!["ab", "c", "", "def"]).slice(1, 3));
        let encoded = Encoded::of([(&texts, &DataType::Utf8)]).unwrap();
        assert_eq!(encoded.nodes, [Node { length: 3, null_count: 0 }]);
        assert_eq!(encoded.buffers[0].len(), 0);
        assert_eq!(encoded.buffers[1].typed_data::<i32>(), [0, 1, 1, 4]);
        assert_eq!(encoded.buffers[2].as_slice(), b"cdef");
    }
}
