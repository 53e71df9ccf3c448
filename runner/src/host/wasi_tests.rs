//! The virtual WASI, asked by components in text form: each keeps eight bytes of what it was answered and gives them back
//! as its one row.

use super::testing::host;
use super::{Component, Dictionaries, Fault, HostLimits, Moment, PlannedStage, Stage, StageFault};
use arrow::array::{AsArray, Int64Array, RecordBatch, UInt8Array};
use arrow::datatypes::UInt64Type;
use std::sync::Arc;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

const WASI: &str = r#"
package test:wasi;

package wasi:clocks@0.2.6 {
    interface wall-clock { record datetime { seconds: u64, nanoseconds: u32 } now: func() -> datetime; }
    interface monotonic-clock {
        use wasi:io/poll@0.2.6.{pollable};
        now: func() -> u64;
        subscribe-duration: func(when: u64) -> pollable;
    }
}
package wasi:random@0.2.6 {
    interface random { get-random-u64: func() -> u64; get-random-bytes: func(len: u64) -> list<u8>; }
}
package wasi:io@0.2.6 {
    interface error { resource error; }
    interface poll { resource pollable; poll: func(in: list<borrow<pollable>>) -> list<u32>; }
    interface streams {
        use error.{error};
        variant stream-error { last-operation-failed(error), closed }
        resource output-stream {
            blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
        }
    }
}
package wasi:cli@0.2.6 {
    interface environment { get-environment: func() -> list<tuple<string, string>>; }
    interface exit { exit: func(status: result); }
    interface stderr { use wasi:io/streams@0.2.6.{output-stream}; get-stderr: func() -> output-stream; }
}
package wasi:filesystem@0.2.6 {
    interface types { filesystem-error-code: func(code: u32) -> option<u32>; }
}
"#;

/// Bytes of 32-bit numbers, for a data segment.
fn words(words: &[u32]) -> String {
    words.iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("\\{byte:02x}")).collect()
}

/// A component that imports `interfaces`. `observe` is run by `process`; it may leave eight bytes at 800, may call the
/// functions that `imports` declares, and has `text` at 900.
fn component(interfaces: &[&str], imports: &str, observe: &str, text: &str) -> Vec<u8> {
    const UINT64: u32 = 9;
    // plan: ok; no reads, no look-ups, one output `records` of one computed column `seen`, uint64 not null.
    let plan = [words(&[0, 0, 0, 0, 0, 200, 1]), words(&[700, 7, 220, 1]), words(&[1, 240, 1, 0, 0])];
    let seen = words(&[710, 4, UINT64, 0, 0, 0, 0, 0, 0]);
    // process: ok; one output of one row, selecting nothing, with one node and two buffers.
    let processed = [words(&[0, 340, 1, 0, 0, 0, 0]), words(&[1, 0, 0, 0, 0, 0, 0, 400, 1, 412, 2])];
    let columns = [words(&[1, 0]), words(&[0, 0, 800, 8])];
    let wat = format!(
        r#"(module
            {imports}
            (memory (export "memory") 1)
            (global $free (mut i32) (i32.const 2048))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (local.set $at (global.get $free))
                (global.set $free (i32.and (i32.add (i32.add (local.get $at) (local.get 3)) (i32.const 15)) (i32.const -16)))
                (local.get $at))
            (func (export "gristmill:transform/transform@0.1.0#plan")
                (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 100))
            (func (export "gristmill:transform/transform@0.1.0#process")
                (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
                {observe}
                (i32.const 300))
            (data (i32.const 100) "{}") (data (i32.const 200) "{}") (data (i32.const 220) "{}") (data (i32.const 240) "{seen}")
            (data (i32.const 300) "{}") (data (i32.const 340) "{}")
            (data (i32.const 400) "{}") (data (i32.const 412) "{}")
            (data (i32.const 700) "records") (data (i32.const 710) "seen") (data (i32.const 900) "{text}"))"#,
        plan[0], plan[1], plan[2], processed[0], processed[1], columns[0], columns[1],
    );
    let mut module = wat::parse_str(&wat).unwrap();
    let mut resolve = Resolve::default();
    resolve.push_str("transform.wit", include_str!("../../../wit/transform.wit")).unwrap();
    resolve.push_str("wasi.wit", WASI).unwrap();
    let imported: String = interfaces.iter().map(|interface| format!("import {interface}@0.2.6;\n")).collect();
    let world =
        format!("package test:guest;\nworld guest {{ {imported} export gristmill:transform/transform@0.1.0; }}");
    let package = resolve.push_str("guest.wit", &world).unwrap();
    let world = resolve.select_world(&[package], Some("guest")).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
}

