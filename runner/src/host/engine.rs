//! The engine: how components are compiled and where their instances live.

use super::fault::HostError;
use super::limits::HostLimits;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use wasmtime::{
    Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig, WasmFeatures,
};

/// Calls that may run at once. Address space, not memory, is reserved for each.
const CALLS_MAX: u32 = 32;
/// Memory that a finished call leaves mapped for the next, so that a batch does not pay for fresh pages again.
const KEEP_RESIDENT_BYTES: usize = 64 << 20;
/// Finished calls' memories that are kept apart by component; more would hold memory without making calls faster.
const WARM_SLOTS: u32 = 4;
/// Elements of one table.
pub(super) const TABLE_ELEMENTS_MAX: usize = 1 << 17;
/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(10);

/// What protects the host and replays from a guest's code, at a cost to its speed. Only a measurement leaves one out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Protections {
    /// Guests are stopped at their deadline.
    pub deadlines: bool,
    /// NaNs have one bit pattern.
    pub canonical_nans: bool,
}

impl Protections {
    pub(super) const ALL: Self = Self { deadlines: true, canonical_nans: true };
}

/// Refuses limits that the engine cannot hold a guest to.
pub(super) fn check_limits(limits: &HostLimits) -> Result<(), HostError> {
    if limits.memory_max_bytes > 4 << 30 {
        return Err(HostError::Limits { what: "memory_max_bytes is larger than the 4 GiB of a 32-bit memory".into() });
    }
    if limits.deadline < TICK {
        return Err(HostError::Limits { what: format!("the deadline is shorter than {} ms", TICK.as_millis()) });
    }
    Ok(())
}

pub(super) fn engine(protections: Protections) -> Result<Engine, HostError> {
    let mut pool = PoolingAllocationConfig::new();
    // Runtimes of larger languages come as several core modules with many functions and large tables.
    pool.total_component_instances(CALLS_MAX)
        .total_core_instances(CALLS_MAX * 16)
        .total_memories(CALLS_MAX * 2)
        .total_tables(CALLS_MAX * 8)
        .max_component_instance_size(16 << 20)
        .max_core_instance_size(8 << 20)
        .table_elements(TABLE_ELEMENTS_MAX)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(1 << 20)
        // Only pages that a call wrote to are cleared for the next, where the kernel can tell (Linux 6.7 and later). It
        // halves the cost of a call of 5,000 rows: most of a guest's memory is a stack that it hardly uses.
        .pagemap_scan(Enabled::Auto)
        .max_unused_warm_slots(WARM_SLOTS);

    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .wasm_simd(true)
        // The same bytes on every machine: NaNs have one bit pattern, and instructions with a choice do not exist.
        .cranelift_nan_canonicalization(protections.canonical_nans)
        .wasm_relaxed_simd(false)
        .wasm_features(WasmFeatures::THREADS, false)
        .concurrency_support(false)
        .consume_fuel(false)
        .epoch_interruption(protections.deadlines)
        .wasm_backtrace_max_frames(NonZeroUsize::new(16))
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    let engine = Engine::new(&config).map_err(|e| HostError::Engine { message: format!("{e:#}") })?;
    tick(&engine).map_err(|e| HostError::Engine { message: format!("no thread for deadlines: {e}") })?;
    Ok(engine)
}

/// Ticks until a call that starts now is past its deadline. The first tick may come at once.
pub(super) fn deadline_ticks(deadline: Duration) -> u64 {
    u64::try_from(deadline.as_millis().div_ceil(TICK.as_millis())).unwrap_or(u64::MAX / 2).saturating_add(1)
}

struct Ticked {
    running: bool,
    engines: Vec<EngineWeak>,
}

static TICKED: Mutex<Ticked> = Mutex::new(Ticked { running: false, engines: Vec::new() });

/// Has the process's one ticker thread advance this engine's epoch for as long as the engine lives.
fn tick(engine: &Engine) -> std::io::Result<()> {
    let mut ticked = TICKED.lock().unwrap_or_else(PoisonError::into_inner);
    if !ticked.running {
        std::thread::Builder::new().name("gristmill-deadlines".into()).spawn(|| {
            loop {
                std::thread::sleep(TICK);
                let mut ticked = TICKED.lock().unwrap_or_else(PoisonError::into_inner);
                ticked.engines.retain(|engine| engine.upgrade().inspect(Engine::increment_epoch).is_some());
            }
        })?;
        ticked.running = true;
    }
    ticked.engines.push(engine.weak());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_round_up_to_ticks() {
        assert_eq!(deadline_ticks(Duration::from_millis(10)), 2);
        assert_eq!(deadline_ticks(Duration::from_millis(11)), 3);
        assert!(deadline_ticks(Duration::MAX) > 1 << 60);
    }

    #[test]
    fn limits_that_cannot_hold_are_refused() {
        let limits = HostLimits { memory_max_bytes: 5 << 30, ..HostLimits::default() };
        assert!(matches!(check_limits(&limits), Err(HostError::Limits { .. })));
        let limits = HostLimits { deadline: Duration::from_millis(1), ..HostLimits::default() };
        assert!(matches!(check_limits(&limits), Err(HostError::Limits { .. })));
    }
}
