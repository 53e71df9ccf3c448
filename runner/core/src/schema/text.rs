//! The text form of types: what people write in pipelines and what frozen schemas hold.
//!
//! ```text
//! null  boolean  int8 … int64  uint8 … uint64  float16 float32 float64  utf8 large_utf8  binary large_binary
//! date32 date64  decimal128(precision, scale)  decimal256(precision, scale)  fixed_size_binary(bytes)
//! time32(s|ms)  time64(us|ns)  timestamp(unit)  timestamp(unit, zone)  duration(unit)      unit: s ms us ns
//! list<T>  large_list<T>  fixed_size_list<T, items>  struct<name: T, …>  map<K, V>
//! ```
//!
//! Whether a column may be null is said beside its type, not in it. Inside `list`, `struct` and a map's values, where there is
//! no other place, a type may be followed by `not null`; without it null is allowed. Member names that are not
//! letters, digits and `_` are quoted: `struct<"flight no": int32 not null>`.

use super::{DEPTH_MAX, Element, Field, InvalidTypeRule, LogicalType, TimeUnit};
use std::fmt;
use std::str::FromStr;

/// A text that is not a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}, at character {} of the type", .position + 1)]
pub struct InvalidType {
    /// Characters before the place of the mistake.
    pub position: usize,
    pub what: String,
    /// What to write instead, where that can be told.
    pub hint: Option<String>,
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Second => "s",
            Self::Millisecond => "ms",
            Self::Microsecond => "us",
            Self::Nanosecond => "ns",
        })
    }
}

impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = PLAIN.iter().find(|(_, plain)| plain == self) {
            return f.write_str(name);
        }
        match self {
            Self::Decimal128 { precision, scale } => write!(f, "decimal128({precision}, {scale})"),
            Self::Decimal256 { precision, scale } => write!(f, "decimal256({precision}, {scale})"),
            Self::FixedSizeBinary(width) => write!(f, "fixed_size_binary({width})"),
            Self::Time32(unit) => write!(f, "time32({unit})"),
            Self::Time64(unit) => write!(f, "time64({unit})"),
            Self::Timestamp(unit, None) => write!(f, "timestamp({unit})"),
            Self::Timestamp(unit, Some(zone)) => write!(f, "timestamp({unit}, {zone})"),
            Self::Duration(unit) => write!(f, "duration({unit})"),
            Self::List(item) => write!(f, "list<{item}>"),
            Self::LargeList(item) => write!(f, "large_list<{item}>"),
            Self::FixedSizeList(item, items) => write!(f, "fixed_size_list<{item}, {items}>"),
            Self::Struct(members) => {
                f.write_str("struct<")?;
                for (index, member) in members.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    let suffix = if member.nullable { "" } else { " not null" };
                    write!(f, "{separator}{}: {}{suffix}", QuotedName(&member.name), member.logical_type)?;
                }
                f.write_str(">")
            }
            Self::Map(key, value) => write!(f, "map<{key}, {value}>"),
            _ => unreachable!("every type without parameters is in PLAIN"),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.logical_type, if self.nullable { "" } else { " not null" })
    }
}

pub(super) struct QuotedName<'a>(pub(super) &'a str);

