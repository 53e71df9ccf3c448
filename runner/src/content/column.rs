//! One array, seen as logical values.

use super::types::{entries_text, type_text};
use arrow::array::{Array, ArrayRef, AsArray, GenericListArray, GenericListViewArray, OffsetSizeTrait, UInt64Array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow::compute::take;
use arrow::datatypes::{BinaryViewType, DataType, RunEndIndexType};
use arrow::{array::GenericByteViewArray, datatypes};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Pieces that are copied before they are hashed are collected up to this many bytes.
const PIECE_BYTES: usize = 8192;

/// `K(null)`.
pub(super) const NULL_KEY: u64 = 13_224_177_006_683_112_673;

/// An array with its physical layout taken apart: dictionaries and runs are unpacked, slices resolved.
pub(super) struct Column {
    /// `K(T)` of the row hash.
    key: u64,
    nulls: Option<NullBuffer>,
    values: Values,
}

enum Values {
    Null,
    Boolean(BooleanBuffer),
    /// Values of `width` bytes, side by side.
    Fixed {
        width: usize,
        bytes: Buffer,
    },
    /// As `Fixed`, of 2, 4 or 8 bytes whose NaNs are all one.
    Float {
        width: usize,
        bytes: Buffer,
    },
    Bytes {
        offsets: OffsetBuffer<i32>,
        bytes: Buffer,
    },
    LargeBytes {
        offsets: OffsetBuffer<i64>,
        bytes: Buffer,
    },
    BytesView(GenericByteViewArray<BinaryViewType>),
    /// The items of value i are `items[i]` of the child. `fixed`: all of one length that the type tells.
    List {
        items: Vec<Range<usize>>,
        fixed: bool,
        child: Box<Column>,
    },
    Struct(Vec<Column>),
    /// For each value its type id, the member's place in `members` and the slot there.
    Union {
        slots: Vec<(i8, usize, usize)>,
        members: Vec<Column>,
    },
}

impl Column {
    pub(super) fn of(array: &ArrayRef) -> Self {
        let array = &unpacked(array);
        let key = xxh3_64(type_text(array.data_type()).as_bytes());
        Self { key, nulls: array.nulls().cloned(), values: Values::of(array) }
    }

    /// Takes this column into the hash of each row.
    pub(super) fn fold_into(&self, hashes: &mut [u64]) {
        match &self.values {
            Values::Fixed { width: 1, bytes } => self.fold_fixed::<1>(bytes, hashes),
            Values::Fixed { width: 2, bytes } => self.fold_fixed::<2>(bytes, hashes),
            Values::Fixed { width: 4, bytes } => self.fold_fixed::<4>(bytes, hashes),
            Values::Fixed { width: 8, bytes } => self.fold_fixed::<8>(bytes, hashes),
            Values::Fixed { width: 16, bytes } => self.fold_fixed::<16>(bytes, hashes),
            Values::Bytes { offsets, bytes } => self.fold_bytes(offsets, bytes, hashes),
            Values::LargeBytes { offsets, bytes } => self.fold_bytes(offsets, bytes, hashes),
            _ => {
                for (slot, hash) in hashes.iter_mut().enumerate() {
                    *hash = self.step(*hash, slot);
                }
            }
        }
    }

    fn fold_fixed<const WIDTH: usize>(&self, bytes: &[u8], hashes: &mut [u64]) {
        let (values, _) = bytes.as_chunks::<WIDTH>();
        match &self.nulls {
            None => {
                for (hash, value) in hashes.iter_mut().zip(values) {
                    *hash = self.present(*hash, value);
                }
            }
            Some(nulls) => {
                for ((hash, value), valid) in hashes.iter_mut().zip(values).zip(nulls) {
                    *hash = if valid { self.present(*hash, value) } else { absent(*hash) };
                }
            }
        }
    }

    fn fold_bytes<O: OffsetSizeTrait>(&self, offsets: &OffsetBuffer<O>, bytes: &[u8], hashes: &mut [u64]) {
        for (slot, (hash, ends)) in hashes.iter_mut().zip(offsets.windows(2)).enumerate() {
            *hash = match self.is_null(slot) {
                true => absent(*hash),
                false => self.present(*hash, &bytes[ends[0].as_usize()..ends[1].as_usize()]),
            };
        }
    }

    /// Takes the value of one slot into a hash.
    fn step(&self, hash: u64, slot: usize) -> u64 {
        if self.is_null(slot) {
            return absent(hash);
        }
        match &self.values {
            Values::Null => absent(hash),
            Values::Boolean(bits) => self.present(hash, &[u8::from(bits.value(slot))]),
            Values::Fixed { width, bytes } => self.present(hash, &bytes[slot * width..][..*width]),
            Values::Float { width, bytes } => {
                let mut value = [0; 8];
                value[..*width].copy_from_slice(&bytes[slot * width..][..*width]);
                unify_nan(&mut value[..*width]);
                self.present(hash, &value[..*width])
            }
            Values::Bytes { offsets, bytes } => self.present(hash, &bytes[value_range(offsets, slot)]),
            Values::LargeBytes { offsets, bytes } => self.present(hash, &bytes[value_range(offsets, slot)]),
            Values::BytesView(array) => self.present(hash, array.value(slot)),
            Values::List { items, child, .. } => {
                let items = items[slot].clone();
                let hash = self.present(hash, &(items.len() as u64).to_le_bytes());
                items.fold(hash, |hash, item| child.step(hash, item))
            }
            Values::Struct(members) => {
                let hash = self.present(hash, &[1]);
                members.iter().fold(hash, |hash, member| member.step(hash, slot))
            }
            Values::Union { slots, members } => {
                let (type_id, member, slot) = slots[slot];
                members[member].step(self.present(hash, &type_id.to_le_bytes()), slot)
            }
        }
    }

    #[inline]
    fn present(&self, hash: u64, bytes: &[u8]) -> u64 {
        xxh3_64_with_seed(bytes, hash.wrapping_add(self.key))
    }

    fn is_null(&self, slot: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(slot))
    }

    /// Puts the canonical bytes of the slots in `ranges`.
    pub(super) fn encode(&self, ranges: &[Range<usize>], put: &mut dyn FnMut(&[u8])) {
        if matches!(self.values, Values::Null) {
            return;
        }
        let valid = &*self.encode_validity(ranges, put);
        match &self.values {
            Values::Null => {}
            Values::Boolean(bits) => put_bits(slots(valid).map(|slot| bits.value(slot)), put),
            Values::Fixed { width, bytes } => {
                for range in valid {
                    put(&bytes[range.start * width..range.end * width]);
                }
            }
            Values::Float { width, bytes } => {
                let mut piece = Vec::with_capacity(PIECE_BYTES);
                for range in valid {
                    for values in bytes[range.start * width..range.end * width].chunks(PIECE_BYTES) {
                        piece.clear();
                        piece.extend_from_slice(values);
                        piece.chunks_exact_mut(*width).for_each(unify_nan);
                        put(&piece);
                    }
                }
            }
            Values::Bytes { offsets, bytes } => encode_bytes(offsets, bytes, valid, put),
            Values::LargeBytes { offsets, bytes } => encode_bytes(offsets, bytes, valid, put),
            Values::BytesView(array) => {
                put_numbers(slots(valid).map(|slot| array.value(slot).len()), put);
                slots(valid).for_each(|slot| put(array.value(slot)));
            }
            Values::List { items, fixed, child } => {
                if !fixed {
                    put_numbers(slots(valid).map(|slot| items[slot].len()), put);
                }
                child.encode(&joined(slots(valid).map(|slot| items[slot].clone())), put);
            }
            Values::Struct(members) => members.iter().for_each(|member| member.encode(valid, put)),
            Values::Union { slots: places, members } => {
                let type_ids: Vec<u8> = slots(valid).map(|slot| places[slot].0.to_le_bytes()[0]).collect();
                put(&type_ids);
                for (place, member) in members.iter().enumerate() {
                    let own = slots(valid).map(|slot| places[slot]).filter(|(_, member, _)| *member == place);
                    member.encode(&joined(own.map(|(_, _, slot)| slot..slot + 1)), put);
                }
            }
        }
    }

    /// Puts the validity of the slots in `ranges` and gives the ranges that hold no null.
    fn encode_validity<'r>(&self, ranges: &'r [Range<usize>], put: &mut dyn FnMut(&[u8])) -> Cow<'r, [Range<usize>]> {
        let Some(nulls) = self.nulls.as_ref().filter(|nulls| nulls.null_count() > 0) else {
            put(&[0]);
            return Cow::Borrowed(ranges);
        };
        let mut valid = Vec::new();
        for range in ranges {
            let part = nulls.slice(range.start, range.len());
            valid.extend(part.valid_slices().map(|(from, to)| range.start + from..range.start + to));
        }
        let total: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        if valid.iter().map(ExactSizeIterator::len).sum::<usize>() == total {
            put(&[0]);
        } else {
            put(&[1]);
            put_bits(slots(ranges).map(|slot| nulls.is_valid(slot)), put);
        }
        Cow::Owned(valid)
    }
}

