//! A row view for simple transforms: read cells by name, write cells by name.
//!
//! It costs several times what typed columns cost. Nested columns have no row view.

const std = @import("std");
const builder = @import("builder.zig");
const column = @import("column.zig");
const memory = @import("memory.zig");
const outputs_ = @import("outputs.zig");
const plans = @import("plan.zig");
const types = @import("types.zig");
const Array = column.Array;
const Kind = types.Kind;

/// The row is not accepted; why lies in the row.
pub const Error = error{Rejected};

const Cells = struct {
    name: []const u8,
    array: Array,
    /// For texts and byte strings.
    offsets: []const u32,
};

/// One input row, and the output rows that it makes. Every function that cannot do what it is asked rejects the row, naming
/// the column: `missing-value` where it is null but must not be, `wrong-type` where it holds another sort of value or is not
/// in the plan, `out-of-range` where the output column cannot hold the value.
pub const Row = struct {
    /// The row's place in the batch.
    index: usize = 0,
    cells: []const Cells,
    /// The column asked for after the last one: rows ask for the same columns in the same order.
    next: usize = 0,
    outputs: []OutputRow,
    why: ?outputs_.Reject = null,

    /// Does not accept the row. Whatever was written for it is taken back.
    pub fn reject(row: *Row, why: outputs_.Reject) Error {
        if (row.why == null) row.why = why;
        return error.Rejected;
    }

    fn named(row: *Row, name: []const u8) Error!*const Cells {
        for (0..row.cells.len) |i| {
            const place = (row.next + i) % row.cells.len;
            if (!std.mem.eql(u8, row.cells[place].name, name)) continue;
            row.next = place + 1;
            return &row.cells[place];
        }
        return row.reject(.{ .code = "wrong-type", .field = name, .message = "the transform's plan does not read this column" });
    }

    fn missing(row: *Row, name: []const u8) Error {
        return row.reject(.{ .code = "missing-value", .field = name, .message = "the value is null" });
    }

    fn wrongType(row: *Row, name: []const u8) Error {
        return row.reject(.{ .code = "wrong-type", .field = name, .message = "the column holds another sort of value" });
    }

    /// The value of a column: an input column under its name, a look-up as `dictionary.column`. `T` is `[]const u8`, `bool`,
    /// an integer, a float, or an optional one of these for columns that may be null. Decimals are unscaled integers.
    pub fn get(row: *Row, comptime T: type, name: []const u8) Error!T {
        const cells = try row.named(name);
        if (@typeInfo(T) == .optional) {
            if (cells.array.isNull(row.index)) return null;
            return try row.value(@typeInfo(T).optional.child, cells);
        }
        if (cells.array.isNull(row.index)) return row.missing(name);
        return row.value(T, cells);
    }

    fn value(row: *Row, comptime T: type, cells: *const Cells) Error!T {
        switch (cells.array.field.type.kind()) {
            inline else => |kind| switch (comptime kind.storage()) {
                .bytes => if (T == []const u8) {
                    return cells.array.bytes()[cells.offsets[row.index]..cells.offsets[row.index + 1]];
                },
                .bits => if (T == bool) return column.bit(cells.array.buffers[1].items(), row.index),
                .fixed => {
                    const stored = cells.array.valuesAs(kind.Value())[row.index];
                    switch (@typeInfo(T)) {
                        .int => if (@typeInfo(kind.Value()) == .int) {
                            return std.math.cast(T, stored) orelse row.wrongType(cells.name);
                        },
                        .float => switch (@typeInfo(kind.Value())) {
                            .int => if (comptime kind != .decimal128 and kind != .decimal256) return @floatFromInt(stored),
                            .float => return @floatCast(stored),
                            else => {},
                        },
                        else => {},
                    }
                },
                else => {},
            },
        }
        return row.wrongType(cells.name);
    }

    /// Starts a row of an output. It ends with the next one or with the function; cells not set are null.
    pub fn out(row: *Row, output: plans.Output) *OutputRow {
        const to = &row.outputs[output.place];
        to.endRow();
        to.begun += 1;
        to.next = 0;
        return to;
    }
};

