//! `digests.txt`: a line for each case, with its name, the digest of its outputs and that of its rejects.

use gristmill_core::digest::Digest;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) const FILE: &str = "digests.txt";

/// What the content of a case's answer is identified by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digests {
    /// [`crate::content::digest_outputs`], with the input row of each row as its version (4 bytes, big-endian).
    pub outputs: Digest,
    /// Of the lines of `NAME.rejects.jsonl`.
    pub rejects: Digest,
}

/// Reads the file. None: there is none.
pub(super) fn read(dir: &Path) -> Result<Option<BTreeMap<String, Digests>>, String> {
    let path = dir.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(format!("{}: {e}", path.display())),
    };
    let mut digests = BTreeMap::new();
    for (place, line) in text.lines().enumerate() {
        let parts: Vec<_> = line.split_whitespace().collect();
        let digest = |hex: &str| format!("sha256:{hex}").parse::<Digest>().ok();
        let parsed = match parts[..] {
            [name, outputs, rejects] => digest(outputs).zip(digest(rejects)).map(|(o, r)| (name, o, r)),
            _ => None,
        };
        let Some((name, outputs, rejects)) = parsed else {
            return Err(format!("{} line {}: not a name and two digests", path.display(), place + 1));
        };
        digests.insert(name.to_owned(), Digests { outputs, rejects });
    }
    Ok(Some(digests))
}

/// The file's content.
pub(super) fn text<'a>(digests: impl Iterator<Item = (&'a str, Digests)>) -> String {
    digests.map(|(name, of)| format!("{name} {} {}\n", of.outputs.hex(), of.rejects.hex())).collect()
}
