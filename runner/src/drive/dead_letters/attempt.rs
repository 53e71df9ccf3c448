//! Records put through the code of a version, until those that remain all get through.
//!
//! A batch is made only of records that get through, whole: a letter of which one row is refused writes none. Where records
//! break the component together, ever fewer are tried, down to the one at fault.

use super::part::{Part, Rows};
use crate::drive::RunError;
use crate::drive::mapping::{MapError, Mapped, Mapper};
use crate::drive::normalize::{Arrival, NormalizeError, Normalizer};
use crate::host::{Stage, StageFault};
use crate::record::{ChangeRecords, Page};
use gristmill_core::dead_letter::{DeadLetter, DeadLetterClass, RecordPosition, RefusedAt};
use std::collections::{HashMap, HashSet};

/// The code of a version.
pub(super) struct Attempt<'a> {
    /// For records of the source.
    pub normalizer: &'a Normalizer,
    /// Where records of the source stand among those that arrived.
    pub arrival: Arrival,
    pub mapper: &'a Mapper,
}

/// Records that got through.
pub(super) struct Passed {
    /// The source's rows that they were made of.
    pub page: Option<Page>,
    pub records: ChangeRecords,
    /// The letter that each record is; after them the letters whose rows gave no record.
    pub letters: Vec<i64>,
    pub mapped: Mapped,
}

/// What came of an attempt.
#[derive(Default)]
pub(super) struct Outcome {
    /// One for each batch to be made.
    pub passed: Vec<Passed>,
    pub failed: Vec<(i64, DeadLetter)>,
}

enum Tried {
    Passed(Box<Passed>),
    /// Letters that were refused; the others were not judged to the end.
    Failed(Vec<(i64, DeadLetter)>),
    Broke(StageFault),
}

impl Attempt<'_> {
    pub fn run(&self, mut part: Part, outcome: &mut Outcome) -> Result<(), RunError> {
        while part.len() > 0 {
            match self.once(&part)? {
                Tried::Passed(passed) => {
                    outcome.passed.push(*passed);
                    return Ok(());
                }
                Tried::Failed(failed) => {
                    let without: HashSet<i64> = failed.iter().map(|(letter, _)| *letter).collect();
                    let still = |row: &u32| !without.contains(&part.letters[*row as usize]);
                    let rows: Vec<u32> = (0..part.len() as u32).filter(still).collect();
                    if rows.len() == part.len() {
                        return Err(RunError::Panicked("a record was refused that no dead letter stands for".into()));
                    }
                    part = part.select(&rows).map_err(broken)?;
                    outcome.failed.extend(failed);
                }
                Tried::Broke(fault) if !fault.may_be_a_row() => return Err(RunError::Replay { fault }),
                Tried::Broke(fault) if part.len() == 1 => {
                    outcome.failed.push((part.letters[0], poison(fault)?));
                    return Ok(());
                }
                Tried::Broke(_) => {
                    let all: Vec<u32> = (0..part.len() as u32).collect();
                    let (first, second) = all.split_at(all.len() / 2);
                    self.run(part.select(first).map_err(broken)?, outcome)?;
                    part = part.select(second).map_err(broken)?;
                }
            }
        }
        Ok(())
    }

    fn once(&self, part: &Part) -> Result<Tried, RunError> {
        let (page, records, letters) = match &part.rows {
            Rows::Records(records) => (None, records.clone(), part.letters.clone()),
            Rows::Page(page) => {
                let normalized = match self.normalizer.run_as(page, Vec::new(), self.arrival) {
                    Ok(normalized) => normalized,
                    Err(NormalizeError::Stage(fault)) => return Ok(Tried::Broke(fault)),
                    Err(NormalizeError::Broken(e)) => return Err(broken(e)),
                };
                if !normalized.dead_letters.is_empty() {
                    return Ok(Tried::Failed(refused(page, &part.letters, normalized.dead_letters)));
                }
                let letter = |row: &u32| part.letters[*row as usize];
                let letters: Vec<i64> = normalized.source_rows.values().iter().map(letter).collect();
                (Some(page.clone()), normalized.records, letters)
            }
        };
        let mapped = match self.mapper.run(&records) {
            Ok(mapped) => mapped,
            Err(MapError::Stage(fault)) => return Ok(Tried::Broke(fault)),
            Err(MapError::Broken(e)) => return Err(broken(e)),
        };
        if !mapped.dead_letters.is_empty() {
            let mut known = HashSet::new();
            let failed = mapped.dead_letters.into_iter().filter_map(|failure| match failure.position {
                RecordPosition::Batch { row } => Some((letters[row as usize], failure)),
                RecordPosition::Source { .. } => None,
            });
            return Ok(Tried::Failed(failed.filter(|(letter, _)| known.insert(*letter)).collect()));
        }
        let gave: HashSet<i64> = letters.iter().copied().collect();
        let gave_none = part.letters.iter().filter(|letter| !gave.contains(letter));
        let letters = letters.iter().chain(gave_none).copied().collect();
        Ok(Tried::Passed(Box::new(Passed { page, records, letters, mapped })))
    }
}

/// Letters of the rows that normalize has refused, each with its first failure.
fn refused(page: &Page, letters: &[i64], failures: Vec<DeadLetter>) -> Vec<(i64, DeadLetter)> {
    let mut at: HashMap<(u64, u64), DeadLetter> = HashMap::new();
    for failure in failures {
        if let RecordPosition::Source { object_sequence, record, .. } = &failure.position {
            at.entry((*object_sequence, *record)).or_insert(failure);
        }
    }
    let of_row = |row: usize| at.get(&(page.origins.run_of(row).object_sequence, page.origins.records.value(row)));
    letters.iter().enumerate().filter_map(|(row, letter)| Some((*letter, of_row(row)?.clone()))).collect()
}

/// The failure of the only row of a part.
fn poison(fault: StageFault) -> Result<DeadLetter, RunError> {
    let Some(reject) = fault.as_reject() else { return Err(RunError::Replay { fault }) };
    Ok(DeadLetter {
        refused_at: match fault.stage {
            Stage::Normalize => RefusedAt::Normalize,
            Stage::Migrate => RefusedAt::Migrate,
            Stage::Map => RefusedAt::Map,
        },
        class: DeadLetterClass::PoisonRow,
        code: reject.code,
        field: None,
        output: None,
        position: RecordPosition::Batch { row: 0 },
        message: reject.message,
    })
}

fn broken(error: arrow::error::ArrowError) -> RunError {
    RunError::Panicked(error.to_string())
}
