//! What a run does with good, bad and changed input.

mod bad_input;
mod damage;
mod dead_letters;
mod deploy;
mod examples;
mod gc;
mod guests;
mod handovers;
mod lifecycle;
mod object_store;
pub mod orders;
mod real_data;
mod replays;
mod schema_changes;
mod space;
mod versions;
mod watch;
