//! Decimals as texts. A decimal is its unscaled value, an integer, and the scale of its column.

const std = @import("std");

/// A number with or without a minus and a point, as the unscaled value of a decimal of this scale. Null if it is anything
/// else, has more digits behind the point than `scale`, or more than 38 digits in all.
pub fn parse(text: []const u8, scale: u8) ?i128 {
    const negative = text.len > 0 and text[0] == '-';
    const number = text[@intFromBool(negative)..];
    const point = std.mem.findScalar(u8, number, '.') orelse number.len;
    const whole = number[0..point];
    const fraction = if (point < number.len) number[point + 1 ..] else "";
    // A point needs digits on both sides.
    if (whole.len == 0 or (point < number.len and fraction.len == 0) or fraction.len > scale) return null;
    var value: i128 = 0;
    for ([_][]const u8{ whole, fraction }) |part| for (part) |c| {
        if (!std.ascii.isDigit(c)) return null;
        value = value * 10 + (c - '0');
        if (value >= limit) return null;
    };
    for (fraction.len..scale) |_| {
        value *= 10;
        if (value >= limit) return null;
    }
    return if (negative) -value else value;
}

const limit = std.math.powi(i128, 10, 38) catch unreachable;

/// Prints an unscaled value with the digits of its scale: `{f}` of `.{ .value = 1990, .scale = 2 }` is `19.90`.
pub const Formatted = struct {
    value: i128,
    scale: u8,

    pub fn format(decimal: Formatted, writer: *std.Io.Writer) std.Io.Writer.Error!void {
        var text: [longest]u8 = undefined;
        try writer.writeAll(write(&text, decimal.value, decimal.scale));
    }
};

/// What `write` needs at most: the scale of a decimal is at most 76.
pub const longest = 2 + 77;

/// The text of an unscaled value, at the end of `to`.
pub fn write(to: *[longest]u8, value: i128, scale: u8) []const u8 {
    var left = @abs(value);
    var at: usize = to.len;
    var digits: usize = 0;
    // 19 digits at a time: only those of 64 bits are cheap to come by.
    while (left > 0 or digits <= scale) {
        const step = divideByTenTo19(left);
        left = step.quotient;
        var part = step.rest;
        for (0..19) |_| {
            if (part == 0 and left == 0 and digits > scale) break;
            at -= 1;
            to[at] = @intCast('0' + part % 10);
            part /= 10;
            digits += 1;
            if (digits == scale and scale > 0) {
                at -= 1;
                to[at] = '.';
            }
        }
    }
    if (value < 0) {
        at -= 1;
        to[at] = '-';
    }
    return to[at..];
}

/// 10^19 is 2^19 times 5^19, which leaves room for 19 bits a step in 64.
fn divideByTenTo19(value: u128) struct { quotient: u128, rest: u64 } {
    const ten_to_19 = 10_000_000_000_000_000_000;
    if (value <= std.math.maxInt(u64)) {
        const small: u64 = @intCast(value);
        return .{ .quotient = small / ten_to_19, .rest = small % ten_to_19 };
    }
    const five_to_19: u64 = 19_073_486_328_125;
    const shifted = value >> 19;
    const high: u64 = @intCast(shifted >> 64);
    const low: u64 = @truncate(shifted);
    var quotient = @as(u128, high / five_to_19) << 64;
    var rest = high % five_to_19;
    inline for (.{ 45, 26, 7 }) |shift| {
        const step = rest << 19 | (low >> shift & 0x7ffff);
        quotient |= @as(u128, step / five_to_19) << shift;
        rest = step % five_to_19;
    }
    const last = rest << 7 | (low & 0x7f);
    quotient |= last / five_to_19;
    return .{ .quotient = quotient, .rest = last % five_to_19 << 19 | @as(u64, @truncate(value & 0x7ffff)) };
}
