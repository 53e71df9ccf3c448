//! A component that breaks the contract in the way that its configuration names: `{"do": "trap"}`.
//!
//! It reads one utf8 column, `value`, and has one output `records` with one computed utf8 column `value` that copies
//! it. Whatever a behaviour does not spoil is right, so a test sees one fault at a time. [`Behaviour`] lists them all.

use gristmill_guest::raw;
use serde::Deserialize;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The column that it reads and computes.
const COLUMN: &str = "value";
/// A value that makes a row poisonous.
const POISON: &[u8] = b"poison";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// Nothing wrong: copies the column.
    Behave,

    // --- `plan` ---
    PlanTrap,
    PlanLoop,
    /// The result is a failure.
    PlanFailure,
    PlanUnknownColumn,
    /// Reads a look-up that the plan does not list.
    PlanUnknownLookup,
    /// Looks up in a dictionary that the task does not have.
    PlanUnknownDictionary,
    /// Forwards a column that the input does not have.
    PlanForwardUnknown,
    PlanDuplicateColumn,
    PlanZeroOutputs,
    /// Two outputs of one name, whatever the stage.
    PlanDuplicateOutput,
    /// An output without columns.
    PlanNoColumns,
    /// A list type without its child.
    PlanBrokenTree,
    /// A decimal of precision 200.
    PlanBadType,
    /// An output whose name is a path.
    PlanBadName,
    /// Two million columns.
    PlanHuge,

    // --- `process`: does not come back ---
    Trap,
    /// Traps where a value is `poison`.
    TrapOnPoison,
    Loop,
    /// Loops where a value is `poison`.
    LoopOnPoison,
    /// Allocates until it may not.
    EatMemory,
    /// The same where a value is `poison`.
    EatMemoryOnPoison,
    /// Recurses until the stack ends.
    Recurse,
    /// Executes the instruction `unreachable`.
    Unreachable,
    /// Says that its language raised an exception.
    Exception,
    /// The same where a value is `poison`.
    ExceptionOnPoison,
    /// Copies the column, and loses 8 MB of memory. Traps if it lost some before.
    Leak,

    // --- `process`: wrong columns ---
    DecreasingOffsets,
    OffsetsPastEnd,
    NegativeOffset,
    /// Offsets that start behind 0.
    OffsetsStartLate,
    /// Offsets that end before the bytes do.
    OffsetsEndEarly,
    InvalidUtf8,
    /// Offsets that cut a character of two bytes in half; the bytes as a whole are UTF-8.
    SplitCharacter,
    ShortOffsets,
    LongOffsets,
    /// Needs more than 8 rows.
    ShortValidity,
    LongValidity,
    WrongNodeLength,
    /// A null count of 1 with a validity buffer of no nulls.
    WrongNullCount,
    /// A null count of 1 without a validity buffer.
    NullCountWithoutValidity,
    /// A null in a column that the plan calls required.
    NullInRequired,
    MissingNode,
    ExtraNode,
    MissingBuffer,
    ExtraBuffer,
    MissingOutput,
    ExtraOutput,
    MissingColumn,
    ExtraColumn,

    // --- `process`: wrong rows ---
    /// One row more than the input, without a selection.
    WrongRows,
    SelectionOutOfRange,
    SelectionWrongLength,
    RejectOutOfRange,
    /// Rejects row 0 and selects it too.
    RejectSelected,
    BadOperation,
    OperationsWrongLength,

    // --- `process`: too much ---
    /// One value of 200 MB for each row.
    HugeOutput,
    /// Each input row a hundred thousand times.
    ExplodeRows,
    /// Ten rejects for each row, of one row.
    RepeatedRejects,
    /// Two million rejects.
    GiantRejectList,
    /// A reject whose texts have 10 MB each.
    HugeReject,
    /// A hundred messages of 1 MB.
    HugeMessages,
    /// A failure whose message has 10 MB.
    HugeFailure,
    /// The same of an exception.
    HugeException,
    /// The result is a failure.
    Failure,
    /// A failure where a value is `poison`.
    FailureOnPoison,
    /// Rejects every row.
    RejectAll,
    /// Rejects the rows that are `poison`, in order: a well-behaved transform.
    RejectPoison,
}

#[derive(Deserialize)]
struct Config {
    #[serde(rename = "do", default)]
    behaviour: Option<Behaviour>,
}

