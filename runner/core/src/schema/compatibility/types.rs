//! Verdicts on types.

use super::{Changes, ColumnPath, Kind, Step, compare_members, compare_nullability};
use crate::schema::{Element, LogicalType, TimeUnit};
use std::collections::BTreeMap;

/// A verdict for each direction: backward, forward.
type Both = (bool, bool);

pub(super) fn compare_types(path: &ColumnPath, old: &LogicalType, new: &LogicalType, changes: &mut Changes) {
    use LogicalType as T;
    if old == new {
        return;
    }
    match (old, new) {
        (T::Utf8 | T::LargeUtf8, T::Utf8 | T::LargeUtf8) | (T::Binary | T::LargeBinary, T::Binary | T::LargeBinary) => {
            layout(path, old, new, changes)
        }
        (T::Timestamp(old_unit, old_zone), T::Timestamp(new_unit, new_zone)) => {
            compare_units(path, *old_unit, *new_unit, true, changes);
            compare_zones(path, old_zone.as_deref(), new_zone.as_deref(), changes);
        }
        (T::Duration(old), T::Duration(new)) => compare_units(path, *old, *new, true, changes),
        (T::Time32(old) | T::Time64(old), T::Time32(new) | T::Time64(new)) => {
            compare_units(path, *old, *new, false, changes);
        }
        (T::List(old_item) | T::LargeList(old_item), T::List(new_item) | T::LargeList(new_item)) => {
            if std::mem::discriminant(old) != std::mem::discriminant(new) {
                let reason = "lists of the same items in another layout";
                changes.push(Some(path), Kind::Layout, (true, true), reason.to_owned());
            }
            compare_elements(path.then(Step::Item), old_item, new_item, changes);
        }
        (T::FixedSizeList(old_item, items), T::List(new_item) | T::LargeList(new_item)) => {
            let reason = format!("lists of {items} items are lists of any length, but not the other way round");
            changes.push(Some(path), Kind::TypeWidened, (true, false), reason);
            compare_elements(path.then(Step::Item), old_item, new_item, changes);
        }
        (T::List(old_item) | T::LargeList(old_item), T::FixedSizeList(new_item, items)) => {
            let reason = format!("not every list has {items} items");
            changes.push(Some(path), Kind::TypeNarrowed, (false, true), reason);
            compare_elements(path.then(Step::Item), old_item, new_item, changes);
        }
        (T::FixedSizeList(old_item, old_items), T::FixedSizeList(new_item, new_items)) if old_items == new_items => {
            compare_elements(path.then(Step::Item), old_item, new_item, changes);
        }
        (T::Struct(old), T::Struct(new)) => compare_members(Some(path), old, new, &BTreeMap::new(), changes),
        (T::Map(old_key, old_value), T::Map(new_key, new_value)) => {
            compare_types(&path.then(Step::Key), old_key, new_key, changes);
            compare_elements(path.then(Step::Value), old_value, new_value, changes);
        }
        _ => match (Number::of(old), Number::of(new)) {
            (Some(Number::Decimal(old_digits)), Some(Number::Decimal(new_digits))) => {
                compare_decimals(path, (old, old_digits), (new, new_digits), changes);
            }
            (Some(old_number), Some(new_number)) => {
                let verdict = (new_number.holds(old_number), old_number.holds(new_number));
                widened_or_narrowed(path, old, new, verdict, changes);
            }
            _ => match holds(new, old) || holds(old, new) {
                true => widened_or_narrowed(path, old, new, (holds(new, old), holds(old, new)), changes),
                false => {
                    let reason = format!("{old} and {new} are different kinds of values");
                    changes.push(Some(path), Kind::TypeChanged, (false, false), reason);
                }
            },
        },
    }
}

fn compare_elements(path: ColumnPath, old: &Element, new: &Element, changes: &mut Changes) {
    compare_types(&path, &old.logical_type, &new.logical_type, changes);
    compare_nullability(&path, old.nullable, new.nullable, changes);
}

fn layout(path: &ColumnPath, old: &LogicalType, new: &LogicalType, changes: &mut Changes) {
    let reason = format!("{old} and {new} hold the same values in another layout");
    changes.push(Some(path), Kind::Layout, (true, true), reason);
}

fn widened_or_narrowed(path: &ColumnPath, old: &LogicalType, new: &LogicalType, verdict: Both, changes: &mut Changes) {
    let (kind, reason) = match verdict {
        (true, _) => (Kind::TypeWidened, format!("every {old} is exactly one {new}, but not the other way round")),
        (false, true) => {
            (Kind::TypeNarrowed, format!("not every {old} is a {new}, but every {new} is exactly one {old}"))
        }
        (false, false) => {
            (Kind::TypeNarrowed, format!("{old} and {new} each have values that the other cannot hold exactly"))
        }
    };
    changes.push(Some(path), kind, verdict, reason);
}

/// Whether every value of `inner` is a value of `outer`, for types that are no numbers and have no parts.
fn holds(outer: &LogicalType, inner: &LogicalType) -> bool {
    use LogicalType as T;
    matches!(
        (outer, inner),
        // A column without values: whether nulls fit is judged by nullability.
        (_, T::Null) | (T::Binary | T::LargeBinary, T::FixedSizeBinary(_)) | (T::Date64, T::Date32)
    )
}

/// The values of a number type.
#[derive(Debug, Clone, Copy)]
enum Number {
    Integer {
        min: i128,
        max: i128,
    },
    /// All whole numbers up to 2 to the power of `bits` are exact.
    Float {
        bits: u32,
    },
    Decimal(Digits),
}

