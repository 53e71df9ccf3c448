//! Which batches a replay maps, and with which pins.

use crate::drive::RunError;
use crate::publish::Loader;
use crate::store::StoreError;
use crate::store::state::{BatchRow, StateStore, TaskVersionRow};
use gristmill_core::id::{BatchId, Epoch, Micros, PartitionId, Sequence, TaskId, TaskVersion};
use gristmill_core::manifest::BatchState;
use gristmill_core::pins::Pins;
use std::fmt;
use std::str::FromStr;

/// One end of a range of batches, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    Sequence(Sequence),
    Batch(BatchId),
    /// When batches were created.
    Time(Micros),
}

impl FromStr for Bound {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse() {
            return Ok(Self::Sequence(Sequence::new(number)));
        }
        if let Ok(batch) = text.parse() {
            return Ok(Self::Batch(batch));
        }
        let at = chrono::DateTime::parse_from_rfc3339(text).map(|t| t.timestamp_micros()).or_else(|_| {
            let day = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d")?;
            Ok::<_, chrono::ParseError>(day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_micros())
        });
        at.map(|at| Self::Time(Micros(at))).map_err(|_| {
            "write a batch's number, its id, a day such as 2026-01-31 or a time such as 2026-01-31T12:00:00Z".into()
        })
    }
}

/// Whose code maps the batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinChoice {
    /// That of each batch's manifest.
    Original,
    /// That of the task's latest version.
    Current,
    Version(TaskVersion),
}

impl FromStr for PinChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let version = |text: &str| Some(Self::Version(TaskVersion::new(text.strip_prefix("version:")?.parse().ok()?)));
        match text {
            "original" => Ok(Self::Original),
            "current" => Ok(Self::Current),
            text => version(text).ok_or_else(|| "write `original`, `current` or `version:N`".into()),
        }
    }
}

impl fmt::Display for PinChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Original => f.write_str("original"),
            Self::Current => f.write_str("current"),
            Self::Version(version) => write!(f, "version:{version}"),
        }
    }
}

/// A part of a history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    pub from: Option<Bound>,
    pub to: Option<Bound>,
    /// Exactly these; none: all within the bounds.
    pub batches: Option<Vec<BatchId>>,
    /// Only so many, the newest.
    pub last: Option<usize>,
}

impl Scope {
    /// All of it.
    pub fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    /// The batches of the partition's epoch in force that the scope names, in order. A batch that is named and is not there is
    /// an error.
    pub async fn batches(
        &self,
        state: &StateStore,
        task: &TaskId,
        states: &[BatchState],
    ) -> Result<Vec<BatchRow>, StoreError> {
        let partition = PartitionId::whole();
        let epoch = state.epoch_in_force(task, &partition).await?;
        self.of_epoch(state, task, epoch, states).await
    }

    /// As [`Self::batches`], of any epoch.
    pub async fn of_epoch(
        &self,
        state: &StateStore,
        task: &TaskId,
        epoch: Epoch,
        states: &[BatchState],
    ) -> Result<Vec<BatchRow>, StoreError> {
        let mut rows = state.batches(task).await?;
        rows.retain(|row| {
            row.epoch == epoch && row.partition_id == PartitionId::whole() && states.contains(&row.state)
        });
        if let Some(named) = &self.batches {
            if let Some(lacking) = named.iter().find(|id| rows.iter().all(|row| row.batch_id != **id)) {
                return Err(StoreError::Missing {
                    what: format!("batch {lacking} among the batches of epoch {epoch} that can be replayed"),
                    hint: format!("they are listed by `gristmill batches list {task}`"),
                });
            }
            rows.retain(|row| named.contains(&row.batch_id));
        }
        let place = |bound: Bound, rows: &[BatchRow]| -> Result<Place, StoreError> {
            Ok(match bound {
                Bound::Sequence(sequence) => Place::Sequence(sequence),
                Bound::Time(at) => Place::Time(at),
                Bound::Batch(batch) => {
                    let row = rows.iter().find(|row| row.batch_id == batch);
                    let row = row.ok_or_else(|| StoreError::Missing {
                        what: format!("batch {batch} among the batches of epoch {epoch} that can be replayed"),
                        hint: format!("they are listed by `gristmill batches list {task}`"),
                    })?;
                    Place::Sequence(row.sequence)
                }
            })
        };
        let from = self.from.map(|bound| place(bound, &rows)).transpose()?;
        let to = self.to.map(|bound| place(bound, &rows)).transpose()?;
        rows.retain(|row| {
            from.is_none_or(|from| from.is_at_or_before(row)) && to.is_none_or(|to| to.is_at_or_after(row))
        });
        if let Some(last) = self.last {
            rows.drain(..rows.len().saturating_sub(last));
        }
        Ok(rows)
    }
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Sequence(Sequence),
    Time(Micros),
}

