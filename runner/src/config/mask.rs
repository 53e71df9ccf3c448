//! Secrets in the text of a pipeline file, masked before any of it is shown.

/// Parts of key names whose values are secrets.
const SECRET_KEYS: &[&str] =
    &["password", "passwd", "secret", "token", "credential", "access_key", "api_key", "apikey", "private_key"];

/// The same text, byte for byte as long, with `*` over the credentials and queries of URLs and the values of keys
/// that are named like secrets. References such as `${NAME}` stay: they are what to look at.
pub(super) fn masked(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (start, end) in secret_ranges(text) {
        for byte in &mut bytes[start..end] {
            // Line ends stay, so that line numbers do.
            if *byte != b'\n' && *byte != b'\r' {
                *byte = b'*';
            }
        }
    }
    // Whole characters were replaced, so this is still UTF-8.
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A URL without its credentials and query.
pub(super) fn masked_url(url: &str) -> String {
    let mut shown = String::new();
    let mut last = 0;
    for (start, end) in url_secrets(url) {
        shown.push_str(&url[last..start]);
        shown.push_str("***");
        last = end;
    }
    shown.push_str(&url[last..]);
    shown
}

fn secret_ranges(text: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut line_start = 0;
    // The indentation of a secret key whose value goes on below it.
    let mut secret_block: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        if secret_block.is_some_and(|outer| indent > outer || line.trim().is_empty()) {
            ranges.push((line_start + indent, line_start + line.len()));
        } else {
            secret_block = None;
            for (start, end) in url_secrets(line).into_iter().chain(secret_values(line)) {
                ranges.push((line_start + start, line_start + end));
            }
            let (key, value) = line.trim().split_once(':').unwrap_or_default();
            let below = value.trim().is_empty() || value.trim_start().starts_with(['|', '>']);
            if below && is_secret_key(key) {
                secret_block = Some(indent);
            }
        }
        line_start += line.len();
    }
    ranges
}

fn is_secret_key(key: &str) -> bool {
    let key = key.to_lowercase().replace('-', "_");
    SECRET_KEYS.iter().any(|secret| key.contains(secret))
}

/// Values on the line of their key, in block or flow style.
fn secret_values(line: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    for (colon, _) in line.match_indices(':') {
        let after = &line[colon + 1..];
        // A colon inside a value ends no key: only one before a space does, or one after a quoted key.
        if !after.starts_with(char::is_whitespace) && !line[..colon].ends_with(['"', '\'']) {
            continue;
        }
        // A space may have several bytes.
        let before = line[..colon].char_indices().rfind(|(_, c)| c.is_whitespace() || "{[,".contains(*c));
        let key_start = before.map_or(0, |(at, c)| at + c.len_utf8());
        if !is_secret_key(&line[key_start..colon]) {
            continue;
        }
        let value = after.trim_start();
        let start = colon + 1 + (after.len() - value.len());
        let end = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].find(quote).map_or(value.trim_end().len(), |at| at + 2),
            // Without a quote a comma may belong to the secret: rather mask too much.
            _ => value.trim_end().len(),
        };
        if !is_reference(&value[..end]) {
            ranges.push((start, start + end));
        }
    }
    ranges
}

fn is_reference(value: &str) -> bool {
    let value = value.trim_matches(|c| matches!(c, '"' | '\'' | '}' | ' ' | ']'));
    value.starts_with("${") && value[2..].bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The user part and the query of each URL.
fn url_secrets(text: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    for (scheme_end, separator) in text.match_indices("://") {
        let start = scheme_end + separator.len();
        let rest = &text[start..];
        let end = rest.find(|c: char| c.is_whitespace() || "\"'`".contains(c)).unwrap_or(rest.len());
        let url = &rest[..end];
        // A password may hold `/`, against the rules: the last `@` before the query ends it.
        let query = url.find('?').unwrap_or(url.len());
        if let Some(at) = url[..query].rfind('@') {
            ranges.push((start, start + at));
        }
        if query < url.len() {
            ranges.push((start + query + 1, start + url.len()));
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn secrets_are_covered_and_the_rest_stays() {
        for (text, shown) in [
            ("url: s3://a:b@c/d", "url: s3://***@c/d"),
            ("url: \"s3://c/d?sig=abc\" # x", "url: \"s3://c/d?*******\" # x"),
            ("url: s3://bucket/prefix/", "url: s3://bucket/prefix/"),
            ("secret_access_key: AbC/1", "secret_access_key: *****"),
            ("{ api-key: 'abc', b: 1 }", "{ api-key: *****, b: 1 }"),
            ("token: ${TOKEN}", "token: ${TOKEN}"),
            ("{\"token\":\"abc\"}", "{\"token\":*****}"),
            ("url: ${SECRET}:x", "url: ${SECRET}:x"),
            ("key: faa\ntask: x", "key: faa\ntask: x"),
            ("a\u{2009}token: abc", "a\u{2009}token: ***"),
            ("password: |\n  ab\n  cd\nx: 1\n", "password: *\n  **\n  **\nx: 1\n"),
        ] {
            assert_eq!(masked(text), shown);
        }
        assert_eq!(masked_url("postgres://me:pw@host/db?x=1"), "postgres://***@host/db?***");
    }

    proptest! {
        #[test]
        fn lengths_and_lines_stay(text in "([a-zé:/@?{}\"' \n]|password|://|secret: ){0,40}") {
            let shown = masked(&text);
            prop_assert_eq!(shown.len(), text.len());
            let ends = |text: &str| text.match_indices('\n').map(|(at, _)| at).collect::<Vec<_>>();
            prop_assert_eq!(ends(&shown), ends(&text));
        }
    }
}
