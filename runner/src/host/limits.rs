//! What one call of a guest may cost, and how much of what it says is kept.

use gristmill_core::dead_letter::{MESSAGE_MAX_BYTES, bounded};
use std::time::Duration;

/// Limits of one call. They hold for `plan` and for `process`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostLimits {
    /// Wall-clock time of one call. It is checked at loops and function entries, about every 10 ms.
    pub deadline: Duration,
    /// Linear memory of one instance, all its memories together. At most 4 GiB.
    pub memory_max_bytes: usize,
    /// What may be returned for one batch, in one call or in all calls that isolate its rows, as it lies in the host's
    /// memory; also what forwarded columns may grow by. Rows beyond the input's cost what the runner keeps for each.
    pub output_max_bytes: usize,
}

impl Default for HostLimits {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(10), memory_max_bytes: 512 << 20, output_max_bytes: 96 << 20 }
    }
}

/// Largest component that is compiled: compiling costs far more memory than the bytes themselves.
pub(super) const COMPONENT_MAX_BYTES: usize = 64 << 20;

/// Levels of a schema tree. Each costs stack in recursions over it.
pub(super) const DEPTH_MAX: usize = 24;
/// Fields of all schema trees of one plan or one input, at every level.
pub(super) const FIELDS_MAX: usize = 8192;
pub(super) const NAME_MAX_BYTES: usize = 256;
pub(super) const OUTPUTS_MAX: usize = 64;
pub(super) const LOOKUPS_MAX: usize = 256;
/// Items of one array. Types whose values take no bytes (nulls, empty structs) would otherwise claim billions for free.
pub(super) const ITEMS_MAX: usize = 1 << 26;
/// Rows of all outputs of a batch beyond those of its input. With the most rows that an input has, the versions of so many,
/// 17 bytes each, stay below the 2 GiB that 32-bit offsets reach.
pub(super) const ADDED_ROWS_MAX: u64 = 1 << 25;
/// What the runner keeps for a row besides its columns: operation, version, hash, selection.
pub(super) const ADDED_ROW_BYTES: u64 = 32;

/// Notes of one call that are kept.
pub(super) const MESSAGES_MAX: usize = 16;
pub(super) const CODE_MAX_BYTES: usize = 64;

/// Rows that isolation may find at fault before it is the guest that is at fault.
pub(super) const POISON_ROWS_MAX: usize = 16;
/// Time for isolating rows of one batch, in deadlines: a row that loops forever costs one deadline for each halving.
pub(super) const ISOLATION_DEADLINES: u32 = 20;

/// A guest's text as it may be stored and shown: short, and without control characters, which could drive a terminal.
pub(super) fn guest_text(text: &str, max_bytes: usize) -> String {
    bounded(text, max_bytes).replace(char::is_control, " ")
}

/// A guest's message, as [`guest_text`].
pub(super) fn guest_message(text: &str) -> String {
    guest_text(text, MESSAGE_MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_rows_fit_their_offsets() {
        let most = ITEMS_MAX as u64 + ADDED_ROWS_MAX;
        assert!(most * 17 <= i32::MAX as u64, "{most}");
    }

    #[test]
    fn texts_of_guests_are_cut_and_cannot_drive_a_terminal() {
        assert_eq!(guest_text("bad\u{1b}[2Jtime\n", 64), "bad [2Jtime ");
        assert_eq!(guest_text(&"é".repeat(100), 5), "éé…");
        assert!(guest_message(&"x".repeat(1 << 20)).len() <= MESSAGE_MAX_BYTES + '…'.len_utf8());
    }
}
