//! Stage normalize: of the output's columns those whose inputs are there, one loop for each.

const std = @import("std");
const gm = @import("gristmill");
const fold = @import("fold.zig").fold;

const micros_per_day = 86_400_000_000;
const scale = 10;
const decimal: gm.Type = .{ .decimal128 = .{ .precision = 38, .scale = scale } };
const numbers_type = gm.list(.optional("item", .int64));
const place_type = gm.structOf(&.{ .optional("city", .utf8), .optional("score", .int32) });
const visits_type = gm.list(.optional("item", gm.structOf(&.{ .optional("page", .utf8), .optional("seconds", .int32) })));

fn Computed(comptime from: gm.Kind, comptime to: gm.Kind) type {
    return struct { in: gm.In(from), out: gm.Out(to) };
}

pub const Normalize = struct {
    step: i64,
    records: gm.Output,
    weight: ?Computed(.int64, .int64) = null,
    text: ?struct { in: gm.In(.utf8), out: gm.Out(.utf8), state: gm.Out(.uint8) } = null,
    decimals: ?struct {
        amount: gm.In(.decimal128),
        fee: gm.In(.decimal128),
        total: gm.Out(.decimal128),
        negated: gm.Out(.decimal128),
        order: gm.Out(.int8),
        text: gm.Out(.utf8),
    } = null,
    at: ?struct { in: gm.In(.timestamp), day: gm.Out(.date32), time: gm.Out(.time64) } = null,
    count: ?struct { in: gm.In(.int64), next: gm.Out(.int64), mixed: gm.Out(.int64) } = null,
    ratio: ?struct { in: gm.In(.float64), half: gm.Out(.float64), finite: gm.Out(.boolean) } = null,
    data: ?Computed(.binary, .binary) = null,
    numbers: ?Computed(.list, .int64) = null,
    place: ?Computed(.@"struct", .utf8) = null,
    visits: ?Computed(.list, .list) = null,

    pub fn plan(p: *gm.Plan, step: i64) gm.Error!Normalize {
        const records = p.output("records");
        var self: Normalize = .{ .step = step, .records = records };
        _ = try has(p, "id", .int64);
        try p.forward(records, "id");
        if (try has(p, "code", .utf8)) {
            try p.forwardLookup(records, "name", try p.lookup("codes", "code", "name"));
            const weight = try p.readLookup(.int64, try p.lookup("codes", "code", "weight"));
            self.weight = .{ .in = weight, .out = try p.computeRequired(records, "weight", .int64) };
        }
        if (try has(p, "text", .utf8)) self.text = .{
            .in = try p.read(.utf8, "text"),
            .out = try p.compute(records, "text", .utf8),
            .state = try p.computeRequired(records, "text_state", .uint8),
        };
        const both = [_]bool{ try has(p, "amount", decimal), try has(p, "fee", decimal) };
        if (both[0] and both[1]) self.decimals = .{
            .amount = try p.read(.decimal128, "amount"),
            .fee = try p.read(.decimal128, "fee"),
            .total = try p.compute(records, "total", decimal),
            .negated = try p.compute(records, "negated", decimal),
            .order = try p.compute(records, "order", .int8),
            .text = try p.compute(records, "amount_text", .utf8),
        };
        if (p.inputNamed("at")) |at| {
            if (at.type != .timestamp or at.type.timestamp.unit != .microsecond) return wrongType(p, at);
            self.at = .{
                .in = try p.read(.timestamp, "at"),
                .day = try p.compute(records, "day", .date32),
                .time = try p.compute(records, "time", .{ .time64 = .microsecond }),
            };
        }
        if (try has(p, "count", .int64)) self.count = .{
            .in = try p.read(.int64, "count"),
            .next = try p.compute(records, "next", .int64),
            .mixed = try p.compute(records, "mixed", .int64),
        };
        if (try has(p, "ratio", .float64)) self.ratio = .{
            .in = try p.read(.float64, "ratio"),
            .half = try p.compute(records, "half", .float64),
            .finite = try p.compute(records, "finite", .boolean),
        };
        if (try has(p, "data", .binary)) self.data = .{
            .in = try p.read(.binary, "data"),
            .out = try p.compute(records, "reversed", .binary),
        };
        if (try has(p, "numbers", numbers_type)) self.numbers = .{
            .in = try p.read(.list, "numbers"),
            .out = try p.compute(records, "sum", .int64),
        };
        if (try has(p, "place", place_type)) self.place = .{
            .in = try p.read(.@"struct", "place"),
            .out = try p.compute(records, "city", .utf8),
        };
        if (try has(p, "visits", visits_type)) self.visits = .{
            .in = try p.read(.list, "visits"),
            .out = try p.compute(records, "visits", visits_type),
        };
        return self;
    }

    pub fn process(self: Normalize, batch: *const gm.Batch, outputs: *gm.Outputs) void {
        const folded = if (self.text) |text| fold(batch.column(text.in)) else &.{};
        const faults = self.findFaults(batch, folded);
        const rows = self.reject(outputs, faults);
        inline for (.{ putWeight, putText, putDecimals, putAt, putCount, putRatio, putData, putNumbers, putPlace, putVisits }) |put| {
            put(self, batch, outputs, rows, folded);
        }
    }

    /// A mebibyte of this instance's memory, written so that it is truly taken.
    fn hoard() void {
        const kept = gm.memory.alloc(u8, 1 << 20);
        @memset(kept, 1);
        std.mem.doNotOptimizeAway(kept.ptr);
    }

    fn findFaults(self: Normalize, batch: *const gm.Batch, folded: []const []const u8) []const Fault {
        const faults = gm.memory.alloc(Fault, batch.rows);
        @memset(faults, .none);
        if (self.text) |text| {
            const texts = batch.column(text.in);
            for (folded, faults, 0..) |value, *fault, row| {
                if (value.len != 5 and value.len != 6 or texts.isNull(row)) continue;
                if (std.mem.eql(u8, value, "raise")) @panic("asked to raise");
                // There is no process that could end: a transform in Zig panics.
                if (std.mem.eql(u8, value, "leave")) @panic("asked to leave");
                if (std.mem.eql(u8, value, "hoard")) hoard();
                if (std.mem.eql(u8, value, "reject")) fault.* = .refused;
            }
        }
        if (self.decimals) |decimals| {
            const amounts = batch.column(decimals.amount);
            const fees = batch.column(decimals.fee);
            for (amounts.values, fees.values, faults, 0..) |amount, fee, *fault, row| {
                const total, const over = @addWithOverflow(amount, fee);
                if (over == 0 and total < limit and total > -limit) continue;
                if (fault.* == .none and !amounts.isNull(row) and !fees.isNull(row)) fault.* = .large_total;
            }
        }
        if (self.count) |count| {
            const counts = batch.column(count.in);
            for (counts.values, faults, 0..) |value, *fault, row| {
                if (@addWithOverflow(value, self.step)[1] == 1 and fault.* == .none and !counts.isNull(row)) fault.* = .large_count;
            }
        }
        return faults;
    }

    fn reject(self: Normalize, outputs: *gm.Outputs, faults: []const Fault) Accepted {
        var bad: usize = 0;
        for (faults) |fault| bad += @intFromBool(fault != .none);
        if (bad == 0) return .{ .rows = null, .count = faults.len };
        const selection = outputs.selection(self.records);
        for (faults, 0..) |fault, row| switch (fault) {
            .none => selection.push(row),
            .refused => outputs.reject(row, .{ .code = "refused", .field = "text", .message = "the text asks to be refused" }),
            .large_total => outputs.reject(row, .{ .code = "overflow", .field = "amount", .message = "the total has more than 38 digits" }),
            .large_count => outputs.reject(row, .{ .code = "overflow", .field = "count", .message = "the next count does not fit int64" }),
        };
        outputs.say("{d} of {d} rows rejected", .{ bad, faults.len });
        return .{ .rows = selection.rows.items, .count = selection.rows.items.len };
    }
};

