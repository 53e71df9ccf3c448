//! From a tree to the raw types: a serde deserializer whose errors know their place and say what belongs there.
//!
//! Unknown keys are noted and skipped, so that one run reports them all; any other mistake ends the decoding.

use super::diagnosis::{Problem, Span};
use super::suggest;
use super::yaml::{Key, Kind, Node};
use serde::de::value::{SeqDeserializer, StrDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// Newtype names by which raw types ask for more than serde's data model has.
pub(super) const LOCATED: &str = "gristmill::Located";
/// Any scalar, as text.
pub(super) const SCALAR: &str = "gristmill::Scalar";
/// A mapping that may be written as the value of one of its keys.
pub(super) const SHORT: &str = "gristmill::Short:";

/// Decodes the whole tree.
pub(super) fn decode<T: DeserializeOwned>(root: Node) -> Result<T, Vec<Problem>> {
    let notes = Rc::new(RefCell::new(Vec::new()));
    // The first key stands for the file: a mistake about the whole is shown there.
    let blame = match &root.kind {
        Kind::Map(entries) => entries.first().map_or(root.span, |(key, _)| key.span),
        _ => root.span,
    };
    let decoded = T::deserialize(Decoder { node: root, path: String::new(), blame, notes: Rc::clone(&notes) });
    let mut problems: Vec<Problem> = notes.take().into_iter().map(|note: Unknown| note.problem).collect();
    match decoded {
        Ok(value) if problems.is_empty() => Ok(value),
        Ok(_) => Err(problems),
        Err(Mistake::Implied) => Err(problems),
        Err(mistake) => {
            problems.push(mistake.into_problem(blame));
            Err(problems)
        }
    }
}

/// An unknown key that was skipped.
struct Unknown {
    problem: Problem,
    /// The mapping it stands in, and the key that was probably meant.
    meant: Option<(String, &'static str)>,
}

/// Why decoding ended.
#[derive(Debug)]
pub(super) enum Mistake {
    At(Problem),
    /// Made by serde, without a place yet.
    Missing(&'static str),
    Unplaced(String),
    /// Follows from an unknown key that is reported already.
    Implied,
}

impl Mistake {
    fn into_problem(self, blame: Span) -> Problem {
        match self {
            Self::At(problem) => problem,
            other => Problem::new(blame, other.to_string()),
        }
    }

    fn at(self, span: Span) -> Self {
        match self {
            Self::Unplaced(message) => Self::At(Problem::new(span, message)),
            other => other,
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(problem) => f.write_str(&problem.message),
            Self::Missing(field) => write!(f, "`{field}` is missing"),
            Self::Unplaced(message) => f.write_str(message),
            Self::Implied => f.write_str("a key is unknown"),
        }
    }
}
impl std::error::Error for Mistake {}
impl de::Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Unplaced(message.to_string())
    }
    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
}

struct Decoder {
    node: Node,
    /// Keys from the root, joined by dots; empty at the root.
    path: String,
    /// What to point at when the node as a whole is at fault: its key.
    blame: Span,
    notes: Rc<RefCell<Vec<Unknown>>>,
}

impl Decoder {
    fn child(&self, name: &str, node: Node, blame: Span) -> Self {
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Self { node, path, blame, notes: Rc::clone(&self.notes) }
    }

    /// The name of the node, for messages.
    fn name(&self) -> String {
        if self.path.is_empty() { "a pipeline".to_owned() } else { format!("`{}`", self.path) }
    }

    fn found(&self) -> &'static str {
        match &self.node.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "true or false",
            Kind::Integer(_) | Kind::Float(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }

    /// Where the node itself is; its key if it has no extent that could be pointed at.
    fn span(&self) -> Span {
        match &self.node.kind {
            Kind::List(_) | Kind::Map(_) | Kind::Null => self.blame,
            _ => self.node.span,
        }
    }

    fn expected(&self, what: &str, hint: &str) -> Mistake {
        let message = match &self.node.kind {
            Kind::Null => format!("{} has no value: {what} belongs here", self.name()),
            _ => format!("{} takes {what}, this is {}", self.name(), self.found()),
        };
        Mistake::At(Problem::new(self.span(), message).hint(hint))
    }

    fn entries(self) -> Result<(Vec<(Key, Node)>, Self), Mistake> {
        let Self { node, path, blame, notes } = self;
        match node.kind {
            Kind::Map(entries) => Ok((entries, Self { node: Node { kind: Kind::Null, ..node }, path, blame, notes })),
            // `transforms:` with nothing below it is an empty mapping.
            Kind::Null => Ok((Vec::new(), Self { node, path, blame, notes })),
            _ => {
                let decoder = Self { node, path, blame, notes };
                let hint = "write `key: value` lines below it, indented by two spaces";
                Err(decoder.expected("a mapping of keys to values", hint))
            }
        }
    }

    fn note_unknown(&self, key: &Key, known: &'static [&'static str]) {
        let meant = suggest::nearest(&key.text, known.iter().copied());
        let place = if self.path.is_empty() { "at the top level".to_owned() } else { format!("in `{}`", self.path) };
        let problem = Problem::new(key.span, format!("unknown key `{}` {place}", key.text));
        let problem = problem.hint(suggest::hint(&key.text, "known keys here", known.iter().copied()));
        self.notes.borrow_mut().push(Unknown { problem, meant: meant.map(|meant| (self.path.clone(), meant)) });
    }

    fn missing(&self, field: &'static str) -> Mistake {
        let misspelt =
            |note: &Unknown| note.meant.as_ref().is_some_and(|(path, meant)| *path == self.path && *meant == field);
        if self.notes.borrow().iter().any(misspelt) {
            return Mistake::Implied;
        }
        let problem = Problem::new(self.blame, format!("{} needs the key `{field}`", self.name()));
        Mistake::At(match example(field) {
            Some(example) => problem.hint(format!("for example `{example}`")),
            None => problem,
        })
    }
}

