//! JSON in one form only: sorted keys, no spaces.

use super::values::{Entries, Free, Located};
use gristmill_core::digest::Digest;
use gristmill_core::id::SchemaId;
use gristmill_core::schema::{Field, Schema};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Map(BTreeMap<String, Json>),
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys are text and floats are finite: there is nothing that JSON cannot hold.
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl Json {
    pub fn text(text: impl fmt::Display) -> Self {
        Self::Text(text.to_string())
    }

    pub fn texts<'a>(texts: impl IntoIterator<Item = &'a String>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect())
    }

    /// A mapping without the keys whose value is none.
    pub fn map<'a>(entries: impl IntoIterator<Item = (&'a str, Option<Self>)>) -> Self {
        Self::Map(entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
    }

    /// Puts an adopted schema and its source columns in place of a definition's own.
    pub fn adopt(&mut self, schema: &SchemaId, columns: &Schema) {
        let Self::Map(definition) = self else { return };
        definition.insert("schema".into(), Self::text(schema));
        if let Some(Self::Map(source)) = definition.get_mut("source")
            && let Some(Self::Map(files)) = source.get_mut("files")
        {
            files.insert("columns".into(), Self::columns(columns));
        }
    }

    /// Columns with their types, in order.
    pub fn columns(columns: &Schema) -> Self {
        let field = |field: &Field| Self::List(vec![Self::text(&field.name), Self::text(&field.logical_type)]);
        Self::List(columns.fields().iter().map(field).collect())
    }

    /// A configuration as the transform sees it.
    pub fn revealed(entries: &Entries<Located<Free>>) -> Self {
        entries_of(entries, false)
    }

    /// A configuration in which the values of variables are digests: they may be secrets, yet the rows depend on them.
    pub fn hidden(entries: &Entries<Located<Free>>) -> Self {
        entries_of(entries, true)
    }
}

fn entries_of(entries: &Entries<Located<Free>>, hide: bool) -> Json {
    Json::Map(entries.0.iter().map(|(key, value)| (key.value.clone(), value_of(value, hide))).collect())
}

fn value_of(located: &Located<Free>, hide: bool) -> Json {
    let value = match &located.value {
        Free::Null => Json::Null,
        Free::Bool(value) => Json::Bool(*value),
        Free::Integer(value) => match i64::try_from(*value) {
            Ok(value) => Json::Integer(value),
            Err(_) => Json::Unsigned(u64::try_from(*value).unwrap_or(u64::MAX)),
        },
        Free::Float(value) => Json::Float(*value),
        Free::Text(value) => Json::Text(value.clone()),
        Free::List(items) => return Json::List(items.iter().map(|item| value_of(item, hide)).collect()),
        Free::Map(entries) => {
            return Json::Map(entries.iter().map(|(key, value)| (key.clone(), value_of(value, hide))).collect());
        }
    };
    if hide && located.from_variable {
        return Json::map([("$digest", Some(Json::text(Digest::of(value.to_string().as_bytes()))))]);
    }
    value
}
