//! Finding a compiler that can build for WASM.

use super::package::Package;
use crate::toolchain::ToolchainError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(in crate::toolchain) const TARGET: &str = "wasm32-unknown-unknown";

pub(in crate::toolchain) const INSTALL_HINT: &str = "either let rustup fetch the target: rustup target add wasm32-unknown-unknown\n\
     or install a compiler with its library's source, on Debian: \
     apt-get install --no-install-recommends rustc-web cargo-web rust-web-src lld-19";

/// SIMD and bulk memory are part of every engine that runs components; relaxed SIMD, whose results differ between
/// machines, stays off.
const RUSTFLAGS: &str = "-Ctarget-feature=+simd128,+bulk-memory";

/// The profile of guests, given on the command line so that packages in other workspaces have it too.
const PROFILE: &str = "guest";
const PROFILE_SETTINGS: [&str; 7] =
    ["inherits='release'", "opt-level=3", "codegen-units=1", "lto='fat'", "panic='abort'", "strip=true", "debug=false"];

/// A compiler that can build for [`TARGET`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Compiler {
    /// The active toolchain has the target's standard library.
    Installed,
    /// A compiler without it builds the standard library from source.
    FromSource { cargo: PathBuf, rustc: PathBuf, linker: OsString },
}

impl Compiler {
    /// Tries the active toolchain, then rustup, then a compiler of the system with its library's source.
    pub fn find(workspace: &Path) -> Result<Self, ToolchainError> {
        if has_target(workspace) {
            return Ok(Self::Installed);
        }
        if add_target(workspace) && has_target(workspace) {
            return Ok(Self::Installed);
        }
        Self::from_source(Path::new("/usr/bin"))
    }

    /// The compiler in `bin`, if its library's source and a WASM linker are there too.
    pub fn from_source(bin: &Path) -> Result<Self, ToolchainError> {
        let no_compiler = |problem: String| ToolchainError::NoCompiler { problem };
        let (cargo, rustc) = (bin.join("cargo"), bin.join("rustc"));
        if !cargo.is_file() || !rustc.is_file() {
            let problem = "the active toolchain lacks the target, rustup cannot add it, and there is no ";
            return Err(no_compiler(format!("{problem}cargo and rustc in {}", bin.display())));
        }
        let sysroot = stdout(clean(&mut Command::new(&rustc)).args(["--print", "sysroot"]))
            .ok_or_else(|| no_compiler(format!("{} does not run", rustc.display())))?;
        let library = Path::new(&sysroot).join("lib/rustlib/src/rust/library/Cargo.lock");
        if !library.is_file() {
            return Err(no_compiler(format!("{} lacks the library's source ({})", rustc.display(), library.display())));
        }
        let linker = wasm_linker().ok_or_else(|| no_compiler("there is no wasm-ld".to_owned()))?;
        Ok(Self::FromSource { cargo, rustc, linker })
    }

    /// Builds packages of one workspace. Returns each package's core module, by cargo's id.
    pub fn build(
        &self,
        workspace: &Path,
        packages: &[&Package],
        target_dir: &Path,
    ) -> Result<BTreeMap<String, PathBuf>, ToolchainError> {
        let mut command = self.command(workspace, target_dir);
        command.args(packages.iter().flat_map(|package| ["-p", &package.id]));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let output =
            command.output().map_err(|source| ToolchainError::Command { command: "cargo build".to_owned(), source })?;
        if !output.status.success() {
            let project = packages.iter().map(|package| package.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(ToolchainError::Build { tool: "cargo".into(), project });
        }
        let messages = output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        Ok(messages.filter_map(Message::module).collect())
    }

    fn command(&self, workspace: &Path, target_dir: &Path) -> Command {
        let mut command = match self {
            Self::Installed => cargo_command(OsStr::new("cargo"), workspace),
            Self::FromSource { cargo, rustc, linker } => {
                let mut command = cargo_command(cargo.as_os_str(), workspace);
                // Building the standard library is an unstable option; the variable lets a stable compiler take it.
                command.env("RUSTC", rustc).env("RUSTC_BOOTSTRAP", "1");
                command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
                command
            }
        };
        command.env("RUSTFLAGS", RUSTFLAGS).arg("build").args(["--target", TARGET, "--profile", PROFILE]);
        for setting in PROFILE_SETTINGS {
            command.arg("--config").arg(format!("profile.{PROFILE}.{setting}"));
        }
        if let Self::FromSource { .. } = self {
            command.arg("-Zbuild-std=std,panic_abort");
        }
        command.args(["--message-format", "json-render-diagnostics"]).arg("--target-dir").arg(target_dir);
        if !std::io::stderr().is_terminal() {
            command.arg("--quiet");
        }
        command
    }
}

/// One line of cargo's report.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    package_id: String,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

impl Message {
    fn module(self) -> Option<(String, PathBuf)> {
        let module = self.filenames.into_iter().find(|file| file.extension() == Some(OsStr::new("wasm")))?;
        (self.reason == "compiler-artifact").then_some((self.package_id, module))
    }
}

/// Cargo in a folder, with nothing of the cargo, rustup or clippy that may have started this process.
pub(super) fn cargo_command(cargo: &OsStr, dir: &Path) -> Command {
    let mut command = Command::new(cargo);
    command.current_dir(dir);
    clean(&mut command);
    command
}

/// An outer `cargo run` or `cargo test` hands its compiler, flags and library path down: a guest has its own. How to
/// reach a registry stays.
fn clean(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_a_build) {
            command.env_remove(&name);
        }
    }
    command
}

