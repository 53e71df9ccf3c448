//! Canonicalization rules: how what a source holds becomes the one value that a schema's column keeps.
//!
//! A frozen schema carries its rules beside its types. Two schemas of equal types under different rules are different
//! schemas: the same record of the source would have another value.
//!
//! The defaults are what the sources do where nothing else is said, and so what every schema that was frozen without
//! rules has obeyed. Not every rule has a meaning for every source:
//!
//! | rule | CSV | JSON Lines | Parquet |
//! |---|---|---|---|
//! | decimal scale | obeyed; zeros beyond the scale are no digits | obeyed by columns; within nested columns a number is judged by the nearest `float64`, so that digits beyond about the 17th are cut | no meaning: a file of another scale is refused as a whole |
//! | time zone | obeyed | obeyed by columns; within nested columns a timestamp without zone takes texts with an offset too, as UTC, and fractions finer than the unit are cut | no meaning: instants are stored as such |
//! | collation | obeyed | obeyed | obeyed |
//! | JSON numbers | no meaning | obeyed; a text column keeps a number as it is written; for decimals within nested columns see decimal scale | no meaning |
//! | texts that mean null | obeyed (`null_values`); beside them an empty field is null in every column that is not text | no meaning: only `null` is null | no meaning |
//! | absent member | no meaning: a record with another number of fields is refused | obeyed | no meaning: a file without the column is refused as a whole |
//!
//! Whatever the rules, a null in a column that is not nullable refuses its record.

use super::{InvalidTypeRule, valid_zone};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The canonicalization rules of a schema. The default describes what sources do without rules.
///
/// Its JSON is frozen together with the schema; a rule that is not in it has its default, so defaults never change.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rules {
    pub decimal_scale: DecimalScale,
    /// The zone in which the source's local times are read, where the column holds instants. None: local times stay
    /// without zone. A column of instants then takes a local time only if its own zone is UTC or an offset, and reads it
    /// there; with a zone whose offset varies it refuses the record. A column without zone always keeps local times, and
    /// refuses a text with an offset.
    pub time_zone: Option<Zone>,
    pub collation: Collation,
    pub json_numbers: JsonNumbers,
    pub missing_values: MissingValues,
}

/// What becomes of a decimal with more digits after the point than its column's scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DecimalScale {
    /// Its record is refused. Zeros are no digits: `1.20` has scale 1.
    #[default]
    Refused,
    /// It is rounded to the nearest value of the scale; from the middle, to the even digit.
    HalfEven,
}

/// How texts are compared and told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Collation {
    /// By their UTF-8 bytes, without any normalization.
    #[default]
    Binary,
}

/// What a JSON number is before it becomes a value of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum JsonNumbers {
    /// Its digits, as they are written.
    #[default]
    Exact,
    /// The nearest `float64`, as most JSON libraries read it.
    Float64,
}

/// What counts as no value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MissingValues {
    /// Fields of a text format that mean null, in every column. A set: order and repetition do not count.
    pub texts: BTreeSet<String>,
    pub absent: Absent,
}

impl Default for MissingValues {
    fn default() -> Self {
        Self { texts: [String::new()].into(), absent: Absent::default() }
    }
}

/// What becomes of a record that lacks a member which the schema has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Absent {
    /// The member is null, as if the record said so.
    #[default]
    Null,
    /// The record is refused.
    Refused,
}

/// An IANA zone such as `Europe/Berlin`, or an offset such as `+00:00`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone(String);

impl Zone {
    /// Checks the form, as for the zone of a timestamp; whether there is such a zone is for the source to say.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidTypeRule> {
        let text = text.into();
        match valid_zone(&text) {
            true => Ok(Self(text)),
            false => Err(InvalidTypeRule::Zone(text)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}
impl TryFrom<String> for Zone {
    type Error = InvalidTypeRule;
    fn try_from(text: String) -> Result<Self, InvalidTypeRule> {
        Self::new(text)
    }
}
impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.0
    }
}
impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for DecimalScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused",
            Self::HalfEven => "rounded half even",
        })
    }
}
impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binary => "as bytes",
        })
    }
}
impl fmt::Display for JsonNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "exactly",
            Self::Float64 => "as float64",
        })
    }
}
impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Refused => "refused",
        })
    }
}

