//! The shape of the machine that measured.

use serde::Serialize;
use std::fs::read_to_string;

#[derive(Debug, Serialize)]
pub struct Machine {
    pub cores: usize,
    pub cpu: String,
    pub memory_mib: u64,
    pub kernel: String,
    /// Load of the last minute, when the measurement starts. Above the number of busy cores expected, figures suffer.
    pub load_at_start: f64,
}

impl Machine {
    pub fn now() -> Self {
        let line = |file: &str, key: &str| {
            let text = read_to_string(file).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
            line.split_once(':').map_or_else(String::new, |(_, value)| value.trim().to_owned())
        };
        let first = |text: String| text.split_whitespace().next().unwrap_or_default().to_owned();
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            cpu: line("/proc/cpuinfo", "model name"),
            memory_mib: first(line("/proc/meminfo", "MemTotal")).parse::<u64>().unwrap_or(0) / 1024,
            kernel: read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            load_at_start: first(read_to_string("/proc/loadavg").unwrap_or_default()).parse().unwrap_or(0.0),
        }
    }
}
