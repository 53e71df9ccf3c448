//! A file that is held open while it is read: reads see exactly its admitted bytes, whatever happens to its name.

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::time::SystemTime;

/// An open file, read up to its admitted length by position, so that several readers never disturb each other.
#[derive(Debug, Clone)]
pub(super) struct HeldFile {
    file: Arc<File>,
    bytes: u64,
}

/// Size and modification time: as long as they stay, so does the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub bytes: u64,
    pub modified: SystemTime,
}

impl HeldFile {
    pub fn new(file: File, bytes: u64) -> Self {
        Self { file: Arc::new(file), bytes }
    }

    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The file's stamp at this moment.
    pub fn stamp(&self) -> io::Result<Stamp> {
        let metadata = self.file.metadata()?;
        Ok(Stamp { bytes: metadata.len(), modified: metadata.modified()? })
    }

    pub fn reader(&self, offset: u64) -> HeldReader {
        HeldReader { file: self.clone(), offset: offset.min(self.bytes) }
    }
}

/// Reads a [`HeldFile`] from a position to its admitted end.
#[derive(Debug)]
pub(super) struct HeldReader {
    file: HeldFile,
    offset: u64,
}

impl Read for HeldReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.file.bytes - self.offset;
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if wanted == 0 {
            return Ok(0);
        }
        let read = read_at(&self.file.file, &mut buffer[..wanted], self.offset)?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was read"));
        }
        self.offset += read as u64;
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

impl Length for HeldFile {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for HeldFile {
    type T = BufReader<HeldReader>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::new(self.reader(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        // A corrupt footer may ask for anything: nothing is allocated for bytes that the file does not have.
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            return Err(ParquetError::EOF("a part of the file lies beyond its end".into()));
        }
        let mut buffer = vec![0; length];
        self.reader(start).read_exact(&mut buffer)?;
        Ok(buffer.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn reads_are_bounded_by_the_admitted_length() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"admitted, and more").unwrap();
        let held = HeldFile::new(file, 8);
        let mut text = String::new();
        held.reader(2).read_to_string(&mut text).unwrap();
        assert_eq!(text, "mitted");
        assert!(held.get_bytes(4, 5).is_err());
        assert_eq!(held.get_bytes(4, 4).unwrap(), "tted");
    }

    #[test]
    fn a_file_that_shrinks_is_an_error_not_an_end() {
        let file = tempfile::tempfile().unwrap();
        let held = HeldFile::new(file, 8);
        let error = held.reader(0).read(&mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
