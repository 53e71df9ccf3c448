//! A transform that reads names and amounts, rejects rows without an amount, and looks up a currency's rate.

const std = @import("std");
const gm = @import("gristmill");

pub const Transform = Orders;

const Config = struct {
    max_amount: f64,
};

const Orders = struct {
    config: Config,
    name: gm.In(.utf8),
    amount: gm.In(.float64),
    rate: gm.In(.float64),
    records: gm.Output,
    trimmed: gm.Out(.utf8),
    euros: gm.Out(.decimal128),

    pub fn plan(p: *gm.Plan) !Orders {
        try p.serve(&.{.normalize});
        const rate = try p.lookup("currencies", "currency", "rate");
        const records = p.output("records");
        try p.forward(records, "order_id");
        return .{
            .config = try p.config(Config),
            .name = try p.read(.utf8, "name"),
            .amount = try p.read(.float64, "amount"),
            .rate = try p.readLookup(.float64, rate),
            .records = records,
            .trimmed = try p.compute(records, "name", .utf8),
            .euros = try p.computeRequired(records, "euros", .{ .decimal128 = .{ .precision = 18, .scale = 2 } }),
        };
    }

    pub fn process(self: Orders, batch: *const gm.Batch, outputs: *gm.Outputs) !void {
        const names = batch.column(self.name);
        const amounts = batch.column(self.amount);
        const rates = batch.column(self.rate);
        const selection = outputs.selection(self.records);
        const trimmed = outputs.column(self.trimmed);
        const euros = outputs.column(self.euros);
        for (0..batch.rows) |row| {
            const amount = amounts.get(row) orelse {
                outputs.reject(row, .{ .code = "missing-amount", .field = "amount", .message = "there is no amount" });
                continue;
            };
            const rate = rates.get(row) orelse {
                outputs.reject(row, .{ .code = "unknown-currency", .field = "currency", .message = "it has no rate" });
                continue;
            };
            if (amount > self.config.max_amount) {
                outputs.reject(row, .{ .code = "too-large", .field = "amount", .message = "more than max_amount" });
                continue;
            }
            selection.push(row);
            trimmed.pushOptional(if (names.get(row)) |name| std.mem.trim(u8, name, " ") else null);
            euros.push(@intFromFloat(@round(amount * rate * 100)));
        }
    }
};

test "amounts become euros and bad ones are rejected" {
    const currencies: gm.testing.Table = try .csv("code,rate:float64\nUSD,0.9\nEUR,1\n");
    const run = gm.testing.Harness.init(.normalize)
        .withConfig("{\"max_amount\": 1000}")
        .withDictionary("currencies", "code", currencies)
        .run(Orders, try .csv(
        \\order_id:int64,name,amount:float64,currency
        \\7, ann ,10,USD
        \\8,ben,,USD
        \\9,,3,EUR
        \\10,dan,2000,EUR
        \\11,eve,1,XXX
        \\
    ));
    try std.testing.expectEqualStrings(
        \\order_id | name | euros
        \\7 | ann | 9.00
        \\9 | null | 3.00
        \\
    , run.output("records"));
    try std.testing.expectEqualStrings(
        "1 missing-amount amount\n3 too-large amount\n4 unknown-currency currency\n",
        run.rejects(),
    );
}
