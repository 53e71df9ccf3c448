//! Names and numbers that identify things, each a type of its own.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A text that cannot be used as an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} `{text}` is not valid: {rule}")]
pub struct InvalidId {
    pub what: &'static str,
    pub text: String,
    pub rule: &'static str,
}

const NAME_RULE: &str = "use 1 to 64 of a-z, 0-9, `-` and `_`, starting with a letter or digit";

fn valid_name(text: &str) -> bool {
    let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    (1..=64).contains(&text.len()) && text.bytes().all(ok) && !text.starts_with(['-', '_'])
}

macro_rules! name_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks the rule for names: it is also a path segment and part of SQL keys.
            pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
                let text = text.into();
                match valid_name(&text) {
                    true => Ok(Self(text)),
                    false => Err(InvalidId { what: $what, text, rule: NAME_RULE }),
                }
            }
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_id!(
    /// One pipeline, from one YAML file.
    TaskId, "task"
);
name_id!(
    /// The name of a frozen schema, such as `flights-v1`.
    SchemaId, "schema"
);
name_id!(
    /// A unit of ordering and leasing within a task.
    PartitionId, "partition"
);

impl PartitionId {
    /// The partition of a source that is read as one sequence.
    pub fn whole() -> Self {
        Self("all".into())
    }

    /// The partition in which dead letters are replayed: apart from the source's, whose checkpoint they leave alone.
    pub fn dead_letters() -> Self {
        Self("dead-letters".into())
    }
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name($int);

        impl $name {
            pub const fn new(value: $int) -> Self {
                Self(value)
            }
            pub const fn get(self) -> $int {
                self.0
            }
            /// The one after this.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_id!(
    /// One generation of a partition's history. A rebuild or a re-pinned replay starts a new one.
    Epoch(u64)
);
number_id!(
    /// The place of a batch in its partition and epoch, from 1, without gaps.
    Sequence(u64)
);
number_id!(
    /// An immutable published snapshot of a task: 1, 2, 3…
    TaskVersion(u32)
);
number_id!(
    /// Raised on each successful claim of a lease; a write that carries a smaller one than its store has seen is refused.
    FencingToken(u64)
);
number_id!(
    /// Raised by each advance of a checkpoint: the "compare" of its compare-and-swap. 0: no checkpoint yet.
    CheckpointVersion(u64)
);

/// Identifies a batch for ever. Sorts by creation time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BatchId(ulid::Ulid);

impl BatchId {
    /// Wraps an id that the runner drew.
    pub const fn from_ulid(ulid: ulid::Ulid) -> Self {
        Self(ulid)
    }
}
impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl FromStr for BatchId {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let invalid = || InvalidId {
            what: "batch",
            text: text.to_owned(),
            rule: "a batch id is a ULID: 26 characters of Crockford's base 32",
        };
        ulid::Ulid::from_string(text).map(Self).map_err(|_| invalid())
    }
}
impl TryFrom<String> for BatchId {
    type Error = InvalidId;
    fn try_from(text: String) -> Result<Self, InvalidId> {
        text.parse()
    }
}
impl From<BatchId> for String {
    fn from(id: BatchId) -> String {
        id.to_string()
    }
}

/// A moment, in microseconds since 1970-01-01 UTC. The runner reads the clock; the core only compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_as_path_segments() {
        for bad in ["", ".", "..", "a/b", "A", "a b", "-a", "_a", "é", &"a".repeat(65)] {
            assert!(TaskId::new(bad).is_err(), "{bad:?} must be refused");
        }
        for good in ["a", "flights-v1", "0_x", &"a".repeat(64)] {
            assert_eq!(TaskId::new(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn batch_ids_round_trip_and_refuse_other_text() {
        let id: BatchId = "01J2S0000000000000000000ZZ".parse().unwrap();
        assert_eq!(id.to_string(), "01J2S0000000000000000000ZZ");
        assert!("../../etc/passwd".parse::<BatchId>().is_err());
        assert!(serde_json::from_str::<BatchId>("\"short\"").is_err());
    }
}
