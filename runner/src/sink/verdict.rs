//! What becomes of a row whose record the target already has.

use gristmill_core::id::Epoch;
use std::cmp::Ordering;

/// The newest that is known of one record, or a row about to become it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordState<'a> {
    pub version: &'a [u8],
    /// Of the batch that the row comes from.
    pub epoch: Epoch,
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
    /// The same version says something else in one epoch: not written, reported.
    Conflict,
}

/// Versions decide first: a replay of old batches must not undo what came after them. At one version the same content is
/// a repetition; other content is what another mapper made of the same record, and the larger epoch holds. All that
/// remains of a delete is its tombstone, so two deletes of one version say the same.
pub(super) fn judge(stored: RecordState<'_>, arriving: RecordState<'_>) -> Verdict {
    let by_version = arriving.version.cmp(stored.version);
    match by_version {
        Ordering::Greater => return Verdict::Newer,
        Ordering::Less => return Verdict::Stale,
        Ordering::Equal => {}
    }
    if stored.deleted == arriving.deleted && (stored.deleted || stored.hash == arriving.hash) {
        return Verdict::Unchanged;
    }
    match arriving.epoch.cmp(&stored.epoch) {
        Ordering::Greater => Verdict::Newer,
        Ordering::Less => Verdict::Stale,
        Ordering::Equal => Verdict::Conflict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(version: &[u8], epoch: u64, hash: u64, deleted: bool) -> RecordState<'_> {
        RecordState { version, epoch: Epoch::new(epoch), hash, deleted }
    }

    #[test]
    fn every_case_of_one_epoch() {
        let state = |version, hash, deleted| state(version, 1, hash, deleted);
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

    #[test]
    fn epochs_decide_at_one_version_only() {
        for (version, same, other) in [
            (b"\x03", Verdict::Newer, Verdict::Newer),
            (b"\x01", Verdict::Stale, Verdict::Stale),
            (b"\x02", Verdict::Unchanged, Verdict::Newer),
        ] {
            let stored = state(b"\x02", 5, 7, false);
            assert_eq!(judge(stored, state(version, 6, 7, false)), same);
            assert_eq!(judge(stored, state(version, 6, 8, false)), other);
            assert_eq!(judge(stored, state(version, 6, 8, true)), other, "a tombstone is other content");
        }
        let stored = state(b"\x02", 5, 7, false);
        assert_eq!(judge(stored, state(b"\x03", 4, 7, false)), Verdict::Newer);
        assert_eq!(judge(stored, state(b"\x02", 4, 7, false)), Verdict::Unchanged);
        assert_eq!(judge(stored, state(b"\x02", 4, 8, false)), Verdict::Stale);
        assert_eq!(judge(stored, state(b"\x02", 4, 7, true)), Verdict::Stale);
        let tombstone = state(b"\x02", 5, 7, true);
        assert_eq!(judge(tombstone, state(b"\x02", 6, 7, false)), Verdict::Newer);
        assert_eq!(judge(tombstone, state(b"\x02", 6, 8, true)), Verdict::Unchanged);
        assert_eq!(judge(tombstone, state(b"\x02", 4, 7, false)), Verdict::Stale);
    }
}
