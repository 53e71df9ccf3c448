//! Components: compiled, checked to import nothing that is not virtual and to export the contract.

use super::bindings::TransformerPre;
use super::cache::Cache;
use super::call::CallState;
use super::engine::{Protections, check_limits, engine};
use super::fault::{ComponentError, HostError};
use super::limits::{COMPONENT_MAX_BYTES, HostLimits};
use super::wasi::{self, is_virtual};
use gristmill_core::digest::Digest;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{self, Linker};

/// What a transform must export.
const CONTRACT: &str = "gristmill:transform/transform@0.1.0";
/// Names listed in an error.
const LISTED_NAMES_MAX: usize = 20;

/// Runs components. Cheap to clone; all clones share one engine.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    engine: Engine,
    cache: Arc<Cache>,
    limits: HostLimits,
}

impl Host {
    /// `cache_dir` holds compiled components; it is created, and closed to other users.
    pub fn new(cache_dir: &Path, limits: HostLimits) -> Result<Self, HostError> {
        Self::with(cache_dir, limits, Protections::ALL)
    }

    pub(super) fn with(cache_dir: &Path, limits: HostLimits, protections: Protections) -> Result<Self, HostError> {
        check_limits(&limits)?;
        let engine = engine(protections)?;
        let cache = Arc::new(Cache::open(cache_dir, &engine)?);
        Ok(Self(Arc::new(Inner { engine, cache, limits })))
    }

    /// The same engine under other limits: stored batches are held to those of their time.
    pub fn with_limits(&self, limits: HostLimits) -> Result<Self, HostError> {
        check_limits(&limits)?;
        let Inner { engine, cache, .. } = &*self.0;
        Ok(Self(Arc::new(Inner { engine: engine.clone(), cache: cache.clone(), limits })))
    }

    pub fn limits(&self) -> &HostLimits {
        &self.0.limits
    }

    /// Compiles a component, or takes its compiled form from the cache, and checks it.
    pub fn load(&self, bytes: &[u8]) -> Result<Component, ComponentError> {
        if bytes.len() > COMPONENT_MAX_BYTES {
            return Err(ComponentError::TooLarge { bytes: bytes.len(), max_bytes: COMPONENT_MAX_BYTES });
        }
        check_preamble(bytes)?;
        let Inner { engine, cache, .. } = &*self.0;
        let digest = Digest::of(bytes);
        if let Some(cached) = cache.find(engine, digest) {
            return Component::checked(digest, engine, &cached);
        }
        let compiled = component::Component::from_binary(engine, bytes)
            .map_err(|e| ComponentError::Compile { message: format!("{e:#}") })?;
        let component = Component::checked(digest, engine, &compiled)?;
        match compiled.serialize() {
            Ok(payload) => cache.put(digest, &payload),
            Err(e) => tracing::warn!(component = %digest, error = %e, "a compiled component cannot be serialized"),
        }
        Ok(component)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}

/// A component that is ready to be instantiated. Cheap to clone.
#[derive(Clone)]
pub struct Component {
    digest: Digest,
    pre: Arc<TransformerPre<CallState>>,
    /// Interfaces of the virtual WASI that it asks for.
    imports: Arc<[String]>,
}

impl Component {
    /// Digest of the component's own bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Interfaces of the virtual WASI that it asks for; none of most components.
    pub fn imports(&self) -> &[String] {
        &self.imports
    }

    pub(super) fn pre(&self) -> &TransformerPre<CallState> {
        &self.pre
    }

    fn checked(digest: Digest, engine: &Engine, compiled: &component::Component) -> Result<Self, ComponentError> {
        let ty = compiled.component_type();
        let (mut names, mut imports) = (Vec::new(), Vec::new());
        let mut linker = Linker::new(engine);
        for (name, import) in ty.imports(engine) {
            match &import.ty {
                ComponentItem::ComponentInstance(instance) if is_virtual(name) => {
                    let linked = wasi::link(&mut linker, engine, name, instance);
                    linked.map_err(|e| ComponentError::Contract { wanted: CONTRACT, message: format!("{e:#}") })?;
                    imports.push(name.to_owned());
                }
                item => name_imports(engine, name, item, &mut names),
            }
        }
        if !names.is_empty() {
            return Err(ComponentError::Imports { names: listed(names) });
        }
        if ty.get_export(engine, CONTRACT).is_none() {
            let exports = listed(ty.exports(engine).map(|(name, _)| name.to_owned()).collect());
            return Err(ComponentError::MissingExport { wanted: CONTRACT, exports });
        }
        let pre = linker
            .instantiate_pre(compiled)
            .and_then(TransformerPre::new)
            .map_err(|e| ComponentError::Contract { wanted: CONTRACT, message: format!("{e:#}") })?;
        Ok(Self { digest, pre: Arc::new(pre), imports: imports.into() })
    }
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Component").field(&self.digest).finish()
    }
}

