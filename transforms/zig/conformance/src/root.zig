//! The conformance transform, as tests/conformance/README.md specifies it.

const std = @import("std");
const gm = @import("gristmill");
const Map = @import("map.zig").Map;
const Migrate = @import("migrate.zig").Migrate;
const Normalize = @import("normalize.zig").Normalize;

pub const Transform = union(gm.Stage) {
    normalize: Normalize,
    migrate: Migrate,
    map: Map,

    pub fn plan(p: *gm.Plan) !Transform {
        const step = try readStep(p);
        return switch (p.stage) {
            .normalize => .{ .normalize = try .plan(p, step) },
            .migrate => .{ .migrate = try .plan(p) },
            .map => .{ .map = try .plan(p) },
        };
    }

    pub fn process(self: Transform, batch: *const gm.Batch, outputs: *gm.Outputs) !void {
        switch (self) {
            inline else => |stage| stage.process(batch, outputs),
        }
    }
};

/// A whole number and nothing that could be read as one.
fn readStep(p: *gm.Plan) gm.Error!i64 {
    const config = try p.config(struct { step: std.json.Value = .{ .integer = 1 } });
    if (config.step == .integer and config.step.integer >= -1000 and config.step.integer <= 1000) return config.step.integer;
    return p.fail("bad-config", "step is not a whole number from -1000 to 1000", .{});
}

test {
    _ = @import("tests.zig");
}
