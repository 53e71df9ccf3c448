//! The plan of a transform: what it reads, what it looks up and what it gives.

const std = @import("std");
const abi = @import("abi.zig");
const memory = @import("memory.zig");
const types = @import("types.zig");
const Field = types.Field;
const Kind = types.Kind;
const Type = types.Type;

/// What a transform is used for.
pub const Stage = enum(u8) { normalize, migrate, map };

/// The whole call cannot be done. What is wrong lies in the plan or the outputs, where `fail` put it.
pub const Error = error{Failed};

pub const Failure = struct {
    /// A short, stable word for machines, such as `bad-config`.
    code: []const u8,
    /// For people; says what to change. Never a row's values.
    message: []const u8,
};

/// A column to read in `process`.
pub fn In(comptime kind: Kind) type {
    return struct {
        place: u32,
        pub const of = kind;
    };
}

/// A column to compute in `process`.
pub fn Out(comptime kind: Kind) type {
    return struct {
        output: Output,
        place: u32,
        pub const of = kind;
    };
}

/// A column to read, of whatever kind.
pub const AnyIn = struct { place: u32 };
/// A column to compute, of whatever kind.
pub const AnyOut = struct { output: Output, place: u32 };
/// An output of the plan.
pub const Output = struct { place: u32 };
/// A look-up of the plan: a dictionary's column, joined by the runner.
pub const Lookup = struct { place: u32, type: Type };

pub const Source = union(enum) {
    input: []const u8,
    lookup: u32,
    operation,

    fn eql(a: Source, b: Source) bool {
        return switch (a) {
            .input => |name| b == .input and std.mem.eql(u8, name, b.input),
            .lookup => |place| b == .lookup and place == b.lookup,
            .operation => b == .operation,
        };
    }
};

pub const Dictionary = struct { name: []const u8, key: []const u8, fields: []const Field };

const Read = struct { source: Source, field: Field };
const LookupPlan = struct { dictionary: []const u8, key: []const u8, value: Field };
pub const OutputColumn = struct { computed: bool, source: Source, field: Field };
pub const OutputPlan = struct {
    name: []const u8,
    columns: std.ArrayList(OutputColumn) = .empty,
    computed: u32 = 0,
};

