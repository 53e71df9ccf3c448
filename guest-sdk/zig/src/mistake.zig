//! Mistakes of a transform. Each has a function of its own, because in a component its name is all that is seen of it; a
//! test gets the message.

const std = @import("std");
const builtin = @import("builtin");
const panic = @import("panic.zig");
const types = @import("types.zig");

inline fn end(comptime format: []const u8, values: anytype) noreturn {
    if (builtin.cpu.arch.isWasm()) panic.trap(format);
    std.debug.panic(format, values);
}

pub noinline fn rowIsOutOfRange(row: usize, rows: usize) noreturn {
    @branchHint(.cold);
    end("row {d} is out of range, the column has {d}", .{ row, rows });
}

pub noinline fn selectedRowIsOutOfRange(row: usize, rows: usize) noreturn {
    @branchHint(.cold);
    end("selected row {d} is out of range, the input has {d}", .{ row, rows });
}

pub noinline fn rejectedRowIsOutOfRange(row: usize, rows: usize) noreturn {
    @branchHint(.cold);
    end("rejected row {d} is out of range, the input has {d}", .{ row, rows });
}

pub noinline fn columnHasAnotherType(field: *const types.Field, wanted: []const u8) noreturn {
    @branchHint(.cold);
    end("column `{s}` ({f}) cannot be used as {s}", .{ field.name, field.type, wanted });
}

pub noinline fn structHasNoSuchMember(field: *const types.Field, member: []const u8) noreturn {
    @branchHint(.cold);
    end("column `{s}` ({f}) has no member `{s}`", .{ field.name, field.type, member });
}

pub noinline fn columnIsLargerThanItsOffsetsCanSay(field: *const types.Field) noreturn {
    @branchHint(.cold);
    end("column `{s}` ({f}) holds more than its offsets can say: use a large type", .{ field.name, field.type });
}

pub noinline fn nestedValueIsNotWhole(field: *const types.Field) noreturn {
    @branchHint(.cold);
    end("column `{s}` ({f}): its members differ in their number of values", .{ field.name, field.type });
}

pub noinline fn valueHasAnotherWidth(field: *const types.Field) noreturn {
    @branchHint(.cold);
    end("column `{s}` ({f}): a value has another width", .{ field.name, field.type });
}

pub noinline fn moreWasWrittenThanThereWasRoom(field: *const types.Field) noreturn {
    @branchHint(.cold);
    end("column `{s}` ({f}): more was written than there was room for", .{ field.name, field.type });
}
