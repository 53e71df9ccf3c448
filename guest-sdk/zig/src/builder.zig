//! Builders of computed columns.

const std = @import("std");
const abi = @import("abi.zig");
const column = @import("column.zig");
const decimals = @import("decimal.zig");
const memory = @import("memory.zig");
const mistake = @import("mistake.zig");
const types = @import("types.zig");
const Array = column.Array;
const Field = types.Field;
const Kind = types.Kind;
const Layout = types.Layout;

/// The builder of a column of this kind.
pub fn BuilderOf(comptime kind: Kind) type {
    return switch (kind.storage()) {
        .fixed => FixedBuilder(kind.Value()),
        .bits => BooleanBuilder,
        .bytes => BytesBuilder,
        else => NestedBuilder,
    };
}

/// A column of any type in the making. Most of the time one of the typed builders stands before it.
pub const Builder = struct {
    field: *const Field,
    len: usize = 0,
    nulls: usize = 0,
    /// Values that there is room for.
    capacity: usize = 0,
    /// How many rows the output may have, as far as is known: the first allocation.
    expected: usize,
    /// Empty until the first null.
    valid: []u8 = &.{},
    /// Values of fixed width, or bits.
    values: [*]align(16) u8 = undefined,
    values_bytes: usize = 0,
    /// Where each value starts in `data` or in the items, and where the last one ends.
    offsets: []u32 = &.{},
    data: []u8 = &.{},
    data_len: usize = 0,
    children: []Builder = &.{},
    /// A whole column that takes the place of what was pushed.
    given: ?Array = null,

    pub fn init(field: *const Field, expected: usize) Builder {
        const fields = field.type.children();
        const children = memory.alloc(Builder, fields.len);
        for (children, fields) |*child, *of| child.* = .init(of, expected);
        return .{ .field = field, .expected = expected, .children = children };
    }

    fn storage(builder: *const Builder) types.Storage {
        return builder.field.type.kind().storage();
    }

    /// The typed builder, which must be of this kind.
    pub fn as(builder: *Builder, comptime kind: Kind) BuilderOf(kind) {
        if (builder.field.type.kind() != kind) mistake.columnHasAnotherType(builder.field, @tagName(kind));
        return .{ .base = builder };
    }

    /// Makes room for more values: what is expected the first time, then twice as many.
    pub fn grow(builder: *Builder, more: usize) void {
        @branchHint(.cold);
        const old = builder.capacity;
        const capacity = @max(builder.len + more, old * 2, builder.expected, 8);
        const wanted: usize = switch (builder.storage()) {
            .fixed => capacity * builder.field.type.width(),
            .bits => bitBytes(capacity),
            else => 0,
        };
        if (wanted > 0) {
            const values: []align(16) u8 = builder.values[0..builder.values_bytes];
            builder.values = @alignCast(resize(u8, values, wanted).ptr);
            builder.values_bytes = wanted;
        }
        if (builder.storage() == .bytes or builder.storage() == .lists) {
            builder.offsets = resize(u32, builder.offsets, capacity + 1);
            if (old == 0) builder.offsets[0] = 0;
        }
        if (builder.valid.len > 0) {
            const before = builder.valid.len;
            builder.valid = resize(u8, builder.valid, bitBytes(capacity));
            @memset(builder.valid[before..], 0xff);
        }
        builder.capacity = capacity;
    }

    pub fn growData(builder: *Builder, more: usize) void {
        @branchHint(.cold);
        const needed = builder.data_len + more;
        const most: usize = if (builder.field.type.kind().isLarge()) std.math.maxInt(u32) else std.math.maxInt(i32);
        if (needed > most) mistake.columnIsLargerThanItsOffsetsCanSay(builder.field);
        builder.data = resize(u8, builder.data, @max(needed, builder.data.len * 2, builder.expected * 8, 64));
    }

    pub inline fn reserve(builder: *Builder, more: usize) void {
        if (builder.capacity - builder.len < more) builder.grow(more);
    }

    pub inline fn reserveData(builder: *Builder, more: usize) void {
        if (builder.data.len - builder.data_len < more) builder.growData(more);
    }

    fn markNull(builder: *Builder, place: usize) void {
        if (builder.valid.len == 0) {
            builder.valid = memory.alloc(u8, bitBytes(builder.capacity));
            @memset(builder.valid, 0xff);
        }
        setBit(builder.valid, place, false);
        builder.nulls += 1;
    }

    pub fn pushNull(builder: *Builder) void {
        builder.reserve(1);
        builder.markNull(builder.len);
        builder.pushFiller();
    }

    /// A value of no meaning, where there is room for it: what lies behind a null.
    fn pushFiller(builder: *Builder) void {
        const place = builder.len;
        const t = &builder.field.type;
        switch (builder.storage()) {
            .none => {},
            .bits => setBit(builder.values[0..builder.values_bytes], place, false),
            .fixed => @memset(builder.values[place * t.width() ..][0..t.width()], 0),
            .bytes => {
                builder.reserveData(t.width());
                @memset(builder.data[builder.data_len..][0..t.width()], 0);
                builder.data_len += t.width();
                builder.offsets[place + 1] = @intCast(builder.data_len);
            },
            .lists => {
                if (builder.children[0].len != builder.offsets[place]) mistake.nestedValueIsNotWhole(builder.field);
                builder.offsets[place + 1] = builder.offsets[place];
            },
            .members, .fixed_lists => {
                const each = builder.itemsEach();
                for (builder.children) |*child| {
                    if (child.len != place * each) mistake.nestedValueIsNotWhole(builder.field);
                    for (0..each) |_| {
                        child.reserve(1);
                        if (child.field.nullable) child.markNull(child.len);
                        child.pushFiller();
                    }
                }
            },
        }
        builder.len += 1;
    }

    /// Items of one value of a struct or a fixed-size list.
    fn itemsEach(builder: *const Builder) usize {
        return switch (builder.field.type) {
            .fixed_size_list => |of| of.len,
            else => 1,
        };
    }

    fn endValue(builder: *Builder) void {
        builder.reserve(1);
        if (builder.storage() == .lists) {
            const most: usize = if (builder.field.type.kind().isLarge()) std.math.maxInt(u32) else std.math.maxInt(i32);
            if (builder.children[0].len > most) mistake.columnIsLargerThanItsOffsetsCanSay(builder.field);
            builder.offsets[builder.len + 1] = @intCast(builder.children[0].len);
        } else for (builder.children) |*child| {
            if (child.len != (builder.len + 1) * builder.itemsEach()) mistake.nestedValueIsNotWhole(builder.field);
        }
        builder.len += 1;
    }

    /// These rows of a column of the same type, in this order.
    pub fn pushRows(builder: *Builder, array: Array, rows: []const u32) void {
        if (!builder.field.type.eql(array.field.type)) mistake.columnHasAnotherType(builder.field, @tagName(array.field.type.kind()));
        for (rows) |row| if (row >= array.rows) mistake.rowIsOutOfRange(row, array.rows);
        builder.takeRows(array, rows);
    }

    fn takeRows(builder: *Builder, array: Array, rows: []const u32) void {
        builder.reserve(rows.len);
        for (rows, builder.len..) |row, place| {
            if (array.isNull(row)) builder.markNull(place);
        }
        switch (builder.storage()) {
            .none => {},
            .bits => for (rows, builder.len..) |row, place| {
                setBit(builder.values[0..builder.values_bytes], place, column.bit(array.buffers[1].items(), row));
            },
            .fixed => {
                const width = builder.field.type.width();
                const from = array.buffers[1].items();
                for (rows, builder.len..) |row, place| {
                    copyBytes(builder.values[place * width ..][0..width], from[row * width ..][0..width]);
                }
            },
            .bytes => {
                const offsets = array.offsets();
                const keeps_width = builder.field.type.kind() == .fixed_size_binary;
                for (rows, builder.len..) |row, place| {
                    const start = offsets[row];
                    const end = if (!keeps_width and array.isNull(row)) start else offsets[row + 1];
                    builder.appendData(array.bytes()[start..end]);
                    builder.offsets[place + 1] = @intCast(builder.data_len);
                }
            },
            .lists, .fixed_lists => builder.takeItems(array, rows),
            .members => for (builder.children, 0..) |*child, place| child.takeRows(array.child(place), rows),
        }
        builder.len += rows.len;
    }

    fn takeItems(builder: *Builder, array: Array, rows: []const u32) void {
        var items: std.ArrayList(u32) = .empty;
        const offsets = array.offsets();
        const before = builder.children[0].len;
        const fixed = builder.storage() == .fixed_lists;
        for (rows, builder.len..) |row, place| {
            if (fixed or !array.isNull(row)) {
                for (offsets[row]..offsets[row + 1]) |item| memory.append(u32, &items, @intCast(item));
            }
            if (!fixed) builder.offsets[place + 1] = @intCast(before + items.items.len);
        }
        builder.children[0].takeRows(array.child(0), items.items);
    }

    pub inline fn appendData(builder: *Builder, bytes: []const u8) void {
        // There is room after this check.
        @setRuntimeSafety(false);
        builder.reserveData(bytes.len);
        copyBytes(builder.data[builder.data_len..][0..bytes.len], bytes);
        builder.data_len += bytes.len;
    }

    /// Makes the values null whose rows of `array` are null: value i where row `rows[i]` is, or row i without `rows`. For
    /// columns that were filled in one go.
    pub fn takeNulls(builder: *Builder, array: Array, rows: ?[]const u32) void {
        const bits = array.validity.bits orelse return;
        if (rows == null and builder.valid.len == 0 and builder.len == array.rows and builder.len > 0) {
            builder.valid = memory.alloc(u8, bitBytes(builder.capacity));
            @memcpy(builder.valid[0..bits.len], bits);
            @memset(builder.valid[bits.len..], 0xff);
            // Bits behind the last row may be anything, and values to come are not null.
            for (builder.len..bits.len * 8) |place| setBit(builder.valid, place, true);
            builder.nulls = array.null_count;
            return;
        }
        for (0..builder.len) |place| {
            const row = if (rows) |given| given[place] else place;
            const was_null = builder.valid.len > 0 and !column.bit(builder.valid, place);
            if (array.isNull(row) and !was_null) builder.markNull(place);
        }
    }

    /// Cuts the column back to its first values.
    pub fn truncate(builder: *Builder, len: usize) void {
        if (len >= builder.len) return;
        if (builder.valid.len > 0) for (len..builder.len) |place| {
            builder.nulls -= @intFromBool(!column.bit(builder.valid, place));
            setBit(builder.valid, place, true);
        };
        builder.len = len;
        if (builder.storage() == .bytes) builder.data_len = builder.offsets[len];
        for (builder.children) |*child| {
            child.truncate(if (builder.storage() == .lists) builder.offsets[len] else len * builder.itemsEach());
        }
    }

    /// Writes the column's nodes and buffers. An error says which column is wrong.
    pub fn finish(builder: *Builder, nodes: *std.ArrayList(abi.Node), buffers: *std.ArrayList(abi.String)) ?[]const u8 {
        if (builder.nulls > 0 and !builder.field.nullable) {
            return memory.print("column `{s}` ({f}) is required but holds nulls", .{ builder.field.name, builder.field.type });
        }
        if (builder.given) |given| {
            const whole: Layout = .of(&given.field.type);
            nodes.appendSlice(memory.allocator, given.nodes[0..whole.nodes]) catch memory.outOfMemory();
            buffers.appendSlice(memory.allocator, given.buffers[0..whole.buffers]) catch memory.outOfMemory();
            return null;
        }
        const t = &builder.field.type;
        memory.append(abi.Node, nodes, .{ .length = @intCast(builder.len), .null_count = @intCast(builder.nulls) });
        if (builder.storage() == .none) return null;
        const valid: []const u8 = if (builder.nulls > 0) builder.valid[0..bitBytes(builder.len)] else &.{};
        for (builder.len..bitBytes(builder.len) * 8) |place| if (valid.len > 0) setBit(builder.valid, place, false);
        memory.append(abi.String, buffers, .of(valid));
        if (builder.storage() == .lists or (builder.storage() == .bytes and t.kind() != .fixed_size_binary)) {
            memory.append(abi.String, buffers, .of(builder.finishedOffsets()));
        }
        switch (builder.storage()) {
            .bytes => memory.append(abi.String, buffers, .of(builder.data[0..builder.data_len])),
            .fixed => memory.append(abi.String, buffers, .of(builder.values[0 .. builder.len * t.width()])),
            .bits => memory.append(abi.String, buffers, .of(builder.values[0..bitBytes(builder.len)])),
            else => {},
        }
        for (builder.children) |*child| if (child.finish(nodes, buffers)) |wrong| return wrong;
        return null;
    }

    fn finishedOffsets(builder: *Builder) []const u8 {
        if (builder.offsets.len == 0) builder.grow(1);
        const offsets = builder.offsets[0 .. builder.len + 1];
        if (!builder.field.type.kind().isLarge()) return std.mem.sliceAsBytes(offsets);
        const wide = memory.alloc(u64, offsets.len);
        for (wide, offsets) |*to, offset| to.* = offset;
        return std.mem.sliceAsBytes(wide);
    }
};

