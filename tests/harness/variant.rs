//! One transform in many versions: `tests/guests/variant` with another mark in its bytes.

use super::{Workspace, components};
use std::fs;
use std::path::PathBuf;

const MARK: &[u8] = b"gristmill-variant:";
const CHANGES_MAX: usize = 8;

/// The component as version `version`, with these changes: see the letters in `tests/guests/variant/src/lib.rs`.
fn variant(changes: &str) -> Vec<u8> {
    let mut bytes = fs::read(components().join("variant@0.1.0.wasm")).expect("run `make guests`");
    let places: Vec<usize> = (0..bytes.len() - MARK.len()).filter(|at| bytes[*at..].starts_with(MARK)).collect();
    let [at] = places[..] else { panic!("the mark is there {} times", places.len()) };
    assert!(changes.len() <= CHANGES_MAX);
    let start = at + MARK.len();
    bytes[start..start + changes.len()].copy_from_slice(changes.as_bytes());
    bytes
}

impl Workspace {
    /// Puts the variant with these changes into the folder `components`, as `variant@VERSION`.
    pub fn variant(&self, version: &str, changes: &str) -> PathBuf {
        self.write(&format!("components/variant@{version}.wasm"), variant(changes))
    }
}
