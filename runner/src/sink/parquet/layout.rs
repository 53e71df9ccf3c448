//! Where things are in a dataset.
//!
//! ```text
//! {output}/{batch}.parquet                        rows of a batch
//! _gristmill/schema/{output}.json                 identity and columns of an output
//! _gristmill/columns/{output}/{number}.json       columns that were added since, numbered from 1 without gaps
//! _gristmill/attempt/{task}/{batch}.json          what a batch holds and where in the log its entry may be
//! _gristmill/log/{task}/{partition}/{number}.json fences and published batches, numbered from 1 without gaps
//! ```
//!
//! Every name from outside is one path segment: the object store's path type escapes separators and dots.

use gristmill_core::id::{BatchId, PartitionId, TaskId};
use object_store::path::Path;

const OWN: &str = "_gristmill";

/// Paths below the dataset's prefix.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    prefix: Path,
}

impl Layout {
    pub(super) fn new(prefix: Path) -> Self {
        Self { prefix }
    }

    pub(super) fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Whether an output of this name would mix with the sink's own objects.
    pub(super) fn is_reserved(output: &str) -> bool {
        output.eq_ignore_ascii_case(OWN)
    }

    /// The object of an output's rows, relative to the prefix.
    pub(super) fn data(output: &str, batch_id: BatchId) -> Path {
        Path::from_iter([output, &format!("{batch_id}.parquet")])
    }

    /// An object whose path is relative to the prefix.
    pub(super) fn absolute(&self, relative: &Path) -> Path {
        self.prefix.parts().chain(relative.parts()).collect()
    }

    pub(super) fn schema(&self, output: &str) -> Path {
        self.own(["schema", &format!("{output}.json")])
    }

    /// Columns that were added to an output.
    pub(super) fn columns(&self, output: &str, number: u64) -> Path {
        entry(&self.own(["columns", output]), number)
    }

    pub(super) fn attempt(&self, task_id: &TaskId, batch_id: BatchId) -> Path {
        self.own(["attempt", task_id.as_str(), &format!("{batch_id}.json")])
    }

    pub(super) fn logs(&self) -> Path {
        self.own(["log"])
    }

    pub(super) fn log(&self, task_id: &TaskId, partition_id: &PartitionId) -> Path {
        self.own(["log", task_id.as_str(), partition_id.as_str()])
    }

    fn own<const N: usize>(&self, names: [&str; N]) -> Path {
        self.absolute(&Path::from_iter([OWN].into_iter().chain(names)))
    }
}

/// Twenty digits, so that the order of names is the order of numbers.
pub(super) fn entry(log: &Path, number: u64) -> Path {
    let name = format!("{number:020}.json");
    log.parts().chain([name.as_str().into()]).collect()
}

/// The number of an entry, from its name.
pub(super) fn entry_number(path: &Path) -> Option<u64> {
    let digits = path.filename()?.strip_suffix(".json")?;
    (digits.len() == 20).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_below_the_prefix() {
        let layout = Layout::new(Path::from("data/set"));
        let batch_id: BatchId = "01J2S0000000000000000000ZZ".parse().unwrap();
        for output in ["../..", "..", "/etc/passwd", "a/../../b", "x#1", "c:\\d", "é\n"] {
            for path in
                [layout.absolute(&Layout::data(output, batch_id)), layout.schema(output), layout.columns(output, 1)]
            {
                assert!(path.as_ref().starts_with("data/set/"), "{path}");
                assert!(path.parts().all(|part| part.as_ref() != ".." && !part.as_ref().contains('/')), "{path}");
                assert_eq!(
                    path.parts_count(),
                    4 + path.as_ref().matches(OWN).count() + path.as_ref().matches("/columns/").count(),
                    "{path}"
                );
            }
        }
    }

    #[test]
    fn entry_names_sort_by_number() {
        let log = Path::from("log");
        assert!(entry(&log, 9) < entry(&log, 10));
        assert_eq!(entry_number(&entry(&log, u64::MAX)), Some(u64::MAX));
        assert_eq!(entry_number(&Path::from("log/1.json")), None);
    }
}
