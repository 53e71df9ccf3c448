//! Builders for lists, structs and maps.

use super::{ArrayData, Builder, Nulls};
use crate::column::{OffsetSize, RawBytes};

/// Builds a column of lists: push items, then end the value.
#[derive(Debug, Clone)]
pub struct ListBuilder<B: Builder, O: OffsetSize> {
    offsets: Vec<O::Bytes>,
    nulls: Nulls,
    items: B,
}

impl<B: Builder, O: OffsetSize> ListBuilder<B, O> {
    pub fn with_capacity(capacity: usize, items: B) -> Self {
        let mut offsets = Vec::with_capacity(capacity + 1);
        offsets.push(O::from_index(0).to_bytes());
        Self { offsets, nulls: Nulls::default(), items }
    }

    /// The items of the value in hand.
    pub fn items(&mut self) -> &mut B {
        &mut self.items
    }

    /// Ends the value in hand: all items pushed since the last one ended.
    pub fn end_value(&mut self) {
        self.offsets.push(O::from_index(self.items.len()).to_bytes());
    }
}

impl<B: Builder, O: OffsetSize> Builder for ListBuilder<B, O> {
    fn len(&self) -> usize {
        self.offsets.len() - 1
    }
    /// Ends the value in hand as null. Panics if it has items.
    fn push_null(&mut self) {
        let end = O::from_index(self.items.len()).to_bytes();
        assert_eq!(self.offsets.last().map(AsRef::as_ref), Some(end.as_ref()), "a null list has no items");
        self.nulls.push(self.len());
        self.offsets.push(end);
    }
    fn finish(self) -> ArrayData {
        let len = self.len();
        let (validity, nulls) = self.nulls.finish(len);
        let offsets = O::Bytes::into_buffer(self.offsets);
        ArrayData::nested(len, nulls, vec![validity, offsets], vec![self.items.finish()])
    }
}

/// Builds a column of lists that all have the same number of items.
#[derive(Debug, Clone)]
pub struct FixedSizeListBuilder<B: Builder> {
    size: usize,
    len: usize,
    nulls: Nulls,
    items: B,
}

impl<B: Builder> FixedSizeListBuilder<B> {
    /// `size` items in each value.
    pub fn new(size: usize, items: B) -> Self {
        Self { size, len: 0, nulls: Nulls::default(), items }
    }

    /// The items of the value in hand.
    pub fn items(&mut self) -> &mut B {
        &mut self.items
    }

    /// Ends the value in hand. Panics unless it has its items.
    pub fn end_value(&mut self) {
        self.len += 1;
        assert_eq!(self.items.len(), self.len * self.size, "each value has {} items", self.size);
    }
}

impl<B: Builder> Builder for FixedSizeListBuilder<B> {
    fn len(&self) -> usize {
        self.len
    }
    /// A null value's items are nulls.
    fn push_null(&mut self) {
        (0..self.size).for_each(|_| self.items.push_null());
        self.nulls.push(self.len);
        self.len += 1;
    }
    fn finish(self) -> ArrayData {
        let len = self.len;
        let (validity, nulls) = self.nulls.finish(len);
        ArrayData::nested(len, nulls, vec![validity], vec![self.items.finish()])
    }
}

/// Builds a column of structs from finished members.
#[derive(Debug, Clone)]
pub struct StructBuilder {
    len: usize,
    nulls: Nulls,
    members: Vec<Option<ArrayData>>,
}

impl StructBuilder {
    pub(crate) fn with_members(members: usize) -> Self {
        Self { len: 0, nulls: Nulls::default(), members: vec![None; members] }
    }

    pub fn push_valid(&mut self) {
        self.len += 1;
    }

    /// Sets the column of a member, by its place in the type. It has one value for each struct, null ones included.
    pub fn set_member(&mut self, place: usize, column: impl Builder) {
        self.members[place] = Some(column.finish());
    }
}

impl Builder for StructBuilder {
    fn len(&self) -> usize {
        self.len
    }
    fn push_null(&mut self) {
        self.nulls.push(self.len);
        self.len += 1;
    }
    /// Panics if a member was not set or has another length.
    fn finish(self) -> ArrayData {
        let len = self.len;
        let (validity, nulls) = self.nulls.finish(len);
        let members = self.members.into_iter().enumerate().map(|(place, member)| match member {
            Some(member) if member.len() == len => member,
            Some(member) => panic!("member {place} of the struct has {} values, not {len}", member.len()),
            None => panic!("member {place} of the struct was not set"),
        });
        ArrayData::nested(len, nulls, vec![validity], members.collect())
    }
}

/// Builds a column of maps: push keys and values, then end the map.
#[derive(Debug, Clone)]
pub struct MapBuilder<K: Builder, V: Builder> {
    offsets: Vec<[u8; 4]>,
    nulls: Nulls,
    keys: K,
    values: V,
}

impl<K: Builder, V: Builder> MapBuilder<K, V> {
    pub fn with_capacity(capacity: usize, keys: K, values: V) -> Self {
        let mut offsets = Vec::with_capacity(capacity + 1);
        offsets.push([0; 4]);
        Self { offsets, nulls: Nulls::default(), keys, values }
    }

    /// The keys and the values of the map in hand: push as many to each.
    pub fn entries(&mut self) -> (&mut K, &mut V) {
        (&mut self.keys, &mut self.values)
    }

    /// Ends the map in hand. Panics unless it has a value for each key.
    pub fn end_value(&mut self) {
        assert_eq!(self.keys.len(), self.values.len(), "a map has a value for each key");
        self.offsets.push(i32::from_index(self.keys.len()).to_le_bytes());
    }
}

impl<K: Builder, V: Builder> Builder for MapBuilder<K, V> {
    fn len(&self) -> usize {
        self.offsets.len() - 1
    }
    /// Ends the map in hand as null. Panics if it has entries.
    fn push_null(&mut self) {
        let end = i32::from_index(self.keys.len()).to_le_bytes();
        assert_eq!(self.offsets.last(), Some(&end), "a null map has no entries");
        self.nulls.push(self.len());
        self.offsets.push(end);
    }
    fn finish(self) -> ArrayData {
        let len = self.len();
        let (validity, nulls) = self.nulls.finish(len);
        let (keys, values) = (self.keys.finish(), self.values.finish());
        let entries = ArrayData::nested(keys.len(), 0, vec![Vec::new()], vec![keys, values]);
        ArrayData::nested(len, nulls, vec![validity, self.offsets.into_flattened()], vec![entries])
    }
}