fn has(p: *gm.Plan, name: []const u8, wanted: gm.Type) gm.Error!bool {
    const field = p.inputNamed(name) orelse return false;
    return if (field.type.eql(wanted)) true else wrongType(p, field);
}

fn wrongType(p: *gm.Plan, field: *const gm.Field) gm.Error {
    return p.fail("wrong-type", "column `{s}` has the unexpected type {f}", .{ field.name, field.type });
}

const Fault = enum(u8) { none, refused, large_total, large_count };

const limit: i128 = std.math.powi(i128, 10, 38) catch unreachable;

/// The rows that are not rejected: all of them where there are no `rows`.
const Accepted = struct {
    rows: ?[]const u32,
    count: usize,

    inline fn at(accepted: Accepted, i: usize) usize {
        return if (accepted.rows) |rows| rows[i] else i;
    }
};

const Folded = []const []const u8;

fn putWeight(self: Normalize, batch: *const gm.Batch, outputs: *gm.Outputs, rows: Accepted, _: Folded) void {
    const weight = self.weight orelse return;
    const weights = batch.column(weight.in);
    for (outputs.column(weight.out).extend(rows.count), 0..) |*to, i| to.* = weights.get(rows.at(i)) orelse -1;
}

fn putText(self: Normalize, batch: *const gm.Batch, outputs: *gm.Outputs, rows: Accepted, folded: Folded) void {
    const text = self.text orelse return;
    const texts = batch.column(text.in);
    const to = outputs.column(text.out);
    for (outputs.column(text.state).extend(rows.count), 0..) |*state, i| {
        const row = rows.at(i);
        if (texts.isNull(row)) {
            to.pushNull();
            state.* = 0;
        } else {
            to.push(folded[row]);
            state.* = if (folded[row].len == 0) 1 else 2;
        }
    }
}