impl Values {
    fn of(array: &ArrayRef) -> Self {
        match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean(array.as_boolean().values().clone()),
            DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                let (width, bytes) = fixed(array);
                Self::Float { width, bytes }
            }
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                Self::Bytes { offsets: array.offsets().clone(), bytes: array.values().clone() }
            }
            DataType::Binary => {
                let array = array.as_binary::<i32>();
                Self::Bytes { offsets: array.offsets().clone(), bytes: array.values().clone() }
            }
            DataType::LargeUtf8 => {
                let array = array.as_string::<i64>();
                Self::LargeBytes { offsets: array.offsets().clone(), bytes: array.values().clone() }
            }
            DataType::LargeBinary => {
                let array = array.as_binary::<i64>();
                Self::LargeBytes { offsets: array.offsets().clone(), bytes: array.values().clone() }
            }
            DataType::Utf8View => Self::BytesView(array.as_string_view().clone().to_binary_view()),
            DataType::BinaryView => Self::BytesView(array.as_binary_view().clone()),
            DataType::List(_) => list(array.as_list::<i32>()),
            DataType::LargeList(_) => list(array.as_list::<i64>()),
            DataType::ListView(_) => list_view(array.as_list_view::<i32>()),
            DataType::LargeListView(_) => list_view(array.as_list_view::<i64>()),
            DataType::Map(_, _) => {
                let map = array.as_map();
                let entries: ArrayRef = Arc::new(map.entries().clone());
                let mut child = Column::of(&entries);
                // Writers name the two members of an entry as they like.
                child.key = xxh3_64(entries_text(map.key_type(), map.value_type()).as_bytes());
                Self::List { items: ranges(map.offsets()), fixed: false, child: Box::new(child) }
            }
            DataType::FixedSizeList(_, size) => {
                let size = usize::try_from(*size).unwrap_or(0);
                let items = (0..array.len()).map(|slot| slot * size..(slot + 1) * size).collect();
                let child = Column::of(array.as_fixed_size_list().values());
                Self::List { items, fixed: true, child: Box::new(child) }
            }
            DataType::Struct(_) => Self::Struct(array.as_struct().columns().iter().map(Column::of).collect()),
            DataType::Union(fields, _) => {
                let union = array.as_union();
                let place = |type_id| fields.iter().position(|(id, _)| id == type_id).unwrap_or(0);
                let slot = |row| (union.type_id(row), place(union.type_id(row)), union.value_offset(row));
                let members = fields.iter().map(|(id, _)| Column::of(union.child(id))).collect();
                Self::Union { slots: (0..array.len()).map(slot).collect(), members }
            }
            _ => {
                let (width, bytes) = fixed(array);
                Self::Fixed { width, bytes }
            }
        }
    }
}

