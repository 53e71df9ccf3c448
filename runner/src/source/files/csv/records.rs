//! Records and fields of CSV, found in place.
//!
//! Splits as the `csv` crate does (a test compares them), but without copying fields, and tells three more things: where
//! a record ends in the file, whether text follows a closing quote, and that a quote is still open at the end of the file.

use crate::source::files::options::CsvOptions;

/// What was found at the start of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::source::files) enum Scan {
    /// A record that takes `bytes`, with its line end.
    Record { bytes: usize, text_after_quote: bool },
    /// The content ends within quotes.
    Unclosed,
    /// The record goes on after the window.
    NeedMore,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    unescaped: bool,
}

/// The fields of the record that was scanned last.
#[derive(Debug, Clone)]
pub(in crate::source::files) struct Fields {
    delimiter: u8,
    quote: Option<u8>,
    ends_field: Box<[bool; 256]>,
    spans: Vec<Span>,
    /// Fields that are not in the window as they are: with doubled quotes.
    unescaped: Vec<u8>,
    quoted: bool,
}

impl Fields {
    pub fn new(options: &CsvOptions) -> Self {
        let mut ends_field = Box::new([false; 256]);
        for byte in [options.delimiter, b'\n', b'\r'] {
            ends_field[usize::from(byte)] = true;
        }
        Self {
            delimiter: options.delimiter,
            quote: options.quote,
            ends_field,
            spans: Vec::new(),
            unescaped: Vec::new(),
            quoted: false,
        }
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// A field, from the window that was scanned.
    #[inline]
    pub fn get<'a>(&'a self, window: &'a [u8], field: usize) -> &'a [u8] {
        let Span { start, end, unescaped } = self.spans[field];
        if unescaped { &self.unescaped[start..end] } else { &window[start..end] }
    }

    /// Whether any field of the record is quoted, so that it may hold line ends.
    pub const fn quoted(&self) -> bool {
        self.quoted
    }

    /// Splits the record at the start of `window`, which must not start with a line end. `ended`: nothing comes after the window.
    pub fn scan(&mut self, window: &[u8], ended: bool) -> Scan {
        self.spans.clear();
        self.unescaped.clear();
        self.quoted = false;
        let mut text_after_quote = false;
        let mut at = 0;
        loop {
            if at < window.len() && Some(window[at]) == self.quote {
                self.quoted = true;
                match self.quoted_field(window, at, ended) {
                    Ok((end, after)) => {
                        at = end;
                        text_after_quote |= after;
                    }
                    Err(scan) => return scan,
                }
            } else {
                let start = at;
                while at < window.len() && !self.ends_field[usize::from(window[at])] {
                    at += 1;
                }
                self.spans.push(Span { start, end: at, unescaped: false });
            }
            let Some(byte) = window.get(at) else {
                return if ended { Scan::Record { bytes: at, text_after_quote } } else { Scan::NeedMore };
            };
            if *byte == self.delimiter {
                at += 1;
                continue;
            }
            let bytes = match (byte, window.get(at + 1)) {
                (b'\r', Some(b'\n')) => at + 2,
                (b'\r', None) if !ended => return Scan::NeedMore,
                _ => at + 1,
            };
            return Scan::Record { bytes, text_after_quote };
        }
    }

    /// The field whose opening quote is at `open`: where it ends, and whether text follows its closing quote.
    fn quoted_field(&mut self, window: &[u8], open: usize, ended: bool) -> Result<(usize, bool), Scan> {
        let incomplete = if ended { Scan::Unclosed } else { Scan::NeedMore };
        let quote = window[open];
        let unescaped_start = self.unescaped.len();
        let mut kept_from = open + 1;
        let mut at = open + 1;
        let close = loop {
            at += window[at..].iter().position(|b| *b == quote).ok_or(incomplete)?;
            match window.get(at + 1) {
                Some(next) if *next == quote => {
                    self.unescaped.extend_from_slice(&window[kept_from..=at]);
                    at += 2;
                    kept_from = at;
                }
                None if !ended => return Err(Scan::NeedMore),
                _ => break at,
            }
        };
        let mut end = close + 1;
        while end < window.len() && !self.ends_field[usize::from(window[end])] {
            end += 1;
        }
        let text_after_quote = end > close + 1;
        if kept_from == open + 1 && !text_after_quote {
            self.spans.push(Span { start: open + 1, end: close, unescaped: false });
        } else {
            self.unescaped.extend_from_slice(&window[kept_from..close]);
            self.unescaped.extend_from_slice(&window[close + 1..end]);
            self.spans.push(Span { start: unescaped_start, end: self.unescaped.len(), unescaped: true });
        }
        Ok((end, text_after_quote))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Records = Vec<Vec<Vec<u8>>>;

    /// All records of a text, with windows that grow by `step` bytes.
    fn split(text: &[u8], options: &CsvOptions, step: usize) -> Records {
        let mut fields = Fields::new(options);
        let mut records = Vec::new();
        let (mut start, mut end) = (0, 0);
        loop {
            while start < end && matches!(text[start], b'\n' | b'\r') {
                start += 1;
            }
            let ended = end == text.len();
            if start == end && ended {
                return records;
            }
            let window = &text[start..end];
            match fields.scan(window, ended) {
                Scan::Record { bytes, .. } if start < end => {
                    records.push((0..fields.len()).map(|i| fields.get(window, i).to_vec()).collect());
                    start += bytes;
                }
                Scan::Unclosed => return records,
                _ => end = (end + step).min(text.len()),
            }
        }
    }

    fn with_csv_crate(text: &[u8], options: &CsvOptions) -> Records {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(options.delimiter)
            .quoting(options.quote.is_some())
            .from_reader(text);
        reader.byte_records().map(|r| r.unwrap().iter().map(<[u8]>::to_vec).collect()).collect()
    }

    fn has_open_quote(text: &[u8], options: &CsvOptions) -> bool {
        let mut fields = Fields::new(options);
        let mut start = 0;
        loop {
            while matches!(text.get(start), Some(b'\n' | b'\r')) {
                start += 1;
            }
            if start == text.len() {
                return false;
            }
            match fields.scan(&text[start..], true) {
                Scan::Record { bytes, .. } => start += bytes,
                _ => return true,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn splits_as_the_csv_crate_does(text in "[a,;\"\n\rb]{0,40}", step in 1_usize..9, quoting: bool) {
            let options = CsvOptions { quote: quoting.then_some(b'"'), ..CsvOptions::default() };
            let text = text.as_bytes();
            // What an open quote swallows is this module's own business.
            prop_assume!(!has_open_quote(text, &options));
            let expected = with_csv_crate(text, &options);
            prop_assert_eq!(split(text, &options, text.len() + 1), expected.clone());
            prop_assert_eq!(split(text, &options, step), expected);
        }
    }

    #[test]
    fn what_else_is_told() {
        let mut fields = Fields::new(&CsvOptions::default());
        assert_eq!(fields.scan(b"a,\"b\"c\n", false), Scan::Record { bytes: 7, text_after_quote: true });
        assert_eq!(fields.scan(b"a,\"b\"\r\nc", false), Scan::Record { bytes: 7, text_after_quote: false });
        assert_eq!(fields.scan(b"a,\"b\n", true), Scan::Unclosed);
        assert_eq!(fields.scan(b"a,\"b\n", false), Scan::NeedMore);
        assert_eq!(fields.scan(b"a,b\r", false), Scan::NeedMore, "a line feed may follow");
        assert_eq!(fields.scan(b"a,b", false), Scan::NeedMore);
        assert_eq!(fields.scan(b"a,", true), Scan::Record { bytes: 2, text_after_quote: false });
        assert_eq!(fields.len(), 2);
    }
}
