//! The runner's part, in memory.

const std = @import("std");
const abi = @import("../abi.zig");
const builders = @import("../builder.zig");
const check = @import("check.zig");
const column = @import("../column.zig");
const contract = @import("../contract.zig");
const memory = @import("../memory.zig");
const outputs = @import("../outputs.zig");
const plans = @import("../plan.zig");
const tables = @import("table.zig");
const types = @import("../types.zig");
const Array = column.Array;
const Builder = builders.Builder;
const Table = tables.Table;

const Dictionary = struct { name: []const u8, key: []const u8, table: Table };

/// The setup of a transform under test.
pub const Harness = struct {
    stage: plans.Stage,
    /// The stage's configuration, one JSON object.
    config: []const u8 = "{}",
    dictionaries: []const Dictionary = &.{},
    /// The operation of each input row; inserts where it is null.
    operations: ?[]const outputs.Operation = null,

    pub fn init(stage: plans.Stage) Harness {
        return .{ .stage = stage };
    }

    pub fn withConfig(harness: Harness, json: []const u8) Harness {
        var with = harness;
        with.config = json;
        return with;
    }

    /// Adds a dictionary, looked up by its column `key`.
    pub fn withDictionary(harness: Harness, name: []const u8, key: []const u8, table: Table) Harness {
        var with = harness;
        const added = [_]Dictionary{.{ .name = name, .key = key, .table = table }};
        with.dictionaries = std.mem.concat(memory.allocator, Dictionary, &.{ harness.dictionaries, &added }) catch memory.outOfMemory();
        return with;
    }

    pub fn withOperations(harness: Harness, operations: []const outputs.Operation) Harness {
        var with = harness;
        with.operations = operations;
        return with;
    }

    /// Plans, processes one batch, and checks the answer against the contract as the runner does.
    pub fn run(harness: Harness, comptime Transform: type, input: Table) Run {
        var done: Run = .{};
        done.failure = harness.runInto(Transform, input, &done);
        return done;
    }

    fn runInto(harness: Harness, comptime Transform: type, input: Table, to: *Run) ?[]const u8 {
        const setup = harness.setupOf(input);
        const plan = switch (contract.prepare(Transform, &setup)) {
            .failure => |failure| return memory.print("{s}: {s}", .{ failure.code, failure.message }),
            .ready => |ready| ready.plan,
        };
        to.columns_read = plan.reads.items.len;
        const batch = harness.batchOf(plan, input);
        var wrong: []const u8 = "";
        const result = contract.callProcess(Transform, &setup, &batch, &wrong) catch
            return memory.print("mistake: {s}", .{wrong});
        if (result.is_failure) {
            const failure = result.of.failure;
            return memory.print("{s}: {s}", .{ failure.code.items(), failure.message.items() });
        }
        to.processed = result.of.ok;
        const problem = harness.takeOutputs(plan, input, to) orelse return null;
        return memory.print("contract: {s}", .{problem});
    }

    fn setupOf(harness: Harness, input: Table) abi.Setup {
        const dictionaries = memory.alloc(abi.Dictionary, harness.dictionaries.len);
        for (dictionaries, harness.dictionaries) |*to, *from| {
            to.* = .{ .name = .of(from.name), .key = .of(from.key), .fields = .of(fieldsOf(from.table)) };
        }
        return .{
            .stage = @backingInt(harness.stage),
            .config = .of(harness.config),
            .input = .of(fieldsOf(input)),
            .dictionaries = .of(dictionaries),
        };
    }

    fn batchOf(harness: Harness, plan: *const plans.Plan, input: Table) abi.Batch {
        var nodes: std.ArrayList(abi.Node) = .empty;
        var buffers: std.ArrayList(abi.String) = .empty;
        for (plan.reads.items) |*read| {
            const array = harness.sourceOf(plan, read.source, input);
            const whole: types.Layout = .of(&array.field.type);
            for (array.nodes[0..whole.nodes]) |node| memory.append(abi.Node, &nodes, node);
            for (array.buffers[0..whole.buffers]) |buffer| memory.append(abi.String, &buffers, buffer);
        }
        return .{ .rows = @intCast(input.rows), .columns = .{ .nodes = .of(nodes.items), .buffers = .of(buffers.items) } };
    }

    fn sourceOf(harness: Harness, plan: *const plans.Plan, source: plans.Source, input: Table) Array {
        switch (source) {
            .input => |name| return input.named(name).?,
            .lookup => |place| {
                const lookup = &plan.lookups.items[place];
                const dictionary = for (harness.dictionaries) |*dictionary| {
                    if (std.mem.eql(u8, dictionary.name, lookup.dictionary)) break dictionary;
                } else unreachable;
                return join(dictionary, &lookup.value, input.named(lookup.key).?);
            },
            .operation => {
                const field = memory.create(types.Field.required("operation", .uint8));
                const builder = memory.create(Builder.init(field, input.rows));
                for (0..input.rows) |row| builder.as(.uint8).push(harness.operationOf(row));
                return tables.arrayOf(builder);
            },
        }
    }

    fn operationOf(harness: Harness, row: usize) u8 {
        return if (harness.operations) |operations| @backingInt(operations[row]) else 0;
    }

    /// What of the outputs breaks the contract; null if nothing.
    fn takeOutputs(harness: Harness, plan: *const plans.Plan, input: Table, to: *Run) ?[]const u8 {
        const rejects = to.processed.rejects.items();
        for (to.processed.outputs.items(), plan.outputs.items) |*from, *planned| {
            var taken: RunOutput = .{ .name = planned.name, .table = .{ .rows = from.rows } };
            for (0..from.rows) |i| {
                const row = if (from.selection.get()) |selection| selection.items()[i] else @as(u32, @intCast(i));
                if (row >= input.rows) return "a selected row is out of range";
                if (harness.stage != .map) for (rejects) |reject| {
                    if (reject.row == row) return "a rejected row is selected";
                };
                const operation = if (from.operations.get()) |operations| operations.items()[i] else harness.operationOf(row);
                memory.append(u32, &taken.rows, row);
                memory.append(u8, &taken.operations, operation);
            }
            var done: types.Layout = .{};
            for (planned.columns.items) |*of| {
                var array: Array = undefined;
                if (of.computed) {
                    array = .init(&of.field, from.columns.nodes.items().ptr + done.nodes, from.columns.buffers.items().ptr + done.buffers);
                    done = done.plus(.of(&of.field.type));
                    if (check.problemOf(array)) |problem| return problem;
                } else {
                    array = tables.take(harness.sourceOf(plan, of.source, input), taken.rows.items);
                    array.field = &of.field;
                }
                memory.append(Array, &taken.table.columns, array);
            }
            memory.append(RunOutput, &to.outputs, taken);
        }
        return null;
    }
};

