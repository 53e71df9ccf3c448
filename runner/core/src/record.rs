//! What a change record says.

use serde::{Deserialize, Serialize};

/// What a change record does to the record that its identity names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Operation {
    Insert = 0,
    Update = 1,
    Delete = 2,
}

impl Operation {
    /// The byte used in batches and across the WASM boundary.
    #[inline]
    pub const fn code(self) -> u8 {
        self as u8
    }
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Insert),
            1 => Some(Self::Update),
            2 => Some(Self::Delete),
            _ => None,
        }
    }
}

/// Change records by operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OperationCounts {
    pub inserts: u64,
    pub updates: u64,
    pub deletes: u64,
}

impl OperationCounts {
    /// Counts operation codes. None if one is unknown.
    pub fn of(codes: impl IntoIterator<Item = u8>) -> Option<Self> {
        let mut by_code = [0; 3];
        for code in codes {
            *by_code.get_mut(usize::from(code))? += 1;
        }
        let [inserts, updates, deletes] = by_code;
        Some(Self { inserts, updates, deletes })
    }
    pub const fn total(&self) -> u64 {
        self.inserts + self.updates + self.deletes
    }
}
