//! Types as people write them in pipelines.

const std = @import("std");
const memory = @import("../memory.zig");
const types = @import("../types.zig");
const Field = types.Field;
const Type = types.Type;

pub const Error = error{NoType};

pub const Parser = struct {
    rest: []const u8,

    fn take(parser: *Parser, word: []const u8) bool {
        parser.rest = std.mem.trimStart(u8, parser.rest, " ");
        if (!std.mem.startsWith(u8, parser.rest, word)) return false;
        parser.rest = parser.rest[word.len..];
        return true;
    }

    fn expect(parser: *Parser, word: []const u8) Error!void {
        if (!parser.take(word)) return error.NoType;
    }

    fn until(parser: *Parser, ends: []const u8) []const u8 {
        parser.rest = std.mem.trimStart(u8, parser.rest, " ");
        const end = std.mem.findAny(u8, parser.rest, ends) orelse parser.rest.len;
        defer parser.rest = parser.rest[end..];
        return parser.rest[0..end];
    }

    fn number(parser: *Parser, comptime T: type) Error!T {
        return std.fmt.parseInt(T, parser.until(",)> "), 10) catch error.NoType;
    }

    fn unit(parser: *Parser) Error!types.Unit {
        const text = parser.until(",) ");
        const names = [_][]const u8{ "s", "ms", "us", "ns" };
        for (names, 0..) |name, i| if (std.mem.eql(u8, name, text)) return @fromBackingInt(@intCast(i));
        return error.NoType;
    }

    /// A type and what may stand behind it: `int64 not null`.
    pub fn element(parser: *Parser, name: []const u8) Error!Field {
        const t = try parser.typeOf();
        return .{ .name = name, .type = t, .nullable = !parser.take("not null") };
    }

    fn typeOf(parser: *Parser) Error!Type {
        const kind = std.meta.stringToEnum(types.Kind, parser.until(":,()<> ")) orelse return error.NoType;
        switch (kind) {
            inline .decimal128, .decimal256 => |tag| {
                try parser.expect("(");
                const precision = try parser.number(u8);
                try parser.expect(",");
                const scale = try parser.number(i8);
                try parser.expect(")");
                return @unionInit(Type, @tagName(tag), .{ .precision = precision, .scale = scale });
            },
            .fixed_size_binary => {
                try parser.expect("(");
                const bytes = try parser.number(u32);
                try parser.expect(")");
                return .{ .fixed_size_binary = bytes };
            },
            inline .time32, .time64, .duration => |tag| {
                try parser.expect("(");
                const of = try parser.unit();
                try parser.expect(")");
                return @unionInit(Type, @tagName(tag), of);
            },
            .timestamp => {
                try parser.expect("(");
                const of = try parser.unit();
                const zone = if (parser.take(",")) parser.until(")") else null;
                try parser.expect(")");
                return .{ .timestamp = .{ .unit = of, .zone = zone } };
            },
            inline .list, .large_list => |tag| {
                try parser.expect("<");
                const item = memory.create(try parser.element("item"));
                try parser.expect(">");
                return @unionInit(Type, @tagName(tag), item);
            },
            .fixed_size_list => {
                try parser.expect("<");
                const item = memory.create(try parser.element("item"));
                try parser.expect(",");
                const len = try parser.number(u32);
                try parser.expect(">");
                return .{ .fixed_size_list = .{ .item = item, .len = len } };
            },
            .@"struct" => {
                try parser.expect("<");
                var members: std.ArrayList(Field) = .empty;
                while (true) {
                    const name = parser.until(":");
                    try parser.expect(":");
                    memory.append(Field, &members, try parser.element(name));
                    if (!parser.take(",")) break;
                }
                try parser.expect(">");
                return .{ .@"struct" = members.items };
            },
            .map => {
                try parser.expect("<");
                const key: Field = .required("key", try parser.typeOf());
                try parser.expect(",");
                const entry = [_]Field{ key, try parser.element("value") };
                try parser.expect(">");
                return .{ .map = .{ .entries = memory.create(Field.required("entries", .{ .@"struct" = memory.copy(Field, &entry) })) } };
            },
            inline else => |tag| return @unionInit(Type, @tagName(tag), {}),
        }
    }
};