fn fieldsOf(table: Table) []const abi.Field {
    var fields: std.ArrayList(types.Field) = .empty;
    for (table.columns.items) |array| memory.append(types.Field, &fields, array.field.*);
    return plans.fieldsToAbi(fields.items);
}

/// The look-up's value for each of the keys.
fn join(dictionary: *const Dictionary, field: *const types.Field, wanted: Array) Array {
    const keys = dictionary.table.named(dictionary.key).?;
    var values = dictionary.table.named(field.name).?;
    values.field = field;
    const builder = memory.create(Builder.init(field, wanted.rows));
    for (0..wanted.rows) |row| {
        const found: ?u32 = for (0..keys.rows) |place| {
            const same = std.mem.eql(u8, textOf(keys, place), textOf(wanted, row));
            if (same and !wanted.isNull(row)) break @intCast(place);
        } else null;
        if (found) |place| builder.pushRows(values, &.{place}) else builder.pushNull();
    }
    return tables.arrayOf(builder);
}

fn textOf(array: Array, row: usize) []const u8 {
    return memory.print("{f}", .{tables.Value{ .array = array, .row = row }});
}

const RunOutput = struct {
    name: []const u8,
    table: Table,
    rows: std.ArrayList(u32) = .empty,
    operations: std.ArrayList(u8) = .empty,
};

/// What a run gave.
pub const Run = struct {
    /// Why it gave nothing: `code: message` of a failure, `mistake: …` of what would be a trap in a component, or
    /// `contract: …`.
    failure: ?[]const u8 = null,
    /// How many columns crossed the boundary to `process`.
    columns_read: usize = 0,
    outputs: std.ArrayList(RunOutput) = .empty,
    processed: abi.Processed = .{ .outputs = .{}, .rejects = .{}, .messages = .{} },

    fn named(run: *const Run, name: []const u8) *const RunOutput {
        for (run.outputs.items) |*to| if (std.mem.eql(u8, to.name, name)) return to;
        @panic("there is no output of this name");
    }

    /// All columns of an output, forwarded ones included: a line of names and a line for each row. The failure if the run
    /// failed.
    pub fn output(run: *const Run, name: []const u8) []const u8 {
        return run.failure orelse memory.print("{f}", .{run.named(name).table});
    }

    /// The input row of each row of an output.
    pub fn selection(run: *const Run, name: []const u8) []const u32 {
        return run.named(name).rows.items;
    }

    /// The operation of each row of an output.
    pub fn operations(run: *const Run, name: []const u8) []const outputs.Operation {
        return @ptrCast(run.named(name).operations.items);
    }

    /// A line for each reject: row, code and, where there is one, the field.
    pub fn rejects(run: *const Run) []const u8 {
        var text: std.ArrayList(u8) = .empty;
        for (run.processed.rejects.items()) |*reject| {
            const field = if (reject.field.get()) |field| memory.print(" {s}", .{field.items()}) else "";
            text.print(memory.allocator, "{d} {s}{s}\n", .{ reject.row, reject.code.items(), field }) catch memory.outOfMemory();
        }
        return run.failure orelse text.items;
    }

    /// A line for each message.
    pub fn messages(run: *const Run) []const u8 {
        var text: std.ArrayList(u8) = .empty;
        for (run.processed.messages.items()) |message| {
            text.print(memory.allocator, "{s}\n", .{message.items()}) catch memory.outOfMemory();
        }
        return run.failure orelse text.items;
    }
};
