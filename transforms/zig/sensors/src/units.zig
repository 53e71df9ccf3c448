//! Units of measurement, each as a line through those of its quantity.

const std = @import("std");

pub const Quantity = enum {
    temperature,
    pressure,
    humidity,
    speed,

    /// The least value that nature allows, in the quantity's own unit.
    pub fn least(quantity: Quantity) f64 {
        return switch (quantity) {
            .temperature => -273.15,
            .pressure, .humidity, .speed => 0,
        };
    }
};

/// `value × factor + offset` is the value in the quantity's own unit: °C, hPa, % or m/s.
pub const Unit = struct {
    quantity: Quantity,
    factor: f64 = 1,
    offset: f64 = 0,

    pub fn convert(unit: Unit, value: f64) f64 {
        return value * unit.factor + unit.offset;
    }
};

pub const named = std.StaticStringMap(Unit).initComptime(.{
    .{ "C", Unit{ .quantity = .temperature } },
    .{ "F", Unit{ .quantity = .temperature, .factor = 5.0 / 9.0, .offset = -160.0 / 9.0 } },
    .{ "K", Unit{ .quantity = .temperature, .offset = -273.15 } },
    .{ "hPa", Unit{ .quantity = .pressure } },
    .{ "Pa", Unit{ .quantity = .pressure, .factor = 0.01 } },
    .{ "bar", Unit{ .quantity = .pressure, .factor = 1000 } },
    .{ "psi", Unit{ .quantity = .pressure, .factor = 68.94757293168361 } },
    .{ "mmHg", Unit{ .quantity = .pressure, .factor = 1.33322387415 } },
    .{ "%", Unit{ .quantity = .humidity } },
    .{ "ratio", Unit{ .quantity = .humidity, .factor = 100 } },
    .{ "m/s", Unit{ .quantity = .speed } },
    .{ "km/h", Unit{ .quantity = .speed, .factor = 1.0 / 3.6 } },
    .{ "kn", Unit{ .quantity = .speed, .factor = 1852.0 / 3600.0 } },
    .{ "mph", Unit{ .quantity = .speed, .factor = 0.44704 } },
});

test "the same temperature in every unit" {
    for ([_]struct { []const u8, f64 }{ .{ "C", 100 }, .{ "F", 212 }, .{ "K", 373.15 } }) |case| {
        try std.testing.expectApproxEqAbs(100, named.get(case[0]).?.convert(case[1]), 1e-9);
    }
    try std.testing.expectApproxEqAbs(1013.250144, named.get("mmHg").?.convert(760), 1e-6);
    try std.testing.expectApproxEqAbs(10, named.get("km/h").?.convert(36), 1e-9);
    try std.testing.expectEqual(null, named.get("furlong"));
}