fn behaviour(setup: &raw::Setup) -> Result<Behaviour, raw::Failure> {
    let config: Config =
        serde_json::from_str(&setup.config).map_err(|error| failure("bad-config", error.to_string()))?;
    Ok(config.behaviour.unwrap_or(Behaviour::Behave))
}

fn failure(code: &str, message: impl Into<String>) -> raw::Failure {
    raw::Failure { code: code.to_owned(), message: message.into() }
}

/// The contract's `plan`, natively callable.
pub fn plan(setup: raw::Setup) -> Result<raw::Plan, raw::Failure> {
    use Behaviour as B;
    let behaviour = behaviour(&setup)?;
    let mut plan = raw::Plan {
        reads: vec![raw::ColumnSource::Input(COLUMN.to_owned())],
        lookups: vec![],
        outputs: vec![raw::OutputPlan { name: "records".to_owned(), columns: vec![computed(COLUMN)] }],
    };
    let columns = &mut plan.outputs[0].columns;
    let wrong_type = |data_type| raw::OutputColumn::Computed(vec![raw::Field { data_type, ..utf8("wrong") }]);
    match behaviour {
        B::PlanTrap => panic!("told to trap"),
        B::PlanLoop => spin(),
        B::PlanFailure => return Err(failure("told-to-fail", "the configuration says so")),
        B::PlanUnknownColumn => plan.reads.push(raw::ColumnSource::Input("no-such-column".to_owned())),
        B::PlanUnknownLookup => plan.reads.push(raw::ColumnSource::Lookup(7)),
        B::PlanUnknownDictionary => {
            let (dictionary, key, value) = ("no-such-dictionary".into(), COLUMN.into(), "name".into());
            plan.lookups.push(raw::Lookup { dictionary, key, value });
            plan.reads.push(raw::ColumnSource::Lookup(0));
        }
        B::PlanForwardUnknown => columns.push(raw::OutputColumn::Forwarded(raw::ForwardedColumn {
            name: "forwarded".to_owned(),
            source: raw::ColumnSource::Input("no-such-column".to_owned()),
        })),
        B::PlanDuplicateColumn => columns.push(computed(COLUMN)),
        B::PlanZeroOutputs => plan.outputs.clear(),
        B::PlanDuplicateOutput => plan.outputs.push(plan.outputs[0].clone()),
        B::PlanNoColumns => columns.clear(),
        B::PlanBrokenTree => columns.push(wrong_type(raw::DataType::List)),
        B::PlanBadType => {
            columns.push(wrong_type(raw::DataType::Decimal128(raw::DecimalType { precision: 200, scale: 0 })));
        }
        B::PlanBadName => plan.outputs[0].name = "../records".to_owned(),
        B::PlanHuge => columns.extend((0..2_000_000).map(|i| computed(&i.to_string()))),
        B::NullInRequired => {
            columns[0] = raw::OutputColumn::Computed(vec![raw::Field { nullable: false, ..utf8(COLUMN) }]);
        }
        _ => {}
    }
    Ok(plan)
}

fn utf8(name: &str) -> raw::Field {
    raw::Field { name: name.to_owned(), data_type: raw::DataType::Utf8, nullable: true, children: 0 }
}

fn computed(name: &str) -> raw::OutputColumn {
    raw::OutputColumn::Computed(vec![utf8(name)])
}

