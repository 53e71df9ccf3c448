//! JSON Lines files: one object a line.

mod decode;
mod diagnose;
mod nested;
mod reader;
mod value;

pub(super) use reader::{JsonReader, check_types};
