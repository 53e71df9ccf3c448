const std = @import("std");

/// Gives the module `gristmill` to projects that are built with `zig build`.
pub fn build(b: *std.Build) void {
    _ = b.addModule("gristmill", .{ .root_source_file = b.path("src/gristmill.zig") });
}
