//! Column types and fields.

const std = @import("std");
const memory = @import("memory.zig");

/// What a column is, without its parameters.
pub const Kind = enum(u8) {
    null,
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    float32,
    float64,
    decimal128,
    decimal256,
    utf8,
    large_utf8,
    binary,
    large_binary,
    fixed_size_binary,
    date32,
    date64,
    time32,
    time64,
    timestamp,
    duration,
    list,
    large_list,
    fixed_size_list,
    @"struct",
    map,

    /// How views and builders of this kind store values.
    pub fn storage(kind: Kind) Storage {
        return switch (kind) {
            .null => .none,
            .boolean => .bits,
            .utf8, .large_utf8, .binary, .large_binary, .fixed_size_binary => .bytes,
            .list, .large_list, .map => .lists,
            .fixed_size_list => .fixed_lists,
            .@"struct" => .members,
            else => .fixed,
        };
    }

    pub fn isLarge(kind: Kind) bool {
        return kind == .large_utf8 or kind == .large_binary or kind == .large_list;
    }

    pub fn isText(kind: Kind) bool {
        return kind == .utf8 or kind == .large_utf8;
    }

    /// Buffers of a column of this kind itself, without its children.
    pub fn ownBuffers(kind: Kind) usize {
        return switch (kind.storage()) {
            .none => 0,
            .members, .fixed_lists => 1,
            .bytes => if (kind == .fixed_size_binary) 2 else 3,
            else => 2,
        };
    }

    /// What one value is: `[]const u8` for texts and byte strings, `Range` for lists, unscaled integers for decimals.
    pub fn Value(comptime kind: Kind) type {
        return switch (kind) {
            .null, .@"struct" => void,
            .boolean => bool,
            .int8 => i8,
            .int16 => i16,
            .int32, .date32, .time32 => i32,
            .int64, .date64, .time64, .timestamp, .duration => i64,
            .uint8 => u8,
            .uint16 => u16,
            .uint32 => u32,
            .uint64 => u64,
            .float16 => f16,
            .float32 => f32,
            .float64 => f64,
            .decimal128 => i128,
            .decimal256 => i256,
            .utf8, .large_utf8, .binary, .large_binary, .fixed_size_binary => []const u8,
            .list, .large_list, .fixed_size_list, .map => Range,
        };
    }
};

pub const Storage = enum { none, bits, fixed, bytes, lists, fixed_lists, members };

/// Items from `start` to before `end`.
pub const Range = struct {
    start: usize,
    end: usize,

    pub fn len(range: Range) usize {
        return range.end - range.start;
    }
};

pub const Unit = enum(u8) { second, millisecond, microsecond, nanosecond };

pub const Decimal = struct { precision: u8, scale: i8 };
/// `zone` is an IANA name or a fixed offset such as `+00:00`; null is local time.
pub const Timestamp = struct { unit: Unit, zone: ?[]const u8 = null };
pub const FixedSizeList = struct { item: *const Field, len: u32 };
pub const Map = struct {
    /// A required struct of key, which is never null, and value.
    entries: *const Field,
    /// The keys of each value are sorted.
    sorted: bool = false,
};

