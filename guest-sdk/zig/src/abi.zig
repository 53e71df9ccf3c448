//! The contract's types as they lie in memory: `extern` lays out these structs exactly as the canonical ABI does on wasm32.
//! The component exports and the tests call the same two functions on them.

const std = @import("std");

pub fn List(comptime T: type) type {
    return extern struct {
        ptr: [*]const T = @ptrFromInt(16),
        len: u32 = 0,

        pub fn of(items_: []const T) @This() {
            // The host looks at where even an empty list lies.
            return if (items_.len == 0) .{} else .{ .ptr = items_.ptr, .len = @intCast(items_.len) };
        }
        pub fn items(list: @This()) []const T {
            return if (list.len == 0) &.{} else list.ptr[0..list.len];
        }
    };
}

pub const String = List(u8);

pub fn Option(comptime T: type) type {
    return extern struct {
        is_some: bool = false,
        some: T = undefined,

        pub fn of(value: ?T) @This() {
            return if (value) |some| .{ .is_some = true, .some = some } else .{};
        }
        pub fn get(option: @This()) ?T {
            return if (option.is_some) option.some else null;
        }
    };
}

pub const Timestamp = extern struct { unit: u8, zone: Option(String) };

pub const Type = extern struct {
    kind: u8,
    of: extern union {
        none: void,
        decimal: extern struct { precision: u8, scale: i8 },
        size: u32,
        unit: u8,
        timestamp: Timestamp,
        sorted: bool,
    } = .{ .timestamp = .{ .unit = 0, .zone = .{} } },
};

pub const Field = extern struct { name: String, type: Type, nullable: bool, children: u32 };

pub const Node = extern struct { length: u32, null_count: u32 };

pub const Columns = extern struct { nodes: List(Node) = .{}, buffers: List(String) = .{} };

pub const Dictionary = extern struct { name: String, key: String, fields: List(Field) };

pub const Setup = extern struct {
    stage: u8,
    config: String,
    input: List(Field),
    dictionaries: List(Dictionary),
};

pub const Batch = extern struct { rows: u32, columns: Columns };

pub const Source = extern struct {
    pub const Kind = enum(u8) { input, lookup, operation };
    kind: Kind,
    of: extern union { input: String, lookup: u32 } = .{ .lookup = 0 },
};

pub const Lookup = extern struct { dictionary: String, key: String, value: String };

pub const OutputColumn = extern struct {
    pub const Kind = enum(u8) { forwarded, computed };
    kind: Kind,
    of: extern union { forwarded: extern struct { name: String, source: Source }, computed: List(Field) },
};

pub const OutputPlan = extern struct { name: String, columns: List(OutputColumn) };

pub const Plan = extern struct { reads: List(Source), lookups: List(Lookup), outputs: List(OutputPlan) };

pub const Output = extern struct {
    rows: u32,
    selection: Option(List(u32)) = .{},
    operations: Option(List(u8)) = .{},
    columns: Columns = .{},
};

pub const Reject = extern struct { row: u32, code: String, field: Option(String), message: String };

pub const Processed = extern struct { outputs: List(Output), rejects: List(Reject), messages: List(String) };

pub const Failure = extern struct { code: String, message: String };

pub fn Result(comptime T: type) type {
    return extern struct {
        is_failure: bool,
        of: extern union { ok: T, failure: Failure },
    };
}

comptime {
    if (@sizeOf(usize) == 4) {
        std.debug.assert(@sizeOf(Type) == 20 and @sizeOf(Field) == 36);
        std.debug.assert(@sizeOf(Source) == 12 and @sizeOf(OutputColumn) == 24);
        std.debug.assert(@sizeOf(Output) == 44 and @sizeOf(Reject) == 32);
        std.debug.assert(@sizeOf(Result(Plan)) == 28 and @sizeOf(Result(Processed)) == 28);
    }
}
