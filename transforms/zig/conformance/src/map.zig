//! Stage map: orders, last first, and their items.

const std = @import("std");
const gm = @import("gristmill");
const fold = @import("fold.zig").fold;

pub const Map = struct {
    tags: gm.In(.list),
    quantity: gm.In(.int32),
    operation: gm.In(.uint8),
    orders: gm.Output,
    tag_count: gm.Out(.int32),
    items: gm.Output,
    position: gm.Out(.int32),
    tag: gm.Out(.utf8),

    pub fn plan(p: *gm.Plan) gm.Error!Map {
        const wanted = [_]gm.Field{
            .optional("id", .int64),
            .optional("code", .utf8),
            .optional("tags", gm.list(.optional("item", .utf8))),
        };
        for (wanted) |field| if (p.inputNamed(field.name)) |given| {
            if (!given.type.eql(field.type)) return p.fail("wrong-type", "column `{s}` is {f}", .{ given.name, given.type });
        };
        const name = try p.lookup("codes", "code", "name");
        const orders = p.output("orders");
        try p.forward(orders, "id");
        try p.forwardOperation(orders, "operation");
        try p.forwardLookup(orders, "name", name);
        const tag_count = try p.compute(orders, "tag_count", .int32);
        const items = p.output("items");
        try p.forward(items, "id");
        const position = try p.computeRequired(items, "position", .int32);
        const tag = try p.compute(items, "tag", .utf8);
        try p.forward(items, "quantity");
        return .{
            .tags = try p.read(.list, "tags"),
            .quantity = try p.read(.int32, "quantity"),
            .operation = p.readOperation(),
            .orders = orders,
            .tag_count = tag_count,
            .items = items,
            .position = position,
            .tag = tag,
        };
    }

    pub fn process(self: Map, batch: *const gm.Batch, outputs: *gm.Outputs) void {
        const tags = batch.column(self.tags);
        const last_first = outputs.selection(self.orders);
        const tag_count = outputs.column(self.tag_count);
        var row = batch.rows;
        while (row > 0) {
            row -= 1;
            last_first.push(row);
            tag_count.pushOptional(if (tags.get(row)) |items| @intCast(items.len()) else null);
        }
        self.putItems(batch, tags, outputs);
    }

    fn putItems(self: Map, batch: *const gm.Batch, tags: gm.ListColumn, outputs: *gm.Outputs) void {
        const quantities = batch.column(self.quantity);
        const operations = batch.column(self.operation);
        const texts = tags.items.as(.utf8);
        const folded = fold(texts);
        const selection = outputs.selection(self.items);
        const position = outputs.column(self.position);
        const tag = outputs.column(self.tag);
        for (0..batch.rows) |row| {
            const quantity = quantities.get(row) orelse 1;
            if (quantity < 0) {
                outputs.reject(row, .{ .code = "negative", .field = "quantity", .message = "the quantity is negative" });
                continue;
            }
            const deleted = quantity == 0 or operations.at(row) == @backingInt(gm.Operation.delete);
            const items = tags.get(row) orelse continue;
            for (items.start..items.end) |item| {
                const first = item == items.start;
                selection.pushAs(row, if (deleted) .delete else if (first) .insert else .update);
                position.push(@intCast(item - items.start));
                tag.pushOptional(if (texts.isNull(item)) null else folded[item]);
            }
        }
    }
};
