//! Columns of lists, structs and maps.

use super::bytes::Offsets;
use super::{Array, OffsetSize, Validity};
use crate::kind::Kind;
use crate::types::DataType;
use std::ops::Range;

/// A view of a column of lists: ranges over one column of items.
#[derive(Clone)]
pub struct ListColumn<'a, K: Kind, O: OffsetSize> {
    offsets: Offsets<'a, O>,
    validity: Validity<'a>,
    items: K::Column<'a>,
}

impl<'a, K: Kind, O: OffsetSize> ListColumn<'a, K, O> {
    pub(crate) fn new(array: Array<'a>) -> Self {
        Self { offsets: Offsets::new(array), validity: array.validity(), items: K::view(only_child(array)) }
    }
    pub fn len(&self) -> usize {
        self.offsets.len()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn validity(&self) -> Validity<'a> {
        self.validity
    }
    pub fn is_null(&self, i: usize) -> bool {
        !self.validity.is_valid(i)
    }
    /// Which of [`Self::items`] belong to value `i`.
    pub fn value(&self, i: usize) -> Range<usize> {
        self.offsets.range(i)
    }
    pub fn get(&self, i: usize) -> Option<Range<usize>> {
        self.validity.is_valid(i).then(|| self.value(i))
    }
    /// The items of all values, one after the other.
    pub fn items(&self) -> &K::Column<'a> {
        &self.items
    }
}

/// A view of a column of lists that all have the same number of items.
#[derive(Clone)]
pub struct FixedSizeListColumn<'a, K: Kind> {
    size: usize,
    validity: Validity<'a>,
    items: K::Column<'a>,
}

impl<'a, K: Kind> FixedSizeListColumn<'a, K> {
    pub(crate) fn new(array: Array<'a>) -> Self {
        let size = match array.data_type() {
            DataType::FixedSizeList(_, size) => *size as usize,
            other => unreachable!("fixed-size list, not {other}"),
        };
        Self { size, validity: array.validity(), items: K::view(only_child(array)) }
    }
    pub fn len(&self) -> usize {
        self.validity.len()
    }
    pub fn is_empty(&self) -> bool {
        self.validity.is_empty()
    }
    /// Items in each value.
    pub fn size(&self) -> usize {
        self.size
    }
    pub fn validity(&self) -> Validity<'a> {
        self.validity
    }
    pub fn is_null(&self, i: usize) -> bool {
        !self.validity.is_valid(i)
    }
    /// Which of [`Self::items`] belong to value `i`.
    pub fn value(&self, i: usize) -> Range<usize> {
        assert!(i < self.len(), "index {i} of {}", self.len());
        i * self.size..(i + 1) * self.size
    }
    pub fn get(&self, i: usize) -> Option<Range<usize>> {
        self.validity.is_valid(i).then(|| self.value(i))
    }
    pub fn items(&self) -> &K::Column<'a> {
        &self.items
    }
}

/// A view of a column of structs.
#[derive(Debug, Clone, Copy)]
pub struct StructColumn<'a> {
    array: Array<'a>,
}

impl<'a> StructColumn<'a> {
    pub(crate) fn new(array: Array<'a>) -> Self {
        Self { array }
    }
    pub fn len(&self) -> usize {
        self.array.len()
    }
    pub fn is_empty(&self) -> bool {
        self.array.is_empty()
    }
    pub fn validity(&self) -> Validity<'a> {
        self.array.validity()
    }
    pub fn is_null(&self, i: usize) -> bool {
        !self.validity().is_valid(i)
    }
    /// The member's column, row for row beside the structs. None if there is no such member or it has another type.
    pub fn member<K: Kind>(&self, name: &str) -> Option<K::Column<'a>> {
        let member = self.array.children().find(|child| child.field().name == name)?;
        K::accepts(member.data_type()).then(|| K::view(member))
    }
    pub fn members(&self) -> impl Iterator<Item = Array<'a>> {
        self.array.children()
    }
}

/// A view of a column of maps: ranges over a column of keys and a column of values.
#[derive(Clone)]
pub struct MapColumn<'a, K: Kind, V: Kind> {
    offsets: Offsets<'a, i32>,
    validity: Validity<'a>,
    keys: K::Column<'a>,
    values: V::Column<'a>,
}

impl<'a, K: Kind, V: Kind> MapColumn<'a, K, V> {
    pub(crate) fn new(array: Array<'a>) -> Self {
        let entries = only_child(array);
        let mut members = entries.children();
        let (Some(keys), Some(values)) = (members.next(), members.next()) else {
            unreachable!("the entries of a map have two members");
        };
        Self { offsets: Offsets::new(array), validity: array.validity(), keys: K::view(keys), values: V::view(values) }
    }
    pub fn len(&self) -> usize {
        self.offsets.len()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn validity(&self) -> Validity<'a> {
        self.validity
    }
    pub fn is_null(&self, i: usize) -> bool {
        !self.validity.is_valid(i)
    }
    /// Which of [`Self::keys`] and [`Self::values`] belong to value `i`.
    pub fn value(&self, i: usize) -> Range<usize> {
        self.offsets.range(i)
    }
    pub fn get(&self, i: usize) -> Option<Range<usize>> {
        self.validity.is_valid(i).then(|| self.value(i))
    }
    pub fn keys(&self) -> &K::Column<'a> {
        &self.keys
    }
    pub fn values(&self) -> &V::Column<'a> {
        &self.values
    }
}

fn only_child(array: Array<'_>) -> Array<'_> {
    match array.children().next() {
        Some(child) => child,
        None => unreachable!("column {} has items", array.field().name),
    }
}
