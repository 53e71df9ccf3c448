//! Columns that a guest returned, as Arrow arrays. Everything is checked here: nothing that Arrow relies on is taken on
//! trust, and an error names the rule that was broken, never a value.

use super::bindings::wit::Node;
use super::limits::ITEMS_MAX;
use arrow::array::types::*;
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray, GenericBinaryArray,
    GenericListArray, GenericStringArray, GenericStringBuilder, MapArray, NullArray, OffsetSizeTrait, PrimitiveArray,
    StructArray, make_comparator,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::SortOptions;
use arrow::datatypes::{ArrowNativeType, DataType, Field, FieldRef, TimeUnit};
use std::cmp::Ordering;
use std::sync::Arc;

/// A rule of the contract that the columns break, as a sentence.
type Broken = String;

/// Builds the columns that `fields` describe, each of `rows` values, from exactly these nodes and buffers.
pub(super) fn decode(
    fields: &[FieldRef],
    rows: usize,
    nodes: &[Node],
    buffers: Vec<Vec<u8>>,
) -> Result<Vec<ArrayRef>, Broken> {
    let mut parts = Parts { nodes: nodes.iter(), buffers: buffers.into_iter() };
    let mut columns = Vec::with_capacity(fields.len());
    for field in fields {
        let column = parts.column(field, rows).map_err(|rule| format!("column `{}`: {rule}", field.name()))?;
        columns.push(column);
    }
    match (parts.nodes.len(), parts.buffers.len()) {
        (0, 0) => Ok(columns),
        (nodes, buffers) => Err(format!("{nodes} nodes and {buffers} buffers more than the plan's columns have")),
    }
}

struct Parts<'a> {
    nodes: std::slice::Iter<'a, Node>,
    buffers: std::vec::IntoIter<Vec<u8>>,
}