/// The contract's `process`, natively callable.
pub fn process(setup: raw::Setup, batch: raw::Batch) -> Result<raw::Processed, raw::Failure> {
    use Behaviour as B;
    let behaviour = behaviour(&setup)?;
    let rows = batch.rows;
    let values = Values::of(&batch);
    let poison: Vec<u32> = (0..rows).filter(|row| values.get(*row as usize) == POISON).collect();
    match behaviour {
        B::Trap => panic!("told to trap"),
        B::TrapOnPoison if !poison.is_empty() => panic!("told to trap"),
        B::Loop => spin(),
        B::LoopOnPoison if !poison.is_empty() => spin(),
        B::EatMemory => eat_memory(),
        B::EatMemoryOnPoison if !poison.is_empty() => eat_memory(),
        B::Recurse => {
            black_box(recurse(1));
        }
        B::Unreachable => unreachable(),
        B::Exception => return Err(failure("exception", "ValueError: told\nto raise")),
        B::ExceptionOnPoison if !poison.is_empty() => return Err(failure("exception", "ValueError: a row says so")),
        B::Leak => leak(),
        B::Failure => return Err(failure("told-to-fail", "the configuration says so")),
        B::FailureOnPoison if !poison.is_empty() => return Err(failure("told-to-fail", "a row says so")),
        B::HugeFailure => return Err(failure("told-to-fail", "x".repeat(10_000_000))),
        B::HugeException => return Err(failure("exception", "x".repeat(10_000_000))),
        _ => {}
    }

    let mut processed = raw::Processed {
        outputs: vec![raw::Output { rows, selection: None, operations: None, columns: batch.columns }],
        rejects: vec![],
        messages: vec![],
    };
    match behaviour {
        B::MissingOutput => processed.outputs.clear(),
        B::ExtraOutput => processed.outputs.push(processed.outputs[0].clone()),
        B::RejectOutOfRange => processed.rejects.push(reject(rows)),
        B::RejectSelected => processed.rejects.push(reject(0)),
        B::RepeatedRejects => {
            keep(&mut processed.outputs[0], |row| row != 0);
            processed.rejects = (0..rows * 10).map(|_| reject(0)).collect();
        }
        B::GiantRejectList => {
            keep(&mut processed.outputs[0], |_| false);
            processed.rejects = (0..2_000_000).map(|i| reject(i % rows.max(1))).collect();
        }
        B::HugeReject => {
            keep(&mut processed.outputs[0], |row| row != 0);
            let text = "x".repeat(10_000_000);
            let field = Some(text.clone());
            processed.rejects.push(raw::Reject { row: 0, code: text.clone(), field, message: text });
        }
        B::HugeMessages => processed.messages = vec!["x".repeat(1_000_000); 100],
        B::RejectAll => {
            keep(&mut processed.outputs[0], |_| false);
            processed.rejects = (0..rows).map(reject).collect();
        }
        B::RejectPoison => {
            keep(&mut processed.outputs[0], |row| !poison.contains(&row));
            processed.rejects = poison.iter().copied().map(reject).collect();
        }
        _ => spoil(behaviour, &mut processed.outputs[0]),
    }
    Ok(processed)
}

/// Spoils an output that is right so far.
fn spoil(behaviour: Behaviour, output: &mut raw::Output) {
    use Behaviour as B;
    let rows = output.rows;
    let columns = &mut output.columns;
    match behaviour {
        B::DecreasingOffsets => {
            let end = columns.buffers[2].len() as i32;
            set_offset(columns, 1, end + 1);
        }
        B::OffsetsPastEnd => set_offset(columns, rows as usize, columns.buffers[2].len() as i32 + 100),
        B::NegativeOffset => set_offset(columns, 1, -1),
        B::OffsetsStartLate => {
            columns.buffers[2].insert(0, b'x');
            for place in 0..=rows as usize {
                set_offset(columns, place, get_offset(columns, place) + 1);
            }
        }
        B::OffsetsEndEarly => columns.buffers[2].extend_from_slice(b"more"),
        B::InvalidUtf8 => match columns.buffers[2].first_mut() {
            Some(first) => *first = 0xff,
            None => one_value(columns, rows, &[0xff]),
        },
        B::SplitCharacter => {
            columns.buffers = vec![vec![], vec![0; (rows as usize + 1) * 4], "é".into()];
            columns.nodes[0].null_count = 0;
            set_offset(columns, 1, 1);
            (2..=rows as usize).for_each(|place| set_offset(columns, place, 2));
        }
        B::ShortOffsets => columns.buffers[1].truncate(rows as usize * 4),
        B::LongOffsets => columns.buffers[1].extend([0; 4]),
        B::ShortValidity => {
            columns.buffers[0] = vec![0xff; (rows as usize).div_ceil(8).saturating_sub(1).max(1)];
            columns.nodes[0].null_count = 0;
        }
        B::LongValidity => {
            columns.buffers[0] = vec![0xff; (rows as usize).div_ceil(8) + 1];
            columns.nodes[0].null_count = 0;
        }
        B::WrongNodeLength => columns.nodes[0].length += 1,
        B::WrongNullCount => {
            columns.buffers[0] = vec![0xff; (rows as usize).div_ceil(8)];
            columns.nodes[0].null_count = 1;
        }
        B::NullCountWithoutValidity => {
            columns.buffers[0].clear();
            columns.nodes[0].null_count = 1;
        }
        B::NullInRequired => {
            columns.buffers[0] = vec![0xff; (rows as usize).div_ceil(8)];
            columns.buffers[0][0] = 0xfe;
            columns.nodes[0].null_count = 1;
        }
        B::MissingNode => columns.nodes.clear(),
        B::ExtraNode => columns.nodes.push(columns.nodes[0]),
        B::MissingBuffer => columns.buffers.truncate(2),
        B::ExtraBuffer => columns.buffers.push(vec![0; 8]),
        B::MissingColumn => *columns = raw::Columns { nodes: vec![], buffers: vec![] },
        B::ExtraColumn => {
            columns.nodes.push(columns.nodes[0]);
            columns.buffers.extend(columns.buffers.clone());
        }
        B::WrongRows => output.rows += 1,
        B::SelectionOutOfRange => output.selection = Some((1..=rows).collect()),
        B::SelectionWrongLength => output.selection = Some((0..rows.saturating_sub(1)).collect()),
        B::BadOperation => output.operations = Some(vec![3; rows as usize]),
        B::OperationsWrongLength => output.operations = Some(vec![0; rows as usize + 1]),
        B::HugeOutput => {
            let width = 200_000_000 / rows.max(1) as usize;
            let all = width * rows as usize;
            let offsets = (0..=rows as usize).flat_map(|place| ((place * width) as i32).to_le_bytes()).collect();
            columns.buffers = vec![vec![], offsets, vec![b'x'; all]];
            columns.nodes[0].null_count = 0;
        }
        B::ExplodeRows => {
            let all = rows * 100_000;
            output.rows = all;
            output.selection = Some((0..all).map(|row| row % rows).collect());
            columns.nodes[0] = raw::Node { length: all, null_count: 0 };
            columns.buffers = vec![vec![], vec![0; (all as usize + 1) * 4], vec![]];
        }
        _ => {}
    }
}

