//! Which code and which dictionaries make the rows of a schema.

use crate::digest::Digest;
use crate::schema::Schema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a task version runs, by content. A batch's manifest carries the pins that were in force at its boundary, so
/// that a replay needs the store and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pins {
    /// None: the source's columns are the records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalize: Option<Pin>,
    /// None: the records are the rows of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<Pin>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dictionaries: BTreeMap<String, DictionaryPin>,
    /// None: no stage runs a component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsPin>,
}

/// What one call of a component may use. A row that breaks a limit is refused, so the limits decide what a replay gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitsPin {
    pub deadline_ms: u64,
    pub memory_max_bytes: u64,
    pub output_max_bytes: u64,
}

/// A component with its configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pin {
    /// For people; the digest decides.
    pub label: String,
    pub component: Digest,
    /// Canonical JSON, handed to the component as it stands here.
    pub config: String,
}

/// A dictionary: a CSV file with a header, as it was when it was pinned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DictionaryPin {
    pub content: Digest,
    /// The column that look-ups join on.
    pub key: String,
    /// How its columns are read: inferred once, when it was pinned.
    pub columns: Schema,
}
