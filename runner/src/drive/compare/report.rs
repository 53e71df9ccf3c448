//! What a comparison found: of one batch, and summed up.

use gristmill_core::dead_letter::{RecordPosition, RefusedAt};
use gristmill_core::id::BatchId;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What two versions made of one batch.
#[derive(Debug, Default)]
pub struct Differences {
    pub outputs: BTreeMap<String, OutputDifferences>,
    pub rejects: Vec<Rejection>,
}

/// Rows of one output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputDifferences {
    pub old_rows: u64,
    pub new_rows: u64,
    /// Records that both versions give alike.
    pub equal: u64,
    /// Records that only the new version gives.
    pub added: u64,
    /// Records that only the old version gives.
    pub removed: u64,
    /// Records that both give, in which some column differs.
    pub changed: u64,
    /// Of these, how many by column.
    pub columns: BTreeMap<String, u64>,
    /// How the columns themselves differ.
    pub schema: BTreeSet<String>,
    /// Why rows could not be compared: they were only counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpaired: Option<String>,
    pub examples: Vec<Example>,
}

/// What kind of difference an example shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExampleKind {
    Changed,
    Added,
    Removed,
}

/// A record that differs. Values of redacted columns are not in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Example {
    pub kind: ExampleKind,
    pub batch: BatchId,
    pub identity: Vec<Cell>,
    /// Of a changed record: the columns that differ.
    pub columns: Vec<ChangedCell>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cell {
    pub column: String,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedCell {
    pub column: String,
    pub old: String,
    pub new: String,
}

/// Rejects of one kind that only one version gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rejection {
    pub refused_at: RefusedAt,
    pub code: String,
    /// Refused by the new version alone.
    pub appear: u64,
    /// Refused by the old version alone.
    pub vanish: u64,
    pub appear_at: Vec<Placed>,
    pub vanish_at: Vec<Placed>,
}

/// A record by its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Placed {
    pub batch: BatchId,
    pub position: RecordPosition,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// A batch on which one version failed as a whole: it was not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SideFailure {
    pub batch: BatchId,
    /// `old` or `new`.
    pub side: &'static str,
    pub what: String,
}

/// How fast one version was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Speed {
    pub records: u64,
    #[serde(skip)]
    pub took: Duration,
}

impl Speed {
    pub fn per_second(self) -> u64 {
        (self.records as f64 / self.took.as_secs_f64().max(1e-9)) as u64
    }
}

/// The sum over all batches.
#[derive(Debug, Default)]
pub struct Report {
    pub batches: u64,
    pub records: u64,
    pub outputs: BTreeMap<String, OutputDifferences>,
    pub rejects: Vec<Rejection>,
    pub failures: Vec<SideFailure>,
    pub old: Speed,
    pub new: Speed,
    /// Batches that the component has no part in, such as those that a link of migrate does not lead from.
    pub left_out: u64,
}

impl OutputDifferences {
    pub fn unchanged(rows: u64) -> Self {
        Self { old_rows: rows, new_rows: rows, equal: rows, ..Self::default() }
    }

    pub fn gone(rows: u64) -> Self {
        let schema = ["the output is no longer made".to_owned()].into();
        Self { old_rows: rows, removed: rows, schema, ..Self::default() }
    }

    pub fn came(rows: u64) -> Self {
        Self { new_rows: rows, added: rows, schema: ["the output is new".to_owned()].into(), ..Self::default() }
    }

    pub fn is_equal(&self) -> bool {
        self.added + self.removed + self.changed == 0
            && self.schema.is_empty()
            && (self.unpaired.is_none() || self.old_rows == 0 && self.new_rows == 0)
    }

    fn add(&mut self, other: Self, examples: usize) {
        self.old_rows += other.old_rows;
        self.new_rows += other.new_rows;
        self.equal += other.equal;
        self.added += other.added;
        self.removed += other.removed;
        self.changed += other.changed;
        for (column, count) in other.columns {
            *self.columns.entry(column).or_default() += count;
        }
        self.schema.extend(other.schema);
        self.unpaired = self.unpaired.take().or(other.unpaired);
        for example in other.examples {
            let kept = self.examples.iter().filter(|kept| kept.kind == example.kind).count();
            if kept < examples {
                self.examples.push(example);
            }
        }
        self.examples.sort_by_key(|example| example.kind);
    }
}

impl Rejection {
    pub fn new(refused_at: RefusedAt, code: &str) -> Self {
        Self { refused_at, code: code.to_owned(), appear: 0, vanish: 0, appear_at: Vec::new(), vanish_at: Vec::new() }
    }

    fn add(&mut self, other: Self, examples: usize) {
        self.appear += other.appear;
        self.vanish += other.vanish;
        for (kept, more) in [(&mut self.appear_at, other.appear_at), (&mut self.vanish_at, other.vanish_at)] {
            let room = examples.saturating_sub(kept.len());
            kept.extend(more.into_iter().take(room));
        }
    }
}

impl Report {
    /// Adds what one batch showed, keeping so many examples of each kind.
    pub fn add(&mut self, found: Differences, examples: usize) {
        for (output, differences) in found.outputs {
            self.outputs.entry(output).or_default().add(differences, examples);
        }
        for rejection in found.rejects {
            let same =
                |known: &&mut Rejection| known.refused_at == rejection.refused_at && known.code == rejection.code;
            match self.rejects.iter_mut().find(same) {
                Some(known) => known.add(rejection, examples),
                None => self.rejects.push(rejection),
            }
        }
    }

    /// Whether the two versions cannot be told apart by these batches.
    pub fn is_equal(&self) -> bool {
        self.outputs.values().all(OutputDifferences::is_equal) && self.rejects.is_empty() && self.failures.is_empty()
    }
}
