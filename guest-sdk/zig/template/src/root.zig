//! Orders as a shop exports them, to typed records.

const std = @import("std");
const gm = @import("gristmill");

/// What the component runs.
pub const Transform = Orders;

const Orders = struct {
    price: gm.In(.utf8),
    customer: gm.In(.utf8),
    records: gm.Output,
    name: gm.Out(.utf8),
    cents: gm.Out(.int64),

    /// What is read, computed and passed on. `order_id` is forwarded: its values never enter the component.
    pub fn plan(p: *gm.Plan) !Orders {
        try p.serve(&.{.{{stage}}});
        const records = p.output("records");
        try p.forward(records, "order_id");
        return .{
            .price = try p.read(.utf8, "price"),
            .customer = try p.read(.utf8, "customer"),
            .records = records,
            .name = try p.compute(records, "customer", .utf8),
            .cents = try p.computeRequired(records, "cents", .int64),
        };
    }

    /// One batch. The selection says which input row each output row comes from.
    pub fn process(self: Orders, batch: *const gm.Batch, outputs: *gm.Outputs) !void {
        const prices = batch.column(self.price);
        const customers = batch.column(self.customer);
        const selection = outputs.selection(self.records);
        const name = outputs.column(self.name);
        const cents = outputs.column(self.cents);
        for (0..batch.rows) |row| {
            const value = toCents(prices.get(row) orelse "") orelse {
                outputs.reject(row, .{ .code = "bad-price", .field = "price", .message = "not a price in dollars and cents" });
                continue;
            };
            selection.push(row);
            cents.push(value);
            name.pushOptional(if (customers.get(row)) |customer| std.mem.trim(u8, customer, " ") else null);
        }
    }
};

/// `$12.50` as 1250.
fn toCents(price: []const u8) ?i64 {
    if (price.len < 5 or price[0] != '$' or price[price.len - 3] != '.') return null;
    var cents: i64 = 0;
    for (price[1..], 1..) |c, place| {
        if (place == price.len - 3) continue;
        if (!std.ascii.isDigit(c)) return null;
        cents = std.math.add(i64, std.math.mul(i64, cents, 10) catch return null, c - '0') catch return null;
    }
    return cents;
}

test "prices become cents and bad ones are rejected" {
    const run = gm.testing.Harness.init(.{{stage}}).run(Orders, try .csv(
        \\order_id:int64,customer,price
        \\1, Ada ,$19.90
        \\2,Grace,free
        \\3,,$250.00
        \\
    ));
    try std.testing.expectEqualStrings(
        \\order_id | customer | cents
        \\1 | Ada | 1990
        \\3 | null | 25000
        \\
    , run.output("records"));
    try std.testing.expectEqualStrings("1 bad-price price\n", run.rejects());
}

test "only dollars and cents are a price" {
    for ([_][]const u8{ "", "$", "$1", "$1.5", "1.50", "$-1.50", "$1.-5", "$1.505", "$.50", "$99999999999999999999.00" }) |bad| {
        try std.testing.expectEqual(null, toCents(bad));
    }
    try std.testing.expectEqual(7, toCents("$0.07"));
}
