//! Logical schemas: what is frozen under a schema id.
//!
//! A schema says what its columns mean, not how they are laid out: dictionary-encoded or view columns have the type of
//! their values. Its JSON is what the state store keeps and what [`Schema::digest`] covers, so its form never changes:
//! `{"fields":[{"name":"year","type":"int32","nullable":true}]}`, with types in the text form of [`text`].

pub mod compatibility;
#[cfg(test)]
pub(crate) mod reference;
pub mod rules;
pub mod text;

use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

pub use text::InvalidType;

/// Types may nest this deep; a plain type has depth 1.
pub const DEPTH_MAX: usize = 16;

/// The longest name of a column or member, in bytes.
pub const NAME_MAX_BYTES: usize = 255;

/// The largest number of columns in a schema.
pub const COLUMNS_MAX: usize = 10_000;

/// The unit of times, timestamps and durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

/// What the values of a column are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LogicalType {
    /// Every value is null.
    Null,
    Boolean,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Float16,
    Float32,
    Float64,
    /// `precision` digits, `scale` of them after the point (negative: zeros before it).
    Decimal128 {
        precision: u8,
        scale: i8,
    },
    Decimal256 {
        precision: u8,
        scale: i8,
    },
    /// Text of up to 2 GiB a batch.
    Utf8,
    LargeUtf8,
    Binary,
    LargeBinary,
    /// Width of every value in bytes.
    FixedSizeBinary(u32),
    /// Days since 1970-01-01.
    Date32,
    /// Milliseconds since 1970-01-01.
    Date64,
    /// Seconds or milliseconds since midnight.
    Time32(TimeUnit),
    /// Microseconds or nanoseconds since midnight.
    Time64(TimeUnit),
    /// With a zone: an instant, shown in that zone. Without: local time.
    Timestamp(TimeUnit, Option<String>),
    Duration(TimeUnit),
    List(Box<Element>),
    LargeList(Box<Element>),
    /// Lists of exactly so many items.
    FixedSizeList(Box<Element>, u32),
    Struct(Vec<Field>),
    /// Keys are never null.
    Map(Box<LogicalType>, Box<Element>),
}

/// What a list holds, or a map's values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Element {
    pub logical_type: LogicalType,
    pub nullable: bool,
}

/// A column of a schema or a member of a struct.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    pub name: String,
    #[serde(rename = "type")]
    pub logical_type: LogicalType,
    pub nullable: bool,
}

impl Field {
    pub fn new(name: impl Into<String>, logical_type: LogicalType, nullable: bool) -> Self {
        Self { name: name.into(), logical_type, nullable }
    }
}

/// Columns in order, with unique names and valid types.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "UncheckedSchema")]
pub struct Schema {
    fields: Vec<Field>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UncheckedSchema {
    fields: Vec<Field>,
}

impl TryFrom<UncheckedSchema> for Schema {
    type Error = InvalidSchema;
    fn try_from(unchecked: UncheckedSchema) -> Result<Self, InvalidSchema> {
        Self::new(unchecked.fields)
    }
}

/// Columns that are not a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSchema {
    #[error("a schema needs at least one column")]
    Empty,
    #[error("{0} columns are too many: a schema has at most {COLUMNS_MAX}")]
    TooManyColumns(usize),
    #[error("two columns have the name `{0}`")]
    DuplicateColumn(String),
    #[error("column name {0:?} is not valid: {NAME_RULE}")]
    Name(String),
    #[error("column `{column}`: {source}")]
    Type { column: String, source: InvalidTypeRule },
}

const NAME_RULE: &str = "use 1 to 255 bytes without control characters";

/// A type that breaks a rule, wherever it was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTypeRule {
    #[error("precision {precision} is out of range: {name} has 1 to {max} digits")]
    Precision { name: &'static str, precision: u8, max: u8 },
    #[error("scale {scale} is out of range: it lies between -{precision} and {precision}, the precision")]
    Scale { scale: i8, precision: u8 },
    #[error("a width of {0} is out of range: use 1 to 2147483647")]
    Width(u32),
    #[error("{name} has no unit `{unit}`: use {allowed}")]
    Unit { name: &'static str, unit: TimeUnit, allowed: &'static str },
    #[error(
        "time zone {0:?} is not valid: use an IANA name such as `Europe/Berlin` or an offset such as `+00:00`, up to 64 bytes"
    )]
    Zone(String),
    #[error("a struct needs at least one member")]
    EmptyStruct,
    #[error("two members of a struct have the name `{0}`")]
    DuplicateMember(String),
    #[error("member name {0:?} is not valid: {NAME_RULE}")]
    MemberName(String),
    #[error("types nest deeper than {DEPTH_MAX} levels")]
    TooDeep,
}

fn valid_name(name: &str) -> bool {
    (1..=NAME_MAX_BYTES).contains(&name.len()) && !name.chars().any(char::is_control)
}

