//! Typed columns from texts: what CSV fields and JSON scalars have in common.

mod column;
mod parse;

pub(super) use column::{Column, Fault, column_of, is_text};
pub(super) use parse::{date_days, float, instant, signed};
