//! Building blocks of the raw types: values that know their place, and forms that serde alone does not have.

use super::decode::{LOCATED, SCALAR};
use super::diagnosis::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Located<T> {
    pub value: T,
    pub span: Span,
    /// The value holds that of a variable: it must not be shown.
    pub from_variable: bool,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = Located<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value with its place")
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut parts: A) -> Result<Located<T>, A::Error> {
                let short = || de::Error::custom("a place is missing");
                let value = parts.next_element()?.ok_or_else(short)?;
                let offset = parts.next_element()?.ok_or_else(short)?;
                let len = parts.next_element()?.ok_or_else(short)?;
                let from_variable = parts.next_element()?.ok_or_else(short)?;
                Ok(Located { value, span: Span { offset, len }, from_variable })
            }
        }
        deserializer.deserialize_newtype_struct(LOCATED, Visitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// One value that is not a list or mapping, as written.
#[derive(Debug, Clone)]
pub(super) struct Scalar(pub String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one value")
            }
            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }
        }
        deserializer.deserialize_newtype_struct(SCALAR, Visitor)
    }
}

impl JsonSchema for Scalar {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

/// A mapping with keys of the file's own choice, in its order.
#[derive(Debug, Clone)]
pub(super) struct Entries<T>(pub Vec<(Located<String>, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = Entries<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Visitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Entries<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Entries_of_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
}

/// A raw type that may be written as the value of one of its keys alone.
pub(super) trait ShortForm {
    /// [`super::decode::SHORT`] followed by the key.
    const MARKER: &'static str;
}

#[derive(Debug)]
pub(super) struct Short<T>(pub T);

impl<'de, T: DeserializeOwned + ShortForm> Deserialize<'de> for Short<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: DeserializeOwned> de::Visitor<'de> for Visitor<T> {
            type Value = Short<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a mapping")
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Short<T>, D::Error> {
                T::deserialize(deserializer).map(Short)
            }
        }
        deserializer.deserialize_newtype_struct(T::MARKER, Visitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Short<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Short_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, generator.subschema_for::<T>()] })
    }
}

/// Any value, for a transform's configuration.
#[derive(Debug, Clone)]
pub(super) enum Free {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Located<Free>>),
    Map(Vec<(String, Located<Free>)>),
}

impl<'de> Deserialize<'de> for Free {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Free;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_unit<E>(self) -> Result<Free, E> {
                Ok(Free::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Free, E> {
                Ok(Free::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Free, E> {
                Ok(Free::Integer(value.into()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Free, E> {
                Ok(Free::Integer(value.into()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Free, E> {
                Ok(Free::Float(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Free, E> {
                Ok(Free::Text(value.to_owned()))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Free, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Free::List(list))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut entries: A) -> Result<Free, A::Error> {
                let mut map = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    map.push(entry);
                }
                Ok(Free::Map(map))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Free {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Free".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}
