//! CSV files.

mod header;
mod oversize;
mod reader;
mod records;

pub(super) use header::{Header, read_header};
pub(super) use reader::{CsvReader, check_types};
pub(super) use records::{Fields, Scan};