/// What a required key may look like.
fn example(field: &str) -> Option<&'static str> {
    Some(match field {
        "version" => "version: 1",
        "task" => "task: flights",
        "schema" => "schema: flights-v1",
        "source" => "source: { files: { url: data/, format: csv } }",
        "identity" => "identity: [id]",
        "sink" => "sink: { sqlite: { url: \"sqlite://out.db\" } }",
        "format" => "format: csv",
        "component" => "component: flights-map@0.1.0",
        "file" => "file: data/airlines.csv",
        "column" => "column: updated_at",
        _ => return None,
    })
}

impl<'de> de::Deserializer<'de> for Decoder {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let span = self.span();
        let visited = match &self.node.kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Bool(value) => visitor.visit_bool(*value),
            Kind::Integer(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => visitor.visit_i64(value),
                (_, Ok(value)) => visitor.visit_u64(value),
                _ => Err(Mistake::Unplaced(
                    "this number does not fit into 64 bits: quote it to keep its digits".to_owned(),
                )),
            },
            Kind::Float(value) => visitor.visit_f64(*value),
            Kind::Text(value) => visitor.visit_str(value),
            Kind::List(_) => return self.deserialize_seq(visitor),
            Kind::Map(_) => return self.deserialize_map(visitor),
        };
        visited.map_err(|mistake| mistake.at(span))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.node.kind {
            Kind::Bool(value) => visitor.visit_bool(value),
            // A variable in a flow mapping has to be quoted, and so comes as text.
            Kind::Text(_) if self.node.from_variable && matches!(self.node.text.as_str(), "true" | "false") => {
                visitor.visit_bool(self.node.text == "true")
            }
            _ => Err(self.expected("true or false", "write `true` or `false`, without quotes")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.node.kind {
            Kind::Text(value) => visitor.visit_str(value).map_err(|mistake: Mistake| mistake.at(self.span())),
            // Quoted is what a variable's value would have to be to stay text.
            Kind::Bool(_) | Kind::Integer(_) | Kind::Float(_) if self.node.from_variable => {
                Err(self.expected("text", "put the reference in quotes: \"${…}\""))
            }
            Kind::Bool(_) | Kind::Integer(_) | Kind::Float(_) => {
                let hint = format!("put it in quotes: \"{}\"", self.node.text);
                Err(self.expected("text", &hint))
            }
            // What `{ at: timestamp(us, UTC) }` is to YAML: two keys.
            Kind::Null if self.path.ends_with([')', '>']) => {
                Err(self.expected("text", "quote a value that contains a comma: \"timestamp(us, UTC)\""))
            }
            Kind::Null => Err(self.expected("text", "write it on the line of its key")),
            _ => Err(self.expected("text", "write one plain or quoted text")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.node.kind {
            Kind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Mistake> {
        if name == LOCATED {
            let span = self.span();
            return visitor.visit_seq(LocatedAccess {
                from_variable: self.node.from_variable,
                decoder: Some(self),
                span,
                next: 0,
            });
        }
        if name == SCALAR {
            return match &self.node.kind {
                Kind::Null => Err(self.expected("a value", "write it on the line of its key")),
                Kind::List(_) | Kind::Map(_) => Err(self.expected("one value", "write it on the line of its key")),
                _ => visitor.visit_str(&self.node.text).map_err(|mistake: Mistake| mistake.at(self.span())),
            };
        }
        if let Some(key) = name.strip_prefix(SHORT) {
            let scalar = !matches!(self.node.kind, Kind::Map(_) | Kind::Null | Kind::List(_));
            if scalar {
                let Self { node, path, blame, notes } = self;
                let entry = (Key { text: key.to_owned(), span: node.span }, node.clone());
                let node = Node { kind: Kind::Map(vec![entry]), ..node };
                return visitor.visit_newtype_struct(Self { node, path, blame, notes });
            }
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let blame = self.blame;
        let hint = match &self.node.kind {
            Kind::Null | Kind::Map(_) => "write `[first, second]`".to_owned(),
            _ if self.node.from_variable => "write `[\"${…}\"]`".to_owned(),
            _ => format!("write `[{}]`", self.node.text),
        };
        let Kind::List(items) = &self.node.kind else {
            return Err(self.expected("a list", &hint));
        };
        let items: Vec<Self> = items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                let blame = if item.span.len > 0 { item.span } else { blame };
                let mut decoder = self.child("", item.clone(), blame);
                decoder.path = format!("{}[{index}]", self.path);
                decoder
            })
            .collect();
        visitor.visit_seq(SeqDeserializer::new(items.into_iter())).map_err(|mistake| mistake.at(blame))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let (entries, decoder) = self.entries()?;
        let blame = decoder.blame;
        let access = EntryAccess { entries: entries.into_iter(), value: None, decoder: &decoder };
        visitor.visit_map(access).map_err(|mistake| mistake.at(blame))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        let (mut entries, decoder) = self.entries()?;
        entries.retain(|(key, _)| {
            let known = fields.contains(&key.text.as_str());
            if !known {
                decoder.note_unknown(key, fields);
            }
            known
        });
        let access = EntryAccess { entries: entries.into_iter(), value: None, decoder: &decoder };
        match visitor.visit_map(access) {
            Err(Mistake::Missing(field)) => Err(decoder.missing(field)),
            visited => visited.map_err(|mistake| mistake.at(decoder.blame)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        let one_of = || variants.iter().map(|variant| format!("`{variant}`")).collect::<Vec<_>>().join(", ");
        if let Kind::Text(text) = &self.node.kind {
            let Some(variant) = variants.iter().find(|variant| *variant == text) else {
                let (what, hint) = match self.node.from_variable {
                    true => ("the value of the variable".to_owned(), format!("it is one of {}", one_of())),
                    false => (format!("`{text}`"), suggest::hint(text, "it is one of", variants.iter().copied())),
                };
                let problem = Problem::new(self.node.span, format!("{} cannot be {what}", self.name()));
                return Err(Mistake::At(problem.hint(hint)));
            };
            // A word alone stands for the word with nothing to say about it.
            let content = self.child(variant, Node { kind: Kind::Null, ..self.node.clone() }, self.node.span);
            return visitor.visit_enum(VariantAccess { variant, content });
        }
        let hint = format!("it is one of {}", one_of());
        let (entries, decoder) = match &self.node.kind {
            Kind::Map(_) | Kind::Null => self.entries()?,
            _ => return Err(self.expected("one word or a mapping with one key", &hint)),
        };
        let noted_before = decoder.notes.borrow().len();
        let mut known = Vec::new();
        for (key, value) in entries {
            match variants.iter().find(|variant| **variant == key.text) {
                Some(variant) => known.push((variant, key, value)),
                None => decoder.note_unknown(&key, variants),
            }
        }
        if known.len() > 1 {
            let second = &known[1].1;
            let names = known.iter().map(|(variant, ..)| format!("`{variant}`")).collect::<Vec<_>>().join(" and ");
            let problem =
                Problem::new(second.span, format!("{} takes one kind only, here are {names}", decoder.name()));
            return Err(Mistake::At(problem.hint("keep one; a second one is a pipeline of its own")));
        }
        match known.pop() {
            Some((variant, key, value)) => {
                let content = decoder.child(variant, value, key.span);
                visitor.visit_enum(VariantAccess { variant, content })
            }
            None if decoder.notes.borrow().len() > noted_before => Err(Mistake::Implied),
            None => {
                let problem = Problem::new(decoder.blame, format!("{} does not say which kind it is", decoder.name()));
                Err(Mistake::At(problem.hint(hint)))
            }
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_str(&self.node.text)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct
    }
}

impl IntoDeserializer<'_, Mistake> for Decoder {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

struct EntryAccess<'a> {
    entries: std::vec::IntoIter<(Key, Node)>,
    value: Option<(Key, Node)>,
    decoder: &'a Decoder,
}

impl<'de> de::MapAccess<'de> for EntryAccess<'_> {
    type Error = Mistake;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mistake> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        let text = key.text.clone();
        let node = Node { kind: Kind::Text(text.clone()), span: key.span, text, from_variable: false };
        let decoder = self.decoder.child(&key.text, node, key.span);
        self.value = Some((key, value));
        seed.deserialize(decoder).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mistake> {
        let (key, value) = self.value.take().ok_or(Mistake::Implied)?;
        seed.deserialize(self.decoder.child(&key.text, value, key.span))
    }
}

struct VariantAccess {
    variant: &'static str,
    content: Decoder,
}

impl<'de> de::EnumAccess<'de> for VariantAccess {
    type Error = Mistake;
    type Variant = Self;
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Mistake> {
        let name: StrDeserializer<'_, Mistake> = self.variant.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for VariantAccess {
    type Error = Mistake;
    fn unit_variant(self) -> Result<(), Mistake> {
        match self.content.node.kind {
            Kind::Null => Ok(()),
            _ => Err(self.content.expected("nothing", "write the word alone")),
        }
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mistake> {
        seed.deserialize(self.content)
    }
    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Mistake> {
        de::Deserializer::deserialize_seq(self.content, visitor)
    }
    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Mistake> {
        de::Deserializer::deserialize_struct(self.content, self.variant, fields, visitor)
    }
}

/// Hands a [`super::values::Located`] its value, its span and whether it comes from a variable.
struct LocatedAccess {
    decoder: Option<Decoder>,
    span: Span,
    from_variable: bool,
    next: u8,
}

impl<'de> de::SeqAccess<'de> for LocatedAccess {
    type Error = Mistake;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mistake> {
        self.next += 1;
        match (self.next, self.decoder.take()) {
            (1, Some(decoder)) => seed.deserialize(decoder),
            (2, _) => seed.deserialize(self.span.offset.into_deserializer()),
            (3, _) => seed.deserialize(self.span.len.into_deserializer()),
            _ => seed.deserialize(self.from_variable.into_deserializer()),
        }
        .map(Some)
    }
}
