//! The component's exports, and how it ends a call that went wrong. The root of every component.

const gristmill = @import("gristmill");
const abi = gristmill.abi;
const Transform = @import("transform").Transform;

pub const panic = gristmill.panic;

const interface = "gristmill:transform/transform@0.1.0";

comptime {
    @export(&realloc, .{ .name = "cabi_realloc" });
    @export(&plan, .{ .name = interface ++ "#plan" });
    @export(&process, .{ .name = interface ++ "#process" });
}

fn realloc(old: [*]const u8, old_len: usize, alignment: usize, len: usize) callconv(.c) [*]u8 {
    if (len == 0) return @ptrFromInt(alignment);
    const new = gristmill.memory.alloc(u8, len);
    @memcpy(new[0..@min(old_len, len)], old[0..@min(old_len, len)]);
    return new.ptr;
}

// Records are passed as their flattened members.

fn plan(
    stage: u32,
    config: [*]const u8,
    config_len: u32,
    input: [*]const abi.Field,
    input_len: u32,
    dictionaries: [*]const abi.Dictionary,
    dictionaries_len: u32,
) callconv(.c) *const abi.Result(abi.Plan) {
    const setup: abi.Setup = .{
        .stage = @intCast(stage),
        .config = .{ .ptr = config, .len = config_len },
        .input = .{ .ptr = input, .len = input_len },
        .dictionaries = .{ .ptr = dictionaries, .len = dictionaries_len },
    };
    return gristmill.memory.create(gristmill.contract.callPlan(Transform, &setup));
}

fn process(
    stage: u32,
    config: [*]const u8,
    config_len: u32,
    input: [*]const abi.Field,
    input_len: u32,
    dictionaries: [*]const abi.Dictionary,
    dictionaries_len: u32,
    rows: u32,
    nodes: [*]const abi.Node,
    nodes_len: u32,
    buffers: [*]const abi.String,
    buffers_len: u32,
) callconv(.c) *const abi.Result(abi.Processed) {
    const setup: abi.Setup = .{
        .stage = @intCast(stage),
        .config = .{ .ptr = config, .len = config_len },
        .input = .{ .ptr = input, .len = input_len },
        .dictionaries = .{ .ptr = dictionaries, .len = dictionaries_len },
    };
    const batch: abi.Batch = .{ .rows = rows, .columns = .{
        .nodes = .{ .ptr = nodes, .len = nodes_len },
        .buffers = .{ .ptr = buffers, .len = buffers_len },
    } };
    var wrong: []const u8 = "";
    return gristmill.memory.create(gristmill.contract.callProcess(Transform, &setup, &batch, &wrong) catch outputsDoNotFitThePlan());
}

/// A column, selection or operations of another length than the output: a test shows which.
noinline fn outputsDoNotFitThePlan() noreturn {
    panic.trap("outputs do not fit the plan");
}
