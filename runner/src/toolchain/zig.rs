//! Zig: freestanding, with the canonical ABI written out by the SDK.

use super::c::ZIG;
use super::component::without_debug_sections;
use super::project::Project;
use super::tools::{self, pinned, run, scratch};
use super::{Module, ToolchainError};
use std::path::Path;
use std::process::Command;

pub(super) fn build(project: &Project, target_dir: &Path) -> Result<Module, ToolchainError> {
    let sdk = project.sdk()?;
    let zig = pinned(project, "Zig 0.17.1", ZIG, "ziglang/zig")?;
    let work = scratch()?;
    let out = work.path().join("core.wasm");
    let module = |name: &str, root: &Path| format!("-M{name}={}", root.display());
    let mut command = Command::new(zig);
    command
        .current_dir(&project.dir)
        .env("ZIG_LOCAL_CACHE_DIR", target_dir.join("zig"))
        .args(["build-exe", "-target", "wasm32-freestanding", "-fno-entry", "-rdynamic", "-O", "safe"])
        .args(["--stack", "1048576", "--dep", "gristmill", "--dep", "transform"])
        .arg(module("root", &sdk.join("src/component.zig")))
        .arg(module("gristmill", &sdk.join("src/gristmill.zig")))
        .args(["--dep", "gristmill"])
        .arg(module("transform", &project.dir.join("src/root.zig")))
        .arg(format!("-femit-bin={}", out.display()));
    run(project, "zig build-exe", &mut command)?;
    Ok(Module::Core(without_debug_sections(&tools::read(&out)?)))
}
