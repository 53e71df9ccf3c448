//! Dictionaries and the native join on them. A transform asks for `dictionary[key column].value column` in its plan and
//! sees one more input column; no call into the host is made for a row.

use super::fault::DictionaryError;
use super::types::{Unsupported, unpacked_fields};
use arrow::array::{
    Array, ArrayRef, AsArray, GenericStringArray, Int64Array, LargeStringArray, OffsetSizeTrait, RecordBatch,
    UInt32Array,
};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Fields, SchemaRef};
use arrow::error::ArrowError;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Rows of one dictionary: it is held in memory, and an index entry is a u32.
const ROWS_MAX: usize = 1 << 24;

/// A pinned table with unique keys, indexed for joins.
pub struct Dictionary {
    name: String,
    key: String,
    rows: RecordBatch,
    /// The columns as a guest is told of them.
    crossing: Fields,
    keys: Keys,
    index: Index,
}

impl Dictionary {
    /// Indexes `rows` by the column `key`: text or integers, unique and never null.
    pub fn new(name: &str, key: &str, rows: RecordBatch) -> Result<Self, DictionaryError> {
        let dictionary = || name.to_owned();
        let mut names = HashSet::new();
        if let Some(twice) = rows.schema_ref().fields().iter().find(|field| !names.insert(field.name())) {
            return Err(DictionaryError::DuplicateColumn { dictionary: dictionary(), column: twice.name().clone() });
        }
        let Some(column) = rows.column_by_name(key) else {
            let columns = rows.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
            return Err(DictionaryError::MissingKey { dictionary: dictionary(), key: key.to_owned(), columns });
        };
        if rows.num_rows() > ROWS_MAX {
            return Err(DictionaryError::TooLarge {
                dictionary: dictionary(),
                rows: rows.num_rows(),
                max_rows: ROWS_MAX,
            });
        }
        let crossing = unpacked_fields(rows.schema_ref().fields()).map_err(|(column, Unsupported(data_type))| {
            DictionaryError::UnsupportedType { dictionary: dictionary(), column, data_type }
        })?;
        let wrong_type = || DictionaryError::KeyType {
            dictionary: dictionary(),
            key: key.to_owned(),
            data_type: column.data_type().to_string(),
        };
        let kind = KeyKind::of(column.data_type()).ok_or_else(wrong_type)?;
        if let Some(row) = column.logical_nulls().and_then(|nulls| nulls.iter().position(|valid| !valid)) {
            return Err(DictionaryError::NullKey { dictionary: dictionary(), key: key.to_owned(), row });
        }
        let keys = kind.keys(column).map_err(|_| wrong_type())?;
        if keys.null_count() > 0 {
            // Only a u64 beyond i64 is lost in the cast of a column without nulls.
            return Err(wrong_type());
        }
        let index = Index::build(&keys).map_err(|(first, second)| DictionaryError::DuplicateKey {
            dictionary: dictionary(),
            key: key.to_owned(),
            first,
            second,
        })?;
        Ok(Self { name: dictionary(), key: key.to_owned(), rows, crossing, keys, index })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    pub fn rows(&self) -> &RecordBatch {
        &self.rows
    }

    pub(super) fn crossing(&self) -> &Fields {
        &self.crossing
    }

    /// Whether a column of this type can be looked up here.
    pub(super) fn matches(&self, key: &DataType) -> bool {
        KeyKind::of(key) == Some(self.keys.kind())
    }

    /// For each key the row of this dictionary; null where there is none.
    pub(super) fn find(&self, probes: &ArrayRef) -> Result<UInt32Array, ArrowError> {
        Ok(match &self.keys {
            Keys::Text(keys) => match probes.as_string_opt::<i32>() {
                Some(probes) => self.index.find_texts(keys, probes),
                None => self.index.find_texts(keys, cast(probes, &DataType::LargeUtf8)?.as_string::<i64>()),
            },
            Keys::Integer(keys) => {
                let probes = cast(probes, &DataType::Int64)?;
                self.index.find_integers(keys, probes.as_primitive())
            }
        })
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({:?} by {:?}, {} rows)", self.name, self.key, self.rows.num_rows())
    }
}

/// The dictionaries that a stage may look up in, by name.
#[derive(Debug, Clone, Default)]
pub struct Dictionaries(BTreeMap<String, Arc<Dictionary>>);

impl Dictionaries {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn insert(&mut self, dictionary: impl Into<Arc<Dictionary>>) -> Result<(), DictionaryError> {
        let dictionary = dictionary.into();
        match self.0.insert(dictionary.name.clone(), dictionary) {
            None => Ok(()),
            Some(twice) => Err(DictionaryError::DuplicateDictionary { dictionary: twice.name.clone() }),
        }
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Dictionary>> {
        self.0.get(name)
    }

