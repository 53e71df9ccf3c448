//! What a change of schema means: who can still read what, and what has to be done.
//!
//! [`compare`] lists the changes from one schema to another, each with a verdict for both directions. A change is judged
//! by values: a reader can read what was written under the other schema if every value there has one exact value here,
//! with the same meaning. Names alone prove nothing, and neither does a type without the rules that filled it.
//!
//! [`judge`] says whether changes keep what a task demands of its schemas, [`remedy`] what they cost. These are two
//! questions: a dropped column harms no new reader, and still the target has to be rebuilt.
//!
//! `docs/reference/compatibility.md` shows every verdict; a test keeps it true.

mod path;
mod rules;
#[cfg(test)]
mod tests;
mod types;

pub use path::{ColumnPath, Step};

use super::rules::Rules;
use super::{Field, Schema};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A schema with all that decides what its records are.
#[derive(Debug, Clone, Copy)]
pub struct Described<'a> {
    pub schema: &'a Schema,
    pub rules: &'a Rules,
    /// The columns that together name one record. Their order does not count.
    pub identity: &'a [String],
}

/// One change from an old schema to a new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Where. None: the schema as a whole. A renamed column has its old name here, and its new one in its other changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<ColumnPath>,
    pub kind: Kind,
    /// Readers with the new schema can read data of the old one.
    pub backward: bool,
    /// Readers with the old schema can read data of the new one.
    pub forward: bool,
    /// The column is part of the identity, before or after.
    pub in_identity: bool,
    /// One sentence for people, without its full stop.
    pub reason: String,
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// A column, or a member of a struct, that the old schema does not have.
    Added,
    /// One that the new schema does not have.
    Dropped,
    /// One that a migrate link carries over under another name. Without a link it is dropped and another added.
    Renamed,
    /// The same values in another layout, such as `utf8` and `large_utf8`.
    Layout,
    /// Every value of the old type is a value of the new one.
    TypeWidened,
    /// Not every value of the old type is a value of the new one, which is of the same family, such as numbers.
    TypeNarrowed,
    /// Another kind of value.
    TypeChanged,
    /// The number of digits before the point.
    DecimalPrecision,
    /// The number of digits after the point.
    DecimalScale,
    TimeUnit,
    /// Of a column of timestamps.
    TimeZone,
    Nullability,
    /// Columns, or members of a struct, in another order.
    Order,
    /// The columns that name a record.
    Identity,
    /// The rule for decimals with too many digits.
    DecimalRule,
    /// The rule for local times of the source.
    TimeZoneRule,
    Collation,
    JsonNumbers,
    MissingValues,
}

impl Kind {
    pub const ALL: [Self; 19] = [
        Self::Added,
        Self::Dropped,
        Self::Renamed,
        Self::Layout,
        Self::TypeWidened,
        Self::TypeNarrowed,
        Self::TypeChanged,
        Self::DecimalPrecision,
        Self::DecimalScale,
        Self::TimeUnit,
        Self::TimeZone,
        Self::Nullability,
        Self::Order,
        Self::Identity,
        Self::DecimalRule,
        Self::TimeZoneRule,
        Self::Collation,
        Self::JsonNumbers,
        Self::MissingValues,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "added",
            Self::Dropped => "dropped",
            Self::Renamed => "renamed",
            Self::Layout => "layout",
            Self::TypeWidened => "type widened",
            Self::TypeNarrowed => "type narrowed",
            Self::TypeChanged => "type changed",
            Self::DecimalPrecision => "decimal precision",
            Self::DecimalScale => "decimal scale",
            Self::TimeUnit => "time unit",
            Self::TimeZone => "time zone",
            Self::Nullability => "nullability",
            Self::Order => "order",
            Self::Identity => "identity",
            Self::DecimalRule => "decimal rule",
            Self::TimeZoneRule => "time zone rule",
            Self::Collation => "collation",
            Self::JsonNumbers => "JSON numbers",
            Self::MissingValues => "missing values",
        })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            Some(column) => write!(f, "column {column}: {}: {}", self.kind, self.reason),
            None => write!(f, "{}: {}", self.kind, self.reason),
        }
    }
}

/// A column that a migrate link carries over under another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rename<'a> {
    pub from: &'a str,
    pub to: &'a str,
}

