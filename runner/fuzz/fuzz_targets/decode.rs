//! The column decoder on whatever a guest may return: an error or valid columns, never a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gristmill::host::fuzzing::decode_columns(input));
