//! Readings of sensors, in whatever unit each sensor writes, to two tables.
//!
//! `readings` holds every reading in the unit of its quantity: °C, hPa, % or m/s. `alarms` holds those that lie outside the
//! limits that the dictionary `sensors` has for the sensor; when a reading is corrected, its alarm is deleted.

const std = @import("std");
const gm = @import("gristmill");
const units = @import("units.zig");

pub const Transform = Sensors;

const Config = struct {
    /// Decimal places that values are rounded to.
    decimals: u4 = 2,
};

const Sensors = struct {
    scale: f64,
    value: gm.In(.float64),
    unit: gm.In(.utf8),
    operation: gm.In(.uint8),
    quantity: gm.In(.utf8),
    low: gm.In(.float64),
    high: gm.In(.float64),
    readings: gm.Output,
    converted: gm.Out(.float64),
    alarms: gm.Output,
    outside: gm.Out(.float64),
    limit: gm.Out(.utf8),

    pub fn plan(p: *gm.Plan) !Sensors {
        try p.serve(&.{.map});
        const config = try p.config(Config);
        const quantity = try p.lookup("sensors", "sensor", "quantity");
        const site = try p.lookup("sensors", "sensor", "site");

        const readings = p.output("readings");
        try p.forward(readings, "sensor");
        try p.forward(readings, "read_at");
        try p.forwardLookup(readings, "site", site);
        try p.forwardLookup(readings, "quantity", quantity);
        const converted = try p.computeRequired(readings, "value", .float64);

        const alarms = p.output("alarms");
        try p.forward(alarms, "sensor");
        try p.forward(alarms, "read_at");
        try p.forwardLookup(alarms, "site", site);
        const outside = try p.computeRequired(alarms, "value", .float64);
        const limit = try p.compute(alarms, "limit", .utf8);

        return .{
            .scale = std.math.pow(f64, 10, @floatFromInt(config.decimals)),
            .value = try p.read(.float64, "value"),
            .unit = try p.read(.utf8, "unit"),
            .operation = p.readOperation(),
            .quantity = try p.readLookup(.utf8, quantity),
            .low = try p.readLookup(.float64, try p.lookup("sensors", "sensor", "low")),
            .high = try p.readLookup(.float64, try p.lookup("sensors", "sensor", "high")),
            .readings = readings,
            .converted = converted,
            .alarms = alarms,
            .outside = outside,
            .limit = limit,
        };
    }

    pub fn process(self: Sensors, batch: *const gm.Batch, outputs: *gm.Outputs) !void {
        const values = batch.column(self.value);
        const unit_names = batch.column(self.unit);
        const operations = batch.column(self.operation);
        const quantities = batch.column(self.quantity);
        const lows = batch.column(self.low);
        const highs = batch.column(self.high);
        const readings = outputs.selection(self.readings);
        const converted = outputs.column(self.converted);
        const alarms = outputs.selection(self.alarms);
        const outside = outputs.column(self.outside);
        const limit = outputs.column(self.limit);
        for (0..batch.rows) |row| {
            const value = self.convert(values.get(row), unit_names.get(row), quantities.get(row)) catch |problem| {
                outputs.reject(row, whyNot(problem));
                continue;
            };
            readings.push(row);
            converted.push(value);

            const too_low = if (lows.get(row)) |low| value < low else false;
            const too_high = if (highs.get(row)) |high| value > high else false;
            const inserted = operations.at(row) == @backingInt(gm.Operation.insert);
            if (!too_low and !too_high) {
                // A first reading has no alarm to take back.
                if (inserted) continue;
                alarms.pushAs(row, .delete);
                limit.pushNull();
            } else {
                alarms.pushAs(row, @fromBackingInt(@intCast(operations.at(row))));
                limit.push(if (too_low) "low" else "high");
            }
            outside.push(value);
        }
    }

    const Problem = error{ NoValue, UnknownUnit, UnknownSensor, OtherQuantity, Impossible };

    fn convert(self: Sensors, value: ?f64, unit_name: ?[]const u8, quantity_name: ?[]const u8) Problem!f64 {
        const unit = units.named.get(unit_name orelse return error.UnknownUnit) orelse return error.UnknownUnit;
        const quantity = std.meta.stringToEnum(units.Quantity, quantity_name orelse return error.UnknownSensor) orelse
            return error.UnknownSensor;
        if (unit.quantity != quantity) return error.OtherQuantity;
        const measured = unit.convert(value orelse return error.NoValue);
        if (!std.math.isFinite(measured) or measured < quantity.least()) return error.Impossible;
        return @round(measured * self.scale) / self.scale;
    }
};

