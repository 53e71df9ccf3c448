//! What another component would do to stored batches, seen before it is deployed.
//!
//! ```text
//! batch ─┬→ old code → Mapped ─┐
//!        └→ new code → Mapped ─┴→ compare → Differences → Report
//! ```
//!
//! * `pairs`: which rows of the two results are the same record
//! * `columns`: which columns of paired rows differ, and what of them may be shown
//! * `report`: what one batch showed, and its sum over all
//! * `sides`: the code of both sides, run on one batch after the other
//!
//! [`compare`] is pure. A batch at a time is in memory, whatever the number of batches.

mod columns;
mod pairs;
mod report;
mod sides;
#[cfg(test)]
mod tests;

pub use report::{
    Cell, ChangedCell, Differences, Example, ExampleKind, OutputDifferences, Placed, Rejection, Report, SideFailure,
    Speed,
};
pub use sides::{CompareError, Comparison, Side, WhichSide, compare_batches};

use super::mapping::Mapped;
use crate::content::type_text;
use crate::record::MappedOutput;
use arrow::array::{Array, AsArray, BooleanArray};
use arrow::compute::{and, or};
use arrow::datatypes::UInt8Type;
use arrow::error::ArrowError;
use columns::{Shown, differs, schema_differences, taken};
use gristmill_core::dead_letter::DeadLetter;
use gristmill_core::id::BatchId;
use gristmill_core::record::Operation;
use pairs::{Pairs, pair};
use std::collections::{BTreeMap, BTreeSet};

/// The place of an operation among the columns of a row.
const OPERATION: &str = "(operation)";
/// The same for a source version.
const VERSION: &str = "(version)";

/// How results are compared and shown.
#[derive(Debug, Clone)]
pub struct Show {
    /// Columns whose values are never shown.
    pub redact: BTreeSet<String>,
    /// How many rows of each kind are shown, for each output, and how many positions of each reject.
    pub examples: usize,
}

/// What two versions made of one batch, row by row. `identity` names the columns that identify a record of an output.
pub fn compare(
    batch: BatchId,
    old: &Mapped,
    new: &Mapped,
    identity: impl Fn(&str) -> Vec<String>,
    show: &Show,
) -> Result<Differences, ArrowError> {
    let mut found = Differences {
        rejects: rejections(batch, &old.dead_letters, &new.dead_letters, show),
        ..Differences::default()
    };
    let same = old.digest == new.digest;
    let names: BTreeSet<&str> = old.outputs.iter().chain(&new.outputs).map(|output| output.name.as_str()).collect();
    for name in names {
        let of = |side: &'_ Mapped| side.outputs.iter().position(|output| output.name == name);
        let compared = match (of(old).map(|at| &old.outputs[at]), of(new).map(|at| &new.outputs[at])) {
            (Some(old), Some(new)) if same => OutputDifferences {
                schema: schema_differences(&old.rows.schema(), &new.rows.schema()),
                ..OutputDifferences::unchanged(old.rows.num_rows() as u64)
            },
            (Some(old), Some(new)) => output(batch, old, new, &identity(name), show)?,
            (Some(old), None) => OutputDifferences::gone(old.rows.num_rows() as u64),
            (None, Some(new)) => OutputDifferences::came(new.rows.num_rows() as u64),
            (None, None) => continue,
        };
        found.outputs.insert(name.to_owned(), compared);
    }
    Ok(found)
}

