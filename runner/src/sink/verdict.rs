//! What becomes of a row whose record the target already has.

use std::cmp::Ordering;

/// The newest that is known of one record, or a row about to become it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordState<'a> {
    pub version: &'a [u8],
    pub hash: u64,
    /// A tombstone, or a row that would leave one.
    pub deleted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Newer than the stored state: it takes its place.
    Newer,
    /// What is already there.
    Unchanged,
    /// Older than the stored state: not written.
    Stale,
    /// The same version says something else: not written, reported.
    Conflict,
}

/// Versions decide; content only tells a repetition from a conflict. All that remains of a delete is its tombstone, so
/// two deletes of one version say the same.
pub(super) fn judge(stored: RecordState<'_>, arriving: RecordState<'_>) -> Verdict {
    match arriving.version.cmp(stored.version) {
        Ordering::Greater => Verdict::Newer,
        Ordering::Less => Verdict::Stale,
        Ordering::Equal => match (stored.deleted, arriving.deleted) {
            (true, true) => Verdict::Unchanged,
            (false, false) if stored.hash == arriving.hash => Verdict::Unchanged,
            _ => Verdict::Conflict,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case() {
        let state = |version, hash, deleted| RecordState { version, hash, deleted };
        let stored = state(b"\x02".as_slice(), 7, false);
        let tombstone = state(b"\x02", 7, true);
        assert_eq!(judge(stored, state(b"\x03", 7, false)), Verdict::Newer);
        assert_eq!(judge(stored, state(b"\x02\x00", 7, false)), Verdict::Newer, "a longer version of the same start");
        assert_eq!(judge(stored, state(b"\xff", 7, true)), Verdict::Newer, "bytes are unsigned");
        assert_eq!(judge(stored, state(b"\x01", 8, true)), Verdict::Stale);
        assert_eq!(judge(stored, state(b"\x02", 7, false)), Verdict::Unchanged);
        assert_eq!(judge(stored, state(b"\x02", 8, false)), Verdict::Conflict);
        assert_eq!(judge(stored, state(b"\x02", 7, true)), Verdict::Conflict);
        assert_eq!(judge(tombstone, state(b"\x02", 7, false)), Verdict::Conflict);
        assert_eq!(judge(tombstone, state(b"\x02", 8, true)), Verdict::Unchanged);
        assert_eq!(judge(tombstone, state(b"\x03", 7, false)), Verdict::Newer);
    }
}