/// Builds the plan. Everything that it hands out is a handle to use in `process`.
pub const Plan = struct {
    stage: Stage,
    /// The stage's configuration, one JSON object.
    config_json: []const u8,
    /// The input's columns.
    input: []const Field,
    dictionaries: []const Dictionary,

    reads: std.ArrayList(Read) = .empty,
    lookups: std.ArrayList(LookupPlan) = .empty,
    outputs: std.ArrayList(OutputPlan) = .empty,
    failure: ?Failure = null,

    /// Says why the call cannot be done: a wrong configuration, a missing column.
    pub fn fail(plan: *Plan, code: []const u8, comptime format: []const u8, values: anytype) Error {
        if (plan.failure == null) plan.failure = .{ .code = code, .message = memory.print(format, values) };
        return error.Failed;
    }

    /// Fails with `wrong-stage` for every other stage.
    pub fn serve(plan: *Plan, stages: []const Stage) Error!void {
        if (std.mem.findScalar(Stage, stages, plan.stage) != null) return;
        var served: std.ArrayList(u8) = .empty;
        for (stages, 0..) |stage, i| {
            served.print(memory.allocator, "{s}{s}", .{ if (i > 0) ", " else "", @tagName(stage) }) catch memory.outOfMemory();
        }
        return plan.fail("wrong-stage", "this transform serves {s}, not {s}", .{ served.items, @tagName(plan.stage) });
    }

    /// Reads the configuration into a struct. Members without a default are required, unknown keys are refused: both fail
    /// with `bad-config`.
    pub fn config(plan: *Plan, comptime Config: type) Error!Config {
        var scanner: std.json.Scanner = .initCompleteInput(memory.allocator, plan.config_json);
        var diagnostics: std.json.Diagnostics = .{};
        scanner.enableDiagnostics(&diagnostics);
        return std.json.parseFromTokenSourceLeaky(Config, memory.allocator, &scanner, .{}) catch |problem|
            plan.fail("bad-config", "{s} at byte {d} of the configuration", .{ configProblem(problem), diagnostics.getByteOffset() });
    }

    /// The input column of this name.
    pub fn inputNamed(plan: *const Plan, name: []const u8) ?*const Field {
        for (plan.input) |*field| if (std.mem.eql(u8, field.name, name)) return field;
        return null;
    }

    fn inputField(plan: *Plan, name: []const u8) Error!*const Field {
        if (plan.inputNamed(name)) |field| return field;
        var names: std.ArrayList(u8) = .empty;
        for (plan.input, 0..) |*field, i| {
            names.print(memory.allocator, "{s}{s}", .{ if (i > 0) ", " else "; it has ", field.name }) catch memory.outOfMemory();
        }
        return plan.fail("missing-column", "the input has no column `{s}`{s}", .{ name, names.items });
    }

    fn addRead(plan: *Plan, source: Source, field: Field) u32 {
        for (plan.reads.items, 0..) |*read_, place| {
            if (read_.source.eql(source)) return @intCast(place);
        }
        memory.append(Read, &plan.reads, .{ .source = source, .field = field });
        return @intCast(plan.reads.items.len - 1);
    }

    fn expectKind(plan: *Plan, field: *const Field, kind: Kind) Error!void {
        if (field.type.kind() == kind) return;
        return plan.fail("wrong-type", "column `{s}` is {f}, not {s}", .{ field.name, field.type, @tagName(kind) });
    }

    /// Reads an input column. Fails with `missing-column` or `wrong-type`. A column read twice crosses once.
    pub fn read(plan: *Plan, comptime kind: Kind, column: []const u8) Error!In(kind) {
        const field = try plan.inputField(column);
        try plan.expectKind(field, kind);
        return .{ .place = plan.addRead(.{ .input = field.name }, field.*) };
    }

    /// Reads an input column, whatever its type is.
    pub fn readAny(plan: *Plan, column: []const u8) Error!AnyIn {
        const field = try plan.inputField(column);
        return .{ .place = plan.addRead(.{ .input = field.name }, field.*) };
    }

    /// Reads the operation of each row: 0 insert, 1 update, 2 delete.
    pub fn readOperation(plan: *Plan) In(.uint8) {
        return .{ .place = plan.addRead(.operation, .required("operation", .uint8)) };
    }

    /// Looks up the column `value` of a dictionary by the input column `key`: null where the dictionary has no such key.
    /// Fails with `missing-dictionary` or `missing-column`. Only what is read crosses the boundary.
    pub fn lookup(plan: *Plan, dictionary: []const u8, key: []const u8, value: []const u8) Error!Lookup {
        _ = try plan.inputField(key);
        const from = for (plan.dictionaries) |*from| {
            if (std.mem.eql(u8, from.name, dictionary)) break from;
        } else return plan.fail(
            "missing-dictionary",
            "the pipeline has no dictionary `{s}`: add it under transforms.dictionaries",
            .{dictionary},
        );
        const field: Field = for (from.fields) |*field| {
            if (std.mem.eql(u8, field.name, value)) break .optional(field.name, field.type);
        } else return plan.fail("missing-column", "dictionary `{s}` has no column `{s}`", .{ dictionary, value });
        for (plan.lookups.items, 0..) |*other, place| {
            const same = std.mem.eql(u8, other.dictionary, dictionary) and std.mem.eql(u8, other.key, key) and
                std.mem.eql(u8, other.value.name, value);
            if (same) return .{ .place = @intCast(place), .type = field.type };
        }
        memory.append(LookupPlan, &plan.lookups, .{ .dictionary = from.name, .key = key, .value = field });
        return .{ .place = @intCast(plan.lookups.items.len - 1), .type = field.type };
    }

    /// Reads a look-up. Fails with `wrong-type`.
    pub fn readLookup(plan: *Plan, comptime kind: Kind, from: Lookup) Error!In(kind) {
        const field = &plan.lookups.items[from.place].value;
        try plan.expectKind(field, kind);
        return .{ .place = plan.addRead(.{ .lookup = from.place }, field.*) };
    }

    /// Adds an output. Stages normalize and migrate have one, `records`; stage map has one for each target table.
    pub fn output(plan: *Plan, name: []const u8) Output {
        memory.append(OutputPlan, &plan.outputs, .{ .name = name });
        return .{ .place = @intCast(plan.outputs.items.len - 1) };
    }

    // Each of the following adds the output's next column. A second column of one name fails with `duplicate-column`.

    /// An input column, under its own name; it does not cross the boundary.
    pub fn forward(plan: *Plan, to: Output, column: []const u8) Error!void {
        return plan.forwardAs(to, column, column);
    }

    /// An input column under another name.
    pub fn forwardAs(plan: *Plan, to: Output, name: []const u8, column: []const u8) Error!void {
        const field = try plan.inputField(column);
        const forwarded: Field = .{ .name = name, .type = field.type, .nullable = field.nullable };
        try plan.addColumn(to, .{ .computed = false, .source = .{ .input = field.name }, .field = forwarded });
    }

    /// A look-up; it does not cross the boundary.
    pub fn forwardLookup(plan: *Plan, to: Output, name: []const u8, from: Lookup) Error!void {
        const field: Field = .optional(name, from.type);
        try plan.addColumn(to, .{ .computed = false, .source = .{ .lookup = from.place }, .field = field });
    }

    /// The operation of each row, as uint8.
    pub fn forwardOperation(plan: *Plan, to: Output, name: []const u8) Error!void {
        try plan.addColumn(to, .{ .computed = false, .source = .operation, .field = .required(name, .uint8) });
    }

    /// A column that `process` computes and that may hold nulls.
    pub fn compute(plan: *Plan, to: Output, name: []const u8, comptime t: Type) Error!Out(t.kind()) {
        const any = try plan.computeAny(to, .optional(name, t));
        return .{ .output = any.output, .place = any.place };
    }

    /// A column that `process` computes and that never holds nulls.
    pub fn computeRequired(plan: *Plan, to: Output, name: []const u8, comptime t: Type) Error!Out(t.kind()) {
        const any = try plan.computeAny(to, .required(name, t));
        return .{ .output = any.output, .place = any.place };
    }

    /// A column whose type is known only at run time.
    pub fn computeAny(plan: *Plan, to: Output, field: Field) Error!AnyOut {
        const place = plan.outputs.items[to.place].computed;
        try plan.addColumn(to, .{ .computed = true, .source = .operation, .field = field });
        plan.outputs.items[to.place].computed += 1;
        return .{ .output = to, .place = place };
    }

    fn addColumn(plan: *Plan, to: Output, column: OutputColumn) Error!void {
        const planned = &plan.outputs.items[to.place];
        for (planned.columns.items) |*other| {
            if (std.mem.eql(u8, other.field.name, column.field.name)) {
                return plan.fail("duplicate-column", "output `{s}` has two columns named `{s}`", .{ planned.name, other.field.name });
            }
        }
        memory.append(OutputColumn, &planned.columns, column);
    }

    pub fn fromAbi(setup: *const abi.Setup) error{BadSetup}!Plan {
        var dictionaries: std.ArrayList(Dictionary) = .empty;
        for (setup.dictionaries.items()) |*from| {
            memory.append(Dictionary, &dictionaries, .{
                .name = from.name.items(),
                .key = from.key.items(),
                .fields = try fieldsFromAbi(from.fields.items()),
            });
        }
        return .{
            .stage = std.enums.fromInt(Stage, setup.stage) orelse return error.BadSetup,
            .config_json = setup.config.items(),
            .input = try fieldsFromAbi(setup.input.items()),
            .dictionaries = dictionaries.items,
        };
    }

    pub fn toAbi(plan: *const Plan) abi.Plan {
        const reads = memory.alloc(abi.Source, plan.reads.items.len);
        for (reads, plan.reads.items) |*to, *from| to.* = sourceToAbi(from.source);
        const lookups = memory.alloc(abi.Lookup, plan.lookups.items.len);
        for (lookups, plan.lookups.items) |*to, *from| {
            to.* = .{ .dictionary = .of(from.dictionary), .key = .of(from.key), .value = .of(from.value.name) };
        }
        const outputs = memory.alloc(abi.OutputPlan, plan.outputs.items.len);
        for (outputs, plan.outputs.items) |*to, *from| {
            const columns = memory.alloc(abi.OutputColumn, from.columns.items.len);
            for (columns, from.columns.items) |*column, *planned| {
                column.* = if (planned.computed)
                    .{ .kind = .computed, .of = .{ .computed = .of(fieldsToAbi(&.{planned.field})) } }
                else
                    .{ .kind = .forwarded, .of = .{ .forwarded = .{
                        .name = .of(planned.field.name),
                        .source = sourceToAbi(planned.source),
                    } } };
            }
            to.* = .{ .name = .of(from.name), .columns = .of(columns) };
        }
        return .{ .reads = .of(reads), .lookups = .of(lookups), .outputs = .of(outputs) };
    }
};

