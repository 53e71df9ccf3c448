//! A window that slides over the uncompressed content of a text file and knows its byte offset.

use super::compression::Compression;
use super::held::HeldFile;
use std::io::{self, Read};

const START_BYTES: usize = 256 << 10;
/// U+FEFF at the start of a file says how it is encoded; it is no part of the content.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) struct TextWindow {
    file: HeldFile,
    compression: Compression,
    decoder: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `start` in the uncompressed content.
    offset: u64,
    ended: bool,
}

impl TextWindow {
    pub fn open(file: HeldFile, compression: Compression, offset: u64) -> io::Result<Self> {
        let decoder = decoder_at(&file, compression, offset)?;
        let buffer = vec![0; START_BYTES];
        let mut window = Self { file, compression, decoder, buffer, start: 0, end: 0, offset, ended: false };
        if offset == 0 {
            while window.bytes().len() < BYTE_ORDER_MARK.len() && window.fill()? {}
            if window.bytes().starts_with(BYTE_ORDER_MARK) {
                window.consume(BYTE_ORDER_MARK.len());
            }
        }
        Ok(window)
    }

    /// What is in the window.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Nothing comes after the window.
    pub const fn ended(&self) -> bool {
        self.ended
    }

    /// Reads on. False: the content has ended.
    pub fn fill(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        // As much as there is room for: each fill moves the rest of the window to the front, which few bytes are not worth.
        let before = self.end;
        while self.end < self.buffer.len() {
            match self.decoder.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.end > before)
    }

    /// Leaves the first `bytes` of the window behind.
    pub fn consume(&mut self, bytes: usize) {
        self.start += bytes.min(self.end - self.start);
        self.offset += bytes as u64;
    }

    /// Goes back, or on, to a byte of the uncompressed content.
    pub fn seek(&mut self, offset: u64) -> io::Result<()> {
        self.decoder = decoder_at(&self.file, self.compression, offset)?;
        (self.start, self.end, self.offset, self.ended) = (0, 0, offset, false);
        Ok(())
    }

    /// Whether only line ends are left, without leaving the record that comes next.
    pub fn only_blank_left(&mut self) -> io::Result<bool> {
        loop {
            match self.bytes().iter().position(|b| !matches!(b, b'\n' | b'\r')) {
                Some(_) => return Ok(false),
                None if self.ended => return Ok(true),
                // A long run of blank lines ahead: the next page will find out.
                None if self.bytes().len() >= START_BYTES => return Ok(false),
                None => {
                    self.fill()?;
                }
            }
        }
    }
}

/// A decoder at an offset. Compressed content has no other way than to decode all that comes before.
fn decoder_at(file: &HeldFile, compression: Compression, offset: u64) -> io::Result<Box<dyn Read + Send>> {
    if compression == Compression::None {
        return Ok(Box::new(file.reader(offset)));
    }
    let mut decoder = compression.decoder(file.reader(0))?;
    let skipped = io::copy(&mut decoder.by_ref().take(offset), &mut io::sink())?;
    if skipped < offset {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the position lies beyond the end of the content"));
    }
    Ok(decoder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn slides_and_seeks() {
        let content: Vec<u8> = (0..START_BYTES * 3).map(|i| (i % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&zstd::encode_all(&content[..], 1).unwrap()).unwrap();
        let held = HeldFile::new(file.try_clone().unwrap(), file.metadata().unwrap().len());
        let mut window = TextWindow::open(held, Compression::Zstd, 5).unwrap();
        let mut seen = 5;
        while window.fill().unwrap() {
            let step = window.bytes().len() / 2;
            assert_eq!(window.bytes(), &content[seen..seen + window.bytes().len()]);
            window.consume(step);
            seen += step;
            assert_eq!(window.offset(), seen as u64);
        }
        assert_eq!(window.bytes(), &content[seen..]);
        window.seek(3).unwrap();
        assert!(window.fill().unwrap());
        assert_eq!(window.bytes()[..10], content[3..13]);
    }

    #[test]
    fn a_byte_order_mark_is_left_out_but_counted() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"\xef\xbb\xbfab").unwrap();
        let window = TextWindow::open(HeldFile::new(file, 5), Compression::None, 0).unwrap();
        assert_eq!((window.bytes(), window.offset()), (&b"ab"[..], 3));
    }
}
