//! Tests of transforms, natively and without WebAssembly: tables from literal rows, and a run as the runner does it.
//!
//!     const run = try gm.testing.Harness.init(.normalize).run(Orders, try .csv("id:int64,name\n1, ann \n"));
//!     try std.testing.expectEqualStrings("id | name\n1 | ann\n", run.output("records"));

pub const Harness = @import("testing/harness.zig").Harness;
pub const Run = @import("testing/harness.zig").Run;
pub const Table = @import("testing/table.zig").Table;