/// The values of a fixed-width array, from its first slot.
fn fixed(array: &ArrayRef) -> (usize, Buffer) {
    let width = match array.data_type() {
        DataType::FixedSizeBinary(width) => usize::try_from(*width).unwrap_or(0),
        other => other.primitive_width().unwrap_or(0),
    };
    let data = array.to_data();
    (width, data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width))
}

fn list<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> Values {
    Values::List { items: ranges(array.offsets()), fixed: false, child: Box::new(Column::of(array.values())) }
}

fn list_view<O: OffsetSizeTrait>(array: &GenericListViewArray<O>) -> Values {
    let item_range = |(from, len): (&O, &O)| from.as_usize()..from.as_usize() + len.as_usize();
    let items = array.offsets().iter().zip(array.sizes().iter()).map(item_range).collect();
    Values::List { items, fixed: false, child: Box::new(Column::of(array.values())) }
}

fn ranges<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>) -> Vec<Range<usize>> {
    offsets.windows(2).map(|ends| ends[0].as_usize()..ends[1].as_usize()).collect()
}

fn value_range<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, slot: usize) -> Range<usize> {
    offsets[slot].as_usize()..offsets[slot + 1].as_usize()
}

fn encode_bytes<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    bytes: &[u8],
    valid: &[Range<usize>],
    put: &mut dyn FnMut(&[u8]),
) {
    put_numbers(slots(valid).map(|slot| value_range(offsets, slot).len()), put);
    for range in valid {
        put(&bytes[offsets[range.start].as_usize()..offsets[range.end].as_usize()]);
    }
}

