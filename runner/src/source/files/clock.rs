//! The time of day, injectable: settling depends on it, and tests must not sleep.

use std::time::SystemTime;

/// Tells how old a modification time is.
pub trait Clock: Send + Sync {
    fn now(&self) -> SystemTime;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}
