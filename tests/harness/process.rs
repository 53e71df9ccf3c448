//! The real binary as a process that goes on beside the test.

use super::Workspace;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take before a test gives up waiting for it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running `gristmill`. It is killed if the test ends before it does.
pub struct Process(Option<Child>);

impl Process {
    pub fn start(workspace: &Workspace, args: &[&str]) -> Self {
        Self::spawn(workspace.command(args))
    }

    /// Starts one that suspends itself at a fault point, and waits until it has.
    pub fn suspended(workspace: &Workspace, args: &[&str], fault: &str) -> Self {
        let mut command = workspace.command(args);
        command.env("GRISTMILL_FAULT", format!("{fault}=stop"));
        let process = Self::spawn(command);
        until(fault, || match process.state() {
            Some('T') => true,
            Some('Z') | None => panic!("{fault} was never reached: the process ended"),
            Some(_) => false,
        });
        process
    }

    fn spawn(mut command: Command) -> Self {
        Self(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    fn child(&self) -> &Child {
        self.0.as_ref().expect("it has not ended")
    }

    /// The state letter of /proc: `T` is stopped, `Z` has ended.
    fn state(&self) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child().id())).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child().id().to_string()]).status().unwrap().success());
    }

    /// Lets a suspended process go on.
    pub fn wake(&self) {
        self.signal("-CONT");
    }

    /// What Ctrl-C does, and what the process says then.
    pub fn interrupt(self) -> super::Answer {
        self.signal("-INT");
        self.end()
    }

    /// Waits for its end.
    pub fn end(mut self) -> super::Answer {
        let output: Output = self.0.take().expect("it has not ended").wait_with_output().unwrap();
        super::Answer::of(output)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until something holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "gave up waiting: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
