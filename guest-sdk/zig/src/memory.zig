//! All memory of a call. Nothing is freed: an instance lives for one call, and the runner drops it whole.

const std = @import("std");
const builtin = @import("builtin");

/// For what `process` needs beside its columns. Freeing does nothing.
pub const allocator: std.mem.Allocator = if (builtin.cpu.arch.isWasm()) .{ .ptr = undefined, .vtable = &bump } else native();

/// Every buffer starts at a multiple of this, so that columns can be read as what they hold.
pub const alignment: std.mem.Alignment = .@"16";

/// Uninitialized memory; ends the call where there is none left.
pub fn alloc(comptime T: type, n: usize) []T {
    return allocator.alignedAlloc(T, if (@alignOf(T) > 16) null else alignment, n) catch outOfMemory();
}

pub fn create(value: anytype) *@TypeOf(value) {
    const place = allocator.create(@TypeOf(value)) catch outOfMemory();
    place.* = value;
    return place;
}

pub fn print(comptime format: []const u8, values: anytype) []const u8 {
    return std.fmt.allocPrint(allocator, format, values) catch outOfMemory();
}

pub fn append(comptime T: type, list: *std.ArrayList(T), item: T) void {
    list.append(allocator, item) catch outOfMemory();
}

pub fn copy(comptime T: type, items: []const T) []const T {
    return allocator.dupe(T, items) catch outOfMemory();
}

pub fn outOfMemory() noreturn {
    @branchHint(.cold);
    @panic("out of memory");
}

const page = std.wasm.page_size;
var cursor: usize = 0;
var end: usize = 0;

const bump: std.mem.Allocator.VTable = .{
    .alloc = bumpAlloc,
    .resize = bumpResize,
    .remap = bumpRemap,
    .free = std.mem.Allocator.noFree,
};

fn bumpAlloc(_: *anyopaque, len: usize, wanted: std.mem.Alignment, _: usize) ?[*]u8 {
    const start = wanted.max(alignment).forward(cursor);
    if (start + len > end and !grow(start + len)) return null;
    // Growing may have started a new piece of memory.
    const at = wanted.max(alignment).forward(cursor);
    cursor = at + len;
    return @ptrFromInt(at);
}

/// Only the latest allocation can grow.
fn bumpResize(_: *anyopaque, memory: []u8, _: std.mem.Alignment, new_len: usize, _: usize) bool {
    const start = @intFromPtr(memory.ptr);
    if (start + memory.len != cursor) return new_len <= memory.len;
    if (start + new_len > end and !(end == @wasmMemorySize(0) * page and grow(start + new_len))) return false;
    cursor = start + new_len;
    return true;
}

fn bumpRemap(context: *anyopaque, memory: []u8, wanted: std.mem.Alignment, new_len: usize, trace: usize) ?[*]u8 {
    return if (bumpResize(context, memory, wanted, new_len, trace)) memory.ptr else null;
}

/// Only memory that is grown here is used.
fn grow(wanted: usize) bool {
    const contiguous = end != 0 and end == @wasmMemorySize(0) * page;
    const missing = if (contiguous) wanted - end else wanted - cursor + page;
    const needed = (missing + page - 1) / page;
    const more = @max(needed, 16);
    var grown: isize = @wasmMemoryGrow(0, more);
    var pages = more;
    if (grown < 0) {
        // Less may still be there.
        pages = needed;
        grown = @wasmMemoryGrow(0, needed);
        if (grown < 0) return false;
    }
    const start = @as(usize, @intCast(grown)) * page;
    if (!contiguous) cursor = start;
    end = start + pages * page;
    return true;
}

var arena: std.heap.ArenaAllocator = .init(std.heap.page_allocator);

fn native() std.mem.Allocator {
    return .{ .ptr = &arena, .vtable = arena.allocator().vtable };
}
