//! What `process` receives and gives.

const std = @import("std");
const abi = @import("abi.zig");
const builder = @import("builder.zig");
const column = @import("column.zig");
const memory = @import("memory.zig");
const mistake = @import("mistake.zig");
const plans = @import("plan.zig");
const types = @import("types.zig");
const Array = column.Array;
const Builder = builder.Builder;
const Layout = types.Layout;
const Plan = plans.Plan;

/// The operation of a change record.
pub const Operation = enum(u8) { insert, update, delete };

/// The rows of one call: the columns that the plan reads.
pub const Batch = struct {
    rows: usize,
    arrays: []const Array,

    /// A view of a column.
    pub fn column(batch: *const Batch, handle: anytype) column_.Column(@TypeOf(handle).of) {
        return batch.arrays[handle.place].as(@TypeOf(handle).of);
    }
    const column_ = @import("column.zig");

    /// A column of whatever kind.
    pub fn any(batch: *const Batch, handle: anytype) Array {
        return batch.arrays[handle.place];
    }

    pub fn fromAbi(plan: *const Plan, from: *const abi.Batch) ?Batch {
        var whole: Layout = .{};
        for (plan.reads.items) |*read| whole = whole.plus(.of(&read.field.type));
        const nodes = from.columns.nodes.items();
        const buffers = from.columns.buffers.items();
        if (nodes.len != whole.nodes or buffers.len != whole.buffers) return null;
        const arrays = memory.alloc(Array, plan.reads.items.len);
        var done: Layout = .{};
        for (arrays, plan.reads.items) |*to, *read| {
            to.* = .init(&read.field, nodes.ptr + done.nodes, buffers.ptr + done.buffers);
            if (to.rows != from.rows or !to.isWhole()) return null;
            done = done.plus(.of(&read.field.type));
        }
        return .{ .rows = from.rows, .arrays = arrays };
    }
};

/// Which input row each output row comes from. Rows may be left out, repeated and reordered.
pub const Selection = struct {
    input_rows: usize,
    rows: std.ArrayList(u32) = .empty,
    /// Empty where the rows keep the operations of their input rows; else one for each row.
    operations: std.ArrayList(u8) = .empty,

    /// The output's next row comes from this input row and keeps its operation.
    pub inline fn push(selection: *Selection, row: usize) void {
        if (row >= selection.input_rows) mistake.selectedRowIsOutOfRange(row, selection.input_rows);
        if (selection.rows.items.len == selection.rows.capacity) selection.grow();
        selection.rows.appendAssumeCapacity(@intCast(row));
    }

    /// The output's next row comes from this input row and does this to the target. An output's rows all have operations
    /// of their own, or none has.
    pub fn pushAs(selection: *Selection, row: usize, operation: Operation) void {
        selection.push(row);
        memory.append(u8, &selection.operations, @backingInt(operation));
    }

    fn grow(selection: *Selection) void {
        @branchHint(.cold);
        const more = @max(selection.input_rows, 8);
        selection.rows.ensureUnusedCapacity(memory.allocator, more) catch memory.outOfMemory();
    }

    /// Whether it is all input rows in place: then it need not cross, and the runner need not copy.
    fn isAll(selection: *const Selection) bool {
        if (selection.rows.items.len != selection.input_rows) return false;
        for (selection.rows.items, 0..) |row, place| if (row != place) return false;
        return true;
    }
};

/// Why one row is not accepted. The runner keeps it as a dead letter, so it never says a value.
pub const Reject = struct {
    /// A short, stable word for machines, such as `bad-time`.
    code: []const u8,
    /// The column at fault.
    field: ?[]const u8 = null,
    message: []const u8,
};

pub const PendingOutput = struct {
    plan: *const plans.OutputPlan,
    selection: Selection,
    selected: bool = false,
    /// One for each computed column.
    builders: []Builder,
};

