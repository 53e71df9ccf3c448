//! JSON Lines files: one object a line.

mod decode;
mod diagnose;
mod reader;

pub(super) use reader::{JsonReader, check_types};