fn bitBytes(bits: usize) usize {
    return (bits + 7) / 8;
}

pub inline fn setBit(bits: []u8, place: usize, value: bool) void {
    const mask = @as(u8, 1) << @intCast(place & 7);
    if (value) bits[place >> 3] |= mask else bits[place >> 3] &= ~mask;
}

fn resize(comptime T: type, old: []T, len: usize) []T {
    if (old.len > 0) if (memory.allocator.remap(@as([]align(16) T, @alignCast(old)), len)) |grown| return grown;
    const new = memory.alloc(T, len);
    @memcpy(new[0..old.len], old);
    return new;
}

/// Copies few bytes without a call. Both have the same length.
inline fn copyBytes(to: []u8, from: []const u8) void {
    const len = from.len;
    std.debug.assert(to.len == len);
    // Each place below follows from the length.
    @setRuntimeSafety(false);
    if (len > 16) {
        @memcpy(to, from);
    } else if (len >= 8) {
        const last = from[len - 8 ..][0..8].*;
        to[0..8].* = from[0..8].*;
        to[len - 8 ..][0..8].* = last;
    } else if (len >= 4) {
        const last = from[len - 4 ..][0..4].*;
        to[0..4].* = from[0..4].*;
        to[len - 4 ..][0..4].* = last;
    } else {
        for (to, from) |*byte, value| byte.* = value;
    }
}