fn is_of_a_build(name: &str) -> bool {
    const KEPT: [&str; 6] =
        ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_SOURCE_"];
    const PREFIXES: [&str; 5] = ["CARGO_", "RUSTC", "RUSTDOC", "CLIPPY_", "DEP_"];
    const NAMES: [&str; 8] = [
        "CARGO",
        "RUSTFLAGS",
        "RUSTUP_TOOLCHAIN",
        "RUST_RECURSION_COUNT",
        "LD_LIBRARY_PATH",
        "DYLD_FALLBACK_LIBRARY_PATH",
        // Make's job server, whose pipes this process may not have open.
        "MAKEFLAGS",
        "MFLAGS",
    ];
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    NAMES.contains(&name) || (starts(&PREFIXES) && !starts(&KEPT))
}

fn has_target(workspace: &Path) -> bool {
    let mut command = Command::new("rustc");
    clean(&mut command).current_dir(workspace).args(["--print", "target-libdir", "--target", TARGET]);
    let Some(libdir) = stdout(&mut command) else { return false };
    let Ok(files) = std::fs::read_dir(libdir) else { return false };
    files.flatten().any(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libcore-") && name.ends_with(".rlib")
    })
}

/// Without a network rustup says so by itself after a few tries; what it says is of use only if all else fails.
fn add_target(workspace: &Path) -> bool {
    let mut command = Command::new("rustup");
    clean(&mut command).current_dir(workspace).args(["target", "add", TARGET]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// `wasm-ld`, or the newest `wasm-ld-<version>` in the path.
fn wasm_linker() -> Option<OsString> {
    let version = |name: &str| match name.strip_prefix("wasm-ld")? {
        "" => Some(u32::MAX),
        version => version.strip_prefix('-')?.parse().ok(),
    };
    let path = std::env::var_os("PATH")?;
    let files = std::env::split_paths(&path).filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten();
    let linkers = files.filter_map(|file| Some((version(file.file_name().to_str()?)?, file.path())));
    linkers.max().map(|(_, path)| path.into_os_string())
}

/// What a command prints, if it succeeds.
fn stdout(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_installs_it() {
        let bin = tempfile::tempdir().unwrap();
        let error = Compiler::from_source(bin.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("no cargo and rustc in {}", bin.path().display())), "{error}");
        assert!(error.contains("rustup target add wasm32-unknown-unknown"), "{error}");
        assert!(error.contains("apt-get install --no-install-recommends rustc-web"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_compiler_without_its_librarys_source_is_no_help() {
        use std::os::unix::fs::PermissionsExt;
        let bin = tempfile::tempdir().unwrap();
        for name in ["cargo", "rustc"] {
            let path = bin.path().join(name);
            std::fs::write(&path, "#!/bin/sh\necho /nowhere\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let error = Compiler::from_source(bin.path()).unwrap_err().to_string();
        assert!(
            error.contains("lacks the library's source (/nowhere/lib/rustlib/src/rust/library/Cargo.lock)"),
            "{error}"
        );
    }

    #[test]
    fn nothing_of_the_outer_build_is_handed_down() {
        for of_build in
            ["CARGO", "CARGO_TARGET_DIR", "CARGO_PKG_NAME", "RUSTC_WRAPPER", "RUSTFLAGS", "RUSTUP_TOOLCHAIN"]
        {
            assert!(is_of_a_build(of_build), "{of_build}");
        }
        for kept in ["CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_REGISTRIES_MY_INDEX", "PATH", "HOME", "RUSTUP_HOME"] {
            assert!(!is_of_a_build(kept), "{kept}");
        }
    }

    #[test]
    fn only_wasm_artifacts_are_modules() {
        let module = |json: &str| serde_json::from_str::<Message>(json).unwrap().module();
        let artifact = r#"{"reason":"compiler-artifact","package_id":"a","filenames":["x/a.wasm","x/liba.rlib"]}"#;
        assert_eq!(module(artifact), Some(("a".to_owned(), PathBuf::from("x/a.wasm"))));
        assert_eq!(module(r#"{"reason":"compiler-artifact","package_id":"b","filenames":["x/libb.rlib"]}"#), None);
        assert_eq!(module(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
