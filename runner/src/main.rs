//! The `gristmill` binary: see [`gristmill::cli`].

fn main() -> std::process::ExitCode {
    gristmill::cli::main()
}
