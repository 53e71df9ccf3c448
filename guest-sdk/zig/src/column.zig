//! Typed views of the columns that a batch brings. A view copies nothing.
//!
//! Every view has `at(row)`, whose value behind a null is unspecified, `get(row)`, which is null there, and `isNull(row)`.
//! A row past the end is a mistake of the transform and panics.

const std = @import("std");
const abi = @import("abi.zig");
const memory = @import("memory.zig");
const mistake = @import("mistake.zig");
const types = @import("types.zig");
const Field = types.Field;
const Kind = types.Kind;
const Layout = types.Layout;

/// The view of a column of this kind.
pub fn Column(comptime kind: Kind) type {
    return switch (kind.storage()) {
        .fixed => FixedColumn(kind.Value()),
        .bits => BooleanColumn,
        .bytes => BytesColumn,
        .lists, .fixed_lists => ListColumn,
        .none, .members => Array,
    };
}

/// Which rows are not null: one bit for each, from the least significant one of byte 0.
pub const Validity = struct {
    /// Null: no row is null.
    bits: ?[]const u8,
    rows: usize,

    pub inline fn isNull(validity: Validity, row: usize) bool {
        if (row >= validity.rows) mistake.rowIsOutOfRange(row, validity.rows);
        const bits = validity.bits orelse return false;
        return !bit(bits, row);
    }
};

pub inline fn bit(bits: []const u8, row: usize) bool {
    return bits[row >> 3] >> @intCast(row & 7) & 1 == 1;
}

/// A column of any type, untyped: its own node and buffers, followed by its children's.
pub const Array = struct {
    field: *const Field,
    rows: usize,
    null_count: usize,
    validity: Validity,
    nodes: [*]const abi.Node,
    buffers: [*]const abi.String,

    pub fn isNull(array: Array, row: usize) bool {
        return array.validity.isNull(row) or array.field.type.kind() == .null;
    }

    /// Column `place` of a nested one: the item of a list, a member of a struct, the entries of a map.
    pub fn child(array: Array, place: usize) Array {
        const children = array.field.type.children();
        var skipped: Layout = .{ .nodes = 1, .buffers = array.field.type.kind().ownBuffers() };
        for (children[0..place]) |*before| skipped = skipped.plus(.of(&before.type));
        return .init(&children[place], array.nodes + skipped.nodes, array.buffers + skipped.buffers);
    }

    /// A member of a struct. It has a value of its own behind a null struct: look at both.
    pub fn member(array: Array, name: []const u8) Array {
        for (array.field.type.children(), 0..) |*field, place| {
            if (std.mem.eql(u8, field.name, name)) return array.child(place);
        }
        mistake.structHasNoSuchMember(array.field, name);
    }

    /// A view of the column, which must be of this kind.
    pub fn as(array: Array, comptime kind: Kind) Column(kind) {
        if (array.field.type.kind() != kind) mistake.columnHasAnotherType(array.field, @tagName(kind));
        return switch (comptime kind.storage()) {
            .fixed => .{ .values = array.valuesAs(kind.Value()), .validity = array.validity },
            .bits => .{ .bits = array.buffers[1].items(), .validity = array.validity },
            .bytes => .{ .offsets = array.offsets(), .data = array.bytes(), .validity = array.validity },
            .lists, .fixed_lists => .{ .offsets = array.offsets(), .items = array.child(0), .validity = array.validity },
            .none, .members => array,
        };
    }

    pub fn valuesAs(array: Array, comptime T: type) []const T {
        const from = array.buffers[1].items();
        return if (from.len == 0) &.{} else @as([*]const T, @ptrCast(@alignCast(from.ptr)))[0..array.rows];
    }

    /// The bytes of all texts or byte strings, one after the other.
    pub fn bytes(array: Array) []const u8 {
        return array.buffers[array.field.type.kind().ownBuffers() - 1].items();
    }

    /// Offsets of 32 bits, whatever the column has: a guest's memory holds no more.
    pub fn offsets(array: Array) []const u32 {
        const each: usize = switch (array.field.type) {
            .fixed_size_binary => |width| width,
            .fixed_size_list => |of| of.len,
            else => {
                const from = array.buffers[1].items();
                if (!array.field.type.kind().isLarge()) return @ptrCast(@as([]align(4) const u8, @alignCast(from)));
                const wide: []const u64 = @ptrCast(@as([]align(8) const u8, @alignCast(from)));
                const narrow = memory.alloc(u32, wide.len);
                for (narrow, wide) |*to, offset| to.* = @intCast(offset);
                return narrow;
            },
        };
        const made = memory.alloc(u32, array.rows + 1);
        for (made, 0..) |*to, row| to.* = @intCast(row * each);
        return made;
    }

    pub fn init(field: *const Field, nodes: [*]const abi.Node, buffers: [*]const abi.String) Array {
        const own = field.type.kind().ownBuffers();
        const bits: ?[]const u8 = if (own > 0 and buffers[0].len > 0) buffers[0].items() else null;
        const rows: usize = nodes[0].length;
        return .{
            .field = field,
            .rows = rows,
            .null_count = nodes[0].null_count,
            .validity = .{ .bits = bits, .rows = rows },
            .nodes = nodes,
            .buffers = buffers,
        };
    }

    /// Whether every buffer has the length that the field's type and its node call for.
    pub fn isWhole(array: Array) bool {
        const t = &array.field.type;
        const rows = array.rows;
        const bit_bytes = (rows + 7) / 8;
        if (array.validity.bits) |bits| {
            if (bits.len != bit_bytes) return false;
        } else if (t.kind() != .null and array.null_count > 0) return false;
        const own_is_whole = switch (t.kind().storage()) {
            .none, .members, .fixed_lists => true,
            .bits => array.buffers[1].len == bit_bytes,
            .fixed => array.buffers[1].len == rows * t.width(),
            .bytes => if (t.kind() == .fixed_size_binary)
                array.buffers[1].len == rows * t.width()
            else
                array.hasOffsetsTo(array.buffers[2].len),
            .lists => array.hasOffsetsTo(array.child(0).rows),
        };
        if (!own_is_whole) return false;
        for (0..t.children().len) |place| {
            const of = array.child(place);
            const wanted = switch (t.*) {
                .@"struct" => rows,
                .fixed_size_list => |fixed| rows * fixed.len,
                else => of.rows,
            };
            if (of.rows != wanted or !of.isWhole()) return false;
        }
        return true;
    }

    fn hasOffsetsTo(array: Array, end: usize) bool {
        const size: usize = if (array.field.type.kind().isLarge()) 8 else 4;
        if (array.buffers[1].len != (array.rows + 1) * size) return false;
        const all = array.offsets();
        return all[0] == 0 and all[array.rows] == end;
    }
};

