//! The column types of the transform contract.

use arrow::datatypes::{DataType, Field, FieldRef};
use std::sync::Arc;

/// The type without its encoding: dictionaries and views unpacked, field metadata dropped. None: the contract has no
/// such type.
pub(super) fn plain(data_type: &DataType) -> Option<DataType> {
    use DataType as T;
    Some(match data_type {
        T::Dictionary(_, values) => plain(values)?,
        T::RunEndEncoded(_, values) => plain(values.data_type())?,
        T::Utf8View => T::Utf8,
        T::BinaryView => T::Binary,
        T::List(item) | T::ListView(item) => T::List(plain_field(item)?),
        T::LargeList(item) | T::LargeListView(item) => T::LargeList(plain_field(item)?),
        T::FixedSizeList(item, length) => T::FixedSizeList(plain_field(item)?, *length),
        T::Map(entries, sorted) => T::Map(plain_field(entries)?, *sorted),
        T::Struct(fields) => T::Struct(fields.iter().map(plain_field).collect::<Option<Vec<_>>>()?.into()),
        T::Decimal32(precision, scale) | T::Decimal64(precision, scale) => T::Decimal128(*precision, *scale),
        T::Interval(_) | T::Union(_, _) => return None,
        other => other.clone(),
    })
}

fn plain_field(field: &FieldRef) -> Option<FieldRef> {
    Some(Arc::new(Field::new(field.name(), plain(field.data_type())?, field.is_nullable())))
}

/// Whether two plain types hold the same values: names of list items and offset widths do not count, and a nullable
/// child can take one that is not.
pub(super) fn is_same(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    let same_child = |from: &FieldRef, to: &FieldRef| {
        (to.is_nullable() || !from.is_nullable()) && is_same(from.data_type(), to.data_type())
    };
    match (from, to) {
        (T::Utf8 | T::LargeUtf8, T::Utf8 | T::LargeUtf8) | (T::Binary | T::LargeBinary, T::Binary | T::LargeBinary) => {
            true
        }
        (T::List(from) | T::LargeList(from), T::List(to) | T::LargeList(to)) => same_child(from, to),
        (T::FixedSizeList(from, a), T::FixedSizeList(to, b)) => a == b && same_child(from, to),
        (T::Map(from, _), T::Map(to, _)) => match (from.data_type(), to.data_type()) {
            (T::Struct(from), T::Struct(to)) => {
                from.len() == to.len() && from.iter().zip(to).all(|(a, b)| same_child(a, b))
            }
            _ => false,
        },
        (T::Struct(from), T::Struct(to)) => {
            from.len() == to.len() && from.iter().zip(to).all(|(a, b)| a.name() == b.name() && same_child(a, b))
        }
        _ => from == to,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType as T;

    #[test]
    fn encodings_are_unpacked() {
        let dictionary = T::Dictionary(Box::new(T::Int32), Box::new(T::Utf8View));
        assert_eq!(plain(&dictionary), Some(T::Utf8));
        assert_eq!(plain(&T::new_list(dictionary, true)), Some(T::new_list(T::Utf8, true)));
        assert_eq!(plain(&T::new_list(T::Interval(arrow::datatypes::IntervalUnit::DayTime), true)), None);
    }

    #[test]
    fn sameness_is_about_values() {
        let list = |name, nullable| T::List(Arc::new(Field::new(name, T::Int8, nullable)));
        assert!(is_same(&list("item", false), &list("element", true)));
        assert!(!is_same(&list("item", true), &list("item", false)));
        assert!(is_same(&T::LargeUtf8, &T::Utf8));
        assert!(!is_same(&T::Int32, &T::Int64));
    }
}