impl fmt::Display for QuotedName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_empty() && self.0.chars().all(is_word) {
            return f.write_str(self.0);
        }
        write!(f, "\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

const PLAIN: &[(&str, LogicalType)] = &[
    ("null", LogicalType::Null),
    ("boolean", LogicalType::Boolean),
    ("int8", LogicalType::Int8),
    ("int16", LogicalType::Int16),
    ("int32", LogicalType::Int32),
    ("int64", LogicalType::Int64),
    ("uint8", LogicalType::Uint8),
    ("uint16", LogicalType::Uint16),
    ("uint32", LogicalType::Uint32),
    ("uint64", LogicalType::Uint64),
    ("float16", LogicalType::Float16),
    ("float32", LogicalType::Float32),
    ("float64", LogicalType::Float64),
    ("utf8", LogicalType::Utf8),
    ("large_utf8", LogicalType::LargeUtf8),
    ("binary", LogicalType::Binary),
    ("large_binary", LogicalType::LargeBinary),
    ("date32", LogicalType::Date32),
    ("date64", LogicalType::Date64),
];

/// Names that other systems use, and what is meant.
const FOREIGN: &[(&str, &str)] = &[
    ("string", "utf8"),
    ("str", "utf8"),
    ("text", "utf8"),
    ("varchar", "utf8"),
    ("char", "utf8"),
    ("bool", "boolean"),
    ("int", "int64"),
    ("integer", "int64"),
    ("long", "int64"),
    ("bigint", "int64"),
    ("smallint", "int16"),
    ("tinyint", "int8"),
    ("float", "float64"),
    ("double", "float64"),
    ("real", "float32"),
    ("bytes", "binary"),
    ("blob", "binary"),
    ("date", "date32"),
    ("time", "time64(us)"),
    ("datetime", "timestamp(us)"),
    ("decimal", "decimal128(18, 2)"),
    ("numeric", "decimal128(18, 2)"),
    ("array", "list<utf8>"),
    ("uuid", "fixed_size_binary(16)"),
];

/// Types with parameters, as an example of each.
const PARAMETRIC: &[(&str, &str)] = &[
    ("decimal128", "decimal128(18, 2)"),
    ("decimal256", "decimal256(40, 2)"),
    ("fixed_size_binary", "fixed_size_binary(16)"),
    ("time32", "time32(s)"),
    ("time64", "time64(us)"),
    ("timestamp", "timestamp(us, UTC)"),
    ("duration", "duration(ms)"),
    ("list", "list<utf8>"),
    ("large_list", "large_list<utf8>"),
    ("fixed_size_list", "fixed_size_list<float32, 3>"),
    ("struct", "struct<name: utf8, age: int32>"),
    ("map", "map<utf8, int64>"),
];

/// The names of all types, without parameters.
pub fn type_names() -> impl Iterator<Item = &'static str> {
    PLAIN.iter().map(|(name, _)| *name).chain(PARAMETRIC.iter().map(|(name, _)| *name))
}

impl FromStr for LogicalType {
    type Err = InvalidType;
    fn from_str(text: &str) -> Result<Self, InvalidType> {
        let mut reader = Reader { text, at: 0 };
        let logical_type = reader.logical_type(DEPTH_MAX)?;
        if reader.peek().is_some() {
            let nullability = reader.rest().starts_with("not") || reader.rest().starts_with('?');
            let hint = "whether a column may be null is not part of its type: leave this out";
            return Err(reader.invalid(reader.at, "text after the type", nullability.then_some(hint)));
        }
        Ok(logical_type)
    }
}
impl TryFrom<String> for LogicalType {
    type Error = InvalidType;
    fn try_from(text: String) -> Result<Self, InvalidType> {
        text.parse()
    }
}
impl From<LogicalType> for String {
    fn from(logical_type: LogicalType) -> Self {
        logical_type.to_string()
    }
}

