//! Tables from CSV, and as texts.

const std = @import("std");
const abi = @import("../abi.zig");
const builders = @import("../builder.zig");
const column = @import("../column.zig");
const dates = @import("../date.zig");
const decimals = @import("../decimal.zig");
const memory = @import("../memory.zig");
const types = @import("../types.zig");
const Parser = @import("type_text.zig").Parser;
const Array = column.Array;
const Builder = builders.Builder;
const Field = types.Field;

/// Why a text is no table.
pub const Error = error{ NoType, UnfitValue, CellsOfRow };

/// Named columns of one length.
pub const Table = struct {
    rows: usize = 0,
    columns: std.ArrayList(Array) = .empty,

    /// Reads CSV. The header has `name:type`, the type as in a pipeline and `utf8` where there is none; `not null` after it
    /// makes the column required. An empty cell is null, `""` is the empty text. Decimals and dates are written as such,
    /// binary in hexadecimal, times, timestamps and durations as numbers of their unit, nested values as JSON (structs as
    /// arrays of their members, maps as arrays of pairs).
    pub fn csv(text: []const u8) Error!Table {
        var reader: Reader = .{ .rest = text };
        var columns: std.ArrayList(*Builder) = .empty;
        while (true) {
            const cell = reader.cell(true);
            const field = memory.create(try headerField(cell.text));
            memory.append(*Builder, &columns, memory.create(Builder.init(field, 8)));
            if (cell.last) break;
        }
        var table: Table = .{};
        while (reader.rest.len > 0) : (table.rows += 1) {
            for (columns.items, 1..) |to, place| {
                const cell = reader.cell(to.field.type.children().len > 0);
                if (cell.last != (place == columns.items.len)) return error.CellsOfRow;
                if (cell.text.len == 0 and !cell.quoted) to.pushNull() else try pushText(to, cell.text);
            }
        }
        for (columns.items) |from| memory.append(Array, &table.columns, arrayOf(from));
        return table;
    }

    pub fn named(table: *const Table, name: []const u8) ?Array {
        for (table.columns.items) |array| if (std.mem.eql(u8, array.field.name, name)) return array;
        return null;
    }

    /// A line of names and a line for each row, with ` | ` in between.
    pub fn format(table: Table, writer: *std.Io.Writer) std.Io.Writer.Error!void {
        for (table.columns.items, 0..) |array, i| try writer.print("{s}{s}", .{ if (i > 0) " | " else "", array.field.name });
        try writer.writeByte('\n');
        for (0..table.rows) |row| {
            for (table.columns.items, 0..) |array, i| {
                try writer.print("{s}{f}", .{ if (i > 0) " | " else "", Value{ .array = array, .row = row } });
            }
            try writer.writeByte('\n');
        }
    }
};

/// The array of what a builder holds.
pub fn arrayOf(builder: *Builder) Array {
    var nodes: std.ArrayList(abi.Node) = .empty;
    var buffers: std.ArrayList(abi.String) = .empty;
    if (builder.finish(&nodes, &buffers)) |wrong| @panic(wrong);
    return .init(builder.field, nodes.items.ptr, buffers.items.ptr);
}

/// These rows of a column.
pub fn take(array: Array, rows: []const u32) Array {
    const builder = memory.create(Builder.init(array.field, rows.len));
    builder.pushRows(array, rows);
    return arrayOf(builder);
}

/// Prints one value.
pub const Value = struct {
    array: Array,
    row: usize,

    pub fn format(value: Value, writer: *std.Io.Writer) std.Io.Writer.Error!void {
        const array = value.array;
        const row = value.row;
        if (array.isNull(row)) return writer.writeAll("null");
        switch (array.field.type) {
            .null => {},
            .date32 => try writer.print("{f}", .{dates.Date.fromDays(array.as(.date32).at(row))}),
            .decimal128 => |of| try writer.print("{f}", .{decimals.Formatted{ .value = array.as(.decimal128).at(row), .scale = @intCast(of.scale) }}),
            .decimal256 => |of| if (std.math.cast(i128, array.as(.decimal256).at(row))) |narrow|
                try writer.print("{f}", .{decimals.Formatted{ .value = narrow, .scale = @intCast(of.scale) }})
            else
                try writer.print("{d}", .{array.as(.decimal256).at(row)}),
            .@"struct" => |members| {
                try writer.writeByte('{');
                for (0..members.len) |i| {
                    try writer.print("{s}{f}", .{ if (i > 0) ", " else "", Value{ .array = array.child(i), .row = row } });
                }
                try writer.writeByte('}');
            },
            inline else => |_, kind| switch (comptime kind.storage()) {
                .bits => try writer.print("{}", .{array.as(kind).at(row)}),
                // All digits of a half, not only those that tell it from other halves.
                .fixed => if (kind == .float16)
                    try writer.print("{d}", .{@as(f32, array.as(kind).at(row))})
                else
                    try writer.print("{d}", .{array.as(kind).at(row)}),
                .bytes => if (comptime kind.isText())
                    try writer.writeAll(array.as(kind).at(row))
                else
                    try writer.print("{x}", .{array.as(kind).at(row)}),
                .lists, .fixed_lists => {
                    const range = array.as(kind).at(row);
                    try writer.writeByte('[');
                    for (range.start..range.end) |item| {
                        try writer.print("{s}{f}", .{ if (item > range.start) ", " else "", Value{ .array = array.child(0), .row = item } });
                    }
                    try writer.writeByte(']');
                },
                .none, .members => {},
            },
        }
    }
};

