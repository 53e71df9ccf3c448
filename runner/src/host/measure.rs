//! For measuring, under no promise: a host without some of its protections, and a stage in parts.

use super::call;
use super::engine::Protections;
use super::fault::{Fault, HostError};
use super::forward::Checked;
use super::stage::{Input, PlannedStage, StageOutput};
use super::wasi::Moment;
use super::{Component, Host, HostLimits};
use arrow::array::{ArrayRef, RecordBatch, UInt8Array};
use std::path::Path;
use std::time::{Duration, Instant};

/// A host that may lack deadlines or the one bit pattern of NaNs. Never run a pipeline on it.
pub fn host(cache_dir: &Path, limits: HostLimits, deadlines: bool, canonical_nans: bool) -> Result<Host, HostError> {
    Host::with(cache_dir, limits, Protections { deadlines, canonical_nans })
}

/// Where the time of one batch goes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parts {
    /// Look-ups.
    pub join: Duration,
    pub encode: Duration,
    /// A fresh instance, the copies in and out, the guest's own work.
    pub call: Duration,
    /// The instance's linear memory.
    pub memory_bytes: usize,
    /// Validation of what came back, and the forwarded columns.
    pub check: Duration,
}

/// What starting a component takes.
#[derive(Debug, Clone, Copy)]
pub struct Started {
    pub elapsed: Duration,
    /// Linear memory of the new instance.
    pub memory_bytes: usize,
}

/// Starts a component a few times. The time is that of the fastest.
pub fn instantiate(component: &Component, limits: &HostLimits) -> Result<Started, Fault> {
    let mut fastest = Started { elapsed: Duration::MAX, memory_bytes: 0 };
    for _ in 0..10 {
        let clock = Instant::now();
        let memory_bytes = call::start(component, limits)?.memory_bytes;
        let elapsed = clock.elapsed();
        if elapsed < fastest.elapsed {
            fastest = Started { elapsed, memory_bytes };
        }
    }
    Ok(fastest)
}

/// A batch with its look-ups: the runner's own part before a transform.
pub struct Joined(Input);

/// The columns that the transform reads.
#[derive(Debug, Clone)]
pub struct Crossing {
    pub rows: u32,
    /// Length and null count.
    pub nodes: Vec<(u32, u32)>,
    pub buffers: Vec<Vec<u8>>,
}

impl PlannedStage {
    pub fn join_alone(&self, rows: &RecordBatch, operations: &UInt8Array) -> Result<Joined, Fault> {
        self.gather(rows, operations).map(Joined).map_err(|message| Fault::Runner { message })
    }

    pub fn crossing(&self, joined: &Joined, rows: u32) -> Result<Crossing, Fault> {
        let encoded = self.encode(&joined.0)?;
        let nodes = encoded.nodes.iter().map(|node| (node.length, node.null_count)).collect();
        Ok(Crossing { rows, nodes, buffers: encoded.buffers.iter().map(|buffer| buffer.to_vec()).collect() })
    }

    /// The forwarded columns of each output, by its rows and its selection: the runner's own part after a transform.
    pub fn forward_alone(
        &self,
        joined: &Joined,
        input_rows: usize,
        selections: Vec<(u32, Option<Vec<u32>>)>,
    ) -> Result<Vec<Vec<ArrayRef>>, Fault> {
        let checked = selections.into_iter().map(|(rows, selection)| Checked::new(selection, rows, input_rows));
        self.forward(&joined.0, checked.collect::<Result<_, _>>().map_err(Fault::invalid)?)
    }

    pub fn process_in_parts(&self, rows: &RecordBatch, operations: &UInt8Array) -> Result<(StageOutput, Parts), Fault> {
        let mut parts = Parts::default();
        let mut clock = Instant::now();
        let mut lap = |part: &mut Duration| *part = std::mem::replace(&mut clock, Instant::now()).elapsed();
        let input = self.gather(rows, operations).map_err(|message| Fault::Runner { message })?;
        lap(&mut parts.join);
        let encoded = self.encode(&input)?;
        lap(&mut parts.encode);
        let (processed, taken) = self.call(Moment::EPOCH, &input, &encoded)?;
        parts.memory_bytes = taken.memory_bytes;
        lap(&mut parts.call);
        let output = self.check(processed, &input, &mut self.budget(&input))?;
        lap(&mut parts.check);
        Ok((output, parts))
    }
}
