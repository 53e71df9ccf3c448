//! TypeScript and JavaScript: bundled into one script, which a component holds together with QuickJS.

use super::project::Project;
use super::tools::{self, in_path, pinned, run, scratch};
use super::{Module, ToolchainError};
use std::process::Command;

/// The folder of the pinned tools.
const TOOLS: &str = "typescript-0.1.0";

pub(super) fn build(project: &Project) -> Result<Module, ToolchainError> {
    let sdk = project.sdk()?;
    let tool = |name: &str| pinned(project, name, TOOLS, &format!("node_modules/.bin/{name}"));
    let (tsc, esbuild, componentize) = (tool("tsc")?, tool("esbuild")?, tool("componentize-qjs")?);
    in_path(project, "node")?;
    let faketime = in_path(project, "faketime")?;
    let source = ["src/transform.ts", "src/transform.js"].into_iter().find(|file| project.dir.join(file).is_file());
    let source = source.ok_or_else(|| ToolchainError::Project {
        dir: project.dir.clone(),
        problem: "it has neither src/transform.ts nor src/transform.js".into(),
    })?;
    let work = scratch()?;
    run(project, "tsc", Command::new(tsc).current_dir(&project.dir).args(["--project", "tsconfig.json"]))?;
    let mut bundle = Command::new(esbuild);
    bundle
        .current_dir(&project.dir)
        .args([source, "--bundle", "--format=esm", "--target=es2023", "--log-level=warning"])
        .arg(format!("--outfile={}", work.path().join("transform.js").display()));
    run(project, "esbuild", &mut bundle)?;
    // A fixed clock and fixed random numbers: the engine's state is part of the component, and holds seeds of both.
    let mut command = Command::new(faketime);
    command
        .current_dir(work.path())
        .env("TZ", "UTC")
        .args(["-f", "2000-01-01 00:00:00", "env", "FAKERANDOM_SEED=0x1"])
        .arg(componentize)
        .args(["--sync", "--stub-wasi", "--wit"])
        .arg(sdk.join("wit"))
        .args(["--js", "transform.js", "--output", "out.wasm"]);
    run(project, "componentize-qjs", &mut command)?;
    Ok(Module::Component(tools::read(&work.path().join("out.wasm"))?))
}
