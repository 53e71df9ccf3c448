//! Dates and decimals, and builders that grow.

const std = @import("std");
const gm = @import("gristmill");
const expectEqual = std.testing.expectEqual;
const expectText = std.testing.expectEqualStrings;

test "every day is a date and back" {
    var last = gm.Date.fromDays(-1_000_000);
    for (0..2_000_000) |i| {
        const days = @as(i32, @intCast(i)) - 999_999;
        const date = gm.Date.fromDays(days);
        try expectEqual(days, date.toDays());
        try std.testing.expect(if (date.day == last.day + 1) date.month == last.month else date.day == 1);
        last = date;
    }
}

test "dates are read or not at all" {
    try expectEqual(11017, gm.Date.parse("2000-03-01").?.toDays());
    for ([_][]const u8{ "2001-02-29", "2000-13-01", "2000-00-01", "2000-01-00", "2000-1-01", "2000/01/01", "", "-000-01-01" }) |bad| {
        try expectEqual(null, gm.Date.parse(bad));
    }
}

test "decimals are read exactly or not at all" {
    const good = .{ .{ "1", 100 }, .{ "-1.5", -150 }, .{ "0.05", 5 }, .{ "12.34", 1234 }, .{ "-0", 0 }, .{ "000.10", 10 } };
    inline for (good) |case| try expectEqual(case[1], gm.parseDecimal(case[0], 2));
    for ([_][]const u8{ "", "-", ".", "1.", ".5", "1.234", "1,5", "1.2.3", "1e3", "1000000000000000000000000000000000000" }) |bad| {
        try expectEqual(null, gm.parseDecimal(bad, 2));
    }
    try expectEqual(std.math.powi(i128, 10, 38) catch unreachable, gm.parseDecimal("99999999999999999999999999999999999999", 0).? + 1);
}

fn formatted(value: i128, scale: u8) []const u8 {
    return gm.print("{f}", .{gm.FormattedDecimal{ .value = value, .scale = scale }});
}

test "decimals of every length are written" {
    var power: i128 = 1;
    var mixed: i128 = 0;
    for (0..38) |i| {
        for ([_]i128{ power, power - 1, -mixed }) |value| try expectText(gm.print("{d}", .{value}), formatted(value, 0));
        power *= 10;
        mixed = mixed * 10 + @as(i128, @intCast(i % 10));
    }
    const cases = .{
        .{ std.math.minInt(i128), 0, "-170141183460469231731687303715884105728" },
        .{ std.math.maxInt(i128), 38, "1.70141183460469231731687303715884105727" },
        .{ 5, 3, "0.005" },
        .{ -1234, 3, "-1.234" },
        .{ 0, 2, "0.00" },
        .{ 1, 20, "0.00000000000000000001" },
        .{ -1, 76, "-0." ++ @as([75]u8, @splat('0')) ++ "1" },
    };
    inline for (cases) |case| try expectText(case[2], formatted(case[0], case[1]));
}

/// Gives far more rows than there are input rows, every third one null.
const Growing = struct {
    count: gm.In(.int32),
    records: gm.Output,
    text: gm.Out(.large_utf8),
    flag: gm.Out(.boolean),
    list: gm.Out(.list),

    pub fn plan(p: *gm.Plan) !Growing {
        const records = p.output("records");
        return .{
            .count = try p.read(.int32, "count"),
            .records = records,
            .text = try p.compute(records, "text", .large_utf8),
            .flag = try p.compute(records, "flag", .boolean),
            .list = try p.compute(records, "list", gm.list(.optional("item", .int16))),
        };
    }

    pub fn process(self: Growing, batch: *const gm.Batch, outputs: *gm.Outputs) !void {
        const count: usize = @intCast(batch.column(self.count).at(0));
        const text = outputs.column(self.text);
        const flag = outputs.column(self.flag);
        const list = outputs.column(self.list);
        const items = list.child(0).as(.int16);
        const selection = outputs.selection(self.records);
        for (0..count) |i| {
            selection.push(0);
            if (i % 3 == 0) {
                text.pushNull();
                flag.pushNull();
                list.pushNull();
                continue;
            }
            text.append("number ");
            text.print("{d}", .{-@as(i64, @intCast(i))});
            text.end(0);
            flag.push(i % 2 == 1);
            for (0..i % 5) |_| items.push(@intCast(i));
            list.end();
        }
        // Cutting back and pushing again leaves no trace.
        text.base.truncate(count - 2);
        text.pushNull();
        text.push("last");
        flag.base.truncate(count - 2);
        flag.push(true);
        flag.push(false);
        list.base.truncate(count - 2);
        list.end();
        list.pushNull();
    }
};

test "builders grow and shrink" {
    const run = gm.testing.Harness.init(.map).run(Growing, try .csv("count:int32\n10000\n"));
    const got = run.output("records");
    const start = "text | flag | list\nnull | null | null\nnumber -1 | true | [1]\nnumber -2 | false | [2, 2]\nnull |";
    try expectText(start, got[0..start.len]);
    const end = "number -9997 | true | [9997, 9997]\nnull | true | []\nlast | false | null\n";
    try expectText(end, got[got.len - end.len ..]);
}