/// The digits of a decimal before and after the point. A negative `after` means zeros before it.
#[derive(Debug, Clone, Copy)]
struct Digits {
    before: i16,
    after: i16,
}

impl Number {
    fn of(logical_type: &LogicalType) -> Option<Self> {
        use LogicalType as T;
        let signed = |bits: u32| Self::Integer { min: -(1 << (bits - 1)), max: (1 << (bits - 1)) - 1 };
        let unsigned = |bits: u32| Self::Integer { min: 0, max: (1 << bits) - 1 };
        Some(match logical_type {
            T::Int8 => signed(8),
            T::Int16 => signed(16),
            T::Int32 => signed(32),
            T::Int64 => signed(64),
            T::Uint8 => unsigned(8),
            T::Uint16 => unsigned(16),
            T::Uint32 => unsigned(32),
            T::Uint64 => unsigned(64),
            T::Float16 => Self::Float { bits: 11 },
            T::Float32 => Self::Float { bits: 24 },
            T::Float64 => Self::Float { bits: 53 },
            T::Decimal128 { precision, scale } | T::Decimal256 { precision, scale } => {
                Self::Decimal(Digits { before: i16::from(*precision) - i16::from(*scale), after: i16::from(*scale) })
            }
            _ => return None,
        })
    }

    /// The smallest and largest value, of types that have whole numbers only, if they are not beyond all integers.
    fn whole_range(self) -> Option<(i128, i128)> {
        match self {
            Self::Integer { min, max } => Some((min, max)),
            Self::Decimal(Digits { before, after }) if after <= 0 => {
                let beyond = 10_i128.checked_pow(u32::try_from(before).ok()?)?;
                Some((1 - beyond, beyond - 1))
            }
            _ => None,
        }
    }

    /// Whether every value of `other` is exactly one of this type. Two decimals are compared by their digits, not here.
    fn holds(self, other: Self) -> bool {
        let within =
            |least: i128, most: i128| other.whole_range().is_some_and(|(min, max)| least <= min && max <= most);
        match (self, other) {
            (Self::Float { bits }, Self::Float { bits: other }) => other <= bits,
            (Self::Integer { min, max }, _) => within(min, max),
            (Self::Float { bits }, _) => within(-(1 << bits), 1 << bits),
            (Self::Decimal(Digits { before, after }), _) => {
                // The digits before the point alone: a decimal with more of them than an i128 holds every integer.
                let range = Self::Decimal(Digits { before, after: 0 }).whole_range();
                after >= 0 && range.is_none_or(|(min, max)| within(min, max)) && other.whole_range().is_some()
            }
        }
    }
}

fn compare_decimals(
    path: &ColumnPath,
    (old, old_digits): (&LogicalType, Digits),
    (new, new_digits): (&LogicalType, Digits),
    changes: &mut Changes,
) {
    let (old_after, new_after) = (old_digits.after, new_digits.after);
    if old_after != new_after {
        let reason = match old_after < new_after {
            true => format!("{new_after} digits after the point hold {old_after} exactly, but not the other way round"),
            false => format!("{new_after} digits after the point do not hold {old_after}: values would be rounded"),
        };
        changes.push(Some(path), Kind::DecimalScale, (old_after <= new_after, new_after <= old_after), reason);
    }
    let (old_before, new_before) = (old_digits.before, new_digits.before);
    if old_before != new_before {
        let reason = match old_before < new_before {
            true => format!("{new_before} digits before the point hold {old_before}, but not the other way round"),
            false => {
                format!("{new_before} digits before the point do not hold {old_before}: large values would not fit")
            }
        };
        changes.push(Some(path), Kind::DecimalPrecision, (old_before <= new_before, new_before <= old_before), reason);
    }
    if old_after == new_after && old_before == new_before {
        layout(path, old, new, changes);
    }
}

/// `bounded`: the values of the unit are counted in 64 bits from a fixed moment, so that a finer unit reaches less far.
/// Only nanoseconds reach less far than dates do in practice: 292 years.
fn compare_units(path: &ColumnPath, old: TimeUnit, new: TimeUnit, bounded: bool, changes: &mut Changes) {
    if old == new {
        return;
    }
    let holds = |outer: TimeUnit, inner: TimeUnit| {
        rank(inner) <= rank(outer) && !(bounded && outer == TimeUnit::Nanosecond && inner != outer)
    };
    let (backward, forward) = (holds(new, old), holds(old, new));
    let reason = match (backward, forward) {
        (true, _) => format!("a time in {old} is exact in {new}, but not the other way round"),
        (_, true) => format!("a time in {old} may have a fraction that {new} cannot hold"),
        _ if new == TimeUnit::Nanosecond => {
            format!("{new} reach 292 years only, and {old} cannot hold their fractions")
        }
        _ => format!("{new} cannot hold the fractions of {old}, which reach 292 years only"),
    };
    changes.push(Some(path), Kind::TimeUnit, (backward, forward), reason);
}

const fn rank(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    }
}

fn compare_zones(path: &ColumnPath, old: Option<&str>, new: Option<&str>, changes: &mut Changes) {
    let (verdict, reason) = match (old, new) {
        (Some(old), Some(new)) if old != new => {
            ((true, true), format!("the same instant, shown in {new} and no longer in {old}"))
        }
        (None, Some(new)) => {
            ((false, false), format!("old data holds local times of no known zone, new data instants, shown in {new}"))
        }
        (Some(old), None) => {
            ((false, false), format!("old data holds instants, shown in {old}, new data local times of no known zone"))
        }
        _ => return,
    };
    changes.push(Some(path), Kind::TimeZone, verdict, reason);
}
