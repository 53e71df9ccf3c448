//! The way past a record that is too long to keep, in bounded memory.

use crate::source::files::text::TextWindow;
use std::io;

/// How a long record ended. The window is left at the next record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skipped {
    /// At its own end.
    Record { bytes: u64, line_feeds: u64 },
    /// A quote of it never closes. To go on after the end of the file would lose every record that the quote swallowed:
    /// reading goes on after the line of that quote. Past an unclosed quote, quotes only come in pairs, so that
    /// this happens at most once in a file.
    Unclosed { line_feeds: u64 },
}

enum State {
    FieldStart,
    Unquoted,
    Quoted,
    QuoteInQuoted,
}

/// Leaves the record at the start of the window behind.
pub(super) fn skip_record(window: &mut TextWindow, delimiter: u8, quote: Option<u8>) -> io::Result<Skipped> {
    let first = window.offset();
    let mut line_feeds = 0;
    let mut state = State::FieldStart;
    // Where reading goes on should the last opened quote never close: after its line.
    let mut resync: Option<(u64, u64)> = None;
    loop {
        let start = window.offset();
        let mut ended_at = None;
        for (place, &byte) in window.bytes().iter().enumerate() {
            let is_quote = Some(byte) == quote;
            let is_end = matches!(byte, b'\n' | b'\r');
            if byte == b'\n' {
                line_feeds += 1;
            }
            state = match state {
                State::FieldStart if is_quote => {
                    resync = None;
                    State::Quoted
                }
                State::Quoted if is_quote => State::QuoteInQuoted,
                State::QuoteInQuoted if is_quote => State::Quoted,
                State::Quoted => {
                    if byte == b'\n' && resync.is_none() {
                        resync = Some((start + place as u64 + 1, line_feeds));
                    }
                    State::Quoted
                }
                _ if byte == delimiter => State::FieldStart,
                _ if is_end => {
                    ended_at = Some(place + 1);
                    break;
                }
                _ => State::Unquoted,
            };
        }
        if let Some(end) = ended_at {
            window.consume(end);
            return Ok(Skipped::Record { bytes: window.offset() - first, line_feeds });
        }
        window.consume(window.bytes().len());
        if !window.fill()? && window.ended() && window.bytes().is_empty() {
            return if matches!(state, State::Quoted) {
                let Some((offset, line_feeds)) = resync else { return Ok(Skipped::Unclosed { line_feeds }) };
                window.seek(offset)?;
                Ok(Skipped::Unclosed { line_feeds })
            } else {
                Ok(Skipped::Record { bytes: window.offset() - first, line_feeds })
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::files::compression::Compression;
    use crate::source::files::held::HeldFile;
    use std::io::Write;

    fn window(text: &[u8]) -> TextWindow {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        TextWindow::open(HeldFile::new(file, text.len() as u64), Compression::None, 0).unwrap()
    }

    fn rest(window: &mut TextWindow) -> String {
        while window.fill().unwrap() {}
        String::from_utf8(window.bytes().to_vec()).unwrap()
    }

    #[test]
    fn ends() {
        let long = "x".repeat(1 << 20);
        for (text, expected, left) in [
            (format!("a,\"{long}\n\"\"\n\",b\nnext"), Skipped::Record { bytes: (1 << 20) + 11, line_feeds: 3 }, "next"),
            (format!("{long}\r\nnext"), Skipped::Record { bytes: (1 << 20) + 1, line_feeds: 0 }, "\nnext"),
            (long.clone(), Skipped::Record { bytes: 1 << 20, line_feeds: 0 }, ""),
            (
                format!("a,\"\n\",\"b\nc,\"\"d\n{long}"),
                Skipped::Unclosed { line_feeds: 2 },
                &format!("c,\"\"d\n{long}"),
            ),
            (format!("a,\"{long}"), Skipped::Unclosed { line_feeds: 0 }, ""),
        ] {
            let mut window = window(text.as_bytes());
            assert_eq!(skip_record(&mut window, b',', Some(b'"')).unwrap(), expected);
            assert!(rest(&mut window) == left);
        }
    }
}
