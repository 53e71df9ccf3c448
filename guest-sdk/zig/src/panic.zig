//! How a component ends a call that went wrong. It has nowhere to write a text: the names of these functions are what the
//! runner shows, so none of them may be inlined.

/// Traps. The comment keeps functions apart that would be the same to the optimizer, which makes one of them.
pub inline fn trap(comptime why: []const u8) noreturn {
    asm volatile ("# " ++ why);
    @trap();
}

// One function for each check that the compiler makes; `std.debug.no_panic` has the list.

pub noinline fn call(_: []const u8, _: ?usize) noreturn {
    @branchHint(.cold);
    trap("call");
}

pub fn sentinelMismatch(_: anytype, _: anytype) noreturn {
    call("", null);
}

pub noinline fn unwrapError(_: anyerror) noreturn {
    @branchHint(.cold);
    trap("unwrapError");
}

pub noinline fn outOfBounds(_: usize, _: usize) noreturn {
    @branchHint(.cold);
    trap("outOfBounds");
}

pub noinline fn startGreaterThanEnd(_: usize, _: usize) noreturn {
    @branchHint(.cold);
    trap("startGreaterThanEnd");
}

pub fn inactiveUnionField(_: anytype, _: anytype) noreturn {
    accessOfInactiveUnionField();
}

noinline fn accessOfInactiveUnionField() noreturn {
    @branchHint(.cold);
    trap("accessOfInactiveUnionField");
}

pub noinline fn sliceCastLenRemainder(_: usize) noreturn {
    @branchHint(.cold);
    trap("sliceCastLenRemainder");
}

pub noinline fn reachedUnreachable() noreturn {
    @branchHint(.cold);
    trap("reachedUnreachable");
}

pub noinline fn unwrapNull() noreturn {
    @branchHint(.cold);
    trap("unwrapNull");
}

pub noinline fn castToNull() noreturn {
    @branchHint(.cold);
    trap("castToNull");
}

pub noinline fn incorrectAlignment() noreturn {
    @branchHint(.cold);
    trap("incorrectAlignment");
}

pub noinline fn invalidErrorCode() noreturn {
    @branchHint(.cold);
    trap("invalidErrorCode");
}

pub noinline fn unexpectedErrorCode(_: anyerror) noreturn {
    @branchHint(.cold);
    trap("unexpectedErrorCode");
}

pub noinline fn integerOutOfBounds() noreturn {
    @branchHint(.cold);
    trap("integerOutOfBounds");
}

pub noinline fn integerOverflow() noreturn {
    @branchHint(.cold);
    trap("integerOverflow");
}

pub noinline fn shlOverflow() noreturn {
    @branchHint(.cold);
    trap("shlOverflow");
}

pub noinline fn shrOverflow() noreturn {
    @branchHint(.cold);
    trap("shrOverflow");
}

pub noinline fn divideByZero() noreturn {
    @branchHint(.cold);
    trap("divideByZero");
}

pub noinline fn exactDivisionRemainder() noreturn {
    @branchHint(.cold);
    trap("exactDivisionRemainder");
}

pub noinline fn integerPartOutOfBounds() noreturn {
    @branchHint(.cold);
    trap("integerPartOutOfBounds");
}

pub noinline fn corruptSwitch() noreturn {
    @branchHint(.cold);
    trap("corruptSwitch");
}

pub noinline fn shiftRhsTooBig() noreturn {
    @branchHint(.cold);
    trap("shiftRhsTooBig");
}

pub noinline fn invalidEnumValue() noreturn {
    @branchHint(.cold);
    trap("invalidEnumValue");
}

pub noinline fn forLenMismatch() noreturn {
    @branchHint(.cold);
    trap("forLenMismatch");
}

pub noinline fn copyLenMismatch() noreturn {
    @branchHint(.cold);
    trap("copyLenMismatch");
}

pub noinline fn memcpyAlias() noreturn {
    @branchHint(.cold);
    trap("memcpyAlias");
}

pub noinline fn noreturnReturned() noreturn {
    @branchHint(.cold);
    trap("noreturnReturned");
}

pub noinline fn loadUninstantiableType() noreturn {
    @branchHint(.cold);
    trap("loadUninstantiableType");
}
