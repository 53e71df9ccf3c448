//! Arrow arrays as the nodes and buffers of the contract. Buffers that already are what the contract asks for are
//! borrowed; the rest is un-sliced, rebased or unpacked into new ones.

use super::bindings::wit::Node;
use arrow::array::{Array, ArrayData, ArrayRef};
use arrow::buffer::{BooleanBuffer, Buffer};
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
            encoded.push(&unpack(array, crossing)?.to_data())?;
        }
        Ok(encoded)
    }

    pub(super) fn slices(&self) -> Vec<&[u8]> {
        self.buffers.iter().map(Buffer::as_slice).collect()
    }

    fn push(&mut self, data: &ArrayData) -> Result<(), ArrowError> {
        use DataType as T;
        let (offset, len) = (data.offset(), data.len());
        let null_count = if *data.data_type() == T::Null { len } else { data.null_count() };
        self.nodes.push(Node { length: count(len)?, null_count: count(null_count)? });
        if *data.data_type() == T::Null {
            return Ok(());
        }
        self.buffers.push(match data.nulls() {
            Some(nulls) if nulls.null_count() > 0 => bits(nulls.inner()),
            _ => no_buffer(),
        });
        match data.data_type() {
            T::Boolean => self.buffers.push(bits(&BooleanBuffer::new(data.buffers()[0].clone(), offset, len))),
            T::Utf8 | T::Binary => self.push_bytes::<i32>(data),
            T::LargeUtf8 | T::LargeBinary => self.push_bytes::<i64>(data),
            T::List(_) | T::Map(..) => self.push_list::<i32>(data)?,
            T::LargeList(_) => self.push_list::<i64>(data)?,
            T::FixedSizeList(_, size) => {
                let size = size.as_usize();
                self.push(&window(&data.child_data()[0], offset * size, len * size))?;
            }
            T::Struct(_) => {
                for child in data.child_data() {
                    self.push(&window(child, offset, len))?;
                }
            }
            T::FixedSizeBinary(width) => self.push_fixed(data, width.as_usize()),
            other => match other.primitive_width() {
                Some(width) => self.push_fixed(data, width),
                None => return Err(ArrowError::NotYetImplemented(format!("{other} across the boundary"))),
            },
        }
        Ok(())
    }

    fn push_fixed(&mut self, data: &ArrayData, width: usize) {
        self.buffers.push(data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width));
    }

    fn push_bytes<O: ArrowNativeType>(&mut self, data: &ArrayData) {
        let (first, length) = self.push_offsets::<O>(data);
        self.buffers.push(data.buffers()[1].slice_with_length(first, length));
    }

    fn push_list<O: ArrowNativeType>(&mut self, data: &ArrayData) -> Result<(), ArrowError> {
        let (first, length) = self.push_offsets::<O>(data);
        self.push(&window(&data.child_data()[0], first, length))
    }

    /// Pushes offsets that start at 0. Returns where the content starts and how long it is.
    fn push_offsets<O: ArrowNativeType>(&mut self, data: &ArrayData) -> (usize, usize) {
        let all = data.buffers()[0].typed_data::<O>();
        // An empty array may come without even the one offset that it should have.
        let Some(offsets) = all.get(data.offset()..=data.offset() + data.len()) else {
            self.buffers.push(Buffer::from_vec(vec![O::default()]));
            return (0, 0);
        };
        let (first, last) = (offsets[0].as_usize(), offsets[data.len()].as_usize());
        self.buffers.push(if first == 0 {
            let width = size_of::<O>();
            data.buffers()[0].slice_with_length(data.offset() * width, (data.len() + 1) * width)
        } else {
            offsets.iter().map(|offset| O::usize_as(offset.as_usize() - first)).collect::<Vec<O>>().into()
        });
        (first, last - first)
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

fn window(data: &ArrayData, offset: usize, len: usize) -> ArrayData {
    if offset == 0 && len == data.len() { data.clone() } else { data.slice(offset, len) }
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
