//! Tables that are built beside others and then take their places.

use super::{MappedBatch, SinkError};
use gristmill_core::digest::Digest;
use gristmill_core::id::Epoch;

/// A table that was built beside, and the one whose place it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// The mapper's name for it.
    pub output: String,
    /// Filled by a sink that was opened with it as [`crate::record::OutputSchema::table`]: see [`built_beside`].
    pub built: String,
    /// Need not exist yet: the table of a new output is only put in its place.
    pub table: String,
}

/// Bytes of a name that every sink takes for a table.
const NAME_MAX_BYTES: usize = 80;

/// The name under which a table is built under an epoch, beside the one that readers see. Every sink takes it.
pub fn built_beside(table: &str, epoch: Epoch) -> String {
    let suffix = format!("__epoch_{epoch}");
    if table.len() + suffix.len() <= NAME_MAX_BYTES {
        return format!("{table}{suffix}");
    }
    // Names that are the same as far as there is room are told apart by their digests.
    let digest = Digest::of(table.as_bytes()).short();
    let room = NAME_MAX_BYTES.saturating_sub(suffix.len() + digest.len() + 1);
    format!("{}_{digest}{suffix}", &table[..table.floor_char_boundary(room)])
}

/// What has to be swapped in has not been built.
pub(super) fn not_built(swap: &Swap) -> SinkError {
    SinkError::Permanent {
        what: format!(
            "`{}` cannot take the place of `{}`: the target has no such table of this task; nothing was swapped",
            swap.built, swap.table
        ),
        hint: "build it again: replay the task's batches under a new epoch".into(),
    }
}

/// A later rebuild has been swapped in since.
pub(super) fn superseded(swap: &Swap, epoch: Epoch, reached: Epoch) -> SinkError {
    SinkError::Permanent {
        what: format!(
            "`{}` of epoch {epoch} cannot take the place of `{}`, which is of epoch {reached}; nothing was swapped",
            swap.built, swap.table
        ),
        hint: "a later rebuild has taken its place: this one is of no use any more".into(),
    }
}

/// A batch from before the table was rebuilt, which the target has never committed.
pub(super) fn from_before(batch: &MappedBatch, table: &str, reached: Epoch) -> SinkError {
    SinkError::Permanent {
        what: format!(
            "batch {} is of epoch {}, and table `{table}` was rebuilt under epoch {reached}; nothing was written",
            batch.batch_id, batch.epoch
        ),
        hint: "replay the batch under the table's epoch".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beside() {
        assert_eq!(built_beside("flights", Epoch::new(2)), "flights__epoch_2");
        let longest = "x".repeat(NAME_MAX_BYTES - "__epoch_12".len());
        assert_eq!(built_beside(&longest, Epoch::new(12)), format!("{longest}__epoch_12"));
        let long = ["é".repeat(40), "é".repeat(39) + "e", "🚲".repeat(20), "x".repeat(300), "x".repeat(301)];
        let names: std::collections::BTreeSet<String> =
            long.iter().flat_map(|name| [12, u64::MAX].map(|epoch| built_beside(name, Epoch::new(epoch)))).collect();
        assert_eq!(names.len(), 2 * long.len(), "names stay apart");
        assert!(names.iter().all(|name| name.len() <= NAME_MAX_BYTES && name.contains("__epoch_")), "{names:?}");
    }
}
