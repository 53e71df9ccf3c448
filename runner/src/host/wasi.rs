//! The virtual WASI: what a language's runtime may ask for, answered from the batch alone.
//!
//! It is the only set of imports that a component may have, and only a component that has them gets any of it. The clocks
//! stand at the batch's creation, random numbers are drawn from its id, environment and arguments are empty, there are
//! no files and no network. What is written to standard output and standard error goes into the message of a fault and
//! nowhere else. Anything more ends the call with a message that names the function. So the same batch gets the same
//! bytes, today and in a replay.

use super::call::CallState;
use gristmill_core::digest::Digest;
use wasmtime::component::types::{ComponentInstance, ComponentItem};
use wasmtime::component::{Linker, LinkerInstance, ResourceDynamic, ResourceType, Val};
use wasmtime::{Engine, Error, Result, StoreContextMut};

/// Packages of WASI whose interfaces are virtual; `wasi:<package>/<interface>@0.2.<n>`.
const PACKAGES: [&str; 6] = ["cli", "clocks", "filesystem", "io", "random", "sockets"];
/// Of what a guest writes to its standard output and error, the last bytes are kept.
const WRITTEN_MAX_BYTES: usize = 1024;
/// A write that a guest may make at once.
const WRITE_MAX_BYTES: u64 = 4096;
/// Random bytes that a guest may ask for at once.
const RANDOM_MAX_BYTES: u64 = 1 << 16;

/// Whether an interface is answered by the virtual WASI.
pub fn is_virtual(interface: &str) -> bool {
    let parts = interface.strip_prefix("wasi:").and_then(|rest| rest.split_once('/'));
    let Some((package, (_, version))) = parts.and_then(|(package, rest)| Some((package, rest.split_once('@')?))) else {
        return false;
    };
    PACKAGES.contains(&package) && version.strip_prefix("0.2.").is_some_and(|patch| patch.parse::<u32>().is_ok())
}

/// What the virtual WASI answers from: when the batch was made, and a seed that is its own. A call gives the same
/// answers in the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    created_at_us: u64,
    seed: u64,
}

impl Moment {
    /// For planning, and where there is no batch.
    pub const EPOCH: Self = Self { created_at_us: 0, seed: 0 };

    /// Of a batch: its id, and its creation in microseconds since 1970.
    pub fn of_batch(batch_id: &str, created_at_us: i64) -> Self {
        let digest = Digest::of(batch_id.as_bytes());
        let seed = digest.as_bytes().iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte));
        Self { created_at_us: created_at_us.max(0).unsigned_abs(), seed }
    }
}

/// The state of one call.
pub(super) struct World {
    moment: Moment,
    /// By how much the guest has waited; waiting takes no time but moves the monotonic clock.
    waited_ns: u64,
    random: u64,
    written: Vec<u8>,
}

impl World {
    pub(super) fn new(moment: Moment) -> Self {
        Self { moment, waited_ns: 0, random: moment.seed, written: Vec::new() }
    }

    /// What the guest wrote last, for the message of a fault.
    pub(super) fn written(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.written);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn write(&mut self, bytes: &[u8]) {
        self.written.extend_from_slice(bytes);
        let excess = self.written.len().saturating_sub(WRITTEN_MAX_BYTES);
        self.written.drain(..excess);
    }

    fn monotonic_ns(&self) -> u64 {
        self.moment.created_at_us.saturating_mul(1000).saturating_add(self.waited_ns)
    }

