//! Names without spaces around them, and how many dozens there are.

const std = @import("std");
const gm = @import("gristmill");

pub const Transform = Trim;

const Trim = struct {
    records: gm.Output,

    pub fn plan(p: *gm.Plan) !Trim {
        _ = try p.read(.utf8, "name");
        _ = try p.read(.int64, "quantity");
        const records = p.output("records");
        _ = try p.computeRequired(records, "name", .utf8);
        _ = try p.compute(records, "dozens", .int64);
        return .{ .records = records };
    }

    pub fn row(self: *const Trim, r: *gm.Row) !void {
        const name = try r.get([]const u8, "name"); // null: the row is rejected with `missing-value`
        const quantity = try r.get(?i64, "quantity");
        const out = r.out(self.records);
        try out.set("name", std.mem.trim(u8, name, " "));
        try out.set("dozens", if (quantity) |n| @divFloor(n, 12) else null);
    }
};

test "names are trimmed and nameless rows rejected" {
    const run = gm.testing.Harness.init(.normalize).run(Trim, try .csv("name,quantity:int64\n ann,25\n,1\nben,\n"));
    try std.testing.expectEqualStrings("name | dozens\nann | 2\nben | null\n", run.output("records"));
    try std.testing.expectEqualStrings("1 missing-value name\n", run.rejects());
}
