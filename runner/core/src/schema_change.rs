//! A change of a source's schema, from its detection until its task goes on.
//!
//! ```text
//! DETECTED ─paused→ PAUSED ─planned→ MIGRATION_PLANNED ─validated→ VALIDATED ─resumed→ RESUMED
//!     any state before RESUMED ─dismissed→ DISMISSED        PAUSED and later, before RESUMED ─changed again→ PAUSED
//! ```
//!
//! Events are facts: something has been done, and is recorded. A recorded event may be recorded once more, so that whoever
//! was killed between the deed and the record can repeat both.

use crate::schema::compatibility::{Change, ColumnPath, Kind, Mode, Remedy, Verdict, judge, remedy};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How far a change has come. [`next`] is the only way on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// The source differs from the task's schema. Set by the worker that met it; it may be in the middle of a batch.
    Detected,
    /// The worker has closed its batch and reads no further. Set by the worker.
    Paused,
    /// There is a plan of what to do. Set when a person, or the policy, has made one.
    MigrationPlanned,
    /// The plan has been tried on stored data and holds. Set by that trial.
    Validated,
    /// The task goes on, with the new schema. Final.
    Resumed,
    /// The task goes on as before: nothing is to be done, such as when the source was put right. Set by a person. Final;
    /// should the source still differ, that is a new change.
    Dismissed,
}

/// What has happened to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Event {
    /// The worker stands at a batch boundary.
    Paused,
    /// A plan is stored. A later plan replaces it, and has to be validated anew.
    Planned,
    /// The stored plan held when it was tried.
    Validated,
    /// What the plan says is done, and the task reads on.
    Resumed,
    /// A person decided that nothing is to be done.
    Dismissed,
    /// The source has changed once more: a plan for what it was is void.
    ChangedAgain,
}

impl State {
    pub const ALL: [Self; 6] =
        [Self::Detected, Self::Paused, Self::MigrationPlanned, Self::Validated, Self::Resumed, Self::Dismissed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Detected => "DETECTED",
            Self::Paused => "PAUSED",
            Self::MigrationPlanned => "MIGRATION_PLANNED",
            Self::Validated => "VALIDATED",
            Self::Resumed => "RESUMED",
            Self::Dismissed => "DISMISSED",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether the change is over.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Resumed | Self::Dismissed)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Event {
    pub const ALL: [Self; 6] =
        [Self::Paused, Self::Planned, Self::Validated, Self::Resumed, Self::Dismissed, Self::ChangedAgain];
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Paused => "paused",
            Self::Planned => "planned",
            Self::Validated => "validated",
            Self::Resumed => "resumed",
            Self::Dismissed => "dismissed",
            Self::ChangedAgain => "changed again",
        })
    }
}

/// An event that cannot follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a schema change that is {state} cannot be {event}: {}", what_to_do(*.state, *.event))]
pub struct Refused {
    pub state: State,
    pub event: Event,
}

const fn what_to_do(state: State, event: Event) -> &'static str {
    match (state, event) {
        (State::Detected, _) => "wait until its task has closed its batch and paused",
        (State::MigrationPlanned | State::Validated, Event::Paused) => {
            "its task is paused already; `gristmill schema show` says what comes next"
        }
        (State::Paused, _) => "make a plan with `gristmill schema plan`",
        (State::MigrationPlanned, _) => "try the plan with `gristmill schema validate`",
        (State::Validated, _) => "go on with `gristmill schema resume`",
        (State::Resumed, Event::Dismissed) => {
            "its task already works with the new schema: change the source or the pipeline, which is a new change"
        }
        (State::Resumed | State::Dismissed, Event::ChangedAgain) => "record a new change",
        (State::Resumed | State::Dismissed, _) => "it is over; `gristmill schema list` shows the changes that are not",
    }
}

