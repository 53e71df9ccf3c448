//! The SDK's tests. The examples of the README are files of their own.

pub const Transform = @import("orders.zig").Transform;

test {
    _ = @import("contract.zig");
    _ = @import("every_type.zig");
    _ = @import("orders.zig");
    _ = @import("outputs.zig");
    _ = @import("readme.zig");
    _ = @import("trim.zig");
    _ = @import("values.zig");
}
