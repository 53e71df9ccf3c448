//! End-to-end, crash and documentation tests, in one binary: each extra one would link the engine again.
//!
//! * `harness`: temporary workspaces, the real `gristmill` binary, what the target holds
//! * `run`: what a run does with good, bad and changed input, damaged files, full disks and two owners
//! * `crash`: a real process killed at every fault point, for every sink
//! * `languages`: the conformance transform in every language, and what becomes of exceptions and missing toolchains
//! * `history`: a task through five versions and three changes of its schema
//! * `docs`: commands and pipelines of the documentation
//!
//! The shared conformance suites of sources and sinks live beside their traits, in `runner/src/{source,sink}`.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as expected")]

mod crash;
mod docs;
mod harness;
mod history;
mod languages;
mod run;
