//! Which rows of two results are the same record.

use crate::content::type_text;
use crate::record::MappedOutput;
use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::cast;
use arrow::error::ArrowError;
use arrow::row::{Row, RowConverter, Rows, SortField};
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of the old and the new result, by number.
#[derive(Debug)]
pub(super) struct Pairs {
    /// Row `old[i]` of the one is row `new[i]` of the other.
    pub old: UInt32Array,
    pub new: UInt32Array,
    pub only_old: Vec<u32>,
    pub only_new: Vec<u32>,
}

impl Pairs {
    pub fn len(&self) -> usize {
        self.old.len()
    }

    pub fn at(&self, place: usize) -> (usize, usize) {
        (self.old.value(place) as usize, self.new.value(place) as usize)
    }
}

/// Pairs rows by identity and version, then what is left by identity alone, in the order of the rows. The inner error says
/// why rows cannot be paired at all.
pub(super) fn pair(
    old: &MappedOutput,
    new: &MappedOutput,
    identity: &[String],
) -> Result<Result<Pairs, String>, ArrowError> {
    let (ours, theirs) = match keys(old, new, identity)? {
        Ok(keys) => keys,
        Err(why) => return Ok(Err(why)),
    };
    let with_version = |key: &[ArrayRef], output: &MappedOutput| {
        let version: ArrayRef = Arc::new(output.versions.clone());
        key.iter().cloned().chain([version]).collect::<Vec<_>>()
    };
    let (exact_old, exact_new) = rows(&with_version(&ours, old), &with_version(&theirs, new))?;
    // As it mostly is: the same rows in the same order.
    if exact_old.num_rows() == exact_new.num_rows() && exact_old.iter().eq(exact_new.iter()) {
        let all = UInt32Array::from_iter_values(0..exact_old.num_rows() as u32);
        return Ok(Ok(Pairs { old: all.clone(), new: all, only_old: Vec::new(), only_new: Vec::new() }));
    }
    let all = |rows: &Rows| (0..rows.num_rows() as u32).collect::<Vec<_>>();
    let exact = matched(&exact_old, all(&exact_old), &exact_new, all(&exact_new));
    let (loose_old, loose_new) = rows(&ours, &theirs)?;
    let loose = matched(&loose_old, exact.only_old, &loose_new, exact.only_new);
    let mut both: Vec<(u32, u32)> = exact.both.into_iter().chain(loose.both).collect();
    both.sort_unstable_by_key(|(_, new)| *new);
    Ok(Ok(Pairs {
        old: both.iter().map(|(old, _)| *old).collect::<Vec<_>>().into(),
        new: both.iter().map(|(_, new)| *new).collect::<Vec<_>>().into(),
        only_old: loose.only_old,
        only_new: loose.only_new,
    }))
}

struct Matched {
    both: Vec<(u32, u32)>,
    only_old: Vec<u32>,
    only_new: Vec<u32>,
}

/// Pairs equal rows, the first with the first, of those that are still to be paired.
fn matched(old: &Rows, left: Vec<u32>, new: &Rows, right: Vec<u32>) -> Matched {
    let mut places: HashMap<Row<'_>, Vec<u32>> = HashMap::with_capacity(left.len());
    for row in left.iter().rev() {
        places.entry(old.row(*row as usize)).or_default().push(*row);
    }
    let (mut both, mut only_new) = (Vec::new(), Vec::new());
    for row in right {
        match places.get_mut(&new.row(row as usize)).and_then(Vec::pop) {
            Some(found) => both.push((found, row)),
            None => only_new.push(row),
        }
    }
    let mut only_old: Vec<u32> = places.into_values().flatten().collect();
    only_old.sort_unstable();
    Matched { both, only_old, only_new }
}

/// Both keys in one order of bytes.
fn rows(old: &[ArrayRef], new: &[ArrayRef]) -> Result<(Rows, Rows), ArrowError> {
    let fields = old.iter().map(|column| SortField::new(column.data_type().clone()));
    let converter = RowConverter::new(fields.collect())?;
    Ok((converter.convert_columns(old)?, converter.convert_columns(new)?))
}

type Keys = (Vec<ArrayRef>, Vec<ArrayRef>);

/// The identity columns of both, of one type each.
fn keys(old: &MappedOutput, new: &MappedOutput, identity: &[String]) -> Result<Result<Keys, String>, ArrowError> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for name in identity {
        let (Some(a), Some(b)) = (old.rows.column_by_name(name), new.rows.column_by_name(name)) else {
            return Ok(Err(format!("the identity column `{name}` is not in both results")));
        };
        let (was, is) = (type_text(a.data_type()), type_text(b.data_type()));
        if was != is {
            return Ok(Err(format!("the identity column `{name}` is {was} in one result and {is} in the other")));
        }
        ours.push(a.clone());
        theirs.push(if a.data_type() == b.data_type() { b.clone() } else { cast(b, a.data_type())? });
    }
    match ours.is_empty() {
        true => Ok(Err("the output has no identity".into())),
        false => Ok(Ok((ours, theirs))),
    }
}