fn load(bytes: &[u8]) -> Component {
    host(HostLimits::default()).load(bytes).unwrap()
}

fn one_row() -> (RecordBatch, UInt8Array) {
    let rows = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1])) as _)]).unwrap();
    (rows, vec![0].into())
}

fn planned(bytes: &[u8]) -> PlannedStage {
    let (rows, _) = one_row();
    host(HostLimits::default())
        .plan(&load(bytes), Stage::Normalize, "{}", &rows.schema(), &Dictionaries::new())
        .unwrap()
}

fn seen(bytes: &[u8], moment: Moment) -> Result<u64, StageFault> {
    let (rows, operations) = one_row();
    let output = planned(bytes).process_in(moment, &rows, &operations)?;
    Ok(output.outputs[0].rows.column(0).as_primitive::<UInt64Type>().value(0))
}

fn fault(bytes: &[u8]) -> Fault {
    seen(bytes, Moment::EPOCH).unwrap_err().fault
}

#[test]
fn the_clocks_stand_at_the_batchs_creation() {
    let wall = component(
        &["wasi:clocks/wall-clock"],
        r#"(import "wasi:clocks/wall-clock@0.2.6" "now" (func $now (param i32)))"#,
        "(call $now (i32.const 800))",
        "",
    );
    assert_eq!(load(&wall).imports(), ["wasi:clocks/wall-clock@0.2.6"]);
    let moment = Moment::of_batch("a", 1_700_000_000_123_456);
    assert_eq!(seen(&wall, moment).unwrap(), 1_700_000_000);
    assert_eq!(seen(&wall, moment).unwrap(), 1_700_000_000, "a replay sees the same");
    assert_eq!(seen(&wall, Moment::EPOCH).unwrap(), 0);

    let monotonic = component(
        &["wasi:clocks/monotonic-clock"],
        r#"(import "wasi:clocks/monotonic-clock@0.2.6" "now" (func $now (result i64)))"#,
        "(drop (call $now)) (i64.store (i32.const 800) (call $now))",
        "",
    );
    assert_eq!(seen(&monotonic, moment).unwrap(), 1_700_000_000_123_456_000);
}

#[test]
fn a_wait_takes_no_time_and_moves_the_monotonic_clock() {
    let waiting = component(
        &["wasi:io/poll", "wasi:clocks/monotonic-clock"],
        r#"(import "wasi:io/poll@0.2.6" "poll" (func $poll (param i32 i32 i32)))
           (import "wasi:clocks/monotonic-clock@0.2.6" "now" (func $now (result i64)))
           (import "wasi:clocks/monotonic-clock@0.2.6" "subscribe-duration" (func $wait (param i64) (result i32)))"#,
        "(i32.store (i32.const 820) (call $wait (i64.const 3600000000000)))
         (call $poll (i32.const 820) (i32.const 1) (i32.const 800)) (i64.store (i32.const 800) (call $now))",
        "",
    );
    let started = std::time::Instant::now();
    assert_eq!(seen(&waiting, Moment::of_batch("a", 7)).unwrap(), 3_600_000_007_000);
    assert!(started.elapsed().as_secs() < 60);
}