fn putDecimals(self: Normalize, batch: *const gm.Batch, outputs: *gm.Outputs, rows: Accepted, _: Folded) void {
    const decimals = self.decimals orelse return;
    const amounts = batch.column(decimals.amount);
    const fees = batch.column(decimals.fee);
    const total = outputs.column(decimals.total);
    const negated = outputs.column(decimals.negated);
    const order = outputs.column(decimals.order);
    const text = outputs.column(decimals.text);
    const totals = total.extend(rows.count);
    const negatives = negated.extend(rows.count);
    const orders = order.extend(rows.count);
    for (totals, negatives, orders, 0..) |*sum, *negative, *ordered, i| {
        const row = rows.at(i);
        const amount = amounts.at(row);
        const fee = fees.at(row);
        // Wrapping, because what lies behind a null may be anything.
        sum.* = amount +% fee;
        negative.* = 0 -% amount;
        ordered.* = @as(i8, @intFromBool(amount > fee)) - @intFromBool(amount < fee);
        if (amounts.isNull(row)) text.pushNull() else text.pushDecimal(amount, scale);
    }
    const amount_array = batch.any(decimals.amount);
    const fee_array = batch.any(decimals.fee);
    for ([_]*gm.Builder{ total.base, negated.base, order.base }) |base| base.takeNulls(amount_array, rows.rows);
    for ([_]*gm.Builder{ total.base, order.base }) |base| base.takeNulls(fee_array, rows.rows);
}

