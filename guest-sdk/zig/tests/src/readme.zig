//! The README shows the examples that these tests run.

const std = @import("std");

test "the README shows the examples" {
    const readme = @embedFile("readme");
    inline for (.{ "orders.zig", "trim.zig" }) |name| {
        if (std.mem.find(u8, readme, @embedFile(name)) == null) {
            std.debug.print("README.md does not show tests/src/{s} as it is\n", .{name});
            return error.TestUnexpectedResult;
        }
    }
}
