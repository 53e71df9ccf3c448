//! The `gristmill` binary: see [`gristmill::cli`].

fn main() -> std::process::ExitCode {
    bound_arenas();
    gristmill::cli::main()
}

/// glibc gives each thread an arena that keeps what its batches once needed. Two arenas serve the two halves of the loop
/// as well, and peak memory then hardly depends on how long a run goes on.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "mallopt is a C function; called before any other thread exists, it only sets a number")]
fn bound_arenas() {
    const ARENAS: libc::c_int = 2;
    // SAFETY: no other thread runs yet, and both arguments are plain integers.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, ARENAS) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn bound_arenas() {}
