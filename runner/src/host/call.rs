//! One call of a guest, in an instance of its own.

use super::bindings::{Failure, Plan, Processed, Setup, Transformer, wit};
use super::component::Component;
use super::engine::{TABLE_ELEMENTS_MAX, deadline_ticks};
use super::fault::Fault;
use super::limits::{CODE_MAX_BYTES, HostLimits, NAME_MAX_BYTES, guest_message, guest_text};
use super::wasi::{Exited, Moment, NotThere, World};
use wasmtime::{PoolConcurrencyLimitError, ResourceLimiter, Store, Trap, WasmBacktrace};

/// The failure that stands for an exception of the guest's language: a row may have caused it, as it may a trap.
const EXCEPTION: &str = "exception";

/// What the store of one call counts, and what the virtual WASI knows.
pub(super) struct CallState {
    memory_bytes: usize,
    memory_max_bytes: usize,
    pub(super) world: World,
}

/// What a call that came back took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    /// Linear memory at its end; it never shrinks.
    pub(super) memory_bytes: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("memory cap reached")]
struct MemoryCapReached;

impl ResourceLimiter for CallState {
    /// Ends the call at the cap: a guest that is told no would trap anyway, and not say why.
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let total = self.memory_bytes.saturating_add(desired.saturating_sub(current));
        if total > self.memory_max_bytes {
            return Err(wasmtime::Error::new(MemoryCapReached));
        }
        self.memory_bytes = total;
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS_MAX)
    }
}

pub(super) fn plan(component: &Component, limits: &HostLimits, setup: Setup<'_>) -> Result<(Plan, Taken), Fault> {
    call(component, limits, Moment::EPOCH, |transformer, store| {
        transformer.gristmill_transform_transform().call_plan(store, setup)
    })
}

pub(super) fn process(
    component: &Component,
    limits: &HostLimits,
    moment: Moment,
    setup: Setup<'_>,
    batch: wit::Batch<'_>,
) -> Result<(Processed, Taken), Fault> {
    call(component, limits, moment, |transformer, store| {
        transformer.gristmill_transform_transform().call_process(store, setup, batch)
    })
}

/// An instance that is asked for nothing.
pub(super) fn start(component: &Component, limits: &HostLimits) -> Result<Taken, Fault> {
    let (store, _) = instance(component, limits, Moment::EPOCH)?;
    Ok(Taken { memory_bytes: store.data().memory_bytes })
}

fn instance(
    component: &Component,
    limits: &HostLimits,
    moment: Moment,
) -> Result<(Store<CallState>, Transformer), Fault> {
    let state = CallState { memory_bytes: 0, memory_max_bytes: limits.memory_max_bytes, world: World::new(moment) };
    let mut store = Store::new(component.pre().engine(), state);
    store.limiter(|state| state);
    store.set_epoch_deadline(deadline_ticks(limits.deadline));
    // What a guest returns is counted while it is copied, so that a huge result is never held first and judged later.
    store.set_hostcall_fuel(limits.output_max_bytes);
    let transformer = component.pre().instantiate(&mut store).map_err(|e| {
        classify(&e, limits, &store.data().world)
            .unwrap_or_else(|| Fault::Runner { message: guest_message(&format!("{e:#}")) })
    })?;
    Ok((store, transformer))
}

fn call<R>(
    component: &Component,
    limits: &HostLimits,
    moment: Moment,
    call: impl FnOnce(&Transformer, &mut Store<CallState>) -> wasmtime::Result<Result<R, Failure>>,
) -> Result<(R, Taken), Fault> {
    let (mut store, transformer) = instance(component, limits, moment)?;
    match call(&transformer, &mut store) {
        Ok(Ok(result)) => Ok((result, Taken { memory_bytes: store.data().memory_bytes })),
        Ok(Err(Failure { code, message })) if code == EXCEPTION => {
            Err(Fault::Exception { message: with_written(&message, &store.data().world) })
        }
        Ok(Err(Failure { code, message })) => {
            Err(Fault::Refused { code: guest_text(&code, CODE_MAX_BYTES), message: guest_message(&message) })
        }
        // What is neither a trap nor a limit broke the canonical ABI: a list outside of memory, text that is not UTF-8.
        Err(e) => Err(classify(&e, limits, &store.data().world)
            .unwrap_or_else(|| Fault::invalid(guest_message(&format!("values that cannot be read: {e:#}"))))),
    }
}

/// A message, and what the guest wrote before, which is where most runtimes say why they end.
fn with_written(message: &str, world: &World) -> String {
    match world.written() {
        Some(written) => guest_message(&format!("{message}; it wrote: {written}")),
        None => guest_message(message),
    }
}

fn classify(error: &wasmtime::Error, limits: &HostLimits, world: &World) -> Option<Fault> {
    if error.is::<MemoryCapReached>() {
        return Some(Fault::MemoryCap { memory_max_bytes: limits.memory_max_bytes });
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return Some(Fault::Runner { message: "too many calls run at once".into() });
    }
    if let Some(Exited { status }) = error.downcast_ref() {
        return Some(Fault::Exit { status: *status, written: world.written().map(|text| guest_message(&text)) });
    }
    if let Some(not_there) = error.downcast_ref::<NotThere>() {
        let message = with_written(&not_there.to_string(), world);
        return Some(Fault::Trap { message, backtrace: backtrace(error) });
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return Some(match trap {
            Trap::Interrupt => Fault::Deadline { deadline: limits.deadline },
            trap => Fault::Trap { message: with_written(&trap.to_string(), world), backtrace: backtrace(error) },
        });
    }
    // The engine's error for this has no type of its own; a test holds the text in place.
    if error.root_cause().to_string().contains("fuel allocated for hostcalls has been exhausted") {
        return Some(Fault::OutputCap { output_max_bytes: limits.output_max_bytes });
    }
    None
}

fn backtrace(error: &wasmtime::Error) -> Vec<String> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return Vec::new() };
    let frames = backtrace.frames().iter().take(8);
    frames
        .map(|frame| match frame.func_name() {
            Some(name) => guest_text(name, NAME_MAX_BYTES / 2),
            None => format!("function {}", frame.func_index()),
        })
        .collect()
}