/// An output row in the making.
pub const OutputRow = struct {
    row: *Row = undefined,
    to: *outputs_.PendingOutput,
    /// Output rows before the input row in hand.
    before: usize = 0,
    begun: usize = 0,
    operated: bool = false,
    next: usize = 0,

    /// Sets a cell: a text, a boolean, a number, an optional of these, or null. A cell set twice keeps the first value.
    pub fn set(out: *OutputRow, name: []const u8, value: anytype) Error!void {
        const T = @TypeOf(value);
        const to = try out.builderOf(name) orelse return;
        switch (@typeInfo(T)) {
            .null => try out.setNull(to),
            .optional => if (value) |some| try out.put(to, some) else try out.setNull(to),
            else => try out.put(to, value),
        }
    }

    fn setNull(out: *OutputRow, to: *builder.Builder) Error!void {
        if (!to.field.nullable) return out.row.missing(to.field.name);
        to.pushNull();
    }

    fn put(out: *OutputRow, to: *builder.Builder, value: anytype) Error!void {
        switch (to.field.type.kind()) {
            inline else => |kind| switch (comptime kind.storage()) {
                .bytes => if (comptime isBytes(@TypeOf(value))) {
                    if (kind == .fixed_size_binary and value.len != to.field.type.width()) return out.doesNotFit(to);
                    to.as(kind).push(value);
                    return;
                },
                .bits => if (@TypeOf(value) == bool) return to.as(kind).push(value),
                .fixed => switch (@typeInfo(@TypeOf(value))) {
                    .int, .comptime_int => if (@typeInfo(kind.Value()) == .int) {
                        return to.as(kind).push(std.math.cast(kind.Value(), value) orelse return out.doesNotFit(to));
                    },
                    .float, .comptime_float => if (@typeInfo(kind.Value()) == .float) return to.as(kind).push(@floatCast(value)),
                    else => {},
                },
                else => {},
            },
        }
        return out.row.reject(.{
            .code = "wrong-type",
            .field = to.field.name,
            .message = "the value is of another sort than the output column",
        });
    }

    fn doesNotFit(out: *OutputRow, to: *builder.Builder) Error {
        return out.row.reject(.{
            .code = "out-of-range",
            .field = to.field.name,
            .message = "the output column cannot hold the value",
        });
    }

    /// None where the cell is set already.
    fn builderOf(out: *OutputRow, name: []const u8) Error!?*builder.Builder {
        const builders = out.to.builders;
        for (0..builders.len) |i| {
            const place = (out.next + i) % builders.len;
            if (!std.mem.eql(u8, builders[place].field.name, name)) continue;
            out.next = place + 1;
            return if (builders[place].len == out.begun) null else &builders[place];
        }
        return out.row.reject(.{
            .code = "wrong-type",
            .field = name,
            .message = "the transform's plan does not compute this column",
        });
    }

    /// Sets what the row does to the target. All rows of an output set it, or none does.
    pub fn operation(out: *OutputRow, value: outputs_.Operation) Error!void {
        const operations = &out.to.selection.operations;
        if (operations.items.len != out.begun - 1) return if (out.operated) {} else out.mixed();
        memory.append(u8, operations, @backingInt(value));
        out.operated = true;
    }

    fn mixed(out: *OutputRow) Error {
        return out.row.reject(.{
            .code = "mixed-operations",
            .message = "some rows of this output set their operation and some do not",
        });
    }

    /// Ends the row in hand: cells not set become null.
    fn endRow(out: *OutputRow) void {
        if (out.begun == out.to.selection.rows.items.len) return;
        for (out.to.builders) |*of| if (of.len < out.begun) {
            if (!of.field.nullable) _ = out.row.missing(of.field.name) catch {};
            of.pushNull();
        };
        out.to.selection.push(out.row.index);
        if (out.to.selection.operations.items.len > 0 and !out.operated) _ = out.mixed() catch {};
        out.operated = false;
    }

    fn takeBack(out: *OutputRow) void {
        for (out.to.builders) |*of| of.truncate(out.before);
        const selection = &out.to.selection;
        selection.rows.items.len = out.before;
        selection.operations.items.len = @min(selection.operations.items.len, out.before);
        out.begun = out.before;
        out.operated = false;
    }
};

fn isBytes(comptime T: type) bool {
    return switch (@typeInfo(T)) {
        .pointer => |pointer| switch (pointer.size) {
            .slice => pointer.child == u8,
            .one => switch (@typeInfo(pointer.child)) {
                .array => |array| array.child == u8,
                else => false,
            },
            else => false,
        },
        else => false,
    };
}

/// Calls `row` of the transform for each row of the batch.
pub fn processRows(
    comptime Transform: type,
    transform: *const Transform,
    plan: *const plans.Plan,
    batch: *const outputs_.Batch,
    outputs: *outputs_.Outputs,
) !void {
    const cells = memory.alloc(Cells, batch.arrays.len);
    for (cells, batch.arrays, plan.reads.items) |*to, array, *read| {
        try refuseNested(outputs, array.field);
        to.* = .{
            .name = switch (read.source) {
                .lookup => |place| memory.print("{s}.{s}", .{ plan.lookups.items[place].dictionary, read.field.name }),
                else => read.field.name,
            },
            .array = array,
            .offsets = if (array.field.type.kind().storage() == .bytes) array.offsets() else &.{},
        };
    }
    const out = memory.alloc(OutputRow, outputs.outputs.len);
    for (out, outputs.outputs) |*to, *pending| {
        for (pending.builders) |*of| try refuseNested(outputs, of.field);
        pending.selected = true;
        to.* = .{ .to = pending };
    }
    var row: Row = .{ .cells = cells, .outputs = out };
    for (out) |*to| to.row = &row;
    for (0..batch.rows) |index| {
        row.index = index;
        row.why = null;
        for (out) |*to| to.before = to.to.selection.rows.items.len;
        transform.row(&row) catch |problem| if (problem != error.Rejected) return problem;
        for (out) |*to| to.endRow();
        const why = row.why orelse continue;
        for (out) |*to| to.takeBack();
        outputs.reject(index, why);
    }
}

fn refuseNested(outputs: *outputs_.Outputs, field: *const types.Field) plans.Error!void {
    if (field.type.children().len == 0) return;
    return outputs.fail("wrong-type", "column `{s}` is {f}: nested columns have no row view", .{ field.name, field.type });
}
