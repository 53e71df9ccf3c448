//! Checks columns against the contract, as the runner does.

const std = @import("std");
const column = @import("../column.zig");
const memory = @import("../memory.zig");

/// What the runner would refuse of a column; null if nothing.
pub fn problemOf(array: column.Array) ?[]const u8 {
    const kind = array.field.type.kind();
    if (!array.isWhole()) return problem(array, "its buffers do not have the lengths of its rows");
    var nulls: usize = 0;
    for (0..array.rows) |row| nulls += @intFromBool(array.isNull(row));
    if (nulls != array.null_count) return problem(array, "its null count is wrong");
    if (nulls > 0 and !array.field.nullable) return problem(array, "it is required but holds nulls");
    if (kind.storage() == .lists or kind.storage() == .bytes) {
        const offsets = array.offsets();
        for (0..array.rows) |row| {
            if (offsets[row] > offsets[row + 1]) return problem(array, "its offsets fall");
            if (!kind.isText() or array.isNull(row)) continue;
            const text = array.bytes()[offsets[row]..offsets[row + 1]];
            if (!std.unicode.utf8ValidateSlice(text)) return problem(array, "not UTF-8");
        }
    }
    for (0..array.field.type.children().len) |place| if (problemOf(array.child(place))) |wrong| return wrong;
    return null;
}

fn problem(array: column.Array, what: []const u8) []const u8 {
    return memory.print("column `{s}` ({f}): {s}", .{ array.field.name, array.field.type, what });
}