/// The state after an event.
pub fn next(state: State, event: Event) -> Result<State, Refused> {
    use State as S;
    match (state, event) {
        (S::Detected | S::Paused, Event::Paused) => Ok(S::Paused),
        (S::Paused | S::MigrationPlanned | S::Validated, Event::Planned) => Ok(S::MigrationPlanned),
        (S::MigrationPlanned | S::Validated, Event::Validated) => Ok(S::Validated),
        (S::Validated | S::Resumed, Event::Resumed) => Ok(S::Resumed),
        (S::Detected | S::Paused | S::MigrationPlanned | S::Validated | S::Dismissed, Event::Dismissed) => {
            Ok(S::Dismissed)
        }
        // The worker has not closed its batch yet: it will meet the source as it is then.
        (S::Detected, Event::ChangedAgain) => Ok(S::Detected),
        (S::Paused | S::MigrationPlanned | S::Validated, Event::ChangedAgain) => Ok(S::Paused),
        _ => Err(Refused { state, event }),
    }
}

/// What a task does by itself when its source's schema changes in a way that its [`Mode`] allows. What the mode does not
/// allow waits for a person under every policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Wait for a person.
    #[default]
    Stop,
    /// Take new columns that may be null into a new task version.
    Adopt,
    /// Go on with the schema it has, where that can read the source's records, and leave out what is new.
    Ignore,
}

impl Policy {
    pub const ALL: [Self; 3] = [Self::Stop, Self::Adopt, Self::Ignore];
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stop => "stop",
            Self::Adopt => "adopt",
            Self::Ignore => "ignore",
        })
    }
}

/// What a task does at the batch boundary where it met changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Go on with the schema that it has.
    Continue {
        /// What the source has and the task leaves out.
        ignored: Vec<ColumnPath>,
    },
    /// Publish a task version with the source's schema, and go on with that.
    Adopt {
        /// What is new in it.
        added: Vec<ColumnPath>,
    },
    /// Wait for a person; [`judge`] and [`remedy`] say why and what for.
    Stop,
}

