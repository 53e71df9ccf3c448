//! The contract's two functions over the contract's own types, for any transform and without WebAssembly. The component
//! exports call exactly these, so tests run the code that the runner runs.

const std = @import("std");
const abi = @import("abi.zig");
const memory = @import("memory.zig");
const outputs_ = @import("outputs.zig");
const plans = @import("plan.zig");
const rows = @import("row.zig");

pub fn Prepared(comptime Transform: type) type {
    return union(enum) {
        ready: struct { transform: Transform, plan: *plans.Plan },
        failure: plans.Failure,
    };
}

/// The transform's plan for a setup.
pub fn prepare(comptime Transform: type, setup: *const abi.Setup) Prepared(Transform) {
    const parsed = plans.Plan.fromAbi(setup) catch {
        return .{ .failure = .{ .code = "bad-setup", .message = "the fields of the setup are not whole" } };
    };
    const plan = memory.create(parsed);
    const transform = Transform.plan(plan) catch |problem| return .{ .failure = failureOf(problem, plan.failure) };
    return .{ .ready = .{ .transform = transform, .plan = plan } };
}

/// An error that nobody gave a failure for is a mistake of the transform, which the runner treats as a trap.
fn failureOf(problem: anyerror, failure: ?plans.Failure) plans.Failure {
    if (problem == error.Failed) if (failure) |given| return given;
    return .{ .code = "exception", .message = memory.print("error.{s}", .{@errorName(problem)}) };
}

fn failed(comptime T: type, failure: plans.Failure) abi.Result(T) {
    return .{ .is_failure = true, .of = .{ .failure = .{ .code = .of(failure.code), .message = .of(failure.message) } } };
}

pub fn callPlan(comptime Transform: type, setup: *const abi.Setup) abi.Result(abi.Plan) {
    return switch (prepare(Transform, setup)) {
        .failure => |failure| failed(abi.Plan, failure),
        .ready => |ready| .{ .is_failure = false, .of = .{ .ok = ready.plan.toAbi() } },
    };
}

/// Transforms one batch that holds what the plan reads. `wrong` says what the transform did wrong, if it is a mistake.
pub fn callProcess(
    comptime Transform: type,
    setup: *const abi.Setup,
    from: *const abi.Batch,
    wrong: *[]const u8,
) error{Mistake}!abi.Result(abi.Processed) {
    const ready = switch (prepare(Transform, setup)) {
        .failure => |failure| return failed(abi.Processed, failure),
        .ready => |ready| ready,
    };
    const batch = outputs_.Batch.fromAbi(ready.plan, from) orelse {
        return failed(abi.Processed, .{ .code = "bad-batch", .message = "the batch does not hold the columns that the plan reads" });
    };
    var outputs: outputs_.Outputs = .init(ready.plan, batch.rows);
    const done = if (@hasDecl(Transform, "process"))
        ready.transform.process(&batch, &outputs)
    else
        rows.processRows(Transform, &ready.transform, ready.plan, &batch, &outputs);
    done catch |problem| return failed(abi.Processed, failureOf(problem, outputs.failure));
    return .{ .is_failure = false, .of = .{ .ok = try outputs.toAbi(wrong) } };
}
