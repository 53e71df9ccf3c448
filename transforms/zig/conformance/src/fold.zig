//! The rule that texts are folded by.

const std = @import("std");
const gm = @import("gristmill");

/// The texts of a column without spaces at both ends and with `A`–`Z` in lower case. What is behind a null may be anything.
pub fn fold(texts: gm.BytesColumn) []const []const u8 {
    const lower = gm.memory.alloc(u8, texts.data.len);
    for (lower, texts.data) |*to, byte| to.* = byte + (if (byte -% 'A' < 26) @as(u8, 32) else 0);
    const folded = gm.memory.alloc([]const u8, texts.offsets.len - 1);
    for (folded, texts.offsets[0..folded.len], texts.offsets[1..]) |*to, start, end| {
        to.* = std.mem.trim(u8, lower[start..end], " ");
    }
    return folded;
}