/// A column of values of one width.
pub fn FixedColumn(comptime T: type) type {
    return struct {
        values: []const T,
        validity: Validity,

        pub inline fn at(column: @This(), row: usize) T {
            if (row >= column.values.len) mistake.rowIsOutOfRange(row, column.values.len);
            return column.values[row];
        }
        pub inline fn get(column: @This(), row: usize) ?T {
            return if (column.validity.isNull(row)) null else column.values[row];
        }
        pub inline fn isNull(column: @This(), row: usize) bool {
            return column.validity.isNull(row);
        }
    };
}

pub const BooleanColumn = struct {
    bits: []const u8,
    validity: Validity,

    pub inline fn at(column: @This(), row: usize) bool {
        if (row >= column.validity.rows) mistake.rowIsOutOfRange(row, column.validity.rows);
        return bit(column.bits, row);
    }
    pub inline fn get(column: @This(), row: usize) ?bool {
        return if (column.validity.isNull(row)) null else bit(column.bits, row);
    }
    pub inline fn isNull(column: @This(), row: usize) bool {
        return column.validity.isNull(row);
    }
};

/// A column of texts or byte strings, of any width.
pub const BytesColumn = struct {
    /// Where each value starts in `data`, and where the last one ends.
    offsets: []const u32,
    data: []const u8,
    validity: Validity,

    pub inline fn at(column: @This(), row: usize) []const u8 {
        if (row >= column.validity.rows) mistake.rowIsOutOfRange(row, column.validity.rows);
        return column.data[column.offsets[row]..column.offsets[row + 1]];
    }
    pub inline fn get(column: @This(), row: usize) ?[]const u8 {
        return if (column.validity.isNull(row)) null else column.at(row);
    }
    pub inline fn isNull(column: @This(), row: usize) bool {
        return column.validity.isNull(row);
    }
};

/// A column of lists or maps: ranges over one column of items.
pub const ListColumn = struct {
    offsets: []const u32,
    /// The items of all values, one after the other.
    items: Array,
    validity: Validity,

    pub inline fn at(column: @This(), row: usize) types.Range {
        if (row >= column.validity.rows) mistake.rowIsOutOfRange(row, column.validity.rows);
        return .{ .start = column.offsets[row], .end = column.offsets[row + 1] };
    }
    pub inline fn get(column: @This(), row: usize) ?types.Range {
        return if (column.validity.isNull(row)) null else column.at(row);
    }
    pub inline fn isNull(column: @This(), row: usize) bool {
        return column.validity.isNull(row);
    }
};