/// Builds a column of values of one width.
pub fn FixedBuilder(comptime T: type) type {
    return struct {
        base: *Builder,

        pub inline fn push(builder: @This(), value: T) void {
            // There is room after this check.
            @setRuntimeSafety(false);
            const base = builder.base;
            if (base.len == base.capacity) base.grow(1);
            @as([*]T, @ptrCast(base.values))[base.len] = value;
            base.len += 1;
        }
        pub fn pushNull(builder: @This()) void {
            builder.base.pushNull();
        }
        pub inline fn pushOptional(builder: @This(), value: ?T) void {
            if (value) |some| builder.push(some) else builder.base.pushNull();
        }
        /// That many more values, none of them null, for the caller to fill.
        pub fn extend(builder: @This(), count: usize) []T {
            const base = builder.base;
            base.reserve(count);
            defer base.len += count;
            return @as([*]T, @ptrCast(base.values))[base.len..][0..count];
        }
    };
}

pub const BooleanBuilder = struct {
    base: *Builder,

    pub inline fn push(builder: @This(), value: bool) void {
        const base = builder.base;
        if (base.len == base.capacity) base.grow(1);
        setBit(base.values[0..base.values_bytes], base.len, value);
        base.len += 1;
    }
    pub fn pushNull(builder: @This()) void {
        builder.base.pushNull();
    }
    pub fn pushOptional(builder: @This(), value: ?bool) void {
        if (value) |some| builder.push(some) else builder.base.pushNull();
    }
};