/// The changes from `old` to `new`: columns in their order, then the order, the identity and the rules. Empty if the
/// two are the same.
pub fn compare(old: Described<'_>, new: Described<'_>) -> Vec<Change> {
    compare_renamed(old, new, &[])
}

/// Like [`compare`], where a migrate link says which columns of the old schema have another name in the new one. Only
/// columns can be renamed, not members. A hint whose columns are not both there, or that names one twice, counts for
/// nothing.
pub fn compare_renamed(old: Described<'_>, new: Described<'_>, renames: &[Rename<'_>]) -> Vec<Change> {
    let names = new_names(old.schema, new.schema, renames);
    let mut changes = Changes::default();
    compare_members(None, old.schema.fields(), new.schema.fields(), &names, &mut changes);

    let renamed = |name: &'_ String| names.get(name.as_str()).map_or(name.as_str(), |to| to).to_owned();
    let before: BTreeSet<String> = old.identity.iter().map(renamed).collect();
    let after: BTreeSet<String> = new.identity.iter().cloned().collect();
    if before != after {
        let reason = format!("a record was named by {}, now it is by {}", list(old.identity), list(new.identity));
        changes.push(None, Kind::Identity, (false, false), reason);
    }
    rules::compare_rules(old, new, &names, &mut changes);

    let in_identity: BTreeSet<&str> = old.identity.iter().chain(&before).chain(&after).map(String::as_str).collect();
    for change in &mut changes.0 {
        change.in_identity = change.column.as_ref().is_some_and(|path| in_identity.contains(path.column()));
    }
    changes.0
}

/// New name by old name, of the columns whose rename can be.
fn new_names<'a>(old: &'a Schema, new: &'a Schema, renames: &[Rename<'_>]) -> BTreeMap<&'a str, &'a str> {
    fn by_name(schema: &Schema) -> BTreeSet<&str> {
        schema.fields().iter().map(|field| field.name.as_str()).collect()
    }
    let (old, new) = (by_name(old), by_name(new));
    let mut names = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for rename in renames.iter().filter(|rename| rename.from != rename.to) {
        if let (Some(from), Some(to)) = (old.get(rename.from), new.get(rename.to))
            && !names.contains_key(from)
            && taken.insert(*to)
        {
            names.insert(*from, *to);
        }
    }
    names
}

/// Changes as they are found.
#[derive(Default)]
struct Changes(Vec<Change>);

impl Changes {
    fn push(&mut self, column: Option<&ColumnPath>, kind: Kind, (backward, forward): (bool, bool), reason: String) {
        self.0.push(Change { column: column.cloned(), kind, backward, forward, in_identity: false, reason });
    }
}

/// Columns of a schema (`parent` is none) or members of a struct. They belong together by name.
fn compare_members(
    parent: Option<&ColumnPath>,
    old: &[Field],
    new: &[Field],
    names: &BTreeMap<&str, &str>,
    changes: &mut Changes,
) {
    let path = |name: &str| match parent {
        None => ColumnPath::of(name),
        Some(parent) => parent.then(Step::Member(name.to_owned())),
    };
    let mut kept: Vec<&str> = Vec::new();
    for (field, found) in paired(old, new, names) {
        let Some(found) = found else {
            let reason = match field.nullable {
                true => format!("old readers find no {} and read null", field.logical_type),
                false => format!("old readers need a {} and find none", field.logical_type),
            };
            changes.push(Some(&path(&field.name)), Kind::Dropped, (true, field.nullable), reason);
            continue;
        };
        if found.name != field.name {
            let reason = format!("its name is {} now, and readers look columns up by name", path(&found.name));
            changes.push(Some(&path(&field.name)), Kind::Renamed, (false, false), reason);
        }
        kept.push(&found.name);
        let path = path(&found.name);
        types::compare_types(&path, &field.logical_type, &found.logical_type, changes);
        compare_nullability(&path, field.nullable, found.nullable, changes);
    }
    let in_both: BTreeSet<&str> = kept.iter().copied().collect();
    for field in new.iter().filter(|field| !in_both.contains(field.name.as_str())) {
        let reason = match field.nullable {
            true => format!("a nullable {}: old data has none and reads as null", field.logical_type),
            false => format!("a {} that is never null: old data has none", field.logical_type),
        };
        changes.push(Some(&path(&field.name)), Kind::Added, (field.nullable, true), reason);
    }
    if !new.iter().map(|field| field.name.as_str()).filter(|name| in_both.contains(name)).eq(kept) {
        let what = if parent.is_none() { "columns" } else { "members" };
        let reason = format!("the {what} stand in another order, and readers look them up by name");
        changes.push(parent, Kind::Order, (true, true), reason);
    }
}

