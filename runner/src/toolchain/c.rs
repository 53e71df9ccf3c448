//! C: clang and a libc for WebAssembly, both of which Zig brings.

use super::component::without_debug_sections;
use super::project::Project;
use super::tools::{self, pinned, run, scratch, sources};
use super::{Module, ToolchainError};
use std::process::Command;

/// The folder of the pinned compiler, also for Zig itself.
pub(super) const ZIG: &str = "zig-0.17.1";

pub(super) fn build(project: &Project) -> Result<Module, ToolchainError> {
    let sdk = project.sdk()?;
    let zig = pinned(project, "Zig 0.17.1", ZIG, "ziglang/zig")?;
    let work = scratch()?;
    let out = work.path().join("core.wasm");
    let mut command = Command::new(zig);
    command
        .current_dir(&project.dir)
        .args(["cc", "-target", "wasm32-wasi", "-mexec-model=reactor", "-std=gnu17", "-Wall", "-Wextra", "-O3", "-g0"])
        .args(["-fno-exceptions", "-Wl,-z,stack-size=1048576"])
        .arg("-I")
        .arg(sdk.join("include"))
        .arg("-I")
        .arg(sdk.join("src"))
        .args(["-I", "src"])
        .args(sources(&sdk.join("src"), "c")?)
        .args(sources(&project.dir.join("src"), "c")?)
        .arg("-o")
        .arg(&out);
    run(project, "zig cc", &mut command)?;
    Ok(Module::Core(without_debug_sections(&tools::read(&out)?)))
}