/// Keeps some rows of the output, and so selects them.
fn keep(output: &mut raw::Output, kept: impl Fn(u32) -> bool) {
    let selection: Vec<u32> = (0..output.rows).filter(|row| kept(*row)).collect();
    let values = Values { columns: &output.columns };
    let (mut offsets, mut bytes) = (0i32.to_le_bytes().to_vec(), Vec::new());
    for row in &selection {
        bytes.extend_from_slice(values.get(*row as usize));
        offsets.extend((bytes.len() as i32).to_le_bytes());
    }
    output.rows = selection.len() as u32;
    output.columns = raw::Columns {
        nodes: vec![raw::Node { length: output.rows, null_count: 0 }],
        buffers: vec![vec![], offsets, bytes],
    };
    output.selection = Some(selection);
}

/// The values of a utf8 column; nulls are empty.
struct Values<'a> {
    columns: &'a raw::Columns,
}

impl<'a> Values<'a> {
    fn of(batch: &'a raw::Batch) -> Self {
        Self { columns: &batch.columns }
    }
    fn get(&self, row: usize) -> &'a [u8] {
        let (from, to) = (get_offset(self.columns, row), get_offset(self.columns, row + 1));
        &self.columns.buffers[2][from as usize..to as usize]
    }
}

fn get_offset(columns: &raw::Columns, place: usize) -> i32 {
    let mut offset = [0; 4];
    offset.copy_from_slice(&columns.buffers[1][place * 4..][..4]);
    i32::from_le_bytes(offset)
}

fn set_offset(columns: &mut raw::Columns, place: usize, offset: i32) {
    columns.buffers[1][place * 4..][..4].copy_from_slice(&offset.to_le_bytes());
}

/// Makes the last row's value these bytes and all others empty.
fn one_value(columns: &mut raw::Columns, rows: u32, value: &[u8]) {
    columns.buffers[2] = value.to_vec();
    set_offset(columns, rows as usize, value.len() as i32);
}

fn reject(row: u32) -> raw::Reject {
    let (code, field) = ("told-to-reject".to_owned(), Some(COLUMN.to_owned()));
    raw::Reject { row, code, field, message: "the configuration says so".to_owned() }
}

fn spin() -> ! {
    let mut turns = 0u64;
    loop {
        turns = black_box(turns).wrapping_add(1);
    }
}

fn eat_memory() -> ! {
    let mut eaten = Vec::new();
    loop {
        eaten.push(black_box(vec![1u8; 1 << 20]));
    }
}