impl Rules {
    /// The JSON that is frozen beside a schema. All rules are written out.
    pub fn canonical_json(&self) -> String {
        serde_json::to_string(self).expect("texts and lists of texts are always JSON")
    }

    /// What would have to change for these rules to become `other`, one sentence each; empty if they are equal.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        if self.decimal_scale != other.decimal_scale {
            let (from, to) = (self.decimal_scale, other.decimal_scale);
            differences.push(format!("decimals with more digits than their scale are {to}, they were {from}"));
        }
        if self.time_zone != other.time_zone {
            let zone = |rules: &Self| rules.time_zone.as_ref().map_or("no zone".to_owned(), Zone::to_string);
            differences.push(format!("local times of the source are read in {}, it was {}", zone(other), zone(self)));
        }
        if self.collation != other.collation {
            differences.push(format!("texts are compared {}, it was {}", other.collation, self.collation));
        }
        if self.json_numbers != other.json_numbers {
            differences.push(format!("JSON numbers are read {}, it was {}", other.json_numbers, self.json_numbers));
        }
        let (before, after) = (&self.missing_values, &other.missing_values);
        for text in after.texts.difference(&before.texts) {
            differences.push(format!("the text {text:?} means null, it was a value"));
        }
        for text in before.texts.difference(&after.texts) {
            differences.push(format!("the text {text:?} is a value, it meant null"));
        }
        if before.absent != after.absent {
            differences.push(format!("an absent member is {}, it was {}", after.absent, before.absent));
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_rule_changed() -> Rules {
        Rules {
            decimal_scale: DecimalScale::HalfEven,
            time_zone: Some(Zone::new("Europe/Berlin").unwrap()),
            collation: Collation::Binary,
            json_numbers: JsonNumbers::Float64,
            missing_values: MissingValues {
                texts: ["n/a", "NA", "n/a"].map(str::to_owned).into(),
                absent: Absent::Refused,
            },
        }
    }

    /// Frozen beside schemas: rules of this form must be readable for ever.
    #[test]
    fn stored_json_is_fixed() {
        let default = concat!(
            r#"{"decimalScale":"refused","timeZone":null,"collation":"binary","jsonNumbers":"exact","#,
            r#""missingValues":{"texts":[""],"absent":"null"}}"#
        );
        let changed = concat!(
            r#"{"decimalScale":"halfEven","timeZone":"Europe/Berlin","collation":"binary","jsonNumbers":"float64","#,
            r#""missingValues":{"texts":["NA","n/a"],"absent":"refused"}}"#
        );
        for (rules, json) in [(Rules::default(), default), (every_rule_changed(), changed)] {
            assert_eq!(rules.canonical_json(), json);
            assert_eq!(serde_json::from_str::<Rules>(json).unwrap(), rules);
        }
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        assert_eq!(serde_json::from_str::<Rules>("{}").unwrap(), Rules::default());
        let rules: Rules = serde_json::from_str(r#"{"missingValues":{"texts":["NA"]}}"#).unwrap();
        assert_eq!(rules.missing_values.absent, Absent::Null);
        assert!(!rules.missing_values.texts.contains(""));
    }

    #[test]
    fn other_json_is_refused() {
        for bad in [
            r#"{"decimals":"refused"}"#,
            r#"{"decimalScale":"half_even"}"#,
            r#"{"timeZone":"no zone"}"#,
            r#"{"timeZone":""}"#,
            r#"{"collation":"de"}"#,
            r#"{"missingValues":{"words":[]}}"#,
        ] {
            assert!(serde_json::from_str::<Rules>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn differences_say_what_changed() {
        let (old, new) = (Rules::default(), every_rule_changed());
        assert_eq!(old.differences(&old), Vec::<String>::new());
        assert_eq!(
            old.differences(&new),
            [
                "decimals with more digits than their scale are rounded half even, they were refused",
                "local times of the source are read in Europe/Berlin, it was no zone",
                "JSON numbers are read as float64, it was exactly",
                "the text \"NA\" means null, it was a value",
                "the text \"n/a\" means null, it was a value",
                "the text \"\" is a value, it meant null",
                "an absent member is refused, it was null",
            ]
        );
        assert_eq!(new.differences(&old).len(), 7);
    }
}
