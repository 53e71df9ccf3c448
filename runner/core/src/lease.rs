//! Leases: who may work a partition.

use crate::id::{FencingToken, Micros, PartitionId, TaskId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names a worker process: host, process id and a random part, so that a restart is another owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(String);

impl Owner {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A lease as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub owner: Owner,
    pub lease_until: Micros,
    pub fencing_token: FencingToken,
}

/// A granted lease: the partition, and the token that guards every write for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenure {
    pub task_id: TaskId,
    pub partition_id: PartitionId,
    pub fencing_token: FencingToken,
}

/// What a claim comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Take it, under this token.
    Granted(FencingToken),
    /// Somebody else works the partition.
    Held { by: Owner, until: Micros },
}

/// Decides a claim. `previous_owner_gone` is positive knowledge (a released operating-system lock), never a guess:
/// without it only time ends a lease. The token rises with every grant, to the same owner too, so that whatever an
/// earlier tenure still has in flight is refused.
pub fn claim(stored: Option<&Lease>, previous_owner_gone: bool, now: Micros) -> Claim {
    match stored {
        None => Claim::Granted(FencingToken::new(1)),
        Some(lease) if previous_owner_gone || lease.lease_until < now => Claim::Granted(lease.fencing_token.next()),
        Some(lease) => Claim::Held { by: lease.owner.clone(), until: lease.lease_until },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_rise_and_live_leases_hold() {
        let lease = Lease { owner: Owner::new("a"), lease_until: Micros(10), fencing_token: FencingToken::new(4) };
        let next = Claim::Granted(FencingToken::new(5));
        assert_eq!(claim(None, false, Micros(0)), Claim::Granted(FencingToken::new(1)));
        assert!(matches!(claim(Some(&lease), false, Micros(10)), Claim::Held { .. }), "still valid at its last moment");
        assert_eq!(claim(Some(&lease), false, Micros(11)), next);
        assert_eq!(claim(Some(&lease), true, Micros(0)), next);
    }
}