impl Parts<'_> {
    fn column(&mut self, field: &Field, rows: usize) -> Result<ArrayRef, Broken> {
        let column = self.array(field.data_type(), rows)?;
        no_nulls_where_none_may_be(field, &column)?;
        Ok(column)
    }

    fn array(&mut self, data_type: &DataType, len: usize) -> Result<ArrayRef, Broken> {
        use DataType as T;
        let node = *self.nodes.next().ok_or("there are fewer nodes than the plan's columns have")?;
        if node.length as usize != len {
            return Err(format!("a node has length {}, not {len}", node.length));
        }
        if len > ITEMS_MAX {
            return Err(format!("an array has {len} values, more than {ITEMS_MAX}"));
        }
        if *data_type == T::Null {
            // No buffer says which values are null: all are.
            if node.null_count != node.length {
                return Err(format!("a null array of {len} counts {} nulls", node.null_count));
            }
            return Ok(Arc::new(NullArray::new(len)));
        }
        let nulls = self.validity(len, node.null_count)?;
        Ok(match data_type {
            T::Boolean => Arc::new(BooleanArray::new(self.bits(len, "values")?, nulls)),
            T::Int8 => self.primitive::<Int8Type>(data_type, len, nulls)?,
            T::Int16 => self.primitive::<Int16Type>(data_type, len, nulls)?,
            T::Int32 => self.primitive::<Int32Type>(data_type, len, nulls)?,
            T::Int64 => self.primitive::<Int64Type>(data_type, len, nulls)?,
            T::UInt8 => self.primitive::<UInt8Type>(data_type, len, nulls)?,
            T::UInt16 => self.primitive::<UInt16Type>(data_type, len, nulls)?,
            T::UInt32 => self.primitive::<UInt32Type>(data_type, len, nulls)?,
            T::UInt64 => self.primitive::<UInt64Type>(data_type, len, nulls)?,
            T::Float16 => self.primitive::<Float16Type>(data_type, len, nulls)?,
            T::Float32 => self.primitive::<Float32Type>(data_type, len, nulls)?,
            T::Float64 => self.primitive::<Float64Type>(data_type, len, nulls)?,
            T::Decimal128(precision, _) => self.decimal::<Decimal128Type>(data_type, *precision, len, nulls)?,
            T::Decimal256(precision, _) => self.decimal::<Decimal256Type>(data_type, *precision, len, nulls)?,
            T::Date32 => self.primitive::<Date32Type>(data_type, len, nulls)?,
            T::Date64 => self.primitive::<Date64Type>(data_type, len, nulls)?,
            T::Time32(TimeUnit::Second) => self.primitive::<Time32SecondType>(data_type, len, nulls)?,
            T::Time32(TimeUnit::Millisecond) => self.primitive::<Time32MillisecondType>(data_type, len, nulls)?,
            T::Time64(TimeUnit::Microsecond) => self.primitive::<Time64MicrosecondType>(data_type, len, nulls)?,
            T::Time64(TimeUnit::Nanosecond) => self.primitive::<Time64NanosecondType>(data_type, len, nulls)?,
            T::Timestamp(unit, _) => match unit {
                TimeUnit::Second => self.primitive::<TimestampSecondType>(data_type, len, nulls)?,
                TimeUnit::Millisecond => self.primitive::<TimestampMillisecondType>(data_type, len, nulls)?,
                TimeUnit::Microsecond => self.primitive::<TimestampMicrosecondType>(data_type, len, nulls)?,
                TimeUnit::Nanosecond => self.primitive::<TimestampNanosecondType>(data_type, len, nulls)?,
            },
            T::Duration(unit) => match unit {
                TimeUnit::Second => self.primitive::<DurationSecondType>(data_type, len, nulls)?,
                TimeUnit::Millisecond => self.primitive::<DurationMillisecondType>(data_type, len, nulls)?,
                TimeUnit::Microsecond => self.primitive::<DurationMicrosecondType>(data_type, len, nulls)?,
                TimeUnit::Nanosecond => self.primitive::<DurationNanosecondType>(data_type, len, nulls)?,
            },
            T::Utf8 => self.text::<i32>(len, nulls)?,
            T::LargeUtf8 => self.text::<i64>(len, nulls)?,
            T::Binary => self.binary::<i32>(len, nulls)?,
            T::LargeBinary => self.binary::<i64>(len, nulls)?,
            T::FixedSizeBinary(width) => {
                let values = self.exact(len.checked_mul(width.as_usize()), "values")?;
                Arc::new(FixedSizeBinaryArray::try_new_with_len(*width, values, nulls, len).map_err(arrow)?)
            }
            T::List(item) => self.list::<i32>(item, len, nulls)?,
            T::LargeList(item) => self.list::<i64>(item, len, nulls)?,
            T::FixedSizeList(item, size) => {
                let items = len.checked_mul(size.as_usize()).ok_or("a fixed-size list has too many items")?;
                let values = self.array(item.data_type(), items)?;
                Arc::new(
                    FixedSizeListArray::try_new_with_length(item.clone(), *size, values, nulls, len).map_err(arrow)?,
                )
            }
            T::Struct(members) => {
                let columns = members.iter().map(|member| self.array(member.data_type(), len));
                let columns = columns.collect::<Result<Vec<_>, _>>()?;
                Arc::new(StructArray::try_new_with_length(members.clone(), columns, nulls, len).map_err(arrow)?)
            }
            T::Map(entries, sorted) => self.map(entries, *sorted, len, nulls)?,
            other => return Err(format!("type {other} does not cross the boundary")),
        })
    }

    fn next_buffer(&mut self) -> Result<Vec<u8>, Broken> {
        self.buffers.next().ok_or_else(|| "there are fewer buffers than the plan's columns have".into())
    }

    /// The next buffer, which must have this length. None is a length that no buffer can have.
    fn exact(&mut self, bytes: Option<usize>, what: &str) -> Result<Buffer, Broken> {
        let buffer = self.next_buffer()?;
        match bytes {
            Some(bytes) if buffer.len() == bytes => Ok(Buffer::from_vec(buffer)),
            Some(bytes) => Err(format!("a buffer of {what} has {} bytes, not {bytes}", buffer.len())),
            None => Err(format!("a buffer of {what} would be too large")),
        }
    }

    fn bits(&mut self, len: usize, what: &str) -> Result<BooleanBuffer, Broken> {
        Ok(BooleanBuffer::new(self.exact(Some(len.div_ceil(8)), what)?, 0, len))
    }

    fn validity(&mut self, len: usize, null_count: u32) -> Result<Option<NullBuffer>, Broken> {
        if self.buffers.as_slice().first().is_some_and(Vec::is_empty) && len > 0 {
            self.buffers.next();
            return match null_count {
                0 => Ok(None),
                _ => Err(format!("{null_count} nulls are counted without a validity buffer")),
            };
        }
        let nulls = NullBuffer::new(self.bits(len, "validity bits")?);
        if nulls.null_count() != null_count as usize {
            return Err(format!("{null_count} nulls are counted, the validity bits have {}", nulls.null_count()));
        }
        Ok(Some(nulls).filter(|nulls| nulls.null_count() > 0))
    }

    fn values<T: ArrowNativeType>(&mut self, len: usize, what: &str) -> Result<ScalarBuffer<T>, Broken> {
        let bytes = self.exact(len.checked_mul(size_of::<T>()), what)?;
        Ok(ScalarBuffer::new(aligned::<T>(bytes), 0, len))
    }

    fn primitive<T: ArrowPrimitiveType>(
        &mut self,
        data_type: &DataType,
        len: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Broken> {
        let values = self.values::<T::Native>(len, "values")?;
        let array = PrimitiveArray::<T>::try_new(values, nulls).map_err(arrow)?;
        Ok(Arc::new(array.with_data_type(data_type.clone())))
    }

    /// Decimals must have no more digits than their type: writers cut or refuse what is wider.
    fn decimal<T: DecimalType>(
        &mut self,
        data_type: &DataType,
        precision: u8,
        len: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Broken> {
        let values = self.values::<T::Native>(len, "values")?;
        let array = PrimitiveArray::<T>::try_new(values, nulls).map_err(arrow)?;
        if !array.iter().flatten().all(|value| T::is_valid_decimal_precision(value, precision)) {
            return Err(format!("a decimal has more than {precision} digits"));
        }
        Ok(Arc::new(array.with_data_type(data_type.clone())))
    }

    fn offsets<O: OffsetSizeTrait>(&mut self, len: usize) -> Result<OffsetBuffer<O>, Broken> {
        let offsets = self.values::<O>(len + 1, "offsets")?;
        if offsets[0] != O::zero() {
            return Err("offsets do not start at 0".into());
        }
        if !offsets.windows(2).all(|pair| pair[0] <= pair[1]) {
            return Err("offsets fall".into());
        }
        Ok(OffsetBuffer::new(offsets))
    }

    /// Offsets and the bytes that they lead through.
    fn bytes<O: OffsetSizeTrait>(&mut self, len: usize) -> Result<(OffsetBuffer<O>, Buffer), Broken> {
        let offsets = self.offsets::<O>(len)?;
        let bytes = Buffer::from_vec(self.next_buffer()?);
        match offsets[len].to_usize() {
            Some(end) if end == bytes.len() => Ok((offsets, bytes)),
            _ => Err(format!("offsets do not end at the {} bytes that follow", bytes.len())),
        }
    }

    fn binary<O: OffsetSizeTrait>(&mut self, len: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef, Broken> {
        let (offsets, bytes) = self.bytes::<O>(len)?;
        Ok(Arc::new(GenericBinaryArray::try_new(offsets, bytes, nulls).map_err(arrow)?))
    }

    fn text<O: OffsetSizeTrait>(&mut self, len: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef, Broken> {
        let (offsets, bytes) = self.bytes::<O>(len)?;
        match (GenericStringArray::try_new(offsets.clone(), bytes.clone(), nulls.clone()), nulls) {
            (Ok(array), _) => Ok(Arc::new(array)),
            (Err(_), None) => Err(NOT_UTF8.into()),
            (Err(_), Some(nulls)) => text_without_what_nulls_hide(&offsets, &bytes, &nulls),
        }
    }

    fn list<O: OffsetSizeTrait>(
        &mut self,
        item: &FieldRef,
        len: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Broken> {
        let (offsets, items) = self.item_offsets::<O>(len)?;
        let values = self.array(item.data_type(), items)?;
        Ok(Arc::new(GenericListArray::try_new(item.clone(), offsets, values, nulls).map_err(arrow)?))
    }

    fn item_offsets<O: OffsetSizeTrait>(&mut self, len: usize) -> Result<(OffsetBuffer<O>, usize), Broken> {
        let offsets = self.offsets::<O>(len)?;
        let items = offsets[len].to_usize().ok_or("a list has too many items")?;
        Ok((offsets, items))
    }

    fn map(
        &mut self,
        entries: &FieldRef,
        sorted: bool,
        len: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Broken> {
        let (offsets, items) = self.item_offsets::<i32>(len)?;
        let values = self.array(entries.data_type(), items)?;
        let Some(values) = values.as_any().downcast_ref::<StructArray>() else {
            return Err("the entries of a map are not a struct".into());
        };
        let map = MapArray::try_new(entries.clone(), offsets, values.clone(), nulls, sorted).map_err(arrow)?;
        if sorted {
            keys_are_sorted(&map)?;
        }
        Ok(Arc::new(map))
    }
}

const NOT_UTF8: &str = "a text is not UTF-8";

/// Arrow wants UTF-8 behind nulls too, the contract does not: the values alone are checked and kept.
fn text_without_what_nulls_hide<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    bytes: &[u8],
    nulls: &NullBuffer,
) -> Result<ArrayRef, Broken> {
    let mut builder = GenericStringBuilder::<O>::with_capacity(nulls.len(), bytes.len());
    for (pair, valid) in offsets.windows(2).zip(nulls) {
        if valid {
            let value = &bytes[pair[0].as_usize()..pair[1].as_usize()];
            builder.append_value(std::str::from_utf8(value).map_err(|_| NOT_UTF8)?);
        } else {
            builder.append_null();
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn keys_are_sorted(map: &MapArray) -> Result<(), Broken> {
    let compare = make_comparator(map.keys(), map.keys(), SortOptions::default()).map_err(arrow)?;
    for (row, pair) in map.offsets().windows(2).enumerate() {
        let (first, end) = (pair[0].as_usize(), pair[1].as_usize());
        if map.is_valid(row) && (first + 1..end).any(|key| compare(key - 1, key) == Ordering::Greater) {
            return Err("the keys of a map are not sorted, as its type says".into());
        }
    }
    Ok(())
}

fn no_nulls_where_none_may_be(field: &Field, column: &ArrayRef) -> Result<(), Broken> {
    if !field.is_nullable() && column.logical_null_count() > 0 {
        return Err("it has nulls, and the plan says that it has none".into());
    }
    Ok(())
}

/// Guests' buffers come in vectors of bytes, which the allocator happens to align; where it did not, they are copied.
fn aligned<T>(bytes: Buffer) -> Buffer {
    if bytes.as_ptr().align_offset(align_of::<T>()) == 0 { bytes } else { Buffer::from(bytes.as_slice()) }
}

fn arrow(error: arrow::error::ArrowError) -> Broken {
    match error {
        arrow::error::ArrowError::InvalidArgumentError(rule) => rule,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::AsArray;

    fn field(data_type: DataType) -> FieldRef {
        Arc::new(Field::new("c", data_type, true))
    }

    fn node(length: u32, null_count: u32) -> Node {
        Node { length, null_count }
    }

    fn offsets(offsets: &[i32]) -> Vec<u8> {
        offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect()
    }

    fn refused(data_type: DataType, rows: usize, nodes: &[Node], buffers: &[&[u8]], expected: &str) {
        let buffers = buffers.iter().map(|buffer| buffer.to_vec()).collect();
        let rule = decode(&[field(data_type)], rows, nodes, buffers).unwrap_err();
        assert!(rule.contains(expected), "{rule:?} should say {expected:?}");
    }

    /// Each rule of the contract on buffers, broken alone.
    #[test]
    fn each_broken_rule_is_named() {
        use DataType as T;
        let two = offsets(&[0, 1, 2]);
        refused(T::Int32, 2, &[], &[], "fewer nodes");
        refused(T::Int32, 2, &[node(2, 0)], &[b""], "fewer buffers");
        refused(T::Int32, 2, &[node(3, 0)], &[b"", &[0; 8]], "length 3, not 2");
        refused(T::Int32, 2, &[node(2, 0)], &[b"", &[0; 7]], "7 bytes, not 8");
        refused(T::Int32, 2, &[node(2, 0)], &[b"", &[0; 9]], "9 bytes, not 8");
        refused(T::Int32, 2, &[node(2, 1)], &[b"", &[0; 8]], "without a validity buffer");
        refused(T::Int32, 2, &[node(2, 1)], &[&[3], &[0; 8]], "1 nulls are counted, the validity bits have 0");
        refused(T::Int32, 2, &[node(2, 0)], &[&[3, 0], &[0; 8]], "validity bits has 2 bytes, not 1");
        refused(T::Int32, 2, &[node(2, 0), node(2, 0)], &[b"", &[0; 8], b""], "1 nodes and 1 buffers more");
        refused(T::Null, 2, &[node(2, 0)], &[], "null array");
        refused(T::Boolean, 9, &[node(9, 0)], &[b"", &[0]], "1 bytes, not 2");
        refused(T::Decimal128(2, 0), 1, &[node(1, 0)], &[b"", &100i128.to_le_bytes()], "more than 2 digits");
        refused(T::Utf8, 2, &[node(2, 0)], &[b"", &two, b"abc"], "do not end at the 3 bytes");
        refused(T::Utf8, 2, &[node(2, 0)], &[b"", &offsets(&[1, 1, 2]), b"ab"], "do not start at 0");
        refused(T::Utf8, 2, &[node(2, 0)], &[b"", &offsets(&[0, 3, 2]), b"ab"], "fall");
        refused(T::Utf8, 2, &[node(2, 0)], &[b"", &offsets(&[0, -1, 2]), b"ab"], "fall");
        refused(T::Utf8, 2, &[node(2, 0)], &[b"", &two, b"a\xff"], "not UTF-8");
        // A character cut in two by an offset: valid as a whole, not in its values.
        refused(T::Utf8, 2, &[node(2, 0)], &[b"", &two, "é".as_bytes()], "not UTF-8");
        refused(T::Utf8, 2, &[node(2, 1)], &[&[1], &two, b"\xffa"], "not UTF-8");
        let list = T::List(field(T::Int8));
        refused(list.clone(), 2, &[node(2, 0), node(3, 0)], &[b"", &two, b"", &[0; 3]], "length 3, not 2");
        let strict = T::List(Arc::new(Field::new("item", T::Int8, false)));
        refused(strict, 2, &[node(2, 0), node(2, 1)], &[b"", &two, &[1], &[0; 2]], "on-nullable");
        let wide = T::FixedSizeList(field(T::Null), i32::MAX);
        refused(wide, 3, &[node(3, 0), node(u32::MAX, 0)], &[b""], "length");
        let large = T::LargeList(field(T::Null));
        let claim = [0, 1i64 << 31].map(i64::to_le_bytes).concat();
        refused(large, 1, &[node(1, 0), node(1 << 31, 1 << 31)], &[b"", &claim], "more than");
    }

    #[test]
    fn a_column_without_nulls_by_plan_has_none() {
        let field: FieldRef = Arc::new(Field::new("c", DataType::Int8, false));
        let rule = decode(&[field], 1, &[node(1, 1)], vec![vec![0], vec![0]]).unwrap_err();
        assert!(rule.contains("the plan says that it has none"), "{rule}");
    }

    #[test]
    fn maps_keep_their_rules() {
        let entries = |keys_nullable| {
            let members =
                vec![Field::new("keys", DataType::Int8, keys_nullable), Field::new("values", DataType::Null, true)];
            Arc::new(Field::new("entries", DataType::Struct(members.into()), false))
        };
        let nodes = |entry_nulls, key_nulls| [node(1, 0), node(2, entry_nulls), node(2, key_nulls), node(2, 2)];
        let two = offsets(&[0, 2]);
        let map = DataType::Map(entries(false), true);
        refused(map.clone(), 1, &nodes(0, 1), &[b"", &two, b"", &[1], &[1, 2]], "on-nullable");
        refused(map.clone(), 1, &nodes(1, 0), &[b"", &two, &[1], b"", &[1, 2]], "nulls");
        refused(map.clone(), 1, &nodes(0, 0), &[b"", &two, b"", b"", &[2, 1]], "not sorted");
        let good = vec![vec![], two.clone(), vec![], vec![], vec![1, 2]];
        assert!(decode(&[field(map)], 1, &nodes(0, 0), good).is_ok());
    }

    #[test]
    fn what_a_null_hides_may_be_anything() {
        let buffers = vec![vec![0b101], offsets(&[0, 1, 2, 3]), b"a\xffb".to_vec()];
        let column = decode(&[field(DataType::Utf8)], 3, &[node(3, 1)], buffers).unwrap();
        assert_eq!(column[0].as_string::<i32>().iter().collect::<Vec<_>>(), [Some("a"), None, Some("b")]);
    }

    #[test]
    fn unused_bits_are_ignored() {
        let column = decode(&[field(DataType::Boolean)], 3, &[node(3, 1)], vec![vec![0b1111_1101], vec![0b1111_1101]]);
        let column = column.unwrap();
        assert_eq!(column[0].as_boolean(), &BooleanArray::from(vec![Some(true), None, Some(true)]));
    }
}
