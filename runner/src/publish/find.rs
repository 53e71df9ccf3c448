//! A component by what people call it: its label, its digest, or the beginning of that.

use crate::store::{StateStore, StoreError};
use gristmill_core::digest::Digest;
use std::collections::BTreeSet;

/// Fewer digits of a digest name nothing.
const DIGITS_MIN: usize = 6;

/// The digest of a labelled component. None: nothing is called so.
pub async fn find_component(state: &StateStore, named: &str) -> Result<Option<Digest>, StoreError> {
    if let Some(digest) = state.labelled(named).await? {
        return Ok(Some(digest));
    }
    let digits = named.strip_prefix("sha256:").unwrap_or(named).to_ascii_lowercase();
    if digits.len() < DIGITS_MIN || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let labels = state.labels().await?;
    let found: BTreeSet<Digest> =
        labels.iter().map(|row| row.digest).filter(|digest| digest.hex().starts_with(&digits)).collect();
    match found.len() {
        0 | 1 => Ok(found.first().copied()),
        n => Err(StoreError::Refused {
            what: format!("{n} components have digests that start with `{digits}`"),
            hint: "write more of the digest, or a label: see `gristmill transform list`".into(),
        }),
    }
}
