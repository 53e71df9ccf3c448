//! Verdicts on canonicalization rules.
//!
//! A rule counts only for columns that are in both schemas and whose values it decides. Where a rule is only stricter
//! than the other, data made by the stricter one keeps what the laxer one promises, but not the other way round.

use super::{Changes, Described, Kind, list, paired};
use crate::schema::rules::{Absent, DecimalScale, JsonNumbers};
use crate::schema::{Field, LogicalType};
use std::collections::BTreeMap;

pub(super) fn compare_rules(
    old: Described<'_>,
    new: Described<'_>,
    names: &BTreeMap<&str, &str>,
    changes: &mut Changes,
) {
    let pairs = paired(old.schema.fields(), new.schema.fields(), names);
    let pairs: Vec<_> = pairs.into_iter().filter_map(|(old, new)| new.map(|new| (old, new))).collect();
    let mut rule = |kind: Kind, decides: fn(&Field) -> bool, verdict: (bool, bool), reason: String| {
        let decided = pairs.iter().filter(|(old, new)| decides(old) || decides(new));
        let columns: Vec<&str> = decided.map(|(_, new)| new.name.as_str()).collect();
        match columns.is_empty() {
            true => changes.push(None, kind, (true, true), format!("{reason}; no column depends on it")),
            false => changes.push(None, kind, verdict, format!("{reason}; it decides {}", list(&columns))),
        }
    };
    let (from, to) = (old.rules, new.rules);

    if from.decimal_scale != to.decimal_scale {
        let verdict = stricter(from.decimal_scale == DecimalScale::Refused);
        let reason =
            format!("decimals with too many digits are {}, they were {}", to.decimal_scale, from.decimal_scale);
        rule(Kind::DecimalRule, |field| contains(&field.logical_type, &is_decimal), verdict, reason);
    }
    if from.time_zone != to.time_zone {
        let reason = "a local time of the source is another instant".to_owned();
        rule(Kind::TimeZoneRule, |field| contains(&field.logical_type, &is_instant), (false, false), reason);
    }
    if from.collation != to.collation {
        let reason = format!("texts are compared {}, it was {}", to.collation, from.collation);
        rule(Kind::Collation, |field| contains(&field.logical_type, &is_text), (false, false), reason);
    }
    if from.json_numbers != to.json_numbers {
        let verdict = stricter(from.json_numbers == JsonNumbers::Exact);
        let reason = format!("JSON numbers are read {}, it was {}", to.json_numbers, from.json_numbers);
        rule(Kind::JsonNumbers, |field| contains(&field.logical_type, &is_more_than_float64), verdict, reason);
    }
    let (from, to) = (&from.missing_values, &to.missing_values);
    if from.texts != to.texts {
        let (gone, come): (Vec<_>, Vec<_>) =
            (from.texts.difference(&to.texts).collect(), to.texts.difference(&from.texts).collect());
        let mut parts = Vec::new();
        if !come.is_empty() {
            parts.push(format!("{} mean null now", quoted(&come)));
        }
        if !gone.is_empty() {
            parts.push(format!("{} are values now", quoted(&gone)));
        }
        rule(Kind::MissingValues, |_| true, (false, false), format!("of the source's texts, {}", parts.join(" and ")));
    }
    if from.absent != to.absent {
        let verdict = stricter(from.absent == Absent::Refused);
        let reason = format!("an absent member is {}, it was {}", to.absent, from.absent);
        rule(
            Kind::MissingValues,
            |field| field.nullable || contains(&field.logical_type, &has_nullable_member),
            verdict,
            reason,
        );
    }
}

/// The verdict when one of two rules is stricter: the old one, or else the new one.
const fn stricter(old: bool) -> (bool, bool) {
    (old, !old)
}

/// Whether a type is, or has inside, one of a kind.
fn contains(logical_type: &LogicalType, is: &dyn Fn(&LogicalType) -> bool) -> bool {
    use LogicalType as T;
    is(logical_type)
        || match logical_type {
            T::List(item) | T::LargeList(item) | T::FixedSizeList(item, _) => contains(&item.logical_type, is),
            T::Struct(members) => members.iter().any(|member| contains(&member.logical_type, is)),
            T::Map(key, value) => contains(key, is) || contains(&value.logical_type, is),
            _ => false,
        }
}

const fn is_decimal(logical_type: &LogicalType) -> bool {
    matches!(logical_type, LogicalType::Decimal128 { .. } | LogicalType::Decimal256 { .. })
}

const fn is_instant(logical_type: &LogicalType) -> bool {
    matches!(logical_type, LogicalType::Timestamp(_, Some(_)))
}

const fn is_text(logical_type: &LogicalType) -> bool {
    matches!(logical_type, LogicalType::Utf8 | LogicalType::LargeUtf8)
}

/// Whether it can tell numbers apart that are one `float64`, or is rounded otherwise if it is read from one.
const fn is_more_than_float64(logical_type: &LogicalType) -> bool {
    use LogicalType as T;
    is_decimal(logical_type)
        || is_text(logical_type)
        || matches!(logical_type, T::Int64 | T::Uint64 | T::Float16 | T::Float32 | T::Duration(_))
}

fn has_nullable_member(logical_type: &LogicalType) -> bool {
    matches!(logical_type, LogicalType::Struct(members) if members.iter().any(|member| member.nullable))
}

fn quoted(texts: &[&String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    list(&texts)
}