fn valid_zone(zone: &str) -> bool {
    let ok = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'+' | b':');
    (1..=64).contains(&zone.len()) && zone.bytes().all(ok)
}

impl LogicalType {
    /// Checks every rule that the type itself cannot enforce.
    pub fn validate(&self) -> Result<(), InvalidTypeRule> {
        self.validate_below(DEPTH_MAX)
    }

    fn validate_below(&self, levels: usize) -> Result<(), InvalidTypeRule> {
        let Some(below) = levels.checked_sub(1) else {
            return Err(InvalidTypeRule::TooDeep);
        };
        match self {
            Self::Decimal128 { precision, scale } => valid_decimal("decimal128", *precision, *scale, 38),
            Self::Decimal256 { precision, scale } => valid_decimal("decimal256", *precision, *scale, 76),
            Self::FixedSizeBinary(width) => valid_width(*width),
            Self::Time32(unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => {
                Err(InvalidTypeRule::Unit { name: "time32", unit: *unit, allowed: "`s` or `ms`" })
            }
            Self::Time64(unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => {
                Err(InvalidTypeRule::Unit { name: "time64", unit: *unit, allowed: "`us` or `ns`" })
            }
            Self::Timestamp(_, Some(zone)) if !valid_zone(zone) => Err(InvalidTypeRule::Zone(zone.clone())),
            Self::List(item) | Self::LargeList(item) => item.logical_type.validate_below(below),
            Self::FixedSizeList(item, width) => {
                valid_width(*width)?;
                item.logical_type.validate_below(below)
            }
            Self::Struct(members) => {
                if members.is_empty() {
                    return Err(InvalidTypeRule::EmptyStruct);
                }
                let mut names = BTreeSet::new();
                for member in members {
                    if !valid_name(&member.name) {
                        return Err(InvalidTypeRule::MemberName(member.name.clone()));
                    }
                    if !names.insert(&member.name) {
                        return Err(InvalidTypeRule::DuplicateMember(member.name.clone()));
                    }
                    member.logical_type.validate_below(below)?;
                }
                Ok(())
            }
            Self::Map(key, value) => {
                key.validate_below(below)?;
                value.logical_type.validate_below(below)
            }
            _ => Ok(()),
        }
    }
}

fn valid_decimal(name: &'static str, precision: u8, scale: i8, max: u8) -> Result<(), InvalidTypeRule> {
    if !(1..=max).contains(&precision) {
        return Err(InvalidTypeRule::Precision { name, precision, max });
    }
    match scale.unsigned_abs() <= precision {
        true => Ok(()),
        false => Err(InvalidTypeRule::Scale { scale, precision }),
    }
}

fn valid_width(width: u32) -> Result<(), InvalidTypeRule> {
    match (1..=i32::MAX.unsigned_abs()).contains(&width) {
        true => Ok(()),
        false => Err(InvalidTypeRule::Width(width)),
    }
}

impl Schema {
    /// Checks names and types.
    pub fn new(fields: Vec<Field>) -> Result<Self, InvalidSchema> {
        if fields.is_empty() {
            return Err(InvalidSchema::Empty);
        }
        if fields.len() > COLUMNS_MAX {
            return Err(InvalidSchema::TooManyColumns(fields.len()));
        }
        let mut names = BTreeSet::new();
        for field in &fields {
            if !valid_name(&field.name) {
                return Err(InvalidSchema::Name(field.name.clone()));
            }
            if !names.insert(&field.name) {
                return Err(InvalidSchema::DuplicateColumn(field.name.clone()));
            }
            let rule = |source| InvalidSchema::Type { column: field.name.clone(), source };
            field.logical_type.validate().map_err(rule)?;
        }
        Ok(Self { fields })
    }

    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The same columns, those that `other` has too in its order and before the rest.
    #[must_use]
    pub fn ordered_as(&self, other: &Self) -> Self {
        let shared = other.fields.iter().filter_map(|field| self.field(&field.name));
        let rest = self.fields.iter().filter(|field| other.field(&field.name).is_none());
        Self { fields: shared.chain(rest).cloned().collect() }
    }

    /// The JSON that is frozen under a schema id.
    pub fn canonical_json(&self) -> String {
        serde_json::to_string(self).expect("lists, texts and booleans are always JSON")
    }

    /// Names this schema by its content.
    pub fn digest(&self) -> Digest {
        Digest::of(self.canonical_json().as_bytes())
    }

    /// What would have to change for this schema to become `other`, one sentence each; empty if they are equal.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let here: BTreeMap<_, _> = self.fields.iter().map(|f| (&f.name, f)).collect();
        let there: BTreeMap<_, _> = other.fields.iter().map(|f| (&f.name, f)).collect();
        let mut differences = Vec::new();
        for old in &self.fields {
            let Some(new) = there.get(&old.name) else {
                differences.push(format!("column `{}` ({}) is gone", old.name, old.logical_type));
                continue;
            };
            if old.logical_type != new.logical_type {
                let (from, to) = (&old.logical_type, &new.logical_type);
                differences.push(format!("column `{}` is {to}, it was {from}", old.name));
            }
            match (old.nullable, new.nullable) {
                (false, true) => differences.push(format!("column `{}` may be null, it never was", old.name)),
                (true, false) => differences.push(format!("column `{}` is never null, it could be", old.name)),
                _ => {}
            }
        }
        for new in other.fields.iter().filter(|f| !here.contains_key(&f.name)) {
            differences.push(format!("column `{}` ({}) is new", new.name, new.logical_type));
        }
        let order = |schema: &Self, in_both: &BTreeMap<&String, &Field>| -> Vec<String> {
            schema.fields.iter().filter(|f| in_both.contains_key(&f.name)).map(|f| f.name.clone()).collect()
        };
        if order(self, &there) != order(other, &here) {
            differences.push("the columns are in another order".to_owned());
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(fields: &[(&str, &str, bool)]) -> Schema {
        let field = |(name, text, nullable): &(&str, &str, bool)| Field::new(*name, text.parse().unwrap(), *nullable);
        Schema::new(fields.iter().map(field).collect()).unwrap()
    }

    /// Stored under schema ids: another form would make every frozen schema look changed.
    #[test]
    fn canonical_json_and_digest_are_fixed() {
        let schema = schema(&[("id", "int64", false), ("at", "timestamp(us, UTC)", true)]);
        let json = concat!(
            r#"{"fields":[{"name":"id","type":"int64","nullable":false},"#,
            r#"{"name":"at","type":"timestamp(us, UTC)","nullable":true}]}"#
        );
        assert_eq!(schema.canonical_json(), json);
        assert_eq!(schema.digest(), Digest::of(json.as_bytes()));
        assert_eq!(serde_json::from_str::<Schema>(json).unwrap(), schema);
    }

    #[test]
    fn stored_schemas_are_checked_when_read() {
        for bad in [
            r#"{"fields":[]}"#,
            r#"{"fields":[{"name":"a","type":"int32","nullable":true},{"name":"a","type":"int32","nullable":true}]}"#,
            r#"{"fields":[{"name":"a","type":"int33","nullable":true}]}"#,
            r#"{"fields":[{"name":"a","type":"int32","nullable":true,"x":1}]}"#,
            r#"{"fields":[{"name":"a\u0000","type":"int32","nullable":true}]}"#,
        ] {
            assert!(serde_json::from_str::<Schema>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn types_made_by_code_are_checked_too() {
        let bad = [
            LogicalType::Decimal128 { precision: 39, scale: 0 },
            LogicalType::Decimal128 { precision: 0, scale: 0 },
            LogicalType::Decimal256 { precision: 76, scale: 77 },
            LogicalType::Time32(TimeUnit::Nanosecond),
            LogicalType::Time64(TimeUnit::Second),
            LogicalType::FixedSizeBinary(0),
            LogicalType::FixedSizeBinary(u32::MAX),
            LogicalType::Timestamp(TimeUnit::Second, Some("no zone".into())),
            LogicalType::Struct(vec![]),
            LogicalType::Struct(vec![Field::new("", LogicalType::Null, true)]),
            LogicalType::Struct(vec![
                Field::new("a", LogicalType::Null, true),
                Field::new("a", LogicalType::Null, true),
            ]),
        ];
        for logical_type in bad {
            let nested = LogicalType::List(Box::new(Element { logical_type: logical_type.clone(), nullable: true }));
            for t in [logical_type, nested] {
                assert!(Schema::new(vec![Field::new("a", t.clone(), true)]).is_err(), "{t:?}");
            }
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nest = |levels| {
            (1..levels).fold(LogicalType::Int8, |logical_type, _| {
                LogicalType::List(Box::new(Element { logical_type, nullable: true }))
            })
        };
        assert_eq!(nest(DEPTH_MAX).validate(), Ok(()));
        assert_eq!(nest(DEPTH_MAX + 1).validate(), Err(InvalidTypeRule::TooDeep));
    }

    #[test]
    fn differences_say_what_changed() {
        let old = schema(&[("a", "int32", false), ("b", "utf8", true), ("c", "date32", true), ("d", "int8", true)]);
        let new =
            schema(&[("d", "int8", true), ("a", "int64", true), ("c", "date32", false), ("e", "list<utf8>", true)]);
        assert_eq!(old.differences(&old), Vec::<String>::new());
        assert_eq!(
            old.differences(&new),
            [
                "column `a` is int64, it was int32",
                "column `a` may be null, it never was",
                "column `b` (utf8) is gone",
                "column `c` is never null, it could be",
                "column `e` (list<utf8>) is new",
                "the columns are in another order",
            ]
        );
    }
}