struct Reader<'a> {
    text: &'a str,
    /// Byte offset of what is not read yet.
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn invalid(&self, at: usize, what: impl Into<String>, hint: Option<&str>) -> InvalidType {
        let position = self.text[..at].chars().count();
        InvalidType { position, what: what.into(), hint: hint.map(str::to_owned) }
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// The next character that is not space.
    fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.rest().chars().next()
    }

    fn take_while(&mut self, ok: impl Fn(char) -> bool) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !ok(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn accept(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn expect(&mut self, c: char, name: &str) -> Result<(), InvalidType> {
        if self.accept(c) {
            return Ok(());
        }
        let what = match self.peek() {
            Some(found) => format!("expected `{c}`, found `{found}`"),
            None => format!("expected `{c}`, found the end"),
        };
        let example = PARAMETRIC.iter().find(|(known, _)| *known == name);
        let hint = example.map(|(_, example)| format!("for example `{example}`"));
        Err(self.invalid(self.at, what, hint.as_deref()))
    }

    fn logical_type(&mut self, levels: usize) -> Result<LogicalType, InvalidType> {
        self.skip_space();
        let start = self.at;
        let Some(below) = levels.checked_sub(1) else {
            return Err(self.invalid(start, InvalidTypeRule::TooDeep.to_string(), None));
        };
        let name = self.take_while(is_word);
        if let Some((_, plain)) = PLAIN.iter().find(|(plain, _)| *plain == name) {
            return Ok(plain.clone());
        }
        let logical_type = match name {
            "decimal128" | "decimal256" | "fixed_size_binary" | "time32" | "time64" | "timestamp" | "duration" => {
                self.expect('(', name)?;
                let logical_type = self.with_arguments(name)?;
                self.expect(')', name)?;
                logical_type
            }
            "list" | "large_list" | "fixed_size_list" | "struct" | "map" => {
                self.expect('<', name)?;
                let logical_type = self.with_children(name, below)?;
                self.expect('>', name)?;
                logical_type
            }
            _ => return Err(self.unknown(start, name)),
        };
        // Children were checked when they were read; checking them again at each level costs little at this depth.
        match logical_type.validate() {
            Ok(()) => Ok(logical_type),
            Err(rule) => Err(self.invalid(start, rule.to_string(), None)),
        }
    }

    fn unknown(&self, start: usize, name: &str) -> InvalidType {
        if name.is_empty() {
            let found = self.text[start..].chars().next().map_or("the end".to_owned(), |c| format!("`{c}`"));
            return self.invalid(start, format!("expected a type, found {found}"), None);
        }
        let lower = name.to_ascii_lowercase();
        let meant = FOREIGN.iter().find(|(foreign, _)| *foreign == lower).map(|(_, meant)| *meant);
        let meant = meant.or_else(|| type_names().find(|known| *known == lower));
        let hint = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known types: {}", type_names().collect::<Vec<_>>().join(", ")),
        };
        self.invalid(start, format!("unknown type `{name}`"), Some(&hint))
    }

    fn with_arguments(&mut self, name: &str) -> Result<LogicalType, InvalidType> {
        Ok(match name {
            "decimal128" | "decimal256" => {
                let precision = self.number()?;
                self.expect(',', name)?;
                let scale = self.number()?;
                match name {
                    "decimal128" => LogicalType::Decimal128 { precision, scale },
                    _ => LogicalType::Decimal256 { precision, scale },
                }
            }
            "fixed_size_binary" => LogicalType::FixedSizeBinary(self.number()?),
            "time32" => LogicalType::Time32(self.unit()?),
            "time64" => LogicalType::Time64(self.unit()?),
            "duration" => LogicalType::Duration(self.unit()?),
            _ => {
                let unit = self.unit()?;
                let zone = self.accept(',').then(|| self.take_while(|c| !c.is_whitespace() && c != ')').to_owned());
                LogicalType::Timestamp(unit, zone)
            }
        })
    }

    fn with_children(&mut self, name: &str, levels: usize) -> Result<LogicalType, InvalidType> {
        Ok(match name {
            "list" => LogicalType::List(self.element(levels)?),
            "large_list" => LogicalType::LargeList(self.element(levels)?),
            "fixed_size_list" => {
                let item = self.element(levels)?;
                self.expect(',', name)?;
                LogicalType::FixedSizeList(item, self.number()?)
            }
            "map" => {
                let key = self.logical_type(levels)?;
                // A key is never null, so saying so is no mistake.
                self.not_null()?;
                self.expect(',', name)?;
                LogicalType::Map(Box::new(key), self.element(levels)?)
            }
            _ => {
                let mut members = Vec::new();
                while members.is_empty() || self.accept(',') {
                    let member = self.member_name()?;
                    self.expect(':', name)?;
                    let Element { logical_type, nullable } = *self.element(levels)?;
                    members.push(Field { name: member, logical_type, nullable });
                }
                LogicalType::Struct(members)
            }
        })
    }

    fn element(&mut self, levels: usize) -> Result<Box<Element>, InvalidType> {
        let logical_type = self.logical_type(levels)?;
        Ok(Box::new(Element { logical_type, nullable: !self.not_null()? }))
    }

    fn not_null(&mut self) -> Result<bool, InvalidType> {
        self.skip_space();
        let start = self.at;
        match self.take_while(is_word) {
            "" => Ok(false),
            "not" if self.take_while(is_word) == "null" => Ok(true),
            _ => Err(self.invalid(start, "only `not null` may follow a type here", None)),
        }
    }

    fn number<N: FromStr>(&mut self) -> Result<N, InvalidType> {
        self.skip_space();
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit() || c == '-');
        digits.parse().map_err(|_| self.invalid(start, "expected a small whole number", None))
    }

    fn unit(&mut self) -> Result<TimeUnit, InvalidType> {
        self.skip_space();
        let start = self.at;
        match self.take_while(is_word) {
            "s" => Ok(TimeUnit::Second),
            "ms" => Ok(TimeUnit::Millisecond),
            "us" => Ok(TimeUnit::Microsecond),
            "ns" => Ok(TimeUnit::Nanosecond),
            _ => Err(self.invalid(start, "expected a unit: `s`, `ms`, `us` or `ns`", None)),
        }
    }

    fn member_name(&mut self) -> Result<String, InvalidType> {
        self.skip_space();
        let start = self.at;
        if !self.accept('"') {
            return match self.take_while(is_word) {
                "" => Err(self.invalid(start, "expected the name of a member", None)),
                name => Ok(name.to_owned()),
            };
        }
        let mut name = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((offset, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += offset + 1;
                    return Ok(name);
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => name.push(c),
                    _ => return Err(self.invalid(self.at + offset, "`\\` stands before `\"` or `\\` only", None)),
                },
                c => name.push(c),
            }
        }
        Err(self.invalid(start, "a quoted name without its closing quote", None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit() -> impl Strategy<Value = TimeUnit> {
        prop_oneof![
            Just(TimeUnit::Second),
            Just(TimeUnit::Millisecond),
            Just(TimeUnit::Microsecond),
            Just(TimeUnit::Nanosecond)
        ]
    }

    fn leaf() -> impl Strategy<Value = LogicalType> {
        let zone = proptest::option::of("[A-Za-z0-9/_+:-]{1,64}");
        prop_oneof![
            8 => proptest::sample::select(PLAIN).prop_map(|(_, plain)| plain),
            1 => (1_u8..=38).prop_flat_map(|precision| (-(precision as i8)..=precision as i8)
                .prop_map(move |scale| LogicalType::Decimal128 { precision, scale })),
            1 => (1_u8..=76).prop_flat_map(|precision| (-(precision as i8)..=precision as i8)
                .prop_map(move |scale| LogicalType::Decimal256 { precision, scale })),
            1 => (1..=i32::MAX as u32).prop_map(LogicalType::FixedSizeBinary),
            1 => prop_oneof![Just(TimeUnit::Second), Just(TimeUnit::Millisecond)].prop_map(LogicalType::Time32),
            1 => prop_oneof![Just(TimeUnit::Microsecond), Just(TimeUnit::Nanosecond)].prop_map(LogicalType::Time64),
            1 => (unit(), zone).prop_map(|(unit, zone)| LogicalType::Timestamp(unit, zone)),
            1 => unit().prop_map(LogicalType::Duration),
        ]
    }

    fn logical_type() -> impl Strategy<Value = LogicalType> {
        leaf().prop_recursive(5, 32, 4, |inner| {
            let element = (inner.clone(), any::<bool>())
                .prop_map(|(logical_type, nullable)| Box::new(Element { logical_type, nullable }));
            let names = proptest::collection::btree_set("([a-z_0-9]{1,8}|[^\\p{Cc}]{1,12})", 1..4);
            let members = (names, proptest::collection::vec((inner.clone(), any::<bool>()), 4));
            prop_oneof![
                element.clone().prop_map(LogicalType::List),
                element.clone().prop_map(LogicalType::LargeList),
                (element.clone(), 1_u32..100).prop_map(|(item, items)| LogicalType::FixedSizeList(item, items)),
                (inner, element).prop_map(|(key, value)| LogicalType::Map(Box::new(key), value)),
                members.prop_map(|(names, types)| {
                    let member = |(name, (logical_type, nullable))| Field { name, logical_type, nullable };
                    LogicalType::Struct(names.into_iter().zip(types).map(member).collect())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn text_form_round_trips(logical_type in logical_type()) {
            let text = logical_type.to_string();
            prop_assert_eq!(text.parse::<LogicalType>(), Ok(logical_type), "{}", text);
        }

        #[test]
        fn any_text_is_read_or_refused_at_a_place_in_it(text in "[a-z0-9_<>(), :\"\\\\é-]{0,40}") {
            if let Err(invalid) = text.parse::<LogicalType>() {
                prop_assert!(invalid.position <= text.chars().count());
            }
        }
    }

    #[test]
    fn texts_of_types_are_fixed() {
        for text in [
            "decimal128(18, -2)",
            "timestamp(us, America/New_York)",
            "struct<a: int32 not null, \"b \\\"c\": list<utf8 not null>>",
            "map<utf8, large_list<float64> not null>",
            "fixed_size_list<fixed_size_binary(3), 2>",
        ] {
            assert_eq!(text.parse::<LogicalType>().unwrap().to_string(), text);
        }
        assert_eq!(" map < utf8 not null,int8 > ".parse::<LogicalType>().unwrap().to_string(), "map<utf8, int8>");
    }

    #[test]
    fn mistakes_have_a_place_and_a_hint() {
        for (text, position, part) in [
            ("int33", 0, "unknown type `int33`"),
            ("list<strng>", 5, "unknown type `strng`"),
            ("list<int32", 10, "expected `>`, found the end"),
            ("decimal128(39, 2)", 0, "1 to 38 digits"),
            ("decimal128(10)", 13, "expected `,`, found `)`"),
            ("time32(us)", 0, "`s` or `ms`"),
            ("timestamp", 9, "expected `(`"),
            ("struct<é: int8>", 7, "name of a member"),
            ("struct<a: int8, a: int8>", 0, "two members"),
            ("int32 not null", 6, "text after the type"),
            ("int32?", 5, "text after the type"),
            ("", 0, "expected a type, found the end"),
            ("list<int8 nul>", 10, "only `not null`"),
        ] {
            let invalid = text.parse::<LogicalType>().unwrap_err();
            assert_eq!((invalid.position, invalid.what.contains(part)), (position, true), "{text}: {invalid}");
        }
        let hint = |text: &str| text.parse::<LogicalType>().unwrap_err().hint.unwrap_or_default();
        assert_eq!(hint("String"), "did you mean `utf8`?");
        assert_eq!(hint("UTF8"), "did you mean `utf8`?");
        assert!(hint("int32 not null").contains("leave this out"));
        assert!(hint("timestamp").contains("timestamp(us, UTC)"));
    }

    #[test]
    fn deep_nesting_is_refused_without_recursion() {
        let text = "list<".repeat(100_000);
        assert!(text.parse::<LogicalType>().unwrap_err().what.contains("nest deeper"));
    }
}