/// Decides what a task does about changes from its schema to its source's.
///
/// Whatever mode and policy say, a dropped column and another identity always stop: to go on would empty the column,
/// or take two records for one.
pub fn decide(policy: Policy, mode: Mode, changes: &[Change]) -> Decision {
    let remedy = remedy(changes);
    if remedy == Remedy::Nothing {
        return Decision::Continue { ignored: Vec::new() };
    }
    if judge(changes, mode) != Verdict::Compatible {
        return Decision::Stop;
    }
    let added = || {
        let added = changes.iter().filter(|change| change.kind == Kind::Added);
        added.filter_map(|change| change.column.clone()).collect()
    };
    match policy {
        Policy::Adopt if remedy == Remedy::Adopt => Decision::Adopt { added: added() },
        Policy::Ignore if remedy < Remedy::Rebuild && changes.iter().all(|change| change.forward) => {
            Decision::Continue { ignored: added() }
        }
        _ => Decision::Stop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::compatibility::{Described, compare};
    use crate::schema::reference::table;
    use crate::schema::rules::Rules;
    use crate::schema::{LogicalType, Schema};

    #[test]
    fn every_transition_is_in_the_reference_and_no_other() {
        let rows = table("States of a change");
        let mut allowed = 0;
        for state in State::ALL {
            for event in Event::ALL {
                let row = rows.iter().find(|row| row[0] == state.as_str() && row[1] == event.to_string());
                match (next(state, event), row) {
                    (Ok(after), Some(row)) => assert_eq!(row[2], after.as_str(), "{state} {event}"),
                    (Err(refused), None) => {
                        assert_eq!((refused.state, refused.event), (state, event));
                        assert!(!what_to_do(state, event).is_empty());
                    }
                    (found, row) => panic!("{state} {event}: {found:?}, the reference says {row:?}"),
                }
                allowed += usize::from(next(state, event).is_ok());
            }
        }
        assert_eq!(allowed, rows.len());
    }

    #[test]
    fn a_change_goes_its_whole_way() {
        let way = [Event::Paused, Event::Planned, Event::Validated, Event::Resumed];
        let mut states = vec![State::Detected];
        for event in way {
            let after = next(states[states.len() - 1], event).unwrap();
            assert_eq!(next(after, event), Ok(after), "what was recorded may be recorded again");
            states.push(after);
        }
        assert_eq!(states.last(), Some(&State::Resumed));
        // No step may be left out.
        for (place, state) in states.iter().enumerate() {
            for event in way.iter().skip(place + 1) {
                assert!(next(*state, *event).is_err(), "{state} {event}");
            }
        }
    }

    #[test]
    fn final_states_are_never_left() {
        for state in State::ALL.into_iter().filter(|state| state.is_final()) {
            for event in Event::ALL {
                assert!(next(state, event).is_ok_and(|after| after == state) || next(state, event).is_err());
            }
        }
    }

    #[test]
    fn refusals_say_what_to_do() {
        let refusal = |state, event| next(state, event).unwrap_err().to_string();
        assert_eq!(
            refusal(State::MigrationPlanned, Event::Resumed),
            "a schema change that is MIGRATION_PLANNED cannot be resumed: try the plan with `gristmill schema validate`"
        );
        assert!(refusal(State::Paused, Event::Validated).ends_with("make a plan with `gristmill schema plan`"));
        assert!(refusal(State::Detected, Event::Planned).contains("wait until its task"));
        assert!(refusal(State::Resumed, Event::Dismissed).contains("new change"));
        assert!(refusal(State::Dismissed, Event::Planned).contains("`gristmill schema list`"));
    }

    /// Kept in the state store.
    #[test]
    fn stored_names_are_fixed() {
        let names = ["DETECTED", "PAUSED", "MIGRATION_PLANNED", "VALIDATED", "RESUMED", "DISMISSED"];
        for (state, name) in State::ALL.into_iter().zip(names) {
            assert_eq!(state.as_str(), name);
            assert_eq!(State::parse(name), Some(state));
            assert_eq!(serde_json::to_string(&state).unwrap(), format!("\"{name}\""));
        }
        assert_eq!(State::parse("detected"), None);
        let events: Vec<String> = Event::ALL.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        assert_eq!(
            events,
            [r#""PAUSED""#, r#""PLANNED""#, r#""VALIDATED""#, r#""RESUMED""#, r#""DISMISSED""#, r#""CHANGED_AGAIN""#]
        );
        for policy in Policy::ALL {
            assert_eq!(serde_json::to_string(&policy).unwrap(), format!("\"{policy}\""));
        }
    }

    fn schema(columns: &str) -> Schema {
        match format!("struct<{columns}>").parse().unwrap() {
            LogicalType::Struct(fields) => Schema::new(fields).unwrap(),
            other => panic!("{other}"),
        }
    }

    fn said(decision: &Decision) -> String {
        let list = |columns: &[ColumnPath]| columns.iter().map(ColumnPath::to_string).collect::<Vec<_>>().join(", ");
        match decision {
            Decision::Continue { ignored } if ignored.is_empty() => "continue".to_owned(),
            Decision::Continue { ignored } => format!("continue without {}", list(ignored)),
            Decision::Adopt { added } => format!("adopt {}", list(added)),
            Decision::Stop => "stop".to_owned(),
        }
    }

    #[test]
    fn every_decision_is_as_the_reference_says() {
        let rows = table("What a task does by itself");
        assert!(rows.len() >= 10, "{} rows", rows.len());
        let (rules, identity) = (Rules::default(), ["id".to_owned()]);
        for row in &rows {
            let (old, new) = (schema(&row[0]), schema(&row[1]));
            let described = |schema| Described { schema, rules: &rules, identity: &identity };
            let changes = compare(described(&old), described(&new));
            let modes: Vec<Mode> =
                Mode::ALL.into_iter().filter(|mode| row[2] == "any" || row[2].contains(&mode.to_string())).collect();
            assert!(!modes.is_empty(), "{row:?}");
            for mode in modes {
                for (policy, expected) in Policy::ALL.into_iter().zip(&row[3..]) {
                    assert_eq!(&said(&decide(policy, mode, &changes)), expected, "{row:?}: {policy}, {mode}");
                }
            }
        }
    }

    #[test]
    fn dropped_columns_and_identities_stop_under_every_policy_and_mode() {
        let rules = Rules::default();
        let (id, day) = (["id".to_owned()], ["day".to_owned()]);
        let (whole, less) = (schema("id: int64, day: date32"), schema("id: int64"));
        let old = Described { schema: &whole, rules: &rules, identity: &id };
        for new in [Described { schema: &less, ..old }, Described { identity: &day, ..old }] {
            for policy in Policy::ALL {
                for mode in Mode::ALL {
                    assert_eq!(decide(policy, mode, &compare(old, new)), Decision::Stop, "{policy} {mode}");
                }
            }
        }
    }
}