/// Dictionaries and runs as plain arrays; anything else as it is.
fn unpacked(array: &ArrayRef) -> ArrayRef {
    let plain = match array.data_type() {
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            take(dictionary.values(), dictionary.keys(), None).ok()
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => unpacked_runs::<datatypes::Int16Type>(array),
            DataType::Int32 => unpacked_runs::<datatypes::Int32Type>(array),
            _ => unpacked_runs::<datatypes::Int64Type>(array),
        },
        _ => return array.clone(),
    };
    // The values may be encoded again.
    plain.map_or_else(|| array.clone(), |plain| unpacked(&plain))
}

fn unpacked_runs<R: RunEndIndexType>(array: &ArrayRef) -> Option<ArrayRef> {
    let runs = array.as_run_opt::<R>()?;
    let indices: UInt64Array = (0..runs.len()).map(|slot| Some(runs.get_physical_index(slot) as u64)).collect();
    take(runs.values(), &indices, None).ok()
}

#[inline]
fn absent(hash: u64) -> u64 {
    xxh3_64_with_seed(b"", hash.wrapping_add(NULL_KEY))
}

/// Makes every NaN the quiet one without sign and payload.
fn unify_nan(value: &mut [u8]) {
    match *value {
        [a, b] if u16::from_le_bytes([a, b]) & 0x7fff > 0x7c00 => {
            value.copy_from_slice(&0x7e00_u16.to_le_bytes());
        }
        [a, b, c, d] if f32::from_le_bytes([a, b, c, d]).is_nan() => {
            value.copy_from_slice(&0x7fc0_0000_u32.to_le_bytes());
        }
        [a, b, c, d, e, f, g, h] if f64::from_le_bytes([a, b, c, d, e, f, g, h]).is_nan() => {
            value.copy_from_slice(&0x7ff8_0000_0000_0000_u64.to_le_bytes());
        }
        _ => {}
    }
}

fn slots(ranges: &[Range<usize>]) -> impl Iterator<Item = usize> + '_ {
    ranges.iter().cloned().flatten()
}

/// Ranges in order, with neighbours made one and empty ones left out.
fn joined(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges.filter(|range| !range.is_empty()) {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

fn put_bits(bits: impl Iterator<Item = bool>, put: &mut dyn FnMut(&[u8])) {
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    let (mut byte, mut filled) = (0_u8, 0);
    for bit in bits {
        byte |= u8::from(bit) << filled;
        filled += 1;
        if filled == 8 {
            piece.push(byte);
            (byte, filled) = (0, 0);
            if piece.len() == PIECE_BYTES {
                put(&piece);
                piece.clear();
            }
        }
    }
    if filled > 0 {
        piece.push(byte);
    }
    put(&piece);
}

fn push_number(mut number: usize, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_numbers(numbers: impl Iterator<Item = usize>, put: &mut dyn FnMut(&[u8])) {
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    for number in numbers {
        if piece.len() + 10 > PIECE_BYTES {
            put(&piece);
            piece.clear();
        }
        push_number(number, &mut piece);
    }
    put(&piece);
}

pub(super) fn put_number(number: usize, put: &mut dyn FnMut(&[u8])) {
    put_numbers(std::iter::once(number), put);
}

pub(super) fn put_text(text: &str, put: &mut dyn FnMut(&[u8])) {
    put_number(text.len(), put);
    put(text.as_bytes());
}