#[test]
fn random_numbers_are_the_batchs() {
    let numbers = component(
        &["wasi:random/random"],
        r#"(import "wasi:random/random@0.2.6" "get-random-u64" (func $draw (result i64)))"#,
        "(drop (call $draw)) (i64.store (i32.const 800) (call $draw))",
        "",
    );
    let bytes = component(
        &["wasi:random/random"],
        r#"(import "wasi:random/random@0.2.6" "get-random-bytes" (func $draw (param i64 i32)))"#,
        "(call $draw (i64.const 9) (i32.const 800)) (i64.store (i32.const 800) (i64.load (i32.load (i32.const 800))))",
        "",
    );
    let (a, b) = (Moment::of_batch("a", 1), Moment::of_batch("b", 1));
    for guest in [&numbers, &bytes] {
        assert_eq!(seen(guest, a).unwrap(), seen(guest, a).unwrap());
        assert_ne!(seen(guest, a).unwrap(), seen(guest, b).unwrap());
    }
    let too_many = component(
        &["wasi:random/random"],
        r#"(import "wasi:random/random@0.2.6" "get-random-bytes" (func $draw (param i64 i32)))"#,
        "(call $draw (i64.const -1) (i32.const 800))",
        "",
    );
    assert!(matches!(fault(&too_many), Fault::Trap { .. }));
}

#[test]
fn the_environment_is_empty() {
    let environment = component(
        &["wasi:cli/environment"],
        r#"(import "wasi:cli/environment@0.2.6" "get-environment" (func $environment (param i32)))"#,
        "(call $environment (i32.const 796))",
        "",
    );
    assert_eq!(seen(&environment, Moment::EPOCH).unwrap() & 0xffff_ffff, 0, "the length of the list");
}

const STDERR: &str = r#"
    (import "wasi:cli/stderr@0.2.6" "get-stderr" (func $stderr (result i32)))
    (import "wasi:io/streams@0.2.6" "[method]output-stream.blocking-write-and-flush"
        (func $write (param i32 i32 i32 i32)))"#;

#[test]
fn what_is_written_is_in_the_message_of_the_fault() {
    let panicking = component(
        &["wasi:cli/stderr"],
        STDERR,
        "(call $write (call $stderr) (i32.const 900) (i32.const 21) (i32.const 800)) unreachable",
        "panic: no such \\1bthing\\0a",
    );
    let fault = fault(&panicking);
    let Fault::Trap { message, .. } = &fault else { panic!("{fault:?}") };
    assert!(message.ends_with("it wrote: panic: no such  thing"), "{message}");

    let silent = component(
        &["wasi:cli/stderr"],
        STDERR,
        "(call $write (call $stderr) (i32.const 900) (i32.const 4) (i32.const 800)) (i64.store (i32.const 800) (i64.const 7))",
        "note",
    );
    assert_eq!(seen(&silent, Moment::EPOCH).unwrap(), 7, "writing alone is no fault");
}

#[test]
fn an_exit_is_a_fault_with_its_status_and_last_words() {
    let imports = format!(r#"{STDERR} (import "wasi:cli/exit@0.2.6" "exit" (func $exit (param i32)))"#);
    let exiting = component(
        &["wasi:cli/stderr", "wasi:cli/exit"],
        &imports,
        "(call $write (call $stderr) (i32.const 900) (i32.const 10) (i32.const 800)) (call $exit (i32.const 1))",
        "bad input\\0a",
    );
    let fault = fault(&exiting);
    assert_eq!(fault, Fault::Exit { status: 1, written: Some("bad input".into()) });
    assert_eq!(fault.to_string(), "ended itself with status 1; it wrote: bad input");
}

#[test]
fn anything_else_ends_the_call_and_is_named() {
    let files = component(
        &["wasi:filesystem/types"],
        r#"(import "wasi:filesystem/types@0.2.6" "filesystem-error-code" (func $open (param i32 i32)))"#,
        "(call $open (i32.const 1) (i32.const 800))",
        "",
    );
    let message = fault(&files).to_string();
    assert!(message.contains("wasi:filesystem/types#filesystem-error-code"), "{message}");
    assert!(message.contains("no files"), "{message}");
}
