//! Several outputs, selections, operations, and rows one by one.

const std = @import("std");
const gm = @import("gristmill");
const expectText = std.testing.expectEqualStrings;

const Explode = struct {
    lines: gm.Output,
    deleted: gm.Output,
    operation: gm.In(.uint8),
    tags: gm.In(.list),
    tag: gm.Out(.utf8),

    pub fn plan(p: *gm.Plan) !Explode {
        const lines = p.output("lines");
        try p.forward(lines, "id");
        const tag = try p.compute(lines, "tag", .utf8);
        const deleted = p.output("deleted");
        try p.forwardAs(deleted, "order", "id");
        try p.forwardOperation(deleted, "did");
        return .{
            .lines = lines,
            .deleted = deleted,
            .operation = p.readOperation(),
            .tags = try p.read(.list, "tags"),
            .tag = tag,
        };
    }

    pub fn process(self: Explode, batch: *const gm.Batch, outputs: *gm.Outputs) !void {
        const tags = batch.column(self.tags);
        const items = tags.items.as(.utf8);
        const operations = batch.column(self.operation);
        const tag = outputs.column(self.tag);
        var row = batch.rows;
        while (row > 0) {
            row -= 1;
            if (operations.at(row) == @backingInt(gm.Operation.delete)) outputs.selection(self.deleted).push(row);
            const range = tags.get(row) orelse continue;
            for (range.start..range.end) |item| {
                outputs.selection(self.lines).pushAs(row, if (item == range.start) .insert else .update);
                tag.push(items.at(item));
            }
        }
    }
};

test "rows are left out, repeated and reordered" {
    const run = gm.testing.Harness.init(.map)
        .withOperations(&.{ .insert, .update, .delete, .delete })
        .run(Explode, try .csv(
        \\id:int64,tags:list<utf8>
        \\1,["a","b"]
        \\2,
        \\3,[]
        \\4,["c,d"]
        \\
    ));
    try expectText("id | tag\n4 | c,d\n1 | a\n1 | b\n", run.output("lines"));
    try std.testing.expectEqualSlices(u32, &.{ 3, 0, 0 }, run.selection("lines"));
    try std.testing.expectEqualSlices(gm.Operation, &.{ .insert, .insert, .update }, run.operations("lines"));
    try expectText("order | did\n4 | 2\n3 | 2\n", run.output("deleted"));
    try std.testing.expectEqualSlices(gm.Operation, &.{ .delete, .delete }, run.operations("deleted"));
}

const Numbers = struct {
    numbers: gm.Output,

    pub fn plan(p: *gm.Plan) !Numbers {
        _ = try p.read(.int64, "n");
        _ = try p.read(.utf8, "t");
        _ = try p.read(.decimal128, "d");
        _ = try p.read(.float32, "f");
        _ = try p.read(.boolean, "b");
        _ = try p.read(.binary, "x");
        _ = p.readOperation();
        _ = try p.readLookup(.utf8, try p.lookup("names", "n", "name"));
        const numbers = p.output("numbers");
        _ = try p.compute(numbers, "small", .int8);
        _ = try p.compute(numbers, "text", .utf8);
        _ = try p.compute(numbers, "decimal", .{ .decimal256 = .{ .precision = 40, .scale = 2 } });
        _ = try p.compute(numbers, "float", .float64);
        _ = try p.compute(numbers, "bool", .boolean);
        _ = try p.compute(numbers, "bytes", .{ .fixed_size_binary = 2 });
        return .{ .numbers = numbers };
    }

    pub fn row(self: *const Numbers, r: *gm.Row) !void {
        const copies = try r.get(i64, "n");
        for (0..@intCast(copies)) |_| {
            const out = r.out(self.numbers);
            try out.set("small", copies * 40);
            try out.set("text", try r.get([]const u8, "names.name"));
            try out.set("text", "a second value does nothing");
            try out.set("decimal", try r.get(?i128, "d"));
            try out.set("float", try r.get(f64, "f") + try r.get(f64, "n"));
            try out.set("bool", !try r.get(bool, "b"));
            try out.set("bytes", try r.get([]const u8, "x"));
            if (try r.get(u8, "operation") == @backingInt(gm.Operation.update)) try out.operation(.delete);
        }
        if (std.mem.eql(u8, try r.get([]const u8, "t"), "refuse")) {
            return r.reject(.{ .code = "refused", .message = "it asks to be refused" });
        }
    }
};

fn runNumbers(operations: []const gm.Operation, comptime rows: []const u8) !gm.testing.Run {
    const header = "n:int64,t,d:decimal128(5, 2),f:float32,b:boolean,x:binary\n";
    return gm.testing.Harness.init(.map)
        .withOperations(operations)
        .withDictionary("names", "n", try .csv("n:int64,name\n1,one\n2,two\n4,four\n"))
        .run(Numbers, try .csv(header ++ rows));
}

test "cells of every sort go by name" {
    const run = try runNumbers(&.{ .insert, .insert }, "1,a,-1.50,0.5,true,0102\n2,a,,1,false,0304\n");
    try expectText(
        \\small | text | decimal | float | bool | bytes
        \\40 | one | -1.50 | 1.5 | false | 0102
        \\80 | two | null | 3 | true | 0304
        \\80 | two | null | 3 | true | 0304
        \\
    , run.output("numbers"));
    try std.testing.expectEqualSlices(u32, &.{ 0, 1, 1 }, run.selection("numbers"));
}

test "what a rejected row wrote is taken back" {
    const run = try runNumbers(&@as([7]gm.Operation, @splat(.insert)),
        \\2,refuse,1,0,true,0102
        \\4,a,1,0,true,0102
        \\3,a,1,0,true,0102
        \\1,a,1,0,,0102
        \\1,a,1,0,true,01
        \\0,a,1,0,true,0102
        \\1,a,1,0,true,0506
        \\
    );
    try expectText("small | text | decimal | float | bool | bytes\n40 | one | 1.00 | 1 | false | 0506\n", run.output("numbers"));
    try expectText(
        \\0 refused
        \\1 out-of-range small
        \\2 missing-value names.name
        \\3 missing-value b
        \\4 out-of-range bytes
        \\
    , run.rejects());
}

test "operations are set for all rows or none" {
    const rows = "1,a,1,0,true,0102\n1,a,2,0,true,0102\n1,a,3,0,true,0102\n";
    const all = try runNumbers(&.{ .update, .update, .update }, rows);
    try std.testing.expectEqualSlices(gm.Operation, &@as([3]gm.Operation, @splat(.delete)), all.operations("numbers"));
    const some = try runNumbers(&.{ .update, .insert, .update }, rows);
    try expectText("1 mixed-operations\n", some.rejects());
    try std.testing.expectEqualSlices(gm.Operation, &.{ .delete, .delete }, some.operations("numbers"));
    const late = try runNumbers(&.{ .insert, .update, .insert }, rows);
    try expectText("1 mixed-operations\n", late.rejects());
    try std.testing.expectEqualSlices(gm.Operation, &.{ .insert, .insert }, late.operations("numbers"));
}