fn putAt(self: Normalize, batch: *const gm.Batch, outputs: *gm.Outputs, rows: Accepted, _: Folded) void {
    const at = self.at orelse return;
    const values = batch.column(at.in);
    const day = outputs.column(at.day);
    const time = outputs.column(at.time);
    for (day.extend(rows.count), time.extend(rows.count), 0..) |*days, *micros, i| {
        const value = values.at(rows.at(i));
        const whole = @divFloor(value, micros_per_day);
        // What lies behind a null may be no day at all.
        days.* = @truncate(whole);
        micros.* = value -% whole *% micros_per_day;
    }
    day.base.takeNulls(batch.any(at.in), rows.rows);
    time.base.takeNulls(batch.any(at.in), rows.rows);
}

fn putCount(self: Normalize, batch: *const gm.Batch, outputs: *gm.Outputs, rows: Accepted, _: Folded) void {
    const count = self.count orelse return;
    const values = batch.column(count.in);
    const next = outputs.column(count.next);
    const mixed = outputs.column(count.mixed);
    for (next.extend(rows.count), mixed.extend(rows.count), 0..) |*following, *mix, i| {
        const value = values.at(rows.at(i));
        following.* = value +% self.step;
        mix.* = value *% 31 +% 7;
    }
    next.base.takeNulls(batch.any(count.in), rows.rows);
    mixed.base.takeNulls(batch.any(count.in), rows.rows);
}

fn putRatio(self: Normalize, batch: *const gm.Batch, outputs: *gm.Outputs, rows: Accepted, _: Folded) void {
    const ratio = self.ratio orelse return;
    const values = batch.column(ratio.in);
    const half = outputs.column(ratio.half);
    const finite = outputs.column(ratio.finite);
    for (half.extend(rows.count), 0..) |*to, i| {
        const value = values.at(rows.at(i));
        to.* = if (std.math.isNan(value)) @bitCast(@as(u64, 0x7ff8_0000_0000_0000)) else value * 0.5;
        finite.push(std.math.isFinite(value));
    }
    half.base.takeNulls(batch.any(ratio.in), rows.rows);
    finite.base.takeNulls(batch.any(ratio.in), rows.rows);
}

fn putData(self: Normalize, batch: *const gm.Batch, outputs: *gm.Outputs, rows: Accepted, _: Folded) void {
    const data = self.data orelse return;
    const values = batch.column(data.in);
    const reversed = outputs.column(data.out);
    for (0..rows.count) |i| {
        const bytes = values.get(rows.at(i)) orelse {
            reversed.pushNull();
            continue;
        };
        const to = reversed.room(bytes.len);
        for (to, 0..) |*byte, k| byte.* = bytes[bytes.len - 1 - k];
        reversed.end(bytes.len);
    }
}

fn putNumbers(self: Normalize, batch: *const gm.Batch, outputs: *gm.Outputs, rows: Accepted, _: Folded) void {
    const numbers = self.numbers orelse return;
    const lists = batch.column(numbers.in);
    const items = lists.items.as(.int64);
    const sum = outputs.column(numbers.out);
    for (sum.extend(rows.count), 0..) |*to, i| {
        const range = lists.at(rows.at(i));
        to.* = 0;
        for (range.start..range.end) |item| to.* +%= items.get(item) orelse 0;
    }
    sum.base.takeNulls(batch.any(numbers.in), rows.rows);
}

fn putPlace(self: Normalize, batch: *const gm.Batch, outputs: *gm.Outputs, rows: Accepted, _: Folded) void {
    const place = self.place orelse return;
    const places = batch.column(place.in);
    const cities = places.member("city").as(.utf8);
    const city = outputs.column(place.out);
    for (0..rows.count) |i| {
        const row = rows.at(i);
        city.pushOptional(if (places.isNull(row)) null else cities.get(row));
    }
}

fn putVisits(self: Normalize, batch: *const gm.Batch, outputs: *gm.Outputs, rows: Accepted, _: Folded) void {
    const visits = self.visits orelse return;
    const array = batch.any(visits.in);
    if (rows.rows) |taken| outputs.any(visits.out).pushRows(array, taken) else outputs.give(visits.out, array);
}
