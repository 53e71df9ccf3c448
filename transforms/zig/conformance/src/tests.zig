//! What no case of tests/conformance/cases shows so directly; those cases run in the component itself.

const std = @import("std");
const gm = @import("gristmill");
const Transform = @import("root.zig").Transform;
const Harness = gm.testing.Harness;
const Table = gm.testing.Table;
const expectText = std.testing.expectEqualStrings;

fn normalize(config: []const u8, csv: []const u8) !gm.testing.Run {
    const codes: Table = try .csv("code,name,weight:int64\nAT,Austria,7\nBE,,\n");
    return Harness.init(.normalize).withConfig(config).withDictionary("codes", "code", codes).run(Transform, try .csv(csv));
}

test "texts are folded by bytes" {
    const run = try normalize("{}", "id:int64,text\n1,  Trim Me  \n2,\"\"\n3,   \n4,\n5,ÉCOLE\n6, Reject \n7,\tA\t \n");
    try expectText("id | text | text_state\n1 | trim me | 2\n2 |  | 1\n3 |  | 1\n4 | null | 0\n5 | École | 2\n7 | \ta\t | 2\n", run.output("records"));
    try expectText("5 refused text\n", run.rejects());
    try expectText("1 of 7 rows rejected\n", run.messages());
}

test "totals of more than 38 digits are rejected" {
    const run = try normalize("{}",
        \\id:int64,amount:decimal128(38, 10),fee:decimal128(38, 10)
        \\1,-0.5,0.25
        \\2,,1
        \\3,1,
        \\4,9999999999999999999999999999.9999999999,0.0000000001
        \\5,-9999999999999999999999999999.9999999999,-9999999999999999999999999999.9999999999
        \\6,9999999999999999999999999999.9999999999,-9999999999999999999999999999.9999999999
        \\
    );
    try expectText(
        \\id | total | negated | order | amount_text
        \\1 | -0.2500000000 | 0.5000000000 | -1 | -0.5000000000
        \\2 | null | null | null | null
        \\3 | null | -1.0000000000 | null | 1.0000000000
        \\6 | 0.0000000000 | -9999999999999999999999999999.9999999999 | 1 | 9999999999999999999999999999.9999999999
        \\
    , run.output("records"));
    try expectText("3 overflow amount\n4 overflow amount\n", run.rejects());
}

test "times before 1970 are rounded down" {
    const run = try normalize("{}", "id:int64,at:timestamp(us, Europe/Paris)\n1,0\n2,-1\n3,-86400000000\n4,\n");
    try expectText("id | day | time\n1 | 1970-01-01 | 0\n2 | 1969-12-31 | 86399999999\n3 | 1969-12-31 | 0\n4 | null | null\n", run.output("records"));
}

test "counts take a step and wrap" {
    const run = try normalize("{\"step\": -5}", "id:int64,count:int64\n1,9223372036854775807\n2,-9223372036854775808\n3,\n4,-9223372036854775803\n");
    try expectText(
        \\id | next | mixed
        \\1 | 9223372036854775802 | 9223372036854775784
        \\3 | null | null
        \\4 | -9223372036854775808 | -9223372036854775646
        \\
    , run.output("records"));
    try expectText("1 overflow count\n", run.rejects());
}

test "the rest of the columns" {
    const run = try normalize("{}",
        \\id:int64,code,ratio:float64,data:binary,numbers:list<int64>,place:struct<city: utf8, score: int32>,visits:list<struct<page: utf8, seconds: int32>>
        \\1,AT,-3,0102ff,[1,null,9223372036854775807],["Oslo",1],[["a",null],null]
        \\2,BE,nan,"",[],[null,2],[]
        \\3,XX,-inf,,,,
        \\
    );
    try expectText(
        \\id | name | weight | half | finite | reversed | sum | city | visits
        \\1 | Austria | 7 | -1.5 | true | ff0201 | -9223372036854775808 | Oslo | [{a, null}, null]
        \\2 | null | -1 | nan | false |  | 0 | null | []
        \\3 | null | -1 | -inf | false | null | null | null | null
        \\
    , run.output("records"));
}

test "plans are refused" {
    for ([_][]const u8{ "1001", "\"1\"", "1.0", "null", "true" }) |step| {
        const run = try normalize(gm.print("{{\"step\": {s}}}", .{step}), "id:int64\n");
        try expectText("bad-config: step is not a whole number from -1000 to 1000", run.failure.?);
    }
    try expectText("missing-column: the input has no column `id`; it has text", (try normalize("{}", "text\n")).failure.?);
    try expectText("wrong-type: column `text` has the unexpected type binary", (try normalize("{}", "id:int64,text:binary\n")).failure.?);
}

test "orders come last first and items in order" {
    const run = Harness.init(.map)
        .withDictionary("codes", "code", try .csv("code,name\nAT,Austria\n"))
        .withOperations(&.{ .insert, .update, .delete, .insert })
        .run(Transform, try .csv(
        \\id:int64,code,tags:list<utf8>,quantity:int32
        \\1,AT,[" One",null],1
        \\2,BE,["a"],0
        \\3,,["x"],
        \\4,,["never"],-1
        \\
    ));
    try expectText(
        \\id | operation | name | tag_count
        \\4 | 0 | null | 1
        \\3 | 2 | null | 1
        \\2 | 1 | null | 1
        \\1 | 0 | Austria | 2
        \\
    , run.output("orders"));
    try expectText("id | position | tag | quantity\n1 | 0 | one | 1\n1 | 1 | null | 1\n2 | 0 | a | 0\n3 | 0 | x | null\n", run.output("items"));
    try std.testing.expectEqualSlices(gm.Operation, &.{ .insert, .update, .delete, .delete }, run.operations("items"));
    try expectText("3 negative quantity\n", run.rejects());
}