fn configProblem(problem: anyerror) []const u8 {
    return switch (problem) {
        error.UnknownField => "an unknown key",
        error.MissingField => "a key is missing",
        error.DuplicateField => "a key comes twice",
        error.UnexpectedToken, error.InvalidNumber, error.InvalidCharacter, error.Overflow => "a value of the wrong kind",
        error.InvalidEnumTag => "a value that is none of those allowed",
        else => "no JSON object of the right form",
    };
}

fn sourceToAbi(source: Source) abi.Source {
    return switch (source) {
        .input => |name| .{ .kind = .input, .of = .{ .input = .of(name) } },
        .lookup => |place| .{ .kind = .lookup, .of = .{ .lookup = place } },
        .operation => .{ .kind = .operation },
    };
}

/// Trees, depth first.
pub fn fieldsToAbi(fields: []const Field) []const abi.Field {
    var size: usize = 0;
    for (fields) |*field| size += field.treeSize();
    const trees = memory.alloc(abi.Field, size);
    var place: usize = 0;
    for (fields) |*field| putTree(field, trees, &place);
    return trees;
}

fn putTree(field: *const Field, trees: []abi.Field, place: *usize) void {
    const children = field.type.children();
    trees[place.*] = .{
        .name = .of(field.name),
        .type = typeToAbi(field.type),
        .nullable = field.nullable,
        .children = @intCast(children.len),
    };
    place.* += 1;
    for (children) |*child| putTree(child, trees, place);
}

