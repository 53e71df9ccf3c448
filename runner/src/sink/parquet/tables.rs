//! Which folder holds a table, once it was rebuilt.
//!
//! A table is at first in the folder of its own name. A rebuild fills another folder, and one log entry then says that the
//! table is there, from an epoch on: for readers, and for whoever opens the dataset.

use gristmill_core::id::Epoch;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Where a table is since it was rebuilt, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RebuiltTable {
    pub output: String,
    pub table: String,
    pub folder: String,
    /// Batches of smaller epochs do not count for it.
    pub epoch: Epoch,
}

/// What a table is rebuilt as.
pub(super) fn find<'a>(tables: &'a [RebuiltTable], table: &str) -> Option<&'a RebuiltTable> {
    tables.iter().find(|known| known.table == table)
}

/// The tables of a partition, after all of its log.
#[derive(Debug, Default)]
pub(super) struct Tables {
    rebuilt: Vec<RebuiltTable>,
    /// Folders that hold no table any more.
    left: BTreeSet<String>,
}

impl Tables {
    /// Takes note of the next swap.
    pub(super) fn swap(&mut self, tables: Vec<RebuiltTable>) {
        for table in &tables {
            let before = find(&self.rebuilt, &table.table).map_or(&table.table, |before| &before.folder);
            if *before != table.folder {
                self.left.insert(before.clone());
            }
        }
        self.rebuilt = tables;
    }

    /// The table that a batch's rows in a folder belong to; none when they do not count any more.
    pub(super) fn of(&self, folder: &str, epoch: Epoch) -> Option<String> {
        match self.rebuilt.iter().find(|known| known.folder == folder) {
            Some(known) => (epoch >= known.epoch).then(|| known.table.clone()),
            None => (!self.left.contains(folder)).then(|| folder.to_owned()),
        }
    }

    pub(super) fn find(&self, table: &str) -> Option<&RebuiltTable> {
        find(&self.rebuilt, table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_counts_for_the_table_that_it_holds() {
        let [one, two, three] = [1, 2, 3].map(Epoch::new);
        let rebuilt = |table: &str, folder: &str, epoch| RebuiltTable {
            output: "o".into(),
            table: table.into(),
            folder: folder.into(),
            epoch,
        };
        let mut tables = Tables::default();
        assert_eq!(tables.of("t", one).as_deref(), Some("t"));
        assert_eq!(tables.of("t__epoch_2", two).as_deref(), Some("t__epoch_2"), "a table of its own until the swap");
        tables.swap(vec![rebuilt("t", "t__epoch_2", two)]);
        assert_eq!(tables.of("t", one), None);
        assert_eq!(tables.of("t", three), None, "nobody writes there any more");
        assert_eq!(tables.of("t__epoch_2", one), None);
        assert_eq!(tables.of("t__epoch_2", two).as_deref(), Some("t"));
        assert_eq!(tables.of("u", one).as_deref(), Some("u"));
        tables.swap(vec![rebuilt("t", "t__epoch_3", three), rebuilt("v", "v__epoch_3", three)]);
        assert_eq!(tables.of("t__epoch_2", two), None);
        assert_eq!(tables.of("t__epoch_3", three).as_deref(), Some("t"));
        assert_eq!(tables.of("v", two), None);
        assert_eq!(tables.find("v").map(|table| table.folder.as_str()), Some("v__epoch_3"));
    }
}