/// Takes the columns, selections and rejects of one call.
pub const Outputs = struct {
    rows: usize,
    outputs: []PendingOutput,
    rejects: std.ArrayList(abi.Reject) = .empty,
    messages: std.ArrayList(abi.String) = .empty,
    failure: ?plans.Failure = null,

    /// The builder of a computed column.
    pub fn column(outputs: *Outputs, handle: anytype) builder.BuilderOf(@TypeOf(handle).of) {
        return outputs.any(handle).as(@TypeOf(handle).of);
    }

    /// The builder of a computed column, of whatever kind.
    pub fn any(outputs: *Outputs, handle: anytype) *Builder {
        return &outputs.outputs[handle.output.place].builders[handle.place];
    }

    /// Hands a whole column of the same type back as it came, without a copy.
    pub fn give(outputs: *Outputs, handle: anytype, array: Array) void {
        const to = outputs.any(handle);
        if (!to.field.type.eql(array.field.type)) mistake.columnHasAnotherType(to.field, @tagName(array.field.type.kind()));
        to.given = array;
        to.len = array.rows;
        to.nulls = array.null_count;
    }

    /// The selection of an output. One whose selection is never asked for has one row for each input row.
    pub fn selection(outputs: *Outputs, output: plans.Output) *Selection {
        const to = &outputs.outputs[output.place];
        to.selected = true;
        return &to.selection;
    }

    /// Does not accept an input row. Stages normalize and migrate must leave it out of their selection too.
    pub fn reject(outputs: *Outputs, row: usize, why: Reject) void {
        if (row >= outputs.rows) mistake.rejectedRowIsOutOfRange(row, outputs.rows);
        memory.append(abi.Reject, &outputs.rejects, .{
            .row = @intCast(row),
            .code = .of(why.code),
            .field = .of(if (why.field) |field| abi.String.of(field) else null),
            .message = .of(why.message),
        });
    }

    /// Says something to the operator. The runner keeps the first few messages and cuts long ones.
    pub fn say(outputs: *Outputs, comptime format: []const u8, values: anytype) void {
        memory.append(abi.String, &outputs.messages, .of(memory.print(format, values)));
    }

    /// Fails the whole call. Never for a bad row.
    pub fn fail(outputs: *Outputs, code: []const u8, comptime format: []const u8, values: anytype) plans.Error {
        if (outputs.failure == null) outputs.failure = .{ .code = code, .message = memory.print(format, values) };
        return error.Failed;
    }

    pub fn init(plan: *const Plan, rows: usize) Outputs {
        const outputs = memory.alloc(PendingOutput, plan.outputs.items.len);
        for (outputs, plan.outputs.items) |*to, *planned| {
            const builders = memory.alloc(Builder, planned.computed);
            var place: usize = 0;
            for (planned.columns.items) |*of| if (of.computed) {
                builders[place] = .init(&of.field, rows);
                place += 1;
            };
            to.* = .{ .plan = planned, .selection = .{ .input_rows = rows }, .builders = builders };
        }
        return .{ .rows = rows, .outputs = outputs };
    }

    /// Checks what the types cannot. `wrong` says what the transform did wrong.
    pub fn toAbi(outputs: *Outputs, wrong: *[]const u8) error{Mistake}!abi.Processed {
        const finished = memory.alloc(abi.Output, outputs.outputs.len);
        for (finished, outputs.outputs) |*to, *from| {
            const rows = if (from.selected) from.selection.rows.items.len else outputs.rows;
            const operations = from.selection.operations.items;
            if (operations.len > 0 and operations.len != rows) {
                wrong.* = memory.print("some rows of output `{s}` have operations and some have not", .{from.plan.name});
                return error.Mistake;
            }
            var nodes: std.ArrayList(abi.Node) = .empty;
            var buffers: std.ArrayList(abi.String) = .empty;
            for (from.builders) |*of| {
                if (of.len != rows) {
                    wrong.* = memory.print("column `{s}` of output `{s}` has {d} values for {d} rows", .{ of.field.name, from.plan.name, of.len, rows });
                    return error.Mistake;
                }
                wrong.* = of.finish(&nodes, &buffers) orelse continue;
                return error.Mistake;
            }
            to.* = .{ .rows = @intCast(rows), .columns = .{ .nodes = .of(nodes.items), .buffers = .of(buffers.items) } };
            if (from.selected and !from.selection.isAll()) to.selection = .of(.of(from.selection.rows.items));
            if (operations.len > 0) to.operations = .of(.of(operations));
        }
        return .{ .outputs = .of(finished), .rejects = .of(outputs.rejects.items), .messages = .of(outputs.messages.items) };
    }
};
