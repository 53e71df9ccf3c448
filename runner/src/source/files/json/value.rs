//! A line as a tree that keeps numbers as they are written: a float in between would lose digits.

use std::borrow::Cow;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json<'a> {
    Null,
    /// A number or a boolean, as it is written.
    Plain(&'a [u8]),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a line that does not nest too deep. None: it is not JSON, or more than one value. Of a member that comes twice
    /// both are kept.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let mut parser = Parser { line, at: 0 };
        let value = parser.value()?;
        parser.skip_blank();
        (parser.at == line.len()).then_some(value)
    }

    /// The length of the longest text, names included.
    pub fn longest_text(&self) -> usize {
        match self {
            Self::Null | Self::Plain(_) => 0,
            Self::Text(text) => text.len(),
            Self::List(items) => items.iter().map(Self::longest_text).max().unwrap_or(0),
            Self::Object(members) => {
                members.iter().map(|(name, value)| name.len().max(value.longest_text())).max().unwrap_or(0)
            }
        }
    }
}

struct Parser<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Parser<'a> {
    fn skip_blank(&mut self) {
        while self.line.get(self.at).is_some_and(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The next byte that is not blank.
    fn peek(&mut self) -> Option<u8> {
        self.skip_blank();
        self.line.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn value(&mut self) -> Option<Json<'a>> {
        match self.peek()? {
            b'"' => self.text().map(Json::Text),
            b'[' => {
                let mut items = Vec::new();
                self.list(b'[', b']', |parser| {
                    items.push(parser.value()?);
                    Some(())
                })?;
                Some(Json::List(items))
            }
            b'{' => {
                let mut members = Vec::new();
                self.list(b'{', b'}', |parser| {
                    let name = parser.text()?;
                    parser.take(b':')?;
                    members.push((name, parser.value()?));
                    Some(())
                })?;
                Some(Json::Object(members))
            }
            _ => self.plain(),
        }
    }

    /// Entries between brackets.
    fn list(&mut self, open: u8, close: u8, mut entry: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(open)?;
        if self.take(close).is_some() {
            return Some(());
        }
        loop {
            entry(self)?;
            if self.take(b',').is_none() {
                return self.take(close);
            }
        }
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        self.take(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.line.get(self.at)? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        let end = self.at;
        self.at += 1;
        match escaped {
            false => std::str::from_utf8(&self.line[start..end]).ok().map(Cow::Borrowed),
            true => serde_json::from_slice(&self.line[start - 1..=end]).ok().map(Cow::Owned),
        }
    }

    fn plain(&mut self) -> Option<Json<'a>> {
        let rest = &self.line[self.at..];
        let end = rest.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')));
        let text = &rest[..end.unwrap_or(rest.len())];
        self.at += text.len();
        match text {
            b"null" => Some(Json::Null),
            b"true" | b"false" => Some(Json::Plain(text)),
            [b'-' | b'0'..=b'9', ..] => Some(Json::Plain(text)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn plain(json: &Json<'_>) -> Value {
        match json {
            Json::Null => Value::Null,
            Json::Plain(text) => serde_json::from_slice(text).unwrap(),
            Json::Text(text) => Value::String(text.to_string()),
            Json::List(items) => items.iter().map(plain).collect(),
            Json::Object(members) => members.iter().map(|(name, value)| (name.to_string(), plain(value))).collect(),
        }
    }

    proptest! {
        #[test]
        fn reads_what_serde_json_writes(text in "[\\[\\]{},:\"a\\\\é1-9. \n]{0,40}", number: f64) {
            let values = serde_json::json!({ "a": [text.clone(), number, null, true], text.clone(): { "b": -1, "c": {} } });
            for line in [values.to_string(), serde_json::to_string_pretty(&values).unwrap()] {
                prop_assert_eq!(plain(&Json::parse(line.as_bytes()).unwrap()), values.clone());
            }
            // And never more than it reads, nor a panic.
            if let Some(json) = Json::parse(text.as_bytes()) {
                let _ = json.longest_text();
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = Json::parse(&bytes);
        }
    }

    #[test]
    fn numbers_stay_as_they_are_written() {
        let line = br#" {"a": 1.00000000000000000001, "b": [1e2, -0.0]} "#;
        let expected = Json::Object(vec![
            ("a".into(), Json::Plain(b"1.00000000000000000001")),
            ("b".into(), Json::List(vec![Json::Plain(b"1e2"), Json::Plain(b"-0.0")])),
        ]);
        assert_eq!(Json::parse(line), Some(expected));
        for wrong in ["", "{", "[1,]", "{\"a\":1} {}", "\"a", "\"a\\", "nul", "{\"a\"}", "[1 2]"] {
            assert_eq!(Json::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
