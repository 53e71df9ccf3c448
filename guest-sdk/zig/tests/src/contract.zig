//! What a plan refuses, what is a mistake of the transform, and what the runner would refuse.

const std = @import("std");
const gm = @import("gristmill");
const expectText = std.testing.expectEqualStrings;

const Deed = enum {
    nothing,
    @"read a missing column",
    @"read as another type",
    @"look up nowhere",
    @"look up a missing value",
    @"compute twice",
    @"serve map",
    @"push one too many",
    @"push a null",
    @"operate on some",
    @"select a rejected row",
    @"push no UTF-8",
    fail,
    @"end with an error",
    say,
};

/// Does what its configuration says, right or wrong.
const Deeds = struct {
    deed: Deed,
    name: gm.In(.utf8),
    records: gm.Output,
    text: gm.Out(.utf8),
    number: gm.Out(.int32),

    pub fn plan(p: *gm.Plan) !Deeds {
        const deed = (try p.config(struct { do: Deed = .nothing })).do;
        const records = p.output("records");
        try p.forward(records, "id");
        switch (deed) {
            .@"read a missing column" => _ = try p.read(.utf8, "nmae"),
            .@"read as another type" => _ = try p.read(.utf8, "id"),
            .@"look up nowhere" => _ = try p.lookup("cities", "name", "mayor"),
            .@"look up a missing value" => _ = try p.lookup("codes", "name", "mayor"),
            .@"compute twice" => _ = try p.compute(records, "id", .utf8),
            .@"serve map" => try p.serve(&.{ .migrate, .map }),
            else => {},
        }
        _ = p.readOperation();
        _ = try p.read(.utf8, "name");
        const self: Deeds = .{
            .deed = deed,
            .name = try p.read(.utf8, "name"),
            .records = records,
            .text = try p.compute(records, "text", .utf8),
            .number = try p.computeRequired(records, "number", .int32),
        };
        try p.forwardLookup(records, "city", try p.lookup("codes", "name", "city"));
        return self;
    }

    pub fn process(self: Deeds, batch: *const gm.Batch, outputs: *gm.Outputs) !void {
        const names = batch.column(self.name);
        const text = outputs.column(self.text);
        const number = outputs.column(self.number);
        for (0..batch.rows) |row| {
            text.push(names.at(row));
            number.push(@intCast(row));
        }
        switch (self.deed) {
            .@"push one too many" => number.push(1),
            .@"push a null" => {
                number.base.truncate(batch.rows - 1);
                number.pushNull();
            },
            .@"operate on some" => {
                const selection = outputs.selection(self.records);
                selection.pushAs(0, .delete);
                selection.push(1);
                selection.push(2);
            },
            .@"select a rejected row" => outputs.reject(1, .{ .code = "bad", .message = "bad" }),
            .@"push no UTF-8" => {
                text.base.truncate(batch.rows - 1);
                text.push("\xff");
            },
            .fail => return outputs.fail("no-way", "it cannot be done", .{}),
            .@"end with an error" => return error.Surprise,
            .say => for ([_]u8{ 1, 2 }) |n| outputs.say("number {d}", .{n}),
            else => {},
        }
    }
};

fn runWith(config: []const u8) !gm.testing.Run {
    return gm.testing.Harness.init(.normalize)
        .withConfig(config)
        .withDictionary("codes", "code", try .csv("code,city\na,Aa\n"))
        .run(Deeds, try .csv("id:int64,name\n1,a\n2,b\n3,\n"));
}

fn runDeed(deed: Deed) !gm.testing.Run {
    return runWith(gm.print("{{\"do\": \"{t}\"}}", .{deed}));
}

test "a call that cannot be done says why" {
    const failures = .{
        .{ .@"read a missing column", "missing-column: the input has no column `nmae`; it has id, name" },
        .{ .@"read as another type", "wrong-type: column `id` is int64, not utf8" },
        .{ .@"look up nowhere", "missing-dictionary: the pipeline has no dictionary `cities`: add it under transforms.dictionaries" },
        .{ .@"look up a missing value", "missing-column: dictionary `codes` has no column `mayor`" },
        .{ .@"compute twice", "duplicate-column: output `records` has two columns named `id`" },
        .{ .@"serve map", "wrong-stage: this transform serves migrate, map, not normalize" },
        .{ .fail, "no-way: it cannot be done" },
        .{ .@"end with an error", "exception: error.Surprise" },
        .{ .@"push one too many", "mistake: column `number` of output `records` has 4 values for 3 rows" },
        .{ .@"push a null", "mistake: column `number` (int32) is required but holds nulls" },
        .{ .@"operate on some", "mistake: some rows of output `records` have operations and some have not" },
        .{ .@"select a rejected row", "contract: a rejected row is selected" },
        .{ .@"push no UTF-8", "contract: column `text` (utf8): not UTF-8" },
    };
    inline for (failures) |case| try expectText(case[1], (try runDeed(case[0])).failure.?);
    try expectText("bad-config: an unknown key at byte 5 of the configuration", (try runWith("{\"od\": 1}")).failure.?);
    try expectText("bad-config: a value that is none of those allowed at byte 12 of the configuration", (try runWith("{\"do\": \"lie\"}")).failure.?);
}

test "messages come in their order" {
    try expectText("number 1\nnumber 2\n", (try runDeed(.say)).messages());
}

test "what is read twice crosses once, and look-ups are null where there is no key" {
    const run = try runDeed(.nothing);
    try std.testing.expectEqual(2, run.columns_read);
    try expectText("id | text | number | city\n1 | a | 0 | Aa\n2 | b | 1 | null\n3 |  | 2 | null\n", run.output("records"));
}
