//! Gristmill transforms in Zig: typed columns in, typed columns out, tests that need no WebAssembly. See README.md.
//!
//! A transform is a struct with two functions:
//!
//!     pub fn plan(plan: *gm.Plan) !Transform
//!     pub fn process(transform: Transform, batch: *const gm.Batch, outputs: *gm.Outputs) !void
//!
//! or, row by row, `pub fn row(transform: *const Transform, row: *gm.Row) !void` in place of the second. The project's root
//! file names it: `pub const Transform = Orders;`.
//!
//! 1. `plan` depends on the plan's setup alone. The runner plans again for every batch and refuses a transform whose plans
//!    differ.
//! 2. `process` pushes one value for each output row to every computed column.
//! 3. A row that cannot be transformed is a reject, never a panic and never a failure. In stages normalize and migrate it is
//!    also left out of the selection.
//! 4. Rejects and failures never say what a row holds: they are kept and shown to operators.
//!
//! An error other than `error.Failed` ends the call as a mistake of the transform, and so does a panic: the runner tries
//! again, then isolates the rows at fault.

pub const abi = @import("abi.zig");
pub const contract = @import("contract.zig");
pub const memory = @import("memory.zig");
pub const panic = @import("panic.zig");
pub const testing = @import("testing.zig");

pub const allocator = memory.allocator;
/// Formats a text that lives as long as the call.
pub const print = memory.print;

pub const Decimal = types.Decimal;
pub const Field = types.Field;
pub const Kind = types.Kind;
pub const Range = types.Range;
pub const Type = types.Type;
pub const Unit = types.Unit;
pub const list = types.list;
pub const structOf = types.structOf;
pub const map = types.map;

pub const AnyIn = plans.AnyIn;
pub const AnyOut = plans.AnyOut;
pub const Error = plans.Error;
pub const In = plans.In;
pub const Lookup = plans.Lookup;
pub const Out = plans.Out;
pub const Output = plans.Output;
pub const Plan = plans.Plan;
pub const Stage = plans.Stage;

pub const Array = column.Array;
pub const BooleanColumn = column.BooleanColumn;
pub const BytesColumn = column.BytesColumn;
pub const Column = column.Column;
pub const FixedColumn = column.FixedColumn;
pub const ListColumn = column.ListColumn;

pub const BooleanBuilder = builder.BooleanBuilder;
pub const Builder = builder.Builder;
pub const BuilderOf = builder.BuilderOf;
pub const BytesBuilder = builder.BytesBuilder;
pub const FixedBuilder = builder.FixedBuilder;
pub const NestedBuilder = builder.NestedBuilder;

pub const Batch = outputs.Batch;
pub const Operation = outputs.Operation;
pub const Outputs = outputs.Outputs;
pub const Reject = outputs.Reject;
pub const Selection = outputs.Selection;

pub const OutputRow = row.OutputRow;
pub const Row = row.Row;

pub const Date = dates.Date;
pub const parseDecimal = decimals.parse;
pub const FormattedDecimal = decimals.Formatted;

const builder = @import("builder.zig");
const column = @import("column.zig");
const dates = @import("date.zig");
const decimals = @import("decimal.zig");
const outputs = @import("outputs.zig");
const plans = @import("plan.zig");
const row = @import("row.zig");
const types = @import("types.zig");
