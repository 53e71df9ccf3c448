const std = @import("std");

/// `zig build test`. `gristmill transform build` makes the component without this file.
pub fn build(b: *std.Build) void {
    const gristmill = b.addModule("gristmill", .{ .root_source_file = b.path("vendor/gristmill/src/gristmill.zig") });
    const tests = b.addTest(.{ .root_module = b.createModule(.{
        .root_source_file = b.path("src/root.zig"),
        .target = b.graph.host,
        .imports = &.{.{ .name = "gristmill", .module = gristmill }},
    }) });
    b.step("test", "Run the unit tests").dependOn(&b.addRunArtifact(tests).step);
}