fn whyNot(problem: Sensors.Problem) gm.Reject {
    return switch (problem) {
        error.NoValue => .{ .code = "no-value", .field = "value", .message = "there is no value" },
        error.UnknownUnit => .{ .code = "unknown-unit", .field = "unit", .message = "it is no unit that is known" },
        error.UnknownSensor => .{ .code = "unknown-sensor", .field = "sensor", .message = "the dictionary has no quantity for it" },
        error.OtherQuantity => .{ .code = "other-quantity", .field = "unit", .message = "the sensor measures another quantity" },
        error.Impossible => .{ .code = "impossible", .field = "value", .message = "there is no such value in nature" },
    };
}

const Table = gm.testing.Table;

fn runWith(operations: ?[]const gm.Operation, config: []const u8, comptime rows: []const u8) !gm.testing.Run {
    var harness = gm.testing.Harness.init(.map).withConfig(config).withDictionary("sensors", "sensor", try Table.csv(
        \\sensor,site,quantity,low:float64,high:float64
        \\t1,roof,temperature,-30,45
        \\p1,roof,pressure,900,1100
        \\x1,cellar,magic,,
        \\
    ));
    harness.operations = operations;
    return harness.run(Sensors, try .csv("sensor,read_at:int64,value:float64,unit\n" ++ rows));
}

test "readings are converted, and those outside the limits raise an alarm" {
    const run = try runWith(null, "{}", "t1,1,68,F\nt1,2,330.123,K\np1,3,29.5,psi\np1,4,0.85,bar\n");
    try std.testing.expectEqualStrings(
        \\sensor | read_at | site | quantity | value
        \\t1 | 1 | roof | temperature | 20
        \\t1 | 2 | roof | temperature | 56.97
        \\p1 | 3 | roof | pressure | 2033.95
        \\p1 | 4 | roof | pressure | 850
        \\
    , run.output("readings"));
    try std.testing.expectEqualStrings(
        \\sensor | read_at | site | value | limit
        \\t1 | 2 | roof | 56.97 | high
        \\p1 | 3 | roof | 2033.95 | high
        \\p1 | 4 | roof | 850 | low
        \\
    , run.output("alarms"));
}

test "a corrected reading takes its alarm back" {
    const run = try runWith(&.{ .update, .update, .delete }, "{}", "t1,1,20,C\nt1,2,60,C\nt1,3,60,C\n");
    try std.testing.expectEqualSlices(gm.Operation, &.{ .delete, .update, .delete }, run.operations("alarms"));
    try std.testing.expectEqualSlices(gm.Operation, &.{ .update, .update, .delete }, run.operations("readings"));
}

test "what is no reading is rejected" {
    const run = try runWith(null, "{\"decimals\": 0}",
        \\t1,1,,C
        \\t1,2,20,furlong
        \\t1,3,20,
        \\nowhere,4,20,C
        \\x1,5,20,C
        \\t1,6,20,hPa
        \\t1,7,-300,C
        \\t1,8,nan,C
        \\t1,9,20.6,C
        \\
    );
    try std.testing.expectEqualStrings(
        \\0 no-value value
        \\1 unknown-unit unit
        \\2 unknown-unit unit
        \\3 unknown-sensor sensor
        \\4 unknown-sensor sensor
        \\5 other-quantity unit
        \\6 impossible value
        \\7 impossible value
        \\
    , run.rejects());
    try std.testing.expectEqualStrings("sensor | read_at | site | quantity | value\nt1 | 9 | roof | temperature | 21\n", run.output("readings"));
}

test {
    _ = units;
}