fn typeToAbi(t: Type) abi.Type {
    var to: abi.Type = .{ .kind = @backingInt(t.kind()) };
    switch (t) {
        .decimal128, .decimal256 => |of| to.of = .{ .decimal = .{ .precision = of.precision, .scale = of.scale } },
        .fixed_size_binary => |bytes| to.of = .{ .size = bytes },
        .fixed_size_list => |of| to.of = .{ .size = of.len },
        .time32, .time64, .duration => |unit| to.of = .{ .unit = @backingInt(unit) },
        .timestamp => |of| to.of = .{ .timestamp = .{
            .unit = @backingInt(of.unit),
            .zone = .of(if (of.zone) |zone| abi.String.of(zone) else null),
        } },
        .map => |of| to.of = .{ .sorted = of.sorted },
        else => {},
    }
    return to;
}

fn fieldsFromAbi(trees: []const abi.Field) error{BadSetup}![]const Field {
    var fields: std.ArrayList(Field) = .empty;
    var place: usize = 0;
    while (place < trees.len) memory.append(Field, &fields, try fieldFromAbi(trees, &place));
    return fields.items;
}

fn fieldFromAbi(trees: []const abi.Field, place: *usize) error{BadSetup}!Field {
    if (place.* >= trees.len) return error.BadSetup;
    const from = &trees[place.*];
    place.* += 1;
    if (from.children > trees.len) return error.BadSetup;
    const children = memory.alloc(Field, from.children);
    for (children) |*child| child.* = try fieldFromAbi(trees, place);
    return .{ .name = from.name.items(), .type = try typeFromAbi(&from.type, children), .nullable = from.nullable };
}

fn typeFromAbi(from: *const abi.Type, children: []const Field) error{BadSetup}!Type {
    const kind = std.enums.fromInt(Kind, from.kind) orelse return error.BadSetup;
    switch (kind) {
        .list, .large_list, .fixed_size_list => if (children.len != 1) return error.BadSetup,
        .map => if (children.len != 1 or children[0].type != .@"struct" or children[0].type.@"struct".len != 2) return error.BadSetup,
        .@"struct" => {},
        else => if (children.len > 0) return error.BadSetup,
    }
    switch (kind) {
        inline .decimal128, .decimal256 => |tag| {
            const of = from.of.decimal;
            return @unionInit(Type, @tagName(tag), .{ .precision = of.precision, .scale = of.scale });
        },
        inline .time32, .time64, .duration => |tag| {
            const unit = std.enums.fromInt(types.Unit, from.of.unit) orelse return error.BadSetup;
            return @unionInit(Type, @tagName(tag), unit);
        },
        .timestamp => {
            const of = from.of.timestamp;
            const unit = std.enums.fromInt(types.Unit, of.unit) orelse return error.BadSetup;
            return .{ .timestamp = .{ .unit = unit, .zone = if (of.zone.get()) |zone| zone.items() else null } };
        },
        .fixed_size_binary => return .{ .fixed_size_binary = from.of.size },
        .fixed_size_list => return .{ .fixed_size_list = .{ .item = &children[0], .len = from.of.size } },
        .list => return .{ .list = &children[0] },
        .large_list => return .{ .large_list = &children[0] },
        .@"struct" => return .{ .@"struct" = children },
        .map => return .{ .map = .{ .entries = &children[0], .sorted = from.of.sorted } },
        inline else => |tag| return @unionInit(Type, @tagName(tag), {}),
    }
}