    /// SplitMix64.
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// The guest ended itself.
#[derive(Debug, thiserror::Error)]
#[error("the transform ended itself with status {status}")]
pub(super) struct Exited {
    pub(super) status: u8,
}

/// The guest asked for what a transform does not have.
#[derive(Debug, thiserror::Error)]
#[error("it called {function}, and a transform has no files, no network and no other processes")]
pub(super) struct NotThere {
    function: String,
}

/// Gives the linker everything that a component's virtual imports name.
pub(super) fn link(linker: &mut Linker<CallState>, engine: &Engine, name: &str, ty: &ComponentInstance) -> Result<()> {
    let mut instance = linker.instance(name)?;
    let interface = name.split('@').next().unwrap_or(name);
    for (member, export) in ty.exports(engine) {
        match export.ty {
            ComponentItem::ComponentFunc(_) => link_function(&mut instance, interface, member)?,
            ComponentItem::Resource(_) => {
                let kind = kind(member);
                instance.resource(member, ResourceType::host_dynamic(kind), |_, _| Ok(()))?;
            }
            // Types need no definition; anything else is not WASI, and linking says so.
            _ => {}
        }
    }
    Ok(())
}

/// A number for a resource type, the same wherever its name stands.
fn kind(resource: &str) -> u32 {
    let digest = Digest::of(resource.as_bytes());
    digest.as_bytes().iter().take(4).fold(0, |kind, byte| kind << 8 | u32::from(*byte))
}

type Store<'a> = StoreContextMut<'a, CallState>;

fn link_function(instance: &mut LinkerInstance<'_, CallState>, interface: &str, member: &str) -> Result<()> {
    let name = format!("{}#{member}", interface.trim_start_matches("wasi:"));
    let function = format!("{interface}#{member}");
    instance.func_new(member, move |mut store, _, params, results| {
        let answer = answer(&name, &mut store, params, &function)?;
        params.iter().try_for_each(|param| hand_back(param, &mut store))?;
        match (answer, results) {
            (Some(value), [result]) => *result = value,
            (None, []) => {}
            _ => return Err(Error::new(NotThere { function: function.clone() })),
        }
        Ok(())
    })
}

/// What a guest lends for a call is handed back before the call ends.
fn hand_back(value: &Val, store: &mut Store<'_>) -> Result<()> {
    match value {
        Val::Resource(resource) => resource.resource_drop(store),
        Val::List(values) => values.iter().try_for_each(|value| hand_back(value, store)),
        _ => Ok(()),
    }
}

/// The answer to one call; an error where there is none.
fn answer(name: &str, store: &mut Store<'_>, params: &[Val], function: &str) -> Result<Option<Val>> {
    let not_there = || Error::new(NotThere { function: function.to_owned() });
    let number = |place: usize| match params.get(place) {
        Some(Val::U64(number)) => Ok(*number),
        _ => Err(not_there()),
    };
    Ok(Some(match name {
        "cli/environment#get-environment" | "cli/environment#get-arguments" => Val::List(Vec::new()),
        "cli/environment#initial-cwd"
        | "cli/terminal-stdin#get-terminal-stdin"
        | "cli/terminal-stdout#get-terminal-stdout"
        | "cli/terminal-stderr#get-terminal-stderr" => Val::Option(None),
        "cli/exit#exit" => {
            let status = u8::from(matches!(params.first(), Some(Val::Result(Err(_)))));
            return Err(Error::new(Exited { status }));
        }
        "cli/exit#exit-with-code" => {
            let status = if let Some(Val::U8(status)) = params.first() { *status } else { 1 };
            return Err(Error::new(Exited { status }));
        }
        "cli/stdin#get-stdin" => resource("input-stream", store)?,
        "cli/stdout#get-stdout" | "cli/stderr#get-stderr" => resource("output-stream", store)?,

        "clocks/wall-clock#now" => {
            let micros = store.data().world.moment.created_at_us;
            datetime(micros / 1_000_000, (micros % 1_000_000) as u32 * 1000)
        }
        "clocks/wall-clock#resolution" => datetime(0, 1000),
        "clocks/monotonic-clock#now" => Val::U64(store.data().world.monotonic_ns()),
        "clocks/monotonic-clock#resolution" => Val::U64(1000),
        "clocks/monotonic-clock#subscribe-duration" => {
            let nanos = number(0)?;
            let world = &mut store.data_mut().world;
            world.waited_ns = world.waited_ns.saturating_add(nanos);
            resource("pollable", store)?
        }
        "clocks/monotonic-clock#subscribe-instant" => {
            let until = number(0)?;
            let world = &mut store.data_mut().world;
            world.waited_ns = world.waited_ns.saturating_add(until.saturating_sub(world.monotonic_ns()));
            resource("pollable", store)?
        }

        "random/random#get-random-u64" | "random/insecure#get-insecure-random-u64" => {
            Val::U64(store.data_mut().world.next_random())
        }
        "random/random#get-random-bytes" | "random/insecure#get-insecure-random-bytes" => {
            let len = number(0)?;
            if len > RANDOM_MAX_BYTES {
                return Err(not_there());
            }
            let world = &mut store.data_mut().world;
            let bytes = (0..len.div_ceil(8)).flat_map(|_| world.next_random().to_le_bytes());
            Val::List(bytes.take(len as usize).map(Val::U8).collect())
        }
        "random/insecure-seed#insecure-seed" => {
            let world = &mut store.data_mut().world;
            Val::Tuple(vec![Val::U64(world.next_random()), Val::U64(world.next_random())])
        }

        "filesystem/preopens#get-directories" => Val::List(Vec::new()),

        "io/streams#[method]input-stream.read"
        | "io/streams#[method]input-stream.blocking-read"
        | "io/streams#[method]input-stream.skip"
        | "io/streams#[method]input-stream.blocking-skip" => {
            Val::Result(Err(Some(Box::new(Val::Variant("closed".into(), None)))))
        }
        "io/streams#[method]output-stream.check-write" => ok(Some(Val::U64(WRITE_MAX_BYTES))),
        "io/streams#[method]output-stream.write" | "io/streams#[method]output-stream.blocking-write-and-flush" => {
            let Some(Val::List(bytes)) = params.get(1) else { return Err(not_there()) };
            let bytes = bytes.iter().map(|byte| if let Val::U8(byte) = byte { *byte } else { b'?' });
            let bytes: Vec<_> = bytes.collect();
            store.data_mut().world.write(&bytes);
            ok(None)
        }
        "io/streams#[method]output-stream.flush" | "io/streams#[method]output-stream.blocking-flush" => ok(None),
        "io/streams#[method]input-stream.subscribe" | "io/streams#[method]output-stream.subscribe" => {
            resource("pollable", store)?
        }
        "io/poll#[method]pollable.ready" => Val::Bool(true),
        "io/poll#[method]pollable.block" => return Ok(None),
        "io/poll#poll" => {
            let Some(Val::List(pollables)) = params.first() else { return Err(not_there()) };
            Val::List((0..pollables.len() as u32).map(Val::U32).collect())
        }
        _ => return Err(not_there()),
    }))
}

fn ok(value: Option<Val>) -> Val {
    Val::Result(Ok(value.map(Box::new)))
}

fn datetime(seconds: u64, nanoseconds: u32) -> Val {
    Val::Record(vec![("seconds".into(), Val::U64(seconds)), ("nanoseconds".into(), Val::U32(nanoseconds))])
}

/// Nothing tells one stream or pollable from another.
fn resource(name: &str, store: &mut Store<'_>) -> Result<Val> {
    Ok(Val::Resource(ResourceDynamic::new_own(0, kind(name)).try_into_resource_any(store)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_of_wasi_is_virtual() {
        for name in ["wasi:cli/environment@0.2.0", "wasi:clocks/wall-clock@0.2.12", "wasi:sockets/tcp@0.2.6"] {
            assert!(is_virtual(name), "{name}");
        }
        for name in [
            "wasi:http/outgoing-handler@0.2.0",
            "wasi:cli/environment@0.3.0",
            "wasi:cli/environment",
            "wasi:cli@0.2.0",
            "wasi:cli/environment@0.2.x",
            "env:cli/environment@0.2.0",
        ] {
            assert!(!is_virtual(name), "{name}");
        }
    }

    #[test]
    fn a_moment_is_the_batchs() {
        let a = Moment::of_batch("a", 5);
        assert_eq!(a, Moment::of_batch("a", 5));
        assert_ne!(a, Moment::of_batch("b", 5));
        assert_eq!(Moment::of_batch("", -5).created_at_us, 0);
        let draws = |moment| {
            let mut world = World::new(moment);
            [world.next_random(), world.next_random()]
        };
        assert_eq!(draws(a), draws(a));
        assert_ne!(draws(a), draws(Moment::of_batch("b", 5)));
    }

    #[test]
    fn of_what_is_written_the_end_is_kept() {
        let mut world = World::new(Moment::EPOCH);
        assert_eq!(world.written(), None);
        world.write(&[b'x'; 5000]);
        world.write(b"the end\n");
        let written = world.written().unwrap();
        assert!(written.len() <= WRITTEN_MAX_BYTES && written.ends_with("xthe end"), "{written}");
    }
}