/// Adds what of an import can do something. Plain types can not: the contract's own `types` arrive as such an import.
fn name_imports(engine: &Engine, name: &str, item: &ComponentItem, names: &mut Vec<String>) {
    match item {
        ComponentItem::Type(_) => {}
        ComponentItem::ComponentInstance(instance) => {
            for (member, export) in instance.exports(engine) {
                name_imports(engine, &format!("{name}#{member}"), &export.ty, names);
            }
        }
        _ => names.push(name.to_owned()),
    }
}

fn listed(mut names: Vec<String>) -> Vec<String> {
    if names.len() > LISTED_NAMES_MAX {
        let more = names.len() - LISTED_NAMES_MAX;
        names.truncate(LISTED_NAMES_MAX);
        names.push(format!("and {more} more"));
    }
    names
}

fn check_preamble(bytes: &[u8]) -> Result<(), ComponentError> {
    let what = match bytes {
        [b'\0', b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => return Ok(()),
        [b'\0', b'a', b's', b'm', 1, 0, 0, 0, ..] => "it is a core module, which must first be made a component",
        [b'\0', b'a', b's', b'm', ..] => "it is WebAssembly of an unknown version",
        _ => "it is not WebAssembly in binary form",
    };
    Err(ComponentError::NotAComponent { what })
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use std::fs;

    fn load(wat: &str) -> Result<Component, ComponentError> {
        testing::host(HostLimits::default()).load(&wat::parse_str(wat).unwrap())
    }

    #[test]
    fn every_import_that_is_not_virtual_is_named() {
        let error = load(
            r#"(component
                (import "wasi:clocks/wall-clock@0.2.0" (instance (export "now" (func (result u64)))))
                (import "wasi:http/types@0.2.0" (instance (export "now" (func (result u64)))))
                (import "env:host/random" (func (result u64)))
                (import "only:types/here" (instance (type $u u8) (export "t" (type (eq $u))))))"#,
        )
        .unwrap_err();
        let ComponentError::Imports { names } = &error else { panic!("{error}") };
        assert_eq!(names, &["wasi:http/types@0.2.0#now", "env:host/random"]);
        assert!(error.to_string().contains("wasi:http/types@0.2.0#now"), "{error}");
    }

    #[test]
    fn a_component_without_the_contract_is_refused() {
        let error = load("(component)").unwrap_err();
        assert!(matches!(&error, ComponentError::MissingExport { exports, .. } if exports.is_empty()), "{error}");

        let error = load(r#"(component (instance $i) (export "gristmill:transform/transform@0.1.0" (instance $i)))"#);
        assert!(matches!(&error, Err(ComponentError::Contract { .. })), "{error:?}");
    }

    #[test]
    fn what_is_no_component_is_refused_before_it_is_compiled() {
        let host = testing::host(HostLimits::default());
        for (bytes, expected) in [
            (b"\0asm\x01\0\0\0".as_slice(), "core module"),
            (b"\0asm\x07\0\0\0", "unknown version"),
            (b"PK\x03\x04", "not WebAssembly"),
            (b"", "not WebAssembly"),
        ] {
            let error = host.load(bytes).unwrap_err();
            assert!(matches!(error, ComponentError::NotAComponent { .. }), "{error}");
            assert!(error.to_string().contains(expected), "{error}");
        }
        let error = host.load(&vec![0; COMPONENT_MAX_BYTES + 1]).unwrap_err();
        assert!(matches!(error, ComponentError::TooLarge { .. }), "{error}");
        let error = host.load(b"\0asm\x0d\0\x01\0garbage").unwrap_err();
        assert!(matches!(error, ComponentError::Compile { .. }), "{error}");
    }

    /// Flips each of a spread of bytes of the cached file in turn: every one is found, and the component still loads.
    #[test]
    fn a_damaged_cache_file_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::new(directory.path(), HostLimits::default()).unwrap();
        let bytes = testing::component("identity@0.1.0");
        host.load(&bytes).unwrap();
        let file = fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
        let whole = fs::read(&file).unwrap();
        let digest = Digest::of(&bytes);
        assert!(host.0.cache.find(&host.0.engine, digest).is_some(), "a whole file is used");

        // The trailer is as long as this, or shorter.
        let trailer = whole.len() - 120;
        let positions = (0..trailer).step_by(trailer / 20).chain((trailer..whole.len()).step_by(7));
        for position in positions {
            let mut damaged = whole.clone();
            damaged[position] ^= 0x10;
            fs::write(&file, &damaged).unwrap();
            assert!(host.0.cache.find(&host.0.engine, digest).is_none(), "byte {position}");
            assert!(!file.exists(), "byte {position}: the damaged file is removed");
        }
        fs::write(&file, &whole[..whole.len() / 2]).unwrap();
        host.load(&bytes).unwrap();
        assert_eq!(fs::read(&file).unwrap().len(), whole.len(), "a truncated file is replaced by a whole one");
    }

    #[cfg(unix)]
    #[test]
    fn the_cache_is_closed_to_others() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let cache = directory.path().join("aot");
        fs::create_dir(&cache).unwrap();
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
        Host::new(&cache, HostLimits::default()).unwrap();
        assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