    /// In the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Dictionary>> {
        self.0.values()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Keys compare by value within a kind: an i32 finds an i64, a large text a short one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    Text,
    Integer,
}

impl KeyKind {
    fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Self::Text),
            DataType::Dictionary(_, values) => Self::of(values),
            DataType::RunEndEncoded(_, values) => Self::of(values.data_type()),
            integer if integer.is_integer() => Some(Self::Integer),
            _ => None,
        }
    }

    fn keys(self, column: &ArrayRef) -> Result<Keys, ArrowError> {
        Ok(match self {
            Self::Text => Keys::Text(cast(column, &DataType::LargeUtf8)?.as_string().clone()),
            Self::Integer => Keys::Integer(cast(column, &DataType::Int64)?.as_primitive().clone()),
        })
    }
}

enum Keys {
    Text(LargeStringArray),
    Integer(Int64Array),
}

impl Keys {
    fn kind(&self) -> KeyKind {
        match self {
            Self::Text(_) => KeyKind::Text,
            Self::Integer(_) => KeyKind::Integer,
        }
    }

    fn null_count(&self) -> usize {
        match self {
            Self::Text(keys) => keys.null_count(),
            Self::Integer(keys) => keys.null_count(),
        }
    }
}

fn hash(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

fn hash_integer(value: i64) -> u64 {
    // Fibonacci hashing spreads neighbouring integers; the index takes the upper bits.
    (value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Open addressing over row numbers; the keys stay where they are, in the column.
struct Index {
    /// A row plus 1, or 0 for a free slot. At most half of them are taken.
    slots: Vec<u32>,
    shift: u32,
}

impl Index {
    /// Two rows with the same key are an error.
    fn build(keys: &Keys) -> Result<Self, (usize, usize)> {
        match keys {
            Keys::Text(keys) => {
                Self::of(keys.len(), |row| hash(keys.value(row)), |a, b| keys.value(a) == keys.value(b))
            }
            Keys::Integer(keys) => {
                Self::of(keys.len(), |row| hash_integer(keys.value(row)), |a, b| keys.value(a) == keys.value(b))
            }
        }
    }

    fn of(
        rows: usize,
        hash: impl Fn(usize) -> u64,
        same_key: impl Fn(usize, usize) -> bool,
    ) -> Result<Self, (usize, usize)> {
        let bits = (rows * 2).next_power_of_two().max(2).ilog2();
        let mut index = Self { slots: vec![0; 1 << bits], shift: 64 - bits };
        for row in 0..rows {
            index.insert(row as u32, hash(row), |other| same_key(other as usize, row))?;
        }
        Ok(index)
    }

    fn find_texts<O: OffsetSizeTrait>(&self, keys: &LargeStringArray, probes: &GenericStringArray<O>) -> UInt32Array {
        self.find_all(probes.len(), probes.nulls(), |place| {
            let probe = probes.value(place);
            self.find(hash(probe), |row| keys.value(row as usize) == probe)
        })
    }

    fn find_integers(&self, keys: &Int64Array, probes: &Int64Array) -> UInt32Array {
        self.find_all(probes.len(), probes.nulls(), |place| {
            let probe = probes.value(place);
            self.find(hash_integer(probe), |row| keys.value(row as usize) == probe)
        })
    }

    fn find_all(&self, len: usize, nulls: Option<&NullBuffer>, find: impl Fn(usize) -> Option<u32>) -> UInt32Array {
        let mut rows = Vec::with_capacity(len);
        let found = BooleanBuffer::collect_bool(len, |place| {
            let row = if nulls.is_none_or(|nulls| nulls.is_valid(place)) { find(place) } else { None };
            rows.push(row.unwrap_or(0));
            row.is_some()
        });
        UInt32Array::new(rows.into(), Some(NullBuffer::new(found)))
    }

    fn insert(&mut self, row: u32, hash: u64, same_key: impl Fn(u32) -> bool) -> Result<(), (usize, usize)> {
        match self.slot(hash, same_key) {
            Ok(other) => Err((other as usize, row as usize)),
            Err(free) => {
                self.slots[free] = row + 1;
                Ok(())
            }
        }
    }

    fn find(&self, hash: u64, same_key: impl Fn(u32) -> bool) -> Option<u32> {
        self.slot(hash, same_key).ok()
    }

    /// The row with this key, or the slot where it would go.
    fn slot(&self, hash: u64, same_key: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let mut slot = (hash >> self.shift) as usize;
        loop {
            match self.slots[slot].checked_sub(1) {
                None => return Err(slot),
                Some(row) if same_key(row) => return Ok(row),
                Some(_) => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{DictionaryArray, Int32Array, StringArray, UInt64Array};
    use arrow::datatypes::Int32Type;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn table(keys: ArrayRef) -> RecordBatch {
        let values: ArrayRef = Arc::new(Int32Array::from_iter_values(0..keys.len() as i32));
        RecordBatch::try_from_iter([("key", keys), ("value", values)]).unwrap()
    }

    proptest! {
        #[test]
        fn text_keys_find_what_a_hash_map_finds(
            keys in proptest::collection::hash_set("[a-c]{0,4}", 0..60),
            probes in proptest::collection::vec(proptest::option::of("[a-d]{0,4}"), 0..200),
        ) {
            let keys: Vec<String> = keys.into_iter().collect();
            let dictionary = Dictionary::new("d", "key", table(Arc::new(StringArray::from(keys.clone())))).unwrap();
            let rows: HashMap<&str, u32> = keys.iter().enumerate().map(|(i, key)| (key.as_str(), i as u32)).collect();
            let expected: UInt32Array =
                probes.iter().map(|p| p.as_deref().and_then(|p| rows.get(p).copied())).collect();

            let short: ArrayRef = Arc::new(StringArray::from(probes.clone()));
            prop_assert_eq!(&dictionary.find(&short).unwrap(), &expected);
            prop_assert_eq!(&dictionary.find(&cast(&short, &DataType::Utf8View).unwrap()).unwrap(), &expected);
            let encoded: DictionaryArray<Int32Type> = probes.iter().map(Option::as_deref).collect();
            let encoded: ArrayRef = Arc::new(encoded);
            prop_assert!(dictionary.matches(encoded.data_type()));
            prop_assert_eq!(&dictionary.find(&encoded).unwrap(), &expected);
        }

        #[test]
        fn integer_keys_find_what_a_hash_map_finds(
            keys in proptest::collection::hash_set(-40i32..40, 0..60),
            probes in proptest::collection::vec(proptest::option::of(-50i64..50), 0..200),
        ) {
            let keys: Vec<i32> = keys.into_iter().collect();
            let dictionary = Dictionary::new("d", "key", table(Arc::new(Int32Array::from(keys.clone())))).unwrap();
            let expected: UInt32Array =
                probes.iter().map(|p| p.and_then(|p| keys.iter().position(|k| i64::from(*k) == p)).map(|i| i as u32)).collect();
            let probes: ArrayRef = Arc::new(Int64Array::from(probes));
            prop_assert_eq!(dictionary.find(&probes).unwrap(), expected);
        }
    }

    #[test]
    fn an_integer_beyond_i64_finds_nothing() {
        let dictionary = Dictionary::new("d", "key", table(Arc::new(Int64Array::from(vec![-1, 7])))).unwrap();
        let probes: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 7]));
        assert_eq!(dictionary.find(&probes).unwrap(), UInt32Array::from(vec![None, Some(1)]));
    }

    #[test]
    fn keys_are_unique_present_and_of_a_kind_that_compares() {
        let error = |keys: ArrayRef| Dictionary::new("planes", "key", table(keys)).unwrap_err();
        let twice = error(Arc::new(StringArray::from(vec!["a", "b", "a"])));
        assert!(matches!(twice, DictionaryError::DuplicateKey { first: 0, second: 2, .. }), "{twice}");
        let null = error(Arc::new(StringArray::from(vec![Some("a"), None])));
        assert!(matches!(null, DictionaryError::NullKey { row: 1, .. }), "{null}");
        let float = error(Arc::new(arrow::array::Float64Array::from(vec![1.0])));
        assert!(matches!(float, DictionaryError::KeyType { .. }), "{float}");
        let beyond = error(Arc::new(UInt64Array::from(vec![u64::MAX])));
        assert!(matches!(beyond, DictionaryError::KeyType { .. }), "{beyond}");
        let missing = Dictionary::new("planes", "tail", table(Arc::new(StringArray::from(vec!["a"])))).unwrap_err();
        assert_eq!(missing.to_string(), "dictionary `planes` has no column `tail`; it has key, value");
    }

    #[test]
    fn names_of_dictionaries_are_unique() {
        let dictionary = || Dictionary::new("d", "key", table(Arc::new(StringArray::from(vec!["a"])))).unwrap();
        let mut dictionaries = Dictionaries::new();
        dictionaries.insert(dictionary()).unwrap();
        assert!(matches!(dictionaries.insert(dictionary()), Err(DictionaryError::DuplicateDictionary { .. })));
    }
}