fn headerField(text: []const u8) Error!Field {
    const colon = std.mem.findScalar(u8, text, ':') orelse return .optional(text, .utf8);
    var parser: Parser = .{ .rest = text[colon + 1 ..] };
    const field = try parser.element(text[0..colon]);
    return if (parser.rest.len == 0) field else error.NoType;
}

fn pushText(to: *Builder, text: []const u8) Error!void {
    switch (to.field.type) {
        .null => to.pushNull(),
        .boolean => {
            const value = std.mem.eql(u8, text, "true");
            if (!value and !std.mem.eql(u8, text, "false")) return error.UnfitValue;
            to.as(.boolean).push(value);
        },
        .date32 => {
            const date = dates.Date.parse(text) orelse return error.UnfitValue;
            to.as(.date32).push(date.toDays() orelse return error.UnfitValue);
        },
        inline .decimal128, .decimal256 => |of, kind| {
            to.as(kind).push(decimals.parse(text, @intCast(of.scale)) orelse return error.UnfitValue);
        },
        .utf8, .large_utf8 => {
            to.appendData(text);
            (builders.BytesBuilder{ .base = to }).end(0);
        },
        .binary, .large_binary, .fixed_size_binary => {
            const bytes = memory.alloc(u8, text.len / 2);
            _ = std.fmt.hexToBytes(bytes, text) catch return error.UnfitValue;
            (builders.BytesBuilder{ .base = to }).push(bytes);
        },
        .list, .large_list, .fixed_size_list, .@"struct", .map => {
            const json = std.json.parseFromSliceLeaky(std.json.Value, memory.allocator, text, .{ .parse_numbers = false }) catch
                return error.UnfitValue;
            try pushJson(to, json);
        },
        inline else => |_, kind| {
            const T = kind.Value();
            to.as(kind).push(switch (@typeInfo(T)) {
                .int => std.fmt.parseInt(T, text, 10) catch return error.UnfitValue,
                .float => std.fmt.parseFloat(T, text) catch return error.UnfitValue,
                else => comptime unreachable,
            });
        },
    }
}

fn pushJson(to: *Builder, json: std.json.Value) Error!void {
    switch (json) {
        .null => to.pushNull(),
        .bool => |value| try pushText(to, if (value) "true" else "false"),
        .number_string, .string => |text| try pushText(to, text),
        .array => |items| {
            const is_struct = to.field.type == .@"struct";
            if (is_struct and items.items.len != to.children.len) return error.UnfitValue;
            if (to.children.len == 0) return error.UnfitValue;
            for (items.items, 0..) |item, i| try pushJson(&to.children[if (is_struct) i else 0], item);
            (builders.NestedBuilder{ .base = to }).end();
        },
        else => return error.UnfitValue,
    }
}

const Cell = struct { text: []const u8, quoted: bool, last: bool };

const Reader = struct {
    rest: []const u8,

    /// Reads a cell and the separator after it. Commas between brackets belong to a cell that nests.
    fn cell(reader: *Reader, nests: bool) Cell {
        var text: std.ArrayList(u8) = .empty;
        const quoted = reader.rest.len > 0 and reader.rest[0] == '"';
        var in_quotes = false;
        var depth: usize = 0;
        var at: usize = 0;
        while (at < reader.rest.len) : (at += 1) {
            const c = reader.rest[at];
            if (c == '\n' and !in_quotes) break;
            if (quoted and c == '"') {
                if (in_quotes and at + 1 < reader.rest.len and reader.rest[at + 1] == '"') {
                    memory.append(u8, &text, c);
                    at += 1;
                } else in_quotes = !in_quotes;
                continue;
            }
            if (nests and !quoted) {
                if (c == '"' and reader.rest[at - 1] != '\\') in_quotes = !in_quotes;
                if (!in_quotes) switch (c) {
                    '[', '(', '<' => depth += 1,
                    ']', ')', '>' => depth -= 1,
                    else => {},
                };
            }
            if (c == ',' and !in_quotes and depth == 0) break;
            memory.append(u8, &text, c);
        }
        const last = at >= reader.rest.len or reader.rest[at] != ',';
        reader.rest = reader.rest[@min(at + 1, reader.rest.len)..];
        return .{ .text = text.items, .quoted = quoted, .last = last };
    }
};
