//! Which code and which dictionaries make the rows of a schema.

use crate::digest::Digest;
use crate::id::SchemaId;
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
    /// Links from one schema to the next, by the schema that they start from. A batch of an older schema goes through all
    /// of them, up to the schema that none starts from, before it is mapped.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub migrate: BTreeMap<SchemaId, MigratePin>,
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

/// A link of the migration chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigratePin {
    /// The schema of the records that it gives.
    pub to: SchemaId,
    pub pin: Pin,
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

impl Pins {
    /// The links from `schema_id` on, in the order in which records go through them. [`crate::migrate`] has checked them
    /// when the version was published; a cycle would only end the chain early here.
    pub fn chain(&self, schema_id: &SchemaId) -> Vec<(&SchemaId, &MigratePin)> {
        let mut links = Vec::new();
        let mut at = schema_id;
        while let Some((from, link)) = self.migrate.get_key_value(at) {
            if links.len() == self.migrate.len() {
                break;
            }
            links.push((from, link));
            at = &link.to;
        }
        links
    }

    /// Every component that these pins name, with the stage that it serves.
    pub fn components(&self) -> impl Iterator<Item = (&'static str, &Pin)> {
        let stage = |name, pin| Option::map(pin, move |pin| (name, pin));
        let ends = [stage("normalize", self.normalize.as_ref()), stage("map", self.map.as_ref())];
        ends.into_iter().flatten().chain(self.migrate.values().map(|link| ("migrate", &link.pin)))
    }
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
