//! Go: the standard compiler. Its runtime's imports of WASI are met by an adapter inside the component.

use super::project::Project;
use super::tools::{self, pinned, run, scratch};
use super::{Module, ToolchainError};
use std::process::Command;

pub(super) fn build(project: &Project) -> Result<Module, ToolchainError> {
    let sdk = project.sdk()?;
    let go = pinned(project, "Go 1.27.3", "go-1.27.3", "bin/go")?;
    let adapter = tools::read(&sdk.join("adapter/preview1.wasm"))?;
    let work = scratch()?;
    let out = work.path().join("core.wasm");
    let mut command = Command::new(go);
    // Nothing of the user's settings, and no network: the same bytes for the same source wherever it lies.
    command
        .current_dir(&project.dir)
        .envs([("GOOS", "wasip1"), ("GOARCH", "wasm"), ("CGO_ENABLED", "0"), ("GOTOOLCHAIN", "local")])
        .envs([("GOPROXY", "off"), ("GOWORK", "off"), ("GOFLAGS", "")])
        .args(["build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-w -buildid=", "-o"])
        .arg(&out)
        .arg(".");
    run(project, "go build", &mut command)?;
    Ok(Module::Adapted(tools::read(&out)?, vec![("wasi_snapshot_preview1", adapter)]))
}