/// What a runtime that frees nothing does; in an instance of its own, each call is the first.
fn leak() {
    static LOST: AtomicUsize = AtomicUsize::new(0);
    black_box(vec![1u8; 8 << 20].leak());
    assert_eq!(LOST.fetch_add(1, Ordering::Relaxed), 0, "an instance was used twice");
}

#[allow(unconditional_recursion, reason = "it is there to end the stack")]
#[inline(never)]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    recurse(black_box(depth + 1)) + frame[depth as usize % 64]
}

fn unreachable() -> ! {
    #[cfg(target_family = "wasm")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_family = "wasm"))]
    std::process::abort();
}

// The raw bindings, because the typed SDK would refuse most of this.
#[cfg(target_family = "wasm")]
#[allow(unsafe_code)]
const _: () = {
    struct Hostile;
    impl raw::Guest for Hostile {
        fn plan(setup: raw::Setup) -> Result<raw::Plan, raw::Failure> {
            plan(setup)
        }
        fn process(setup: raw::Setup, batch: raw::Batch) -> Result<raw::Processed, raw::Failure> {
            process(setup, batch)
        }
    }
    raw::bindings::export_component!(Hostile with_types_in raw::bindings);
};

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(behaviour: &str) -> raw::Setup {
        let config = format!(r#"{{"do": "{behaviour}"}}"#);
        raw::Setup { stage: raw::Stage::Normalize, config, input: vec![utf8(COLUMN)], dictionaries: vec![] }
    }

    /// Twenty values of which the third is `poison`.
    fn batch() -> raw::Batch {
        let (mut offsets, mut bytes) = (0i32.to_le_bytes().to_vec(), Vec::new());
        for row in 0..20 {
            bytes.extend_from_slice(if row == 2 { POISON } else { b"fine" });
            offsets.extend((bytes.len() as i32).to_le_bytes());
        }
        let nodes = vec![raw::Node { length: 20, null_count: 0 }];
        raw::Batch { rows: 20, columns: raw::Columns { nodes, buffers: vec![vec![], offsets, bytes] } }
    }

    #[test]
    fn every_plan_is_spoiled_in_its_own_way() {
        let good = plan(setup("behave")).unwrap();
        let behaviours = "plan-unknown-column plan-unknown-lookup plan-unknown-dictionary plan-forward-unknown \
                          plan-duplicate-column plan-zero-outputs plan-duplicate-output plan-no-columns plan-broken-tree \
                          plan-bad-type plan-bad-name plan-huge null-in-required";
        let mut plans = vec![good];
        for behaviour in behaviours.split_whitespace() {
            let spoiled = plan(setup(behaviour)).unwrap();
            assert!(!plans.contains(&spoiled), "{behaviour}");
            plans.push(spoiled);
        }
        assert_eq!(plan(setup("plan-failure")).unwrap_err().code, "told-to-fail");
        assert_eq!(plan(setup("no-such-thing")).unwrap_err().code, "bad-config");
    }

    #[test]
    fn every_answer_is_spoiled_in_its_own_way() {
        let good = process(setup("behave"), batch()).unwrap();
        assert_eq!(good.outputs[0].columns, batch().columns);
        let behaviours = "decreasing-offsets offsets-past-end negative-offset offsets-start-late offsets-end-early \
                          invalid-utf8 split-character short-offsets long-offsets short-validity long-validity \
                          wrong-node-length wrong-null-count null-count-without-validity null-in-required missing-node \
                          extra-node missing-buffer extra-buffer missing-output extra-output missing-column \
                          extra-column wrong-rows selection-out-of-range selection-wrong-length reject-out-of-range \
                          reject-selected bad-operation operations-wrong-length repeated-rejects reject-all \
                          reject-poison huge-output huge-messages";
        let mut answers = vec![good];
        for behaviour in behaviours.split_whitespace() {
            let spoiled = process(setup(behaviour), batch()).unwrap();
            assert!(!answers.contains(&spoiled), "{behaviour}");
            answers.push(spoiled);
        }
        assert_eq!(process(setup("failure-on-poison"), batch()).unwrap_err().code, "told-to-fail");
    }

    #[test]
    #[should_panic(expected = "told to trap")]
    fn poison_traps() {
        let _ = process(setup("trap-on-poison"), batch());
    }
}
