//! From the text of a pipeline file to a tree whose every node knows its place.
//!
//! Variables are replaced once the file is parsed, in values only: their values cannot change its structure. A value that
//! is not quoted may become a number or a boolean by it.

use super::diagnosis::{Problem, Span};
use super::variables::{self, NoValue};
use serde::de::{self, Deserialize, Deserializer};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, Location, Options, Spanned};
use std::collections::BTreeMap;
use std::fmt;

/// A pipeline file is small; what is larger is something else.
pub(super) const FILE_MAX_BYTES: usize = 1 << 20;

/// Nodes that anchors may add by being repeated: far more than a pipeline needs, far less than hurts.
const REPEATED_NODES_MAX: usize = 10_000;

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub kind: Kind,
    pub span: Span,
    /// Scalars that are not text, as written (after variables): `1_000`, `0x10`.
    pub text: String,
    /// The value, or part of it, is that of a variable.
    pub from_variable: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Debug, Clone)]
pub(super) struct Key {
    pub text: String,
    pub span: Span,
}

/// Reads `text`; `env` gives the values of variables.
pub(super) fn read(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Node, Vec<Problem>> {
    let raw = serde_saphyr::from_str_with_options(text, options()).map_err(|error| problems(text, &error))?;
    let mut tree = Tree { text, env, problems: Vec::new() };
    let node = tree.node(raw);
    if tree.problems.is_empty() { Ok(node) } else { Err(tree.problems) }
}

fn options() -> Options {
    let mut options = serde_saphyr::options! {
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
        budget: serde_saphyr::budget! { max_depth: 64, max_events: 200_000, max_nodes: 100_000 },
    };
    options.alias_limits.max_total_replayed_events = REPEATED_NODES_MAX;
    options
}

/// What the YAML library gives, before places are turned into byte offsets.
enum Raw {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Raw;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_unit<E>(self) -> Result<Raw, E> {
                Ok(Raw::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
                Ok(Raw::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
                Ok(Raw::Integer(value.into()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
                Ok(Raw::Integer(value.into()))
            }
            fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
                Ok(Raw::Integer(value))
            }
            fn visit_u128<E>(self, value: u128) -> Result<Raw, E> {
                Ok(i128::try_from(value).map_or(Raw::Float(value as f64), Raw::Integer))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
                Ok(Raw::Float(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
                Ok(Raw::Text(value.to_owned()))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Raw::List(list))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
                let mut map = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    map.push(entry);
                }
                Ok(Raw::Map(map))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

struct Tree<'a> {
    text: &'a str,
    env: &'a dyn Fn(&str) -> Option<String>,
    problems: Vec<Problem>,
}

impl Tree<'_> {
    fn node(&mut self, raw: Spanned<Raw>) -> Node {
        let span = span_of(self.text, raw.referenced);
        let defined = span_of(self.text, raw.defined);
        let written = self.text.get(defined.offset..defined.offset + defined.len).unwrap_or_default();
        let mut from_variable = false;
        let (kind, text) = match raw.value {
            Raw::Null => (Kind::Null, String::new()),
            Raw::Bool(value) => (Kind::Bool(value), written.to_owned()),
            Raw::Integer(value) => (Kind::Integer(value), written.to_owned()),
            Raw::Float(value) => (Kind::Float(value), written.to_owned()),
            Raw::Text(value) => match variables::replaced(&value, self.env) {
                Ok(None) => (Kind::Text(value.clone()), value),
                Ok(Some(value)) => {
                    from_variable = true;
                    (if self.is_plain(defined) { resolved(&value) } else { Kind::Text(value.clone()) }, value)
                }
                Err(no_value) => {
                    self.problems.push(no_value_problem(span, no_value));
                    (Kind::Null, String::new())
                }
            },
            Raw::List(items) => (Kind::List(items.into_iter().map(|item| self.node(item)).collect()), String::new()),
            Raw::Map(entries) => {
                let entries = entries.into_iter().map(|(key, value)| (self.key(key), self.node(value))).collect();
                (Kind::Map(entries), String::new())
            }
        };
        Node { kind, span, text, from_variable }
    }

    /// Whether a text stands in the file without quotes and not as a block.
    fn is_plain(&self, span: Span) -> bool {
        let quoted = self.text[span.offset..].starts_with(['"', '\'']);
        let line_start = self.text[..span.offset].rfind('\n').map_or(0, |at| at + 1);
        let starts_line = self.text[line_start..span.offset].trim().is_empty();
        let line_before = self.text[..line_start].trim_end().lines().next_back().unwrap_or_default();
        let line_before = line_before.split(" #").next().unwrap_or_default().trim_end();
        let header = line_before.trim_end_matches(|c: char| matches!(c, '+' | '-') || c.is_ascii_digit());
        !(quoted || starts_line && header.ends_with(['|', '>']))
    }

    fn key(&mut self, key: Spanned<String>) -> Key {
        let span = span_of(self.text, key.referenced);
        if self.text.get(span.offset..span.offset + span.len).is_some_and(|written| written.contains("${")) {
            let problem = Problem::new(span, "variables may stand in values, not in keys");
            self.problems.push(problem.hint("write the key out"));
        }
        Key { text: key.value, span }
    }
}

/// The type of an unquoted value that came from a variable. Only a scalar: a value does not bring structure.
fn resolved(value: &str) -> Kind {
    match serde_saphyr::from_str_with_options::<Raw>(value, options()) {
        Ok(Raw::Bool(value)) => Kind::Bool(value),
        Ok(Raw::Integer(value)) => Kind::Integer(value),
        Ok(Raw::Float(value)) => Kind::Float(value),
        _ => Kind::Text(value.to_owned()),
    }
}

fn no_value_problem(span: Span, no_value: NoValue) -> Problem {
    match no_value {
        NoValue::Unset(name) => Problem::new(span, format!("the variable `{name}` is not set"))
            .hint(format!("set it in the environment, or give a default: `${{{name}:-default}}`")),
        NoValue::Malformed => Problem::new(span, "this is not a reference to a variable")
            .hint("write `${NAME}` with letters, digits and `_`, or `$${` for a literal `${`"),
    }
}

/// The bytes that a location means; at least its line and column hold if the parser did not count bytes.
fn span_of(text: &str, location: Location) -> Span {
    let span = location.span();
    let whole = |offset: u64, len: u64| Some((usize::try_from(offset).ok()?, usize::try_from(len).ok()?));
    if let (Some(offset), Some(len)) = (span.byte_offset(), span.byte_len())
        && let Some((offset, len)) = whole(offset, len)
        && text.get(offset..offset.saturating_add(len)).is_some()
    {
        return Span { offset, len };
    }
    let line = usize::try_from(location.line()).unwrap_or(1).max(1);
    let column = usize::try_from(location.column()).unwrap_or(1).max(1);
    let line_start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let here = text[line_start..].lines().next().unwrap_or_default();
    let (before, len) = here.char_indices().nth(column - 1).map_or((here.len(), 0), |(at, c)| (at, c.len_utf8()));
    Span { offset: line_start + before, len }
}

fn problems(text: &str, error: &Error) -> Vec<Problem> {
    let error = match error.without_snippet() {
        Error::AliasError { error, locations, .. } => {
            let mut problem = problem(text, error);
            problem.span = Some(span_of(text, locations.reference_location));
            return vec![problem];
        }
        error => error,
    };
    if matches!(error, Error::DuplicateMappingKey { .. }) {
        let duplicates = duplicates(text);
        if !duplicates.is_empty() {
            return duplicates;
        }
    }
    vec![problem(text, error)]
}

fn problem(text: &str, error: &Error) -> Problem {
    let span = error.location().map(|location| span_of(text, location)).unwrap_or(Span { offset: 0, len: 0 });
    match error {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_ref().map(|key| format!(" `{key}`")).unwrap_or_default();
            Problem::new(span, format!("the key{key} is given twice")).hint("keep one of the two")
        }
        Error::MultipleDocuments { .. } => Problem::new(span, "a second YAML document begins here")
            .hint("a pipeline file holds one document: move the rest to another file"),
        Error::UnknownAnchor { .. } => Problem::new(span, "there is no anchor of this name").hint(
            "an alias `*name` repeats what an anchor `&name` marked before it; quote a text that starts with `*`",
        ),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            Problem::new(span, format!("anchors repeat more than {REPEATED_NODES_MAX} values"))
                .hint("write the values out; a pipeline file is never that large")
        }
        Error::Budget { .. } => Problem::new(span, "the file is larger or more deeply nested than any pipeline")
            .hint("is this the right file?"),
        Error::NonFiniteFloat { .. } => {
            Problem::new(span, "this is not a finite number").hint("quote it if it is meant as text")
        }
        error => syntax(text, span, error),
    }
}

fn syntax(text: &str, span: Span, error: &Error) -> Problem {
    // The parser blames the token before a tab; what a person has to find is the tab.
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        if let Some(tab) = indent.find('\t').filter(|_| !line.trim().is_empty()) {
            return Problem::new(Span { offset: offset + tab, len: 1 }, "this line is indented with a tab")
                .hint("YAML is indented with spaces: two for each level");
        }
        offset += line.len();
    }
    let rendered = error.to_string();
    let what = rendered.split(" at line ").next().unwrap_or_default();
    let hint = match what {
        what if what.contains("mapping values are not allowed") => {
            "check the indentation, and quote a value that contains `: `"
        }
        what if what.contains("quote") => "close the quote on the same line",
        what if what.contains("unexpected character") => "quote a value that starts with `@`, `` ` ``, `%` or `*`",
        what if what.contains("tag") => "leave the tag (`!…`) out",
        what if what.contains("string scalar") => "a key is a plain word",
        _ => "check the indentation and the brackets, and quote values with special characters",
    };
    Problem::new(span, format!("this is not valid YAML: {what}")).hint(hint)
}

/// Every key that a mapping has already, with the line of the first.
fn duplicates(text: &str) -> Vec<Problem> {
    let mut options = options();
    options.duplicate_keys = DuplicateKeyPolicy::PassThrough;
    let Ok(raw) = serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    let mut waiting = vec![Tree { text, env: &|_| Some(String::new()), problems: Vec::new() }.node(raw)];
    while let Some(node) = waiting.pop() {
        match node.kind {
            Kind::List(items) => waiting.extend(items),
            Kind::Map(entries) => {
                let mut first: BTreeMap<String, Span> = BTreeMap::new();
                for (key, value) in entries {
                    waiting.push(value);
                    if let Some(first) = first.get(&key.text) {
                        let line = text[..first.offset].matches('\n').count() + 1;
                        let problem = Problem::new(key.span, format!("the key `{}` is given twice", key.text));
                        problems.push(problem.hint(format!("it is already on line {line}: keep one of the two")));
                    } else {
                        first.insert(key.text, key.span);
                    }
                }
            }
            _ => {}
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn no_env(_: &str) -> Option<String> {
        None
    }

    fn refused(text: &str) -> Vec<(Option<Span>, String)> {
        read(text, &no_env).unwrap_err().into_iter().map(|p| (p.span, p.message)).collect()
    }

    #[test]
    fn variables_are_replaced_in_values() {
        let env = |name: &str| (name == "A").then(|| "60".to_owned());
        let text = "a: ${A}\nb: \"x${A}\"\nc: $${A}\nd: ${B:-dd}\ne: '$${A}'\nf: >- # |\n  ${A}\n  ${A}\ng:\n  x${A}\nh: $${A} ${A}\n";
        let node = read(text, &env).unwrap();
        let Kind::Map(entries) = node.kind else { panic!("a mapping") };
        let texts: Vec<_> = entries.iter().map(|(_, value)| value.text.as_str()).collect();
        assert_eq!(texts, ["60", "x60", "${A}", "dd", "${A}", "60 60", "x60", "${A} 60"]);
        assert!(matches!(entries[0].1.kind, Kind::Integer(60)));
        for unset in ["a: ${B}\n", "a: \"${B}\"\n", "a: |\n  ${B}\n"] {
            assert!(refused(unset)[0].1.contains("`B` is not set"), "{unset}");
        }
        assert!(read("${A}: 1\n", &env).unwrap_err()[0].message.contains("not in keys"));
    }

    #[test]
    fn every_duplicate_is_reported_at_its_place() {
        let text = "a: 1\nb: {c: 1, c: 2}\na: 3\n";
        let mut found = refused(text);
        found.sort();
        let at = |needle: &str| text.rfind(needle).unwrap();
        assert_eq!(
            found,
            [
                (Some(Span { offset: at("c: 2"), len: 1 }), "the key `c` is given twice".to_owned()),
                (Some(Span { offset: at("a: 3"), len: 1 }), "the key `a` is given twice".to_owned()),
            ]
        );
    }

    #[test]
    fn places_are_bytes_even_after_wide_characters() {
        let text = "é: ü\nb: 'x";
        assert_eq!(refused(text)[0].0.unwrap().offset, text.find('\'').unwrap());
        let node = read("é: ü\n", &no_env).unwrap();
        let Kind::Map(entries) = node.kind else { panic!("a mapping") };
        assert_eq!(entries[0].1.span, Span { offset: 4, len: 2 });
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_inside_it(text in "([a-z:é \\-\\[\\]{}&*!|>'\"#\n\t]|\\$\\{|: |\n  ){0,40}") {
            if let Err(problems) = read(&text, &no_env) {
                for Span { offset, len } in problems.into_iter().filter_map(|problem| problem.span) {
                    prop_assert!(text.get(offset..offset + len).is_some(), "{offset}+{len}");
                }
            }
        }
    }
}