/// The type of a column: `.utf8`, `.{ .decimal128 = .{ .precision = 18, .scale = 2 } }`, `gm.list(.optional("item", .int64))`.
pub const Type = union(Kind) {
    null,
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    float32,
    float64,
    decimal128: Decimal,
    decimal256: Decimal,
    utf8,
    large_utf8,
    binary,
    large_binary,
    /// Width of a value in bytes.
    fixed_size_binary: u32,
    /// Days since 1970-01-01.
    date32,
    /// Milliseconds since 1970-01-01.
    date64,
    /// Seconds or milliseconds since midnight.
    time32: Unit,
    /// Microseconds or nanoseconds since midnight.
    time64: Unit,
    /// Since 1970-01-01T00:00:00, in UTC where there is a zone, else local time.
    timestamp: Timestamp,
    duration: Unit,
    list: *const Field,
    large_list: *const Field,
    fixed_size_list: FixedSizeList,
    @"struct": []const Field,
    map: Map,

    pub fn kind(t: Type) Kind {
        return std.meta.activeTag(t);
    }

    /// The item of a list, the members of a struct, the entries of a map.
    pub fn children(t: *const Type) []const Field {
        return switch (t.*) {
            .list, .large_list => |item| item[0..1],
            .fixed_size_list => |list_| list_.item[0..1],
            .map => |map_| map_.entries[0..1],
            .@"struct" => |members| members,
            else => &.{},
        };
    }

    /// Bytes of one value of fixed width; 0 for other types and for booleans.
    pub fn width(t: Type) usize {
        return switch (t) {
            .fixed_size_binary => |bytes| bytes,
            else => switch (t.kind()) {
                inline else => |k| if (comptime k.storage() == .fixed) @sizeOf(k.Value()) else 0,
            },
        };
    }

    pub fn eql(a: Type, b: Type) bool {
        if (a.kind() != b.kind()) return false;
        const same = switch (a) {
            .decimal128 => |of| std.meta.eql(of, b.decimal128),
            .decimal256 => |of| std.meta.eql(of, b.decimal256),
            .fixed_size_binary => |bytes| bytes == b.fixed_size_binary,
            .time32 => |unit| unit == b.time32,
            .time64 => |unit| unit == b.time64,
            .duration => |unit| unit == b.duration,
            .timestamp => |of| of.unit == b.timestamp.unit and sameZone(of.zone, b.timestamp.zone),
            .fixed_size_list => |of| of.len == b.fixed_size_list.len,
            .map => |of| of.sorted == b.map.sorted,
            else => true,
        };
        if (!same or a.children().len != b.children().len) return false;
        for (a.children(), b.children()) |x, y| {
            if (x.nullable != y.nullable or !std.mem.eql(u8, x.name, y.name) or !x.type.eql(y.type)) return false;
        }
        return true;
    }

    /// As it is written in a pipeline: `decimal128(18, 2)`, `list<int64>`.
    pub fn format(t: Type, writer: *std.Io.Writer) std.Io.Writer.Error!void {
        const name = @tagName(t.kind());
        switch (t) {
            .decimal128, .decimal256 => |of| try writer.print("{s}({d}, {d})", .{ name, of.precision, of.scale }),
            .fixed_size_binary => |bytes| try writer.print("{s}({d})", .{ name, bytes }),
            .time32, .time64, .duration => |unit| try writer.print("{s}({s})", .{ name, unitText(unit) }),
            .timestamp => |of| if (of.zone) |zone|
                try writer.print("{s}({s}, {s})", .{ name, unitText(of.unit), zone })
            else
                try writer.print("{s}({s})", .{ name, unitText(of.unit) }),
            .list, .large_list => |item| try writer.print("{s}<{f}>", .{ name, Element{ .field = item } }),
            .fixed_size_list => |of| try writer.print("{s}<{f}, {d}>", .{ name, Element{ .field = of.item }, of.len }),
            .@"struct" => |members| {
                try writer.print("{s}<", .{name});
                for (members, 0..) |*member, i| {
                    try writer.print("{s}{s}: {f}", .{ if (i > 0) ", " else "", member.name, Element{ .field = member } });
                }
                try writer.writeByte('>');
            },
            .map => |of| {
                const entry = of.entries.type.children();
                try writer.print("{s}<{f}, {f}>", .{ name, entry[0].type, Element{ .field = &entry[1] } });
            },
            else => try writer.writeAll(name),
        }
    }
};

const Element = struct {
    field: *const Field,

    pub fn format(element: Element, writer: *std.Io.Writer) std.Io.Writer.Error!void {
        try writer.print("{f}{s}", .{ element.field.type, if (element.field.nullable) "" else " not null" });
    }
};

fn unitText(unit: Unit) []const u8 {
    return switch (unit) {
        .second => "s",
        .millisecond => "ms",
        .microsecond => "us",
        .nanosecond => "ns",
    };
}

fn sameZone(a: ?[]const u8, b: ?[]const u8) bool {
    return if (a == null or b == null) a == null and b == null else std.mem.eql(u8, a.?, b.?);
}

/// A named column, or a member of a nested one.
pub const Field = struct {
    name: []const u8,
    type: Type,
    nullable: bool,

    /// A field that may hold nulls.
    pub fn optional(name: []const u8, field_type: Type) Field {
        return .{ .name = name, .type = field_type, .nullable = true };
    }

    /// A field that never holds nulls.
    pub fn required(name: []const u8, field_type: Type) Field {
        return .{ .name = name, .type = field_type, .nullable = false };
    }

    /// Nodes of the field's tree.
    pub fn treeSize(field: *const Field) usize {
        var size: usize = 1;
        for (field.type.children()) |*child| size += child.treeSize();
        return size;
    }
};

pub fn list(comptime item: Field) Type {
    const items = [_]Field{item};
    return .{ .list = &items[0] };
}

pub fn structOf(comptime members: []const Field) Type {
    return .{ .@"struct" = members };
}

/// A map with unsorted keys.
pub fn map(comptime key: Type, comptime value: Field) Type {
    const entries = [_]Field{.required("entries", structOf(&.{ Field.required("key", key), value }))};
    return .{ .map = .{ .entries = &entries[0] } };
}

/// How many nodes and buffers a column has, its children included.
pub const Layout = struct {
    nodes: usize = 0,
    buffers: usize = 0,

    pub fn of(t: *const Type) Layout {
        var whole: Layout = .{ .nodes = 1, .buffers = t.kind().ownBuffers() };
        for (t.children()) |*child| whole = whole.plus(.of(&child.type));
        return whole;
    }

    pub fn plus(a: Layout, b: Layout) Layout {
        return .{ .nodes = a.nodes + b.nodes, .buffers = a.buffers + b.buffers };
    }
};
