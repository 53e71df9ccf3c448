//! Which of the stored objects nothing refers to.
//!
//! Objects are listed first and references read after that: whatever a reference names by then is kept, and a reference that is
//! made later can only name what is young, what already has one, or what a batch that is being written will hold.

use crate::id::Micros;
use crate::manifest::BatchState;
use serde::Serialize;

/// An object is left alone for so long: who wrote it may not have come to the reference yet.
pub const YOUNG_MICROS: i64 = 60 * 60 * 1_000_000;

/// What an object is, as far as its key tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    /// A file of a batch.
    OfBatch {
        /// None: the state does not know the batch.
        state: Option<BatchState>,
        /// Its partition has a live lease.
        leased: bool,
    },
    Component,
    Dictionary,
    /// What a put that was never completed left behind.
    Staged,
    /// What a check of the store writes and removes.
    Probe,
    /// Not of this tool.
    Foreign,
}

/// What is known of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    pub object: Object,
    pub written_at: Micros,
    /// A READY or COMMITTED batch, a task version or a label names it.
    pub referenced: bool,
    /// All references could be read. If not, only what no reference can name goes.
    pub references_known: bool,
}

/// Why an object can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Its batch was thrown away before it was READY.
    Discarded,
    /// Its batch was never READY, and nobody works on it.
    NeverReady,
    /// Its batch was set aside.
    Quarantined,
    /// No batch, version or label names the component.
    UnusedComponent,
    /// No batch or version names the dictionary.
    UnusedDictionary,
    /// A put was interrupted.
    UnfinishedPut,
    /// A check of the store was interrupted.
    Probe,
    /// It was compiled from a component that is not stored any more.
    Compiled,
    /// It was not meant to last longer than a run.
    Scratch,
}

impl Reason {
    pub const ALL: [Self; 9] = [
        Self::Discarded,
        Self::NeverReady,
        Self::Quarantined,
        Self::UnusedComponent,
        Self::UnusedDictionary,
        Self::UnfinishedPut,
        Self::Probe,
        Self::Compiled,
        Self::Scratch,
    ];

    /// For people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Discarded => "of batches that were discarded before they were READY",
            Self::NeverReady => "of batches that never became READY, whose worker is gone",
            Self::Quarantined => "of batches that were set aside",
            Self::UnusedComponent => "components that no batch, version or label names",
            Self::UnusedDictionary => "dictionaries that no batch or version names",
            Self::UnfinishedPut => "left by puts that were interrupted",
            Self::Probe => "left by checks that were interrupted",
            Self::Compiled => "compiled from components that are not stored any more",
            Self::Scratch => "left by runs that were interrupted",
        }
    }
}

/// Why an object stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    Referenced,
    /// Written within [`YOUNG_MICROS`].
    Young,
    /// Of a batch that a worker is writing.
    BeingWritten,
    /// Some reference could not be read: it might be the one that names it.
    Unsure,
    Foreign,
}

/// Whether an object can go.
pub fn judge(facts: Facts, now: Micros) -> Result<Reason, Kept> {
    let Facts { object, written_at, referenced, references_known } = facts;
    if object == Object::Foreign {
        return Err(Kept::Foreign);
    }
    if referenced {
        return Err(Kept::Referenced);
    }
    if now.0.saturating_sub(written_at.0) < YOUNG_MICROS {
        return Err(Kept::Young);
    }
    let unless_unsure = |reason| if references_known { Ok(reason) } else { Err(Kept::Unsure) };
    match object {
        Object::Foreign => Err(Kept::Foreign),
        Object::Staged => Ok(Reason::UnfinishedPut),
        Object::Probe => Ok(Reason::Probe),
        Object::OfBatch { state: Some(BatchState::Writing), leased: true } => Err(Kept::BeingWritten),
        // A batch that is not READY has not been shared with another.
        Object::OfBatch { state: Some(BatchState::Writing), leased: false } => Ok(Reason::NeverReady),
        Object::OfBatch { state: None, .. } => unless_unsure(Reason::Discarded),
        Object::OfBatch { state: Some(BatchState::Quarantined), .. } => unless_unsure(Reason::Quarantined),
        // Its manifest does not name it: it is not this tool's.
        Object::OfBatch { state: Some(BatchState::Ready | BatchState::Committed), .. } => Err(Kept::Foreign),
        Object::Component => unless_unsure(Reason::UnusedComponent),
        Object::Dictionary => unless_unsure(Reason::UnusedDictionary),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = Micros(10 * YOUNG_MICROS);

    fn of(object: Object) -> Facts {
        Facts { object, written_at: Micros(0), referenced: false, references_known: true }
    }

    fn objects() -> Vec<Object> {
        let states = [
            None,
            Some(BatchState::Writing),
            Some(BatchState::Ready),
            Some(BatchState::Committed),
            Some(BatchState::Quarantined),
        ];
        let of_batches =
            states.into_iter().flat_map(|state| [true, false].map(|leased| Object::OfBatch { state, leased }));
        let others = [Object::Component, Object::Dictionary, Object::Staged, Object::Probe, Object::Foreign];
        of_batches.chain(others).collect()
    }

    #[test]
    fn what_is_referenced_young_or_foreign_stays() {
        for object in objects() {
            let facts = of(object);
            assert!(judge(Facts { referenced: true, ..facts }, NOW).is_err(), "{object:?}");
            for age in [0, 1, YOUNG_MICROS - 1] {
                assert!(judge(Facts { written_at: Micros(NOW.0 - age), ..facts }, NOW).is_err(), "{object:?}");
            }
            assert!(
                judge(Facts { written_at: Micros(NOW.0 + 1), ..facts }, NOW).is_err(),
                "{object:?} from the future"
            );
        }
        assert_eq!(judge(of(Object::Foreign), NOW), Err(Kept::Foreign));
    }

    #[test]
    fn no_file_of_a_ready_or_committed_batch_goes() {
        for state in [BatchState::Ready, BatchState::Committed] {
            for leased in [true, false] {
                assert!(judge(of(Object::OfBatch { state: Some(state), leased }), NOW).is_err());
            }
        }
    }

    #[test]
    fn what_a_worker_writes_stays_and_what_it_left_goes() {
        let writing = |leased| of(Object::OfBatch { state: Some(BatchState::Writing), leased });
        assert_eq!(judge(writing(true), NOW), Err(Kept::BeingWritten));
        assert_eq!(judge(writing(false), NOW), Ok(Reason::NeverReady));
        assert_eq!(judge(of(Object::OfBatch { state: None, leased: true }), NOW), Ok(Reason::Discarded));
    }

    /// A manifest that cannot be read may name any component, dictionary or shared file.
    #[test]
    fn while_a_reference_is_unknown_only_what_none_can_name_goes() {
        for object in objects() {
            let known = judge(of(object), NOW);
            let unknown = judge(Facts { references_known: false, ..of(object) }, NOW);
            let unshared = matches!(known, Ok(Reason::UnfinishedPut | Reason::Probe | Reason::NeverReady));
            assert_eq!(unknown.is_ok(), unshared, "{object:?}: {unknown:?}");
        }
    }
}
