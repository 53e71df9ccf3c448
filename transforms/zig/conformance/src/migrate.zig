//! Stage migrate: every column back as it is, computed.

const gm = @import("gristmill");

pub const Migrate = struct {
    columns: []const Column,

    const Column = struct { in: gm.AnyIn, out: gm.AnyOut };

    pub fn plan(p: *gm.Plan) gm.Error!Migrate {
        const records = p.output("records");
        const columns = gm.memory.alloc(Column, p.input.len);
        for (columns, p.input) |*column, field| {
            column.* = .{ .in = try p.readAny(field.name), .out = try p.computeAny(records, field) };
        }
        return .{ .columns = columns };
    }

    pub fn process(self: Migrate, batch: *const gm.Batch, outputs: *gm.Outputs) void {
        for (self.columns) |column| outputs.give(column.out, batch.any(column.in));
    }
};