impl Place {
    fn is_at_or_before(self, row: &BatchRow) -> bool {
        match self {
            Self::Sequence(sequence) => sequence <= row.sequence,
            Self::Time(at) => at <= row.created_at,
        }
    }
    fn is_at_or_after(self, row: &BatchRow) -> bool {
        match self {
            Self::Sequence(sequence) => sequence >= row.sequence,
            Self::Time(at) => at >= row.created_at,
        }
    }
}

/// Refuses batches whose schema no chain of the version's migrations leads from, naming each schema.
pub fn check_chains(version: &TaskVersionRow, batches: &[BatchRow]) -> Result<(), RunError> {
    let end = |row: &BatchRow| {
        let chain = version.pins.chain(&row.schema_id);
        chain.last().map_or_else(|| row.schema_id.clone(), |(_, link)| link.to.clone())
    };
    let mut lacking: Vec<String> = batches
        .iter()
        .filter(|row| end(row) != version.schema_id)
        .map(|row| format!("from `{}` to `{}`", row.schema_id, version.schema_id))
        .collect();
    lacking.sort();
    lacking.dedup();
    if lacking.is_empty() {
        return Ok(());
    }
    Err(RunError::Configuration {
        what: format!("version {} has no migration {}", version.version, lacking.join(", nor ")),
        hint: "add the links under `transforms: { migrate: … }`, publish, and replay with that version".into(),
    })
}

/// The pins that a version gives to an earlier batch: its own, but for the code that made the records.
pub(in crate::drive) fn repinned(version: &TaskVersionRow, original: &Pins) -> Pins {
    Pins { normalize: original.normalize.clone(), ..version.pins.clone() }
}

/// The version that a choice of pins names.
pub(super) async fn version_of(
    loader: &Loader,
    task: &TaskId,
    choice: PinChoice,
) -> Result<Option<TaskVersionRow>, RunError> {
    let number = match choice {
        PinChoice::Original => return Ok(None),
        PinChoice::Version(version) => version,
        PinChoice::Current => loader.state.latest_version(task).await?.ok_or_else(|| StoreError::Missing {
            what: format!("a version of task `{task}`"),
            hint: "publish or run its pipeline first".into(),
        })?,
    };
    Ok(Some(loader.version(task, number).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_numbers_ids_days_or_times() {
        assert_eq!("17".parse(), Ok(Bound::Sequence(Sequence::new(17))));
        assert!(matches!("01J2S0000000000000000000ZZ".parse(), Ok(Bound::Batch(_))));
        assert_eq!("1970-01-02".parse(), Ok(Bound::Time(Micros(86_400_000_000))));
        assert_eq!("1970-01-01T01:00:00+01:00".parse(), Ok(Bound::Time(Micros(0))));
        assert!("yesterday".parse::<Bound>().is_err());
    }

    #[test]
    fn pin_choices() {
        assert_eq!("version:3".parse(), Ok(PinChoice::Version(TaskVersion::new(3))));
        assert_eq!("original".parse::<PinChoice>().unwrap().to_string(), "original");
        assert!("version:".parse::<PinChoice>().is_err() && "3".parse::<PinChoice>().is_err());
    }
}
