//! Every type of the contract goes through the plan, views and builders and comes out as it went in.

const std = @import("std");
const gm = @import("gristmill");

const Way = enum { given, taken, built };

const Identity = struct {
    way: Way,
    columns: []const Column,

    const Column = struct { in: gm.AnyIn, out: gm.AnyOut };

    pub fn plan(p: *gm.Plan) !Identity {
        const config = try p.config(struct { way: Way });
        const records = p.output("records");
        const columns = gm.memory.alloc(Column, p.input.len);
        for (columns, p.input) |*column, field| {
            column.* = .{ .in = try p.readAny(field.name), .out = try p.computeAny(records, field) };
        }
        return .{ .way = config.way, .columns = columns };
    }

    pub fn process(self: Identity, batch: *const gm.Batch, outputs: *gm.Outputs) !void {
        for (self.columns) |column| {
            const from = batch.any(column.in);
            switch (self.way) {
                .given => outputs.give(column.out, from),
                .taken => for (0..batch.rows) |row| outputs.any(column.out).pushRows(from, &.{@intCast(row)}),
                .built => for (0..batch.rows) |row| push(outputs.any(column.out), from, row),
            }
        }
    }
};

fn push(to: *gm.Builder, from: gm.Array, row: usize) void {
    if (from.isNull(row)) return to.pushNull();
    switch (from.field.type.kind()) {
        .null => to.pushNull(),
        inline .list, .large_list, .fixed_size_list, .map => |kind| {
            const lists = from.as(kind);
            const range = lists.at(row);
            for (range.start..range.end) |item| push(to.as(kind).child(0), lists.items, item);
            to.as(kind).end();
        },
        .@"struct" => {
            for (0..from.field.type.children().len) |place| push(to.as(.@"struct").child(place), from.child(place), row);
            to.as(.@"struct").end();
        },
        inline else => |kind| to.as(kind).push(from.as(kind).at(row)),
    }
}

const header =
    \\n:null,b:boolean,i8:int8,i16:int16,i32:int32,i64:int64 not null,u8:uint8,u16:uint16,u32:uint32,u64:uint64,f16:float16,
++ "f32:float32,f64:float64,d128:decimal128(38, 10),d256:decimal256(50, 2),t:utf8,lt:large_utf8,bin:binary,lbin:large_binary," ++
    "fix:fixed_size_binary(3),day:date32,day64:date64,t32:time32(s),t64:time64(ns),at:timestamp(us, Europe/Paris)," ++
    "local:timestamp(ms),took:duration(ns),list:list<int64>,ll:large_list<utf8 not null>,fl:fixed_size_list<int16, 2>," ++
    "s:struct<a: int32, b: utf8 not null>,m:map<utf8, list<int32>>," ++
    "deep:list<struct<c: list<utf8>, d: map<int8, fixed_size_list<boolean, 2>>>>\n";

const rows =
    \\,true,-128,-32768,-2147483648,-9223372036854775808,255,65535,4294967295,18446744073709551615,-1.5,0.25,1e10,-0.0000000001,-12.34,a,é,00ff,ff,616263,1969-12-31,-1,86399,1,-1,2,3,[1,null,3],["x",""],[1,null],[7,"y"],[["k",[1]],["l",null]],[[["p",null],[[1,[true,false]]]],null]
    \\,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,,,,
    \\,false,127,32767,2147483647,9223372036854775807,0,0,0,0,65504,-3.5,-0.5,9999999999999999999999999999.9999999999,0.00,"","","","",000000,2000-02-29,0,0,0,0,0,0,[],[],[3,4],[null,""],[],[]
    \\
;

const wanted =
    \\n | b | i8 | i16 | i32 | i64 | u8 | u16 | u32 | u64 | f16 | f32 | f64 | d128 | d256 | t | lt | bin | lbin | fix | day | day64 | t32 | t64 | at | local | took | list | ll | fl | s | m | deep
    \\null | true | -128 | -32768 | -2147483648 | -9223372036854775808 | 255 | 65535 | 4294967295 | 18446744073709551615 | -1.5 | 0.25 | 10000000000 | -0.0000000001 | -12.34 | a | é | 00ff | ff | 616263 | 1969-12-31 | -1 | 86399 | 1 | -1 | 2 | 3 | [1, null, 3] | [x, ] | [1, null] | {7, y} | [{k, [1]}, {l, null}] | [{[p, null], [{1, [true, false]}]}, null]
    \\null | null | null | null | null | 0 | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null
    \\null | false | 127 | 32767 | 2147483647 | 9223372036854775807 | 0 | 0 | 0 | 0 | 65504 | -3.5 | -0.5 | 9999999999999999999999999999.9999999999 | 0.00 |  |  |  |  | 000000 | 2000-02-29 | 0 | 0 | 0 | 0 | 0 | 0 | [] | [] | [3, 4] | {null, } | [] | []
    \\
;

fn harness(way: Way) gm.testing.Harness {
    return gm.testing.Harness.init(.migrate).withConfig(gm.print("{{\"way\": \"{t}\"}}", .{way}));
}

test "every type comes back, given, taken and built" {
    inline for (comptime std.enums.values(Way)) |way| {
        const run = harness(way).run(Identity, try .csv(header ++ rows));
        try std.testing.expectEqualStrings(wanted, run.output("records"));
        try std.testing.expectEqual(33, run.columns_read);
    }
}

test "no rows are no problem" {
    inline for (comptime std.enums.values(Way)) |way| {
        const run = harness(way).run(Identity, try .csv(header));
        try std.testing.expectEqual(null, run.failure);
        try std.testing.expectEqual(0, run.selection("records").len);
    }
}