/// Each old field and what it has become. A name that a renamed column has taken is no longer that of the column that
/// had it before.
fn paired<'a>(old: &'a [Field], new: &'a [Field], names: &BTreeMap<&str, &str>) -> Vec<(&'a Field, Option<&'a Field>)> {
    let by_name: BTreeMap<&str, &Field> = new.iter().map(|field| (field.name.as_str(), field)).collect();
    let taken: BTreeSet<&str> = names.values().copied().collect();
    let found = |field: &Field| match names.get(field.name.as_str()) {
        Some(name) => by_name.get(name).copied(),
        None => by_name.get(field.name.as_str()).copied().filter(|found| !taken.contains(found.name.as_str())),
    };
    old.iter().map(|field| (field, found(field))).collect()
}

fn compare_nullability(path: &ColumnPath, old: bool, new: bool, changes: &mut Changes) {
    let (verdict, reason) = match (old, new) {
        (false, true) => ((true, false), "it may be null now: old readers do not expect that"),
        (true, false) => ((false, true), "it is never null now: old data may hold nulls"),
        _ => return,
    };
    changes.push(Some(path), Kind::Nullability, verdict, reason.to_owned());
}

/// A few names, for a sentence.
fn list<T: fmt::Display>(names: &[T]) -> String {
    const SHOWN: usize = 5;
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if names.len() > SHOWN {
        shown.push(format!("{} more", names.len() - SHOWN));
    }
    match shown.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// What a task demands of the schemas that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Readers with the new schema can read data of the old one: readers change first.
    #[default]
    Backward,
    /// Readers with the old schema can read data of the new one: writers change first.
    Forward,
    /// Both.
    Full,
    /// Nothing.
    None,
}

impl Mode {
    pub const ALL: [Self; 4] = [Self::Backward, Self::Forward, Self::Full, Self::None];

    /// Whether a change keeps what the mode demands.
    pub const fn allows(self, change: &Change) -> bool {
        match self {
            Self::Backward => change.backward,
            Self::Forward => change.forward,
            Self::Full => change.backward && change.forward,
            Self::None => true,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Backward => "backward",
            Self::Forward => "forward",
            Self::Full => "full",
            Self::None => "none",
        })
    }
}

/// Whether changes keep what a mode demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<'a> {
    Compatible,
    /// These do not; never empty.
    Breaking(Vec<&'a Change>),
}

/// Judges changes by a mode.
pub fn judge(changes: &[Change], mode: Mode) -> Verdict<'_> {
    let at_fault: Vec<&Change> = changes.iter().filter(|change| !mode.allows(change)).collect();
    if at_fault.is_empty() { Verdict::Compatible } else { Verdict::Breaking(at_fault) }
}

/// What has to be done before records of the new schema reach a target of the old one. Each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Remedy {
    /// Every record says the same as before.
    Nothing,
    /// A new task version: columns that may be null have come, those that were there are as before.
    Adopt,
    /// A migrate link: values of columns that were there have to be converted. Records keep their identity.
    Migrate,
    /// A new epoch, and the target built anew: records are named otherwise, or a column of the target has gone or holds
    /// another kind of value.
    Rebuild,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Adopt => "adopt",
            Self::Migrate => "migrate",
            Self::Rebuild => "rebuild",
        })
    }
}

impl Change {
    /// What this change alone asks for.
    pub fn remedy(&self) -> Remedy {
        match self.kind {
            Kind::Identity | Kind::Dropped | Kind::TypeChanged => Remedy::Rebuild,
            Kind::Added if self.backward && self.column.as_ref().is_some_and(ColumnPath::is_column) => Remedy::Adopt,
            // A member changes the values of the column around it.
            Kind::Added | Kind::Renamed => Remedy::Migrate,
            _ if self.backward && self.forward => Remedy::Nothing,
            // Two records may come to have one name: converting them could lose one.
            _ if self.in_identity && !self.backward => Remedy::Rebuild,
            _ => Remedy::Migrate,
        }
    }
}

/// What all changes together ask for.
pub fn remedy(changes: &[Change]) -> Remedy {
    changes.iter().map(Change::remedy).max().unwrap_or(Remedy::Nothing)
}