/// Builds a column of texts or byte strings, whole or piece by piece.
pub const BytesBuilder = struct {
    base: *Builder,

    pub inline fn push(builder: @This(), value: []const u8) void {
        builder.base.appendData(value);
        builder.end(0);
    }
    pub fn pushNull(builder: @This()) void {
        builder.base.pushNull();
    }
    pub inline fn pushOptional(builder: @This(), value: ?[]const u8) void {
        if (value) |some| builder.push(some) else builder.base.pushNull();
    }
    /// Adds to the value in hand, which `end(0)` ends.
    pub inline fn append(builder: @This(), piece: []const u8) void {
        builder.base.appendData(piece);
    }
    /// Formats into the value in hand.
    pub fn print(builder: @This(), comptime format: []const u8, values: anytype) void {
        const len = std.fmt.count(format, values);
        builder.base.reserveData(@intCast(len));
        const written = std.fmt.bufPrint(builder.base.data[builder.base.data_len..], format, values) catch unreachable;
        builder.base.data_len += written.len;
    }
    /// An unscaled value as a number with `scale` digits behind the point.
    pub fn pushDecimal(builder: @This(), value: i128, scale: u8) void {
        var text: [decimals.longest]u8 = undefined;
        builder.push(decimals.write(&text, value, scale));
    }
    /// Room for this many bytes of the value in hand: what is written there counts once `end` says how much it was.
    pub inline fn room(builder: @This(), bytes: usize) []u8 {
        builder.base.reserveData(bytes);
        return builder.base.data[builder.base.data_len..][0..bytes];
    }
    /// Ends the value in hand: what was appended, and this much of the last `room`.
    pub inline fn end(builder: @This(), written: usize) void {
        const base = builder.base;
        if (base.len == base.capacity) base.grow(1);
        if (written > base.data.len - base.data_len) mistake.moreWasWrittenThanThereWasRoom(base.field);
        @setRuntimeSafety(false);
        base.data_len += written;
        if (base.field.type == .fixed_size_binary and base.data_len - base.offsets[base.len] != base.field.type.fixed_size_binary) {
            mistake.valueHasAnotherWidth(base.field);
        }
        base.offsets[base.len + 1] = @intCast(base.data_len);
        base.len += 1;
    }
};

/// Builds a column of lists, structs or maps: push to the children, then end the value.
pub const NestedBuilder = struct {
    base: *Builder,

    /// The builder of a list's items, of a struct's member, or of a map's entries, which are structs of key and value.
    pub fn child(builder: @This(), place: usize) *Builder {
        return &builder.base.children[place];
    }
    /// Ends the value in hand: what was pushed to the children since the last one.
    pub fn end(builder: @This()) void {
        builder.base.endValue();
    }
    pub fn pushNull(builder: @This()) void {
        builder.base.pushNull();
    }
};
