//! Dates of the Gregorian calendar, also before its time.

const std = @import("std");

pub const Date = struct {
    year: i32,
    month: u32,
    day: u32,

    /// Days since 1970-01-01. Null if there is no such day; years go from -9999 to 9999.
    pub fn toDays(date: Date) ?i32 {
        if (date.year < -9999 or date.year > 9999 or date.month < 1 or date.month > 12 or date.day < 1) return null;
        const leap = @mod(date.year, 4) == 0 and (@mod(date.year, 100) != 0 or @mod(date.year, 400) == 0);
        const lengths = [_]u32{ 31, if (leap) 29 else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
        if (date.day > lengths[date.month - 1]) return null;
        // Years are counted from March, so that the leap day is the last one; eras have 400 years and 146097 days.
        const year = date.year - @intFromBool(date.month <= 2);
        const era = @divFloor(year, 400);
        const of_era = year - era * 400;
        const month: i32 = @intCast((date.month + 9) % 12);
        const of_year = @divTrunc(153 * month + 2, 5) + @as(i32, @intCast(date.day)) - 1;
        return era * 146097 + of_era * 365 + @divTrunc(of_era, 4) - @divTrunc(of_era, 100) + of_year - 719468;
    }

    pub fn fromDays(days: i32) Date {
        const shifted = @as(i64, days) + 719468;
        const era = @divFloor(shifted, 146097);
        const day = shifted - era * 146097;
        const of_era = @divTrunc(day - @divTrunc(day, 1460) + @divTrunc(day, 36524) - @divTrunc(day, 146096), 365);
        const of_year = day - (365 * of_era + @divTrunc(of_era, 4) - @divTrunc(of_era, 100));
        const from_march = @divTrunc(5 * of_year + 2, 153);
        const month: u32 = @intCast(@mod(from_march + 2, 12) + 1);
        return .{
            .year = @intCast(of_era + era * 400 + @intFromBool(month <= 2)),
            .month = month,
            .day = @intCast(of_year - @divTrunc(153 * from_march + 2, 5) + 1),
        };
    }

    /// `2013-01-31`. Null if it is anything else.
    pub fn parse(text: []const u8) ?Date {
        if (text.len != 10 or text[4] != '-' or text[7] != '-') return null;
        const date: Date = .{
            .year = digits(i32, text[0..4]) orelse return null,
            .month = digits(u32, text[5..7]) orelse return null,
            .day = digits(u32, text[8..10]) orelse return null,
        };
        return if (date.toDays() == null) null else date;
    }

    pub fn format(date: Date, writer: *std.Io.Writer) std.Io.Writer.Error!void {
        const sign = if (date.year < 0) "-" else "";
        try writer.print("{s}{d:0>4}-{d:0>2}-{d:0>2}", .{ sign, @abs(date.year), date.month, date.day });
    }
};

fn digits(comptime T: type, text: []const u8) ?T {
    for (text) |c| if (!std.ascii.isDigit(c)) return null;
    return std.fmt.parseInt(T, text, 10) catch null;
}
