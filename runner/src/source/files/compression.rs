//! Compressed files, told by their names.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, Read};

const BUFFER_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    pub fn of(path: &str) -> Self {
        let ends_with = |suffix: &str| {
            path.len() >= suffix.len()
                && path.as_bytes()[path.len() - suffix.len()..].eq_ignore_ascii_case(suffix.as_bytes())
        };
        if ends_with(".gz") {
            Self::Gzip
        } else if ends_with(".zst") {
            Self::Zstd
        } else {
            Self::None
        }
    }

    /// The uncompressed content, over all members or frames. Checksums are verified at the end of each.
    pub fn decoder<'a>(self, compressed: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
        Ok(match self {
            Self::None => Box::new(compressed),
            Self::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, compressed))),
            Self::Zstd => {
                Box::new(zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(BUFFER_BYTES, compressed))?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(Compression::of("a.csv.gz"), Compression::Gzip);
        assert_eq!(Compression::of("a.jsonl.ZST"), Compression::Zstd);
        assert_eq!(Compression::of("gz"), Compression::None);
        assert_eq!(Compression::of("a.csv"), Compression::None);
    }
}