fn output(
    batch: BatchId,
    old: &MappedOutput,
    new: &MappedOutput,
    identity: &[String],
    show: &Show,
) -> Result<OutputDifferences, ArrowError> {
    let mut found = OutputDifferences {
        old_rows: old.rows.num_rows() as u64,
        new_rows: new.rows.num_rows() as u64,
        schema: schema_differences(&old.rows.schema(), &new.rows.schema()),
        ..OutputDifferences::default()
    };
    let pairs = match pair(old, new, identity)? {
        Ok(pairs) => pairs,
        Err(why) => {
            found.unpaired = Some(why);
            return Ok(found);
        }
    };
    found.removed = pairs.only_old.len() as u64;
    found.added = pairs.only_new.len() as u64;
    let shown = Shown { batch, identity, redact: &show.redact };
    let few = |rows: &[u32]| rows.iter().take(show.examples).copied().collect::<Vec<_>>();
    found.examples.extend(shown.rows(ExampleKind::Removed, old, &few(&pairs.only_old))?);
    found.examples.extend(shown.rows(ExampleKind::Added, new, &few(&pairs.only_new))?);

    let (changed, by_column) = changes(old, new, &pairs)?;
    found.changed = changed.true_count() as u64;
    found.equal = changed.len() as u64 - found.changed;
    for (column, mask) in &by_column {
        found.columns.insert(column.clone(), mask.true_count() as u64);
    }
    let places: Vec<usize> = changed.values().set_indices().take(show.examples).collect();
    for place in places {
        let columns: Vec<&str> =
            by_column.iter().filter(|(_, mask)| mask.value(place)).map(|(column, _)| column.as_str()).collect();
        found.examples.push(shown.change(old, new, pairs.at(place), &columns)?);
    }
    Ok(found)
}

/// For each pair whether anything differs, and the same for each column in which anything does.
fn changes(
    old: &MappedOutput,
    new: &MappedOutput,
    pairs: &Pairs,
) -> Result<(BooleanArray, BTreeMap<String, BooleanArray>), ArrowError> {
    let mut any = BooleanArray::from(vec![false; pairs.len()]);
    let mut by_column = BTreeMap::new();
    let mut add = |name: &str, mask: BooleanArray| -> Result<(), ArrowError> {
        if mask.true_count() > 0 {
            any = or(&any, &mask)?;
            by_column.insert(name.to_owned(), mask);
        }
        Ok(())
    };
    let operations = (taken(&old.operations, &pairs.old)?, taken(&new.operations, &pairs.new)?);
    add(OPERATION, differs(&operations.0, &operations.1)?)?;
    add(VERSION, differs(&taken(&old.versions, &pairs.old)?, &taken(&new.versions, &pairs.new)?)?)?;
    // Of a delete the target keeps the identity alone.
    let delete = Operation::Delete.code();
    let (before, after) = (operations.0.as_primitive::<UInt8Type>(), operations.1.as_primitive::<UInt8Type>());
    let codes = before.values().iter().zip(after.values());
    let kept: BooleanArray = codes.map(|(before, after)| Some(*before != delete || *after != delete)).collect();
    for (place, field) in old.rows.schema().fields().iter().enumerate() {
        let Some(theirs) = new.rows.column_by_name(field.name()) else { continue };
        let ours = old.rows.column(place);
        // Another type is told of the column, not of each of its values.
        if type_text(ours.data_type()) != type_text(theirs.data_type()) {
            continue;
        }
        let mask = differs(&taken(ours, &pairs.old)?, &taken(theirs, &pairs.new)?)?;
        add(field.name(), and(&mask, &kept)?)?;
    }
    Ok((any, by_column))
}

/// Rejects of one side that the other does not have, by what they are.
fn rejections(batch: BatchId, old: &[DeadLetter], new: &[DeadLetter], show: &Show) -> Vec<Rejection> {
    let key = |letter: &DeadLetter| {
        let field = letter.field.clone().unwrap_or_default();
        (letter.refused_at.to_string(), letter.code.clone(), field, letter.output.clone(), letter.position.to_string())
    };
    let of = |letters: &[DeadLetter]| letters.iter().map(key).collect::<BTreeSet<_>>();
    let (before, after) = (of(old), of(new));
    let mut found: BTreeMap<(String, String), Rejection> = BTreeMap::new();
    let mut add = |letters: &[DeadLetter], others: &BTreeSet<_>, appears: bool| {
        for letter in letters.iter().filter(|letter| !others.contains(&key(letter))) {
            let at = (letter.refused_at.to_string(), letter.code.clone());
            let rejection = found.entry(at).or_insert_with(|| Rejection::new(letter.refused_at, &letter.code));
            let (count, places) = match appears {
                true => (&mut rejection.appear, &mut rejection.appear_at),
                false => (&mut rejection.vanish, &mut rejection.vanish_at),
            };
            *count += 1;
            if places.len() < show.examples {
                places.push(Placed { batch, position: letter.position.clone(), field: letter.field.clone() });
            }
        }
    };
    add(old, &after, false);
    add(new, &before, true);
    found.into_values().collect()
}
